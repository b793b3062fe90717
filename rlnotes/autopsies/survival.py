"""What the discriminator really rewards (`gail/cartpole`, `gail/acrobot`).

Symptom: GAIL solves CartPole with a discriminator that was never trained, and on
Acrobot it never swings up.
Cause: −log(1 − D) is positive whatever D says, and an end is worth nothing. So every
step is worth having, and an end is a loss: that keeps a pole up without any
demonstration, and keeps an arm from doing what was shown.
Diagnostic: the share of steps with a reward above 0. At 1, the reward is a bonus for
being alive, at 0 a price for it; in both cases the length of an episode is rewarded
first, and its likeness to the demonstrations second. It reads the reward and not the
result, so it is known before any training.
"""

from typing import Any

import torch
from torch import Tensor

from rlnotes.algos import gail

# Of gail.Config:
FAULT: dict[str, Any] = {"reward": gail.gail_reward, "terminal": "zero"}

# Controls, none of which looks at the demonstrations in the right way.


def swapped_gail_reward(logit: Tensor) -> Tensor:
    """−log(1 − D) of a discriminator whose labels are exchanged."""
    return gail.gail_reward(-logit)


def swapped_airl_reward(logit: Tensor) -> Tensor:
    return gail.airl_reward(-logit)


def constant_reward(logit: Tensor) -> Tensor:
    return torch.ones_like(logit)


def no_reward(logit: Tensor) -> Tensor:
    return torch.zeros_like(logit)


def hundredfold_airl_reward(logit: Tensor) -> Tensor:
    """The right reward, and much more of it."""
    return 100 * gail.airl_reward(logit)


def fires(positive_reward_fraction: float, terminal: gail.Terminal) -> bool:
    """Whether the length of an episode is what is rewarded."""
    return terminal == "zero" and positive_reward_fraction in {0.0, 1.0}
