"""The diagnostic fires on the faulty twin and stays quiet on the healthy run."""

import pytest

from rlnotes.autopsies import extrapolation
from rlnotes.evidence import records, runner
from rlnotes.evidence.records import Run
from rlnotes.experiments.td3bc import PENDULUM, PENDULUM_NO_BC


def test_the_twin_differs_by_exactly_one_setting() -> None:
    healthy = PENDULUM.settings_for("td3bc-expert", "full")
    faulty = PENDULUM_NO_BC.settings_for("td3-expert", "full")
    assert {name for name in healthy if healthy[name] != faulty[name]} == set(extrapolation.FAULT) == {"bc_weight"}


@pytest.mark.parametrize(
    ("promised", "true", "expected"), [(-100, -110, False), (-100, -700, True), (-130, -110, False)]
)
def test_the_rule_by_hand(promised: float, true: float, expected: bool) -> None:
    assert extrapolation.fires(promised, true) is expected


def fires(record: records.Record) -> bool:
    return extrapolation.fires(record.last("q_promised"), record.last("q_true"))


def test_live_it_fires_on_the_twin_and_not_on_the_healthy_run() -> None:
    healthy, _ = runner.live(Run("td3bc/pendulum", "td3bc-expert", 0, "ci"), progress=False)
    faulty, _ = runner.live(Run("td3bc/pendulum-no-bc", "td3-expert", 0, "ci"), progress=False)
    assert not fires(healthy)
    assert fires(faulty)


def test_on_record_it_fires_on_every_faulty_seed_and_on_no_healthy_one() -> None:
    assert all(fires(record) for record in records.read_all("td3bc/pendulum-no-bc", "td3-expert"))
    assert not any(fires(record) for record in records.read_all("td3bc/pendulum", "td3bc-expert"))
