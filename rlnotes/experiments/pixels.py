"""Chapter "Learning from pixels": how a game is learnt and judged.

A policy is judged in full games with the score as it is, greedily and, at the end, with
drawn actions too; whatever training changes (rewards cut to their sign, a life as an
end) is not part of that.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from gymnasium.vector import VectorEnv

from rlnotes.algos import dqn, ppo
from rlnotes.algos.networks import SMALL_EYE, Eye
from rlnotes.algos.policy import Policy
from rlnotes.autopsies.capped_best import capped_length
from rlnotes.autopsies.lost_done import LostDone
from rlnotes.autopsies.small_replay import same_episode_pairs
from rlnotes.data.frames import FrameTransitions
from rlnotes.data.rollouts import Episode
from rlnotes.envs import atari
from rlnotes.envs.atari import Game, make_atari_vec_env
from rlnotes.envs.rewards import DelayedReward, TouchReward
from rlnotes.experiments.base import (
    Diagnose,
    Metrics,
    Settings,
    Trial,
    World,
    new_trial,
    nothing_more,
)

UNBOUNDED = 1e9  # JSON has no infinity


@dataclass(frozen=True, kw_only=True)
class PixelSettings(Settings):
    """A learner that sees pictures, and the eye that it has for them."""

    agent: ppo.Config | dqn.Config
    eye: Eye = SMALL_EYE
    num_envs: int = 16
    annealing_length: float = 1.0  # times all steps, until what is annealed is 0


def pixel_trial(
    world: World, settings: PixelSettings, envs: VectorEnv, seed: int
) -> Trial:
    """PPO, A2C or DQN in a vector of pictures."""
    spaces = envs.single_observation_space, envs.single_action_space
    steps = round(settings.steps * settings.annealing_length)
    agent: ppo.Agent | dqn.Agent
    diagnose: Diagnose = nothing_more
    if isinstance(settings.agent, dqn.Config):
        hidden = settings.agent.hidden
        policy = Policy.for_spaces(*spaces, hidden, "argmax", eye=settings.eye)
        agent = dqn.Agent(policy, settings.agent)
        stream = dqn.train(agent, envs, steps, seed)
        diagnose = partial(replay_and_choice, agent)
    else:
        policy = ppo.new_policy(*spaces, settings.agent, eye=settings.eye)
        agent = ppo.Agent(policy, settings.agent)
        stream = ppo.train(agent, envs, steps, seed)
    timed = with_speed(stream, agent)
    return new_trial(policy, agent, timed, world, settings, diagnose)


def replay_and_choice(agent: dqn.Agent, episodes: Sequence[Episode]) -> Metrics:
    """How many of a batch belong together, and by which mark the notes would choose the
    best policy."""
    assert isinstance(agent.memory, FrameTransitions)
    pairs = same_episode_pairs(agent.memory.ends, agent.config.batch_size)
    return {
        "same_episode_pairs": pairs,
        "capped_length": capped_length(episodes),
    }


SPEED = "steps_per_cpu_second"


def with_speed(
    stream: Iterator[tuple[int, Any]], agent: Any
) -> Iterator[tuple[int, Any]]:
    """A learner's stream that also says how many steps a second of one core has been
    enough for so far. What others do with the machine does not count, nor does what is
    done between its steps, such as evaluations."""
    first, spent = agent.step, 0.0
    while True:
        started = time.process_time()
        found = next(stream, None)
        spent += time.process_time() - started
        if found is None:
            return
        step, diagnostics = found
        yield step, diagnostics | {SPEED: (step - first) / max(spent, 1e-9)}


@dataclass(frozen=True, kw_only=True)
class GameSettings(PixelSettings):
    """A game, and what training does to it besides."""

    game: Game
    lost_done: bool = False
    reward_delay: int = 0  # decisions
    touch_reward: float = 0.0  # of Pong


def judged(game: Game) -> World:
    """The whole game and its own score."""
    whole = replace(game, terminal_on_life_loss=False, clip_reward=False)
    limit = {"max_episode_steps": whole.max_episode_steps}
    options = limit | asdict(whole)
    return World(atari.ENV_ID, options, at_once=10, keep_obs=False, sampled=True)


def game_world(settings: GameSettings) -> World:
    return judged(settings.game)


def training_envs(settings: GameSettings) -> VectorEnv:
    envs: VectorEnv = make_atari_vec_env(settings.game, settings.num_envs)
    if settings.touch_reward:
        envs = TouchReward(envs, settings.touch_reward)
    if settings.reward_delay:
        envs = DelayedReward(envs, settings.reward_delay)
    if settings.lost_done:
        envs = LostDone(envs)
    return envs


def start(settings: GameSettings, seed: int) -> Trial:
    envs = training_envs(settings)
    return pixel_trial(game_world(settings), settings, envs, seed)


def of(prefix: str, fault: Mapping[str, Any]) -> dict[str, Any]:
    """An override by the names of an inner part of the settings."""
    return {f"{prefix}.{name}": value for name, value in fault.items()}
