"""GAIL: a discriminator learns to tell demonstrations from the learner, and pays the learner (Ho & Ermon, 2016).

    max_D  E_expert[ log D(s, a) ] + E_learner[ log(1 − D(s, a)) ],   D = σ(logit)        `discriminator_loss`

What it pays is a choice, and the choice is not innocent (`REWARDS`): the first is never negative, so that living
longer always pays; the second never positive, so that ending soon does; the third takes either sign.

What it pays *after the end* is a choice, too (`Config.after_end`), and where episodes can end early the two decide
more than the demonstrations do. If nothing is paid, as is usual, an end is worth 0 whatever the discriminator thinks
of it. If the episode goes on for ever in an absorbing state (Kostrikov et al., 2019), the discriminator sees that
state on both sides, and judges and pays it like any other.

The learner is PPO, or REINFORCE as a special case of it. It sees no reward of the task unless asked to. It may clone
the demonstrations at the same time (`Config.cloning`; Jena et al., 2020).
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
from gymnasium.wrappers.utils import RunningMeanStd
from torch import Tensor, nn

from rlnotes.algos import bc, ppo
from rlnotes.algos.networks import adam, mlp
from rlnotes.algos.policy import Policy
from rlnotes.data.rollouts import Episode
from rlnotes.data.transitions import Transitions

Diagnostics = dict[str, Tensor]
Reward = Callable[[Tensor], Tensor]
AfterEnd = Literal["nothing", "nowhere", "in place"]

REWARDS: dict[str, Reward] = {
    "survive": F.softplus,  # −log(1 − D), as in the paper's code and in the notes: ≥ 0
    "hurry": F.logsigmoid,  # log D: ≤ 0
    "either": lambda logit: logit,  # log D − log(1 − D)
}


@dataclass(frozen=True)
class Config:
    reward: Reward = REWARDS["either"]
    after_end: AfterEnd = "in place"  # absorbing states: where each episode ended, or one for all of them
    gradient_penalty: float = 10.0
    spectral: bool = False  # bound the discriminator's slope by its weights instead
    epochs: int = 2  # of the discriminator, over as many steps as each rollout has
    batch_size: int = 256
    learning_rate: float = 3e-4
    hidden: tuple[int, ...] = (64, 64)
    sees_actions: bool = True  # False: states alone are compared
    task_weight: float = 0.0  # of the task's own reward, where it is to count as well
    cloning: float = 0.0  # weight of behaviour cloning in the learner's loss
    learner: ppo.Config = field(default_factory=ppo.Config)


class Discriminator(nn.Module):
    """The logit of "this was a demonstration". Its inputs are standardised by what both sides have shown so far."""

    def __init__(self, width: int, config: Config) -> None:
        super().__init__()
        self.net = mlp([width, *config.hidden, 1])
        if config.spectral:
            for layer in self.net:
                if isinstance(layer, nn.Linear):
                    nn.utils.parametrizations.spectral_norm(layer)
        self.seen = RunningMeanStd(shape=(width,))

    def forward(self, features: Tensor) -> Tensor:
        mean, deviation = (torch.as_tensor(x, dtype=torch.float32) for x in (self.seen.mean, self.seen.var**0.5))
        return self.net((features - mean) / (deviation + 1e-3)).squeeze(-1)


class Agent:
    def __init__(self, policy: Policy, config: Config) -> None:
        self.config = config
        self.policy = policy
        self.learner = ppo.Agent(policy, config.learner)
        actions = policy.choices if policy.head == "argmax" else policy.action_dim
        self.discriminator = Discriminator(policy.obs_dim + actions + 1, config)
        self.optimiser = adam(self.discriminator.parameters(), config.learning_rate)


class Shown(NamedTuple):
    """What one side shows to the discriminator, and how much each row counts."""

    features: Tensor
    weight: Tensor

    def draw(self, size: int) -> Tensor:
        return self.features[torch.multinomial(self.weight, size, replacement=True)]


def features(agent: Agent, obs: Tensor, action: Tensor) -> Tensor:
    """Standardised observations, actions one-hot or in [−1, 1], and a 0: the episode is going on."""
    policy = agent.policy
    did = F.one_hot(action.long(), policy.choices).float() if policy.head == "argmax" else action
    return torch.cat([obs, did * float(agent.config.sees_actions), torch.zeros_like(obs[..., :1])], dim=-1)


def ended_features(agent: Agent, last_obs: Tensor) -> Tensor:
    """The absorbing state: no action, a 1, and either nothing else or the observation with which the episode ended."""
    place = last_obs if agent.config.after_end == "in place" else torch.zeros_like(last_obs)
    rest = torch.zeros(*place.shape[:-1], agent.discriminator.seen.mean.shape[0] - place.shape[-1])
    rest[..., -1] = 1
    return torch.cat([place, rest], dim=-1)


def shown(agent: Agent, going_on: Tensor, last_obs: Tensor) -> Shown:
    """One side: the features of its steps, and the absorbing states in which its episodes ended.

    Such a state lasts for ever and counts as much as all of its discounted future, 1 / (1 − γ) steps.
    """
    weight = torch.ones(len(going_on))
    if agent.config.after_end == "nothing":
        return Shown(going_on, weight)
    stay = torch.full((len(last_obs),), 1 / (1 - agent.config.learner.discount))
    return Shown(torch.cat([going_on, ended_features(agent, last_obs)]), torch.cat([weight, stay]))


def shown_by_expert(agent: Agent, demonstrations: Sequence[Episode]) -> Shown:
    """Only episodes that were terminated end; one that ran out of time has shown all that it can."""
    policy = agent.policy
    obs, action = (
        torch.as_tensor(np.concatenate(rows), dtype=torch.float32)
        for rows in ([e.observations[:-1] for e in demonstrations], [e.actions for e in demonstrations])
    )
    last = [e.observations[-1] for e in demonstrations if e.terminated]
    last_obs = torch.as_tensor(np.array(last).reshape(len(last), policy.obs_dim), dtype=torch.float32)
    action = action if policy.head == "argmax" else policy.encode_action(action)
    return shown(agent, features(agent, policy.encode_obs(obs), action), policy.encode_obs(last_obs))


def played_features(agent: Agent, rollout: ppo.Rollout) -> Tensor:
    action = rollout.action if agent.policy.head == "argmax" else torch.tanh(rollout.action)
    return features(agent, rollout.obs, action)


def shown_by_learner(agent: Agent, rollout: ppo.Rollout) -> Shown:
    return shown(agent, played_features(agent, rollout).flatten(0, 1), rollout.next_obs[rollout.terminated.bool()])


def gradient_penalty(discriminator: Discriminator, expert: Tensor, learner: Tensor, share: Tensor) -> Tensor:
    """How far the slope is from 1 on points between the two sides; `share` says where between."""
    between = (share * expert + (1 - share) * learner).requires_grad_()
    (slope,) = torch.autograd.grad(discriminator(between).sum(), between, create_graph=True)
    return (slope.norm(dim=-1) - 1).square().mean()


def discriminator_loss(agent: Agent, expert: Tensor, learner: Tensor) -> tuple[Tensor, Diagnostics]:
    on_expert, on_learner = agent.discriminator(expert), agent.discriminator(learner)
    loss = -F.logsigmoid(on_expert).mean() - F.logsigmoid(-on_learner).mean()
    right = torch.cat([on_expert > 0, on_learner < 0]).float().mean()
    diagnostics = {"discriminator_loss": loss.detach(), "told_apart": right}
    if agent.config.gradient_penalty:
        share = torch.rand(len(expert), 1)
        loss = loss + agent.config.gradient_penalty * gradient_penalty(agent.discriminator, expert, learner, share)
    return loss, diagnostics


def update_discriminator(agent: Agent, expert: Shown, learner: Shown) -> Diagnostics:
    """As many batches as it takes to draw as many rows as the learner has shown, `epochs` times."""
    config, rows = agent.config, len(learner.features)
    agent.discriminator.seen.update(torch.cat([expert.draw(rows), learner.draw(rows)]).numpy())
    diagnostics: Diagnostics = {}
    for _ in range(config.epochs * rows // config.batch_size):
        loss, diagnostics = discriminator_loss(agent, expert.draw(config.batch_size), learner.draw(config.batch_size))
        agent.optimiser.zero_grad()
        loss.backward()
        agent.optimiser.step()
    return diagnostics


@torch.no_grad()
def paid(agent: Agent, rollout: ppo.Rollout) -> tuple[ppo.Rollout, Tensor]:
    """The rollout with what the discriminator pays for it, and what each end is worth.

    The mean reward of an absorbing state is the reward that it always gives.
    """
    pay, discriminator = agent.config.reward, agent.discriminator
    worth = torch.zeros_like(rollout.reward)
    if agent.config.after_end != "nothing":
        worth = pay(discriminator(ended_features(agent, rollout.next_obs)))
    reward = pay(discriminator(played_features(agent, rollout))) + agent.config.task_weight * rollout.reward
    return rollout._replace(reward=reward), worth


def cloning_loss(agent: Agent, demonstrations: Sequence[Episode]) -> Callable[[], Tensor]:
    """Behaviour cloning's loss on another batch each time, as much as it is to count."""
    policy, weight = agent.policy, agent.config.cloning
    data = Transitions.from_episodes(demonstrations).encoded(policy.encode_obs, policy.encode_action)
    size = min(agent.config.learner.batch_size, len(data))
    return lambda: weight * bc.imitation_loss(policy, data.sample(size))[0] if weight else torch.zeros(())


def train(
    agent: Agent, envs: VectorEnv, demonstrations: Sequence[Episode], steps: int, seed: int, warn: bool = True
) -> Iterator[tuple[int, Diagnostics]]:
    """At least `steps` environment steps; yields after each rollout.

    Warns if episodes end early and nothing is paid after that, unless told that this is meant.
    """
    expert, clone = shown_by_expert(agent, demonstrations), cloning_loss(agent, demonstrations)
    player, length = ppo.Player(agent.policy, envs, seed), agent.config.learner.length
    for step in ppo.rollout_ends(steps, length * envs.num_envs):
        rollout = player.rollout(length)
        if warn and agent.config.after_end == "nothing" and rollout.terminated.any():
            warn = False
            warnings.warn(
                "Episodes end early, and nothing is paid after the end: the learner can earn by ending sooner or later"
                " than the demonstrations. See 'Who pays for the end?' in the chapter on GAIL. Use after_end='nowhere'"
                " or 'in place', or say warn=False.",
                stacklevel=2,
            )
        diagnostics = update_discriminator(agent, expert, shown_by_learner(agent, rollout))
        rollout, worth = paid(agent, rollout)
        paying = {"paid": rollout.reward.mean(), "paid_above_0": (rollout.reward > 0).float().mean()}
        yield step, diagnostics | paying | ppo.update(agent.learner, rollout, worth, clone)
        ppo.slow_down(agent.learner, step / steps)


class Paid(gym.Wrapper[np.ndarray, Any, np.ndarray, Any]):
    """The world in which the discriminator pays, for any learner that can be trained in a world (here: DQN).

    Rewards are multiplied by 1 − γ, so that values are means, as in `ppo`. An end is paid at once with all that its
    absorbing state would ever give: (1 − γ) Σ γ^k r = r, one step later. Every `length` steps the discriminator learns
    from them. A replay remembers what was paid when it was played.
    """

    def __init__(self, env: gym.Env[Any, Any], agent: Agent, demonstrations: Sequence[Episode]) -> None:
        super().__init__(env)
        self._agent = agent
        self._expert = shown_by_expert(agent, demonstrations)
        self._steps: list[Tensor] = []
        self._ends: list[Tensor] = []

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        obs, info = self.env.reset(seed=seed, options=options)
        self._obs = self._encoded(obs)
        return obs, info

    def _encoded(self, obs: np.ndarray) -> Tensor:
        return self._agent.policy.encode_obs(torch.as_tensor(obs, dtype=torch.float32))

    @torch.no_grad()
    def _pay(self, row: Tensor) -> float:
        return float(self._agent.config.reward(self._agent.discriminator(row)))

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        agent = self._agent
        obs, _, terminated, truncated, info = self.env.step(action)
        row = features(agent, self._obs, agent.policy.encode_action(torch.as_tensor(action)))
        self._obs = self._encoded(obs)
        self._steps.append(row)
        discount = agent.config.learner.discount
        reward = (1 - discount) * self._pay(row)
        if terminated:
            self._ends.append(self._obs)
            if agent.config.after_end != "nothing":
                reward += discount * self._pay(ended_features(agent, self._obs))
        if len(self._steps) == agent.config.learner.length:
            ends = torch.stack(self._ends) if self._ends else torch.zeros(0, len(self._obs))
            with torch.enable_grad():
                update_discriminator(agent, self._expert, shown(agent, torch.stack(self._steps), ends))
            self._steps.clear()
            self._ends.clear()
        return obs, reward, terminated, truncated, info
