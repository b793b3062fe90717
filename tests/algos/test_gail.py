"""GAIL: rewards by hand, a discriminator that tells apart what differs, and a learner that copies."""

import math
import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from torch import nn

from rlnotes.algos import gail, ppo
from rlnotes.algos.gail import Agent, Config
from rlnotes.algos.policy import Policy


class Walk(gym.Env[np.ndarray, Any]):
    """Left or right on a line, `length` steps long; the task pays nothing."""

    observation_space = gym.spaces.Box(-20, 20, (1,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def __init__(self, length: int, ends: bool) -> None:
        self._length, self._ends = length, ends

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        self._place, self._steps = 0, 0
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self._place += 2 * int(action) - 1
        self._steps += 1
        over = self._steps == self._length
        return np.full(1, self._place, np.float32), 0.0, over and self._ends, over and not self._ends, {}


def envs(ends: bool = False) -> SyncVectorEnv:
    return SyncVectorEnv([lambda: Walk(8, ends)] * 4, autoreset_mode=AutoresetMode.SAME_STEP)


def agent(**config: Any) -> Agent:
    torch.manual_seed(0)
    policy = Policy.for_spaces(Walk.observation_space, Walk.action_space, (16,))
    learner = ppo.Config(discount=0.5, length=16, batch_size=64, learning_rate=3e-3, hidden=(16,))
    return Agent(policy, Config(**{"hidden": (16,), "learning_rate": 3e-3, "learner": learner, **config}))


TO_THE_LEFT = -torch.arange(8.0)[:, None], torch.zeros(8)


@pytest.mark.parametrize("certainty", [0.1, 0.5, 0.9])
def test_the_three_rewards(certainty: float) -> None:
    logit = torch.tensor(math.log(certainty / (1 - certainty)))
    assert gail.REWARDS["survive"](logit).item() == pytest.approx(-math.log(1 - certainty))
    assert gail.REWARDS["hurry"](logit).item() == pytest.approx(math.log(certainty))
    assert gail.REWARDS["either"](logit).item() == pytest.approx(
        math.log(certainty) - math.log(1 - certainty), abs=1e-6
    )


def test_the_loss_of_a_discriminator_that_knows_nothing() -> None:
    learner = agent(gradient_penalty=0.0)
    with torch.no_grad():
        for parameter in learner.discriminator.parameters():
            parameter.zero_()
    loss, _ = gail.discriminator_loss(learner, torch.ones(5, 3), torch.zeros(5, 3))
    assert loss.item() == pytest.approx(2 * math.log(2))


def test_the_gradient_penalty_of_a_slope_that_is_known() -> None:
    """A linear discriminator has one slope everywhere: here of length 3, so that the penalty is (3 − 1)²."""
    discriminator = agent().discriminator
    discriminator.net = nn.Sequential(linear := nn.Linear(2, 1))
    discriminator.seen.mean, discriminator.seen.var = np.zeros(2), np.full(2, (1 - 1e-3) ** 2)
    with torch.no_grad():
        linear.weight.copy_(torch.tensor([[3.0, 0.0]]))
    penalty = gail.gradient_penalty(discriminator, torch.ones(4, 2), torch.zeros(4, 2), torch.rand(4, 1))
    assert penalty.item() == pytest.approx(4.0)


@pytest.mark.parametrize("spectral", [False, True])
def test_it_tells_apart_what_differs_and_not_what_is_the_same(spectral: bool) -> None:
    slope = {"spectral": True, "gradient_penalty": 0.0} if spectral else {}
    learner = agent(epochs=50, **slope)
    left, right = torch.randn(500, 3) - 2, torch.randn(500, 3) + 2
    assert gail.update_discriminator(learner, left, right)["told_apart"] > 0.95
    same = agent(epochs=5, **slope)
    assert gail.update_discriminator(same, left, left)["told_apart"] < 0.7


def test_actions_after_the_end_do_not_tell_the_sides_apart() -> None:
    learner = agent(absorbing=True)
    obs = torch.tensor([[1.0], [0.0]])  # this world's only number stands for the flag
    expert, other = (gail.features(learner, obs, torch.full((2,), choice)) for choice in (0, 1))
    assert torch.equal(expert[0], other[0])
    assert not torch.equal(expert[1], other[1])


@pytest.mark.parametrize("reward", ["survive", "hurry", "either"])
def test_where_no_episode_ends_early_every_reward_teaches_to_copy(reward: Any) -> None:
    learner = agent(reward=reward)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in gail.train(learner, envs(), *TO_THE_LEFT, steps=4_000, seed=0):
            pass
    assert (learner.policy.act(TO_THE_LEFT[0].numpy()) == 0).all()


def test_an_episode_that_ends_early_is_warned_about_once_unless_meant() -> None:
    with pytest.warns(UserWarning, match="Wrap the world in envs.absorbing") as caught:
        list(gail.train(agent(), envs(ends=True), *TO_THE_LEFT, steps=200, seed=0))
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(gail.train(agent(ends_early=True), envs(ends=True), *TO_THE_LEFT, steps=100, seed=0))


def test_the_task_pays_nothing_and_the_discriminator_everything() -> None:
    learner = agent(reward="survive")
    rollout = ppo.Player(learner.policy, envs(), 0).rollout(8)
    assert (rollout.reward == 0).all()
    assert (gail.paid(learner, rollout).reward > 0).all()
