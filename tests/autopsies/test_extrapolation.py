"""The diagnostic fires on the faulty twin and stays quiet on the healthy run."""

from typing import Any

import pytest

from rlnotes.autopsies import extrapolation
from rlnotes.runs import store
from rlnotes.runs.run import train_live

HEALTHY, FAULTY = (
    ("td3bc/pendulum", "td3bc-expert"),
    ("td3bc/pendulum-no-bc", "td3-expert"),
)


def test_the_twin_differs_by_exactly_one_setting(differing: Any) -> None:
    assert extrapolation.FAULT == {"bc_weight": 0.0}
    assert differing(HEALTHY, FAULTY) == {"agent.bc_weight"}


@pytest.mark.parametrize(
    ("promised", "true", "expected"),
    [(-100, -110, False), (-100, -700, True), (-130, -110, False)],
)
def test_the_rule_by_hand(promised: float, true: float, expected: bool) -> None:
    assert extrapolation.fires(promised, true) is expected


def fires(record: store.Record) -> bool:
    return extrapolation.fires(record.last("q_promised"), record.last("q_true"))


@pytest.mark.slow(seconds=65)
def test_live_it_fires_on_the_twin_and_not_on_the_healthy_run() -> None:
    assert not fires(train_live(*HEALTHY, progress=False).record)
    assert fires(train_live(*FAULTY, progress=False).record)


def test_on_record_it_fires_on_every_faulty_seed_and_on_no_healthy_one() -> None:
    assert all(fires(record) for record in store.read_all(*FAULTY))
    assert not any(fires(record) for record in store.read_all(*HEALTHY))
