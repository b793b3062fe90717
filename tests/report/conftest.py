"""A registry of toys and hand-made records of them, in a folder of their own."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rlnotes.algos.policy import Policy
from rlnotes.experiments import ledger, registry
from rlnotes.experiments.base import (
    Bar,
    Budget,
    Experiment,
    Settings,
    Trial,
    Variant,
    World,
)
from rlnotes.paths import Run
from rlnotes.runs import store

CURVE = (1.0, 4.0, 3.0, 2.0)
WORLD = World("CartPole-v1")
BUDGETS = {
    "ci": Budget(steps=1_000, evaluations=2, curve_episodes=1, final_episodes=1),
    "full": Budget(steps=50_000, evaluations=4, curve_episodes=5, final_episodes=10),
}


def toy(id: str, variants: dict[str, Variant], *bars: Bar) -> Experiment[Settings]:
    def start(settings: Settings, seed: int) -> Trial:
        raise AssertionError("toys are not trained")

    return Experiment(
        id, lambda settings: WORLD, Settings(), BUDGETS, variants, bars, start, seeds=2
    )


TASK = toy(
    "toy/task",
    {
        "good": Variant("the good one"),
        "bad": Variant("the bad one", {"length": 2.0}),
    },
    Bar("good is good", "good", "iqm", ">=", 95.0, "final_success_percent"),
    Bar("every seed is", "good", "worst", ">=", 90.0, "final_success_percent"),
    Bar("and quick", "good", "iqm", "<=", 17.1, "final_seconds_to_finish"),
    Bar("bad is bad", "bad", "best", "<=", 10.0, "final_success_percent"),
)
COPY = toy(
    "toy/copy",
    {"copy": Variant("the copy")},
    Bar("it comes close", "copy", "iqm", ">=", "toy/expert/expert", times=1.1),
)
EXPERT = toy("toy/expert", {"expert": Variant("the expert", seeds=1)})


@pytest.fixture(autouse=True)
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {experiment.id: experiment for experiment in (TASK, COPY, EXPERT)}
    monkeypatch.setattr(registry, "EXPERIMENTS", known)
    rows = (
        ledger.Row("toy/task", "Toys", "in the notes", ""),
        ledger.Row("toy/copy", "Toys", "copied", "", autopsy=True),
        ledger.Row("toy/later", "Others", "a heading only", "some day"),
    )
    monkeypatch.setattr(ledger, "ROWS", rows)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RLNOTES_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def write(home: Path) -> Callable[..., None]:
    """Record a seed by hand: a curve that rises and falls, and what came out. Only
    `good` has a policy."""

    def write(
        id: str,
        variant: str,
        seed: int,
        success: float,
        seconds: float,
        settings: dict[str, Any] | None = None,
        replace: bool = False,
    ) -> None:
        curve = [
            (10_000 * (i + 1), "return", value + seed) for i, value in enumerate(CURVE)
        ]
        final = {
            "final_return": success,
            "final_success_percent": success,
            "final_seconds_to_finish": seconds,
        }
        rows = curve + [(40_000, name, value) for name, value in final.items()]
        info = {
            "settings": settings or {},
            "wall_seconds": 60.0,
            "cpu": "abacus",
            "date": "2025-01-01",
            "revision": "0123456789",
        }
        policy = Policy.for_spaces(*WORLD.spaces(), (8,))
        policies = {"last": policy} if variant == "good" else {}
        run = Run(id, variant, seed)
        store.write_seed(run, rows, info, policies, {})
        store.join(run, replace)

    return write
