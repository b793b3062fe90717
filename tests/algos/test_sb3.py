"""SB3's DQN, PPO and A2C on many worlds: copied, taught in parts, and what DQN's
frequencies count."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from stable_baselines3.common.callbacks import EvalCallback

from rlnotes.algos import sb3
from rlnotes.algos.networks import NATURE_EYE
from rlnotes.algos.policy import load_policy, save_policies
from rlnotes.envs.sb3_vector import Sb3Vector
from rlnotes.envs.vector import make_vec_env

SMALL = {"learning_starts": 0, "policy_kwargs": {"net_arch": [16, 16]}}


def make() -> gym.Env[Any, Any]:
    return gym.make("CartPole-v1")


def new_model(num_envs: int = 4, **options: Any) -> Any:
    return sb3.dqn(sb3.vector(make, num_envs), seed=0, **(SMALL | options))


def weights(model: Any) -> np.ndarray:
    return np.concatenate([x.detach().flatten() for x in model.q_net.parameters()])


def test_the_copy_acts_as_the_original_before_and_after_learning() -> None:
    model = new_model(learning_rate=0.05)
    policy = sb3.new_policy(model)
    observations = np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32)
    seen = []
    for _ in range(2):
        acted = policy.act(observations)
        theirs = model.predict(observations, deterministic=True)[0]
        assert np.array_equal(acted, theirs)
        seen.append(acted)
        list(sb3.train(model, policy, 320, chunk=160))
    assert not np.array_equal(seen[0], seen[1])


@pytest.mark.parametrize("chunk", [160, 100, 640])
def test_learning_in_parts_is_learning_at_once(chunk: int) -> None:
    """Bit for bit, the schedule of exploration too."""
    once = new_model().learn(640)
    parts = new_model()  # seeds the generators again
    steps = [step for step, _ in sb3.train(parts, sb3.new_policy(parts), 640, chunk)]
    assert steps[-1] == once.num_timesteps == 640
    assert len(steps) > 1 or chunk == 640
    assert np.array_equal(weights(once), weights(parts))
    assert parts.exploration_rate == once.exploration_rate


def test_exploration_takes_its_share_of_the_whole_not_of_a_part() -> None:
    model = new_model(exploration_fraction=1.0, exploration_final_eps=0.0)
    stream = sb3.train(model, sb3.new_policy(model), 640, chunk=160)
    rates = [model.exploration_rate for _ in stream]
    assert rates == pytest.approx([0.75, 0.5, 0.25, 0.0], abs=0.01)


@pytest.mark.parametrize("num_envs", [1, 4])
def test_frequencies_count_calls_of_the_vector_not_steps(
    num_envs: int, tmp_path: Path
) -> None:
    """`eval_freq=50_000` on four worlds is every 200,000 steps, and `train_freq=4` one
    update for 16 transitions."""
    model = new_model(num_envs)
    options: dict[str, Any] = {"n_eval_episodes": 1, "warn": False, "verbose": 0}
    watch = EvalCallback(make(), eval_freq=40, log_path=str(tmp_path), **options)
    model.learn(480, callback=watch)
    every = 40 * num_envs
    assert watch.evaluations_timesteps == list(range(every, 481, every))
    assert model._n_updates == 480 // (4 * num_envs)


def test_the_target_is_renewed_by_steps() -> None:
    """The one interval that SB3 divides by the number of worlds."""
    for num_envs in (1, 4):
        model = new_model(num_envs, target_update_interval=64, gradient_steps=0)
        for target, quick in zip(
            model.q_net_target.parameters(), model.q_net.parameters(), strict=True
        ):
            target.data.copy_(quick.data + 1)
        seen = []
        for _, _ in sb3.train(model, sb3.new_policy(model), 96, chunk=16):
            target = next(model.q_net_target.parameters())
            quick = next(model.q_net.parameters())
            seen.append(bool((target == quick).all()))
        assert seen == [False, False, False, True, True, True]


# --- PPO

BOX = gym.spaces.Box(np.array([-2, 0]), np.array([2, 1]), dtype=np.float32)


class Drift(gym.Env[np.ndarray, np.ndarray]):
    """Shows what was done before, far from 0, and pays for none of it."""

    observation_space = gym.spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space = BOX

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.time = 0
        return np.full(2, 5, np.float32), {}

    def step(self, action: np.ndarray) -> Any:
        self.time += 1
        paid = -float(np.square(action).sum())
        seen = 5 + action + 0.1 * self.time
        return seen.astype(np.float32), paid, False, self.time == 20, {}


def new_ppo(steps: int = 256, norm_reward: bool = False, **options: Any) -> Any:
    envs = sb3.normalised(sb3.vector(Drift, 4), norm_reward)
    small = {"n_steps": 16, "batch_size": 32, "n_epochs": 2}
    return sb3.ppo(envs, seed=0, steps=steps, **(small | options))


@pytest.mark.parametrize("norm_reward", [False, True])
def test_the_copy_of_ppo_acts_as_the_original(norm_reward: bool) -> None:
    """Normalised, with tanh inside, cut off at bounds that are not −1 and 1."""
    model = new_ppo(norm_reward=norm_reward, learning_rate=0.05)
    policy = sb3.new_policy(model)
    assert (policy.head, policy.hidden, policy.activation) == ("clip", (64, 64), "tanh")
    seen = np.random.default_rng(0).normal(6, 1, size=(300, 2)).astype(np.float32)
    for _ in sb3.train(model, policy, 256, chunk=128):
        normal = model.get_vec_normalize_env().normalize_obs(seen)
        theirs, _ = model.predict(normal, deterministic=True)
        acted = policy.act(seen)
        assert acted == pytest.approx(theirs, abs=1e-5)
        assert np.array_equal(acted, policy.sample(seen, np.random.default_rng(0)))
    assert np.isclose(acted, BOX.low).any()  # some are cut off, and some are not
    assert ((acted > BOX.low) & (acted < BOX.high)).any()
    assert policy.obs_mean.min() > 3


def test_a_copy_of_ppo_can_be_saved_and_read_again(tmp_path: Path) -> None:
    policy = sb3.new_policy(new_ppo())
    save_policies(tmp_path / "file", {"one": policy}, "owner")
    again = load_policy(tmp_path / "file", "one", "owner", "")
    seen = np.random.default_rng(0).normal(size=(20, 2))
    assert np.array_equal(policy.act(seen), again.act(seen))


def test_ppo_anneals_over_the_whole_and_not_over_a_part() -> None:
    """Bit for bit as if it had been trained at once."""

    def falling(remaining: float) -> float:
        return 1e-2 * remaining

    def rate(model: Any) -> float:
        return model.policy.optimizer.param_groups[0]["lr"]

    once = new_ppo(learning_rate=falling)
    sb3.new_policy(once)  # draws from the same generator
    once.learn(256)
    model = new_ppo(learning_rate=falling)
    stream = sb3.train(model, sb3.new_policy(model), 256, chunk=64)
    assert [rate(model) for _ in stream] == pytest.approx([7.5e-3, 5e-3, 2.5e-3, 0])
    one, other = (x.policy.parameters_to_vector() for x in (once, model))
    assert np.array_equal(one, other)
    longer = new_ppo(steps=512, learning_rate=falling).learn(256)
    assert rate(longer) == pytest.approx(5e-3)


def test_one_call_is_a_step_of_each_world_and_updates_count_calls() -> None:
    model = new_model(num_envs=4, train_freq=4)
    assert sb3.counted(model, 800) == (800, 200, 50)


# --- pictures


class Flashes(gym.Env[np.ndarray, int]):
    """Random pictures; pays for the first of three actions."""

    observation_space = gym.spaces.Box(0, 255, (4, 84, 84), np.uint8)
    action_space: gym.spaces.Discrete = gym.spaces.Discrete(3)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.time = 0
        return self._seen(), {}

    def step(self, action: Any) -> Any:
        self.time += 1
        return self._seen(), float(action == 0), False, self.time == 9, {}

    def _seen(self) -> np.ndarray:
        return self.np_random.integers(256, size=(4, 84, 84), dtype=np.uint8)


@pytest.mark.slow(seconds=10)
@pytest.mark.parametrize("learner", ["dqn", "ppo", "a2c"])
def test_the_copy_of_an_eye_acts_as_the_original(learner: str, tmp_path: Path) -> None:
    envs = Sb3Vector(make_vec_env(Flashes, 2))
    model: Any = {
        "dqn": lambda: sb3.dqn(envs, 0, learning_starts=0, buffer_size=100),
        "ppo": lambda: sb3.ppo(envs, 0, 32, n_steps=8, batch_size=8, n_epochs=1),
        "a2c": lambda: sb3.a2c(envs, 0),
    }[learner]()
    policy = sb3.new_policy(model)
    assert policy.eye == NATURE_EYE
    assert (policy.head, policy.hidden) == ("argmax", ())
    pictures = np.random.default_rng(0).integers(256, size=(40, 4, 84, 84), dtype="u1")
    for _ in sb3.train(model, policy, 32, chunk=16):
        theirs, _ = model.predict(pictures, deterministic=True)
        assert np.array_equal(policy.act(pictures), theirs)
    save_policies(tmp_path / "file", {"one": policy}, "owner")
    again = load_policy(tmp_path / "file", "one", "owner", "")
    assert np.array_equal(again.act(pictures), theirs)
