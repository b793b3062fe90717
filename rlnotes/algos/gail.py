"""GAIL: a discriminator learns to tell demonstrations from the learner, and rewards the
learner (Ho & Ermon, 2016).

    max_D  E_expert[ log D(s, a) ] + E_policy[ log(1 − D(s, a)) ],   D = σ(logit)
                                                                    `discriminator_loss`

What the reward makes of D is a choice, and the choice is not innocent (`REWARDS`): the
first is never negative, so that living longer always pays; the second never positive,
so that ending soon does; the third takes either sign.

What an episode earns *after its end* is a choice, too (`Config.terminal`), and where
episodes can end early the two decide more than the demonstrations do. If it is nothing
("zero"), as is usual, an end is worth 0 whatever the discriminator thinks of it. If the
episode goes on for ever in an absorbing state (Kostrikov et al., 2019), the
discriminator sees that state on both sides, and judges and rewards it like any other.
There can be one such state for all ends ("absorbing"), or one for each state in which
an episode can end ("absorbing_per_state").

The generator is PPO, or REINFORCE as a special case of it. It sees no reward of the
task unless asked to. It may clone the demonstrations at the same time
(`Config.bc_weight`; Jena et al., 2020).
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import gymnasium as gym
import numpy as np
import torch
import torch.nn.functional as F
from gymnasium.vector import VectorEnv
from torch import Tensor, nn

from rlnotes.algos import bc, ppo
from rlnotes.algos.networks import RunningMeanStd, adam, mlp
from rlnotes.algos.policy import Policy
from rlnotes.data.rollouts import Episode
from rlnotes.data.transitions import Transitions
from rlnotes.errors import UserError

NEVER_VARIED = 1e-3  # a deviation below this is rounding, or what the count began with

Diagnostics = dict[str, Tensor]
Reward = Callable[[Tensor], Tensor]
Terminal = Literal["zero", "absorbing", "absorbing_per_state"]


def gail_reward(logit: Tensor) -> Tensor:
    """−log(1 − D), as in the authors' code and in the notes: never negative. Equation
    eq-pay."""
    return F.softplus(logit)


def log_d_reward(logit: Tensor) -> Tensor:
    """log D: never positive. Equation eq-pay."""
    return F.logsigmoid(logit)


def airl_reward(logit: Tensor) -> Tensor:
    """log D − log(1 − D), as in AIRL (Fu et al., 2018): of either sign. Equation
    eq-pay."""
    return logit


REWARDS: dict[str, Reward] = {
    "gail": gail_reward,
    "log_d": log_d_reward,
    "airl": airl_reward,
}


@dataclass(frozen=True)
class Config:
    """Hardly any of this is the paper's, which has TRPO for a generator, `gail_reward`,
    "zero", no penalty, two layers of 100 and one pass of the discriminator."""

    reward: Reward = airl_reward
    terminal: Terminal = "absorbing_per_state"
    gradient_penalty: float = 10.0
    spectral_norm: bool = (
        False  # bound the discriminator's slope by its weights instead
    )
    disc_epochs: int = 2  # of the discriminator, over as many steps as a rollout has
    disc_updates: int | None = None  # per rollout, instead of so many epochs
    disc_batch_size: int = 256
    disc_learning_rate: float = 3e-4
    disc_hidden: tuple[int, ...] = (64, 64)
    use_action: bool = True  # False: states alone are compared
    discounted: bool = False  # a step at time t counts γ^t, as in the occupancy measure
    task_reward_weight: float = 0.0  # of the task's own reward, where it is to count
    bc_weight: float = 0.0  # of behaviour cloning in the generator's loss
    bc_updates: int = 0  # and so many steps of cloning alone, after each rollout
    generator: ppo.Config = field(default_factory=ppo.Config)

    def __post_init__(self) -> None:
        if self.generator.gamma == 1 and self.terminal != "zero":
            raise UserError(
                "with gamma = 1 an absorbing state, which lasts for ever, outweighs all"
                " else: choose a gamma below 1, or terminal='zero'"
            )
        if self.generator.norm_obs:
            raise UserError(
                "the discriminator sees observations as its policy does, and these must"
                " not change their scale under it: leave out norm_obs"
            )

    @property
    def absorbing_scale(self) -> float:
        """What one step's reward amounts to, in units of V, if it is paid for ever."""
        generator = self.generator
        return float(np.float32(generator.reward_scale / (1 - generator.gamma)))


class Discriminator(nn.Module):
    """The logit of "this was a demonstration". Its inputs are standardised by what both
    sides have shown so far.

    A feature that has never varied is left out: it tells nothing apart, and divided by
    a deviation of nearly 0 it would have so steep a slope that the gradient penalty
    flattens all the others.
    """

    def __init__(self, width: int, config: Config) -> None:
        super().__init__()
        self.net = mlp([width, *config.disc_hidden, 1])
        if config.spectral_norm:
            for layer in self.net:
                if isinstance(layer, nn.Linear):
                    nn.utils.parametrizations.spectral_norm(layer)
        self.inputs = RunningMeanStd((width,))

    def forward(self, features: Tensor) -> Tensor:
        mean, std = self.inputs.mean.float(), self.inputs.std.float()
        varied = std > NEVER_VARIED
        scaled = (features - mean) / (std + 1e-3) * varied
        return self.net(scaled).squeeze(-1)


class Agent:
    """The generator, whose policy is the one that is given, and the discriminator."""

    def __init__(self, policy: Policy, config: Config) -> None:
        if policy.eye is not None:
            raise UserError(
                "the discriminator compares vectors and has no eye: use GAIL in a world"
                " whose observations are vectors"
            )
        self.config = config
        self.policy = policy
        self.generator = ppo.Agent(policy, config.generator)
        discrete = policy.head == "argmax"
        actions = policy.num_actions if discrete else policy.action_dim
        self.discriminator = Discriminator(policy.obs_shape[0] + actions + 1, config)
        parameters = self.discriminator.parameters()
        self.optimiser = adam(parameters, config.disc_learning_rate)
        self.step = 0  # environment steps, or updates if it learns offline


class DiscriminatorSamples(NamedTuple):
    """What one side shows to the discriminator, and how much each row counts."""

    features: Tensor
    weight: Tensor

    def draw(self, size: int) -> Tensor:
        return self.features[torch.multinomial(self.weight, size, replacement=True)]


def features(agent: Agent, obs: Tensor, action: Tensor) -> Tensor:
    """Encoded observations, actions one-hot or in [−1, 1], and a 0: the episode is
    going on."""
    policy = agent.policy
    if policy.head == "argmax":
        action = F.one_hot(action.long(), policy.num_actions).float()
    going_on = torch.zeros_like(obs[..., :1])
    return torch.cat([obs, action * float(agent.config.use_action), going_on], dim=-1)


def terminal_features(agent: Agent, final_obs: Tensor) -> Tensor:
    """The absorbing state: no action, a 1, and either nothing else or the (encoded)
    observation with which the episode ended."""
    per_state = agent.config.terminal == "absorbing_per_state"
    place = final_obs if per_state else torch.zeros_like(final_obs)
    width = len(agent.discriminator.inputs.mean) - place.shape[-1]
    rest = torch.zeros(*place.shape[:-1], width)
    rest[..., -1] = 1
    return torch.cat([place, rest], dim=-1)


def samples(
    agent: Agent,
    going_on: Tensor,
    time: Tensor,
    final_obs: Tensor,
    final_time: Tensor,
) -> DiscriminatorSamples:
    """One side: the features of its steps, and the absorbing states in which its
    episodes ended, each with its time.

    Such a state lasts for ever and counts as much as all of its discounted future,
    1 / (1 − γ) steps. Steps before it are usually not discounted: then early and late
    ones count alike. If they are, this is equation eq-occupancy, Ho and Ermon (2016).
    """
    gamma = agent.config.generator.gamma
    discount = gamma if agent.config.discounted else 1.0
    weight = discount ** time.float()
    if agent.config.terminal == "zero":
        return DiscriminatorSamples(going_on, weight)
    stay = discount ** final_time.float() / (1 - gamma)
    rows = torch.cat([going_on, terminal_features(agent, final_obs)])
    return DiscriminatorSamples(rows, torch.cat([weight, stay]))


def expert_samples(
    agent: Agent, demonstrations: Sequence[Episode]
) -> DiscriminatorSamples:
    """Only episodes that were terminated end; one that ran out of time has shown all
    that it can."""
    policy = agent.policy
    obs = policy.encode_array(
        np.concatenate([e.observations[:-1] for e in demonstrations])
    )
    action = torch.as_tensor(
        np.concatenate([e.actions for e in demonstrations]), dtype=torch.float32
    )
    ends = [e.observations[-1] for e in demonstrations if e.terminated]
    final_obs = policy.encode_array(
        np.array(ends).reshape(len(ends), *policy.obs_shape)
    )
    time = torch.cat([torch.arange(len(e.actions)) for e in demonstrations])
    final_time = torch.tensor([len(e.actions) for e in demonstrations if e.terminated])
    rows = features(agent, obs, policy.encode_action(action))
    return samples(agent, rows, time, final_obs, final_time)


def played_features(agent: Agent, rollout: ppo.Rollout) -> Tensor:
    policy, action = agent.policy, rollout.action
    action = action if policy.head == "argmax" else torch.tanh(action)
    return features(agent, policy.encode_obs(rollout.obs), action)


def policy_samples(agent: Agent, rollout: ppo.Rollout) -> DiscriminatorSamples:
    ended = rollout.terminated.bool()
    final_obs = agent.policy.encode_obs(rollout.next_obs[ended])
    rows = played_features(agent, rollout).flatten(0, 1)
    time, final_time = rollout.time.flatten(), rollout.time[ended] + 1
    return samples(agent, rows, time, final_obs, final_time)


def gradient_penalty(
    discriminator: Discriminator, expert: Tensor, policy: Tensor, share: Tensor
) -> Tensor:
    """How far the slope is from 1 on points between the two sides; `share` says where
    between."""
    between = (share * expert + (1 - share) * policy).requires_grad_()
    logits = discriminator(between)
    (slope,) = torch.autograd.grad(logits.sum(), between, create_graph=True)
    return (slope.norm(dim=-1) - 1).square().mean()


def discriminator_loss(
    agent: Agent, expert: Tensor, policy: Tensor
) -> tuple[Tensor, Diagnostics]:
    """The discriminator's half of equation eq-game, Ho and Ermon (2016)."""
    discriminator, weight = agent.discriminator, agent.config.gradient_penalty
    expert_logits, policy_logits = discriminator(expert), discriminator(policy)
    loss = -F.logsigmoid(expert_logits).mean() - F.logsigmoid(-policy_logits).mean()
    right = torch.cat([expert_logits > 0, policy_logits < 0]).float().mean()
    diagnostics = {"disc_loss": loss.detach(), "disc_accuracy": right}
    if weight:
        share = torch.rand(len(expert), 1)
        loss = loss + weight * gradient_penalty(discriminator, expert, policy, share)
    return loss, diagnostics


def update_discriminator(
    agent: Agent, expert: DiscriminatorSamples, policy: DiscriminatorSamples
) -> Diagnostics:
    """As many batches as it takes to draw as many rows as the policy has shown,
    `disc_epochs` times, and at least one, however short its rollout; or `disc_updates`
    of them."""
    config, rows = agent.config, len(policy.features)
    updates = config.disc_updates
    if updates is None:
        wanted = config.disc_epochs * rows
        updates = max(min(1, wanted), wanted // config.disc_batch_size)
    shown = torch.cat([expert.draw(rows), policy.draw(rows)])
    agent.discriminator.inputs.update(shown)
    diagnostics: Diagnostics = {}
    for _ in range(updates):
        batches = (side.draw(config.disc_batch_size) for side in (expert, policy))
        loss, diagnostics = discriminator_loss(agent, *batches)
        agent.optimiser.zero_grad()
        loss.backward()
        agent.optimiser.step()
    return diagnostics


@torch.no_grad()
def relabel_rewards(agent: Agent, rollout: ppo.Rollout) -> tuple[ppo.Rollout, Tensor]:
    """The rollout with the discriminator's rewards, and what each end is worth in units
    of V: an absorbing state gives the same reward for ever. Equation eq-worth,
    Kostrikov et al. (2019)."""
    config, discriminator = agent.config, agent.discriminator
    terminal_value = torch.zeros_like(rollout.reward)
    if config.terminal != "zero":
        state = terminal_features(agent, agent.policy.encode_obs(rollout.next_obs))
        terminal_value = config.absorbing_scale * config.reward(discriminator(state))
    reward = config.reward(discriminator(played_features(agent, rollout)))
    reward = reward + config.task_reward_weight * rollout.reward
    return rollout._replace(reward=reward), terminal_value


def bc_extra_loss(
    agent: Agent, demonstrations: Sequence[Episode]
) -> Callable[[], Tensor]:
    """Behaviour cloning's loss on another batch each time, with its weight."""
    policy, weight = agent.policy, agent.config.bc_weight
    if not weight:
        return ppo.no_extra_loss
    shown = Transitions.from_episodes(demonstrations)
    data = shown.encoded(policy.encode_obs, policy.encode_action)
    size = min(agent.config.generator.batch_size, len(data))
    return lambda: weight * bc.loss(policy, data.sample(size))[0]


def train(
    agent: Agent,
    envs: VectorEnv,
    demonstrations: Sequence[Episode],
    steps: int,
    seed: int,
    warn: bool = True,
) -> Iterator[tuple[int, Diagnostics]]:
    """Play until there have been at least `steps`, in whole rollouts; each update is
    yielded.

    Warns if episodes end early and an end is worth nothing, unless told that this is
    meant.
    """
    generator, config = agent.generator, agent.config.generator
    expert = expert_samples(agent, demonstrations)
    extra_loss = bc_extra_loss(agent, demonstrations)
    collector = ppo.Collector(agent.policy, envs, seed, stream=agent.step)
    while agent.step < steps:
        rollout = collector.rollout(config.num_steps, config.episodic)
        if warn and agent.config.terminal == "zero" and rollout.terminated.any():
            warn = False
            warnings.warn(
                "Episodes end early, and an end is worth nothing: the learner can earn"
                " by ending sooner or later than the demonstrations. See 'Who pays for"
                " the end?' in the chapter on GAIL. Use terminal='absorbing' or"
                " 'absorbing_per_state', or say warn=False.",
                stacklevel=2,
            )
        diagnostics = update_discriminator(
            agent, expert, policy_samples(agent, rollout)
        )
        rollout, terminal_value = relabel_rewards(agent, rollout)
        diagnostics |= {
            "disc_reward": rollout.reward.mean(),
            "lowest_disc_reward": rollout.reward.min(),
            "positive_reward_fraction": (rollout.reward > 0).float().mean(),
        }
        diagnostics |= ppo.update(generator, rollout, terminal_value, extra_loss)
        for _ in range(agent.config.bc_updates):
            generator.optimiser.zero_grad()
            extra_loss().backward()
            generator.optimiser.step()
        agent.step += rollout.reward.numel()
        ppo.anneal(generator, agent.step / steps)
        yield agent.step, diagnostics


class DiscriminatorRewardEnv(gym.Wrapper[np.ndarray, Any, np.ndarray, Any]):
    """The world in which the discriminator rewards, for any learner that can be trained
    in a world (here: DQN).

    Rewards are multiplied by the generator's `reward_scale`. An end is rewarded at once
    with all that its absorbing state would ever give, one step later. Every `num_steps`
    steps the discriminator learns from them. A replay remembers rewards as they were
    when it was played.
    """

    def __init__(
        self, env: gym.Env[Any, Any], agent: Agent, demonstrations: Sequence[Episode]
    ) -> None:
        super().__init__(env)
        self._agent = agent
        self._expert = expert_samples(agent, demonstrations)
        self._steps: list[Tensor] = []
        self._times: list[int] = []
        self._ends: list[Tensor] = []
        self._final_times: list[int] = []

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        obs, info = self.env.reset(seed=seed, options=options)
        self._obs, self._time = self._agent.policy.encode_array(obs), 0
        return obs, info

    @torch.no_grad()
    def _reward(self, row: Tensor) -> float:
        return float(self._agent.config.reward(self._agent.discriminator(row)))

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        agent, config = self._agent, self._agent.config
        obs, _, terminated, truncated, info = self.env.step(action)
        unit_action = agent.policy.encode_action(torch.as_tensor(action))
        row = features(agent, self._obs, unit_action)
        self._obs = agent.policy.encode_array(obs)
        self._steps.append(row)
        self._times.append(self._time)
        self._time += 1
        reward = config.generator.reward_scale * self._reward(row)
        if terminated:
            self._ends.append(self._obs)
            self._final_times.append(self._time)
            if config.terminal != "zero":
                for_ever = self._reward(terminal_features(agent, self._obs))
                reward += config.generator.gamma * config.absorbing_scale * for_ever
        if len(self._steps) == config.generator.num_steps:
            self._learn()
        return obs, reward, terminated, truncated, info

    def _learn(self) -> None:
        agent = self._agent
        ends = torch.stack(self._ends) if self._ends else self._obs[None][:0]
        times, final_times = torch.tensor(self._times), torch.tensor(self._final_times)
        shown = samples(agent, torch.stack(self._steps), times, ends, final_times)
        with torch.enable_grad():
            update_discriminator(agent, self._expert, shown)
        for shown_rows in (self._steps, self._times, self._ends, self._final_times):
            shown_rows.clear()
