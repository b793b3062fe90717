"""PPO: several passes over fresh experience, none of which may change the policy much
(Schulman et al., 2017).

    L = E[ min( ρ A, clip(ρ, 1 − ε, 1 + ε) A ) ],   ρ = π(a|s) / π_old(a|s)
                                                                           `policy_loss`
    A_t = δ_t + γ λ (1 − done) A_{t+1}                                      `advantages`
    δ_t = scale · r_t + γ V(s_{t+1}) − V(s_t)

After an end V is 0, unless somebody knows better (`terminal_value`, in units of V).
With `reward_scale` = 1 − γ, V is a mean of the rewards to come and not their sum, as
large as they are.

Many copies of the world are played at once. Where one runs out of time its future still
counts: V of its last state stands in for it. Discrete actions are drawn from a
categorical distribution, continuous ones from a Gaussian before the tanh that keeps
them in [−1, 1]. That tanh is the same in both policies of the ratio, so it cancels, and
the *same* action must go into both: one drawn anew has nothing to do with what was
rewarded.

With λ = 1, V = 0, one epoch and one batch, ρ is 1 and this is REINFORCE
(`reinforce_config`); with V, A2C (`a2c_config`).
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from gymnasium import spaces
from gymnasium.vector import VectorEnv
from torch import Tensor, nn
from torch.distributions import Categorical, Distribution, Independent, Normal

from rlnotes.algos.networks import (
    Eye,
    RunningMeanStd,
    adam,
    check_gamma,
    log_tanh_slope,
    network,
)
from rlnotes.algos.policy import Policy, require_head
from rlnotes.envs.vector import led_to, require_same_step
from rlnotes.errors import UserError
from rlnotes.seeding import reset_seeds

Diagnostics = dict[str, Tensor]

# What varies less than this is divided by it all the same: a feature that has never
# varied would be blown up by the first step that it takes.
LEAST_OBS_STD = 0.05


def stored_log_prob(dist: Distribution, action: Tensor) -> Tensor:
    """Of the action that was played. The notes did as `autopsies.fresh_sample` does."""
    return dist.log_prob(action)


def policy_loss(
    log_prob: Tensor, old_log_prob: Tensor, advantage: Tensor, clip_coef: float
) -> tuple[Tensor, Diagnostics]:
    """Equation eq-ppo, Schulman et al. (2017)."""
    ratio = (log_prob - old_log_prob).exp()
    clipped = ratio.clamp(1 - clip_coef, 1 + clip_coef)
    loss = -torch.minimum(ratio * advantage, clipped * advantage).mean()
    deviation = (ratio.detach() - 1).abs()
    return loss, {
        "policy_loss": loss.detach(),
        "ratio_deviation": deviation.max(),
        "clip_fraction": (deviation > clip_coef).float().mean(),
        "approx_kl": (old_log_prob - log_prob).detach().mean(),
    }


def log_prob_loss(
    log_prob: Tensor, old_log_prob: Tensor, advantage: Tensor, clip_coef: float
) -> tuple[Tensor, Diagnostics]:
    """REINFORCE's own, without a ratio. Before the first step the gradient is the same;
    after it, actions of the policy of then count as if the policy of now had drawn
    them. An unclipped ratio would still know better."""
    loss = -(log_prob * advantage).mean()
    _, diagnostics = policy_loss(log_prob, old_log_prob, advantage, clip_coef)
    return loss, diagnostics | {"policy_loss": loss.detach()}


def squared_value_loss(
    value: Tensor, old_value: Tensor, target: Tensor, clip_coef: float
) -> tuple[Tensor, Diagnostics]:
    loss = F.mse_loss(value, target)
    return loss, {"value_loss": loss.detach()}


def clipped_value_loss(
    value: Tensor, old_value: Tensor, target: Tensor, clip_coef: float
) -> tuple[Tensor, Diagnostics]:
    """Equation eq-value-clip, of the authors' code: V, too, is to stay close to what it
    was. Where that is worse, it counts. The notes did as `autopsies.value_clip` does.
    """
    near = old_value + (value - old_value).clamp(-clip_coef, clip_coef)
    loss = torch.maximum((value - target).square(), (near - target).square()).mean()
    return loss, {"value_loss": loss.detach()}


def drawn_entropy(policy: Policy, outputs: Tensor) -> Tensor:
    """Of what is drawn: for continuous actions before the tanh, and without limit."""
    return output_distribution(policy, outputs).entropy()


def played_entropy(policy: Policy, outputs: Tensor) -> Tensor:
    """Of what is played: H[tanh u] = H[u] + E[log(1 − tanh²u)], from one draw for each
    state. It is largest where all actions are equally likely, and falls again when most
    are −1 or 1."""
    entropy = drawn_entropy(policy, outputs)
    if policy.head == "gaussian":
        mean, log_std = policy.mean_and_log_std(outputs)
        drawn = mean + log_std.exp() * torch.randn_like(mean)
        entropy = entropy + log_tanh_slope(drawn).sum(-1)
    return entropy


@dataclass(frozen=True)
class Config:
    """The paper's for MuJoCo, where nothing else is said."""

    gamma: float = 0.99
    gae_lambda: float = 0.95  # 0 trusts the value function, 1 trusts the returns
    baseline: bool = True  # False: V = 0
    clip_coef: float = 0.2  # ε
    num_steps: int = 128  # of each environment between updates; the paper's for Atari
    episodic: bool = False  # of one environment, and no further than an episode's end
    update_epochs: int = 10  # passes over them
    batch_size: int = 256  # the paper's is 64
    learning_rate: float = 3e-4
    anneal_lr: bool = False  # let the rate fall on a line, to zero at the last step
    # Of continuous actions, before the tanh. Ours depends on the state and is squashed,
    # the paper's is neither.
    initial_std: float = 1.0
    log_std_bounds: tuple[float, float] = (-4.0, 1.0)
    norm_obs: bool = False  # by mean and deviation of all that was observed so far
    ent_coef: float = 0.0
    anneal_ent_coef: bool = False  # let it fall as the rate may
    entropy: Callable[[Policy, Tensor], Tensor] = drawn_entropy
    vf_coef: float = 0.5  # of the authors' code
    max_grad_norm: float = 0.5  # of the authors' code, of each network apart
    reward_scale: float = 1.0
    norm_adv: bool = True  # advantages of a rollout have mean 0 and deviation 1
    log_prob: Callable[[Distribution, Tensor], Tensor] = stored_log_prob
    loss: Callable[..., tuple[Tensor, Diagnostics]] = policy_loss
    value_loss: Callable[..., tuple[Tensor, Diagnostics]] = squared_value_loss
    hidden: tuple[int, ...] = (64, 64)  # with ReLU, the paper's has tanh
    # V is one more output of the policy's network, as in the paper for Atari. For
    # pictures it halves the work: nearly all of it is the eye's.
    share_network: bool = False

    def __post_init__(self) -> None:
        check_gamma(self.gamma)


def reinforce_config(**settings: Any) -> Config:
    """No critic, no second pass. Where a rollout ends in the middle of an episode, the
    rest of it counts nothing."""
    return Config(
        gae_lambda=1.0,
        baseline=False,
        update_epochs=1,
        batch_size=1_000_000,
        **settings,
    )


def a2c_config(**settings: Any) -> Config:
    """Advantage actor-critic (Mnih et al., 2016): one step on each rollout, then
    another rollout. With λ = 1 a return has the rewards up to the rollout's end, at
    most `num_steps` of them, and then V. There is no ratio, as nothing is old. (The
    optimiser is Adam, theirs was RMSProp.)"""
    ours: dict[str, Any] = {
        "gae_lambda": 1.0,
        "update_epochs": 1,
        "batch_size": 1_000_000,
        "loss": log_prob_loss,
        "norm_adv": False,
        "num_steps": 5,
        "ent_coef": 0.01,
        "share_network": True,
    }
    return Config(**(ours | settings))


@torch.no_grad()
def new_policy(
    observation_space: spaces.Space,
    action_space: spaces.Space,
    config: Config,
    obs_mean: np.ndarray | None = None,
    obs_std: np.ndarray | None = None,
    eye: Eye | None = None,
) -> Policy:
    """A policy that begins close to chance, whatever it sees."""
    policy = Policy.for_spaces(
        observation_space,
        action_space,
        config.hidden,
        "gaussian",
        obs_mean,
        obs_std,
        eye=eye,
        log_std_bounds=config.log_std_bounds,
    )
    last = policy.net[-1]
    assert isinstance(last, nn.Linear)
    last.weight.mul_(0.01)
    last.bias.zero_()
    if policy.head == "gaussian":
        last.bias[policy.action_dim :] = math.log(config.initial_std)
    return policy


class Agent:
    """The policy as it is given, and a value function: with a network, if need be an
    eye, of its own, or on top of the policy's."""

    def __init__(self, policy: Policy, config: Config) -> None:
        require_head(policy, "PPO", "argmax", "gaussian")
        if config.norm_obs and policy.eye is not None:
            raise UserError("an eye divides its pictures by 255: leave out norm_obs")
        self.config = config
        self.policy = policy
        last = policy.net[-1]
        assert isinstance(last, nn.Linear)
        self.value: nn.Module = (
            nn.Linear(last.in_features, 1)
            if config.share_network
            else network(policy.obs_shape, config.hidden, 1, policy.eye)
        )
        parameters = [*policy.net.parameters(), *self.value.parameters()]
        self.optimiser = adam(parameters, config.learning_rate)
        self.obs_stats = RunningMeanStd(policy.obs_mean.shape)
        self.ent_coef = config.ent_coef  # of now
        self.step = 0  # environment steps

    def outputs_and_value(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        """What the policy puts out for encoded observations, and V of them."""
        net = self.policy.net
        if not self.config.share_network:
            return net(obs), self.value(obs).squeeze(-1)
        features = net[:-1](obs)
        return net[-1](features), self.value(features).squeeze(-1)

    def value_of(self, obs: Tensor) -> Tensor:
        if self.config.share_network:
            obs = self.policy.net[:-1](obs)
        return self.value(obs).squeeze(-1)

    def clip_gradients(self) -> None:
        """Apart, or a poor value function would slow the policy down; where they share
        a network, together."""
        nets = [list(net.parameters()) for net in (self.policy.net, self.value)]
        if self.config.share_network:
            nets = [nets[0] + nets[1]]
        for parameters in nets:
            nn.utils.clip_grad_norm_(parameters, self.config.max_grad_norm)


class Rollout(NamedTuple):
    """What all environments did: each field's shape is (steps, environments, ...)."""

    obs: Tensor  # as the world gives them
    action: Tensor  # as drawn: the number of an action, or a vector before the tanh
    log_prob: Tensor
    reward: Tensor
    next_obs: Tensor  # where an episode was done its last, not the next one's first
    terminated: Tensor
    done: Tensor  # terminated, or out of time
    time: Tensor  # steps since the episode began

    @classmethod
    def empty(cls, policy: Policy, num_steps: int, num_envs: int) -> "Rollout":
        size = (num_steps, num_envs)
        seen = torch.empty(2, *size, *policy.obs_shape, dtype=policy.obs_dtype)
        numbers = torch.empty(5, *size)
        action = torch.empty(*size, policy.action_dim)
        if policy.head == "argmax":
            action = torch.empty(size, dtype=torch.long)
        return cls(seen[0], action, numbers[0], numbers[1], seen[1], *numbers[2:])


def distribution(policy: Policy, obs: Tensor) -> Distribution:
    """Of the actions for encoded observations."""
    return output_distribution(policy, policy.net(obs))


def output_distribution(policy: Policy, outputs: Tensor) -> Distribution:
    """The same, for what the network puts out."""
    if policy.head == "argmax":
        return Categorical(logits=outputs, validate_args=False)
    mean, log_std = policy.mean_and_log_std(outputs)
    return Independent(Normal(mean, log_std.exp(), validate_args=False), 1)


def draw(policy: Policy, outputs: Tensor) -> Tensor:
    """What the `sample` of the same distribution draws, without making it first, which
    takes longer than to draw.

    To divide by exponential noise and take the largest is how `torch.multinomial` draws
    one of several, once it has looked whether they are probabilities.
    """
    if policy.head == "argmax":
        probs = torch.softmax(outputs, dim=-1)
        return (probs / torch.empty_like(probs).exponential_()).argmax(-1)
    mean, log_std = policy.mean_and_log_std(outputs)
    return mean + log_std.exp() * torch.randn(mean.shape)


def played(policy: Policy, action: Tensor) -> np.ndarray:
    """What `draw` drew, in the environment's units."""
    if policy.head == "gaussian":
        action = policy.decode_action(torch.tanh(action))
    return action.numpy()


class Collector:
    """Keeps the environments between rollouts, so that an episode may last longer than
    one of them. A training that goes on after `stream` steps starts them elsewhere.

    The environments must reset in the step that ends an episode: if they did so in the
    next one, that step would be none of the policy's.
    """

    def __init__(
        self, policy: Policy, envs: VectorEnv, seed: int, stream: int = 0
    ) -> None:
        require_same_step(envs, "PPO")
        self._policy, self._envs = policy, envs
        # One seed each; the base class declares a single one.
        starts: Any = reset_seeds("train", seed, envs.num_envs, stream=stream)
        self._obs, _ = envs.reset(seed=starts)
        self._time = np.zeros(envs.num_envs)

    @torch.no_grad()
    def rollout(self, num_steps: int, episodic: bool = False) -> Rollout:
        """What all environments do next, written in place: through NumPy where it comes
        from the world, because torch takes longer for a row. If `episodic`, no further
        than to the end of the episode, of which there must be one only."""
        if episodic and self._envs.num_envs > 1:
            raise UserError(
                f"the episodes of {self._envs.num_envs} environments do not end"
                " together: make one environment, or leave out episodic"
            )
        policy = self._policy
        rollout = Rollout.empty(policy, num_steps, self._envs.num_envs)
        rows = (row.numpy() for row in rollout)
        obs, _, _, reward, next_obs, terminated, done, time = rows
        outputs = torch.empty(*rollout.reward.shape, policy.num_outputs)
        for step in range(num_steps):
            obs[step] = self._obs
            outputs[step] = policy.net(policy.encode_obs(rollout.obs[step]))
            rollout.action[step] = action = draw(policy, outputs[step])
            self._obs, reward[step], ended, cut_off, info = self._step(action)
            next_obs[step] = led_to(self._obs, info)
            terminated[step], done[step] = ended, ended | cut_off
            time[step] = self._time
            self._time = (self._time + 1) * (1 - done[step])
            if episodic and done[step].any():
                break
        rollout = Rollout(*(row[: step + 1] for row in rollout))
        outputs = outputs[: step + 1]
        if not outputs.isfinite().all():
            raise UserError(
                "the policy's outputs are no longer finite, its training has diverged:"
                " lower the learning_rate"
            )
        dist = output_distribution(policy, outputs)
        rollout.log_prob.copy_(dist.log_prob(rollout.action))
        return rollout

    def _step(self, action: Tensor) -> tuple[Any, ...]:
        return self._envs.step(played(self._policy, action))


@torch.no_grad()
def values_of(agent: Agent, rollout: Rollout) -> tuple[Tensor, Tensor]:
    """V of all observations and of those after them, which are mostly the same: only
    steps that ended an episode, and the last one, are looked at a second time."""
    if not agent.config.baseline:
        return torch.zeros_like(rollout.reward), torch.zeros_like(rollout.reward)

    def value(obs: Tensor) -> Tensor:
        encoded = agent.policy.encode_obs(obs.flatten(0, 1))
        return agent.value_of(encoded).view(obs.shape[:2])

    values = value(rollout.obs)
    again = rollout.done.any(dim=1)
    again[-1] = True
    next_values = values.roll(-1, dims=0)
    next_values[again] = value(rollout.next_obs[again])
    return values, next_values


@torch.no_grad()
def advantages(
    rollout: Rollout, values: Tensor, next_values: Tensor, config: Config
) -> Tensor:
    """Generalised advantage estimates; `next_values` belong to `rollout.next_obs`."""
    delta = config.reward_scale * rollout.reward + config.gamma * next_values - values
    # An episode that is done owes nothing to the one that follows it in the same row.
    fade = config.gamma * config.gae_lambda * (1 - rollout.done)
    result = torch.zeros_like(delta)
    gae = torch.zeros_like(delta[0])
    for step in reversed(range(len(delta))):
        gae = delta[step] + fade[step] * gae
        result[step] = gae
    return result


def no_extra_loss() -> Tensor:
    return torch.zeros(())


def update(
    agent: Agent,
    rollout: Rollout,
    terminal_value: Tensor | float = 0.0,
    extra_loss: Callable[[], Tensor] = no_extra_loss,
) -> Diagnostics:
    """All epochs on one rollout. `extra_loss` is added to that of every batch.

    `first_ratio_deviation` is how far ρ is from 1 before anything has changed: 0.
    `first_value_grad_share` is how much of V's squared error has a gradient then: 1.
    """
    config, policy = agent.config, agent.policy
    values, next_values = values_of(agent, rollout)
    next_values = torch.where(rollout.terminated.bool(), terminal_value, next_values)
    advantage = advantages(rollout, values, next_values, config)
    target = advantage + values
    rows = (rollout.obs, rollout.action, rollout.log_prob, advantage, target, values)
    obs, action, log_prob, advantage, target, old = (row.flatten(0, 1) for row in rows)
    if config.norm_adv and len(advantage) > 1:
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)

    first: Diagnostics = {}
    for _ in range(config.update_epochs):
        for batch in torch.randperm(len(obs)).split(config.batch_size):
            encoded = policy.encode_obs(obs[batch])
            outputs, value = agent.outputs_and_value(encoded)
            dist = output_distribution(policy, outputs)
            new_log_prob = config.log_prob(dist, action[batch])
            loss, diagnostics = config.loss(
                new_log_prob, log_prob[batch], advantage[batch], config.clip_coef
            )
            v_loss, v_diagnostics = config.value_loss(
                value, old[batch], target[batch], config.clip_coef
            )
            first = first or {
                "first_ratio_deviation": diagnostics["ratio_deviation"],
                "first_value_grad_share": grad_share(v_loss, value, target[batch]),
            }
            bonus = agent.ent_coef * config.entropy(policy, outputs).mean()
            total = loss + config.vf_coef * v_loss - bonus
            agent.optimiser.zero_grad()
            (total + extra_loss()).backward()
            agent.clip_gradients()
            agent.optimiser.step()
    return (
        diagnostics
        | std_diagnostics(policy, outputs.detach())
        | first
        | v_diagnostics
        | {"entropy": dist.entropy().detach().mean(), "value_mean": values.mean()}
    )


def grad_share(loss: Tensor, value: Tensor, target: Tensor) -> Tensor:
    """Of the squared error of V: the share in rows that the loss has a gradient for."""
    (gradient,) = torch.autograd.grad(loss, value, retain_graph=True)
    error = (value - target).detach().square()
    return error[gradient != 0].sum() / error.sum().clamp(min=1e-12)


def std_diagnostics(policy: Policy, outputs: Tensor) -> Diagnostics:
    """Of continuous actions, after the last step of an update: how large log σ is, what
    share of it lies beyond its bounds, the gradient that came to it, and the entropy of
    what is played."""
    if policy.head != "gaussian":
        return {}
    last = policy.net[-1]
    assert isinstance(last, nn.Linear)
    assert last.weight.grad is not None
    _, unbounded = outputs.chunk(2, dim=-1)
    mean, log_std = policy.mean_and_log_std(outputs)
    return {
        "squashed_entropy": squashed_entropy(mean, log_std).mean(),
        "log_std": log_std.mean(),
        "bounded_std_fraction": (unbounded != log_std).float().mean(),
        "log_std_grad_norm": last.weight.grad[policy.action_dim :].norm(),
    }


def squashed_entropy(mean: Tensor, log_std: Tensor) -> Tensor:
    """Of actions in [−1, 1], summed: H[tanh u] = H[u] + E[log(1 − tanh²u)].

    H[u] grows with σ without end. H[tanh u] is log 2 at most, where all actions are
    equally likely, and falls again when most are −1 or 1. The mean is taken over points
    of the Gaussian, so that no dice are thrown for a diagnostic.
    """
    points = torch.linspace(-5, 5, 101)
    chances = torch.softmax(-0.5 * points.square(), dim=0)
    raw = mean[..., None] + log_std.exp()[..., None] * points
    lost = log_tanh_slope(raw) @ chances
    return (0.5 * math.log(2 * math.pi * math.e) + log_std + lost).sum(-1)


def train(
    agent: Agent, envs: VectorEnv, steps: int, seed: int
) -> Iterator[tuple[int, Diagnostics]]:
    """Play until there have been at least `steps`, in whole rollouts; each update is
    yielded."""
    config = agent.config
    collector = Collector(agent.policy, envs, seed, stream=agent.step)
    while agent.step < steps:
        renew_obs_scale(agent)
        rollout = collector.rollout(config.num_steps, config.episodic)
        diagnostics = update(agent, rollout) | {
            "continued_fraction": (rollout.time[0] > 0).float().mean(),
            "longest_episode": rollout.time.max() + 1,
        }
        if config.norm_obs:
            agent.obs_stats.update(rollout.obs.flatten(0, 1).double())
        agent.step += rollout.reward.numel()
        anneal(agent, agent.step / steps)
        yield agent.step, diagnostics


def renew_obs_scale(agent: Agent) -> None:
    """Let the policy see by the statistics of today. Between learning and play only: in
    the middle of an update the ratio would compare two ways of seeing, and afterwards
    the policy would be judged by eyes that it has not learnt with."""
    if agent.config.norm_obs:
        agent.policy.obs_mean.copy_(agent.obs_stats.mean)
        agent.policy.obs_std.copy_(agent.obs_stats.std.clamp(min=LEAST_OBS_STD))


def anneal(agent: Agent, progress: float) -> None:
    """What annealing does after `progress`, the share of all steps."""
    config, left = agent.config, max(0.0, 1 - progress)
    if config.anneal_lr:
        agent.optimiser.param_groups[0]["lr"] = config.learning_rate * left
    if config.anneal_ent_coef:
        agent.ent_coef = config.ent_coef * left
