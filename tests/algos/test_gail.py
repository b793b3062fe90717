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
from rlnotes.data.rollouts import Episode, rollout


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


def episode(places: list[int], actions: list[int], terminated: bool) -> Episode:
    observations = np.array(places, np.float32)[:, None]
    return Episode(0, observations, np.array(actions), np.zeros(len(actions)), terminated, not terminated)


TO_THE_LEFT = [episode([-step for step in range(9)], [0] * 8, terminated=False)]


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
    loss, _ = gail.discriminator_loss(learner, torch.ones(5, 4), torch.zeros(5, 4))
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
    learner = agent(epochs=200, **slope)
    left, right = (gail.Shown(torch.randn(500, 4) + shift, torch.ones(500)) for shift in (-2, 2))
    assert gail.update_discriminator(learner, left, right)["told_apart"] > 0.95
    same = agent(epochs=5, **slope)
    assert gail.update_discriminator(same, left, left)["told_apart"] < 0.7


@pytest.mark.parametrize("reward", ["survive", "hurry", "either"])
def test_where_no_episode_ends_early_every_reward_teaches_to_copy(reward: str) -> None:
    learner = agent(reward=gail.REWARDS[reward])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in gail.train(learner, envs(), TO_THE_LEFT, steps=4_000, seed=0):
            pass
    assert (learner.policy.act(TO_THE_LEFT[0].observations) == 0).all()


def test_an_episode_that_ends_early_unpaid_is_warned_about_once_unless_meant() -> None:
    with pytest.warns(UserWarning, match="Who pays for the end") as caught:
        list(gail.train(agent(after_end="nothing"), envs(ends=True), TO_THE_LEFT, steps=200, seed=0))
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(gail.train(agent(after_end="nothing"), envs(ends=True), TO_THE_LEFT, steps=100, seed=0, warn=False))
        list(gail.train(agent(), envs(ends=True), TO_THE_LEFT, steps=100, seed=0))


def test_an_end_is_shown_as_an_absorbing_state_that_counts_for_ever() -> None:
    """With γ = 0.5 a state that lasts counts as much as two steps. A limit of time is not an end."""
    ended, cut_off = episode([0, 1, 2], [1, 1], terminated=True), episode([0, -1], [0], terminated=False)
    shown = gail.shown_by_expert(agent(), [ended, cut_off])
    going_on = [[0, 0, 1, 0], [1, 0, 1, 0], [0, 1, 0, 0]]  # place, one-hot action, flag
    assert shown.features.tolist() == [*going_on, [2, 0, 0, 1]]
    assert shown.weight.tolist() == [1, 1, 1, 2]
    assert gail.shown_by_expert(agent(after_end="nowhere"), [ended]).features[-1].tolist() == [0, 0, 0, 1]
    assert len(gail.shown_by_expert(agent(after_end="nothing"), [ended]).features) == 2


def test_rows_are_drawn_as_often_as_they_count() -> None:
    drawn = gail.Shown(torch.tensor([[0.0], [1.0]]), torch.tensor([1.0, 3.0])).draw(20_000)
    assert drawn.mean().item() == pytest.approx(0.75, abs=0.02)


def test_an_end_is_worth_what_its_absorbing_state_is_paid() -> None:
    rollout = ppo.Player(agent().policy, envs(ends=True), 0).rollout(8)
    last = rollout.terminated.bool()
    nothing, somewhere = agent(after_end="nothing"), agent()
    assert (gail.paid(nothing, rollout)[1] == 0).all()
    worth = gail.paid(somewhere, rollout)[1][last]
    with torch.no_grad():
        state = gail.ended_features(somewhere, rollout.next_obs[last])
        assert torch.equal(worth, somewhere.discriminator(state))


class Door(Walk):
    """The second choice leaves at once; the demonstrations wait for three steps first."""

    def __init__(self) -> None:
        super().__init__(length=30, ends=False)

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        obs, reward, _, truncated, info = super().step(0)
        return obs, reward, bool(action), truncated, info


@pytest.mark.parametrize(
    ("reward", "after_end", "steps_inside"),
    [("either", "in place", 4), ("survive", "nothing", 30), ("hurry", "nothing", 1)],
)
def test_only_with_a_paid_end_does_it_leave_when_the_demonstrator_does(
    reward: str, after_end: Any, steps_inside: int
) -> None:
    shown = [episode([0, -1, -2, -3, -4], [0, 0, 0, 1], terminated=True)]
    patient = ppo.Config(discount=0.9, length=16, batch_size=64, learning_rate=3e-3, hidden=(16,))
    pay = {"reward": gail.REWARDS[reward], "after_end": after_end}
    learner = agent(**pay, gradient_penalty=1.0, hidden=(16, 16), learner=patient)
    worlds = SyncVectorEnv([Door] * 8, autoreset_mode=AutoresetMode.SAME_STEP)
    for _ in gail.train(learner, worlds, shown, steps=16_000, seed=0, warn=False):
        pass
    (played,) = rollout(Door, learner.policy.act, [0])
    assert len(played.rewards) == steps_inside


def test_the_task_pays_nothing_and_the_discriminator_everything() -> None:
    learner = agent(reward=gail.REWARDS["survive"])
    rollout = ppo.Player(learner.policy, envs(), 0).rollout(8)
    assert (rollout.reward == 0).all()
    assert (gail.paid(learner, rollout)[0].reward > 0).all()


def test_a_world_that_is_paid_for_by_the_discriminator() -> None:
    """Each step pays 1 − γ of what D says of it, and an end for all that follows it: γ times its state. γ is 1/2."""
    learner = agent(epochs=0)
    shown = [episode([0, -1, -2, -3, -4], [0, 0, 0, 1], terminated=True)]
    world = gail.Paid(Door(), learner, shown)
    obs, _ = world.reset(seed=0)
    rows = []
    for action in (0, 0, 1):
        before = torch.as_tensor(obs)
        obs, reward, terminated, _, _ = world.step(action)
        with torch.no_grad():
            paid = learner.discriminator(gail.features(learner, before, torch.tensor(action)))
            paid += terminated * learner.discriminator(gail.ended_features(learner, torch.as_tensor(obs)))
        rows.append((reward, float(paid) / 2))
    assert terminated
    assert all(reward == pytest.approx(paid, abs=1e-6) for reward, paid in rows)


def test_the_paid_world_teaches_its_discriminator() -> None:
    learner = agent(epochs=10)
    world = gail.Paid(Door(), learner, [episode([0, -1, -2, -3, -4], [0, 0, 0, 1], terminated=True)])
    before = [parameter.clone() for parameter in learner.discriminator.parameters()]
    world.reset(seed=0)
    for _ in range(learner.config.learner.length):
        if world.step(1)[2]:
            world.reset()
    after = learner.discriminator.parameters()
    assert any(not torch.equal(old, new) for old, new in zip(before, after, strict=True))


def test_cloning_weighs_the_error_on_the_demonstrations() -> None:
    shown = [episode([0, -1, -2, -3, -4], [1, 1, 1, 1], terminated=True)]
    learner = agent(cloning=3.0)
    with torch.no_grad():
        for parameter in learner.policy.net.parameters():
            parameter.zero_()
    assert gail.cloning_loss(learner, shown)().item() == pytest.approx(3 * math.log(2), rel=1e-5)
    assert gail.cloning_loss(agent(cloning=0.0), shown)().item() == 0


def test_a_reward_for_leaving_does_not_move_who_mostly_clones() -> None:
    """`hurry` teaches to leave at once; the clone stays as long as was shown."""
    shown = [episode([0, -1, -2, -3, -4], [0, 0, 0, 1], terminated=True)]
    patient = ppo.Config(discount=0.9, length=16, batch_size=64, learning_rate=3e-3, hidden=(16,))
    pay: dict[str, Any] = {"reward": gail.REWARDS["hurry"], "after_end": "nothing", "cloning": 100.0}
    learner = agent(**pay, gradient_penalty=1.0, hidden=(16, 16), learner=patient)
    worlds = SyncVectorEnv([Door] * 8, autoreset_mode=AutoresetMode.SAME_STEP)
    for _ in gail.train(learner, worlds, shown, steps=16_000, seed=0, warn=False):
        pass
    (played,) = rollout(Door, learner.policy.act, [0])
    assert len(played.rewards) == 4
