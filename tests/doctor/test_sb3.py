"""Stable-Baselines3 with a doctor beside it: nothing of the training changes, sick
agents are found, and the library's own algorithms are not called sick."""

import copy
import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.wrappers import TransformObservation, TransformReward
from stable_baselines3 import A2C, DQN, PPO, SAC, TD3
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnvWrapper, VecNormalize

from rlnotes.doctor import Doctor, sb3
from rlnotes.doctor.sb3 import undisturbed

QUICK_DQN = {"learning_starts": 50, "target_update_interval": 4, "train_freq": 2}
QUICK_SAC = {"learning_starts": 50, "policy_kwargs": {"net_arch": [16]}}


def envs(world: Any, count: int = 1, **options: Any) -> DummyVecEnv:
    def make() -> gym.Env:
        return world() if callable(world) else gym.make(world, **options)

    return DummyVecEnv([make] * count)


def trained(
    algorithm: Any, env: Any, steps: int, doctor: Any = None, **options: Any
) -> BaseAlgorithm:
    options = copy.deepcopy(options)  # SB3 writes into its policy_kwargs
    policy = options.pop("policy", "MlpPolicy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = algorithm(policy, env, seed=0, device="cpu", **options)
        return model.learn(steps, callback=doctor)


# --- nothing changes


@pytest.mark.parametrize(
    ("algorithm", "world", "steps", "options"),
    [
        (PPO, "CartPole-v1", 256, {"n_steps": 64, "batch_size": 64, "n_epochs": 2}),
        (A2C, "Pendulum-v1", 60, {}),
        (DQN, "CartPole-v1", 200, QUICK_DQN),
        (SAC, "Pendulum-v1", 80, QUICK_SAC),
        (TD3, "Pendulum-v1", 80, QUICK_SAC),
    ],
)
def test_a_training_is_the_same_with_a_doctor_beside_it(
    algorithm: Any, world: str, steps: int, options: dict[str, Any]
) -> None:
    def weights(doctor: Doctor | None) -> list[torch.Tensor]:
        model = trained(algorithm, envs(world), steps, doctor, **options)
        return [*model.policy.state_dict().values(), torch.tensor(np.random.rand(1))]

    doctor = Doctor(looks=5)
    alone, watched = weights(None), weights(doctor)
    assert all(torch.equal(*pair) for pair in zip(alone, watched, strict=True))
    assert doctor.problems == []
    assert len(doctor.report().quiet) >= 3


class Normalised(BaseFeaturesExtractor):
    """Notes what it sees while it is in training."""

    def __init__(self, space: gym.spaces.Box) -> None:
        super().__init__(space, features_dim=4)
        self.norm = torch.nn.BatchNorm1d(4)

    def forward(self, obs: torch.Tensor) -> torch.Tensor:
        return self.norm(obs)


def test_a_network_that_notes_what_it_sees_does_not_note_the_doctor() -> None:
    made = {"policy_kwargs": {"features_extractor_class": Normalised}}
    alone, watched = (
        trained(DQN, envs("CartPole-v1"), 200, doctor, **QUICK_DQN, **made)
        for doctor in (None, Doctor())
    )
    noted = watched.policy.state_dict()
    for name, weight in alone.policy.state_dict().items():
        assert torch.equal(weight, noted[name]), name


def test_what_happens_in_a_look_stays_there() -> None:
    layer = torch.nn.Dropout()
    torch.manual_seed(0)
    np.random.seed(0)
    before = torch.get_rng_state(), np.random.get_state()[1].tolist()  # type: ignore[index]
    with undisturbed(layer):
        layer.eval()
        torch.rand(3), np.random.rand(3)
    assert layer.training
    assert torch.equal(torch.get_rng_state(), before[0])
    assert np.random.get_state()[1].tolist() == before[1]  # type: ignore[index]


def test_a_doctor_that_fails_does_not_stop_the_training(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("a bug of ours")

    for name in ("_count", "_counted", "_start"):
        doctor = Doctor()
        monkeypatch.setattr(doctor, name, fail)
        model = trained(A2C, envs("CartPole-v1"), 40, doctor)
        assert model.num_timesteps == 40
        assert "RuntimeError: a bug of ours" in doctor.problems
        assert "went wrong in a look: RuntimeError: a bug of ours" in str(
            doctor.report()
        )


@pytest.mark.parametrize("algorithm", [PPO, A2C, DQN, SAC, TD3])
def test_nobody_is_asked_for_what_a_callback_cannot_be_given(algorithm: Any) -> None:
    world = "CartPole-v1" if algorithm is DQN else "Pendulum-v1"
    small = {"policy_kwargs": {"net_arch": [8]}}
    few = {"n_steps": 64, "batch_size": 64, "n_epochs": 1} if algorithm is PPO else {}
    doctor = Doctor()
    trained(algorithm, envs(world), 128, doctor, **small, **few)
    reasons = doctor.report().unexamined.values()
    assert [one for one in reasons if one.endswith(" given")] == []


def test_rows_are_brought_to_where_the_networks_are() -> None:
    """A device that every machine has, though nothing can be computed there."""
    few = {"n_steps": 64, "batch_size": 64, "n_epochs": 1}
    on_policy: Any = trained(PPO, envs("CartPole-v1"), 64, **few)
    off_policy: Any = trained(DQN, envs("CartPole-v1"), 64, **QUICK_DQN)
    on_policy.device = off_policy.device = torch.device("meta")
    rows = *sb3._rollout(on_policy), *sb3._stored(off_policy)[1:]
    assert {one.device.type for one in rows} == {"meta"}


def test_without_a_training_nothing_is_examined() -> None:
    report = Doctor().report()
    assert (report.findings, report.quiet) == ((), {})


@pytest.mark.parametrize("another", [False, True])
def test_a_training_from_the_beginning_is_another_patient(another: bool) -> None:
    """Of 300 steps without an end, the first 150 were another episode's."""
    doctor, worlds = Doctor(), envs("Pendulum-v1")
    few = {"n_steps": 150, "batch_size": 50, "n_epochs": 1}
    model = trained(PPO, worlds, 150, doctor, **few)
    if another:
        trained(PPO, worlds, 150, doctor, **few)
    else:
        model.learn(150, callback=doctor)
    assert doctor.problems == []
    assert "an episode of 150 steps" in doctor.report().quiet["lost-ends"]


def test_a_training_that_goes_on_is_the_same_patient() -> None:
    doctor = Doctor()
    model = trained(PPO, envs("Pendulum-v1"), 150, doctor, n_steps=150, batch_size=50)
    model.learn(30, callback=doctor, reset_num_timesteps=False)
    assert "an episode of 200 steps" in doctor.report().quiet["lost-ends"]


# --- sick agents


class NoTerminalObs(VecEnvWrapper):
    """What came of the last step is not handed on."""

    def reset(self) -> Any:
        return self.venv.reset()

    def step_wait(self) -> Any:
        obs, reward, done, infos = self.venv.step_wait()
        for info in infos:
            info.pop("terminal_observation", None)
        return obs, reward, done, infos


class LostDones(NoTerminalObs):
    def step_wait(self) -> Any:
        obs, reward, done, infos = super().step_wait()
        return obs, reward, np.zeros_like(done), infos


class OneWorld(NoTerminalObs):
    """The first environment, as often as there are."""

    def reset(self) -> Any:
        return self._repeated(self.venv.reset())

    def step_wait(self) -> Any:
        obs, reward, done, infos = super().step_wait()
        return self._repeated(obs), reward, done, infos

    def _repeated(self, obs: Any) -> Any:
        return np.repeat(obs[:1], self.num_envs, axis=0)


class OneWorldOfParts(OneWorld):
    def _repeated(self, obs: Any) -> Any:
        return {name: OneWorld._repeated(self, part) for name, part in obs.items()}


class FreshSample(ActorCriticPolicy):
    """The log-probability of an action that nobody played."""

    def evaluate_actions(self, obs: Any, actions: Any) -> Any:
        drawn = self.get_distribution(obs).get_actions()
        return super().evaluate_actions(obs, drawn)


class ClockEnds(gym.Wrapper[Any, Any, Any, Any]):
    def step(self, action: Any) -> Any:
        obs, reward, terminated, truncated, info = self.env.step(action)
        return obs, reward, terminated or truncated, False, info


class Promising(DQN):
    def train(self, *args: Any, **options: Any) -> None:
        super().train(*args, **options)
        with torch.no_grad():
            list(self.q_net.parameters())[-1].add_(20.0)


class Pinned(SAC):
    def _setup_model(self) -> None:
        super()._setup_model()
        actor: Any = self.actor
        with torch.no_grad():
            actor.log_std.bias.fill_(100.0)


SHORT = {"max_episode_steps": 10}


def hundredfold() -> gym.Env:
    env = gym.make("CartPole-v1")
    return TransformObservation(env, lambda obs: 100 * obs, env.observation_space)


def always_paid() -> gym.Env:
    return TransformReward(gym.make("CartPole-v1"), lambda _: 0.7)


def in_parts() -> gym.Env:
    """Observations as a dictionary."""
    env = gym.make("CartPole-v1")
    space = gym.spaces.Dict(all=env.observation_space)
    return TransformObservation(env, lambda obs: {"all": obs}, space)


SICK: dict[str, Any] = {
    "stale-copy": lambda d: trained(
        DQN,
        envs("CartPole-v1"),
        300,
        d,
        **QUICK_DQN | {"target_update_interval": 100},
    ),
    "foreign-successor": lambda d: trained(
        DQN,
        NoTerminalObs(envs("CartPole-v1", 2, **SHORT)),
        400,
        d,
        **QUICK_DQN,
    ),
    "clock-as-end": lambda d: trained(
        PPO,
        envs(lambda: ClockEnds(gym.make("Pendulum-v1", **SHORT))),  # type: ignore[arg-type]
        128,
        d,
        n_steps=64,
    ),
    "lost-ends": lambda d: trained(
        A2C, LostDones(envs("CartPole-v1", 2, **SHORT)), 100, d
    ),
    "identical-environments": lambda d: trained(
        A2C, OneWorld(envs("CartPole-v1", 2)), 400, d
    ),
    "ratio-at-first": lambda d: trained(
        PPO, envs("CartPole-v1"), 128, d, policy=FreshSample, n_steps=64
    ),
    "silent-value": lambda d: trained(
        PPO, envs("CartPole-v1"), 256, d, n_steps=64, vf_coef=0.0
    ),
    "raw-inputs": lambda d: trained(A2C, envs(hundredfold), 100, d),
    "growing-entropy": lambda d: trained(
        PPO,
        envs("Pendulum-v1"),
        640,
        d,
        n_steps=64,
        ent_coef=1.0,
        learning_rate=0.02,
    ),
    "thrown-away": lambda d: trained(
        PPO,
        envs("Pendulum-v1"),
        640,
        d,
        n_steps=64,
        n_epochs=40,
        clip_range=1e9,
        learning_rate=0.02,
    ),
    "impossible-values": lambda d: trained(
        Promising, envs("CartPole-v1"), 300, d, gamma=0.9, **QUICK_DQN
    ),
    "pinned-deviation": lambda d: trained(
        Pinned, envs("Pendulum-v1"), 100, d, **QUICK_SAC
    ),
}


@pytest.mark.parametrize("name", SICK)
def test_a_sick_agent_is_found(name: str) -> None:
    doctor = Doctor()
    SICK[name](doctor)
    assert doctor.problems == []
    assert doctor.report().first == name, str(doctor.report())


def test_a_replay_that_takes_the_clock_for_an_end_is_found() -> None:
    for known, first in ((True, None), (False, "clock-as-end")):
        doctor = Doctor()
        trained(
            SAC,
            envs("Pendulum-v1", **SHORT),
            100,
            doctor,
            **QUICK_SAC,
            replay_buffer_kwargs={"handle_timeout_termination": known},
        )
        assert doctor.report().first == first


def test_a_learnt_reward_of_one_sign_is_found_if_it_is_said_to_be_learnt() -> None:
    for learned, first in ((False, None), (True, "paid-to-live")):
        doctor = Doctor(learned_reward=learned)
        trained(A2C, envs(always_paid), 200, doctor)
        assert doctor.report().first == first


def test_copies_are_told_apart_by_dictionaries_too() -> None:
    vector = envs(in_parts, 2)
    copies = OneWorldOfParts(vector)
    for worlds, first in ((vector, None), (copies, "identical-environments")):
        doctor = Doctor()
        trained(A2C, worlds, 400, doctor, policy="MultiInputPolicy")
        assert doctor.report().first == first


def test_it_can_tell_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    trained(A2C, envs(hundredfold), 100, Doctor(verbose=1))
    said = capsys.readouterr().out
    assert said.count("[raw-inputs]") == 1
    assert "step " in said


def test_what_is_about_to_come_is_not_called_too_seldom(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Ten renewals for a horizon of ten, but none before the first is due."""
    late = {"learning_starts": 100, "target_update_interval": 100, "train_freq": 10}
    doctor = Doctor(looks=50, verbose=1)
    trained(DQN, envs("CartPole-v1"), 1_300, doctor, gamma=0.9, **late)
    assert "[stale-copy]" not in capsys.readouterr().out
    assert "stale-copy" in doctor.report().quiet


def test_who_joins_late_counts_from_there() -> None:
    model = trained(DQN, envs("CartPole-v1"), 400, gamma=0.9, **QUICK_DQN)
    doctor = Doctor()
    model.learn(100, callback=doctor, reset_num_timesteps=False)
    assert "stale-copy" in doctor.report().quiet


def test_a_scale_that_follows_is_not_compared_and_one_that_is_frozen_is() -> None:
    for follows, first in ((True, None), (False, "hand-scaled")):
        doctor = Doctor()
        scaled = VecNormalize(envs("CartPole-v1"), training=follows)
        stats: Any = scaled.obs_rms
        stats.var[0] = 1e4
        trained(A2C, scaled, 100, doctor)
        assert doctor.problems == []
        assert doctor.report().first == first
        assert "magnified-constant" in doctor.report().quiet
        assert ("hand-scaled" in doctor.report().unexamined) == follows


# --- healthy ones

# The RL Zoo's for this world. (Renewed at every fourth update at this rate, its values
# grew to thousands, and the doctor said so.)
ZOO_DQN = {
    "learning_rate": 2.3e-3,
    "buffer_size": 100_000,
    "learning_starts": 1_000,
    "target_update_interval": 10,
    "train_freq": 256,
    "gradient_steps": 128,
    "exploration_fraction": 0.16,
    "exploration_final_eps": 0.04,
    "policy_kwargs": {"net_arch": [256, 256]},
}
# Others are the library's, but smaller, with targets renewed often enough in so
# short a training.
SMALL = {"policy_kwargs": {"net_arch": [32, 32]}}
HEALTHY = [
    (PPO, "CartPole-v1", 4, 3_000, {"n_steps": 32, "gamma": 0.98, "n_epochs": 10}),
    (A2C, "CartPole-v1", 4, 3_000, {}),
    (DQN, "CartPole-v1", 1, 30_000, ZOO_DQN),
    (PPO, "Acrobot-v1", 4, 4_000, {"n_steps": 256, "n_epochs": 4}),
    (A2C, "Acrobot-v1", 4, 3_000, {}),
    (
        DQN,
        "Acrobot-v1",
        1,
        4_000,
        {
            "learning_rate": 6.3e-4,
            "learning_starts": 500,
            "target_update_interval": 20,
            "train_freq": 10,
            "gradient_steps": 4,
            **SMALL,
        },
    ),
    (PPO, "Pendulum-v1", 4, 4_096, {"n_steps": 256, "gamma": 0.9, "n_epochs": 5}),
    (A2C, "Pendulum-v1", 4, 3_000, {"gamma": 0.9}),
    (SAC, "Pendulum-v1", 1, 1_200, {"learning_rate": 1e-3, **SMALL}),
    (TD3, "Pendulum-v1", 1, 1_200, {"learning_rate": 1e-3, **SMALL}),
]


@pytest.mark.slow(seconds=12)
@pytest.mark.parametrize(
    ("algorithm", "world", "count", "steps", "options"),
    HEALTHY,
    ids=[f"{one[0].__name__} {one[1]}" for one in HEALTHY],
)
def test_the_librarys_own_algorithms_are_not_called_sick(
    algorithm: Any, world: str, count: int, steps: int, options: dict[str, Any]
) -> None:
    doctor = Doctor()
    batch_size = {"batch_size": 64} if algorithm is not A2C else {}
    trained(algorithm, envs(world, count), steps, doctor, **batch_size, **options)
    assert doctor.problems == []
    assert doctor.report().findings == (), str(doctor.report())
    assert len(doctor.report().quiet) >= 4
