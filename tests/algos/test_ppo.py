"""PPO: its formulas by hand, the end of an episode in every way it can end, and a tiny
problem solved."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.spaces import Discrete
from gymnasium.vector import SyncVectorEnv, VectorEnv
from torch import Tensor, nn

from rlnotes.algos import gail, ppo
from rlnotes.algos.networks import Eye
from rlnotes.algos.policy import Policy, load_policy, save_policies
from rlnotes.algos.ppo import Agent, Collector, Config, Rollout
from rlnotes.envs.vector import make_vec_env
from rlnotes.errors import UserError


class Countdown(gym.Env[np.ndarray, Any]):
    """Observes the number of steps played. Rewards the second of two actions, or a push
    to the right."""

    observation_space: gym.spaces.Box = gym.spaces.Box(0, 100, (1,), np.float32)
    action_space: gym.spaces.Space

    def __init__(self, last: int = 100, continuous: bool = False) -> None:
        self._last = last
        push = gym.spaces.Box(-2, 4, (1,), np.float32)
        self.action_space = push if continuous else gym.spaces.Discrete(2)

    def _seen(self) -> np.ndarray:
        return np.full(1, self._steps, np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self._steps = 0
        return self._seen(), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self._steps += 1
        reward = float(np.asarray(action).item())
        return self._seen(), reward, self._steps == self._last, False, {}


class Pictures(Countdown):
    """Rewards the action that is shown: a picture is bright, then dark, then bright."""

    observation_space = gym.spaces.Box(0, 255, (1, 8, 8), np.uint8)

    def _seen(self) -> np.ndarray:
        return np.full((1, 8, 8), 255 * (self._steps % 2), np.uint8)

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        right = float(int(action) == self._steps % 2)
        obs, _, terminated, truncated, info = super().step(action)
        return obs, right, terminated, truncated, info


def envs(
    last: int = 100, limit: int = 1000, continuous: bool = False, count: int = 2
) -> VectorEnv:
    def make() -> gym.Env:
        return gym.wrappers.TimeLimit(Countdown(last, continuous), limit)

    return make_vec_env(make, count)


def agent(continuous: bool = False, **settings: Any) -> Agent:
    torch.manual_seed(0)
    world, config = Countdown(continuous=continuous), Config(hidden=(16,), **settings)
    policy = ppo.new_policy(world.observation_space, world.action_space, config)
    return Agent(policy, config)


def one_row(reward: list[float], terminated: list[float], done: list[float]) -> Rollout:
    nothing = torch.zeros(len(reward), 1)
    rewards, ends, dones = (column(*row) for row in (reward, terminated, done))
    seen = nothing[..., None]
    return Rollout(seen, nothing, nothing, rewards, seen, ends, dones, nothing)


def column(*numbers: float) -> Tensor:
    return torch.tensor(numbers)[:, None]


# --- formulas


def test_advantages_by_hand() -> None:
    """Three steps, the second of which ends an episode: by the task, or by the
    clock."""
    config = Config(gamma=0.5, gae_lambda=0.5, reward_scale=0.5)
    values = column(1.0, 2.0, 3.0)
    ended = one_row([2, 2, 2], [0, 1, 0], [0, 1, 0])
    advantage = ppo.advantages(ended, values, column(2.0, 0.0, 4.0), config)
    # δ = 0.5·2 + 0.5·2 − 1, 0.5·2 − 2, 0.5·2 + 0.5·4 − 3; the middle one does not feel
    # the last one.
    assert advantage[:, 0].tolist() == [1 + 0.25 * -1, -1, 0]
    cut_off = one_row([2, 2, 2], [0, 0, 0], [0, 1, 0])
    advantage = ppo.advantages(cut_off, values, column(2.0, 8.0, 4.0), config)
    # Out of time, the value of the last state counts: 0.5·2 + 0.5·8 − 2.
    assert advantage[:, 0].tolist() == [1 + 0.25 * 3, 3, 0]


@pytest.mark.parametrize(
    ("gamma", "scale", "returns"),
    [(0.5, 1.0, [3.5, 3, 2]), (0.5, 0.5, [1.75, 1.5, 1]), (1.0, 1.0, [6, 4, 2])],
)
def test_with_lambda_1_and_no_values_advantages_are_returns(
    gamma: float, scale: float, returns: list[float]
) -> None:
    """Sums of the rewards to come; with a scale of 1 − γ, their means."""
    rollout, zeros = one_row([2, 2, 2], [0, 0, 1], [0, 0, 1]), torch.zeros(3, 1)
    config = Config(gamma=gamma, gae_lambda=1.0, reward_scale=scale)
    assert ppo.advantages(rollout, zeros, zeros, config)[:, 0].tolist() == returns


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
def test_policy_loss_by_hand(
    ratio: float, advantage: float, loss: float, moves: bool
) -> None:
    log_prob = torch.tensor([ratio]).log().requires_grad_()
    value, diagnostics = ppo.policy_loss(
        log_prob, torch.zeros(1), torch.tensor([advantage]), clip_coef=0.2
    )
    assert value.item() == pytest.approx(loss)
    value.backward()
    assert log_prob.grad is not None
    assert bool(log_prob.grad.abs() > 0) == moves
    assert diagnostics["clip_fraction"] == (abs(ratio - 1) > 0.2)


@pytest.mark.parametrize("ratio", [0.5, 1.0, 1.5])
def test_without_a_ratio_stale_actions_count_as_fresh_ones(ratio: float) -> None:
    """The gradient is the advantage, however much likelier the action has become. A
    ratio that is not clipped would multiply it."""
    log_prob = torch.tensor([ratio]).log().requires_grad_()
    rest = torch.zeros(1), torch.tensor([2.0])
    gradients = []
    for loss_of in (ppo.log_prob_loss, ppo.policy_loss):
        loss, diagnostics = loss_of(log_prob, *rest, clip_coef=1e9)
        assert diagnostics["ratio_deviation"].item() == pytest.approx(abs(ratio - 1))
        assert diagnostics["policy_loss"] == loss
        gradients += [x.item() for x in torch.autograd.grad(loss, log_prob)]
    assert gradients == pytest.approx([-2.0, -2.0 * ratio])


@pytest.mark.parametrize(("last", "limit"), [(5, 1000), (100, 5), (100, 1000)])
def test_values_are_those_of_each_observation_and_of_the_one_after_it(
    last: int, limit: int
) -> None:
    learner = agent()
    rollout = Collector(learner.policy, envs(last, limit), 0).rollout(16)
    values, next_values = ppo.values_of(learner, rollout)
    with torch.no_grad():
        assert torch.allclose(values, learner.value(rollout.obs).squeeze(-1))
        assert torch.allclose(next_values, learner.value(rollout.next_obs).squeeze(-1))
    blind = Agent(learner.policy, Config(baseline=False))
    assert not any(column.any() for column in ppo.values_of(blind, rollout))


@pytest.mark.parametrize("continuous", [False, True])
def test_what_is_drawn_is_what_the_distribution_would_draw(continuous: bool) -> None:
    policy = agent(continuous).policy
    obs = torch.randn(8, 1)
    for seed in range(200):
        torch.manual_seed(seed)
        expected = ppo.distribution(policy, obs).sample()
        torch.manual_seed(seed)
        assert torch.equal(ppo.draw(policy, policy.net(obs)), expected)


# --- rollouts


@pytest.mark.parametrize("continuous", [False, True])
def test_the_ratio_is_one_before_anything_has_changed(continuous: bool) -> None:
    learner = agent(continuous)
    collector = Collector(learner.policy, envs(continuous=continuous), 0)
    for _ in range(3):
        diagnostics = ppo.update(learner, collector.rollout(16))
        assert diagnostics["first_ratio_deviation"] < 1e-5


def test_an_action_drawn_anew_is_caught_by_the_first_ratio() -> None:
    """The twin: the ratio of another action than the one that was played."""
    learner = agent(continuous=True)
    rollout = Collector(learner.policy, envs(continuous=True), 0).rollout(16)
    anew = ppo.distribution(learner.policy, rollout.obs).sample()
    diagnostics = ppo.update(learner, rollout._replace(action=anew))
    assert diagnostics["first_ratio_deviation"] > 0.1


@pytest.mark.parametrize(
    ("last", "limit", "terminated"), [(3, 1000, 1.0), (100, 3, 0.0)]
)
def test_a_row_knows_how_its_episodes_ended_and_with_what(
    last: int, limit: int, terminated: float
) -> None:
    rollout = Collector(agent().policy, envs(last, limit), 0).rollout(5)
    assert rollout.done[:, 0].tolist() == [0, 0, 1, 0, 0]
    assert rollout.terminated[2].tolist() == [terminated] * 2
    assert rollout.obs[:, 0, 0].tolist() == [0, 1, 2, 0, 1]
    # the last observation, not the next start
    assert rollout.next_obs[:, 0, 0].tolist() == [1, 2, 3, 1, 2]
    assert rollout.time[:, 0].tolist() == [0, 1, 2, 0, 1]


def test_rollouts_go_on_where_the_last_one_stopped() -> None:
    collector = Collector(agent().policy, envs(), 0)
    first = collector.rollout(3)
    assert collector.rollout(2).obs[:, 0, 0].tolist() == [3, 4]
    assert first.obs[:, 0, 0].tolist() == [0, 1, 2]  # and is not written over


def test_a_rollout_can_be_one_episode_whichever_way_it_ends() -> None:
    for last, limit in ((3, 1000), (1000, 3)):
        one = envs(last, limit, count=1)
        collector = Collector(agent().policy, one, 0)
        for num_steps, expected in ((10, 3), (2, 2), (10, 1), (10, 3)):
            rollout = collector.rollout(num_steps, episodic=True)
            assert [len(row) for row in rollout] == [expected] * len(rollout)
    with pytest.raises(UserError, match="make one environment"):
        Collector(agent().policy, envs(), 0).rollout(10, episodic=True)


def test_training_counts_the_steps_of_episodes_that_end_early() -> None:
    learner = agent(episodic=True, num_steps=50)
    steps = [step for step, _ in ppo.train(learner, envs(last=3, count=1), 8, seed=0)]
    assert steps == [3, 6, 9]


def test_advantages_have_mean_0_unless_they_are_taken_as_they_come() -> None:
    """Before anything has changed, the loss is minus the mean advantage."""
    rollout = Collector(agent().policy, envs(last=4), 0).rollout(8)
    settings: dict[str, Any] = {"baseline": False, "batch_size": 100}
    for norm_adv in (True, False):
        learner = agent(norm_adv=norm_adv, update_epochs=1, **settings)
        loss = ppo.update(learner, rollout)["policy_loss"]
        nothing = torch.zeros_like(rollout.reward)
        sums = ppo.advantages(rollout, nothing, nothing, learner.config)
        expected = 0.0 if norm_adv else -sums.mean().item()
        assert loss.item() == pytest.approx(expected, abs=1e-6)


def test_environments_that_reset_in_the_next_step_are_refused() -> None:
    late = SyncVectorEnv([Countdown])
    with pytest.raises(UserError, match="SAME_STEP"):
        Collector(agent().policy, late, 0)


def test_a_policy_that_is_not_finite_is_refused() -> None:
    learner = agent()
    with torch.no_grad():
        next(learner.policy.net.parameters()).fill_(float("nan"))
    with pytest.raises(UserError, match="lower the learning_rate"):
        Collector(learner.policy, envs(), 0).rollout(2)


# --- updates


def test_reinforce_is_ppo_without_critic_and_second_pass() -> None:
    """Its one step follows ∇ log π weighted with standardised returns."""
    torch.manual_seed(0)
    world = Countdown()
    config = ppo.reinforce_config(gamma=0.5, hidden=(16,), max_grad_norm=1e9)
    policy = ppo.new_policy(world.observation_space, world.action_space, config)
    learner = Agent(policy, config)
    rollout = Collector(policy, envs(last=4), 0).rollout(8)
    returns = torch.zeros(9, 2)
    for step in reversed(range(8)):
        future = 0.5 * (1 - rollout.done[step]) * returns[step + 1]
        returns[step] = rollout.reward[step] + future
    returns = returns[:-1].flatten()
    weights = (returns - returns.mean()) / returns.std()
    dist = ppo.distribution(policy, rollout.obs.flatten(0, 1))
    loss = -(weights * dist.log_prob(rollout.action.flatten())).mean()
    expected = torch.autograd.grad(loss, list(policy.net.parameters()))
    ppo.update(learner, rollout)
    for parameter, gradient in zip(policy.net.parameters(), expected, strict=True):
        assert parameter.grad is not None
        assert torch.allclose(parameter.grad, gradient, atol=1e-5)


def test_an_end_is_worth_what_it_is_said_to_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In units of V; where the clock ran out, V itself counts, here 0."""
    seen: list[Tensor] = []
    advantages = ppo.advantages

    def spy(
        rollout: Rollout, values: Tensor, next_values: Tensor, config: Config
    ) -> Tensor:
        seen.append(next_values)
        return advantages(rollout, values, next_values, config)

    monkeypatch.setattr(ppo, "advantages", spy)
    learner = agent(baseline=False)
    for worlds in (envs(last=4), envs(limit=4)):
        rollout = Collector(learner.policy, worlds, 0).rollout(6)
        ppo.update(learner, rollout, terminal_value=3.0)
    ended, cut_off = (next_values[:, 0].tolist() for next_values in seen)
    assert ended == [0, 0, 0, 3, 0, 0]
    assert cut_off == [0] * 6


def test_the_first_actions_spread_as_far_as_they_are_told() -> None:
    policy = agent(continuous=True, initial_std=0.3).policy
    dist = ppo.distribution(policy, torch.zeros(5, 1))
    assert dist.stddev.flatten().tolist() == pytest.approx([0.3] * 5, rel=0.05)


@pytest.mark.parametrize("std", [0.05, 0.5, 1.0, 7.389])
@pytest.mark.parametrize("mean", [0.0, 1.5])
def test_the_entropy_of_what_is_played_by_integration(mean: float, std: float) -> None:
    """Of the density over [−1, 1], from the chance of each small interval. Its width is
    tanh v − tanh u = sinh(v − u) / (cosh u cosh v), which does not round to 0."""
    edges = torch.linspace(-60, 60, 40_001, dtype=torch.float64)
    chance = torch.special.ndtr((edges - mean) / std).diff()
    log_width = edges.diff().sinh().log() - edges.cosh().log().unfold(0, 2, 1).sum(-1)
    wanted = torch.special.entr(chance) + chance * log_width
    found = ppo.squashed_entropy(
        torch.full((3, 2), mean), torch.full((3, 2), std).log()
    )
    assert found.tolist() == pytest.approx([2 * wanted.sum().item()] * 3, abs=0.02)


def test_entropy_grows_without_end_before_the_tanh_and_falls_again_after_it() -> None:
    """An even spread over [−1, 1] is the most that can be played: log 2."""
    log_std = torch.linspace(-4, 3, 200)[:, None]
    before = ppo.output_distribution(
        Policy((1,), [-1], [1], (), "gaussian", log_std_bounds=(-9, 9)),
        torch.cat([torch.zeros_like(log_std), log_std], dim=-1),
    ).entropy()
    after = ppo.squashed_entropy(torch.zeros_like(log_std), log_std)
    assert (before.diff() > 0).all()
    assert after.max() < np.log(2)
    best = log_std[after.argmax()].exp().item()
    assert best == pytest.approx(0.87, abs=0.05)
    assert after[-1] < after.max() - 10
    assert (before[:40] < 0).all()  # also without a tanh: a density may be above 1


@pytest.mark.parametrize("log_std", [-1.5, 0.0, 1.5])
def test_the_bonus_for_what_is_played_is_its_entropy_in_the_mean(
    log_std: float,
) -> None:
    policy = Policy((1,), [-1], [1], (), "gaussian", log_std_bounds=(-9, 9))
    row = torch.tensor([0.7, log_std], requires_grad=True)
    torch.manual_seed(0)
    found = ppo.played_entropy(policy, row.expand(200_000, 2)).mean()
    wanted = ppo.squashed_entropy(row[:1], row[1:])
    assert found.item() == pytest.approx(wanted.item(), abs=0.02)
    slopes = [torch.autograd.grad(entropy, row)[0] for entropy in (found, wanted)]
    assert slopes[0].tolist() == pytest.approx(slopes[1].tolist(), abs=0.05)


def test_what_is_played_of_discrete_actions_is_what_is_drawn() -> None:
    policy = Policy.for_spaces(gym.spaces.Box(-1, 1, (3,)), Discrete(4), ())
    outputs = torch.randn(5, 4)
    drawn = ppo.drawn_entropy(policy, outputs)
    assert torch.equal(ppo.played_entropy(policy, outputs), drawn)


def test_an_agent_leaves_the_policy_as_it_is_given() -> None:
    world = Countdown()
    policy = Policy.for_spaces(world.observation_space, world.action_space, (16,))
    before = [parameter.clone() for parameter in policy.parameters()]
    Agent(policy, Config())
    pairs = zip(before, policy.parameters(), strict=True)
    assert all(torch.equal(old, new) for old, new in pairs)


def test_an_extra_loss_counts_in_every_batch() -> None:
    learner = agent(update_epochs=2, batch_size=8)
    rollout = Collector(learner.policy, envs(), 0).rollout(16)
    pull = learner.policy.net[0].bias
    calls: list[Tensor] = []

    def extra_loss() -> Tensor:
        calls.append(1_000 * pull.square().sum())  # type: ignore[operator]
        return calls[-1]

    ppo.update(learner, rollout, extra_loss=extra_loss)
    assert len(calls) == 2 * 2 * 16 / 8
    assert calls[-1] < calls[0]


def test_annealing_ends_at_zero() -> None:
    falling = {"anneal_lr": True, "anneal_ent_coef": True}
    learner = agent(num_steps=8, learning_rate=1e-3, ent_coef=0.1, **falling)
    rates, bonuses = [], []
    for _ in ppo.train(learner, envs(), 64, 0):
        rates.append(learner.optimiser.param_groups[0]["lr"])
        bonuses.append(learner.ent_coef)
    assert rates == pytest.approx([0.75e-3, 0.5e-3, 0.25e-3, 0])
    assert bonuses == pytest.approx([0.075, 0.05, 0.025, 0])


def test_the_bonus_is_that_of_now() -> None:
    torch.manual_seed(0)
    fallen = agent(num_steps=8, ent_coef=0.1)
    fallen.ent_coef = 0.0
    torch.manual_seed(0)
    without = agent(num_steps=8)
    for learner in (fallen, without):
        torch.manual_seed(1)
        list(ppo.train(learner, envs(), 64, 0))
    for one, other in zip(
        fallen.policy.net.parameters(), without.policy.net.parameters(), strict=True
    ):
        assert torch.equal(one, other)


# --- what the policy sees


def numpy_scale(rollouts: list[Rollout]) -> tuple[np.ndarray, np.ndarray]:
    seen = torch.cat([rollout.obs.flatten(0, 1) for rollout in rollouts]).double()
    return seen.numpy().mean(0), seen.numpy().std(0)


def test_a_policy_sees_by_what_it_learnt_with(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In play, in learning and when it is saved: the statistics of all rollouts before
    the last one."""
    learner = agent(norm_obs=True, num_steps=8, continuous=True)
    policy, rollouts, learnt_with = learner.policy, [], []
    update = ppo.update

    def spy(learner: Agent, rollout: Rollout) -> ppo.Diagnostics:
        rollouts.append(rollout)
        learnt_with.append((policy.obs_mean.clone(), policy.obs_std.clone()))
        return update(learner, rollout)

    monkeypatch.setattr(ppo, "update", spy)
    stream = ppo.train(learner, envs(last=30, continuous=True), 64, 0)
    for count, (_, diagnostics) in enumerate(stream):
        assert diagnostics["first_ratio_deviation"] < 1e-5
        expected = numpy_scale(rollouts[:count]) if count else (0, 1)
        save_policies(tmp_path / "policy", {"last": policy}, "a test")
        saved = load_policy(tmp_path / "policy", "last", "a test", "")
        for mean, std in (learnt_with[count], (saved.obs_mean, saved.obs_std)):
            assert mean.numpy() == pytest.approx(expected[0], abs=1e-4)
            assert std.numpy() == pytest.approx(expected[1], rel=1e-4)
    assert len(rollouts) == 4
    assert learner.obs_stats.count.item() == pytest.approx(64, abs=1e-3)


def test_what_never_varies_is_not_blown_up() -> None:
    learner = agent(norm_obs=True)
    learner.obs_stats.update(torch.full((1_000, 1), 7.0).double())
    ppo.renew_obs_scale(learner)
    seen = learner.policy.encode_obs(torch.tensor([[7.0], [7.1]]))
    assert seen.flatten().tolist() == pytest.approx([0, 0.1 / 0.05], abs=1e-4)


def test_observations_stay_as_given_unless_asked() -> None:
    world, config = Countdown(), Config(hidden=(8,), num_steps=8)
    given = np.array([3.0]), np.array([2.0])
    policy = ppo.new_policy(world.observation_space, Discrete(2), config, *given)
    learner = Agent(policy, config)
    for _ in ppo.train(learner, envs(), 32, 0):
        pass
    assert (policy.obs_mean.item(), policy.obs_std.item()) == (3, 2)


def test_pictures_and_discriminators_have_a_scale_of_their_own() -> None:
    world, config = Pictures(), Config(norm_obs=True, hidden=())
    eye = Eye(filters=((4, 4, 2),), units=16)
    policy = ppo.new_policy(world.observation_space, Discrete(2), config, eye=eye)
    with pytest.raises(UserError, match="leave out norm_obs"):
        Agent(policy, config)
    with pytest.raises(UserError, match="leave out norm_obs"):
        gail.Config(generator=config)


def test_it_is_told_how_many_episodes_go_on() -> None:
    """Of two environments at every fourth step of episodes of eight: all or none."""
    stream = ppo.train(agent(num_steps=4), envs(last=8), 32, 0)
    shares = [diagnostics["continued_fraction"].item() for _, diagnostics in stream]
    assert shares == [0, 1, 0, 1]


# --- learning


@pytest.mark.parametrize("gamma", [0.99, 1.0])
@pytest.mark.parametrize("continuous", [False, True])
def test_it_learns_what_pays(continuous: bool, gamma: float) -> None:
    settings = {"num_steps": 32, "batch_size": 32, "learning_rate": 3e-3}
    learner = agent(continuous, gamma=gamma, **settings)
    worlds = envs(4, continuous=continuous)
    steps = [step for step, _ in ppo.train(learner, worlds, 1900, 0)]
    assert steps == list(range(64, 1921, 64))
    played = learner.policy.act(np.array([[0.0], [3.0]], np.float32))
    assert (played > 2.5).all() if continuous else (played == 1).all()


@pytest.mark.slow(seconds=3)
def test_it_learns_from_pictures() -> None:
    torch.manual_seed(0)
    world = Pictures()
    config = Config(num_steps=32, batch_size=32, learning_rate=3e-3, hidden=())
    spaces = world.observation_space, world.action_space
    eye = Eye(filters=((4, 4, 2),), units=16)
    policy = ppo.new_policy(*spaces, config, eye=eye)
    learner = Agent(policy, config)
    worlds = make_vec_env(lambda: Pictures(last=8), 2)
    rollout = Collector(policy, worlds, 0).rollout(2)
    assert rollout.obs.dtype == rollout.next_obs.dtype == torch.uint8
    for _ in ppo.train(learner, worlds, 1_500, 0):
        pass
    dark, bright = (np.full((1, 8, 8), light, np.uint8) for light in (0, 255))
    assert policy.act(np.stack([dark, bright])).tolist() == [0, 1]
    assert isinstance(learner.value, nn.Sequential)
    eyes = {id(learner.value[0]), id(policy.net[0])}
    assert len(eyes) == 2  # one each


# --- V with the policy's network, and A2C


def shared(**settings: Any) -> Agent:
    return agent(share_network=True, **settings)


def test_a_shared_network_is_one_with_another_output() -> None:
    learner = shared()
    obs = torch.randn(7, 1)
    outputs, value = learner.outputs_and_value(obs)
    features = learner.policy.net[:-1](obs)
    assert torch.equal(outputs, learner.policy.net(obs))
    assert torch.equal(value, learner.value(features).squeeze(-1))
    assert torch.equal(value, learner.value_of(obs))
    assert sum(part.numel() for part in learner.value.parameters()) == 16 + 1
    rollout = Collector(learner.policy, envs(last=5), 0).rollout(12)
    values, next_values = ppo.values_of(learner, rollout)
    with torch.no_grad():
        assert torch.allclose(values, learner.value_of(rollout.obs))
        assert torch.allclose(next_values, learner.value_of(rollout.next_obs))


def test_what_v_gets_wrong_moves_a_shared_network_and_no_other() -> None:
    for learner, moved in ((shared(), True), (agent(), False)):
        value = learner.outputs_and_value(torch.randn(7, 1))[1]
        value.sum().backward()
        assert (learner.policy.net[0].weight.grad is not None) == moved


def grad_norm(*parts: nn.Module) -> float:
    grads = [
        x.grad.flatten()
        for part in parts
        for x in part.parameters()
        if x.grad is not None
    ]
    return float(torch.cat(grads).norm())


@pytest.mark.parametrize("share_network", [True, False])
def test_gradients_are_clipped_together_where_the_network_is_shared(
    share_network: bool,
) -> None:
    learner = agent(share_network=share_network)
    parts = (learner.policy.net, learner.value)
    for parameter in (x for part in parts for x in part.parameters()):
        parameter.grad = torch.ones_like(parameter)
    learner.clip_gradients()
    if share_network:
        assert grad_norm(*parts) == pytest.approx(0.5, rel=1e-4)
    else:
        norms = [grad_norm(part) for part in parts]
        assert norms == pytest.approx([0.5, 0.5], rel=1e-4)


@pytest.mark.parametrize(
    ("value", "loss", "moves"),
    [
        (1.0, 4.0, True),  # where it was
        (1.5, 1.9**2, False),  # closer by more than the clip: no more of it
        (0.5, 2.5**2, True),  # away from the target: back
    ],
)
def test_clipped_value_loss_by_hand(value: float, loss: float, moves: bool) -> None:
    """V was 1, the return is 3, and a step may change V by 0.1."""
    now = torch.tensor([value], requires_grad=True)
    old, target = torch.ones(1), torch.full((1,), 3.0)
    found, diagnostics = ppo.clipped_value_loss(now, old, target, clip_coef=0.1)
    assert found.item() == pytest.approx(loss)
    assert diagnostics["value_loss"] == found
    found.backward()
    assert now.grad is not None
    assert bool(now.grad.abs() > 0) == moves


@pytest.mark.parametrize("loss", [ppo.squared_value_loss, ppo.clipped_value_loss])
def test_all_of_the_error_has_a_gradient_before_the_first_step(loss: Any) -> None:
    learner = shared(value_loss=loss)
    diagnostics = ppo.update(learner, Collector(learner.policy, envs(4), 0).rollout(16))
    assert diagnostics["first_value_grad_share"].item() == pytest.approx(1)


def test_a2c_is_one_step_along_its_own_gradient() -> None:
    """∇ log π times the n-step return minus V, the squared error of V, the entropy."""
    torch.manual_seed(0)
    config = ppo.a2c_config(gamma=0.5, hidden=(16,), max_grad_norm=1e9, vf_coef=0.25)
    world = Countdown()
    policy = ppo.new_policy(world.observation_space, world.action_space, config)
    learner = Agent(policy, config)
    rollout = Collector(policy, envs(last=3), 0).rollout(config.num_steps)
    with torch.no_grad():
        returns = learner.value_of(rollout.next_obs[-1]) * (1 - rollout.terminated[-1])
    targets = []
    for step in reversed(range(5)):
        returns = returns * (1 - rollout.done[step]) if step < 4 else returns
        returns = rollout.reward[step] + 0.5 * returns
        targets.append(returns)
    target = torch.stack(targets[::-1]).flatten()
    outputs, value = learner.outputs_and_value(rollout.obs.flatten(0, 1))
    dist = ppo.output_distribution(policy, outputs)
    log_prob = dist.log_prob(rollout.action.flatten())
    loss = -(log_prob * (target - value).detach()).mean()
    loss = loss + 0.25 * (value - target).square().mean()
    loss = loss - 0.01 * dist.entropy().mean()
    expected = torch.autograd.grad(loss, list(policy.net.parameters()))
    ppo.update(learner, rollout)
    for parameter, gradient in zip(policy.net.parameters(), expected, strict=True):
        assert parameter.grad is not None
        assert torch.allclose(parameter.grad, gradient, atol=1e-6)


@pytest.mark.parametrize("config", [ppo.a2c_config, Config])
def test_both_learn_what_pays_with_a_shared_network(config: Any) -> None:
    torch.manual_seed(0)
    settings = config(hidden=(16,), learning_rate=1e-2, share_network=True)
    world = Countdown()
    policy = ppo.new_policy(world.observation_space, world.action_space, settings)
    learner = Agent(policy, settings)
    for _ in ppo.train(learner, envs(4), 2_000, 0):
        pass
    assert (policy.act(np.array([[0.0], [3.0]], np.float32)) == 1).all()


def test_it_is_told_how_long_the_longest_episode_is() -> None:
    stream = ppo.train(agent(num_steps=4), envs(last=6), 32, 0)
    lengths = [diagnostics["longest_episode"].item() for _, diagnostics in stream]
    assert lengths == [4, 6, 6, 4]


def test_a_deterministic_policy_is_refused() -> None:
    world = Countdown(continuous=True)
    spaces = world.observation_space, world.action_space
    with pytest.raises(UserError, match="PPO.*head='gaussian'"):
        Agent(Policy.for_spaces(*spaces, (8,), "tanh"), Config())
