"""A discriminator that has nothing to say (`gail/racecar-ppo`, `gail/cartpole`).

Symptom: the rewards of the discriminator lead nowhere, or always to the same place.
Cause: either it has *won*: it is certain of every step, so that what the learner does
better is hardly paid for. (It may have won because the learner does not learn for
another reason: that comes first.) Or it has gone *flat*: it tells nothing apart that is
plainly different, mostly because its slope was penalised too hard, by the coefficient
or by a feature that is magnified (`constant_feature`).
Diagnostic: of a discriminator that has won, its loss. It is 2 log 2 = 1.39 where it
guesses, and stays near that where the learner comes close. Of a flat one the accuracy
beside that of a straight line through the same features, which needs no training. An
accuracy of a half alone is no fault: where the learner does what was shown, nobody can
tell them apart.
"""

import numpy as np

# Mean likelihood of the right answer: e^(−0.3 / 2) = 0.86. Of the recorded GAILs, those
# that learn end between 1.0 and 1.5.
WON_LOSS = 0.3

# What a straight line may be better by. Chance is some hundredths in a batch of 256.
FLAT_GAP = 0.2


def accuracy(expert_logits: np.ndarray, policy_logits: np.ndarray) -> float:
    """The share of rows on the right side, of both sides together."""
    right = np.concatenate([expert_logits > 0, policy_logits < 0])
    return float(right.mean())


def loss(expert_logits: np.ndarray, policy_logits: np.ndarray) -> float:
    """−log D of the expert's rows minus log(1 − D) of the policy's."""
    costs = np.logaddexp(0, -expert_logits), np.logaddexp(0, policy_logits)
    return float(sum(cost.mean() for cost in costs))


def linear_accuracy(expert_features: np.ndarray, policy_features: np.ndarray) -> float:
    """Of the best straight line, by least squares."""
    rows = np.concatenate([expert_features, policy_features]).astype(float)
    rows = (rows - rows.mean(0)) / np.maximum(rows.std(0), 1e-6)
    rows = np.column_stack([rows, np.ones(len(rows))])
    sides = np.repeat([1.0, -1.0], [len(expert_features), len(policy_features)])
    said = rows @ np.linalg.lstsq(rows, sides, rcond=None)[0]
    return accuracy(said[sides > 0], said[sides < 0])


def has_won(disc_loss: float) -> bool:
    """Whether it is certain of nearly every step."""
    return disc_loss < WON_LOSS


def is_flat(disc_accuracy: float, linear_accuracy: float) -> bool:
    """Whether it misses what a straight line sees."""
    return linear_accuracy - disc_accuracy > FLAT_GAP
