"""The doctor on the book's own runs: what it sees in a record, whether it finds the
fault of every twin, and whether it is quiet on what is healthy.

A record has the diagnostics under the names that checks ask for. Settings say the rest,
and where a run learnt from a dataset that is there, so do its episodes.
"""

import base64
import io
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache
from html import escape
from typing import Any

import gymnasium as gym
import matplotlib.pyplot as plt
import numpy as np
from gymnasium import spaces

from rlnotes.algos import bc
from rlnotes.autopsies import short_horizon
from rlnotes.autopsies.time_limits import terminated_lengths
from rlnotes.data import datasets
from rlnotes.doctor.checks import CHECKS, Check
from rlnotes.doctor.examination import Missing, diagnose
from rlnotes.doctor.findings import Exhibit, Report
from rlnotes.errors import UserError
from rlnotes.experiments import registry
from rlnotes.experiments.base import FRESH, Experiment
from rlnotes.experiments.trials import OfflineSettings
from rlnotes.experiments.umaze import MazeSettings
from rlnotes.report import addresses, figures, tables
from rlnotes.report.tables import Table
from rlnotes.runs import store
from rlnotes.runs.store import Record

# --- twins: variants into which a fault was put, and the checks that it should raise.
# Where several faults were put in at once, any of them may be ranked first.

INVENTED, LEAVES = ("invented-values",), ("leaves-data",)
PAID, RATIO = ("paid-to-live",), ("ratio-at-first",)
SCALED, STALE = ("hand-scaled",), ("stale-copy",)
FOREIGN, PINNED = ("foreign-successor",), ("pinned-deviation",)

TWINS: dict[str, tuple[str, ...]] = {
    "td3bc/pendulum-no-bc/td3-expert": INVENTED,
    "td3bc/pendulum-no-bc/td3-medium": INVENTED,
    "td3bc/pendulum-no-bc/twice-as-long": INVENTED,
    "td3bc/pendulum/sac-expert": INVENTED,
    "td3bc/pendulum/truncation-terminates": ("clock-as-end",),
    "td3bc/pendulum/raw-states": SCALED,
    "td3bc/pendulum/hand-scaled-states": SCALED,
    "td3bc/racecar/notes": SCALED + LEAVES,
    "td3bc/racecar/clean": LEAVES,
    "td3bc/racecar/keyboard": LEAVES,
    "td3bc/racecar/bc-first": LEAVES,
    "td3bc/racecar/step-reward": LEAVES,
    "td3bc/racecar/clean-small-alpha": LEAVES,
    "td3bc/racecar/clean-longer": LEAVES,
    "td3bc/racecar/goal-in-state": ("magnified-constant", *LEAVES),
    "td3bc/racecar/divided-by-15": SCALED + LEAVES,
    "td3bc/racecar/bc-divided-by-15": SCALED,
    "td3bc/racecar/bc-notes": SCALED,
    "td3bc/racecar/bc-notes-standardised": ("magnified-constant",),
    "gail/cartpole/notes": PAID,
    "gail/cartpole/notes-swapped": PAID,
    "gail/cartpole/gail-zero": PAID,
    "gail/cartpole/swapped-zero": PAID,
    "gail/cartpole/swapped-zero-no-penalty": PAID,
    "gail/cartpole/constant-zero": PAID,
    "gail/cartpole/untrained-zero": PAID,
    "gail/acrobot/gail-zero": PAID,
    "gail/acrobot/log-d-zero": PAID,
    "gail/racecar-ppo/gail-zero": PAID,
    "gail/racecar-ppo/fresh-log-prob": RATIO,
    "gail/racecar-ppo/notes": RATIO + SCALED + PAID,
    "gail/racecar-ppo/notes-program": RATIO + SCALED + PAID,
    "gail/racecar-reinforce/notes": PAID,
    "gail/racecar-reinforce/notes-program": PAID + SCALED,
    "bullet/plate/target-at-episode-end": STALE,
    "bullet/plate/as-in-the-notes": STALE,
    "parallel/dqn/corrupted": FOREIGN,
    "parallel/dqn/notes": FOREIGN + STALE,
    "parallel/dqn/notes-true-successor": STALE,
    "parallel/dqn/seldom": STALE,
    "parallel/dqn/huber": ("unseen-ends",),
    "parallel/orchard/corrupted": FOREIGN,
    "parallel/envpool/as-it-comes": FOREIGN,
    "parallel/copies/notes": ("identical-environments",),
    "bipedal/reinforce/pinned-std": PINNED,
    "bipedal/reinforce/notes": PINNED,
    "bipedal/aggrevated-reinforce/pinned-std": PINNED,
    "bipedal/ppo-vector/reset-every-rollout": ("common-start",),
    "bipedal/ppo-vector/long-rollouts-reset": ("common-start",),
    "bipedal/ppo-vector/notes": ("common-start",),
    "bipedal/aggrevated-reinforce/executed-actions": ("foreign-actions",),
    "bipedal/aggrevated-reinforce/executed-min-max": ("foreign-actions",),
    "bipedal/aggrevated-ppo/executed-actions": ("foreign-actions",),
    "pong/ppo/value-clip": ("value-without-gradient",),
    "pong/ppo/lost-done": ("lost-ends",),
    "pong/ppo/no-skip": ("short-sight",),
    "pong/ppo/short-horizon": ("short-sight",),
    "pong/ppo/notes": ("value-without-gradient", "lost-ends", "short-sight"),
}
TWINS |= {
    f"{id}/executed-actions": ("foreign-actions",)
    for id in ("aggrevated/cartpole", "aggrevated/acrobot")
}


# --- what a record has


class Patient:
    """A record, and what its settings and its data say, found when it is asked for."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.experiment = registry.find(record.run.id)
        self._metrics = {name for _, name, _ in record.rows}

    def __call__(self, name: str, check: Check) -> Any:
        if name in self._metrics:
            return addresses.value(self.record, name, check.along)
        found = getattr(self, f"_{name}", self._setting)
        value = found(name)
        if value is None:
            raise Missing(name)
        return value

    def _setting(self, name: str) -> Any:
        """Of the run, its learner, its generator or its game."""
        settings = self.record.settings
        agent = settings.get("agent") or {}
        places = (settings, agent, agent.get("generator"), settings.get("game"))
        for place in places:
            if place and isinstance(place.get(name), int | float | str):
                return place[name]
        return None

    def _values(self, metric: str) -> list[float] | None:
        if metric not in self._metrics:
            return None
        return [value for _, value in self.record.curve(metric)]

    def _continued_fractions(self, name: str) -> list[float] | None:
        return self._values("continued_fraction")

    def _entropies(self, name: str) -> list[float] | None:
        return self._values("entropy") if self._setting("ent_coef") else None

    def _num_envs(self, name: str) -> int:
        return self._setting(name) or 1

    def _time_limit(self, name: str) -> int | None:
        training = self._setting("max_episode_steps")
        spec = gym.registry.get(self._world().env_id)
        return training or (spec.max_episode_steps if spec else None)

    def _same_starts(self, name: str) -> bool:
        with closing(self._world().make()) as env:
            one, other = (env.reset(seed=seed)[0] for seed in (0, 1))
        return np.array_equal(one, other)

    def _action_dim(self, name: str) -> int | None:
        _, space = self._world().spaces()
        return space.shape[0] if isinstance(space, spaces.Box) else None

    def _frames_per_second(self, name: str) -> float | None:
        pong = self.record.run.id.startswith("pong/")
        return short_horizon.FRAMES_PER_SECOND if pong else None

    def _needed_seconds(self, name: str) -> float | None:
        pong = self.record.run.id.startswith("pong/")
        return short_horizon.PONG_SECONDS if pong else None

    def _world(self) -> Any:
        variant, budget = self.record.run.variant, self.record.run.budget
        return self.experiment.world(self.experiment.settings_for(variant, budget))

    # Data: a number that says "no data" is None.

    def _data(self) -> "Data | None":
        return data_of(self.record.run.id, self.record.run.variant)

    def _terminated_lengths(self, name: str) -> list[int] | None:
        data = self._data()
        return None if data is None else data.terminated_lengths

    def _observations(self, name: str) -> np.ndarray | None:
        data = self._data()
        return None if data is None else data.observations

    def _obs_mean(self, name: str) -> np.ndarray | None:
        data = self._data()
        return None if data is None else data.obs_mean

    def _obs_std(self, name: str) -> np.ndarray | None:
        data = self._data()
        return None if data is None else data.obs_std


@dataclass(frozen=True)
class Data:
    """What a run learnt from, as it saw it."""

    terminated_lengths: list[int]
    observations: np.ndarray
    obs_mean: np.ndarray
    obs_std: np.ndarray


def data_of(id: str, variant: str) -> Data | None:
    """None where it learnt from no dataset of ours, or the dataset is not there."""
    settings = registry.find(id).settings_for(variant, "full")
    if not isinstance(settings, OfflineSettings):
        return None
    if isinstance(settings, MazeSettings):
        return None  # it learns from other goals than it reads
    if not datasets.path(settings.dataset).exists():
        return None
    # Whoever learns from it and for how long, it is the same.
    nobody = bc.Config()
    return _data_of(replace(settings, agent=nobody, length=1.0))


@cache
def _data_of(settings: OfflineSettings) -> Data:
    episodes = settings.episodes()
    seen = np.concatenate([one.observations[:-1] for one in episodes])
    mean, std = settings.obs_scale(seen)
    return Data(terminated_lengths(episodes), seen, mean, std)


def examine_record(record: Record) -> Report:
    """A ranked report on one recorded seed."""
    needed = {name for check in CHECKS.values() for name in check.needs}
    curves = {
        name: record.curve(name)
        for name in dict.fromkeys(metric for _, metric, _ in record.rows)
        if name in needed or name in ("return", "continued_fraction", "entropy")
    }
    exhibits = tuple(Exhibit.of_curve(name, curve) for name, curve in curves.items())
    return diagnose(str(record.run), Patient(record), exhibits=exhibits)


def examine_run(id: str, variant: str | None, seed: int | None) -> Report:
    """The same by name: by default of the first variant, and of its first seed."""
    experiment = registry.find(id)
    chosen = variant or experiment.main_variant
    experiment.settings_for(chosen, "full")  # raises for an unknown variant
    records = store.read_all(id, chosen)
    if seed is None:
        return examine_record(records[0])
    for record in records:
        if record.run.seed == seed:
            return examine_record(record)
    there = ", ".join(str(record.run.seed) for record in records)
    raise UserError(f"{id} {chosen} has no seed {seed} on record. Recorded: {there}")


# --- the proof


def healthy(experiment: Experiment[Any]) -> set[str]:
    """The variants that are said to do well: the first, its fresh seeds, and whatever a
    bar says must reach something."""
    bars = {bar.variant for bar in experiment.bars if bar.sense == ">="}
    return {experiment.main_variant, FRESH, *bars}


@dataclass(frozen=True)
class Verdict:
    """On a variant: in how many of its seeds the fault was ranked first, and which
    checks fired."""

    address: str
    kind: str  # "twin", "healthy" or "other"
    faults: tuple[str, ...]
    seeds: int
    detected: int
    fired: dict[str, int]  # check: seeds
    examined: bool  # whether a check of the fault could be made at all

    @property
    def says(self) -> str:
        if self.kind == "twin" and not self.examined:
            return "not examined"
        if self.kind == "twin":
            return "detected" if self.detected == self.seeds else "missed"
        if self.kind == "healthy":
            return "false alarm" if self.fired else "quiet"
        return "fires" if self.fired else "quiet"


def verdict(address: str, kind: str, records: Sequence[Record]) -> Verdict:
    reports = [examine_record(record) for record in records]
    faults = TWINS.get(address, ())
    fired: dict[str, int] = {}
    for name in (name for report in reports for name in report.fired):
        fired[name] = fired.get(name, 0) + 1
    return Verdict(
        address,
        kind,
        faults,
        len(records),
        sum(report.first in faults for report in reports),
        fired,
        any(fault not in report.unexamined for report in reports for fault in faults),
    )


def verdicts(ids: Iterable[str] | None = None) -> list[Verdict]:
    """On everything that is on record; what measures speeds has nothing to examine."""
    found = []
    for id in ids or registry.EXPERIMENTS:
        experiment = registry.find(id)
        good = healthy(experiment)
        for variant in experiment.on_record:
            address = f"{id}/{variant}"
            kind = "healthy" if variant in good else "other"
            kind = "twin" if address in TWINS else kind
            found.append(verdict(address, kind, store.read_all(id, variant)))
    return found


def table(found: Sequence[Verdict]) -> Table:
    """One row for each variant on which there is something to say."""
    rows = []
    for one in found:
        if one.kind != "twin" and not one.fired:
            continue
        seen = ", ".join(f"{name} ({count})" for name, count in one.fired.items())
        detected = f"{one.detected} of {one.seeds}" if one.kind == "twin" else ""
        if one.says == "not examined":
            detected = one.says
        rows.append((one.address, one.kind, ", ".join(one.faults), detected, seen))
    headings = ("variant", "kind", "fault put in", "ranked first", "fired (seeds)")
    return Table(headings, rows)


def summary(found: Sequence[Verdict]) -> Table:
    """How many variants are detected, missed, falsely alarmed of."""
    counts: dict[tuple[str, str], int] = {}
    for one in found:
        counts[one.kind, one.says] = counts.get((one.kind, one.says), 0) + 1
    rows = [(kind, says, str(count)) for (kind, says), count in sorted(counts.items())]
    return Table(("variants that are", "the doctor", "how many"), rows)


# --- by symptom


def symptoms(chapters: Iterable[str] | None = None) -> Table:
    """What its owner complains of, what to look for, and where it is told; of all
    chapters unless some are named."""
    wanted = None if chapters is None else set(chapters)
    rows = [
        (one.symptom, one.title, one.name, one.section)
        for one in CHECKS.values()
        if wanted is None or one.section.partition("#")[0] in wanted
    ]
    return Table(("symptom", "it may be that", "check", "section"), rows)


# --- a page


PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto;
       padding: 0 1rem; color: #222}}
h2 {{margin-top: 2rem}} dt {{font-weight: 600}} dd {{margin: 0 0 .5rem 1rem}}
.finding {{border-left: 4px solid #D55E00; padding-left: 1rem; margin: 1rem 0}}
figure {{display: inline-block; margin: .3rem}} code {{color: #666}}
</style>
<h1>{title}</h1>
{body}
</html>
"""


def page(report: Report) -> str:
    """The report as one HTML file, with the plots that show it inside."""
    found = [
        f'<div class="finding"><h3>{number}. {escape(one.title)}'
        f" <code>{escape(one.check)}</code></h3><dl>"
        + _entries({"seen": one.evidence, "do": one.remedy, "read": one.read})
        + "</dl></div>"
        for number, one in enumerate(report.findings, start=1)
    ]
    parts = [
        _section("Findings", "".join(found) or "<p>None.</p>"),
        _section("What it is", f"<dl>{_entries(report.facts)}</dl>", report.facts),
        _section("To be seen", _plots(report), report.exhibits),
        _section("Quiet", f"<dl>{_entries(report.quiet)}</dl>", report.quiet),
        _section(
            "Not examined",
            f"<dl>{_entries(report.unexamined)}</dl>",
            report.unexamined,
        ),
    ]
    return PAGE.format(title=escape(report.patient), body="\n".join(parts))


def _section(title: str, body: str, shown: Any = True) -> str:
    return f"<h2>{title}</h2>\n{body}" if shown else ""


def _entries(named: dict[str, str]) -> str:
    return "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>"
        for name, value in named.items()
    )


def _plots(report: Report) -> str:
    return "".join(
        f'<figure><img alt="{escape(one.name)}"'
        f' src="data:image/png;base64,{_picture(one)}"></figure>'
        for one in report.exhibits
    )


def _picture(exhibit: Exhibit) -> str:
    ax = figures.axes(width=4.0, height=2.4)
    if exhibit.kind == "bars":
        ax.bar(exhibit.x, exhibit.y, color=figures.BLUE)
        ax.set_xlabel(exhibit.xlabel)
    else:
        ax.plot(exhibit.x, exhibit.y, "o-", color=figures.BLUE, markersize=3)
        figures.count_steps(ax, exhibit.xlabel)
    if exhibit.bound is not None:
        ax.axhline(exhibit.bound, **figures.DOTTED)
    ax.set_title(tables.words_for(exhibit.name).axis, fontsize=10)
    file = io.BytesIO()
    ax.figure.savefig(file, format="png", dpi=90)
    plt.close(ax.figure)
    return base64.b64encode(file.getvalue()).decode()
