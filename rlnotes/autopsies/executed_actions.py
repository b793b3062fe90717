"""What the mixture did, taken for what the learner would do
(`bipedal/aggrevated-reinforce`, `bipedal/aggrevated-ppo`).

Symptom: the learner gets the expert's Q* and becomes no better than a clone of it, or
not even that.
Cause: ∇J = E[∇log π(a|s) A*(s, a)] holds for actions of the learner. The notes put the
executed ones in, which were the expert's as long as β is large. This pulls the learner
towards whatever was played, as hard as Q* is large in that *state*: weighted cloning.
With A* itself nothing happens at all, because A* of the expert's own action is 0: the
learner is told nothing about any other action.
Diagnostic: let every action weigh the same. For the learner's own draws the gradient is
0 but for chance, E[∇log π(a|s)] = 0; it fires where it is far from that. It reads the
actions and not the result, so it is known at the first update.
"""

from typing import Any

from torch import Tensor

from rlnotes.algos import ppo
from rlnotes.algos.aggrevated import Rows
from rlnotes.algos.policy import Policy

# In standard errors, of the largest among a few hundred correlations: chance alone is
# above it less than once in ten thousand updates.
TOLERANCE = 5.0


def executed_actions(
    policy: Policy, outputs: Tensor, rows: Rows
) -> tuple[Tensor, Tensor]:
    """The fault: whoever played it, the action counts as the learner's."""
    dist = ppo.output_distribution(policy, outputs.detach())
    return rows.executed, dist.log_prob(rows.executed)


# Of aggrevated.Config, whose gradient must be "sampled":
FAULT: dict[str, Any] = {"actions": executed_actions}


def fires(first_score_deviation: float) -> bool:
    """Whether the actions of an update were not drawn from the learner."""
    return first_score_deviation > TOLERANCE
