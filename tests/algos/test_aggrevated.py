"""AggreVaTeD: a problem solved by dynamic programming, the mixture, gradients that
agree, and the algorithms that it contains."""

from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.vector import VectorEnv
from torch import Tensor, nn

from rlnotes.algos import aggrevated, ppo, sac
from rlnotes.algos.aggrevated import Agent, Collector, Config, Rows
from rlnotes.algos.experts import (
    Expert,
    ValueExpert,
    agreement_expert,
    critic_expert,
    q_network_expert,
)
from rlnotes.algos.networks import TwinQ
from rlnotes.algos.policy import Policy
from rlnotes.autopsies.executed_actions import executed_actions
from rlnotes.envs.vector import make_vec_env
from rlnotes.errors import UserError

SIDES = gym.spaces.Box(-1, 1, (2,), np.float32)
PUSH = gym.spaces.Box(-2, 4, (1,), np.float32)
WHOLE = 1_000_000  # a batch


class Sides(gym.Env[np.ndarray, Any]):
    """Shows −1 or 1 and a clock. The right action is 0 or 1; or a push to −1 or 3,
    every other one costs its squared distance."""

    observation_space = SIDES
    action_space: gym.spaces.Space

    def __init__(self, continuous: bool = False, last: int = 4) -> None:
        self.action_space = PUSH if continuous else gym.spaces.Discrete(2)
        self._last = last

    def _seen(self) -> np.ndarray:
        self._side = self.np_random.choice([-1.0, 1.0])
        return np.array([self._side, self._steps / 100], np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self._steps = 0
        return self._seen(), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        seen = torch.tensor([[self._side, 0.0]])
        reward = float(right(seen, torch.as_tensor(np.array([action]))))
        self._steps += 1
        return self._seen(), reward, self._steps == self._last, False, {}


def right(obs: Tensor, action: Tensor) -> Tensor:
    """What the step pays. The next state does not depend on it, so this is Q* but for a
    constant."""
    if action.dim() == 1:
        return (action == (obs[:, 0] > 0)).float()
    return -(action[:, 0] - 1 - 2 * obs[:, 0]).square()


def knows(obs: np.ndarray) -> np.ndarray:
    return (obs[:, 0] > 0).astype(np.int64)


def pushes(obs: np.ndarray) -> np.ndarray:
    return 1 + 2 * obs[:, :1]


def envs(continuous: bool = False, last: int = 4, count: int = 4) -> VectorEnv:
    return make_vec_env(lambda: Sides(continuous, last), count)


def expert(continuous: bool = False) -> Expert:
    return Expert(pushes if continuous else knows, right)


def agent(continuous: bool = False, **settings: Any) -> Agent:
    torch.manual_seed(0)
    config = Config(**{"hidden": (16,), "batch_size": WHOLE, **settings})
    space: gym.spaces.Space = PUSH if continuous else gym.spaces.Discrete(2)
    return Agent(aggrevated.new_policy(SIDES, space, config), config)


def shaken(learner: Agent) -> Agent:
    """A learner that is no longer close to chance."""
    with torch.no_grad():
        for parameter in learner.policy.net.parameters():
            parameter.add_(0.5 * torch.randn_like(parameter))
    return learner


def roll_in(learner: Agent, beta: float, **world: Any) -> aggrevated.RollIn:
    continuous = learner.policy.head == "gaussian"
    worlds = envs(continuous, **world)
    return Collector(learner, expert(continuous), worlds, 0).roll_in(beta)


def gradient(learner: Agent, teacher: Expert | ValueExpert, rows: Rows) -> Tensor:
    """Of what is maximised."""
    loss_of = aggrevated.LOSSES[learner.config.gradient]
    outputs = learner.policy.net(learner.policy.encode_obs(rows.obs))
    loss, _ = loss_of(learner, teacher, outputs, rows)
    return -aggrevated.flat_gradient(loss, learner.policy.net)


def states(count: int) -> Rows:
    """Of which nothing but what is seen is known."""
    obs = torch.stack([torch.randn(count).sign(), torch.rand(count)], dim=-1)
    unknown = torch.full((count,), torch.nan)
    return Rows(obs, unknown, unknown, unknown, unknown)


# --- the expert, against a problem that can be solved

GAMMA = 0.9
COUNT, CHOICES = 4, 3


def table(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rewards (state, action), and chances (state, action, next state)."""
    rng = np.random.default_rng(seed)
    chances = rng.dirichlet(np.ones(COUNT), (COUNT, CHOICES))
    return rng.normal(size=(COUNT, CHOICES)), chances


def solved(
    reward: np.ndarray, chances: np.ndarray, policy: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Q and V of a policy (state, action), from Bellman's linear equations."""
    step = np.einsum("sa,sat->st", policy, chances)
    paid = (policy * reward).sum(-1)
    value = np.linalg.solve(np.eye(COUNT) - GAMMA * step, paid)
    return reward + GAMMA * chances @ value, value


def best_policy(reward: np.ndarray, chances: np.ndarray) -> np.ndarray:
    q = np.zeros((COUNT, CHOICES))
    for _ in range(500):
        q = reward + GAMMA * chances @ q.max(-1)
    return np.eye(CHOICES)[q.argmax(-1)]


def tabular_policy(numbers: np.ndarray) -> Policy:
    """One that puts out these numbers, for one-hot observations."""
    seen = gym.spaces.Box(0, 1, (COUNT,), np.float32)
    policy = Policy.for_spaces(seen, gym.spaces.Discrete(CHOICES), ())
    layer = policy.net[0]
    assert isinstance(layer, nn.Linear)
    with torch.no_grad():
        layer.weight.copy_(torch.as_tensor(numbers.T))
        layer.bias.zero_()
    return policy


@pytest.mark.parametrize("optimal", [True, False])
def test_the_advantage_is_that_of_dynamic_programming(optimal: bool) -> None:
    reward, chances = table()
    player = np.eye(CHOICES)[[0, 1, 2, 0]]
    if optimal:
        player = best_policy(reward, chances)
    q, value = solved(reward, chances, player)
    chosen = player.argmax(-1)
    teacher = q_network_expert(
        tabular_policy(q), None if optimal else lambda obs: chosen[obs.argmax(-1)]
    )
    obs = torch.eye(COUNT)
    for number in range(CHOICES):
        action = torch.full((COUNT,), number)
        found = teacher.advantage(obs, action).detach()
        assert found.numpy() == pytest.approx(q[:, number] - value, abs=1e-5)
        assert not optimal or (found <= 1e-6).all()
    assert teacher.value(obs).detach().numpy() == pytest.approx(value, abs=1e-5)


def test_what_is_maximised_is_the_return_but_for_the_experts() -> None:
    """J(π) − J(π*) = E[A*] over the states where π goes, its discounted occupancy."""
    reward, chances = table()
    q, best = solved(reward, chances, best_policy(reward, chances))
    logits = np.random.default_rng(1).normal(size=(COUNT, CHOICES))
    learner = Agent(tabular_policy(logits), Config(gradient="exact"))
    probs = torch.softmax(torch.as_tensor(logits), -1).numpy()
    _, value = solved(reward, chances, probs)
    step = np.einsum("sa,sat->st", probs, chances)
    visits = np.linalg.solve(np.eye(COUNT) - GAMMA * step.T, np.ones(COUNT) / COUNT)
    teacher, total = q_network_expert(tabular_policy(q)), 0.0
    for state, often in zip(torch.eye(COUNT), visits, strict=True):
        rows = Rows(state[None], *[torch.zeros(1)] * 4)
        outputs = learner.policy.net(rows.obs)
        loss, _ = aggrevated.exact_loss(learner, teacher, outputs, rows)
        total -= often * loss.item()
    assert total == pytest.approx((value - best).mean(), abs=1e-5)


def test_critics_are_asked_in_the_worlds_units() -> None:
    """Those of a world with pushes from −2 to 4: 1 is 0 inside, 4 is 1."""
    torch.manual_seed(0)
    policy = Policy.for_spaces(SIDES, PUSH, (8,), "gaussian", obs_std=np.array([2, 5]))
    critic = TwinQ((2,), 1, (8,))
    teacher = critic_expert(policy, critic)
    obs, action = torch.randn(6, 2), torch.tensor([[1.0]] * 3 + [[4.0]] * 3)
    inside = torch.tensor([[0.0]] * 3 + [[1.0]] * 3)
    expected = torch.minimum(*critic(obs / torch.tensor([2.0, 5.0]), inside))
    assert torch.allclose(teacher.q(obs, action), expected)
    played = torch.as_tensor(policy.act(obs.numpy()))
    assert teacher.advantage(obs, played).abs().max() < 1e-6


# --- the mixture


def test_mixing_follows_its_schedule() -> None:
    linear = Config(initial_beta=0.8, mixing_fraction=0.5)
    shares = [aggrevated.beta(linear, 0, progress) for progress in (0, 0.25, 0.5, 1)]
    assert shares == pytest.approx([0.8, 0.4, 0, 0])
    falling = Config(initial_beta=0.8, beta_schedule="exponential", beta_decay=0.5)
    shares = [aggrevated.beta(falling, n, 0.9) for n in range(3)]
    assert shares == pytest.approx([0.8, 0.4, 0.2])
    harmonic = Config(initial_beta=0.8, beta_schedule="harmonic")
    shares = [aggrevated.beta(harmonic, n, 0.9) for n in range(4)]
    assert shares == pytest.approx([0.8, 0.4, 0.8 / 3, 0.2])
    with pytest.raises(UserError, match="initial_beta=0"):
        Config(mixing_fraction=0.0)


@pytest.mark.parametrize("continuous", [False, True])
@pytest.mark.parametrize("mixing", ["step", "episode"])
@pytest.mark.parametrize("beta", [0.0, 0.3, 1.0])
def test_the_expert_plays_its_share(continuous: bool, mixing: Any, beta: float) -> None:
    learner = agent(continuous, mixing=mixing, num_steps=100)
    played = roll_in(learner, beta, count=8)
    assert played.by_expert.shape == (100, 8)
    share = played.by_expert.float().mean().item()
    draws = 800 if mixing == "step" else 200
    assert share == pytest.approx(beta, abs=4 * (beta * (1 - beta) / draws) ** 0.5)
    obs = played.rollout.obs[played.by_expert]
    executed = aggrevated.as_played(learner.policy, played.executed)
    chosen = executed[played.by_expert].numpy()
    assert chosen == pytest.approx(expert(continuous).act(obs.numpy()), abs=1e-4)
    own = ~played.by_expert
    assert torch.equal(played.executed[own], played.rollout.action[own])
    paid = right(played.rollout.obs.flatten(0, 1), executed.flatten(0, 1))
    assert torch.allclose(played.rollout.reward.flatten(), paid, atol=1e-4)


def test_one_player_has_a_whole_episode() -> None:
    played = roll_in(agent(mixing="episode", num_steps=400), 0.5, last=5)
    episodes = played.by_expert.view(80, 5, 4)
    assert (episodes == episodes[:, :1]).all()
    assert 0 < episodes.float().mean() < 1


def test_the_learner_draws_in_every_state_and_the_ratio_knows() -> None:
    """Also where the expert played, the learner's draw and its log-probability."""
    learner = shaken(agent(num_steps=64))
    played = roll_in(learner, 0.5)
    rows = aggrevated.visited_rows(played)
    dist = ppo.distribution(learner.policy, rows.obs)
    assert torch.allclose(dist.log_prob(rows.action), rows.log_prob, atol=1e-5)
    expert_rows = played.by_expert.flatten()
    agree = (rows.action == rows.executed)[expert_rows].float().mean()
    assert 0 < agree < 1


# --- gradients


SAMPLED = {
    "with A*": {},
    "with Q*": {"baseline": "none"},
    "with another V": {"baseline": "mixture"},
    "standardised": {"weight_scale": aggrevated.standardised},
}


def mean_and_error(learner: Agent, teacher: Expert, rows: Rows) -> tuple[Tensor, ...]:
    """The gradient over all rows, and the standard error from a hundred parts."""
    parts = torch.arange(len(rows.obs)).chunk(100)
    found = torch.stack([gradient(learner, teacher, rows.take(part)) for part in parts])
    return found.mean(0), found.std(0) / 10


@pytest.mark.parametrize("settings", SAMPLED.values(), ids=SAMPLED)
def test_exact_and_sampled_gradients_agree_in_expectation(
    settings: dict[str, Any],
) -> None:
    """Whatever depends on the state alone cancels out."""
    exact, sampled = (
        shaken(agent(gradient=which, **(settings if which == "sampled" else {})))
        for which in ("exact", "sampled")
    )
    rows = states(40_000)
    wanted = gradient(exact, expert(), rows)
    found, error = mean_and_error(sampled, expert(), rows)
    if "weight_scale" in settings:  # a scale is left
        scale = found.norm() / wanted.norm()
        found, error = found / scale, error / scale
    assert wanted.norm() > 0.01
    assert ((found - wanted).abs() <= 5 * error + 1e-4).all()


def test_pathwise_and_sampled_gradients_agree_in_expectation() -> None:
    by_path, sampled = (
        agent(True, gradient=which, initial_std=0.5)
        for which in ("pathwise", "sampled")
    )
    rows = states(40_000)
    wanted, exactly = mean_and_error(by_path, expert(True), rows)
    found, error = mean_and_error(sampled, expert(True), rows)
    assert ((found - wanted).abs() <= 5 * (error + exactly) + 1e-4).all()
    assert error.norm() > 2 * exactly.norm()  # which is why one would want it


def test_executed_actions_give_another_gradient() -> None:
    """The control: with the expert's actions the two disagree."""
    settings: dict[str, Any] = {"baseline": "none", "num_steps": 2_000}
    exact = shaken(agent(gradient="exact", **settings))
    sampled = shaken(agent(actions=executed_actions, **settings))
    rows = aggrevated.visited_rows(roll_in(sampled, 1.0))
    wanted = gradient(exact, expert(), rows)
    found, error = mean_and_error(sampled, expert(), rows)
    assert ((found - wanted).abs() > 5 * error + 1e-4).any()


def test_the_density_of_what_is_played_by_integration() -> None:
    """From the chance of each small interval of pushes: it is that of the squashed
    Gaussian, and moves with the policy as the log-probability that is learnt from does,
    which leaves the tanh out."""
    policy = agent(continuous=True).policy
    edges = torch.linspace(-1, 1, 2_001, dtype=torch.float64)[200:-200]
    middles = torch.atanh((edges[1:] + edges[:-1]) / 2)[:, None]

    def integrated(outputs: Tensor) -> Tensor:
        mean, log_std = outputs
        below = torch.special.ndtr((torch.atanh(edges) - mean) / log_std.exp())
        return (below.diff() / edges.diff()).log()

    def learnt_from(outputs: Tensor) -> Tensor:
        return ppo.output_distribution(policy, outputs).log_prob(middles)

    outputs = torch.tensor([0.3, -0.5], dtype=torch.float64)
    noise = (middles - outputs[0]) / outputs[1].exp()
    _, squashed = sac.squash(outputs[:1], outputs[1:], noise)
    assert torch.allclose(integrated(outputs), squashed, atol=1e-3)
    slope_of = torch.autograd.functional.jacobian
    wanted, found = (slope_of(f, outputs) for f in (integrated, learnt_from))
    assert torch.allclose(found, wanted, atol=1e-3)


@pytest.mark.parametrize("head", ["argmax", "gaussian"])
def test_the_natural_gradient_against_an_explicit_fisher_matrix(head: str) -> None:
    """F = E[∇log π ∇log πᵀ], over states and all actions, or many draws."""
    learner = shaken(agent(head == "gaussian", hidden=(3,), cg_max_steps=200))
    policy, damping = learner.policy, 0.1
    obs = torch.randn(5, 2)
    size = len(nn.utils.parameters_to_vector(policy.net.parameters()))

    def score(outputs: Tensor, action: Tensor) -> Tensor:
        chance = ppo.output_distribution(policy, outputs).log_prob(action)
        return aggrevated.flat_gradient(chance, policy.net)

    fisher = torch.zeros(size, size)
    for state in obs:
        if head == "argmax":
            probs = torch.softmax(policy.net(state), -1).detach()
            for number, chance in enumerate(probs):
                one = score(policy.net(state), torch.tensor(number))
                fisher += chance * torch.outer(one, one) / len(obs)
            continue
        # Of a Gaussian: E over nodes of quadrature, exact for these polynomials.
        nodes, chances = np.polynomial.hermite_e.hermegauss(5)
        mean, log_std = policy.mean_and_log_std(policy.net(state).detach())
        for node, chance in zip(nodes, chances / chances.sum(), strict=True):
            one = score(policy.net(state), mean + log_std.exp() * float(node))
            fisher += float(chance) * torch.outer(one, one) / len(obs)

    times = aggrevated.fisher_product(policy, obs, damping)
    damped = fisher + damping * torch.eye(size)
    vector = torch.randn(size)
    assert torch.allclose(times(vector), damped @ vector, rtol=1e-3, atol=1e-4)
    solution = aggrevated.conjugate_gradient(times, vector, 200)
    wanted = torch.linalg.solve(damped, vector)
    assert torch.allclose(solution, wanted, rtol=1e-2, atol=1e-2)


def test_a_natural_step_goes_as_far_as_it_is_told() -> None:
    learner = shaken(agent(optimiser="natural", cg_damping=1e-4, gradient="exact"))
    policy, rows = learner.policy, states(500)
    old = ppo.distribution(policy, rows.obs)
    old = torch.distributions.Categorical(logits=old.logits.detach())  # type: ignore[attr-defined]
    outputs = policy.net(rows.obs)
    loss, _ = aggrevated.exact_loss(learner, expert(), outputs, rows)
    aggrevated.natural_step(learner, rows.obs, loss, target_kl=1e-3)
    moved = torch.distributions.kl_divergence(old, ppo.distribution(policy, rows.obs))
    assert moved.mean().item() == pytest.approx(1e-3, rel=0.15)
    better, _ = aggrevated.exact_loss(learner, expert(), policy.net(rows.obs), rows)
    assert better < loss


# --- one step of the world, where only V* is known


def test_one_step_by_hand() -> None:
    """V is the clock; two steps, the second of which ends the task or the time."""
    teacher = ValueExpert(knows, lambda obs: 100 * obs[:, 1])
    for last, end in ((2, 0.0), (100, 2.0)):
        learner = agent(gradient="one_step", gamma=0.5, num_steps=2)
        make = partial(gym.wrappers.TimeLimit, Sides(last=last), 2)
        one = make_vec_env(make, 1)
        played = Collector(learner, teacher, one, 0).roll_in(0.0)
        rows = aggrevated.one_step_rows(learner, teacher, played)
        first, second = played.rollout.reward[:, 0].tolist()
        wanted = [first + 0.5 * 1 - 0, second + 0.5 * end - 1]
        assert rows.weight.tolist() == pytest.approx(wanted, abs=1e-5)
        assert torch.equal(rows.action, played.executed.flatten())


def test_one_step_learns_from_the_learners_own_steps_only() -> None:
    learner = agent(gradient="one_step", num_steps=64)
    teacher = ValueExpert(knows, lambda obs: obs[:, 1])
    played = roll_in(learner, 0.5)
    rows = aggrevated.one_step_rows(learner, teacher, played)
    own = ~played.by_expert.flatten()
    assert torch.equal(rows.obs, played.rollout.obs.flatten(0, 1)[own])
    assert 0 < len(rows.obs) < len(own)
    before = [parameter.clone() for parameter in learner.policy.parameters()]
    aggrevated.update(learner, teacher, roll_in(learner, 1.0))  # nothing to learn from
    pairs = zip(before, learner.policy.parameters(), strict=True)
    assert all(torch.equal(old, new) for old, new in pairs)


# --- the limits


def test_dagger_is_the_limit_of_an_expert_who_wants_agreement() -> None:
    """The expected number of disagreements with the expert, and its gradient."""
    learner, rows = shaken(agent(gradient="exact")), states(200)
    found = gradient(learner, agreement_expert(knows), rows)
    probs = torch.softmax(learner.policy.net(rows.obs), -1)
    labels = torch.as_tensor(knows(rows.obs.numpy()))
    agreement = probs.gather(1, labels[:, None]).mean()
    wanted = aggrevated.flat_gradient(agreement, learner.policy.net)
    assert torch.allclose(found, wanted, atol=1e-6)


def test_with_continuous_actions_it_is_the_limit_of_regression() -> None:
    """Of an expert's pushes, by a policy of hardly any spread."""
    learner = shaken(agent(True, gradient="pathwise", hidden=()))
    learner.policy.log_std_bounds = (-20.0, -20.0)
    rows = states(200)
    found = gradient(learner, agreement_expert(pushes), rows)
    action = learner.policy.decode_action(learner.policy(rows.obs))
    wanted = torch.as_tensor(pushes(rows.obs.numpy()))
    error = -(action - wanted).square().sum(-1).mean()
    slope = aggrevated.flat_gradient(error, learner.policy.net)
    assert torch.allclose(found, slope, atol=1e-4)


@pytest.mark.parametrize("continuous", [False, True])
def test_policy_gradient_is_the_limit_of_trusting_only_the_own_rewards(
    continuous: bool,
) -> None:
    """With λ = 1, V* = 0 and no mixing: REINFORCE, whatever the expert is."""
    settings = {"gradient": "one_step", "gae_lambda": 1.0, "gamma": 0.5}
    learner = agent(continuous, num_steps=8, **settings)
    nobody = ValueExpert(pushes if continuous else knows, lambda obs: 0 * obs[:, 0])
    played = roll_in(learner, 0.0)
    rows = aggrevated.one_step_rows(learner, nobody, played)
    rollout, to_go = played.rollout, torch.zeros(9, 4)
    for step in reversed(range(8)):
        future = 0.5 * (1 - rollout.done[step]) * to_go[step + 1]
        to_go[step] = rollout.reward[step] + future
    dist = ppo.distribution(learner.policy, rollout.obs.flatten(0, 1))
    chance = dist.log_prob(rollout.action.flatten(0, 1))
    wanted = (chance * to_go[:-1].flatten()).mean()
    slope = aggrevated.flat_gradient(wanted, learner.policy.net)
    assert torch.allclose(gradient(learner, nobody, rows), slope, atol=1e-4)


# --- updates


def test_aggregation_keeps_all_states() -> None:
    learner = agent(gradient="exact", aggregate=True, num_steps=8)
    worlds = envs()
    for number, _ in enumerate(aggrevated.train(learner, expert(), worlds, 96, 0)):
        assert learner.states.shape == ((number + 1) * 32, 2)
    with pytest.raises(UserError, match="fresh_actions"):
        Config(aggregate=True, actions=aggrevated.rollout_actions)
    with pytest.raises(UserError, match="one_step"):
        Config(aggregate=True, gradient="one_step")


def test_draws_of_the_rollout_grow_stale_and_fresh_ones_do_not() -> None:
    for actions, stale in (
        (aggrevated.fresh_actions, False),
        (aggrevated.rollout_actions, True),
    ):
        learner = agent(actions=actions, update_epochs=5, learning_rate=1e-2)
        told = aggrevated.update(learner, expert(), roll_in(learner, 0.5))
        assert told["first_ratio_deviation"] < 1e-5
        assert (told["ratio_deviation"] > 0.01) == stale


def test_annealing_ends_at_zero() -> None:
    learner = agent(num_steps=4, anneal_lr=True, learning_rate=1e-3)
    rates = [
        learner.optimiser.param_groups[0]["lr"]
        for _ in aggrevated.train(learner, expert(), envs(), 64, 0)
    ]
    assert rates == pytest.approx([1e-3, 0.75e-3, 0.5e-3, 0.25e-3])


@pytest.mark.parametrize("continuous", [False, True])
def test_an_entropy_bonus_holds_the_spread(continuous: bool) -> None:
    """And where nothing else is at stake it is all that counts."""
    indifferent = Expert(expert(continuous).act, lambda obs, action: 0 * obs[:, 0])
    spreads = []
    for ent_coef in (0.0, 0.1):
        learner = shaken(agent(continuous, ent_coef=ent_coef, learning_rate=1e-2))
        played = roll_in(learner, 0.5)
        told = [aggrevated.update(learner, indifferent, played) for _ in range(20)]
        spreads.append([float(one["entropy"]) for one in told])
    (first, *_, same), (_, *_, more) = spreads
    assert same == pytest.approx(first, abs=1e-5)
    assert more > first + 0.05


def test_deviations_stay_within_their_bounds_and_it_is_told() -> None:
    learner = agent(True, log_std_bounds=(2.0, 2.0))
    told = aggrevated.update(learner, expert(True), roll_in(learner, 0.5))
    assert told["log_std"] == 2
    assert (told["bounded_std_fraction"], told["log_std_grad_norm"]) == (1, 0)


@pytest.mark.parametrize("gradient", ["exact", "pathwise"])
def test_a_gradient_that_the_actions_do_not_have_is_refused(gradient: Any) -> None:
    with pytest.raises(UserError, match=f"AggreVaTeD with gradient='{gradient}'"):
        agent(continuous=gradient == "exact", gradient=gradient)


# --- learning

WAYS: dict[str, tuple[bool, dict[str, Any]]] = {
    "exact": (False, {"gradient": "exact"}),
    "sampled": (False, {}),
    "sampled, natural": (False, {"optimiser": "natural", "target_kl": 0.03}),
    "sampled, clipped": (
        False,
        {"actions": aggrevated.rollout_actions, "clip_coef": 0.2},
    ),
    "aggregated": (False, {"gradient": "exact", "aggregate": True}),
    "one step": (False, {"gradient": "one_step", "initial_beta": 0.5}),
    "by episodes": (False, {"mixing": "episode"}),
    "sampled pushes": (True, {"weight_scale": aggrevated.standardised}),
    "pathwise": (True, {"gradient": "pathwise"}),
}


@pytest.mark.parametrize(("continuous", "settings"), WAYS.values(), ids=WAYS)
def test_it_learns_what_the_expert_knows(
    continuous: bool, settings: dict[str, Any]
) -> None:
    usual = {"num_steps": 32, "update_epochs": 8, "learning_rate": 1e-2}
    learner = agent(continuous, **usual | settings)
    worlds, teacher = envs(continuous), expert(continuous)
    steps = [step for step, _ in aggrevated.train(learner, teacher, worlds, 1_900, 0)]
    assert steps == list(range(128, 1_921, 128))
    obs = np.array([[-1, 0.01], [1, 0.01]], np.float32)
    wanted = teacher.act(obs)
    assert learner.policy.act(obs) == pytest.approx(wanted, abs=0.5)
