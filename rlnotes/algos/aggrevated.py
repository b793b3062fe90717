"""AggreVaTeD: do what an expert says will pay, at the states that the learner comes to
(Sun et al., 2017).

    roll in:  a ~ β_n π* + (1 − β_n) π                                       `Collector`
    max_θ  J_n(θ) = E_{s ~ roll-in} E_{a ~ π_θ(·|s)} [ A*(s, a) ]
    A*(s, a) = Q*(s, a) − V*(s)                                       `Expert.advantage`

Q* is the return of an action after which the *expert* goes on. More is better: the
paper writes costs to go, and minimises. It can be asked for any action without playing
it, so the action inside the expectation is drawn afresh from the learner. It is *not*
the one that was executed, which may have been the expert's: that one says how the
expert plays, not what the learner's play is worth (`autopsies.executed_actions`).

    ∇J = E[ Σ_a ∇π(a|s) A*(s, a) ]        all actions of a discrete set     `exact_loss`
       = E[ ∇log π(a|s) A*(s, a) ]        one draw for each state         `sampled_loss`
       = E[ ∇_a Q*(s, a) ∇a ]             through a differentiable Q*    `pathwise_loss`

A function of the state alone changes none of them in expectation, so what is subtracted
from Q* (`Config.baseline`) is a matter of variance, as is a common scale. Where only V*
is known, the world has to play a step, and only the learner's own steps count:

    A*(s, a) ≈ r + γ V*(s') − V*(s)                                      `one_step_rows`

A step follows the gradient g (Adam), or the natural gradient, as far as a divergence of
δ allows:

    θ ← θ + √(2δ / gᵀF⁻¹g) F⁻¹g                                           `natural_step`
    F = Hessian of E[ KL(π_old ‖ π) ],  F⁻¹g by conjugate gradients

Others are limits of this. DAgger (Ross et al., 2011) asks for nothing but agreement
with the expert: `experts.agreement_expert`, "exact" and `aggregate`. And the more of
the learner's own rewards take the place of V*, the more it is a plain policy gradient:
"one_step", β = 0 and `gae_lambda` = 1.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from gymnasium import spaces
from gymnasium.vector import VectorEnv
from torch import Tensor, nn
from torch.distributions import kl_divergence

from rlnotes.algos import ppo
from rlnotes.algos.experts import Expert, ValueExpert
from rlnotes.algos.networks import adam, check_gamma, network
from rlnotes.algos.policy import Policy, require_head
from rlnotes.errors import UserError

Diagnostics = dict[str, Tensor]
Gradient = Literal["exact", "sampled", "pathwise", "one_step"]

ATANH_LIMIT = 1 - 1e-6  # of an expert's action in [−1, 1]; beyond, atanh is infinite


class Rows(NamedTuple):
    """States that were visited, and what the learner drew there when it was."""

    obs: Tensor  # as the world gives them
    action: Tensor  # the number of an action, or a vector before the tanh
    log_prob: Tensor  # of it, then
    executed: Tensor  # what was played instead, where it was the expert's turn
    weight: Tensor  # of `action`, where it is known already ("one_step")

    def take(self, rows: Tensor) -> "Rows":
        return Rows(*(column[rows] for column in self))


Draw = Callable[[Policy, Tensor, Rows], tuple[Tensor, Tensor]]


def fresh_actions(policy: Policy, outputs: Tensor, rows: Rows) -> tuple[Tensor, Tensor]:
    """Actions drawn from the learner as it is now, and their log-probabilities."""
    action = ppo.draw(policy, outputs.detach())
    dist = ppo.output_distribution(policy, outputs.detach())
    return action, dist.log_prob(action)


def rollout_actions(
    policy: Policy, outputs: Tensor, rows: Rows
) -> tuple[Tensor, Tensor]:
    """The learner's draws of the rollout, played or not. After the first step of an
    update they are stale, and their ratio is no longer 1."""
    return rows.action, rows.log_prob


def as_they_are(weight: Tensor) -> Tensor:
    return weight


def standardised(weight: Tensor, dim: int | None = None) -> Tensor:
    """Mean 0 and deviation 1, over everything or along a dimension."""
    std, mean = torch.std_mean(weight, dim, correction=0, keepdim=True)
    return (weight - mean) / (std + 1e-8)


def min_max(weight: Tensor) -> Tensor:
    """Into [0, 1], over the batch, as in the notes: every action looks good, and those
    of good states look best. Only for draws of the learner does this cancel out."""
    return (weight - weight.min()) / (weight.max() - weight.min() + 1e-8)


@dataclass(frozen=True)
class Config:
    """The paper takes one step for each roll-in; where a default is not its own, it is
    ours, for small worlds."""

    gradient: Gradient = "sampled"
    actions: Draw = fresh_actions
    # What is subtracted from Q*: V*, nothing, or a V learnt from the roll-ins.
    baseline: Literal["expert", "none", "mixture"] = "expert"
    weight_scale: Callable[[Tensor], Tensor] = as_they_are
    clip_coef: float | None = None  # of the ratio where draws are stale, as in PPO

    optimiser: Literal["adam", "natural"] = "adam"
    learning_rate: float = 1e-3  # of Adam
    max_grad_norm: float = 0.5  # of Adam's gradient
    target_kl: float = 0.01  # δ of the natural gradient
    cg_max_steps: int = 10
    cg_damping: float = 0.1  # of F, times the identity
    anneal_lr: bool = False  # let rate or δ fall on a line, to zero at the last step

    initial_beta: float = 1.0
    beta_schedule: Literal["linear", "exponential", "harmonic"] = "linear"
    mixing_fraction: float = 0.5  # of all steps, until β is 0 on its line
    beta_decay: float = 0.9  # or what is left of β after each roll-in
    mixing: Literal["step", "episode"] = "step"  # who plays is drawn for each of these

    num_steps: int = 128  # of each environment between updates
    aggregate: bool = False  # learn from all states so far, not only the latest
    update_epochs: int = 1  # passes over them
    batch_size: int = 256
    gamma: float = 0.99  # of V in "one_step" and of the mixture
    gae_lambda: float = 0.0  # of "one_step": 0 trusts V*, 1 is plain policy gradient
    ent_coef: float = 0.0  # of the entropy, before the tanh
    initial_std: float = 1.0  # of continuous actions, before the tanh
    log_std_bounds: tuple[float, float] = (-4.0, 1.0)
    hidden: tuple[int, ...] = (64, 64)

    def __post_init__(self) -> None:
        check_gamma(self.gamma)
        if self.mixing_fraction <= 0:
            raise UserError(
                f"mixing_fraction is above 0, not {self.mixing_fraction}: for no mixing"
                " at all, take initial_beta=0"
            )
        alone = self.actions is fresh_actions and self.gradient != "one_step"
        if self.aggregate and not alone:
            raise UserError(
                "aggregate keeps states and nothing of what was done there: take"
                " actions=fresh_actions, and another gradient than 'one_step'"
            )

    def policy_gradient(self, gae_lambda: float) -> ppo.Config:
        """What PPO needs to know for advantages and for a new policy."""
        return ppo.Config(
            gamma=self.gamma,
            gae_lambda=gae_lambda,
            initial_std=self.initial_std,
            log_std_bounds=self.log_std_bounds,
            hidden=self.hidden,
        )


def beta(config: Config, update: int, progress: float) -> float:
    """The expert's share in the roll-in after so many updates, or after `progress`, the
    share of all steps."""
    if config.beta_schedule == "exponential":
        return config.initial_beta * config.beta_decay**update
    if config.beta_schedule == "harmonic":
        return config.initial_beta / (update + 1)
    return config.initial_beta * max(0.0, 1 - progress / config.mixing_fraction)


# --- the learner


def new_policy(
    observation_space: spaces.Space,
    action_space: spaces.Space,
    config: Config,
    obs_mean: np.ndarray | None = None,
    obs_std: np.ndarray | None = None,
) -> Policy:
    """A policy that begins close to chance, whatever it sees."""
    like_ppo = config.policy_gradient(config.gae_lambda)
    return ppo.new_policy(observation_space, action_space, like_ppo, obs_mean, obs_std)


HEADS: dict[Gradient, tuple[Literal["argmax", "gaussian"], ...]] = {
    "exact": ("argmax",),
    "sampled": ("argmax", "gaussian"),
    "pathwise": ("gaussian",),
    "one_step": ("argmax", "gaussian"),
}


class Agent:
    """The policy as it is given, the V of the mixture, and the states so far."""

    def __init__(self, policy: Policy, config: Config) -> None:
        learner = f"AggreVaTeD with gradient='{config.gradient}'"
        require_head(policy, learner, *HEADS[config.gradient])
        self.config = config
        self.policy = policy
        self.optimiser = adam(policy.net.parameters(), config.learning_rate)
        self.value = network(policy.obs_shape, config.hidden, 1, policy.eye)
        self.value_optimiser = adam(self.value.parameters(), config.learning_rate)
        self.states = torch.zeros(0, *policy.obs_shape, dtype=policy.obs_dtype)
        self.rng = np.random.default_rng(0)  # from the seed, once it trains
        self.step = 0  # environment steps
        self.updates = 0


class RollIn(NamedTuple):
    """What the mixture did: each field's shape is (steps, environments, ...)."""

    rollout: ppo.Rollout  # with the actions that the *learner* drew, played or not
    executed: Tensor  # those that were played
    by_expert: Tensor  # who played them


class Collector(ppo.Collector):
    """Plays the mixture. The learner draws an action in every state, and the expert's
    takes its place in a share β of the steps, or of the episodes."""

    def __init__(
        self, agent: Agent, expert: Expert | ValueExpert, envs: VectorEnv, seed: int
    ) -> None:
        super().__init__(agent.policy, envs, seed, stream=agent.step)
        self._agent, self._expert = agent, expert
        self._expert_plays = np.zeros(envs.num_envs, bool)

    def roll_in(self, beta: float) -> RollIn:
        self._beta = beta
        self._executed: list[Tensor] = []
        self._by_expert: list[Tensor] = []
        rollout = self.rollout(self._agent.config.num_steps)
        return RollIn(
            rollout, torch.stack(self._executed), torch.stack(self._by_expert)
        )

    def _step(self, action: Tensor) -> tuple[Any, ...]:
        """A step of the worlds, with the learner's `action` or with the expert's."""
        coin = self._agent.rng.uniform(size=len(action)) < self._beta
        decided = (self._time > 0) & (self._agent.config.mixing == "episode")
        plays = self._expert_plays = np.where(decided, self._expert_plays, coin)
        executed = action.clone()
        if plays.any():
            chosen = torch.as_tensor(self._expert.act(self._obs[plays]))
            executed[torch.as_tensor(plays)] = as_drawn(self._policy, chosen)
        self._executed.append(executed)
        self._by_expert.append(torch.as_tensor(plays))
        return super()._step(executed)


def as_drawn(policy: Policy, action: Tensor) -> Tensor:
    """What the learner would have to draw, to play this."""
    if policy.head == "argmax":
        return action
    unit = policy.encode_action(action.float())
    return torch.atanh(unit.clamp(-ATANH_LIMIT, ATANH_LIMIT))


def as_played(policy: Policy, action: Tensor) -> Tensor:
    """What the world is given for what the learner drew."""
    if policy.head == "argmax":
        return action
    return policy.decode_action(torch.tanh(action))


# --- what an action weighs


@torch.no_grad()
def weights(agent: Agent, expert: Expert, obs: Tensor, action: Tensor) -> Tensor:
    """A*(s, a), or what takes its place, for actions as drawn."""
    played, baseline = as_played(agent.policy, action), agent.config.baseline
    if baseline == "expert":
        return expert.advantage(obs, played)
    q = expert.q(obs, played)
    return q - values_of(agent, obs) if baseline == "mixture" else q


def values_of(agent: Agent, obs: Tensor) -> Tensor:
    return agent.value(agent.policy.encode_obs(obs)).squeeze(-1)


@torch.no_grad()
def advantages(
    roll_in: RollIn, value: Callable[[Tensor], Tensor], config: ppo.Config
) -> Tensor:
    """Of what was executed, with any V. Where time ran out, V of the last state still
    counts; where the task ended, nothing does."""
    rollout = roll_in.rollout
    values, next_values = (
        value(obs.flatten(0, 1)).view_as(rollout.reward)
        for obs in (rollout.obs, rollout.next_obs)
    )
    next_values = next_values * (1 - rollout.terminated)
    return ppo.advantages(rollout, values, next_values, config)


def visited_rows(roll_in: RollIn) -> Rows:
    rollout = roll_in.rollout
    nothing = torch.zeros_like(rollout.log_prob)
    columns = (rollout.obs, rollout.action, rollout.log_prob, roll_in.executed, nothing)
    return Rows(*(column.flatten(0, 1) for column in columns))


def one_step_rows(agent: Agent, expert: Expert | ValueExpert, roll_in: RollIn) -> Rows:
    """The steps that the learner played itself; only of these does a reward tell."""
    config = agent.config.policy_gradient(agent.config.gae_lambda)
    weight = advantages(roll_in, expert.value, config).flatten()
    rows = visited_rows(roll_in)._replace(weight=weight)
    return rows.take(~roll_in.by_expert.flatten())


def aggregated_rows(agent: Agent, roll_in: RollIn) -> Rows:
    """All states so far. What was drawn there long ago is of no use now."""
    agent.states = torch.cat([agent.states, roll_in.rollout.obs.flatten(0, 1)])
    unknown = torch.full((len(agent.states),), math.nan)
    return Rows(agent.states, unknown, unknown, unknown, unknown)


# --- losses


def exact_loss(
    agent: Agent, expert: Expert, outputs: Tensor, rows: Rows
) -> tuple[Tensor, Diagnostics]:
    """Minus the mean weight of the learner's actions, summed over all of them. Equation
    eq-aggrevated, Sun et al. (2017), and the first line of eq-gradients."""
    everywhere = torch.zeros(len(rows.obs), dtype=torch.long)
    actions = (everywhere + number for number in range(agent.policy.num_actions))
    weight = torch.stack([weights(agent, expert, rows.obs, a) for a in actions], dim=-1)
    probs = torch.softmax(outputs, dim=-1)
    loss = -(probs * agent.config.weight_scale(weight)).sum(-1).mean()
    return loss, {"weight": (probs.detach() * weight).sum(-1).mean()}


def sampled_loss(
    agent: Agent, expert: Expert, outputs: Tensor, rows: Rows
) -> tuple[Tensor, Diagnostics]:
    """The same from one action for each state: the gradient of the ratio, where it is
    1, is that of the log-probability. Equation eq-gradients, Sun et al. (2017)."""
    config, policy = agent.config, agent.policy
    if config.gradient == "one_step":
        action, old_log_prob, weight = rows.action, rows.log_prob, rows.weight
    else:
        action, old_log_prob = config.actions(policy, outputs, rows)
        weight = weights(agent, expert, rows.obs, action)
    log_prob = ppo.output_distribution(policy, outputs).log_prob(action)
    clip_coef = math.inf if config.clip_coef is None else config.clip_coef
    loss, diagnostics = ppo.policy_loss(
        log_prob, old_log_prob, config.weight_scale(weight), clip_coef
    )
    return loss, diagnostics | {
        "weight": weight.mean(),
        "score_deviation": score_deviation(policy, rows.obs, outputs, log_prob),
    }


def pathwise_loss(
    agent: Agent, expert: Expert, outputs: Tensor, rows: Rows
) -> tuple[Tensor, Diagnostics]:
    """Minus Q* of an action whose noise is held fixed. What is subtracted from it would
    have no gradient. Equation eq-gradients."""
    policy = agent.policy
    mean, log_std = policy.mean_and_log_std(outputs)
    action = mean + log_std.exp() * torch.randn_like(mean)
    loss = -expert.q(rows.obs, as_played(policy, action)).mean()
    return loss, {"weight": weights(agent, expert, rows.obs, action.detach()).mean()}


LOSSES: dict[Gradient, Callable[..., tuple[Tensor, Diagnostics]]] = {
    "exact": exact_loss,
    "sampled": sampled_loss,
    "pathwise": pathwise_loss,
    "one_step": sampled_loss,
}


def score_deviation(
    policy: Policy, obs: Tensor, outputs: Tensor, log_prob: Tensor
) -> Tensor:
    """How far the gradient is from 0 if every action weighs the same, in standard
    errors: hardly ever above 5, if the actions are draws of the policy.

    For these E[∇log π(a|s)] = 0 in every state, so that it correlates with nothing that
    is seen. Here ∇ is along the network's outputs, and the largest correlation counts.
    """
    (score,) = torch.autograd.grad(log_prob.sum(), outputs, retain_graph=True)
    seen = F.pad(standardised(obs.flatten(1).float(), dim=0), (0, 1), value=1.0)
    # The larger of what is found and what is expected: where an action is rare, either
    # can be far too small.
    found, expected = (
        torch.einsum("no,ns->os", square, seen.square())
        for square in (score.square(), expected_square(policy, outputs.detach()))
    )
    error = torch.maximum(found, expected).sqrt()
    return (torch.einsum("no,ns->os", score, seen).abs() / (error + 1e-8)).max()


def expected_square(policy: Policy, outputs: Tensor) -> Tensor:
    """E[(∇log π)²] along each output, over the policy's own draws."""
    if policy.head == "argmax":
        probs = torch.softmax(outputs, dim=-1)
        return probs * (1 - probs)
    _, log_std = policy.mean_and_log_std(outputs)
    return torch.cat([(-2 * log_std).exp(), torch.full_like(log_std, 2.0)], dim=-1)


@torch.no_grad()
def state_share(agent: Agent, expert: Expert, obs: Tensor, outputs: Tensor) -> Tensor:
    """Of the variance of the weights, the part that lies between states and not between
    two draws in the same one. A learner can only follow the rest."""
    with torch.random.fork_rng(devices=[]):  # training draws as if nobody had looked
        dist = ppo.output_distribution(agent.policy, outputs)
        one, other = (
            weights(agent, expert, obs, dist.sample()).double() for _ in range(2)
        )
    within = (one - other).square().mean() / 2
    return 1 - within / (torch.cat([one, other]).var() + 1e-12)


# --- steps


def flat_gradient(loss: Tensor, net: nn.Module, **options: Any) -> Tensor:
    gradients = torch.autograd.grad(loss, list(net.parameters()), **options)
    return torch.cat([gradient.flatten() for gradient in gradients])


def fisher_product(
    policy: Policy, obs: Tensor, damping: float
) -> Callable[[Tensor], Tensor]:
    """Multiplies vectors with F + damping · 1 at encoded observations, never making the
    matrix: the slope of the KL divergence times a vector, differentiated again."""
    dist = ppo.distribution(policy, obs)
    with torch.no_grad():
        old = ppo.distribution(policy, obs)
    kl = kl_divergence(old, dist).mean()
    slope = flat_gradient(kl, policy.net, create_graph=True)

    def times(vector: Tensor) -> Tensor:
        product = flat_gradient(slope @ vector, policy.net, retain_graph=True)
        return product + damping * vector

    return times


def conjugate_gradient(
    times: Callable[[Tensor], Tensor], wanted: Tensor, max_steps: int
) -> Tensor:
    """x with `times(x)` = `wanted`, for a symmetric positive matrix."""
    x, residual = torch.zeros_like(wanted), wanted.clone()
    direction, norm = residual.clone(), residual @ residual
    for _ in range(max_steps):
        if norm <= 1e-12 * (wanted @ wanted):
            break
        product = times(direction)
        length = norm / (direction @ product)
        x += length * direction
        residual -= length * product
        new_norm = residual @ residual
        direction = residual + new_norm / norm * direction
        norm = new_norm
    return x


def natural_step(agent: Agent, encoded: Tensor, loss: Tensor, target_kl: float) -> None:
    """Equation eq-natural, Kakade (2001), with F damped."""
    config, net = agent.config, agent.policy.net
    gradient = flat_gradient(loss, net)
    times = fisher_product(agent.policy, encoded, config.cg_damping)
    direction = conjugate_gradient(times, gradient, config.cg_max_steps)
    length = (2 * target_kl / (gradient @ direction).clamp_min(1e-12)).sqrt()
    with torch.no_grad():
        before = nn.utils.parameters_to_vector(net.parameters())
        nn.utils.vector_to_parameters(before - length * direction, net.parameters())


def adam_step(agent: Agent, loss: Tensor, rate: float) -> None:
    agent.optimiser.param_groups[0]["lr"] = rate
    agent.optimiser.zero_grad()
    parameters = list(agent.policy.net.parameters())
    loss.backward(inputs=parameters)  # an expert that is asked does not learn
    nn.utils.clip_grad_norm_(parameters, agent.config.max_grad_norm)
    agent.optimiser.step()


def fit_mixture_value(agent: Agent, roll_in: RollIn) -> None:
    """V of whoever played, with the λ of PPO."""
    config = agent.config
    obs = roll_in.rollout.obs.flatten(0, 1)
    value = partial(values_of, agent)
    advantage = advantages(roll_in, value, config.policy_gradient(0.95)).flatten()
    with torch.no_grad():
        target = advantage + value(obs)
    for _ in range(10):
        for batch in torch.randperm(len(obs)).split(config.batch_size):
            loss = F.mse_loss(values_of(agent, obs[batch]), target[batch])
            agent.value_optimiser.zero_grad()
            loss.backward()
            agent.value_optimiser.step()


def update(
    agent: Agent, expert: Expert | ValueExpert, roll_in: RollIn, progress: float = 0.0
) -> Diagnostics:
    """All epochs on one roll-in, or on all states so far.

    `first_score_deviation`, `first_ratio_deviation` and `first_state_share` are of the
    first batch, before anything has changed.
    """
    config, policy = agent.config, agent.policy
    if config.gradient == "one_step":
        rows = one_step_rows(agent, expert, roll_in)
    elif config.aggregate:
        rows = aggregated_rows(agent, roll_in)
    else:
        rows = visited_rows(roll_in)
    if config.baseline == "mixture":
        fit_mixture_value(agent, roll_in)
    left = 1 - progress if config.anneal_lr else 1.0
    first: Diagnostics = {}
    diagnostics: Diagnostics = {}
    # With β = 1, the learner has played nothing that "one_step" could learn from.
    for _ in range(config.update_epochs if len(rows.obs) else 0):
        for batch in torch.randperm(len(rows.obs)).split(config.batch_size):
            chosen = rows.take(batch)
            encoded = policy.encode_obs(chosen.obs)
            outputs = policy.net(encoded)
            loss, diagnostics = LOSSES[config.gradient](agent, expert, outputs, chosen)
            first = first or first_diagnostics(
                agent, expert, chosen.obs, outputs.detach(), diagnostics
            )
            if config.ent_coef:
                dist = ppo.output_distribution(policy, outputs)
                loss = loss - config.ent_coef * dist.entropy().mean()
            if config.optimiser == "natural":
                natural_step(agent, encoded, loss, left * config.target_kl)
            else:
                adam_step(agent, loss, left * config.learning_rate)
    if diagnostics and config.optimiser == "adam":
        diagnostics |= ppo.std_diagnostics(policy, outputs.detach())
    agent.updates += 1
    return diagnostics | first | update_diagnostics(agent, roll_in)


def first_diagnostics(
    agent: Agent,
    expert: Expert | ValueExpert,
    obs: Tensor,
    outputs: Tensor,
    diagnostics: Diagnostics,
) -> Diagnostics:
    """What the first batch of an update shows, before anything has changed."""
    first = {
        f"first_{name}": value
        for name, value in diagnostics.items()
        if name.endswith("_deviation")
    }
    if agent.config.gradient == "sampled" and isinstance(expert, Expert):
        first["first_state_share"] = state_share(agent, expert, obs, outputs)
    return first


@torch.no_grad()
def update_diagnostics(agent: Agent, roll_in: RollIn) -> Diagnostics:
    """How far all epochs together have moved the learner at the states of the roll-in,
    and how freely it plays."""
    policy, rollout = agent.policy, roll_in.rollout
    dist = ppo.distribution(policy, policy.encode_obs(rollout.obs.flatten(0, 1)))
    new_log_prob = dist.log_prob(rollout.action.flatten(0, 1))
    return {
        "entropy": dist.entropy().mean(),
        "approx_kl": (rollout.log_prob.flatten() - new_log_prob).mean(),
        "expert_share": roll_in.by_expert.float().mean(),
    }


def train(
    agent: Agent,
    expert: Expert | ValueExpert,
    envs: VectorEnv,
    steps: int,
    seed: int,
) -> Iterator[tuple[int, Diagnostics]]:
    """Play until there have been at least `steps`, in whole roll-ins; each update is
    yielded."""
    config = agent.config
    if agent.step == 0:
        agent.rng = np.random.default_rng(seed)
    collector = Collector(agent, expert, envs, seed)
    while agent.step < steps:
        progress = agent.step / steps
        roll_in = collector.roll_in(beta(config, agent.updates, progress))
        diagnostics = update(agent, expert, roll_in, progress)
        agent.step += roll_in.by_expert.numel()
        yield agent.step, diagnostics
