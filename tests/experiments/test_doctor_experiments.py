"""SB3 with the doctor beside it, and what he costs: small trainings, and what they
leave in the record."""

from typing import Any

import numpy as np
import pytest

from rlnotes.doctor.checks import CHECKS
from rlnotes.doctor.findings import Exhibit, Report
from rlnotes.experiments import doctor_sb3
from rlnotes.experiments.doctor_cost import DOCTOR_COST
from rlnotes.experiments.doctor_sb3 import DOCTOR_SB3, FIRES

VARIANTS = DOCTOR_SB3.variants


def test_five_algorithms_have_three_worlds_each() -> None:
    pairs = {
        (settings.algorithm, settings.env_id)
        for name in VARIANTS
        for settings in [DOCTOR_SB3.settings_for(name, "full")]
    }
    assert len(pairs) == len(VARIANTS) == 15
    assert len({algorithm for algorithm, _ in pairs}) == 5
    assert {bar.variant for bar in DOCTOR_SB3.bars} == set(VARIANTS)


def test_looks_are_put_in_order_and_checks_by_name() -> None:
    report = Report(
        "nobody",
        (),
        quiet={"stale-copy": "enough"},
        exhibits=(
            Exhibit("value_mean", [5, 10], [1.0, 2.0]),
            Exhibit("target_updates", [10], [3]),
        ),
    )
    assert list(doctor_sb3.noted(report)) == [
        (5, {"value_mean": 1.0}),
        (10, {"value_mean": 2.0, "target_updates": 3.0}),
    ]
    assert doctor_sb3.said(report) == {f"{FIRES}stale-copy": 0.0}


@pytest.mark.slow(seconds=10)
@pytest.mark.parametrize("variant", ["a2c-acrobot", "td3-puck", "dqn-mountain"])
def test_a_training_is_watched_and_judged(variant: str) -> None:
    small: dict[str, Any] = {"length": 1.0, "budget.steps": 200}
    settings = DOCTOR_SB3.settings_for(variant, "smoke", small)
    rows = list(DOCTOR_SB3.trial(settings, seed=0).stream)
    step, last = rows[-1]
    assert step >= 200
    assert np.isfinite(last["final_return"])
    assert last["problems"] == 0
    made = {name.removeprefix(FIRES) for name in last if name.startswith(FIRES)}
    assert len(made) >= 3
    assert made <= set(CHECKS)
    assert any("value_mean" in metrics for _, metrics in rows)


def test_what_is_normalised_in_training_is_normalised_in_play() -> None:
    settings = DOCTOR_SB3.settings_for("a2c-acrobot", "smoke")
    model = doctor_sb3.new_model(settings, seed=0)
    model.get_vec_normalize_env().obs_rms.mean += 1.0
    obs = np.ones((3, 6), np.float32)
    expected = model.predict(np.zeros((3, 6)), deterministic=True)[0]
    assert (doctor_sb3.player(model)(obs) == expected).all()


@pytest.mark.slow(seconds=10)
@pytest.mark.parametrize("variant", DOCTOR_COST.variants)
def test_the_cost_is_measured_for_all_five(variant: str) -> None:
    small: dict[str, Any] = {"length": 1.0, "budget.steps": 120}
    settings = DOCTOR_COST.settings_for(variant, "smoke", small)
    ((_, metrics),) = DOCTOR_COST.trial(settings, seed=0).stream
    assert -100 < metrics["doctor_cost_percent"] < 1_000
