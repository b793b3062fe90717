"""Stable-Baselines3's five algorithms, each on three worlds that it learns, with the
doctor beside the training: whatever he says here is a false alarm.

Settings are near those of the RL Zoo, with fewer steps and smaller networks; noise that
depends on the state is kept only where the mountain car is not found without it. What
the doctor measured at his looks is in the record, and for every check whether it fired;
a check that could not be made is not there.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch

from rlnotes.data.rollouts import BatchPolicy
from rlnotes.doctor.findings import Report
from rlnotes.experiments.base import (
    Bar,
    Budget,
    Experiment,
    Metrics,
    Settings,
    Trial,
    Variant,
    World,
)
from rlnotes.seeding import reset_seeds

FIRES = "fires_"  # and the name of a check: 1 if it fired, 0 if it was quiet
CARTPOLE, ACROBOT, PENDULUM = "CartPole-v1", "Acrobot-v1", "Pendulum-v1"
MOUNTAIN, CONTINUOUS = "MountainCar-v0", "MountainCarContinuous-v0"
PUCK = "rlnotes/Puck-v0"


@dataclass(frozen=True, kw_only=True)
class WatchedSettings(Settings):
    algorithm: Literal["PPO", "A2C", "DQN", "SAC", "TD3"] = "PPO"
    env_id: str = CARTPOLE
    num_envs: int = 8
    normalize: bool = False  # observations and rewards, by their running deviation
    noise_std: float | None = None  # of the noise (Ornstein and Uhlenbeck's) on actions
    options: dict[str, Any] = field(default_factory=dict)  # under SB3's own names


def new_model(settings: WatchedSettings, seed: int) -> Any:
    import stable_baselines3  # slow to import, and nobody else needs it

    from rlnotes.algos import sb3

    envs: Any = sb3.vector(world(settings).make, settings.num_envs)
    if settings.normalize:
        envs = sb3.normalised(envs, norm_reward=True)
    options = {**settings.options, **_noise(settings, envs.action_space)}
    if "policy_kwargs" in options:  # SB3 writes into it
        options["policy_kwargs"] = dict(options["policy_kwargs"])
    algorithm = getattr(stable_baselines3, settings.algorithm)
    model = algorithm("MlpPolicy", envs, seed=seed, device="cpu", **options)
    torch.set_num_threads(1)
    return model


def _noise(settings: WatchedSettings, space: Any) -> dict[str, Any]:
    if settings.noise_std is None:
        return {}
    from stable_baselines3.common.noise import OrnsteinUhlenbeckActionNoise

    mean = np.zeros(space.shape)
    sigma = settings.noise_std * np.ones(space.shape)
    return {"action_noise": OrnsteinUhlenbeckActionNoise(mean, sigma)}


def player(model: Any) -> BatchPolicy:
    """Its policy without noise, from observations as the world gives them."""
    normalised = model.get_vec_normalize_env()

    def act(obs: np.ndarray) -> np.ndarray:
        seen = obs if normalised is None else normalised.normalize_obs(obs)
        return model.predict(seen, deterministic=True)[0]

    return act


def noted(report: Report) -> Iterator[tuple[int, Metrics]]:
    """What was measured, look by look."""
    looks: dict[int, Metrics] = {}
    for one in report.exhibits:
        for step, value in zip(one.x, one.y, strict=True):
            looks.setdefault(int(step), {})[one.name] = float(value)
    yield from sorted(looks.items())


def said(report: Report) -> Metrics:
    fired = dict.fromkeys(report.fired, 1.0) | dict.fromkeys(report.quiet, 0.0)
    return {FIRES + name: value for name, value in fired.items()}


def start(settings: WatchedSettings, seed: int) -> Trial:
    def stream() -> Iterator[tuple[int, Metrics]]:
        from rlnotes.doctor.sb3 import Doctor

        model, doctor = new_model(settings, seed), Doctor()
        stage = world(settings)

        def returns(purpose: Literal["select", "evaluate"], count: int) -> float:
            episodes = stage.play(player(model), reset_seeds(purpose, 0, count))
            return stage.scores(episodes)["return"]

        before = returns("select", settings.budget.curve_episodes)
        model.learn(settings.steps, callback=doctor)
        report = doctor.report()
        yield from noted(report)
        yield (
            model.num_timesteps,
            {
                "untrained_return": before,
                "final_return": returns("evaluate", settings.budget.final_episodes),
                "problems": float(len(doctor.problems)),
                **said(report),
            },
        )

    return Trial(None, settings.steps, stream())


def world(settings: WatchedSettings) -> World:
    return World(settings.env_id, at_once=20)


# --- fifteen trainings

SMALL, WIDE = {"net_arch": [64, 64]}, {"net_arch": [256, 256]}
LEARNT: dict[str, float] = {  # a return that nobody has by chance
    CARTPOLE: 150.0,
    ACROBOT: -150.0,
    PENDULUM: -500.0,
    MOUNTAIN: -150.0,
    CONTINUOUS: 80.0,
    PUCK: -30.0,
}


def watched(
    algorithm: str, env_id: str, thousands: int, num_envs: int = 1, **more: Any
) -> Mapping[str, Any]:
    """What is not a setting of its own is an option of SB3's."""
    names = {"normalize", "noise_std"} & set(more)
    own: dict[str, Any] = {name: more.pop(name) for name in names}
    return {
        "algorithm": algorithm,
        "env_id": env_id,
        "length": thousands / 10,
        "num_envs": num_envs,
        "options": more,
        **own,
    }


OVERRIDES = {
    "ppo-cartpole": watched(
        *("PPO", CARTPOLE, 40, 8),
        n_steps=32,
        batch_size=256,
        gamma=0.98,
        gae_lambda=0.8,
        n_epochs=20,
        learning_rate=1e-3,
    ),
    "ppo-acrobot": watched(
        *("PPO", ACROBOT, 80, 16),
        normalize=True,
        n_steps=256,
        gae_lambda=0.94,
        n_epochs=4,
    ),
    "ppo-pendulum": watched(
        *("PPO", PENDULUM, 60, 4),
        n_steps=1_024,
        gamma=0.9,
        n_epochs=10,
        learning_rate=1e-3,
    ),
    "a2c-cartpole": watched("A2C", CARTPOLE, 250, 8),
    "a2c-acrobot": watched("A2C", ACROBOT, 160, 16, normalize=True),
    "a2c-mountain": watched(
        *("A2C", CONTINUOUS, 80, 4),
        normalize=True,
        use_sde=True,
        policy_kwargs={"log_std_init": 0.0, "ortho_init": False},
    ),
    "dqn-cartpole": watched(
        *("DQN", CARTPOLE, 50),
        learning_rate=2.3e-3,
        batch_size=64,
        buffer_size=100_000,
        learning_starts=1_000,
        train_freq=256,
        gradient_steps=128,
        target_update_interval=10,
        exploration_fraction=0.16,
        exploration_final_eps=0.04,
        policy_kwargs=SMALL,
    ),
    "dqn-acrobot": watched(
        *("DQN", ACROBOT, 100),
        learning_rate=6.3e-4,
        batch_size=128,
        buffer_size=50_000,
        learning_starts=500,
        train_freq=4,
        gradient_steps=4,
        target_update_interval=250,
        exploration_fraction=0.12,
        exploration_final_eps=0.1,
        policy_kwargs=WIDE,
    ),
    "dqn-mountain": watched(
        *("DQN", MOUNTAIN, 120),
        learning_rate=4e-3,
        batch_size=128,
        buffer_size=10_000,
        learning_starts=1_000,
        gamma=0.98,
        train_freq=16,
        gradient_steps=8,
        target_update_interval=600,
        exploration_fraction=0.2,
        exploration_final_eps=0.07,
        policy_kwargs=WIDE,
    ),
    "sac-pendulum": watched(
        "SAC", PENDULUM, 6, learning_rate=1e-3, policy_kwargs=SMALL
    ),
    "sac-mountain": watched(
        *("SAC", CONTINUOUS, 15),
        buffer_size=50_000,
        ent_coef=0.1,
        train_freq=32,
        gradient_steps=32,
        gamma=0.9999,
        tau=0.01,
        learning_starts=0,
        use_sde=True,
        policy_kwargs={"log_std_init": -3.67, **SMALL},
    ),
    "sac-puck": watched(
        *("SAC", PUCK, 5),
        learning_rate=1e-3,
        gamma=0.97,
        learning_starts=500,
        policy_kwargs=SMALL,
    ),
    "td3-pendulum": watched(
        *("TD3", PENDULUM, 8),
        noise_std=0.1,
        learning_rate=1e-3,
        gamma=0.98,
        learning_starts=1_000,
        policy_kwargs=SMALL,
    ),
    "td3-mountain": watched(
        *("TD3", CONTINUOUS, 60),
        noise_std=0.5,
        learning_rate=1e-3,
        train_freq=32,
        gradient_steps=32,
        learning_starts=1_000,
        policy_kwargs=SMALL,
    ),
    "td3-puck": watched(
        *("TD3", PUCK, 10),
        noise_std=0.2,
        learning_rate=1e-3,
        gamma=0.97,
        learning_starts=500,
        policy_kwargs=SMALL,
    ),
}


def label(name: str) -> str:
    found = OVERRIDES[name]
    bare = found["env_id"].rpartition("/")[2].partition("-v")[0]
    return f"{found['algorithm']}, {bare}"


DOCTOR_SB3 = Experiment(
    id="doctor/sb3",
    world=world,
    settings=WatchedSettings(),
    budgets={
        "smoke": Budget(100, evaluations=1, curve_episodes=1, final_episodes=1),
        "ci": Budget(1_000, evaluations=1, curve_episodes=5, final_episodes=10),
        "full": Budget(10_000, evaluations=1, curve_episodes=10, final_episodes=40),
    },
    variants={name: Variant(label(name), found) for name, found in OVERRIDES.items()},
    bars=tuple(
        Bar(f"{label(name)}: learnt", name, "iqm", ">=", LEARNT[found["env_id"]])
        for name, found in OVERRIDES.items()
    ),
    start=start,
    seeds=1,
)
