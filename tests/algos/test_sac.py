"""SAC against torch's own distributions, and on a one-step problem."""

import subprocess
import sys
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from torch.distributions import Normal, TanhTransform, TransformedDistribution

from rlnotes.algos import sac, sac_bc, sb3
from rlnotes.algos.networks import Eye
from rlnotes.algos.policy import Policy
from rlnotes.data.transitions import Batch, Transitions
from rlnotes.errors import UserError


class Aim(gym.Env[np.ndarray, np.ndarray]):
    """One step: the reward is −(a − 1)² for actions in [0, 4], so a = 1 is best. What
    is observed does not matter, wherever it lies."""

    observation_space = gym.spaces.Box(-1e3, 1e3, (1,), np.float32)
    action_space = gym.spaces.Box(0, 4, (1,), np.float32)

    def __init__(self, place: float = 0.0) -> None:
        self._seen = np.full(1, place, np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return self._seen, {}

    def step(self, action: np.ndarray) -> Any:
        return self._seen, -float((action[0] - 1) ** 2), True, False, {}


def gaussian_policy(place: float = 0.0) -> Policy:
    env = Aim()
    spaces = env.observation_space, env.action_space
    return Policy.for_spaces(*spaces, (16,), "gaussian", obs_mean=np.full(1, place))


def test_log_prob_matches_torchs_transformed_distribution() -> None:
    torch.manual_seed(0)
    mean, log_std, noise = torch.randn(50, 2), torch.rand(50, 2) - 1, torch.randn(50, 2)
    action, log_prob = sac.squash(mean, log_std, noise)
    normal = Normal(mean, log_std.exp())
    raw = mean + log_std.exp() * noise
    expected = (normal.log_prob(raw) - torch.log(1 - torch.tanh(raw) ** 2)).sum(-1)
    assert torch.allclose(log_prob, expected, atol=1e-4)
    reference = TransformedDistribution(normal, [TanhTransform(cache_size=1)])
    assert torch.allclose(log_prob, reference.log_prob(action).sum(-1), atol=1e-2)


def test_log_prob_stays_finite_where_tanh_saturates() -> None:
    numbers = (torch.tensor([[number]]) for number in (40.0, 0.0, 1.0))
    _, log_prob = sac.squash(*numbers)
    assert torch.isfinite(log_prob).all()


def test_it_learns_within_the_bounds_in_which_the_policy_plays() -> None:
    policy = gaussian_policy()
    policy.log_std_bounds = (-30.0, -20.0)  # no noise left to speak of
    action, _ = sac.sample_action(policy, torch.zeros(1, 1))
    assert torch.equal(action, policy(torch.zeros(1, 1)))


def test_target_is_soft_and_stops_only_at_a_real_end() -> None:
    agent = sac.Agent(gaussian_policy(), sac.Config(hidden=(16,)))
    zeros, ends = torch.zeros(2, 1), torch.tensor([0.0, 1.0])
    batch = Batch(zeros, zeros, torch.ones(2), zeros, ends)
    torch.manual_seed(1)
    target = sac.critic_target(agent, batch)
    torch.manual_seed(1)
    action, log_prob = sac.sample_action(agent.policy, batch.next_obs)
    next_q = torch.minimum(*agent.target_critic(batch.next_obs, action))
    value = next_q - log_prob  # the temperature starts at 1
    assert target[0].item() == pytest.approx(1 + 0.99 * value[0].item(), rel=1e-5)
    assert target[1].item() == 1


@pytest.mark.parametrize(("entropy", "direction"), [(-3.0, 1), (0.5, -1)])
def test_temperature_rises_below_the_target_entropy_and_falls_above(
    entropy: float, direction: int
) -> None:
    log_temperature = torch.zeros((), requires_grad=True)
    loss = sac.temperature_loss(log_temperature, torch.tensor(entropy), -1.0)
    loss.backward()
    assert log_temperature.grad is not None
    assert np.sign(-log_temperature.grad.item()) == direction


def trained(steps: int, place: float = 0.0) -> sac.Agent:
    torch.manual_seed(0)
    config = sac.Config(
        hidden=(16,), learning_starts=100, learning_rate=1e-2, buffer_size=steps
    )
    agent = sac.Agent(gaussian_policy(place), config)
    for _ in sac.train(agent, Aim(place), steps, seed=0):
        pass
    return agent


@pytest.mark.slow(seconds=3)
def test_learns_the_best_action_of_a_one_step_problem() -> None:
    action = trained(700).policy.act(np.zeros((1, 1)))
    assert action[0, 0] == pytest.approx(1, abs=0.2)


def test_it_learns_from_what_it_sees_in_play() -> None:
    """A world that is shifted, with a policy that knows it, is the same world: to the
    last bit."""
    plain, shifted = trained(150), trained(150, place=64.0)
    assert shifted.memory.all().obs.min() == 64  # raw, as the world gives it
    critics = plain.target_critic.parameters(), shifted.target_critic.parameters()
    assert all(torch.equal(one, other) for one, other in zip(*critics, strict=True))


def test_a_deterministic_policy_is_refused() -> None:
    env = Aim()
    policy = Policy.for_spaces(env.observation_space, env.action_space, (16,), "tanh")
    with pytest.raises(UserError, match="SAC.*head='gaussian'"):
        sac.Agent(policy, sac.Config())


def test_pictures_are_refused() -> None:
    pictures = gym.spaces.Box(0, 255, (1, 84, 84), np.uint8)
    spaces = pictures, Aim.action_space
    policy = Policy.for_spaces(*spaces, (16,), "gaussian", eye=Eye())
    with pytest.raises(UserError, match="critics of actions take vectors"):
        sac.Agent(policy, sac.Config(buffer_size=1))


def offline_distance(bc_weight: float) -> float:
    """Data plays a = 3 where a = 1 would pay more: how far from the data does the
    policy end?"""
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    data = Transitions(500, 1, 1)
    for action in rng.normal(3, 0.05, 500):
        reward = -((action - 1) ** 2)
        data.add(np.zeros(1), np.array([action]), reward, np.zeros(1), True)
    config = sac_bc.Config(hidden=(16,), learning_rate=1e-2, bc_weight=bc_weight)
    agent = sac_bc.Agent(gaussian_policy(), config)
    assert [step for step, _ in sac_bc.train(agent, data, 300)] == [*range(1, 301)]
    return abs(agent.policy.act(np.zeros((1, 1)))[0, 0] - 3)


@pytest.mark.slow(seconds=3)
def test_the_bc_term_holds_an_offline_policy_near_the_data() -> None:
    assert offline_distance(bc_weight=50.0) < 0.25
    assert offline_distance(bc_weight=0.0) > 0.5


# --- A policy of SB3, copied


@pytest.mark.parametrize("world", ["rlnotes/Puck-v0", "rlnotes/RaceCar-v0"])
def test_the_copy_acts_as_the_original_before_and_after_learning(world: str) -> None:
    env = gym.make(world)
    options = {"learning_starts": 50, "policy_kwargs": {"net_arch": [16, 16]}}
    model = sb3.sac(env, seed=0, **options)
    policy = sb3.new_policy(model)
    env.observation_space.seed(0)
    observations = np.stack([env.observation_space.sample() for _ in range(200)]) / 10
    before = policy.act(observations)
    theirs = model.predict(observations, deterministic=True)[0]
    assert before == pytest.approx(theirs, abs=1e-5)

    steps = [step for step, _ in sb3.train(model, policy, 120, chunk=50)]
    assert steps == [50, 100, 120]
    assert model.num_timesteps == 120
    after = policy.act(observations)
    theirs = model.predict(observations, deterministic=True)[0]
    assert after == pytest.approx(theirs, abs=1e-5)
    assert not np.allclose(before, after)
    env.close()


def test_to_import_the_learners_takes_no_library_of_learners() -> None:
    code = (
        "import sys, rlnotes.algos.sb3;"
        "from rlnotes.algos import bc, dqn, gail, offline_gail, ppo, reinforce, sac;"
        "from rlnotes.algos import sac_bc, td3_bc;"
        "assert 'stable_baselines3' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
