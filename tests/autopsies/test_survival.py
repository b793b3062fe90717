"""What the discriminator pays for: the controls by hand, and the diagnostic on both pays."""

import math

import pytest
import torch

from rlnotes.autopsies import survival


@pytest.mark.parametrize("certainty", [0.1, 0.5, 0.9])
def test_the_controls(certainty: float) -> None:
    """With swapped labels the discriminator says 1 − D where the right one says D."""
    logit = torch.tensor(math.log(certainty / (1 - certainty)))
    assert survival.CONTROLS["swapped"](logit).item() == pytest.approx(-math.log(certainty))
    assert survival.CONTROLS["swapped-either"](logit).item() == pytest.approx(-float(logit))
    assert survival.CONTROLS["constant"](logit).item() == 1


@pytest.mark.parametrize(
    ("reward", "fires"), [("survive", True), ("hurry", True), ("swapped", True), ("either", False)]
)
def test_it_fires_where_only_the_length_is_paid(reward: str, fires: bool) -> None:
    pays = survival.PAYS[reward](torch.linspace(-3, 3, 50))
    share = float((pays > 0).float().mean())
    assert survival.fires(share, "nothing") == fires
    assert not survival.fires(share, "nowhere")
