"""Recorded policies for the page on which the reader plays CartPole, and the judges
that paid them, where there were any.

A page that is opened from disk may load scripts, but no data. So the policies are a
script: one assignment of JSON. `python -m rlnotes.report.play` writes it again.
"""

import base64
import json
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from rlnotes import paths
from rlnotes.algos import gail
from rlnotes.algos.policy import Policy
from rlnotes.experiments.gail import JUDGES
from rlnotes.paths import Run
from rlnotes.report.results import Results
from rlnotes.runs import evaluate, store
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
    "gail": Player("gail/judges", "ten"),
    "gail-swapped": Player("gail/judges", "swapped-zero"),
    "gail-untrained": Player("gail/judges", "untrained-zero"),
}


def as_integers(tensor: Tensor) -> dict[str, Any]:
    """Multiples of a `step`, in 16 bits each: half the bytes of float32, and no number
    is off by more than half a step."""
    numbers = tensor.detach().double().numpy()
    step = float(np.abs(numbers).max()) / LARGEST or 1.0
    integers = np.rint(numbers / step).astype("<i2")
    return {"step": step, "integers": base64.b64encode(integers.tobytes()).decode()}


def layers(net: nn.Sequential) -> list[dict[str, Any]]:
    """Of a network that is linear layers with ReLU between them."""
    return [
        {"weight": as_integers(layer.weight), "bias": as_integers(layer.bias)}
        for layer in net
        if isinstance(layer, nn.Linear)
    ]


def as_json(policy: Policy) -> dict[str, Any]:
    assert (policy.head, policy.activation) == ("argmax", "relu")
    assert not policy.layer_norm
    return {
        "obs_mean": policy.obs_mean.tolist(),
        "obs_std": policy.obs_std.tolist(),
        "layers": layers(policy.net),
    }


def judge_of(run: Run) -> tuple[gail.Discriminator, gail.Config]:
    """The discriminator that was kept with a policy, and how it pays."""
    config = JUDGES.settings_for(run.variant, run.budget).agent
    kept = {name: torch.as_tensor(x) for name, x in store.arrays(run).items()}
    judge = gail.Discriminator(len(kept["inputs.mean"]), config)
    judge.load_state_dict(kept)
    return judge, config


def judge_as_json(run: Run) -> dict[str, Any]:
    """As `Discriminator.forward` scales what it sees: a feature that never varied has
    a `scale` of 0. Whether its labels are exchanged, and whether it pays the logit or
    its softplus, is read off what it pays."""
    judge, config = judge_of(run)
    std = judge.inputs.std
    scale = (std > gail.NEVER_VARIED) / (std + 1e-3)
    high, low = config.reward(torch.tensor([9.0, -9.0])).tolist()
    return {
        "mean": judge.inputs.mean.tolist(),
        "scale": scale.tolist(),
        "layers": layers(judge.net),
        "sign": 1 if high > low else -1,
        "softplus": min(high, low) >= 0,
    }


def recorded(player: Player) -> dict[str, Any]:
    """A policy, and what its record says of it. One with a `gamma` puts out Q, sums
    that are discounted so; the others put out what they prefer."""
    record, results = player.record(), Results(player.id)
    judged = player.id == JUDGES.id
    return {
        "id": player.id,
        "variant": player.variant,
        "seed": record.run.seed,
        "rank": "worst" if player.worst else "median",
        "seeds": len(results.records(player.variant)),
        "final_return": record.last("final_return"),
        "gamma": record.settings["agent"].get("gamma"),
        "judge": judge_as_json(record.run) if judged else None,
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
