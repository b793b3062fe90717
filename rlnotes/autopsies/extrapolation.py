"""Why plain TD3 cannot learn from a fixed dataset (`td3bc/pendulum-no-bc`).

Symptom: without the BC term the policy is worse than random play, while its own critic
is content.
Cause: the policy moves to actions the data does not contain, the critic invents their
value, and the next target builds on the invention. Nothing corrects it, because nobody
tries those actions.
Diagnostic: play the policy and compare what the critic promised with what came.
"""

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import torch

from rlnotes.algos.networks import TwinQ
from rlnotes.algos.policy import Policy
from rlnotes.data.rollouts import rollout

FAULT: dict[str, Any] = {"bc_weight": 0.0}  # of td3_bc.Config and sac_bc.Config

# Above this share of |true value| the promise is not to be believed. TD3+BC on expert
# data stays well below it once its critic has settled; a critic that is still sinking
# is above it, too.
TOLERANCE = 0.5


def promised_and_true(
    policy: Policy,
    critic: TwinQ,
    env_id: str,
    seeds: Sequence[int],
    gamma: float,
    horizon: int = 1_000,
) -> dict[str, float]:
    """Mean Q1(s0, π(s0)) over start states, and the discounted return the policy then
    really earns.

    The environment runs for `horizon` steps instead of its usual limit, because the
    critic values an endless task: γ^1000 is 0.00004 for γ = 0.99, so what is cut off
    does not count.
    """

    def endless() -> gym.Env:
        return gym.make(env_id, max_episode_steps=horizon)

    episodes = rollout(endless, policy.act, seeds)
    obs = policy.encode_array(np.stack([e.observations[0] for e in episodes]))
    with torch.no_grad():
        promised = critic.q1(torch.cat([obs, policy(obs)], dim=-1)).mean()
    true = sum(episode.discounted_return(gamma) for episode in episodes) / len(episodes)
    return {"q_promised": float(promised), "q_true": true}


def fires(q_promised: float, q_true: float) -> bool:
    """Whether the critic promises so much more than the policy earns that its values
    are invented."""
    return q_promised - q_true > TOLERANCE * abs(q_true)


def most_allowed(reward_max: float, gamma: float, bonus: float = 0.0) -> float:
    """The largest value that any state can have: the best reward seen, and a `bonus`
    such as that of the entropy, at every step for ever; or an end at once, if that is
    better."""
    return max(0.0, (reward_max + bonus) / (1 - gamma))


def fires_without_play(
    value_mean: float, reward_min: float, reward_max: float, gamma: float, bonus: float
) -> bool:
    """Whether a critic's mean value is beyond what rewards allow, by a large part of
    all that they can make a difference of. Nothing needs to be played for it, so that
    it is known during a training; and it is quiet where values are invented that would
    be possible."""
    size = (max(abs(reward_min), abs(reward_max)) + bonus) / (1 - gamma)
    return value_mean - most_allowed(reward_max, gamma, bonus) > TOLERANCE * size
