"""Recorded policies for the page on which the reader plays CartPole.

A page that is opened from disk may load scripts, but no data. So the policies are a
script: one assignment of JSON. `python -m rlnotes.report.play` writes it again.
"""

import base64
import json
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor, nn

from rlnotes import paths
from rlnotes.algos.policy import Policy
from rlnotes.report.results import Results
from rlnotes.runs import evaluate
from rlnotes.runs.store import Record

SCRIPT = "book/assets/play/policies.js"
HEAD = "// Written by rlnotes/report/play.py from the records of the book.\n"
LARGEST = 2**15 - 1  # of the integers that stand for weights


class Player(NamedTuple):
    """Whose policy it is, and which: the median seed's, or the worst one's."""

    id: str
    variant: str
    worst: bool = False

    def record(self) -> Record:
        if not self.worst:
            return evaluate.median_record(self.id, self.variant)
        found = Results(self.id).records(self.variant)
        return min(found, key=lambda record: record.last("final_return"))


# By the names that the page has for them.
PLAYERS = {
    "dqn": Player("parallel/dqn", "dqn"),
    "dqn-huber": Player("parallel/dqn", "huber", worst=True),
    "gail": Player("gail/cartpole", "ten"),
    "gail-swapped": Player("gail/cartpole", "swapped-zero"),
    "gail-untrained": Player("gail/cartpole", "untrained-zero"),
}


def as_integers(tensor: Tensor) -> dict[str, Any]:
    """Multiples of a `step`, in 16 bits each: half the bytes of float32, and no number
    is off by more than half a step."""
    numbers = tensor.detach().double().numpy()
    step = float(np.abs(numbers).max()) / LARGEST or 1.0
    integers = np.rint(numbers / step).astype("<i2")
    return {"step": step, "integers": base64.b64encode(integers.tobytes()).decode()}


def as_json(policy: Policy) -> dict[str, Any]:
    """A policy whose network is linear layers with ReLU between them."""
    assert (policy.head, policy.activation) == ("argmax", "relu")
    assert not policy.layer_norm
    linear = [layer for layer in policy.net if isinstance(layer, nn.Linear)]
    return {
        "obs_mean": policy.obs_mean.tolist(),
        "obs_std": policy.obs_std.tolist(),
        "layers": [
            {"weight": as_integers(layer.weight), "bias": as_integers(layer.bias)}
            for layer in linear
        ],
    }


def recorded(player: Player) -> dict[str, Any]:
    """A policy, and what its record says of it. One with a `gamma` puts out Q, sums
    that are discounted so; the others put out what they prefer."""
    record, results = player.record(), Results(player.id)
    return {
        "id": player.id,
        "variant": player.variant,
        "seed": record.run.seed,
        "rank": "worst" if player.worst else "median",
        "seeds": len(results.records(player.variant)),
        "final_return": record.last("final_return"),
        "gamma": record.settings["agent"].get("gamma"),
        **as_json(results.policy(player.variant, record.run.seed)),
    }


def script() -> str:
    """One line for each player."""
    lines = [
        f"{json.dumps(name)}: {json.dumps(recorded(player))}"
        for name, player in PLAYERS.items()
    ]
    return f"{HEAD}const POLICIES = {{\n" + ",\n".join(lines) + "\n};\n"


if __name__ == "__main__":
    (paths.root() / SCRIPT).write_text(script())
