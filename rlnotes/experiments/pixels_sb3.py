"""Rows `pong/sb3-…` and `breakout/sb3-…`: Stable-Baselines3 in the games of our own
learners, with the settings of the notes, which are mostly its defaults.

Our vector takes the place of its own, which does the same in Python and slower: no-op
starts, four frames a step and the brighter of the last two, FIRE, a life as an end,
rewards cut to their sign, 84 × 84 pixels in grey, four of them.
"""

from dataclasses import dataclass
from typing import Any

from rlnotes.envs.atari import Game, make_atari_vec_env
from rlnotes.experiments.base import (
    Bar,
    Budget,
    Experiment,
    Settings,
    Trial,
    Variant,
    new_trial,
)
from rlnotes.experiments.parallel_sb3 import DqnOptions
from rlnotes.experiments.pixels import judged


@dataclass(frozen=True, kw_only=True)
class PpoOptions:
    """Under Stable-Baselines3's own names; the defaults are those of version 2.9.2."""

    learning_rate: float = 3e-4
    n_steps: int = 2_048
    batch_size: int = 64
    n_epochs: int = 10
    gamma: float = 0.99
    gae_lambda: float = 0.95
    clip_range: float = 0.2
    ent_coef: float = 0.0
    vf_coef: float = 0.5
    max_grad_norm: float = 0.5


@dataclass(frozen=True, kw_only=True)
class A2cOptions:
    """In the same way; its optimiser is RMSProp."""

    learning_rate: float = 7e-4
    n_steps: int = 5
    gamma: float = 0.99
    gae_lambda: float = 1.0
    ent_coef: float = 0.0
    vf_coef: float = 0.5
    max_grad_norm: float = 0.5


@dataclass(frozen=True, kw_only=True)
class Sb3PixelSettings(Settings):
    game: Game
    agent: PpoOptions | A2cOptions | DqnOptions
    num_envs: int


def start(settings: Sb3PixelSettings, seed: int) -> Trial:
    from rlnotes.algos import sb3  # nobody else here needs the library
    from rlnotes.envs.sb3_vector import Sb3Vector

    envs = Sb3Vector(make_atari_vec_env(settings.game, settings.num_envs))
    options: dict[str, Any] = vars(settings.agent).copy()
    model: Any
    if isinstance(settings.agent, DqnOptions):
        options.pop("net_arch")  # behind Nature's eye there is one layer
        model = sb3.dqn(envs, seed, **options)
    elif isinstance(settings.agent, A2cOptions):
        model = sb3.a2c(envs, seed, **options)
    else:
        model = sb3.ppo(envs, seed, settings.steps, **options)
    policy = sb3.new_policy(model)
    chunk = settings.steps // settings.budget.evaluations
    stream = sb3.train(model, policy, settings.steps, chunk)
    return new_trial(policy, None, stream, judged(settings.game), settings)


PONG, BREAKOUT = (
    Game(name, terminal_on_life_loss=True, clip_reward=True)
    for name in ("pong", "breakout")
)

DQN = DqnOptions(
    buffer_size=10_000, learning_starts=10_000, target_update_interval=1_000
)


def beside_ours(
    id: str,
    settings: Sb3PixelSettings,
    smallest: int,
    steps: int,
    label: str,
    bar: Bar,
    planned: bool = True,
) -> Experiment[Sb3PixelSettings]:
    return Experiment(
        id=id,
        world=lambda settings: judged(settings.game),
        settings=settings,
        budgets={
            "smoke": Budget(smallest, 1, curve_episodes=1, final_episodes=1),
            "ci": Budget(2 * smallest, 2, curve_episodes=1, final_episodes=2),
            "full": Budget(steps, 10, curve_episodes=5, final_episodes=30),
        },
        variants={"notes": Variant(label)},
        bars=(bar,),
        start=start,
        seeds=1,
        planned=planned,
        large_policies=True,
    )


PONG_SB3_PPO = beside_ours(
    "pong/sb3-ppo",
    Sb3PixelSettings(game=PONG, agent=PpoOptions(), num_envs=6),
    smallest=12_288,
    steps=491_520,
    label="SB3's PPO, 6 environments, half of a million steps",
    bar=Bar("SB3's PPO moves by then", "notes", "iqm", ">=", -15.0),
)
PONG_SB3_A2C = beside_ours(
    "pong/sb3-a2c",
    Sb3PixelSettings(game=PONG, agent=A2cOptions(), num_envs=4),
    smallest=2_000,
    steps=1_000_000,
    label="SB3's A2C, 4 environments",
    bar=Bar("SB3's A2C does not win by then", "notes", "iqm", "<=", 0.0),
    planned=False,
)
PONG_SB3_DQN = beside_ours(
    "pong/sb3-dqn",
    Sb3PixelSettings(game=PONG, agent=DQN, num_envs=4),
    smallest=12_000,
    steps=500_000,
    label="SB3's DQN, 4 environments",
    bar=Bar("SB3's DQN does not win by then", "notes", "iqm", "<=", 0.0),
)
BREAKOUT_SB3_DQN = beside_ours(
    "breakout/sb3-dqn",
    Sb3PixelSettings(game=BREAKOUT, agent=DQN, num_envs=4),
    smallest=12_000,
    steps=600_000,
    label="SB3's DQN, 4 environments, 0.6 of 4 million steps",
    bar=Bar("SB3's DQN learns Breakout", "notes", "iqm", ">=", 5.0),
)
BREAKOUT_SB3_A2C = beside_ours(
    "breakout/sb3-a2c",
    Sb3PixelSettings(game=BREAKOUT, agent=A2cOptions(), num_envs=4),
    smallest=2_000,
    steps=500_000,
    label="SB3's A2C, 4 environments, half a million steps",
    bar=Bar("SB3's A2C learns Breakout", "notes", "iqm", ">=", 5.0),
    planned=False,
)
