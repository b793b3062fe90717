"""TD3+BC against hand-computed values, and on a problem whose answer is known."""

import gymnasium as gym
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from rlnotes.algos import bc, td3_bc
from rlnotes.algos.networks import TwinQ
from rlnotes.algos.policy import Policy
from rlnotes.data.transitions import Batch, Transitions
from rlnotes.errors import UserError


def linear_policy(bias: float = 0.0) -> Policy:
    """π(s) = tanh(bias), whatever the state of one dimension."""
    policy = Policy((1,), [-1.0], [1.0], hidden=())
    _set(policy.net, weight=[[0.0]], bias=[bias])
    return policy


def linear_critic(
    slope1: float, slope2: float, bias1: float = 0.0, bias2: float = 0.0
) -> TwinQ:
    """Q1 = slope1·a + bias1, Q2 = slope2·a + bias2."""
    critic = TwinQ((1,), 1, hidden=())
    _set(critic.q1, weight=[[0.0, slope1]], bias=[bias1])
    _set(critic.q2, weight=[[0.0, slope2]], bias=[bias2])
    return critic


def _set(net: nn.Sequential, weight: list[list[float]], bias: list[float]) -> None:
    layer = net[0]
    assert isinstance(layer, nn.Linear)
    layer.weight.data = torch.tensor(weight)
    layer.bias.data = torch.tensor(bias)


def agent_with(policy: Policy, critic: TwinQ, **settings: float) -> td3_bc.Agent:
    agent = td3_bc.Agent(policy, td3_bc.Config(hidden=(), **settings))  # type: ignore[arg-type]
    agent.target_policy, agent.target_critic = policy, critic
    return agent


def batch_of(
    action: list[float], reward: list[float], terminated: list[float]
) -> Batch:
    numbers = [
        torch.tensor(values, dtype=torch.float32)
        for values in (action, reward, terminated)
    ]
    column = numbers[0][:, None]
    return Batch(
        torch.zeros_like(column),
        column,
        numbers[1],
        torch.ones_like(column),
        numbers[2],
    )


def test_target_takes_the_smaller_critic_and_stops_only_at_a_real_end() -> None:
    agent = agent_with(linear_policy(), linear_critic(0.0, 0.0, bias1=10.0, bias2=6.0))
    target = td3_bc.critic_target(
        agent, batch_of([0, 0], [1, 1], [0, 1]), noise=torch.zeros(2, 1)
    )
    assert target.tolist() == pytest.approx([1 + 0.99 * 6, 1])


@pytest.mark.parametrize(
    ("noise", "smoothed"), [(1.0, 0.2), (10.0, 0.5), (-10.0, -0.5)]
)
def test_target_noise_is_scaled_then_clipped(noise: float, smoothed: float) -> None:
    agent = agent_with(linear_policy(), linear_critic(1.0, 1.0))
    target = td3_bc.critic_target(
        agent, batch_of([0], [0], [0]), noise=torch.full((1, 1), noise)
    )
    assert target.item() == pytest.approx(0.99 * smoothed)


def test_target_action_stays_in_bounds() -> None:
    agent = agent_with(linear_policy(bias=5.0), linear_critic(1.0, 1.0))
    target = td3_bc.critic_target(
        agent, batch_of([0], [0], [0]), noise=torch.full((1, 1), 10.0)
    )
    assert target.item() == pytest.approx(0.99)


def test_critic_loss_is_the_sum_of_both_errors() -> None:
    loss, _ = td3_bc.critic_loss(
        linear_critic(1.0, 3.0),
        batch_of([1, 1], [0, 0], [0, 0]),
        torch.tensor([0.0, 2.0]),
    )
    assert loss.item() == pytest.approx((1 + 1) / 2 + (9 + 1) / 2)


def actor_gradient(
    slope: float, bias: float, data_action: float, **settings: float
) -> tuple[Tensor, dict[str, Tensor]]:
    policy = linear_policy(bias)
    config = td3_bc.Config(hidden=(), **settings)  # type: ignore[arg-type]
    loss, diagnostics = td3_bc.actor_loss(
        policy, linear_critic(slope, slope), batch_of([data_action], [0], [0]), config
    )
    loss.backward()
    gradient = policy.net[0].bias.grad
    assert isinstance(gradient, Tensor)
    return gradient, diagnostics


def test_lambda_rescales_q_without_a_gradient_of_its_own() -> None:
    """For Q = slope·π, λQ = α·sign(Q) is constant: were λ not detached, Q would not
    pull at all."""
    slope, bias, data_action, alpha = 4.0, 0.3, -0.5, 2.5
    action = np.tanh(bias)
    gradient, diagnostics = actor_gradient(slope, bias, data_action, alpha=alpha)
    weight = alpha / (slope * action)
    assert diagnostics["lambda"].item() == pytest.approx(weight, rel=1e-5)
    expected = (-weight * slope + 2 * (action - data_action)) * (1 - action**2)
    assert gradient.item() == pytest.approx(expected, rel=1e-5)


def test_bc_weight_zero_is_plain_td3() -> None:
    """Only the critic's slope is left, so the data's action no longer matters."""
    near, _ = actor_gradient(4.0, 0.3, data_action=0.3, bc_weight=0.0)
    far, _ = actor_gradient(4.0, 0.3, data_action=-1.0, bc_weight=0.0)
    assert near.item() == far.item()
    assert near.item() < 0  # descent raises the action, and with it Q


def uniform_bandit(size: int = 2_000) -> Transitions:
    """One-step problem: reward −(a − s/2)², actions uniform. The best policy is a =
    s/2, imitation gives 0."""
    rng = np.random.default_rng(0)
    data = Transitions(size, 1, 1)
    for state, action in rng.uniform(-1, 1, (size, 2)):
        data.add(
            np.array([state]),
            np.array([action]),
            -((action - state / 2) ** 2),
            np.array([0.0]),
            True,
        )
    return data


def train_on_bandit(**settings: float) -> td3_bc.Agent:
    torch.manual_seed(0)
    policy = Policy((1,), [-1.0], [1.0], hidden=(32, 32))
    config = td3_bc.Config(hidden=(32, 32), learning_rate=3e-3, **settings)  # type: ignore[arg-type]
    agent = td3_bc.Agent(policy, config)
    for _ in td3_bc.train(agent, uniform_bandit(), steps=600):
        pass
    return agent


@pytest.mark.slow(seconds=4)
def test_learns_a_one_step_problem_that_imitation_cannot() -> None:
    states = np.linspace(-1, 1, 21, dtype=np.float32)[:, None]
    learnt = train_on_bandit(bc_weight=0.0).policy.act(states)
    assert np.abs(learnt - states / 2).max() < 0.1
    imitated = train_on_bandit(alpha=0.0).policy.act(states)
    assert np.abs(imitated - states / 2).max() > 0.3


def test_policy_moves_only_every_second_update() -> None:
    torch.manual_seed(0)
    policy = linear_policy(0.1)
    agent = td3_bc.Agent(policy, td3_bc.Config(hidden=()))
    before = policy.act(np.zeros((1, 1)))
    stream = td3_bc.train(agent, uniform_bandit(64), steps=2)
    next(stream)
    assert policy.act(np.zeros((1, 1))) == before
    next(stream)
    assert policy.act(np.zeros((1, 1))) != before


@pytest.mark.slow(seconds=4)
def test_same_seed_same_weights() -> None:
    first, second = train_on_bandit(), train_on_bandit()
    for one, other in zip(
        first.policy.parameters(), second.policy.parameters(), strict=True
    ):
        assert torch.equal(one, other)


def test_a_policy_of_another_kind_is_refused() -> None:
    policy = Policy((1,), [-1.0], [1.0], hidden=(), head="gaussian")
    with pytest.raises(UserError, match="TD3.*head='tanh'"):
        td3_bc.Agent(policy, td3_bc.Config())


# --- Behaviour cloning recovers a policy that a network can represent


def policy_to(bound: float) -> Policy:
    return Policy((1,), [-bound], [bound], hidden=())


def test_loss_is_the_mean_squared_distance_to_the_data() -> None:
    policy = policy_to(1.0)
    for parameter in policy.parameters():
        parameter.data.zero_()
    column = torch.tensor([[0.5], [-1.0]])
    batch = Batch(column, column, torch.zeros(2), column, torch.zeros(2))
    loss, diagnostics = bc.loss(policy, batch)
    assert loss.item() == pytest.approx((0.25 + 1) / 2)
    assert diagnostics["bc_loss"] == loss


def test_the_error_is_measured_in_the_environments_units() -> None:
    """Torques of ±2: an error of 0.5 in [−1, 1] is 1 in the environment, and counts
    four times."""
    half, zero = torch.tensor([[0.5]]), torch.tensor([[0.0]])
    assert bc.bc_error(policy_to(2.0), half, zero).item() == pytest.approx(1.0)


@pytest.mark.slow(seconds=2)
def test_clones_a_linear_demonstrator_in_the_environments_own_units() -> None:
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    data = Transitions(1_000, 1, 1)
    for state in rng.uniform(10, 20, 1_000):  # far from zero: needs the standardisation
        obs = np.array([state])
        data.add(obs, obs - 15, 0.0, obs, False)
    seen = data.all().obs.numpy()
    scale = {"obs_mean": seen.mean(0), "obs_std": seen.std(0)}
    policy = Policy((1,), [-8.0], [8.0], (32,), **scale)
    agent = bc.Agent(policy, bc.Config(learning_rate=1e-2))
    assert [step for step, _ in bc.train(agent, data, steps=400)] == [*range(1, 401)]
    states = np.linspace(10, 20, 11, dtype=np.float32)[:, None]
    assert np.abs(policy.act(states) - (states - 15)).max() < 0.3


def test_clones_discrete_actions() -> None:
    torch.manual_seed(0)
    data = Transitions(400, 1, 1)
    for place in np.linspace(-1, 1, 400, dtype=np.float32):
        obs = np.array([place])
        data.add(obs, np.array([float(place > 0)]), 0.0, obs, False)
    policy = Policy.for_spaces(
        gym.spaces.Box(-1, 1, (1,)), gym.spaces.Discrete(2), (16,)
    )
    agent = bc.Agent(policy, bc.Config(learning_rate=1e-2, hidden=(16,)))
    for _ in bc.train(agent, data, 300):
        pass
    rows = data.all()
    assert (policy.act(rows.obs.numpy()) == rows.action[:, 0].numpy()).mean() > 0.98
