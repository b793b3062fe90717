"""What a learner of games is given: pictures, rewards and time. Looked at in the games
themselves, before anything is learnt."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium import spaces
from matplotlib.axes import Axes

from rlnotes.algos.networks import Eye
from rlnotes.algos.policy import Policy
from rlnotes.autopsies import grey_background, raw_pixels, short_horizon
from rlnotes.data.rollouts import BatchPolicy
from rlnotes.envs.atari import AtariEnv, AtariVectorEnv, Game
from rlnotes.envs.rewards import BALL_X
from rlnotes.experiments import registry
from rlnotes.report import addresses, figures, tables
from rlnotes.report.tables import Table

FIELD = (68, 188)  # of Pong, in the numbers of its memory: left paddle to ours


def picture_row(pictures: Sequence[tuple[str, np.ndarray]]) -> list[Axes]:
    """Pictures beside each other under their titles, in grey where they have no
    colours."""
    shown = list(np.atleast_1d(figures.axes(len(pictures), width=9, height=2.3)))
    for ax, (title, picture) in zip(shown, pictures, strict=True):
        ax.imshow(picture, cmap="gray", vmin=0, vmax=255)
        ax.set_title(title, fontsize="medium")
        ax.axis("off")
    return shown


# --- pictures


def seen(name: str, decisions: int = 40, seed: int = 0, **options: Any) -> list[Axes]:
    """The screen of a game after some random play, and the stack that a network gets
    instead of it."""
    env = AtariEnv(name=name, render_mode="rgb_array", **options)
    env.action_space.seed(seed)
    stack, _ = env.reset(seed=seed)
    for _ in range(decisions):
        stack, *_ = env.step(env.action_space.sample())
    screen = env.render()
    assert screen is not None
    ages = [f"now − {age}" for age in range(len(stack) - 1, 0, -1)]
    titles = ["the screen", *ages, "now"]
    return picture_row(list(zip(titles, [screen, *stack], strict=True)))


def last_two_frames(
    name: str, decisions: int = 40, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Of a decision after some random play, as large as the game draws them."""
    env = AtariEnv(name=name)
    env.reset(seed=seed)
    rng = np.random.default_rng(seed)
    actions = env.ale.getMinimalActionSet()
    for _ in range(decisions):
        action = actions[rng.integers(len(actions))]
        frames = []
        for _ in range(env.game.frame_skip):
            env.ale.act(action)
            frames.append(env.ale.getScreenGrayscale())
    return frames[-2], frames[-1]


def pooled(names: Sequence[str], decisions: int = 40, seed: int = 0) -> list[Axes]:
    """For each game the last two frames of a decision, and the brighter of the two."""
    shown = []
    for name in names:
        before, last = last_two_frames(name, decisions, seed)
        title = name.replace("_", " ").title()
        shown += [(title, before), ("the next frame", last)]
        shown.append(("the brighter", np.maximum(before, last)))
    return picture_row(shown)


def untrained(name: str, eyes: Mapping[str, Eye], seed: int = 0) -> Table:
    """What networks of these eyes get to see of a game, and what they say of it before
    they have learnt anything; the first weights are the same."""
    env = AtariEnv(name=name)
    obs, _ = env.reset(seed=seed)
    rows = []
    for label, eye in eyes.items():
        torch.manual_seed(seed)
        policy = Policy.for_spaces(env.observation_space, env.action_space, (), eye=eye)
        encoded = policy.encode_array(obs[None])
        with torch.no_grad():
            said = float(policy.net(encoded.clone()).abs().max())
        largest = raw_pixels.largest_input(encoded.numpy())
        fires = "yes" if raw_pixels.fires(largest) else "no"
        rows.append((label, tables.number(largest), tables.varies(said, ".2f"), fires))
    headings = ("pixels", "largest input", "largest first Q", "diagnostic fires")
    return Table(headings, rows)


def random_pictures(game: Game, decisions: int = 300, every: int = 10) -> np.ndarray:
    """Of random play in eight games at a time."""
    rng = np.random.default_rng(0)
    pictures = []
    with closing(AtariVectorEnv(game, 8)) as envs:
        obs, _ = envs.reset(seed=0)
        space = envs.single_action_space
        assert isinstance(space, spaces.Discrete)
        for decision in range(1, decisions + 1):
            obs, *_ = envs.step(rng.integers(int(space.n), size=8))
            if decision % every == 0:
                pictures.append(obs.copy())
    return np.concatenate(pictures)


@torch.no_grad()
def open_gates(pictures: np.ndarray, eye: Eye, seed: int = 0) -> np.ndarray:
    """Of the first filters of an eye that has learnt nothing: one row for each picture,
    one column for each filter and place."""
    torch.manual_seed(seed)
    space = spaces.Box(0, 255, pictures.shape[1:], np.uint8)
    policy = Policy.for_spaces(space, spaces.Discrete(2), (), eye=eye)
    answers = policy.net[0](policy.encode_array(pictures))
    return (answers > 0).flatten(1).numpy()


def backgrounds(shown: Mapping[str, tuple[Game, Eye]], seed: int = 0) -> Table:
    """By how much an untrained eye tells pictures apart."""
    rows = []
    for label, (game, eye) in shown.items():
        pictures = random_pictures(game)
        grey = (float(np.median(pictures)) - eye.background) / eye.divisor
        gates = grey_background.differing_gates(open_gates(pictures, eye, seed))
        fires = "yes" if grey_background.fires(gates) else "no"
        cells = (tables.number(grey, 2), tables.varies(100 * gates), fires)
        rows.append((label, *cells))
    headings = ("", "background", "gates that differ, %", "diagnostic fires")
    return Table(headings, rows)


# --- rewards


@dataclass(frozen=True)
class Pay:
    """What random play is paid for in a game."""

    steps: int
    gains: int  # steps with a reward above 0
    losses: int

    @property
    def per_thousand(self) -> float:
        return 1_000 * (self.gains + self.losses) / self.steps

    @property
    def gains_percent(self) -> float:
        return 100 * self.gains / max(1, self.gains + self.losses)


def random_pay(game: Game, num_steps: int, num_envs: int = 8, seed: int = 0) -> Pay:
    rng = np.random.default_rng(seed)
    with closing(AtariVectorEnv(game, num_envs)) as envs:
        envs.reset(seed=seed)
        space = envs.single_action_space
        assert isinstance(space, spaces.Discrete)
        drawn = rng.integers(int(space.n), size=(num_steps, num_envs))
        paid = np.array([envs.step(actions)[1] for actions in drawn])
    return Pay(paid.size, int((paid > 0).sum()), int((paid < 0).sum()))


def pay_table(found: Mapping[str, Pay]) -> Table:
    """Measured just now."""
    rows = [
        (
            name,
            tables.text(pay.steps),
            tables.varies(pay.per_thousand),
            tables.varies(pay.gains_percent, ".0f"),
        )
        for name, pay in found.items()
    ]
    headings = ("random play", "decisions", "rewards in 1,000", "of these gains, %")
    return Table(headings, rows)


# --- time


def horizons(variants: Sequence[str], needed: float) -> Table:
    """How far ahead the advantages of these variants reach, from their settings."""
    return Table(
        ("", "frames a decision", "γ", "λ", "decisions", "seconds", "too short"),
        [_horizon_cells(address, needed) for address in variants],
    )


def _horizon_cells(address: str, needed: float) -> tuple[str, ...]:
    id, variant, _ = addresses.split(address, "")
    experiment = registry.find(id)
    settings: Any = experiment.settings_for(variant, "full")
    agent, skip = settings.agent, settings.game.frame_skip
    seconds = short_horizon.seconds(agent.gamma, agent.gae_lambda, skip)
    return (
        experiment.variants[variant].label,
        str(skip),
        tables.text(agent.gamma, ".3f"),
        tables.text(agent.gae_lambda, ".3f"),
        tables.text(1 / (1 - agent.gamma * agent.gae_lambda), ".0f"),
        tables.text(seconds, ".2f"),
        "yes" if short_horizon.fires(seconds, needed) else "no",
    )


def flight_seconds(seed: int = 0, most: int = 2_000) -> float:
    """What a served ball takes from the middle of Pong's field to our paddle, that
    stands still."""
    env = AtariEnv(name="pong")
    env.reset(seed=seed)
    middle, ours = sum(FIELD) // 2, FIELD[1]
    left, before = None, 0
    for frame in range(most):
        env.ale.act(env._noop)
        ball = int(env.ale.getRAM()[BALL_X])
        if before and before < middle <= ball:
            left = frame
        if left is not None and ball >= ours:
            return (frame - left) / short_horizon.FRAMES_PER_SECOND
        before = ball
    raise ValueError(f"no ball came to our side in {most} frames")


# --- a moment of play


def moment(
    make_env: Callable[..., gym.Env[Any, Any]],
    policy: BatchPolicy,
    seed: int,
    decisions: int,
) -> np.ndarray:
    """What a policy sees after so many decisions of its own, or at the end."""
    with closing(make_env()) as env:
        obs, _ = env.reset(seed=seed)
        for _ in range(decisions):
            obs, _, terminated, truncated, _ = env.step(policy(obs[None])[0])
            if terminated or truncated:
                break
    return obs
