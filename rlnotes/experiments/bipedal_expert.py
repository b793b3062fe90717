"""Who is asked on the walker: PPO, trained until it walks well, and a critic of it.

`experts/bipedal` is the walker. Its critic is `experts/bipedal-critic`: fitted Q
evaluation, because PPO has none of actions, from what becomes of the walker if it slips
now and then. It is compared with the returns of real actions before anybody learns from
it (`critic_checks`): at its evaluations along the way at other moments than at the end.
What one action of fifty a second is worth can hardly be told, so the critic is built to
believe its walker: no action is worth more than the walker's own. `fitted` is not.

On the hardcore course the same walker is stopped early, when it earns as little as the
expert of the notes does there, and has a critic, too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np
import torch

from rlnotes.algos import fitted_q
from rlnotes.algos.experts import Expert
from rlnotes.algos.policy import Policy
from rlnotes.data.rollouts import BatchPolicy, Episode
from rlnotes.data.transitions import Transitions
from rlnotes.envs.vector import led_to
from rlnotes.experiments.base import (
    Bar,
    Budget,
    Experiment,
    Metrics,
    Settings,
    Trial,
    Variant,
    World,
    new_trial,
)
from rlnotes.experiments.bipedal import (
    EASY,
    HARD,
    PPO,
    SOFT_FALL,
    WalkerSettings,
    soften,
    start,
    walkers,
)
from rlnotes.experiments.critic_checks import Check, Trials, compared, prefixed, tried
from rlnotes.experiments.recipes import COLLECTING_SEED, recorded, recorded_tensors
from rlnotes.paths import Run
from rlnotes.seeding import reset_seeds

# --- the walker


@dataclass(frozen=True, kw_only=True)
class ExpertSettings(WalkerSettings):
    hardcore: bool = False


def course(settings: "ExpertSettings | CriticSettings") -> World:
    return HARD if settings.hardcore else EASY


def start_expert(settings: ExpertSettings, seed: int) -> Trial:
    return start(course(settings), settings, seed)


BIPEDAL_EXPERT = Experiment(
    id="experts/bipedal",
    world=course,
    settings=ExpertSettings(agent=PPO, num_envs=32),
    budgets={
        "smoke": Budget(16_000, evaluations=1, curve_episodes=1, final_episodes=2),
        "ci": Budget(400_000, evaluations=4, curve_episodes=5, final_episodes=20),
        "full": Budget(
            4_000_000, evaluations=20, curve_episodes=10, final_episodes=100
        ),
    },
    variants={
        "ppo": Variant("the expert (PPO)"),
        "hardcore": Variant(
            "the expert of another world",
            {"hardcore": True, "num_envs": 64, "stop_at_return": 4.0},
        ),
    },
    bars=(Bar("the expert walks", "ppo", "iqm", ">=", 300.0),),
    start=start_expert,
    seeds=1,
)

WALKER = Run(BIPEDAL_EXPERT.id, "ppo", 0)
HARDCORE_WALKER = Run(BIPEDAL_EXPERT.id, "hardcore", 0)

# --- its critic


@dataclass(frozen=True, kw_only=True)
class CriticSettings(Settings):
    """The steps of its budgets are updates."""

    agent: fitted_q.Config
    hardcore: bool = False
    watched_steps: int = 10  # for each update
    most_slips: float = 1.0  # of one world's steps; the others have fewer, the first 0
    longest_slip: int = 8  # steps for which a random action is held
    num_envs: int = 50
    fall_penalty: float = SOFT_FALL
    check: Check = field(default_factory=Check)


def walker_of(settings: CriticSettings) -> Policy:
    return recorded(HARDCORE_WALKER if settings.hardcore else WALKER)


class Slipping:
    """The player of a whole vector, in which each world has its own share of slips. A
    slip is a random action that is held for a while: one step alone hardly shows."""

    def __init__(
        self, act: BatchPolicy, shares: np.ndarray, longest: int, action_dim: int
    ) -> None:
        self._act, self._longest = act, longest
        mean_length = (1 + longest) / 2
        # Of a step without a slip, so that the share comes out.
        self._begins = shares / (shares + mean_length * (1 - shares))
        self._left = np.zeros(len(shares), int)
        self._random = np.zeros((len(shares), action_dim), np.float32)
        self._rng = np.random.default_rng(COLLECTING_SEED)

    def __call__(self, obs: np.ndarray) -> np.ndarray:
        draws = self._rng.uniform(size=len(self._left))
        begins = (self._left == 0) & (draws < self._begins)
        lengths = self._rng.integers(1, self._longest + 1, size=len(begins))
        random = self._rng.uniform(-1, 1, self._random.shape)
        self._left = np.where(begins, lengths, self._left)
        self._random[begins] = random[begins]
        slips = self._left > 0
        self._left -= slips
        return np.where(slips[:, None], self._random, self._act(obs))


def watched(walker: Policy, settings: CriticSettings) -> Transitions:
    """Steps of the walker, and of its slips: the same ones for every seed."""
    count = settings.num_envs
    envs = walkers(course(settings), count, settings.fall_penalty)
    shares = np.linspace(0, settings.most_slips, count)
    player = Slipping(walker.act, shares, settings.longest_slip, walker.action_dim)
    steps = settings.watched_steps * settings.steps // count
    data = Transitions(steps * count, walker.obs_shape, walker.action_dim)
    # One seed each; the base class declares a single one.
    starts: Any = reset_seeds("train", COLLECTING_SEED, count)
    obs, _ = envs.reset(seed=starts)
    for _ in range(steps):
        action = player(obs)
        next_obs, reward, terminated, _, info = envs.step(action)
        data.extend(obs, action, reward, led_to(next_obs, info), terminated)
        obs = next_obs
    envs.close()
    return data


def staggering(walker: Policy, seed: int) -> BatchPolicy:
    """The walker, a fifth of whose actions are random: it comes to states that others
    come to, too."""
    rng = np.random.default_rng([COLLECTING_SEED, seed])

    def act(obs: np.ndarray) -> np.ndarray:
        slips = rng.uniform(size=(len(obs), 1)) < 0.2
        random = rng.uniform(-1, 1, (len(obs), walker.action_dim))
        return np.where(slips, random, walker.act(obs)).astype(np.float32)

    return act


def actions_tried(
    settings: CriticSettings, walker: Policy, purpose: Literal["select", "evaluate"]
) -> Trials:
    """At moments of the walker's episodes, and of as many of a staggering one. Those
    along the way are others than the last ones."""
    world, budget, last = course(settings), settings.budget, purpose == "evaluate"
    starts = reset_seeds(purpose, COLLECTING_SEED, 2 * budget.curve_episodes)
    played = world.play(walker.act, starts[::2])
    played += world.play(staggering(walker, int(last)), starts[1::2])
    count = budget.final_episodes if last else 4 * budget.curve_episodes
    return tried(world, walker.act, played, count, settings.check, int(last))


def soft_return(episode: Episode, gamma: float, fall_penalty: float) -> float:
    rewards = soften(episode.rewards, fall_penalty)
    return float(rewards @ gamma ** np.arange(len(rewards)))


def checked(agent: fitted_q.Agent, trials: Trials, fall_penalty: float) -> Metrics:
    of = partial(soft_return, gamma=agent.config.gamma, fall_penalty=fall_penalty)
    q = trials.said_by(partial(fitted_q.q_value, agent))
    return compared(q, trials.returns(of))


def start_critic(settings: CriticSettings, seed: int) -> Trial:
    world, walker = course(settings), walker_of(settings)
    agent = fitted_q.Agent(walker, walker.act, settings.agent)
    stream = fitted_q.train(agent, watched(walker, settings), settings.steps)
    along, penalty = actions_tried(settings, walker, "select"), settings.fall_penalty

    def diagnose(_: Sequence[Episode]) -> Metrics:
        return checked(agent, along, penalty)

    trial = new_trial(walker, agent, stream, world, settings, diagnose)
    evaluated = trial.stream

    def with_last_check() -> Iterator[tuple[int, Metrics]]:
        yield from evaluated
        last = actions_tried(settings, walker, "evaluate")
        yield trial.steps, prefixed("final", checked(agent, last, penalty))
        trial.arrays |= {
            name: tensor.numpy() for name, tensor in agent.critic.state_dict().items()
        }

    trial.stream = with_last_check()
    return trial


# Q' must come a few hundred times as far as Q, for γ = 0.99 to be seen to its end: with
# a slower copy, 60,000 updates are not enough.
PEAKED = fitted_q.Config(tau=0.03, batch_size=512, hidden=(256, 256), peaked=True)


def tells(variant: str, q: str) -> tuple[Bar, ...]:
    return (
        Bar(
            f"{q} goes with what really comes of actions",
            variant,
            "iqm",
            ">=",
            0.9,
            "final_q_correlation",
        ),
        Bar(
            "and tells those of one state apart",
            variant,
            "iqm",
            ">=",
            0.3,
            "final_advantage_correlation",
        ),
    )


BIPEDAL_CRITIC = Experiment(
    id="experts/bipedal-critic",
    world=course,
    settings=CriticSettings(agent=PEAKED),
    budgets={
        "smoke": Budget(20, evaluations=1, curve_episodes=1, final_episodes=2),
        "ci": Budget(5_000, evaluations=2, curve_episodes=4, final_episodes=10),
        "full": Budget(60_000, evaluations=6, curve_episodes=10, final_episodes=100),
    },
    variants={
        "peaked": Variant("Q of the expert, best where it acts"),
        "fitted": Variant("Q of the expert, free", {"agent.peaked": False}),
        "short-sighted": Variant("Q with γ = .9", {"agent.gamma": 0.9}),
        "hardcore": Variant("Q of another world's expert", {"hardcore": True}),
    },
    bars=(
        *tells("peaked", "a Q that believes its walker"),
        *tells("fitted", "a free Q"),
    ),
    start=start_critic,
    seeds=1,
)

CRITIC = Run(BIPEDAL_CRITIC.id, "peaked", 0)
FREE_CRITIC = Run(BIPEDAL_CRITIC.id, "fitted", 0)
SHORT_SIGHTED_CRITIC = Run(BIPEDAL_CRITIC.id, "short-sighted", 0)
HARDCORE_CRITIC = Run(BIPEDAL_CRITIC.id, "hardcore", 0)


def walker_expert() -> Expert:
    return asked(WALKER, CRITIC)


def free_expert() -> Expert:
    """The same walker, and a critic that may think better of other actions."""
    return asked(WALKER, FREE_CRITIC)


def short_sighted_expert() -> Expert:
    """The same walker, who does not look as far ahead."""
    return asked(WALKER, SHORT_SIGHTED_CRITIC)


def hardcore_expert() -> Expert:
    """One that has learnt in another world, and not much there."""
    return asked(HARDCORE_WALKER, HARDCORE_CRITIC)


def asked(walker: Run, critic: Run) -> Expert:
    policy = recorded(walker)
    config = BIPEDAL_CRITIC.settings_for(critic.variant, critic.budget).agent
    with torch.random.fork_rng():  # the learner begins as with any other expert
        agent = fitted_q.Agent(policy, policy.act, config)
    agent.critic.load_state_dict(recorded_tensors(critic))
    return fitted_q.fitted_expert(agent)
