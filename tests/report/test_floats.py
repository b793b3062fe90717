"""A run is repeated to the bit in another process of this machine, and only there."""

import pytest

from rlnotes.report import floats

RUN = ("bullet/cartpole", 0, "smoke", 1.0)


@pytest.mark.slow(seconds=15)
def test_the_same_instructions_give_the_same_bits_and_another_seed_others() -> None:
    plain = floats.SETS["plain"]
    once, again = (floats.trained(*RUN, plain) for _ in range(2))
    assert once == again
    id, seed, budget, length = RUN
    assert floats.trained(id, seed + 1, budget, length, plain)[1] != once[1]


def test_bits_that_differ_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run by run another answer."""
    answers = iter(range(10))
    monkeypatch.setattr(floats, "trained", lambda *given: (1.0, f"{next(answers):8d}"))
    table = floats.instruction_sets("bullet/cartpole", 0)
    assert len(table.rows) == len(floats.SETS) + 1
    assert table.rows[-1][1] == "OTHER BITS"
    monkeypatch.setattr(floats, "trained", lambda *given: (1.0, "12345678"))
    assert floats.instruction_sets("x", 0).rows[-1][1] == "the same bits"
