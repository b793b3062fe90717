"""A push that is held for too long: fires on the notes' four frames, not on ours."""

import pytest

from rlnotes.autopsies import coarse_control
from rlnotes.experiments.registry import find


def test_it_is_harder_the_longer_a_push_is_held() -> None:
    shares = [coarse_control.share_that_hold(skip) for skip in (1, 2, 3, 4, 5)]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 0.3
    assert shares[4] < 0.02


@pytest.mark.parametrize(("variant", "fires"), [("dqn", False), ("skip-4", True)])
def test_it_fires_on_the_notes_frame_skip(variant: str, fires: bool) -> None:
    skip = find("pixels/cartpole").settings_for(variant, "full").frame_skip
    share = coarse_control.share_that_hold(skip)
    assert coarse_control.fires(share) == fires
