"""A policy is never reported on a start that it was trained or selected on."""

import sys
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlnotes.progress import bar
from rlnotes.seeding import Purpose, reset_seeds

PURPOSES: tuple[Purpose, ...] = ("train", "evaluate", "select")
seeds = st.integers(0, 2**40)
streams = st.integers(0, 2**20)


@given(st.tuples(*[seeds] * 3), st.tuples(*[streams] * 3), st.integers(1, 200))
def test_the_starts_of_different_purposes_never_meet(
    own_seeds: tuple[int, ...], own_streams: tuple[int, ...], count: int
) -> None:
    drawn = [
        set(reset_seeds(purpose, seed, count, stream))
        for purpose, seed, stream in zip(PURPOSES, own_seeds, own_streams, strict=True)
    ]
    assert not any(one & other for one, other in combinations(drawn, 2))


@given(seeds, streams, st.sampled_from(PURPOSES))
def test_seeds_are_repeatable_and_lie_in_their_purpose_s_part(
    seed: int, stream: int, purpose: Purpose
) -> None:
    part = 2**30 * PURPOSES.index(purpose)
    drawn = reset_seeds(purpose, seed, 20, stream)
    assert drawn == reset_seeds(purpose, seed, 20, stream)
    assert all(part <= one < part + 2**30 for one in drawn)


def test_the_numbers_of_the_recorded_runs_stay_what_they_are() -> None:
    assert reset_seeds("train", 0, 3) == [913350807, 683932403, 548828616]
    assert reset_seeds("evaluate", 0, 3) == [1338187534, 1816465484, 1757456260]
    assert reset_seeds("train", 1_000_000, 2) == [726690346, 440961816]


def test_other_seed_or_stream_other_starts() -> None:
    first = reset_seeds("evaluate", 0, 5)
    assert first != reset_seeds("evaluate", 1, 5)
    streams = [reset_seeds("train", 3, 5, stream) for stream in range(4)]
    assert streams[0] == reset_seeds("train", 3, 5)
    assert len({start for stream in streams for start in stream}) == 20


def test_a_negative_seed_or_stream_is_refused() -> None:
    with pytest.raises(ValueError, match="a seed is a non-negative"):
        reset_seeds("train", -1, 1)
    with pytest.raises(ValueError, match="a stream is a non-negative"):
        reset_seeds("train", 1, 1, stream=-1)


# --- Progress bars are drawn where somebody can see them, and nowhere else


def drawn(capsys: pytest.CaptureFixture[str], **options: bool) -> bool:
    with bar(total=3, **options) as shown:
        shown.update(3)
    return "3/3" in capsys.readouterr().err


def test_a_log_stays_free_of_bars(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    assert not drawn(capsys)


def test_a_terminal_shows_them(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert drawn(capsys)
    assert not drawn(capsys, show=False)


def test_a_notebook_that_a_person_has_open_shows_them(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JPY_SESSION_NAME", "chapter.ipynb")
    assert drawn(capsys)
    assert not drawn(capsys, show=False)
