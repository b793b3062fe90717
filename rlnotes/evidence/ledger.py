"""The ledger's verdicts: every row beside what our records say of it."""

from dataclasses import asdict, dataclass
from typing import Any

from rlnotes import paths
from rlnotes.evidence import claims, records, stats, tables
from rlnotes.experiments import ledger, registry
from rlnotes.experiments.base import Experiment
from rlnotes.experiments.ledger import Row

NOT_BUILT, NOT_RECORDED, REACHED, NOT_REACHED = "not built yet", "not recorded yet", "reached", "not reached"


@dataclass(frozen=True)
class Entry:
    """One row of `list --json`."""

    id: str
    chapter: str
    notes: str
    bar: str
    recorded: float | None
    interval: tuple[float, float] | None
    verdict: str
    cost_minutes: float | None
    autopsy: bool

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def entries() -> list[Entry]:
    return [_entry(row) for row in ledger.ROWS]


def _entry(row: Row) -> Entry:
    given = (row.id, row.chapter, row.notes, row.bar)
    experiment = registry.EXPERIMENTS.get(row.id)
    if experiment is None:
        return Entry(*given, None, None, NOT_BUILT, None, row.autopsy)
    if not complete(experiment):
        return Entry(*given, None, None, NOT_RECORDED, None, row.autopsy)
    bar = experiment.bars[0]
    summary = stats.summary(records.finals(row.id, bar.variant, bar.metric))
    verdict = REACHED if all(claim.holds for claim in claims.from_experiment(experiment)) else NOT_REACHED
    interval = (round(summary.low, 1), round(summary.high, 1))
    return Entry(*given, round(summary.iqm, 1), interval, verdict, round(cost_minutes(experiment), 1), row.autopsy)


def complete(experiment: Experiment) -> bool:
    """Whether every variant has all its seeds on record."""
    return all(
        len(records.recorded_seeds(experiment.id, variant)) >= experiment.seeds_for(variant)
        for variant in experiment.variants
    )


def cost_minutes(experiment: Experiment) -> float:
    """Core-minutes spent on all recorded runs of this row."""
    return sum(
        record.minutes
        for variant in experiment.variants
        if (paths.runs("full") / experiment.id / variant).exists()
        for record in records.read_all(experiment.id, variant)
    )


def table(chapter: str) -> tables.Table:
    """One chapter of the ledger as the book shows it."""
    headings = ("experiment", "in the notes", "bar", "ours", "95% interval", "verdict", "core-minutes")
    return tables.Table(headings, [_cells(entry) for entry in entries() if entry.chapter == chapter])


def _cells(entry: Entry) -> tuple[str, ...]:
    interval = "" if entry.interval is None else " to ".join(tables.number(end) for end in entry.interval)
    ours = "" if entry.recorded is None else tables.number(entry.recorded)
    cost = "" if entry.cost_minutes is None else tables.number(entry.cost_minutes, 0)
    return entry.id, entry.notes, entry.bar, ours, interval, entry.verdict, cost


def costs() -> tables.Table:
    """Every recorded variant: how many seeds, how long a seed took, where and when."""
    rows = []
    for experiment in registry.EXPERIMENTS.values():
        for variant in experiment.variants:
            if not records.recorded_seeds(experiment.id, variant):
                continue
            found = records.read_all(experiment.id, variant)
            minutes = [record.minutes for record in found]
            last = found[-1].info
            row = (experiment.id, variant, str(len(found)), tables.number(sum(minutes) / len(found)))
            rows.append((*row, tables.number(sum(minutes)), last["cpu"], last["date"], last["revision"][:8]))
    headings = ("experiment", "variant", "seeds", "minutes a seed", "core-minutes", "CPU", "date", "code")
    return tables.Table(headings, rows)
