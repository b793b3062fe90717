"""The ledger's verdicts: every row beside what our records say of it."""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rlnotes.errors import UserError
from rlnotes.experiments import ledger, registry
from rlnotes.experiments.base import FRESH, Bar, Experiment
from rlnotes.experiments.ledger import Row
from rlnotes.experiments.memory import MEMORY
from rlnotes.report import claims, sections, statistics, tables
from rlnotes.runs import store
from rlnotes.runs.store import Record

NOT_BUILT, NOT_RECORDED, DAMAGED = "not built yet", "not recorded yet", "damaged record"
REACHED, NOT_REACHED = "reached", "not reached"
SLUGS = {  # of chapters, as their pages are called
    "Offline RL with TD3+BC": "td3bc",
    "GAIL": "gail",
    "AggreVaTeD": "aggrevated",
    "Learning from pixels": "pixels",
    "PyBullet worlds": "worlds",
    "Parallel environments": "parallel",
}


@dataclass(frozen=True)
class Entry:
    """One row of `list --json`, and what is wrong with its record, for the terminal."""

    id: str
    chapter: str
    notes: str
    bar: str
    recorded: float | None = None
    interval: tuple[float, float] | None = None
    verdict: str = NOT_BUILT
    cost_minutes: float | None = None
    autopsy: bool = False
    problem: str | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            name: value for name, value in asdict(self).items() if name != "problem"
        }


def entries() -> list[Entry]:
    return [_entry(row) for row in ledger.ROWS]


def _entry(row: Row) -> Entry:
    experiment = registry.EXPERIMENTS.get(row.id)
    if experiment is None:
        return Entry(row.id, row.chapter, row.notes, row.bar, autopsy=row.autopsy)
    found: dict[str, Any]
    try:
        found = _found(experiment)
    except UserError as problem:
        found = {"verdict": DAMAGED, "problem": str(problem)}
    words = bar_in_words(experiment) or row.bar
    return Entry(row.id, row.chapter, row.notes, words, autopsy=row.autopsy, **found)


def _found(experiment: Experiment[Any]) -> dict[str, Any]:
    if not complete(experiment):
        return {"verdict": NOT_RECORDED}
    summary = statistics.summary(_reported(experiment))
    reached = all(claims.from_bar(experiment, bar).holds for bar in experiment.all_bars)
    interval = _rounded(summary.low), _rounded(summary.high)
    return {
        "recorded": _rounded(summary.iqm),
        "interval": None if None in interval else interval,
        "verdict": REACHED if reached else NOT_REACHED,
        "cost_minutes": _rounded(cost_minutes(experiment)),
    }


def _reported(experiment: Experiment[Any]) -> list[float]:
    """What the first variant came to; where fresh seeds were worse, what they did."""
    id, metric, variants = experiment.id, experiment.metric, [experiment.main_variant]
    if FRESH in experiment.on_record:
        variants.append(FRESH)
    found = [store.finals(id, variant, metric) for variant in variants]
    less_is_better = bool(experiment.bars) and experiment.bars[0].sense == "<="
    sign = -1 if less_is_better else 1

    def merit(values: list[float]) -> float:
        middle = sign * statistics.iqm(values)
        return -math.inf if math.isnan(middle) else middle

    return min(found, key=merit)


def _rounded(value: float) -> float | None:
    """JSON has no NaN."""
    return round(value, 1) if math.isfinite(value) else None


def complete(experiment: Experiment[Any]) -> bool:
    """Whether all variants, and those that a bar is set against, have all their seeds
    on record."""
    if experiment.main_variant not in experiment.on_record:
        return False
    needed = {(experiment.id, variant) for variant in experiment.on_record}
    needed |= {
        claims.place(experiment.id, bar.against)
        for bar in experiment.bars
        if isinstance(bar.against, str)
    }
    return all(
        len(store.recorded_seeds(id, variant)) >= registry.find(id).seeds_for(variant)
        for id, variant in needed
    )


def bar_in_words(experiment: Experiment[Any]) -> str:
    """The bars of the variant that the ledger reports, as one phrase."""
    own = [bar for bar in experiment.bars if bar.variant == experiment.main_variant]
    return ", ".join(_in_words(experiment.id, bar) for bar in own)


def _in_words(home: str, bar: Bar) -> str:
    metric = tables.words_for(bar.metric)
    unnamed = metric is tables.RETURN
    if bar.statistic == "iqm":
        subject = "IQM" if unnamed else f"IQM of {metric.name}"
    else:
        seed = f"{bar.statistic} seed"
        subject = seed if unnamed else f"{seed}'s {metric.name}"
    if isinstance(bar.against, str):
        id, variant = claims.place(home, bar.against)
        threshold = f"that of {registry.find(id).variants[variant].label}"
        if bar.times != 1:
            return f"{subject} within {abs(bar.times - 1):.0%} of {threshold}"
    else:
        threshold = tables.text(bar.times * bar.against, "g") + metric.unit
    return f"{subject} {claims.SIGNS[bar.sense]} {threshold}"


def _recorded(experiment: Experiment[Any]) -> dict[str, list[Record]]:
    """The records of every variant that has any."""
    return {
        variant: store.read_all(experiment.id, variant)
        for variant in experiment.variants
        if store.recorded_seeds(experiment.id, variant)
    }


def cost_minutes(experiment: Experiment[Any]) -> float:
    """Core-minutes spent on all recorded runs of this row."""
    found = _recorded(experiment).values()
    return experiment.cores * sum(_minutes([one for each in found for one in each]))


def _minutes(records: list[Record]) -> list[float]:
    """Of those whose time was kept."""
    return [one.minutes for one in records if not math.isnan(one.minutes)]


def table(chapter: str) -> tables.Table:
    """One chapter of the ledger as the book shows it."""
    headings = ("experiment", "in the notes", "bar", "ours", "95% interval")
    return tables.Table(
        (*headings, "verdict", "core-minutes"),
        [_cells(entry) for entry in entries() if entry.chapter == chapter],
    )


def _cells(entry: Entry) -> tuple[str, ...]:
    no_interval = "" if entry.recorded is None else "–"
    ends = [tables.number(end) for end in entry.interval or ()]
    return (
        _linked(entry),
        entry.notes,
        entry.bar,
        "" if entry.recorded is None else tables.number(entry.recorded),
        " to ".join(ends) or no_interval,
        entry.verdict,
        "" if entry.cost_minutes is None else tables.number(entry.cost_minutes, 0),
    )


def _linked(entry: Entry) -> str:
    """Its id, leading to the section about it."""
    chapter = SLUGS.get(entry.chapter, "")
    label = sections.about(chapter, entry.id)
    return tables.Link(entry.id, f"{chapter}.html#{label}") if label else entry.id


def sums() -> dict[str, float]:
    """Over all recorded runs."""
    experiments = registry.EXPERIMENTS.values()
    found = [one for each in experiments for one in _recorded(each).values()]
    records = [record for each in found for record in each]
    return {
        "runs": len(records),
        "core-hours": round(sum(map(cost_minutes, experiments)) / 60, 1),
        "longest": round(max(_minutes(records)), 1),
    }


def costs_by_experiment() -> tables.Table:
    """Every experiment that has been run: what one of its runs takes, in the middle of
    all of them, and what all took together."""
    headings = ("experiment", "runs", "minutes a run", "steps per second")
    return tables.Table(
        (*headings, "memory (MB)", "core-minutes in all"),
        [
            (experiment.id, *_middle_costs(experiment))
            for experiment in registry.EXPERIMENTS.values()
            if _recorded(experiment)
        ],
    )


def _middle_costs(experiment: Experiment[Any]) -> tuple[str, ...]:
    records = [one for each in _recorded(experiment).values() for one in each]
    return (
        str(len(records)),
        tables.number(_median(one.minutes for one in records)),
        tables.number(_median(map(_speed, records)), 0),
        _memory(experiment.id, records),
        tables.number(cost_minutes(experiment), 0),
    )


def _memory(id: str, records: Iterable[Record]) -> str:
    """As its records say, or at least as much as a few steps take."""
    known = _median(one.peak_memory_mb for one in records)
    least = _least_memory().get(id)
    if math.isnan(known) and least is not None:
        return f"≥ {tables.number(least, 0)}"
    return tables.number(known, 0)


def _least_memory() -> dict[str, float]:
    if not store.recorded_seeds(MEMORY.id, MEMORY.main_variant):
        return {}
    (record,) = store.read_all(MEMORY.id, MEMORY.main_variant)
    return {id: value for _, id, value in record.rows}


def _speed(record: Record) -> float:
    """Of what learns: that is played now and then on the way."""
    learns = any(metric == "return" for _, metric, _ in record.rows)
    return record.steps_per_second if learns else math.nan


def _median(values: Iterable[float]) -> float:
    """Of those that were kept; NaN where none was."""
    known = [value for value in values if not math.isnan(value)]
    return float(np.median(known)) if known else math.nan


def costs() -> tables.Table:
    """Every recorded variant: how many seeds, how long a seed took, where and when."""
    headings = ("experiment", "variant", "seeds", "minutes a seed", "core-minutes")
    return tables.Table(
        (*headings, "CPU", "date", "code"),
        [
            (experiment.id, variant, *_cost_cells(records, experiment.cores))
            for experiment in registry.EXPERIMENTS.values()
            for variant, records in _recorded(experiment).items()
        ],
    )


def _cost_cells(records: list[Record], cores: int) -> tuple[str, ...]:
    minutes, last = _minutes(records), records[-1].info
    each = sum(minutes) / len(minutes) if minutes else math.nan
    spent = (tables.number(each), tables.number(cores * each * len(minutes)))
    provenance = (last["cpu"], last["date"], last["revision"][:8])
    return str(len(records)), *spent, *provenance


def costs_of(*ids: str) -> tables.Table:
    """What the experiments of a chapter cost."""
    rows = []
    for id in ids:
        experiment = registry.find(id)
        seeds = [store.recorded_seeds(id, variant) for variant in experiment.variants]
        minutes = tables.number(cost_minutes(experiment), 0)
        rows.append((id, str(sum(map(len, seeds))), minutes))
    return tables.Table(("experiment", "runs", "core-minutes"), rows)
