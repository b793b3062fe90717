"""GAIL without a world: the states are always the demonstrator's own, only the actions
are the learner's.

    max_D  E[ log D(s, a_expert) ] + E[ log(1 − D(s, a)) ],   a ~ π(·|s)
                                                               `gail.discriminator_loss`
    ∇J = E[ ∇ log π(a|s) A ],   A = reward(D(s, a)), standardised over the batch
                                                                           `policy_loss`

No action has consequences here, so there is no return, only a reward. In the best case
D = π_expert / (π_expert + π), and the game ends where π = π_expert on these states:
where behaviour cloning goes without a game.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from rlnotes.algos import gail, ppo
from rlnotes.algos.policy import Policy, require_head
from rlnotes.data.transitions import Transitions

Diagnostics = dict[str, Tensor]


def policy_loss(log_prob: Tensor, reward: Tensor) -> Tensor:
    advantage = (reward - reward.mean()) / (reward.std() + 1e-8)
    return -(log_prob * advantage).mean()


def update(agent: gail.Agent, data: Transitions) -> Diagnostics:
    """`disc_epochs` steps of the discriminator, then one of the policy, each on a batch
    of its own. `data` is encoded."""
    policy, size = agent.policy, agent.config.disc_batch_size
    for _ in range(agent.config.disc_epochs):
        shown, asked = data.sample(size), data.sample(size)
        with torch.no_grad():
            answer = ppo.distribution(policy, asked.obs).sample()
        expert_rows = gail.features(agent, shown.obs, shown.action.squeeze(-1))
        policy_rows = gail.features(agent, asked.obs, answer)
        loss, diagnostics = gail.discriminator_loss(agent, expert_rows, policy_rows)
        agent.optimiser.zero_grad()
        loss.backward()
        agent.optimiser.step()

    obs = data.sample(size).obs
    dist = ppo.distribution(policy, obs)
    action = dist.sample()
    with torch.no_grad():
        rows = gail.features(agent, obs, action)
        reward = agent.config.reward(agent.discriminator(rows))
    optimiser = agent.generator.optimiser
    optimiser.zero_grad()
    policy_loss(dist.log_prob(action), reward).backward()
    optimiser.step()
    agent.step += 1
    entropy = dist.entropy().detach().mean()
    return diagnostics | {"disc_reward": reward.mean(), "entropy": entropy}


def agreement(policy: Policy, data: Transitions) -> float:
    """The share of demonstrated states in which the policy would do what was done."""
    rows = data.all()
    with torch.no_grad():
        chosen = policy.net(policy.encode_obs(rows.obs)).argmax(-1)
    return float((chosen == rows.action.squeeze(-1)).float().mean())


def train(
    agent: gail.Agent, data: Transitions, steps: int
) -> Iterator[tuple[int, Diagnostics]]:
    """Updates on a fixed dataset until there have been `steps`, each one yielded; for
    discrete actions."""
    require_head(agent.policy, "offline GAIL", "argmax")
    encoded = data.encoded(agent.policy.encode_obs, agent.policy.encode_action)
    while agent.step < steps:
        diagnostics = update(agent, encoded)
        yield agent.step, diagnostics
