"""How fast PPO learns Pong from pictures: ours on EnvPool against Stable-Baselines3's,
where our time goes (`ppo_race`), and the emulator alone, which is the limit.

All have 16 games, rollouts of 128 steps and four epochs of batches of 256, on one
thread of torch, and Nature's eye, of which SB3 has no other. What a smaller eye makes
of it is beside them.

SB3's own vectors hold our plain game, because what comes with SB3 for Atari needs one
more library; it does the same in Python. On EnvPool, through an adapter of ours, SB3
shows what is left when the games cost the same.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from gymnasium.vector import VectorEnv

from rlnotes.algos import ppo, sb3
from rlnotes.algos.networks import LOW_EYE, NATURE_EYE, SMALL_EYE
from rlnotes.envs import atari
from rlnotes.envs.atari import pong_field
from rlnotes.experiments import backends
from rlnotes.experiments.base import Bar, Budget, Experiment, Variant
from rlnotes.experiments.pixels import GameSettings, game_world, of, training_envs
from rlnotes.experiments.pong import PONG, PPO
from rlnotes.experiments.ppo_race import (
    OURS,
    Contestant,
    Parts,
    Play,
    Race,
    our_turns,
    sb3_turns,
)
from rlnotes.experiments.settings import Override, changed


def new_agent(envs: VectorEnv, settings: GameSettings) -> ppo.Agent:
    assert isinstance(settings.agent, ppo.Config)
    spaces = envs.single_observation_space, envs.single_action_space
    policy = ppo.new_policy(*spaces, settings.agent, eye=settings.eye)
    return ppo.Agent(policy, settings.agent)


def ours(
    settings: GameSettings, seed: int, override: Override
) -> AbstractContextManager[Play]:
    settings = changed(settings, override)
    envs = training_envs(settings)
    return our_turns(new_agent(envs, settings), envs, settings.steps, seed)


def sb3_ppo(
    settings: GameSettings, seed: int, vector: Callable[[GameSettings], Any]
) -> AbstractContextManager[Play]:
    assert isinstance(settings.agent, ppo.Config)
    return sb3_turns(settings.agent, vector(settings), settings.steps, seed)


def dummy(settings: GameSettings) -> Any:
    return sb3.vector(partial(atari.make, settings.game), settings.num_envs)


def subproc(settings: GameSettings) -> Any:
    return sb3.processes(partial(atari.make, settings.game), settings.num_envs)


def sb3_envpool(settings: GameSettings) -> Any:
    from rlnotes.envs.sb3_vector import Sb3Vector  # slow to import

    return Sb3Vector(training_envs(settings))


class GameParts(Parts):
    def __init__(self, settings: GameSettings, seed: int) -> None:
        envs = training_envs(settings)
        super().__init__(new_agent(envs, settings), envs, seed, atari.ENV_ID)
        self.players["emulator"] = backends.simulator(self.task)


# Those that fork come before those that have threads.
GAMES = Race(
    {
        "sb3_subproc": Contestant(
            "SB3, SubprocVecEnv", partial(sb3_ppo, vector=subproc)
        ),
        "sb3_dummy": Contestant("SB3, DummyVecEnv", partial(sb3_ppo, vector=dummy)),
        "sb3_envpool": Contestant(
            "SB3, EnvPool by an adapter of ours", partial(sb3_ppo, vector=sb3_envpool)
        ),
        OURS: Contestant("ours, EnvPool", partial(ours, override={})),
        "ours_small": Contestant(
            "ours, small eye", partial(ours, override={"eye": SMALL_EYE})
        ),
        "ours_low": Contestant(
            "ours, smaller eye on 42 × 42 of the field",
            partial(ours, override={"eye": LOW_EYE, **of("game", pong_field(42))}),
        ),
    },
    GameParts,
)


def rollouts(count: int) -> Budget:
    """Of each contestant, on the way to which nothing is evaluated."""
    steps = 16 * PPO.num_steps * count
    return Budget(steps, evaluations=1, curve_episodes=0, final_episodes=0)


PIXELS_SPEED = Experiment(
    id="pixels/ppo-speed",
    world=game_world,
    settings=GameSettings(agent=PPO, game=PONG, eye=NATURE_EYE),
    budgets={"smoke": rollouts(2), "ci": rollouts(3), "full": rollouts(6)},
    variants={"pong": Variant("Pong")},
    bars=(
        Bar(
            "PPO on EnvPool learns from 1.5 times as many pictures per second as SB3's",
            "pong",
            "worst",
            ">=",
            1.5,
            "ours_times_sb3",
        ),
    ),
    start=GAMES.start,
    seeds=3,
    cores=2,
    planned=True,
)
