"""What the discriminator really pays for (`gail/cartpole`, `gail/acrobot`).

Symptom: GAIL solves CartPole with swapped labels, and on Acrobot it never swings up.
Cause: −log(1 − D) is positive whatever D says, and nothing is paid after the end. So every step is worth having, and
an end is a loss: that keeps a pole up without any demonstration, and keeps an arm from doing what was shown.
Diagnostic: the share of steps that are paid more than 0. At 1, the reward is a bonus for being alive, at 0 a price for
it; in both cases the length of an episode is paid for first, and its likeness to the demonstrations second. It reads
the pay and not the result, so it is known before any training.
"""

import torch
import torch.nn.functional as F

from rlnotes.algos.gail import REWARDS, Reward

FAULT = {"reward": "survive", "after_end": "nothing"}

# Controls, none of which looks at the demonstrations in the right way.
CONTROLS: dict[str, Reward] = {
    "swapped": lambda logit: F.softplus(-logit),  # −log(1 − D) of a discriminator whose labels are exchanged
    "swapped-either": lambda logit: -logit,
    "constant": torch.ones_like,
}
PAYS: dict[str, Reward] = REWARDS | CONTROLS | {"hundredfold": lambda logit: 100 * logit}


def fires(paid_above_0: float, after_end: str) -> bool:
    """Whether the length of an episode is what is paid for."""
    return after_end == "nothing" and paid_above_0 in {0.0, 1.0}
