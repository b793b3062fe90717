"""The one owner of the rule that nothing is reported on starts that were seen before.

Every seed handed to `env.reset` comes from `reset_seeds`. Seeds for training and
collecting lie below 2**30, those for evaluation between 2**30 and 2**31, and those for
curves along the way and the choice of the best policy between 2**31 and 2**31 + 2**30.
So they can never meet, whatever the run's own seed: a policy is neither trained nor
selected on a start that its result is reported on.
"""

from typing import Literal

import numpy as np

Purpose = Literal["train", "select", "evaluate"]

_EACH = 2**30
_OFFSETS = {"train": 0, "evaluate": _EACH, "select": 2 * _EACH}


def reset_seeds(purpose: Purpose, seed: int, count: int, stream: int = 0) -> list[int]:
    """`count` seeds for `env.reset`, the same ones for the same arguments.

    Another `stream` gives other starts for the same purpose: a run that is resumed does
    not train on its first starts again.
    """
    for name, number in (("seed", seed), ("stream", stream)):
        if number < 0:
            raise ValueError(f"a {name} is a non-negative integer, not {number}")
    offset = _OFFSETS[purpose]
    key = [seed, offset, stream] if stream else [seed, offset]
    draws = np.random.default_rng(key).integers(_EACH, size=count)
    return [int(draw) + offset for draw in draws]
