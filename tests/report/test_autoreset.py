"""The picture of autoreset shows what Gymnasium does."""

from gymnasium.vector import AutoresetMode
from matplotlib.text import Annotation

from rlnotes.report.autoreset import LIMIT, Call, calls, timeline


def test_reset_in_the_next_step_shows_the_end_and_then_a_step_that_nobody_took() -> (
    None
):
    found = calls(AutoresetMode.NEXT_STEP, LIMIT + 2)
    assert [call.happened for call in found] == [True] * LIMIT + [False, True]
    assert found[LIMIT] == Call(LIMIT, 0, None, truncated=False)


def test_reset_in_the_same_step_shows_a_start_and_keeps_the_end_in_infos() -> None:
    found = calls(AutoresetMode.SAME_STEP, LIMIT + 1)
    assert found[LIMIT - 1] == Call(LIMIT - 1, 0, LIMIT, truncated=True)
    assert [call.happened for call in found] == [True] * (LIMIT - 1) + [False, True]


def test_the_picture_has_an_arrow_for_every_call_and_every_last_observation() -> None:
    next_step, same_step = timeline(6).axes
    arrows = [
        sum(isinstance(text, Annotation) for text in ax.texts)
        for ax in (next_step, same_step)
    ]
    assert arrows == [6, 6 + 2]
