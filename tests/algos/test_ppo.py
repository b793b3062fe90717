"""PPO: its formulas by hand, the end of an episode in every way it can end, and a tiny problem solved."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from torch import Tensor

from rlnotes.algos import ppo
from rlnotes.algos.policy import Policy
from rlnotes.algos.ppo import Agent, Config, Player, Rollout


class Countdown(gym.Env[np.ndarray, Any]):
    """Observes the number of steps played. Pays 1 for the second of two choices, or for a push to the right."""

    observation_space = gym.spaces.Box(0, 100, (1,), np.float32)

    def __init__(self, last: int = 100, continuous: bool = False) -> None:
        self._last = last
        self.action_space = gym.spaces.Box(-2, 4, (1,), np.float32) if continuous else gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        self._steps = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self._steps += 1
        reward = float(np.asarray(action).item())
        return np.full(1, self._steps, np.float32), reward, self._steps == self._last, False, {}


def envs(last: int = 100, limit: int = 1000, continuous: bool = False) -> SyncVectorEnv:
    def make() -> gym.Env:
        return gym.wrappers.TimeLimit(Countdown(last, continuous), limit)

    return SyncVectorEnv([make, make], autoreset_mode=AutoresetMode.SAME_STEP)


def agent(continuous: bool = False, **config: Any) -> Agent:
    torch.manual_seed(0)
    world = Countdown(continuous=continuous)
    policy = Policy.for_spaces(world.observation_space, world.action_space, (16,), "gaussian")
    return Agent(policy, Config(hidden=(16,), **config))


def one_row(reward: list[float], terminated: list[float], over: list[float]) -> Rollout:
    nothing = torch.zeros(len(reward), 1)
    columns = (torch.tensor(column)[:, None] for column in (reward, terminated, over))
    rewards, ends, overs = columns
    return Rollout(nothing[..., None], nothing, nothing, rewards, nothing[..., None], ends, overs)


def column(*numbers: float) -> Tensor:
    return torch.tensor(numbers)[:, None]


def test_advantages_by_hand() -> None:
    """Three steps, the second of which ends an episode: by the task, or by the clock."""
    config = Config(discount=0.5, gae=0.5)
    values = column(1.0, 2.0, 3.0)
    ended = ppo.advantages(one_row([2, 2, 2], [0, 1, 0], [0, 1, 0]), values, column(2.0, 0.0, 4.0), config)
    # δ = 0.5·2 + 0.5·2 − 1, 0.5·2 − 2, 0.5·2 + 0.5·4 − 3; the middle one does not feel the last one.
    assert ended[:, 0].tolist() == [1 + 0.25 * -1, -1, 0]
    cut_off = ppo.advantages(one_row([2, 2, 2], [0, 0, 0], [0, 1, 0]), values, column(2.0, 8.0, 4.0), config)
    # Out of time, the value of the last state counts: 0.5·2 + 0.5·8 − 2.
    assert cut_off[:, 0].tolist() == [1 + 0.25 * 3, 3, 0]


def test_with_lambda_1_and_no_values_advantages_are_returns_as_means() -> None:
    rollout = one_row([2, 2, 2], [0, 0, 1], [0, 0, 1])
    zeros = torch.zeros(3, 1)
    assert ppo.advantages(rollout, zeros, zeros, Config(discount=0.5, gae=1.0))[:, 0].tolist() == [1.75, 1.5, 1]


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss", "moves"),
    [
        (1.0, 2.0, -2.0, True),
        (1.5, 2.0, -2.4, False),  # good already, and more likely already: no more of it
        (1.5, -2.0, 3.0, True),  # bad and more likely: back
        (0.5, 2.0, -1.0, True),
        (0.5, -2.0, 1.6, False),
    ],
)
def test_policy_loss_by_hand(ratio: float, advantage: float, loss: float, moves: bool) -> None:
    log_prob = torch.tensor([ratio]).log().requires_grad_()
    value, diagnostics = ppo.policy_loss(log_prob, torch.zeros(1), torch.tensor([advantage]), clip=0.2)
    assert value.item() == pytest.approx(loss)
    value.backward()
    assert log_prob.grad is not None
    assert bool(log_prob.grad.abs() > 0) == moves
    assert diagnostics["clipped"] == (abs(ratio - 1) > 0.2)


@pytest.mark.parametrize("continuous", [False, True])
def test_the_ratio_is_one_before_anything_has_changed(continuous: bool) -> None:
    learner = agent(continuous)
    player = Player(learner.policy, envs(continuous=continuous), 0)
    for _ in range(3):
        assert ppo.update(learner, player.rollout(16))["first_ratio_off"] < 1e-5


def test_an_action_drawn_anew_is_caught_by_the_first_ratio() -> None:
    """The twin: the ratio of another action than the one that was played."""
    learner = agent(continuous=True)
    rollout = Player(learner.policy, envs(continuous=True), 0).rollout(16)
    anew = rollout._replace(action=ppo.distribution(learner.policy, rollout.obs).sample())
    assert ppo.update(learner, anew)["first_ratio_off"] > 0.1


@pytest.mark.parametrize(("last", "limit", "terminated"), [(3, 1000, 1.0), (100, 3, 0.0)])
def test_a_row_knows_how_its_episodes_ended_and_with_what(last: int, limit: int, terminated: float) -> None:
    rollout = Player(agent().policy, envs(last, limit), 0).rollout(5)
    assert rollout.over[:, 0].tolist() == [0, 0, 1, 0, 0]
    assert rollout.terminated[2].tolist() == [terminated] * 2
    assert rollout.obs[:, 0, 0].tolist() == [0, 1, 2, 0, 1]
    assert rollout.next_obs[:, 0, 0].tolist() == [1, 2, 3, 1, 2]  # the last observation, not the next start


def test_rollouts_go_on_where_the_last_one_stopped() -> None:
    player = Player(agent().policy, envs(), 0)
    player.rollout(3)
    assert player.rollout(2).obs[:, 0, 0].tolist() == [3, 4]


def test_reinforce_is_ppo_without_critic_and_second_pass() -> None:
    """Its one step follows ∇ log π weighted with standardised returns."""
    torch.manual_seed(0)
    world = Countdown()
    policy = Policy.for_spaces(world.observation_space, world.action_space, (16,))
    learner = Agent(policy, ppo.reinforce_config(discount=0.5, hidden=(16,), max_gradient=1e9))
    rollout = Player(policy, envs(last=4), 0).rollout(8)
    returns = torch.zeros(9, 2)
    for step in reversed(range(8)):
        returns[step] = 0.5 * rollout.reward[step] + 0.5 * (1 - rollout.over[step]) * returns[step + 1]
    weights = ((returns[:-1] - returns[:-1].mean()) / returns[:-1].std()).flatten()
    log_prob = ppo.distribution(policy, rollout.obs.flatten(0, 1)).log_prob(rollout.action.flatten())
    expected = torch.autograd.grad(-(weights * log_prob).mean(), list(policy.net.parameters()))
    ppo.update(learner, rollout)
    for parameter, gradient in zip(policy.net.parameters(), expected, strict=True):
        assert parameter.grad is not None
        assert torch.allclose(parameter.grad, gradient, atol=1e-5)


def test_the_first_actions_spread_as_far_as_they_are_told() -> None:
    chances = ppo.distribution(agent(continuous=True, first_deviation=0.3).policy, torch.zeros(5, 1))
    assert chances.stddev.flatten().tolist() == pytest.approx([0.3] * 5, rel=0.05)


def test_what_is_learnt_also_counts_in_every_batch() -> None:
    learner = agent(epochs=2, batch_size=8)
    rollout = Player(learner.policy, envs(), 0).rollout(16)
    pull = learner.policy.net[0].bias
    calls: list[Tensor] = []

    def also() -> Tensor:
        calls.append(1_000 * pull.square().sum())  # type: ignore[operator]
        return calls[-1]

    ppo.update(learner, rollout, also=also)
    assert len(calls) == 2 * 2 * 16 / 8
    assert calls[-1] < calls[0]


def test_annealing_ends_at_zero() -> None:
    learner = agent(length=8, anneal=True, learning_rate=1e-3)
    rates = []
    for _ in ppo.train(learner, envs(), 64, 0):
        rates.append(learner.optimiser.param_groups[0]["lr"])
    assert rates == pytest.approx([1e-3, 0.75e-3, 0.5e-3, 0.25e-3])
    assert learner.optimiser.param_groups[0]["lr"] == 0


@pytest.mark.parametrize("continuous", [False, True])
def test_it_learns_what_pays(continuous: bool) -> None:
    learner = agent(continuous, length=32, batch_size=32, learning_rate=3e-3)
    steps = [step for step, _ in ppo.train(learner, envs(4, continuous=continuous), 1900, 0)]
    assert steps == list(range(64, 1921, 64))
    played = learner.policy.act(np.array([[0.0], [3.0]], np.float32))
    assert (played > 2.5).all() if continuous else (played == 1).all()


def test_only_policies_with_chances_can_be_trained() -> None:
    world = Countdown(continuous=True)
    with pytest.raises(AssertionError):
        Agent(Policy.for_spaces(world.observation_space, world.action_space, (8,), "tanh"), Config())
