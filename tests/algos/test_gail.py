"""GAIL: rewards by hand, a discriminator that tells apart what differs, and a learner
that copies."""

import math
import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.vector import VectorEnv
from gymnasium.wrappers.utils import RunningMeanStd
from torch import nn

from rlnotes.algos import gail, ppo
from rlnotes.algos.gail import Agent, Config
from rlnotes.algos.networks import Eye
from rlnotes.algos.policy import Policy
from rlnotes.data.rollouts import Episode, rollout
from rlnotes.envs.vector import make_vec_env
from rlnotes.errors import UserError


class Walk(gym.Env[np.ndarray, Any]):
    """Left or right on a line, `length` steps long; the task rewards nothing."""

    observation_space = gym.spaces.Box(-20, 20, (1,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def __init__(self, length: int, ends: bool) -> None:
        self._length, self._ends = length, ends

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self._place, self._steps = 0, 0
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self._place += 2 * int(action) - 1
        self._steps += 1
        done = self._steps == self._length
        obs = np.full(1, self._place, np.float32)
        return obs, 0.0, done and self._ends, done and not self._ends, {}


def envs(ends: bool = False) -> VectorEnv:
    return make_vec_env(lambda: Walk(8, ends), 4)


def generator(**settings: Any) -> ppo.Config:
    common: dict[str, Any] = {
        "num_steps": 16,
        "batch_size": 64,
        "learning_rate": 3e-3,
        "hidden": (16,),
    }
    gamma = settings.pop("gamma", 0.5)
    return ppo.Config(**common, gamma=gamma, reward_scale=1 - gamma, **settings)


def agent(**config: Any) -> Agent:
    torch.manual_seed(0)
    small = {"disc_hidden": (16,), "disc_learning_rate": 3e-3, "generator": generator()}
    settings = Config(**{**small, **config})
    spaces = Walk.observation_space, Walk.action_space
    return Agent(ppo.new_policy(*spaces, settings.generator), settings)


def episode(places: list[int], actions: list[int], terminated: bool) -> Episode:
    observations = np.array(places, np.float32)[:, None]
    rewards = np.zeros(len(actions))
    ends = {"terminated": terminated, "truncated": not terminated}
    return Episode(0, observations, np.array(actions), rewards, **ends)


TO_THE_LEFT = [episode([-step for step in range(9)], [0] * 8, terminated=False)]


# --- rewards and losses by hand


@pytest.mark.parametrize("certainty", [0.1, 0.5, 0.9])
def test_the_three_rewards(certainty: float) -> None:
    logit = torch.tensor(math.log(certainty / (1 - certainty)))
    log_d, log_not_d = math.log(certainty), math.log(1 - certainty)
    expected = {"gail": -log_not_d, "log_d": log_d, "airl": log_d - log_not_d}
    rewards = {name: reward(logit).item() for name, reward in gail.REWARDS.items()}
    assert rewards == pytest.approx(expected, abs=1e-6)


def test_the_loss_of_a_discriminator_that_knows_nothing() -> None:
    learner = agent(gradient_penalty=0.0)
    with torch.no_grad():
        for parameter in learner.discriminator.parameters():
            parameter.zero_()
    loss, _ = gail.discriminator_loss(learner, torch.ones(5, 4), torch.zeros(5, 4))
    assert loss.item() == pytest.approx(2 * math.log(2))


def test_the_gradient_penalty_of_a_slope_that_is_known() -> None:
    """A linear discriminator has one slope everywhere: here of length 3, so that the
    penalty is (3 − 1)²."""
    discriminator = agent().discriminator
    discriminator.net = nn.Sequential(linear := nn.Linear(4, 1))
    discriminator.inputs.var.fill_((1 - 1e-3) ** 2)
    with torch.no_grad():
        linear.weight.copy_(torch.tensor([[3.0, 0.0, 0.0, 0.0]]))
    sides = torch.ones(5, 4), torch.zeros(5, 4)
    penalty = gail.gradient_penalty(discriminator, *sides, torch.rand(5, 1))
    assert penalty.item() == pytest.approx(4.0)


def test_its_inputs_are_standardised_by_all_that_was_shown() -> None:
    """To the last bit as Gymnasium counts; and its state is saved with its weights."""
    discriminator, theirs = agent().discriminator, RunningMeanStd(shape=(4,))
    for size in (7, 300):
        rows = 5 + 3 * torch.randn(size, 4)
        discriminator.inputs.update(rows)
        theirs.update(rows.numpy())
    assert (discriminator.inputs.mean.numpy() == theirs.mean).all()
    assert (discriminator.inputs.var.numpy() == theirs.var).all()
    assert discriminator.inputs.count.item() == theirs.count
    assert {"inputs.mean", "inputs.var", "inputs.count"} < {*discriminator.state_dict()}


def test_a_feature_that_never_varies_changes_nothing() -> None:
    """Neither the logits nor the penalty: divided by its deviation of almost nothing,
    it would have a slope of a thousand."""
    narrow, wide = (gail.Discriminator(width, agent().config) for width in (3, 4))
    with torch.no_grad():
        weights = wide.net.state_dict()
        for name, weight in narrow.net.state_dict().items():
            weights[name] = weight.clone()
        extra = torch.full((16, 1), 0.7)
        weights["0.weight"] = torch.cat([narrow.net.state_dict()["0.weight"], extra], 1)
        wide.net.load_state_dict(weights)
    expert, policy = torch.randn(64, 3), torch.randn(64, 3) + 1
    constant = torch.full((64, 1), 0.5)
    sides = torch.cat([expert, constant], 1), torch.cat([policy, constant], 1)
    narrow.inputs.update(torch.cat([expert, policy]))
    wide.inputs.update(torch.cat(sides))
    share = torch.rand(64, 1)
    penalties = [
        gail.gradient_penalty(narrow, expert, policy, share).item(),
        gail.gradient_penalty(wide, *sides, share).item(),
    ]
    assert penalties[0] == pytest.approx(penalties[1], rel=1e-4)
    assert torch.allclose(narrow(expert), wide(sides[0]), atol=1e-5)


@pytest.mark.parametrize("spectral_norm", [False, True])
def test_it_tells_apart_what_differs_and_not_what_is_the_same(
    spectral_norm: bool,
) -> None:
    slope = {"spectral_norm": True, "gradient_penalty": 0.0} if spectral_norm else {}
    left, right = (
        gail.DiscriminatorSamples(torch.randn(500, 4) + shift, torch.ones(500))
        for shift in (-2, 2)
    )
    learner = agent(disc_epochs=200, **slope)
    assert gail.update_discriminator(learner, left, right)["disc_accuracy"] > 0.95
    same = agent(disc_epochs=5, **slope)
    assert gail.update_discriminator(same, left, left)["disc_accuracy"] < 0.7


# --- what an end is


def test_an_end_is_shown_as_an_absorbing_state_that_counts_for_ever() -> None:
    """With γ = 0.5 a state that lasts counts as much as two steps. A limit of time is
    not an end."""
    ended = episode([0, 1, 2], [1, 1], terminated=True)
    cut_off = episode([0, -1], [0], terminated=False)
    shown = gail.expert_samples(agent(), [ended, cut_off])
    # place, one-hot action, flag
    going_on = [[0, 0, 1, 0], [1, 0, 1, 0], [0, 1, 0, 0]]
    assert shown.features.tolist() == [*going_on, [2, 0, 0, 1]]
    assert shown.weight.tolist() == [1, 1, 1, 2]
    one_for_all = gail.expert_samples(agent(terminal="absorbing"), [ended])
    assert one_for_all.features[-1].tolist() == [0, 0, 0, 1]
    assert len(gail.expert_samples(agent(terminal="zero"), [ended]).features) == 2


def test_rows_are_drawn_as_often_as_they_count() -> None:
    rows, weight = torch.tensor([[0.0], [1.0]]), torch.tensor([1.0, 3.0])
    drawn = gail.DiscriminatorSamples(rows, weight).draw(20_000)
    assert drawn.mean().item() == pytest.approx(0.75, abs=0.02)


@pytest.mark.parametrize(("scale", "times"), [(0.5, 1), (1.0, 2)])
def test_an_end_is_worth_what_its_absorbing_state_earns_for_ever(
    scale: float, times: int
) -> None:
    """γ is 1/2: for ever is twice as much as one step."""
    settings = ppo.Config(gamma=0.5, reward_scale=scale)
    nothing, somewhere = (
        agent(terminal=terminal, generator=settings)
        for terminal in ("zero", "absorbing_per_state")
    )
    played = ppo.Collector(agent().policy, envs(ends=True), 0).rollout(8)
    last = played.terminated.bool()
    assert (gail.relabel_rewards(nothing, played)[1] == 0).all()
    terminal_value = gail.relabel_rewards(somewhere, played)[1][last]
    with torch.no_grad():
        state = gail.terminal_features(somewhere, played.next_obs[last])
        assert torch.equal(terminal_value, times * somewhere.discriminator(state))


def test_where_values_are_means_an_end_is_worth_exactly_its_reward() -> None:
    settings = ppo.Config(gamma=0.99, reward_scale=0.01)
    assert Config(generator=settings).absorbing_scale == 1.0


def test_what_lasts_for_ever_needs_a_gamma_below_1() -> None:
    endless = ppo.Config(gamma=1.0)
    for terminal in ("absorbing", "absorbing_per_state"):
        with pytest.raises(UserError, match="gamma below 1, or terminal='zero'"):
            Config(terminal=terminal, generator=endless)
    learner = agent(terminal="zero", generator=generator(gamma=1.0))
    assert gail.expert_samples(learner, TO_THE_LEFT).weight.isfinite().all()


def test_steps_can_be_weighed_as_in_the_occupancy_measure() -> None:
    """γ is 1/2. An end after T steps stands for γ^T + γ^(T+1) + …, and all together
    weigh as much as one endless episode each."""
    learner = agent(discounted=True)
    shown = gail.expert_samples(learner, WAITING)
    assert shown.weight.tolist() == [1, 1 / 2, 1 / 4, 1 / 8, 2 / 16]
    played = ppo.Collector(learner.policy, envs(ends=True), 0).rollout(8)
    weight = gail.policy_samples(learner, played).weight
    assert weight[:-4].view(8, 4)[:, 0].tolist() == [1 / 2**t for t in range(8)]
    assert weight.sum().item() == 4 * 2
    as_usual = gail.policy_samples(agent(), played).weight
    assert as_usual.tolist() == [1] * 32 + [2] * 4


@pytest.mark.parametrize(
    ("settings", "updates"),
    [
        ({"disc_updates": 3, "disc_batch_size": 4}, 3),
        ({"disc_epochs": 3, "disc_batch_size": 4}, 3),  # on four rows
        ({"disc_epochs": 3, "disc_batch_size": 256}, 1),  # a short rollout teaches, too
        ({"disc_epochs": 0}, 0),
    ],
)
def test_how_many_updates_the_discriminator_takes(
    settings: dict[str, Any], updates: int
) -> None:
    learner = agent(**settings)
    rows = gail.expert_samples(learner, TO_THE_LEFT)
    four = gail.DiscriminatorSamples(rows.features[:4], rows.weight[:4])
    gail.update_discriminator(learner, rows, four)
    (parameter, *_) = learner.discriminator.parameters()
    assert learner.optimiser.state[parameter].get("step", 0) == updates


def test_an_early_end_that_is_worth_nothing_is_warned_about_once_unless_meant() -> None:
    def train(terminal: Any, steps: int = 100, warn: bool = True) -> None:
        learner, worlds = agent(terminal=terminal), envs(ends=True)
        list(gail.train(learner, worlds, TO_THE_LEFT, steps, seed=0, warn=warn))

    with pytest.warns(UserWarning, match="Who pays for the end") as caught:
        train("zero", steps=200)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        train("zero", warn=False)
        train("absorbing")


# --- agents


def test_an_agent_leaves_the_policy_as_it_is_given() -> None:
    """Else a DQN that learns from the discriminator's rewards would be rescaled."""
    policy = Policy.for_spaces(Walk.observation_space, Walk.action_space, (16,))
    before = [parameter.clone() for parameter in policy.parameters()]
    Agent(policy, Config())
    pairs = zip(before, policy.parameters(), strict=True)
    assert all(torch.equal(old, new) for old, new in pairs)


def test_what_it_cannot_train_is_refused() -> None:
    push = gym.spaces.Box(-1, 1, (1,), np.float32)
    with pytest.raises(UserError, match="head='gaussian'"):
        Agent(Policy.for_spaces(Walk.observation_space, push, (16,), "tanh"), Config())
    pictures = gym.spaces.Box(0, 255, (1, 84, 84), np.uint8)
    seeing = Policy.for_spaces(pictures, push, (16,), "gaussian", eye=Eye())
    with pytest.raises(UserError, match="observations are vectors"):
        Agent(seeing, Config())


# --- learning


@pytest.mark.slow(seconds=2)
@pytest.mark.parametrize("reward", list(gail.REWARDS))
def test_where_no_episode_ends_early_every_reward_teaches_to_copy(reward: str) -> None:
    learner = agent(reward=gail.REWARDS[reward])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in gail.train(learner, envs(), TO_THE_LEFT, steps=4_000, seed=0):
            pass
    assert (learner.policy.act(TO_THE_LEFT[0].observations) == 0).all()


class Door(Walk):
    """The second action leaves at once; the demonstrations wait for three steps
    first."""

    def __init__(self) -> None:
        super().__init__(length=30, ends=False)

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        obs, reward, _, truncated, info = super().step(0)
        return obs, reward, bool(action), truncated, info


WAITING = [episode([0, -1, -2, -3, -4], [0, 0, 0, 1], terminated=True)]


def steps_inside(**settings: Any) -> int:
    """How long a policy stays that was trained at the door."""
    common = {"gradient_penalty": 1.0, "disc_hidden": (16, 16)}
    learner = agent(**common, generator=generator(gamma=0.9), **settings)
    worlds = make_vec_env(Door, 8)
    for _ in gail.train(learner, worlds, WAITING, steps=16_000, seed=0, warn=False):
        pass
    (played,) = rollout(Door, learner.policy.act, [0])
    return len(played.rewards)


@pytest.mark.slow(seconds=6)
@pytest.mark.parametrize(
    ("reward", "terminal", "expected"),
    [
        ("airl", "absorbing_per_state", 4),
        ("gail", "zero", 30),
        ("log_d", "zero", 1),
    ],
)
def test_only_if_an_end_counts_does_it_leave_when_the_demonstrator_does(
    reward: str, terminal: Any, expected: int
) -> None:
    assert steps_inside(reward=gail.REWARDS[reward], terminal=terminal) == expected


@pytest.mark.slow(seconds=6)
def test_a_reward_for_leaving_does_not_move_who_mostly_clones() -> None:
    """`log_d` teaches to leave at once; the clone stays as long as was shown."""
    fault: dict[str, Any] = {"reward": gail.log_d_reward, "terminal": "zero"}
    assert steps_inside(**fault, bc_weight=100.0) == 4


@pytest.mark.slow(seconds=2)
def test_cloning_can_have_steps_of_its_own() -> None:
    """Here the reward is 0 for all, so that nothing else teaches to go left."""
    plain = generator(baseline=False, norm_adv=False, update_epochs=1)
    blind: dict[str, Any] = {"reward": torch.zeros_like, "bc_weight": 1.0}
    learnt = {}
    for updates in (0, 50):
        learner = agent(bc_updates=updates, generator=plain, **blind)
        for _ in gail.train(learner, envs(), TO_THE_LEFT, steps=256, seed=0):
            pass
        obs = learner.policy.encode_array(TO_THE_LEFT[0].observations[:-1])
        with torch.no_grad():
            learnt[updates] = learner.policy.net(obs).softmax(-1)[:, 0].min().item()
    assert learnt[0] < 0.6
    assert learnt[50] > 0.9


def test_bc_weighs_the_error_on_the_demonstrations() -> None:
    shown = [episode([0, -1, -2, -3, -4], [1, 1, 1, 1], terminated=True)]
    learner = agent(bc_weight=3.0)
    with torch.no_grad():
        for parameter in learner.policy.net.parameters():
            parameter.zero_()
    loss = gail.bc_extra_loss(learner, shown)()
    assert loss.item() == pytest.approx(3 * math.log(2), rel=1e-5)
    assert gail.bc_extra_loss(agent(bc_weight=0.0), shown)().item() == 0


def test_the_task_rewards_nothing_and_the_discriminator_everything() -> None:
    learner = agent(reward=gail.gail_reward)
    played = ppo.Collector(learner.policy, envs(), 0).rollout(8)
    assert (played.reward == 0).all()
    assert (gail.relabel_rewards(learner, played)[0].reward > 0).all()


# --- a world with the discriminator's rewards


@pytest.mark.parametrize(("scale", "times"), [(0.5, 1), (1.0, 2)])
def test_a_world_that_is_rewarded_by_the_discriminator(
    scale: float, times: int
) -> None:
    """Each step earns `scale` of what D says of it, and an end all that follows it: γ
    times what its state is worth for ever. γ is 1/2."""
    settings = ppo.Config(gamma=0.5, reward_scale=scale)
    learner = agent(disc_epochs=0, generator=settings)
    world = gail.DiscriminatorRewardEnv(Door(), learner, WAITING)
    obs, _ = world.reset(seed=0)
    for action in (0, 0, 1):
        before = torch.as_tensor(obs)
        obs, reward, terminated, _, _ = world.step(action)
        with torch.no_grad():
            row = gail.features(learner, before, torch.tensor(action))
            state = gail.terminal_features(learner, torch.as_tensor(obs))
            expected = scale * learner.discriminator(row)
            expected += terminated * 0.5 * times * learner.discriminator(state)
        assert reward == pytest.approx(expected.item(), abs=1e-6)
    assert terminated


def test_such_a_world_teaches_its_discriminator() -> None:
    learner = agent(disc_epochs=10)
    world = gail.DiscriminatorRewardEnv(Door(), learner, WAITING)
    before = [parameter.clone() for parameter in learner.discriminator.parameters()]
    world.reset(seed=0)
    for _ in range(learner.config.generator.num_steps):
        if world.step(1)[2]:
            world.reset()
    pairs = zip(before, learner.discriminator.parameters(), strict=True)
    assert any(not torch.equal(old, new) for old, new in pairs)
