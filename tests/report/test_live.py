"""What was trained just now is shown as something that varies; its settings are not."""

import matplotlib as mpl
import numpy as np
import pytest

from rlnotes.algos.policy import Policy
from rlnotes.experiments import registry
from rlnotes.experiments.pendulum import PENDULUM
from rlnotes.paths import Run
from rlnotes.report.claims import ClaimFailed, check
from rlnotes.report.live import live_claim, live_curves, live_table
from rlnotes.runs.run import Live
from rlnotes.runs.store import Record

mpl.use("agg")

ROWS = (
    (500, "return", 10.0),
    (1_000, "return", 30.0),
    (1_000, "final_success_percent", 40.0),
    (1_000, "steps_to_goal", 12.0),
)
INFO = {"settings": {"agent": {"alpha": 2.5}}}
RECORD = Record(Run("toy/task", "good", 0, "ci"), INFO, ROWS)
LIVE = Live(RECORD, Policy((4,), (), (), (8,), "argmax", num_actions=2))


def test_a_line_for_each() -> None:
    ax = live_curves({"one": LIVE, "two": LIVE})
    one, two = ax.get_lines()
    assert np.asarray(one.get_ydata()).tolist() == [10.0, 30.0]
    assert one.get_color() != two.get_color()
    assert "just now" in ax.get_title()
    assert ax.get_xlabel() == "steps in the world"


def test_learners_without_a_world_count_updates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(registry, "EXPERIMENTS", {"toy/task": PENDULUM})
    assert live_curves({"one": LIVE}).get_xlabel() == "updates"
    assert live_curves({"one": LIVE}, xlabel="years").get_xlabel() == "years"


def test_only_measurements_are_marked() -> None:
    table = live_table(
        {"α = 2.5": LIVE},
        {
            "updates": "steps",
            "α": "settings.agent.alpha",
            "arrived, %": "",
            "return at best": "return/peak:.0f",
            "to the goal": "steps_to_goal",
        },
    )
    assert table.rows == [("α = 2.5", "1,000", "2.5", "⟨40.0⟩", "⟨30⟩", "⟨12.0⟩")]


def test_a_claim_about_what_the_ledger_reports() -> None:
    assert "⟨40.0⟩" in repr(check(live_claim("it arrives", LIVE, ">=", 30.0)))
    with pytest.raises(ClaimFailed, match="it learns"):
        check(live_claim("it learns", LIVE, ">=", 50.0, "return"))
