"""TD3+BC: offline learning by adding one term to TD3 (Fujimoto & Gu, 2021).

TD3 maximises the critic; TD3+BC also stays near the actions of the dataset:

    π = argmax E[ λ Q1(s, π(s)) − (π(s) − a)² ],   λ = α / mean|Q1(s, π(s))|
                                                                            `actor_loss`
    y = r + γ (1 − terminated) min(Q1', Q2')(s', π'(s') + ε),  ε ~ clip(N(0, σ²), ±c)
                                                                         `critic_target`

Observations are standardised with the dataset's mean and deviation. Networks and noise
work with actions in [−1, 1]; the distance (π(s) − a)² is measured in the environment's
own units, as in the authors' code. `bc_weight = 0` gives plain TD3.
"""

import copy
from collections.abc import Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from rlnotes.algos.bc import bc_error
from rlnotes.algos.networks import TwinQ, adam, check_gamma, polyak_update
from rlnotes.algos.policy import Policy, require_head
from rlnotes.data.transitions import Batch, Transitions

Diagnostics = dict[str, Tensor]


@dataclass(frozen=True)
class Config:
    alpha: float = 2.5  # how much the critic counts against imitation
    bc_weight: float = 1.0  # not in the paper, where it is 1. 0: plain TD3
    gamma: float = 0.99
    tau: float = 0.005  # speed of the target networks
    target_policy_noise: float = 0.2  # σ of the smoothing noise, in units of [−1, 1]
    target_noise_clip: float = 0.5
    policy_delay: int = 2  # critic updates per actor update
    learning_rate: float = 3e-4
    batch_size: int = 256
    hidden: tuple[int, ...] = (256, 256)

    def __post_init__(self) -> None:
        check_gamma(self.gamma)


class Agent:
    """The policy, its critics, their slow copies, and the optimisers."""

    def __init__(self, policy: Policy, config: Config) -> None:
        require_head(policy, "TD3+BC", "tanh")
        self.config = config
        self.policy = policy
        self.critic = TwinQ(policy.obs_shape, policy.action_dim, config.hidden)
        self.target_policy = copy.deepcopy(self.policy)
        self.target_critic = copy.deepcopy(self.critic)
        self.policy_optimiser = adam(self.policy.net.parameters(), config.learning_rate)
        self.critic_optimiser = adam(self.critic.parameters(), config.learning_rate)
        self.step = 0  # updates


@torch.no_grad()
def critic_target(agent: Agent, batch: Batch, noise: Tensor) -> Tensor:
    """The value both critics should have had: `noise` is standard normal, one number
    per action. Equation eq-target, Fujimoto et al. (2018)."""
    config = agent.config
    clip = config.target_noise_clip
    smoothing = (noise * config.target_policy_noise).clamp(-clip, clip)
    next_action = (agent.target_policy(batch.next_obs) + smoothing).clamp(-1, 1)
    next_q = torch.minimum(*agent.target_critic(batch.next_obs, next_action))
    # Only a real end cuts the future off. At a time limit the pendulum goes on; we only
    # stop watching.
    return batch.reward + config.gamma * (1 - batch.terminated) * next_q


def critic_loss(
    critic: TwinQ, batch: Batch, target: Tensor
) -> tuple[Tensor, Diagnostics]:
    q1, q2 = critic(batch.obs, batch.action)
    loss = F.mse_loss(q1, target) + F.mse_loss(q2, target)
    return loss, {"critic_loss": loss.detach(), "q_data": q1.detach().mean()}


def actor_loss(
    policy: Policy, critic: TwinQ, batch: Batch, config: Config
) -> tuple[Tensor, Diagnostics]:
    """Equations eq-actor and eq-lambda, Fujimoto and Gu (2021)."""
    action = policy(batch.obs)
    q = critic.q1(torch.cat([batch.obs, action], dim=-1)).squeeze(-1)
    # Detached: λ only rescales Q. With a gradient through it, shrinking |Q| would
    # itself be rewarded.
    q_weight = config.alpha / q.abs().mean().detach()
    bc_loss = bc_error(policy, action, batch.action)
    loss = -q_weight * q.mean() + config.bc_weight * bc_loss
    return loss, {
        "q_policy": q.detach().mean(),
        "lambda": q_weight,
        "bc_loss": bc_loss.detach(),
    }


def update(agent: Agent, batch: Batch) -> Diagnostics:
    """One step of the critics and, every `policy_delay`-th time, of the policy and the
    targets."""
    config = agent.config
    agent.step += 1

    target = critic_target(agent, batch, torch.randn_like(batch.action))
    loss, diagnostics = critic_loss(agent.critic, batch, target)
    agent.critic_optimiser.zero_grad()
    loss.backward()
    agent.critic_optimiser.step()

    if agent.step % config.policy_delay == 0:
        agent.critic.requires_grad_(False)  # the policy moves, the critic is only asked
        loss, more = actor_loss(agent.policy, agent.critic, batch, config)
        agent.policy_optimiser.zero_grad()
        loss.backward()
        agent.policy_optimiser.step()
        agent.critic.requires_grad_(True)
        diagnostics |= more

        polyak_update(agent.target_policy, agent.policy, config.tau)
        polyak_update(agent.target_critic, agent.critic, config.tau)
    return diagnostics


def train(
    agent: Agent, data: Transitions, steps: int
) -> Iterator[tuple[int, Diagnostics]]:
    """Updates on a fixed dataset until there have been `steps`, each one yielded."""
    encoded = data.encoded(agent.policy.encode_obs, agent.policy.encode_action)
    while agent.step < steps:
        diagnostics = update(agent, encoded.sample(agent.config.batch_size))
        yield agent.step, diagnostics
