"""What critics say of drives that arrive, so many steps before the finish
(`td3bc/racecar`)."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from rlnotes.experiments.racecar import BEFORE_FINISH
from rlnotes.report import figures
from rlnotes.report.results import Results
from rlnotes.runs.store import Record

PAYS, GAMMA = 3.0, 0.99
PLACES = {125: figures.GREEN, 175: figures.PINK}  # where the critic is watched


def asked(records: Sequence[Record], updates: int) -> dict[int, float]:
    """After so many updates, by steps before the finish: medians over seeds."""
    found = {}
    for steps in BEFORE_FINISH:
        said = [dict(record.curve(f"q_{steps}_before"))[updates] for record in records]
        found[steps] = float(np.median(said))
    return found


def truth(steps: int) -> float:
    """What the finish is worth there, to a drive that arrives."""
    return PAYS * GAMMA**steps


def coming_back(race: Results, variant: str, moments: Sequence[int]) -> Figure:
    """How the finish comes back along the drives while a critic learns, and what cars
    do meanwhile."""
    along, places, arrive = figures.axes(3, width=11.5, height=3.3)
    true = [truth(steps) for steps in BEFORE_FINISH]
    along.plot(BEFORE_FINISH, true, label="the truth", **figures.DOTTED)
    for updates, colour in zip(moments, figures.PALETTE, strict=False):
        said = asked(race.records(variant), updates)
        label = f"{updates:,} updates"
        along.plot(said.keys(), said.values(), "o-", color=colour, label=label)
    along.set(
        title="along a drive that arrives",
        xlabel="steps before the finish",
        ylabel="what the critic says",
        xlim=(max(BEFORE_FINISH) + 10, min(BEFORE_FINISH) - 10),
    )
    figures.legend(along)
    for steps, colour in PLACES.items():
        race.curves(
            f"q_{steps}_before",
            [variant],
            places,
            labels=f"{steps} steps before",
            colours=colour,
            title="at two places of it",
            ylabel="",
        )
    race.curves("success_percent", [variant], arrive, title="does it arrive?")
    return along.figure
