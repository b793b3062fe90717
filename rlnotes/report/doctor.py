"""The doctor on the book's own runs: what it sees in a record, whether it finds the
fault of every twin, and whether it is quiet on what is healthy.

A record has the diagnostics under the names that checks ask for. Settings say the rest,
and where a run learnt from a dataset that is there, so do its episodes.
"""

import base64
import io
import re
from collections import Counter
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
from matplotlib.axes import Axes

from rlnotes.algos import bc
from rlnotes.autopsies import short_horizon
from rlnotes.autopsies.time_limits import terminated_lengths
from rlnotes.data import datasets
from rlnotes.doctor.checks import CHECKS, Check
from rlnotes.doctor.examination import Missing, diagnose
from rlnotes.doctor.findings import Exhibit, Report, Sign
from rlnotes.errors import UserError
from rlnotes.experiments import registry
from rlnotes.experiments.base import FRESH, Experiment
from rlnotes.experiments.doctor_sb3 import DOCTOR_SB3, FIRES
from rlnotes.experiments.trials import OfflineSettings
from rlnotes.experiments.umaze import MazeSettings
from rlnotes.report import addresses, figures, sections, tables
from rlnotes.report.results import Results
from rlnotes.report.tables import Link, Table
from rlnotes.runs import store
from rlnotes.runs.store import Record

# --- twins: variants into which a fault was put, and the checks that it should raise.
# Where several faults were put in at once, any of them may be ranked first.

INVENTED, LEAVES = ("invented-values",), ("leaves-data",)
PAID, RATIO = ("paid-to-live",), ("ratio-at-first",)
SCALED, STALE = ("hand-scaled",), ("stale-copy",)
FOREIGN, PINNED = ("foreign-successor",), ("pinned-deviation",)
THROWN = ("thrown-away",)

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
    "gail/judges/swapped-zero": PAID,
    "gail/judges/untrained-zero": PAID,
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
    "bipedal/reinforce/notes": RATIO + PINNED + THROWN,
    "bipedal/reinforce/notes-unpinned": RATIO + THROWN,
    "bipedal/reinforce/notes-one-pass": RATIO + THROWN,
    "bipedal/reinforce/four-passes": THROWN,
    "bipedal/aggrevated-reinforce/pinned-std": PINNED,
    "bipedal/ppo-vector/reset-every-rollout": ("common-start",),
    "bipedal/ppo-vector/notes": ("common-start",),
    "hardcore/ppo-vector/notes": ("common-start",),
    "bipedal/aggrevated-reinforce/stale-batch": THROWN,
    "bipedal/aggrevated-reinforce/stale-twenty": THROWN,
    "bipedal/aggrevated-reinforce/stale-five": THROWN,
    "aggrevated/table/table": THROWN,
    "aggrevated/table/fast": THROWN,
    "bipedal/aggrevated-reinforce/executed-actions": ("foreign-actions",),
    "bipedal/aggrevated-reinforce/executed-five": ("foreign-actions",),
    "bipedal/aggrevated-reinforce/executed-min-max": ("foreign-actions",),
    "bipedal/aggrevated-reinforce/clone-pinned": (*PINNED, "weights-of-states"),
    "bipedal/aggrevated-reinforce/clone-thirty": (
        "foreign-actions",
        "weights-of-states",
    ),
    "bipedal/aggrevated-ppo/executed-actions": ("foreign-actions",),
    "bipedal/aggrevated-ppo/notes": (*RATIO, "foreign-actions", "weights-of-states"),
    "bipedal/aggrevated-ppo/mixture-value": ("weights-of-states",),
    "bipedal/aggrevated-ppo/mixture-value-unscaled": ("weights-of-states",),
    "pong/ppo/value-clip": ("value-without-gradient",),
    "pong/ppo/lost-done": ("lost-ends",),
    "pixels/credit/skip-1": ("short-sight",),
    "pong/ppo/short-horizon": ("short-sight",),
    "pong/ppo/notes": ("value-without-gradient", "lost-ends", "short-sight"),
}
TWINS |= {
    f"aggrevated/{world}/{variant}": ("foreign-actions",)
    for world in ("cartpole", "acrobot")
    for variant in ("executed-actions", "notes", "half-blind-notes")
}


# --- what a record has

SHOWN = ("return", "continued_fraction", "entropy", "approx_kl")  # beside what is asked


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

    def _approx_kls(self, name: str) -> list[float] | None:
        return self._values("approx_kl")

    def _num_envs(self, name: str) -> int:
        return self._setting(name) or 1

    def _time_limit(self, name: str) -> int | None:
        world = self._world()
        spec = gym.registry.get(world.env_id)
        limit = (
            self._setting("max_episode_steps")
            or world.options.get("max_episode_steps")
            or (spec.max_episode_steps if spec else None)
        )
        return limit if limit and limit > 0 else None  # −1 is none

    def _same_starts(self, name: str) -> bool:
        with closing(self._world().make()) as env:
            one, other = (env.reset(seed=seed)[0] for seed in (0, 1))
        return np.array_equal(one, other)

    def _action_dim(self, name: str) -> int | None:
        _, space = self._world().spaces()
        return space.shape[0] if isinstance(space, spaces.Box) else None

    def _frames_per_second(self, name: str) -> float | None:
        pong = self._setting("name") == "pong"  # of its game
        return short_horizon.FRAMES_PER_SECOND if pong else None

    def _needed_seconds(self, name: str) -> float | None:
        pong = self._setting("name") == "pong"  # of its game
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
    """A ranked report on one recorded seed; of a training that the doctor has watched,
    his own."""
    if record.run.id == DOCTOR_SB3.id:
        return _as_said(record)
    needed = {name for check in CHECKS.values() for name in check.needs}
    curves = {
        name: record.curve(name)
        for name in dict.fromkeys(metric for _, metric, _ in record.rows)
        if name in needed or name in SHOWN
    }
    exhibits = tuple(Exhibit.of_curve(name, curve) for name, curve in curves.items())
    return diagnose(str(record.run), Patient(record), exhibits=exhibits)


def _as_said(record: Record) -> Report:
    last = {name: value for _, name, value in record.rows}
    findings, quiet, unexamined = [], {}, {}
    for check in CHECKS.values():
        fires = last.get(FIRES + check.name)
        if fires is None:
            unexamined[check.name] = "it could not be made beside the training"
        elif fires:
            sign = Sign(True, np.nan, np.nan, "the doctor said so during the training")
            findings.append(check.finding(sign))
        else:
            quiet[check.name] = "the doctor was quiet during the training"
    return Report(str(record.run), tuple(findings), quiet, unexamined)


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
    bar says must reach a number. To be no worse than another variant is not to do
    well."""
    bars = {
        bar.variant
        for bar in experiment.bars
        if bar.sense == ">=" and not isinstance(bar.against, str)
    }
    return {experiment.main_variant, FRESH, *bars}


@dataclass(frozen=True)
class Verdict:
    """On a variant: which checks fired, which of them came first, and which were made
    and quiet, each with the number of seeds."""

    address: str
    kind: str  # "twin", "healthy", "library" or "other"
    faults: tuple[str, ...]
    seeds: int
    fired: dict[str, int]
    first: dict[str, int]
    quiet: dict[str, int]

    @property
    def detected(self) -> int:
        """Seeds in which a fault that was put in is ranked first."""
        return sum(self.first.get(fault, 0) for fault in self.faults)

    @property
    def examined(self) -> bool:
        """Whether a check could be made at all; of a twin, one of its faults."""
        made = {*self.fired, *self.quiet}
        return bool(made & set(self.faults) if self.kind == "twin" else made)

    @property
    def says(self) -> str:
        if not self.examined:
            return "not examined"
        if self.kind == "twin":
            return "detected" if self.detected == self.seeds else "missed"
        if self.kind == "other":
            return "fires" if self.fired else "quiet"
        return "false alarm" if self.fired else "quiet"


def verdict(address: str, kind: str, records: Sequence[Record]) -> Verdict:
    reports = [examine_record(record) for record in records]
    return Verdict(
        address,
        kind,
        TWINS.get(address, ()),
        len(records),
        dict(Counter(name for one in reports for name in one.fired)),
        dict(Counter(one.first for one in reports if one.first is not None)),
        dict(Counter(name for one in reports for name in one.quiet)),
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
            kind = "library" if id == DOCTOR_SB3.id else kind
            kind = "twin" if address in TWINS else kind
            found.append(verdict(address, kind, store.read_all(id, variant)))
    return found


# What the kinds are called, and how they should and should not come out.
KINDS = {
    "twin": ("twins: a fault was put in", "detected", "missed"),
    "healthy": ("healthy runs of the book", "quiet", "false alarm"),
    "library": ("SB3's own algorithms", "quiet", "false alarm"),
    "other": ("suspects, controls and the like", "quiet", "fires"),
}


def summary(found: Sequence[Verdict]) -> Table:
    """How many variants are detected, missed, falsely alarmed of."""
    rows = []
    for kind, (words, right, wrong) in KINDS.items():
        says = Counter(one.says for one in found if one.kind == kind)
        seeds = sum(one.seeds for one in found if one.kind == kind)
        if not says:
            continue
        counts = [f"{name}: {says[name]}" for name in (right, wrong)]
        counts.append(str(says["not examined"]))
        rows.append((words, str(says.total()), str(seeds), *counts))
    headings = ("", "variants", "seeds", "as it should be", "otherwise")
    return Table((*headings, "nothing to examine"), rows)


def table(found: Sequence[Verdict], kind: str | None = None) -> Table:
    """One row for each variant on which there is something to say."""
    rows = []
    for one in found:
        if one.kind != (kind or one.kind) or not (one.fired or one.kind == "twin"):
            continue
        seen = ", ".join(f"{name} ({count})" for name, count in one.fired.items())
        detected = f"{one.detected} of {one.seeds}" if one.kind == "twin" else ""
        if one.says == "not examined":
            detected = one.says
        rows.append((one.address, ", ".join(one.faults), detected, seen))
    headings = ("variant", "fault put in", "ranked first, seeds", "fired (seeds)")
    return Table(headings, rows)


def by_check(found: Sequence[Verdict]) -> Table:
    """How often each check was put to the proof on records; a twin with several faults
    is no proof of any one of them."""
    rows = []
    for name in CHECKS:
        twins = [one for one in found if one.faults == (name,) and one.examined]
        right = sum(one.first.get(name, 0) for one in twins)
        well = [one for one in found if one.kind in ("healthy", "library")]
        quiet = sum(one.quiet.get(name, 0) for one in well)
        alarms = sum(one.fired.get(name, 0) for one in well)
        twins_seen = f"{right} of {sum(one.seeds for one in twins)}" if twins else "–"
        rows.append((name, twins_seen, str(quiet), str(alarms)))
    headings = ("check", "first on its twins, seeds", "quiet on healthy, seeds")
    return Table((*headings, "alarms on healthy, seeds"), rows)


def library_table(results: Results) -> Table:
    """SB3's own algorithms: that they learn, and what the doctor says meanwhile."""
    rows = []
    for variant in results.experiment.on_record:
        one = verdict(f"{DOCTOR_SB3.id}/{variant}", "library", results.records(variant))
        before = results.number(f"{variant}/untrained_return/median")
        after = results.number(f"{variant}/final_return/median")
        made = len({*one.fired, *one.quiet})
        steps = tables.text(results.records(variant)[0].rows[-1][0])
        fired = ", ".join(f"{name} ({count})" for name, count in one.fired.items())
        numbers = (steps, tables.number(before), tables.number(after), str(made))
        label = results.label(variant)
        rows.append((label, *numbers, fired or "none", str(one.seeds)))
    headings = ("training", "steps", "return before", "and after", "checks made")
    return Table((*headings, "fired", "seeds"), rows)


def picture(found: Sequence[Verdict]) -> Axes:
    """Which check fires where: a row for each fault that was put in, and one for all
    that is healthy."""
    groups: dict[str, list[Verdict]] = {}
    for one in sorted(found, key=_rank):
        if one.kind == "twin" and one.examined:
            groups.setdefault(", ".join(one.faults), []).append(one)
    for kind in ("healthy", "library"):
        well = [one for one in found if one.kind == kind and one.examined]
        if well:
            groups[KINDS[kind][0]] = well
    seen = {name for group in groups.values() for one in group for name in one.fired}
    columns = [name for name in CHECKS if name in seen]
    ax = figures.axes(width=9.0, height=1.9 + 0.27 * len(groups))
    for height, group in enumerate(reversed(groups.values())):
        seeds = sum(one.seeds for one in group)
        for x, name in enumerate(columns):
            for counts, colour in (
                ([one.fired for one in group], figures.SKY),
                ([one.first for one in group], figures.ORANGE),
            ):
                share = sum(each.get(name, 0) for each in counts) / seeds
                ax.scatter(x, height, s=160 * share, color=colour, linewidths=0)
    labels = [f"{name}  ({len(group)})" for name, group in groups.items()]
    ax.set_yticks(range(len(groups)), list(reversed(labels)))
    ax.set_xticks(range(len(columns)), columns, rotation=40, ha="right")
    ax.set_ylim(-0.6, len(groups) - 0.4)
    ax.set_title("faults that were put in, and checks that fire")
    return ax


def _rank(one: Verdict) -> tuple[int, ...]:
    names = list(CHECKS)
    return tuple(names.index(fault) for fault in one.faults)


# --- the checks, one by one


def section(check: Check) -> str:
    """A link to it, or the chapter's name if it is not written yet."""
    chapter, _, anchor = check.section.partition("#")
    heading = sections.headings(chapter).get(anchor)
    if heading is None:
        return f"{chapter} (to come)"
    return Link(heading, f"{chapter}.html#{anchor}")


def _unmarked(text: str) -> str:
    """One line, without the marks of Markdown, which a cell would show."""
    return re.sub("[`*]", "", " ".join(text.split()))


def checks() -> Table:
    """What each compares, why its bound lies where it does, and where it is told."""
    rows = [
        (one.name, one.title, _unmarked(one.reason), section(one))
        for one in CHECKS.values()
    ]
    return Table(("check", "it says that", "what is compared", "section"), rows)


# --- by symptom


def symptoms(chapters: Iterable[str] | None = None) -> Table:
    """What its owner complains of, what to look for, what to do and where it is told;
    of all chapters unless some are named."""
    wanted = None if chapters is None else set(chapters)
    rows = [
        (one.symptom, one.title, _unmarked(one.remedy), one.name, section(one))
        for one in CHECKS.values()
        if wanted is None or one.section.partition("#")[0] in wanted
    ]
    headings = ("you see", "it may be that", "what to do", "check", "section")
    return Table(headings, rows)


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
