"""DAgger, AggreVaTe and AggreVaTeD on a cliff, one picture each: who plays, who is
asked, and what is learnt.

Gymnasium's CliffWalking has 48 places and never throws a die, so that the expert and
its Q* are exact; what the pictures show was played by the learners of this book.
"""

from collections.abc import Sequence
from functools import cache, partial
from itertools import pairwise
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
import torch
from gymnasium import spaces
from gymnasium.vector import VectorEnv
from gymnasium.wrappers import FlattenObservation
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from torch import nn

from rlnotes.algos import aggrevated
from rlnotes.algos.experts import Expert, agreement_expert, q_network_expert
from rlnotes.algos.policy import Policy
from rlnotes.data.branches import Moment, branches
from rlnotes.data.rollouts import Episode, rollout
from rlnotes.envs.vector import NO_LIMIT, make_vec_env
from rlnotes.report import figures
from rlnotes.report.figures import AMBER, BLUE, GREY, ORANGE, Style

WORLD, LIMIT, GAMMA = "CliffWalking-v1", 60, 0.99
ROWS, COLUMNS, START, GOAL = 4, 12, 36, 47
PLACES = ROWS * COLUMNS
NAMES = ("up", "right", "down", "left")
MOVES = np.array([(0, -1), (1, 0), (0, 1), (-1, 0)])


# --- the world, solved


def make(limit: int = LIMIT) -> gym.Env[Any, Any]:
    """What is seen is the place, one of 48."""
    return FlattenObservation(gym.make(WORLD, max_episode_steps=limit))


unlimited = partial(make, limit=NO_LIMIT)


class Solved(NamedTuple):
    reward: np.ndarray  # of an action at a place
    after: np.ndarray  # where it leads
    goes_on: np.ndarray  # whether there is an after
    q: np.ndarray  # of the best play


@cache
def solved() -> Solved:
    """By value iteration."""
    table: Any = make().unwrapped
    steps = [[table.P[place][move][0] for move in range(4)] for place in range(PLACES)]
    after, reward, over = np.moveaxis(np.array(steps)[:, :, 1:], -1, 0)
    found = after.astype(int), 1 - over
    q = np.zeros((PLACES, 4))
    for _ in range(500):
        q = reward + GAMMA * found[1] * q.max(-1)[found[0]]
    return Solved(reward, *found, q)


def value_at_start(probs: np.ndarray) -> float:
    """What a policy earns, exactly and without a limit of time."""
    reward, after, goes_on, _ = solved()
    leads = np.zeros((PLACES, PLACES))
    for move in range(4):
        chance = GAMMA * goes_on[:, move] * probs[:, move]
        np.add.at(leads, (np.arange(PLACES), after[:, move]), chance)
    earned = (probs * reward).sum(-1)
    return float(np.linalg.solve(np.eye(PLACES) - leads, earned)[START])


@torch.no_grad()
def tabular(numbers: np.ndarray) -> Policy:
    """A policy with a number for each move at each place, and one more for each move
    wherever it is, which is 0 at first."""
    seen = spaces.Box(0, 1, (PLACES,), np.float32)
    policy = Policy.for_spaces(seen, spaces.Discrete(4), ())
    layer = policy.net[0]
    assert isinstance(layer, nn.Linear)
    layer.weight.copy_(torch.as_tensor(numbers.T))
    layer.bias.zero_()
    return policy


def expert() -> Expert:
    return q_network_expert(tabular(solved().q))


# --- lessons in it

SHARE = 0.5  # of the expert's steps, at first
LESSON = aggrevated.Config(
    gradient="exact",
    num_steps=25,
    learning_rate=0.2,
    max_grad_norm=1e9,
    initial_beta=SHARE,
    batch_size=1_000,
)


def worlds(count: int = 8) -> VectorEnv:
    return make_vec_env(make, count)


class Lesson(NamedTuple):
    agent: aggrevated.Agent
    values: list[float]  # at the start, before each roll-in and after the last


def taught(teacher: Expert, roll_ins: int, seed: int = 0) -> Lesson:
    torch.manual_seed(seed)
    agent = aggrevated.Agent(tabular(np.zeros((PLACES, 4))), LESSON)
    envs = worlds()
    steps = roll_ins * LESSON.num_steps * envs.num_envs
    values = [value_at_start(chances(agent.policy))]
    for _ in aggrevated.train(agent, teacher, envs, steps, seed):
        values.append(value_at_start(chances(agent.policy)))
    return Lesson(agent, values)


@torch.no_grad()
def chances(policy: Policy) -> np.ndarray:
    """Of each move at each place."""
    return torch.softmax(policy.net(torch.eye(PLACES)), -1).double().numpy()


# --- pictures


def dagger(roll_ins: int = 2, seed: int = 0) -> Figure:
    """The mixture plays, and the expert says at every place what it would do."""
    agent, _ = taught(agreement_expert(expert().act), roll_ins, seed)
    played = aggrevated.Collector(agent, expert(), worlds(1), seed).roll_in(SHARE)
    places, led = (
        obs[:, 0].argmax(-1).numpy()
        for obs in (played.rollout.obs, played.rollout.next_obs)
    )
    ax = figures.axes(width=7.5, height=2.8)
    _map(ax)
    for place, after, theirs in zip(places, led, played.by_expert[:, 0], strict=True):
        _step(ax, place, after, AMBER if theirs else BLUE)
    for place in np.unique(places):
        _answer(ax, place, int(expert().act(np.eye(PLACES)[[place]])[0]))
    _key(ax, {"the learner's steps": BLUE, "the expert's steps": AMBER})
    return ax.figure


def aggrevate(seed: int = 0) -> Figure:
    """The learner plays up to some moment, makes any move there, and the expert goes
    on: what it earns from there is one sample of Q*. Two such."""
    agent, _ = taught(expert(), 6, seed)
    rng = np.random.default_rng(seed)
    episode = rollout(make, partial(agent.policy.sample, rng=rng), [seed])[0]
    both = np.atleast_1d(figures.axes(2, width=11, height=2.5))
    for ax, (moment, move) in zip(both, two_moments(episode), strict=True):
        choice = [np.array([move])]
        (found,) = branches(unlimited, expert().act, [moment], choice, LIMIT)
        _map(ax)
        _path(ax, episode.observations[: moment.step + 1].argmax(-1), BLUE)
        after = found[0].observations.argmax(-1)
        _path(ax, after[1:], AMBER)
        _step(ax, after[0], after[1], ORANGE, width=3)
        earned = found[0].discounted_return(GAMMA)
        ax.set_title(f"Q*(s, {NAMES[move]}) = {earned:.1f}".replace("-", "−"))
    shown = {"the learner": BLUE, "any move": ORANGE, "the expert goes on": AMBER}
    _key(both[0], shown)
    return both[0].figure


def two_moments(episode: Episode) -> list[tuple[Moment, int]]:
    """Above the cliff, as far as the episode goes: a move that falls, and one away."""
    places = episode.observations[:-1].argmax(-1)
    above = (places > 2 * COLUMNS) & (places < START - 1)
    moment = Moment(episode, int(np.argmax(np.where(above, places, 0))))
    return [(moment, NAMES.index("down")), (moment, NAMES.index("up"))]


def aggrevated_step(roll_ins: int = 6, seed: int = 0) -> Figure:
    """Left what every move is worth where the learner goes, and the gradient; right
    what comes of it, beside DAgger."""
    agent, _ = taught(expert(), roll_ins, seed)
    played = aggrevated.Collector(agent, expert(), worlds(), seed).roll_in(SHARE)
    visits = np.bincount(
        played.rollout.obs.flatten(0, 1).argmax(-1).numpy(), minlength=PLACES
    )
    figure = figures.axes(2, width=11, height=2.8, width_ratios=(2, 1))[0].figure
    left, right = figure.axes
    _map(left)
    visited = np.flatnonzero(visits)
    colours = _advantages(left, visited)
    figure.colorbar(colours, ax=left, label="A*(s, a)", shrink=0.8)
    slope = gradient(chances(agent.policy))[visited]
    style: Style = {"angles": "xy", "scale_units": "xy", "scale": 3, "zorder": 4}
    left.quiver(*_at(visited), *(slope @ MOVES).T, width=0.005, **style)
    _curves(right)
    return figure


def gradient(probs: np.ndarray) -> np.ndarray:
    """Along the logits at each place: π(a) (A*(a) − Σ π A*), its largest entry 1."""
    q = solved().q
    advantage = q - q.max(-1, keepdims=True)
    found = probs * (advantage - (probs * advantage).sum(-1, keepdims=True))
    largest = np.abs(found).max(-1, keepdims=True)
    return found / np.maximum(largest, 1e-12)


def _curves(ax: Axes, roll_ins: int = 20, seeds: Sequence[int] = range(5)) -> None:
    teachers = {
        "DAgger": (agreement_expert(expert().act), ORANGE),
        "AggreVaTeD": (expert(), BLUE),
    }
    for label, (teacher, colour) in teachers.items():
        lessons = [taught(teacher, roll_ins, seed).values for seed in seeds]
        figures.curve(ax, [list(enumerate(one)) for one in lessons], label, colour)
    best = float(solved().q[START].max())
    ax.axhline(best, label="the expert", **figures.DOTTED)
    ax.set(xlabel="roll-ins", ylabel="value at the start", yscale="symlog")
    ax.set_ylim(top=-5)
    figures.legend(ax, "lower right")


# --- drawing


def _map(ax: Axes) -> None:
    ax.set(xlim=(-0.5, COLUMNS - 0.5), ylim=(ROWS - 0.5, -0.5), aspect="equal")
    ax.set_xticks(np.arange(COLUMNS + 1) - 0.5, [])
    ax.set_yticks(np.arange(ROWS + 1) - 0.5, [])
    ax.tick_params(length=0)
    ax.axvspan(0.5, COLUMNS - 1.5, 0, 1 / ROWS, color=GREY, alpha=0.35, linewidth=0)
    words: Style = {"ha": "center", "va": "center", "fontsize": "small"}
    ax.text((COLUMNS - 1) / 2, ROWS - 1, "cliff", **words)
    ax.text(COLUMNS - 1, ROWS - 1, "goal", **words)


def _at(place: Any) -> tuple[Any, Any]:
    """Column and row."""
    return place % COLUMNS, place // COLUMNS


def _step(ax: Axes, place: int, after: int, colour: str, width: float = 1.8) -> None:
    """A fall is dotted: it leads back to the start."""
    (x, y), (to_x, to_y) = _at(place), _at(after)
    near = abs(x - to_x) + abs(y - to_y) <= 1
    line: Style = {"color": colour, "linewidth": width, "alpha": 0.7, "zorder": 2}
    ax.plot([x, to_x], [y, to_y], linestyle="-" if near else ":", **line)


def _path(ax: Axes, places: np.ndarray, colour: str) -> None:
    for place, after in pairwise(places):
        _step(ax, place, after, colour)


def _answer(ax: Axes, place: int, move: int) -> None:
    x, y = _at(place)
    style: Style = {"head_width": 0.22, "length_includes_head": True, "zorder": 3}
    ax.arrow(x, y, *(0.4 * MOVES[move]), color="black", linewidth=1, **style)


def _advantages(ax: Axes, places: np.ndarray) -> PolyCollection:
    """Four triangles at each place, as in a compass."""
    q = solved().q
    corners = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)])
    shapes, worth = [], []
    for place in places:
        for move in range(4):
            ends = corners[[move, (move + 1) % 4]]
            shapes.append(np.array([(0, 0), *ends]) + _at(place))
            worth.append(q[place, move] - q[place].max())
    found = PolyCollection(shapes, array=np.array(worth), cmap="RdBu", zorder=1)
    found.set_clim(-8, 8)  # a fall is far beyond
    ax.add_collection(found)
    return found


def _key(ax: Axes, colours: dict[str, str]) -> None:
    for label, colour in colours.items():
        ax.plot([], [], color=colour, linewidth=2, label=label)
    below: Style = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.02), "ncols": 3}
    ax.legend(fontsize="small", frameon=False, **below)
