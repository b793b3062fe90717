"""The policies on the page for playing are those of the records."""

import base64
import json
import re

import numpy as np
import pytest
import torch
from torch import nn

from rlnotes import paths
from rlnotes.algos.policy import Policy
from rlnotes.report import play
from rlnotes.report.results import Results


def committed() -> dict[str, dict]:
    text = (paths.root() / play.SCRIPT).read_text()
    found = re.fullmatch(r"//.*\nconst POLICIES = (.*);\n", text, re.DOTALL)
    assert found
    return json.loads(found[1])


def numbers(packed: dict) -> np.ndarray:
    integers = np.frombuffer(base64.b64decode(packed["integers"]), "<i2")
    return (integers * packed["step"]).astype(np.float32)


def unpacked(player: play.Player, entry: dict) -> tuple[Policy, Policy]:
    """As recorded, and with the numbers of the page."""
    recorded, rounded = (
        Results(player.id).policy(player.variant, entry["seed"]) for _ in range(2)
    )
    linear = [layer for layer in rounded.net if isinstance(layer, nn.Linear)]
    for layer, packed in zip(linear, entry["layers"], strict=True):
        for name, parameter in layer.named_parameters():
            given = torch.as_tensor(numbers(packed[name]))
            parameter.data.copy_(given.reshape(parameter.shape))
    return recorded, rounded


def test_what_is_committed_is_what_the_records_give() -> None:
    assert (paths.root() / play.SCRIPT).read_text() == play.script(), (
        "write it again with: python -m rlnotes.report.play"
    )


@pytest.mark.parametrize("name", play.PLAYERS)
def test_rounding_changes_no_output_by_more_than_a_twentieth(name: str) -> None:
    recorded, rounded = unpacked(play.PLAYERS[name], committed()[name])
    far = np.array([2.4, 3.0, 0.21, 3.0])
    states = np.random.default_rng(0).uniform(-far, far, (2_000, 4))
    with torch.no_grad():
        before, after = (p.net(p.encode_array(states)) for p in (recorded, rounded))
    assert float((before - after).abs().max()) < 0.05


JUDGED = [name for name, player in play.PLAYERS.items() if player.id == "gail/judges"]


def test_what_a_judge_pays_is_said_in_full() -> None:
    """Exchanged labels and a pay that is never negative."""
    kept = {name: committed()[name]["judge"] for name in play.PLAYERS}
    assert [name for name, judge in kept.items() if judge] == JUDGED
    signs = {name: (kept[name]["sign"], kept[name]["softplus"]) for name in JUDGED}
    assert signs == {
        "gail": (1, False),
        "gail-swapped": (-1, True),
        "gail-untrained": (1, True),
    }


def test_no_number_is_off_by_more_than_half_a_step() -> None:
    weights = torch.tensor([[0.3, -1.0], [1e-9, 0.7]])
    packed = play.as_integers(weights)
    wrong = np.abs(numbers(packed) - weights.numpy().ravel())
    assert packed["step"] == pytest.approx(1 / 32_767)
    assert wrong.max() <= packed["step"] / 2 + 1e-7
    assert not numbers(play.as_integers(torch.zeros(3))).any()


def test_the_worst_seed_is_the_worst() -> None:
    worst = play.Player("parallel/dqn", "huber", worst=True).record()
    returns = Results("parallel/dqn").values("huber")
    assert worst.last("final_return") == min(returns) < 200
