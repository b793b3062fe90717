"""GAIL without a world: the states are always the demonstrator's own, only the actions are the learner's.

    max_D  E[ log D(s, a_expert) ] + E[ log(1 − D(s, a)) ],   a ~ π(·|s)                   `gail.discriminator_loss`
    ∇J = E[ ∇ log π(a|s) A ],   A = reward(D(s, a)), standardised over the batch           `policy_loss`

No action has consequences here, so there is no return, only a reward. In the best case D = π_expert / (π_expert + π),
and the game ends where π = π_expert on these states: where behaviour cloning goes without a game.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from rlnotes.algos import gail, ppo
from rlnotes.data.transitions import Transitions

Diagnostics = dict[str, Tensor]


def policy_loss(log_prob: Tensor, reward: Tensor) -> Tensor:
    advantage = (reward - reward.mean()) / (reward.std() + 1e-8)
    return -(log_prob * advantage).mean()


def update(agent: gail.Agent, data: Transitions) -> Diagnostics:
    """`epochs` steps of the discriminator, then one of the policy, each on a batch of its own."""
    policy, size = agent.policy, agent.config.batch_size
    for _ in range(agent.config.epochs):
        shown, asked = data.sample(size), data.sample(size)
        with torch.no_grad():
            answer = ppo.distribution(policy, asked.obs).sample()
        rows = gail.features(agent, shown.obs, shown.action.squeeze(-1)), gail.features(agent, asked.obs, answer)
        loss, diagnostics = gail.discriminator_loss(agent, *rows)
        agent.optimiser.zero_grad()
        loss.backward()
        agent.optimiser.step()

    obs = data.sample(size).obs
    chances = ppo.distribution(policy, obs)
    action = chances.sample()
    with torch.no_grad():
        reward = agent.config.reward(agent.discriminator(gail.features(agent, obs, action)))
    agent.learner.optimiser.zero_grad()
    policy_loss(chances.log_prob(action), reward).backward()
    agent.learner.optimiser.step()
    return diagnostics | {"paid": reward.mean(), "entropy": chances.entropy().detach().mean()}


def agreement(agent: gail.Agent, data: Transitions) -> float:
    """The share of demonstrated states in which the policy would do what was done."""
    rows = data.all()
    with torch.no_grad():
        chosen = agent.policy.net(rows.obs).argmax(-1)
    return float((chosen == rows.action.squeeze(-1)).float().mean())


def train(agent: gail.Agent, data: Transitions, updates: int) -> Iterator[tuple[int, Diagnostics]]:
    """`updates` of the policy, for discrete actions. `data` is in the policy's units."""
    assert agent.policy.head == "argmax"
    for step in range(1, updates + 1):
        yield step, update(agent, data)
