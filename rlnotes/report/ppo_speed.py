"""How fast PPO learns, from records of `parallel/ppo-speed` and `pixels/ppo-speed`. A
record is one race; of several the median is shown."""

from collections.abc import Sequence

from rlnotes.experiments.pixels_speed import GAMES, PIXELS_SPEED
from rlnotes.experiments.ppo_speed import PPO_SPEED, WALKERS
from rlnotes.report import tables
from rlnotes.report.addresses import Measure
from rlnotes.report.tables import Table
from rlnotes.runs.store import Record

RACES = {PPO_SPEED.id: WALKERS, PIXELS_SPEED.id: GAMES}
PARTS = {
    "collecting": "collecting",
    "envpool": "– EnvPool alone",
    "emulator": "– – the emulator, without pictures",
    "network": "– the network, step by step",
    "network_in_one_batch": "– – the same in one batch",
    "loop": "– the loop around them",
    "learning": "learning",
}


def _median(races: Sequence[Record], metric: str) -> float:
    return Measure(metric, over="median").of(races)


def table(races: Sequence[Record]) -> Table:
    """Every contestant: its speed, and as a multiple of the faster of SB3's own."""
    rows = [
        (
            contestant.label,
            tables.text(_median(races, f"{name}_steps_per_second"), ",.0f"),
            tables.text(_median(races, f"{name}_times_sb3"), ".2f"),
        )
        for name, contestant in RACES[races[0].run.id].contestants.items()
    ]
    return Table(("PPO", "steps per second", "times SB3's best"), rows)


def profile(races: Sequence[Record]) -> Table:
    """Where our time goes."""
    measured = {metric for _, metric, _ in races[0].rows}
    rows = [
        (label, tables.text(_median(races, f"{name}_share"), ".0%"))
        for name, label in PARTS.items()
        if f"{name}_share" in measured
    ]
    return Table(("part", "share of our time"), rows)
