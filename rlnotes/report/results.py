"""All records of one experiment, and what a chapter does with them: one call each.

Wherever a variant is named, `id/variant` names one of another experiment; what follows
may be a whole address of a number (see `addresses`). Labels come from the variants.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from IPython.display import Video
from matplotlib.axes import Axes

from rlnotes.algos.policy import Policy
from rlnotes.data.rollouts import BatchPolicy, Episode
from rlnotes.experiments import registry
from rlnotes.experiments.base import Experiment, World, stage_name
from rlnotes.experiments.gail import NoWorldSettings
from rlnotes.experiments.trials import OfflineSettings
from rlnotes.paths import Run
from rlnotes.report import (
    addresses,
    claims,
    clips,
    figures,
    statistics,
    tables,
)
from rlnotes.report.addresses import Measure
from rlnotes.report.claims import Claim, Sense
from rlnotes.report.statistics import Summary
from rlnotes.report.tables import Table
from rlnotes.runs import evaluate, store
from rlnotes.runs.store import Record
from rlnotes.seeding import reset_seeds

Column = str | Callable[[Sequence[Record]], str]
Choice = str | Mapping[str, str] | None  # one for all variants, or one for each
Reference = Mapping[str, float | str]  # label: a number, or the address of one

WITHOUT_WORLD = (OfflineSettings, NoWorldSettings)  # these learners count updates
SUMMARY: dict[str, Column] = {
    "IQM": "iqm",
    "95% low": "low",
    "95% high": "high",
    "worst seed": "worst",
    "best seed": "best",
}


class Fires:
    """On how many seeds a diagnostic fires, given these metrics or settings of each: a
    column of a table, and what `fires_on_every` and `fires_on_none` count. `along` says
    when, by default at the end."""

    def __init__(
        self, diagnostic: Callable[..., bool], *names: str, along: str = "final"
    ) -> None:
        self.diagnostic, self.names, self.along = diagnostic, names, along

    def fires(self, record: Record) -> bool:
        given = (addresses.value(record, name, self.along) for name in self.names)
        return self.diagnostic(*given)

    def count(self, records: Sequence[Record]) -> int:
        return sum(self.fires(record) for record in records)

    def __call__(self, records: Sequence[Record]) -> str:
        return f"{self.count(records)} of {len(records)}"


class Results:
    """Reads records when they are asked for; the store reads each file once."""

    def __init__(self, id: str) -> None:
        self.experiment = registry.find(id)

    # --- numbers

    def _at(self, address: str) -> tuple[str, str, str]:
        return addresses.split(address, self.experiment.id)

    def records(self, variant: str) -> list[Record]:
        id, name, _ = self._at(variant)
        return store.read_all(id, name)

    def measure(self, address: str, metric: str | None = None) -> Measure:
        """What an address asks for; `metric` where it does not say which."""
        id, _, words = self._at(address)
        return addresses.measure(words, metric or registry.find(id).metric)

    def values(
        self, variant: str, metric: str | None = None, statistic: str = "final"
    ) -> list[float]:
        """One per seed: at the end, or `first`, `peak` or `late` along the way."""
        found = self.measure(f"{variant}/{metric or ''}/{statistic}")
        return found.values(self.records(variant))

    def summary(self, variant: str, metric: str | None = None) -> Summary:
        return statistics.summary(self.values(variant, metric))

    def number(self, address: str) -> Any:
        """The number of a whole address, `variant[/metric][/along][/over]`."""
        return self.measure(address).of(self.records(address))

    # --- figures

    def label(self, variant: str, labels: Choice = None) -> str:
        """What figures call a variant."""
        id, name, _ = self._at(variant)
        return _chosen(labels, variant, registry.find(id).variants[name].label)

    def curves(
        self,
        metric: str,
        variants: Sequence[str],
        ax: Axes | None = None,
        *,
        labels: Choice = None,
        colours: Choice = None,
        reference: Reference | None = None,
        title: str | None = None,
        xlabel: str | None = None,
        ylabel: str | None = None,
        legend: str | None = "best",
        minutes: str | None = None,
        **line: Any,
    ) -> Axes:
        """Learning curves: the IQM over seeds and its interval as a band, or the single
        seeds where they are too few for one.

        `reference` are dotted lines across; `legend` may be "outside", or None. With
        `minutes`, the metric that says how many steps were made in a second, they are
        drawn over the time that these take, at the variant's median speed.
        """
        ax = ax or figures.axes(width=7.0)
        for number, variant in enumerate(variants):
            speed = f"{variant}/{minutes}/final/median"
            unit = 60 * self.number(speed) if minutes else 1
            seeds = [
                [(step / unit, value) for step, value in record.curve(metric)]
                for record in self.records(variant)
            ]
            in_turn = figures.PALETTE[number % len(figures.PALETTE)]
            colour = _chosen(colours, variant, in_turn)
            figures.curve(ax, seeds, self.label(variant, labels), colour, **line)
        self._mark(ax.axhline, reference)
        time = "minutes of one core" if minutes else unit_of_steps(self.experiment)
        figures.count_steps(ax, xlabel or time)
        ax.set_ylabel(tables.words_for(metric).axis if ylabel is None else ylabel)
        ax.set_title(title or "")
        figures.legend(ax, legend)
        return ax

    def intervals(
        self,
        metric: str | None,
        variants: Sequence[str],
        ax: Axes | None = None,
        *,
        labels: Choice = None,
        colours: Choice = figures.BLUE,
        reference: Reference | None = None,
        title: str | None = None,
        xlabel: str | None = None,
    ) -> Axes:
        """One row per variant: seeds as dots, the IQM, its interval.

        Where a seed has no value, only the dots of the others are there.
        A variant that a mapping of `colours` leaves out is grey.
        """
        ax = ax or figures.axes(height=0.9 + 0.34 * len(variants))
        rows = [
            (
                self.label(variant, labels),
                self.values(variant, metric),
                _chosen(colours, variant, figures.GREY),
            )
            for variant in variants
        ]
        figures.interval_rows(ax, rows)
        words = tables.words_for(metric or self.experiment.metric)
        dotted = [label for label in reference or {} if label]
        self._mark(ax.axvline, reference)
        note = f" (dotted: {', '.join(dotted)})" if dotted else ""
        ax.set_xlabel((xlabel or words.axis) + note)
        ax.set_title(title or "")
        if words.unit == "%":
            ax.set_xlim(-3, 103)
        return ax

    def grouped(
        self,
        groups: Mapping[str, Mapping[str, str]],
        metric: str | None = None,
        ax: Axes | None = None,
        *,
        colours: Choice = None,
        reference: Reference | None = None,
        xlabel: str = "",
        ylabel: str | None = None,
        legend: str | None = "outside",
    ) -> Axes:
        """`{group: {series: variant}}`: groups along x, the same series in each."""
        ax = ax or figures.axes(height=3.8)
        found = {
            group: {name: self.values(one, metric) for name, one in series.items()}
            for group, series in groups.items()
        }
        names = list(
            dict.fromkeys(name for series in found.values() for name in series)
        )
        in_turn = dict(zip(names, figures.PALETTE, strict=False))
        chosen = {name: _chosen(colours, name, in_turn[name]) for name in names}
        figures.grouped_intervals(ax, found, chosen)
        self._mark(ax.axhline, reference)
        words = tables.words_for(metric or self.experiment.metric)
        ax.set(xlabel=xlabel, ylabel=words.axis if ylabel is None else ylabel)
        figures.legend(ax, legend)
        return ax

    def _value(self, given: float | str) -> float:
        return self.number(given) if isinstance(given, str) else given

    def _mark(self, draw: Callable[..., Any], reference: Reference | None) -> None:
        for label, value in (reference or {}).items():
            draw(self._value(value), label=label or None, **figures.DOTTED)

    # --- tables

    def table(
        self,
        variants: Sequence[str],
        metric: str | None = None,
        columns: Mapping[str, Column] = SUMMARY,
        *,
        more: Mapping[str, Column] | None = None,
        labels: Choice = None,
        heading: str = "",
    ) -> Table:
        """One row per variant. A column is `[metric][/along][/over][:format]`, by
        default of the table's metric, or a function of the records; `more` follow. A
        cell that does not rest on all seeds says on how many."""
        shown = {**columns, **(more or {})}
        return Table(
            (heading, *shown, "seeds"),
            [
                (
                    self.label(variant, labels),
                    *(self._cell(variant, metric, column) for column in shown.values()),
                    str(len(self.records(variant))),
                )
                for variant in variants
            ],
        )

    def _cell(self, variant: str, metric: str | None, column: Column) -> str:
        if not isinstance(column, str):
            return column(self.records(variant))
        words, form = addresses.formatted(column)
        found = self.measure(f"{variant}/{words}", metric)
        records = self.records(variant)
        known = found.known(records) or records  # if nobody has a value, a dash
        shown = tables.text(found.of(known), form)
        all_known = len(known) == len(records)
        return shown if all_known else f"{shown} ({len(known)} of {len(records)})"

    def budgets(self) -> Table:
        """What each budget spends on one seed."""
        spent = {name: asdict(one) for name, one in self.experiment.budgets.items()}
        used = [
            name
            for name in next(iter(spent.values()))
            if any(row[name] is not None for row in spent.values())
        ]
        rows = [
            (budget, *("all" if row[n] is None else tables.text(row[n]) for n in used))
            for budget, row in spent.items()
        ]
        return Table(("budget", *(name.replace("_", " ") for name in used)), rows)

    # --- policies at work

    def world(self, variant: str | None = None) -> World:
        """The world in which the policies of a variant are judged."""
        id, name, _ = self._at(variant or self.experiment.main_variant)
        experiment = registry.find(id)
        return experiment.world(experiment.settings_for(name, "full"))

    def policy(
        self, variant: str, seed: int | None = None, which: str = "last"
    ) -> Policy:
        """As recorded, at the end or at its best, of the median seed unless another one
        is asked for."""
        id, name, _ = self._at(variant)
        if seed is None:
            seed = evaluate.median_record(id, name).run.seed
        return evaluate.recorded_policy(Run(id, name, seed), which)

    def play(
        self, variant: str, episodes: int, seed: int | None = None
    ) -> list[Episode]:
        """The policy from the first `episodes` starts of evaluations."""
        starts = reset_seeds("evaluate", 0, episodes)
        return self.world(variant).play(self.policy(variant, seed).act, starts)

    def film(
        self,
        variants: Sequence[str],
        start_seed: int,
        steps: int = 200,
        every: int = 1,
        fps: int = 30,
        *,
        extra: Mapping[str, BatchPolicy] | None = None,
        labels: Choice = None,
    ) -> Video:
        """Median policies side by side from one evaluation start, each in the world of
        its variant, after the policies of `extra`, which have the main variant's."""
        (start,) = reset_seeds("evaluate", start_seed, 1)
        players: dict[str, clips.Player] = {
            label: (self.world().make, policy)
            for label, policy in (extra or {}).items()
        }
        for variant in variants:
            label = self.label(variant, labels)
            players[label] = self.world(variant).make, self.policy(variant).act
        return clips.side_by_side(players, start, steps, fps, every)

    def film_stages(
        self,
        variant: str,
        start_seed: int,
        steps: int = 200,
        every: int = 1,
        fps: int = 30,
    ) -> Video:
        """The median seed's policy at its stages and at the end, side by side, each
        with how many steps it had learnt from."""
        id, name, _ = self._at(variant)
        record = evaluate.median_record(id, name)
        learnt = [step for step, _ in record.curve("return")]
        stages = {n: stage_name(n) for n in registry.find(id).variants[name].stages}
        (start,) = reset_seeds("evaluate", start_seed, 1)
        make = self.world(variant).make
        players: dict[str, clips.Player] = {
            f"after {learnt[n - 1]:,} steps": (
                make,
                evaluate.recorded_policy(record.run, which).act,
            )
            for n, which in (stages | {len(learnt): "last"}).items()
        }
        return clips.side_by_side(players, start, steps, fps, every)

    # --- claims

    def claims(self, *more: Claim, missed: bool | str = False) -> list[Claim]:
        """What the ledger's bars say, then what else a chapter says. With `missed` the
        bars, or those of the metric that it names, are declared missed. Of what is
        planned there is nothing to say yet."""
        there = self.experiment.on_record
        bars = [bar for bar in self.experiment.all_bars if bar.variant in there]
        found = [
            claims.from_bar(self.experiment, bar, missed in (True, bar.metric))
            for bar in bars
        ]
        return [*found, *more]

    def claim(
        self, sentence: str, address: str, sense: Sense, bar: float | str
    ) -> Claim:
        """About a recorded number, which every seed must have; the bar may be the
        address of another one."""
        value, seeds = self.number(address), len(self.records(address))
        return Claim(sentence, value, sense, self._value(bar), seeds)

    def fires_on_every(self, sentence: str, variant: str, diagnosis: Fires) -> Claim:
        found = self.records(variant)
        return Claim(sentence, diagnosis.count(found), ">=", len(found), len(found))

    def fires_on_none(self, sentence: str, variant: str, diagnosis: Fires) -> Claim:
        found = self.records(variant)
        return Claim(sentence, diagnosis.count(found), "<=", 0, len(found))


def unit_of_steps(experiment: Experiment[Any]) -> str:
    """What the steps of a run are."""
    offline = isinstance(experiment.settings, WITHOUT_WORLD)
    return "updates" if offline else "steps in the world"


def _chosen(choice: Choice, name: str, otherwise: str) -> str:
    return choice if isinstance(choice, str) else (choice or {}).get(name, otherwise)
