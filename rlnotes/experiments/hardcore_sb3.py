"""Row `hardcore/sb3-ppo`: Stable-Baselines3's PPO on the hardcore course, as the notes
ran it for 10 million steps, beside ours.

The notes take the RL Zoo's settings, a tenth of its steps, and change three things: the
clip is constant, the networks are larger, and rewards are not normalised. Ours are the
first 3 million: with batches of 64 rows, all of it would take hours. What is annealed
goes on as if the rest came, of 10 million steps and, in the variant `zoo`, of the Zoo's
100 million. The worlds are EnvPool's, as in our own rows: SB3's take turns in Python.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from rlnotes.experiments.base import (
    Bar,
    Budget,
    Experiment,
    Settings,
    Trial,
    Variant,
    new_trial,
)
from rlnotes.experiments.bipedal import FALL, HARD, walkers


@dataclass(frozen=True, kw_only=True)
class PpoOptions:
    """Under Stable-Baselines3's own names, and its defaults where the notes say
    nothing. The learning rate always falls, to 0 at the end."""

    learning_rate: float = 2.5e-4
    n_steps: int = 2_048
    batch_size: int = 64
    n_epochs: int = 10
    gamma: float = 0.99
    gae_lambda: float = 0.95
    clip_range: float = 0.2
    ent_coef: float = 0.001
    vf_coef: float = 0.5
    max_grad_norm: float = 0.5
    net_arch: tuple[int, ...] = (256, 256)  # of the policy and of the value function


@dataclass(frozen=True, kw_only=True)
class Sb3PpoSettings(Settings):
    num_envs: int = 16
    agent: PpoOptions = field(default_factory=PpoOptions)
    anneal_clip: bool = False
    norm_reward: bool = False
    annealing_length: float = 1.0  # times all steps, until what is annealed is 0


def falling(remaining: float, initial: float) -> float:
    """What SB3 asks for a rate: its value when this share of the training is left."""
    return initial * remaining


def options(settings: Sb3PpoSettings) -> dict[str, Any]:
    """As SB3's PPO takes them."""
    found: dict[str, Any] = vars(settings.agent).copy()
    found["policy_kwargs"] = {"net_arch": list(found.pop("net_arch"))}
    rates = ["learning_rate", *(["clip_range"] if settings.anneal_clip else [])]
    annealed: dict[str, Callable[[float], float]] = {
        name: partial(falling, initial=found[name]) for name in rates
    }
    return found | annealed


def start(settings: Sb3PpoSettings, seed: int) -> Trial:
    from rlnotes.algos import sb3  # nobody else here needs the library
    from rlnotes.envs.sb3_vector import Sb3Vector

    envs = Sb3Vector(walkers(HARD, settings.num_envs, FALL))
    model = sb3.ppo(
        sb3.normalised(envs, settings.norm_reward),
        seed,
        round(settings.steps * settings.annealing_length),
        **options(settings),
    )
    policy = sb3.new_policy(model)
    chunk = settings.steps // settings.budget.evaluations
    stream = sb3.train(model, policy, settings.steps, chunk)
    return new_trial(policy, None, stream, HARD, settings)


STEPS = 2_949_120  # 90 rollouts of 32,768

ZOO = {
    "annealing_length": 100_000_000 / STEPS,
    "anneal_clip": True,
    "norm_reward": True,
    "agent.net_arch": (64, 64),
}

HARDCORE_SB3_PPO = Experiment(
    id="hardcore/sb3-ppo",
    world=lambda settings: HARD,
    settings=Sb3PpoSettings(annealing_length=10_000_000 / STEPS),
    budgets={
        "smoke": Budget(32_768, evaluations=1, curve_episodes=1, final_episodes=2),
        "ci": Budget(98_304, evaluations=3, curve_episodes=5, final_episodes=20),
        "full": Budget(STEPS, evaluations=10, curve_episodes=20, final_episodes=100),
    },
    variants={
        "notes": Variant("SB3's PPO as in the notes, 3 of 10 million steps"),
        "zoo": Variant(
            "SB3's PPO as in the RL Zoo, 3 of 100 million steps", ZOO, planned=True
        ),
    },
    bars=(
        Bar(
            "as in the notes, SB3's PPO does not cross the course in 3 million steps",
            "notes",
            "iqm",
            "<=",
            200.0,
        ),
    ),
    start=start,
    seeds=1,
)
