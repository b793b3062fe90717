"""Branches: the same past, another action, and a future of its own."""

from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from rlnotes.data.branches import Branch, Moment, branches, middle_moments
from rlnotes.data.rollouts import Episode, rollout
from rlnotes.errors import UserError

PENDULUM = partial(gym.make, "Pendulum-v1")
WALKER = partial(gym.make, "BipedalWalker-v3")


def brake(obs: np.ndarray) -> np.ndarray:
    return np.clip(-obs[:, 2:], -2, 2)


def limp(obs: np.ndarray) -> np.ndarray:
    return np.zeros((len(obs), 4), np.float32)


def test_who_does_the_same_again_gets_the_same_again() -> None:
    """The rest of the episode itself."""
    for make_env, player in ((PENDULUM, brake), (WALKER, limp)):
        (played,) = rollout(make_env, player, [3])
        step = len(played.rewards) // 2
        ((again,),) = branches(
            make_env, player, [Moment(played, step)], [played.actions[None, step]], 999
        )
        assert np.allclose(again.observations, played.observations[step:], atol=1e-5)
        assert again.rewards == pytest.approx(played.rewards[step:], abs=1e-5)
        assert (again.terminated, again.truncated) == (
            played.terminated,
            played.truncated,
        )


def test_the_first_action_is_another_one_and_then_the_player_goes_on() -> None:
    played = rollout(PENDULUM, brake, [0, 1, 2])
    moments = [Moment(episode, 10 * i) for i, episode in enumerate(played)]
    actions = [np.array([[-2.0], [0.5]], np.float32)] * 3
    found = branches(PENDULUM, brake, moments, actions, horizon=7, at_once=4)
    assert [len(choices) for choices in found] == [2, 2, 2]
    for moment, choices in zip(moments, found, strict=True):
        for episode, action in zip(choices, actions[0], strict=True):
            assert np.allclose(episode.observations[0], moment.obs, atol=1e-5)
            env = PENDULUM()
            env.reset(seed=moment.episode.seed)
            for earlier in moment.episode.actions[: moment.step]:
                env.step(earlier)
            _, reward, *_ = env.step(action)
            assert episode.rewards[0] == pytest.approx(reward)
            assert np.array_equal(episode.actions[1:], brake(episode.observations[1:7]))
            assert (len(episode.rewards), episode.truncated) == (7, True)


def test_every_branch_has_a_world_of_its_own() -> None:
    """One of Box2D's that was played in before would not do the same again."""
    made = []

    def make_env() -> gym.Env[Any, Any]:
        made.append(WALKER())
        return made[-1]

    (played,) = rollout(WALKER, limp, [3])
    moments = [Moment(played, step) for step in (40, len(played.rewards) - 1)]
    actions = [np.zeros((3, 4), np.float32)] * 2
    found = branches(make_env, limp, moments, actions, 50, at_once=2)
    assert len(made) == 6
    for moment, choices in zip(moments, found, strict=True):
        for again in choices:
            rest = played.rewards[moment.step :][:50]
            assert again.rewards == pytest.approx(rest, abs=1e-5)


class Dice(gym.Wrapper[Any, Any, Any, Any]):
    """Draws in every step, and not from its seed."""

    def step(self, action: Any) -> Any:
        obs, *rest = self.env.step(action)
        return obs + np.random.default_rng().normal(size=3).astype(np.float32), *rest


def test_a_world_that_does_not_do_the_same_again_is_refused() -> None:
    (played,) = rollout(lambda: Dice(PENDULUM()), brake, [0])
    world = Branch(Dice(PENDULUM()), Moment(played, 5), np.zeros(1), 9)
    with pytest.raises(UserError, match="5 steps after the seed 0 it is elsewhere"):
        world.reset()


def test_moments_are_drawn_from_all_episodes_and_none_is_too_late() -> None:
    def of(steps: int) -> Episode:
        nothing = np.zeros(steps)
        return Episode(steps, np.zeros((steps + 1, 1)), nothing, nothing, True, False)

    moments = middle_moments([of(4), of(90)], 53, 50, np.random.default_rng(0))
    places = {(moment.episode.seed, moment.step) for moment in moments}
    assert places == {(4, step) for step in range(3)} | {(90, s) for s in range(50)}
