"""A loss that shrugs at the end of the track (`parallel/dqn`).

Symptom: returns climb to the full length and fall back, again and again. Episodes that
fail end far from where they began: the pole stands, and the cart drives off the track.
Cause: an end is one row in hundreds, and Q is wrong there by all that it expects to
come. The Huber loss, which DQN is known for, pulls no harder at an error of ninety than
at one of 1, so that where a network cannot have both it lets the ends go, and Q stays
high up to the edge. Rewards on Atari are clipped to 1 and rare, and its errors are
small; CartPole pays 1 for every step, and its Q is near 100. A squared error pulls
ninety times as hard.
Diagnostic: of rows that end the task the target is known, it is their reward and
nothing else. How far Q is from it there says whether it sees the end coming.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from rlnotes.data.transitions import Batch

# Of dqn.Config:
FAULT: dict[str, Any] = {"loss": F.smooth_l1_loss}

# Of what a row is worth on average. With a squared error the share falls while Q
# learns, and is below this at the first look; with Huber's it is above, or rises.
LARGEST_SHARE = 0.25


@torch.no_grad()
def end_error(q: nn.Module, replay: Batch) -> float:
    """The mean of |Q(s, a) − r| over the rows of an encoded replay that end the task,
    of which there must be some."""
    ends = Batch(*(column[replay.terminated == 1] for column in replay))
    value = q(ends.obs).gather(1, ends.action.long()).squeeze(1)
    return float((value - ends.reward).abs().mean())


def fires(end_error: float, q_data: float) -> bool:
    """Whether Q at the ends is off by a large part of the mean Q of all rows."""
    return end_error > LARGEST_SHARE * abs(q_data)
