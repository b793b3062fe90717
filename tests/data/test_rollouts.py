"""Rolling out: one episode per seed, the same however many worlds advance together."""

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from rlnotes.data import dagger
from rlnotes.data.demonstrators import PurePursuit
from rlnotes.data.rollouts import Episode, Stage, rollout


def make_pendulum() -> gym.Env:
    return gym.make("Pendulum-v1", max_episode_steps=30)


def push(obs: np.ndarray) -> np.ndarray:
    return np.sign(obs[:, 2:])


def assert_same(some: Sequence[Episode], others: Sequence[Episode]) -> None:
    for one, other in zip(some, others, strict=True):
        assert np.array_equal(one.observations, other.observations)
        assert np.array_equal(one.actions, other.actions)
        assert np.array_equal(one.rewards, other.rewards)
        assert one.seed == other.seed
        assert (one.terminated, one.truncated) == (other.terminated, other.truncated)


def test_grouping_does_not_change_an_episode() -> None:
    together = rollout(make_pendulum, push, seeds=[3, 4, 5], at_once=3)
    alone = rollout(make_pendulum, push, seeds=[3, 4, 5], at_once=1)
    assert_same(together, alone)


def test_observations_need_not_be_kept() -> None:
    kept = rollout(make_pendulum, push, seeds=[3, 4])
    with Stage(make_pendulum, keep_obs=False) as stage:
        others = stage.play(push, [3, 4])
    for one, other in zip(kept, others, strict=True):
        assert np.array_equal(one.rewards, other.rewards)
        assert np.array_equal(one.actions, other.actions)
        assert np.array_equal(one.observations[-1:], other.observations)


class Counted(gym.Wrapper):
    """Knows how many of its kind were made, and how many are still open."""

    made = still_open = 0

    def __init__(self, env: gym.Env) -> None:
        super().__init__(env)
        Counted.made += 1
        Counted.still_open += 1

    def close(self) -> None:
        Counted.still_open -= 1
        super().close()


@pytest.fixture
def counted() -> type[Counted]:
    Counted.made = Counted.still_open = 0
    return Counted


def test_a_stage_makes_worlds_as_needed_and_keeps_them(counted: type[Counted]) -> None:
    with Stage(lambda: counted(make_pendulum()), at_once=3) as stage:
        assert counted.made == 0
        stage.play(push, [1, 2])
        assert counted.made == 2
        stage.play(push, range(7))
        stage.play(push, [5])
        assert (counted.made, counted.still_open) == (3, 3)
    assert counted.still_open == 0


def test_a_rollout_that_fails_closes_its_worlds(counted: type[Counted]) -> None:
    def fail(_: np.ndarray) -> np.ndarray:
        raise RuntimeError("no idea")

    with pytest.raises(RuntimeError, match="no idea"):
        rollout(lambda: counted(make_pendulum()), fail, [1, 2])
    assert (counted.made, counted.still_open) == (2, 0)


@pytest.mark.parametrize("world", ["CartPole-v1", "rlnotes/RaceCar-v0"])
def test_what_was_played_before_does_not_matter(world: str) -> None:
    def make() -> gym.Env:
        return gym.make(world, max_episode_steps=40)

    actions: Any = {"CartPole-v1": 1, "rlnotes/RaceCar-v0": (0.1, 0.6)}[world]

    def steady(obs: np.ndarray) -> np.ndarray:
        return np.array([actions] * len(obs))

    with Stage(make, at_once=2) as stage:
        stage.play(steady, [8, 9, 10])
        assert_same(stage.play(steady, [1, 2, 3]), rollout(make, steady, [1, 2, 3]))


def test_episodes_of_different_length_keep_their_own_data() -> None:
    def right(obs: np.ndarray) -> np.ndarray:
        return np.ones(len(obs), int)

    episodes = rollout(lambda: gym.make("CartPole-v1"), right, seeds=range(8))
    assert len({len(e.rewards) for e in episodes}) > 1
    for episode in episodes:
        steps = len(episode.rewards)
        assert (len(episode.observations), len(episode.actions)) == (steps + 1, steps)
        assert episode.terminated
        assert not episode.truncated


def test_a_time_limit_is_recorded_as_truncation() -> None:
    (episode,) = rollout(make_pendulum, push, seeds=[0])
    assert (episode.terminated, episode.truncated) == (False, True)
    assert len(episode.rewards) == 30


def test_discounted_return_by_hand() -> None:
    rewards = np.array([1.0, 2.0, 4.0])
    episode = Episode(0, np.zeros((4, 1)), np.zeros((3, 1)), rewards, True, False)
    assert episode.discounted_return(gamma=0.5) == pytest.approx(1 + 1 + 1)
    assert episode.total_reward == 7


# --- DAgger keeps the learner's states and takes the expert's actions


def straight_on(obs: np.ndarray) -> np.ndarray:
    return np.tile(np.array([0.0, 0.5], np.float32), (len(obs), 1))


def make_env() -> gym.Env:
    return gym.make("rlnotes/RaceCar-v0", start_noise=1.0)


def test_states_of_the_learner_actions_of_the_expert() -> None:
    driven = rollout(make_env, straight_on, [1, 2])
    corrected = dagger.corrected(make_env, straight_on, PurePursuit(), [1, 2])
    for before, after in zip(driven, corrected, strict=True):
        assert np.array_equal(before.observations, after.observations)
        assert np.array_equal(before.rewards, after.rewards)
        assert np.array_equal(after.actions, PurePursuit()(before.observations[:-1]))
        assert not np.array_equal(after.actions, before.actions)
