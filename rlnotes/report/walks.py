"""How walks end, how soon they are good, what others report of them, and whether the
critic of the expert is to be believed."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rlnotes.autopsies import common_reset
from rlnotes.experiments import bipedal_expert, critic_checks
from rlnotes.experiments.bipedal_expert import BIPEDAL_CRITIC, WALKER, free_expert
from rlnotes.experiments.recipes import recorded
from rlnotes.report import figures, tables
from rlnotes.report.results import Choice, Results
from rlnotes.report.tables import Table
from rlnotes.runs.store import Record

# How an episode on a course can end, and the metric that counts it.
ENDS = {
    "finished the course": ("final_success_percent", figures.BLUE),
    "time ran out": ("final_timeouts_percent", figures.AMBER),
    "fell": ("final_falls_percent", figures.GREY),
}


def ends(
    results: Results,
    variants: Sequence[str],
    ax: Axes | None = None,
    *,
    labels: Choice = None,
    title: str = "",
) -> Axes:
    """One bar per variant, shares of all its seeds' last episodes."""
    ax = ax or figures.axes(height=1.1 + 0.34 * len(variants))
    heights = np.arange(len(variants))[::-1]
    left = np.zeros(len(variants))
    for label, (metric, colour) in ENDS.items():
        shares = [np.mean(results.values(one, metric)) for one in variants]
        ax.barh(heights, shares, 0.7, left, color=colour, label=label)
        left += shares
    ax.set_yticks(heights, [results.label(one, labels) for one in variants])
    ax.set(xlim=(0, 100), xlabel="% of episodes", title=title)
    ax.grid(visible=False)
    figures.legend(ax, "outside")
    return ax


def steps_until(bar: float, metric: str = "return") -> Callable[[Record], float]:
    """Of a seed: when an evaluation was first as good as `bar`; NaN if none was."""

    def of(record: Record) -> float:
        reached = (step for step, value in record.curve(metric) if value >= bar)
        return float(next(reached, math.nan))

    return of


def soon(bar: float, metric: str = "return") -> Callable[[Sequence[Record]], str]:
    """A column of a table: the median over the seeds that came there, and how many."""
    of = steps_until(bar, metric)

    def cell(records: Sequence[Record]) -> str:
        found = [step for step in map(of, records) if not math.isnan(step)]
        if not found:
            return "–"
        middle = tables.text(round(float(np.median(found))))
        return f"{middle} ({len(found)} of {len(records)})"

    return cell


def always_anew(records: Sequence[Record]) -> str:
    """A column: how many seeds never went on with an episode of the rollout before."""
    shares = ([x for _, x in one.curve("continued_fraction")] for one in records)
    return f"{sum(map(common_reset.fires, shares))} of {len(records)}"


# --- what others report


class Report(NamedTuple):
    who: str
    steps: str
    returns: str
    how: str


EVEN_GROUND = (
    Report(
        "PPO of the notes",
        "1.8M",
        "265.4, 261.8, 278.5, 272.2",
        "all 1,600 steps long: out of time",
    ),
    Report("PPO of the RL Zoo", "5M", "287.9", "published"),
)
HARDCORE = (
    Report(
        "PPO of the notes",
        "26.2M",
        "−18.4, 1.4, 8.4, 6.9, −1.9",
        "all 2,000 steps long: out of time",
    ),
    Report(
        "SAC of the RL Zoo, the notes' expert",
        "",
        "4 ± 104",
        "from its published evaluation",
    ),
    Report("PPO of the RL Zoo", "100M", "122", "published"),
    Report("TQC of the RL Zoo", "", "235", "published"),
)


def reported(reports: Sequence[Report]) -> Table:
    return Table(("by others", "steps", "returns", ""), [tuple(one) for one in reports])


# --- the critic


def critic_scatter(budget: str = "ci") -> Figure:
    """What the free critic says of actions that are tried now, beside what comes of
    them: all of it, and what is left when the mean of each moment is taken away."""
    settings = BIPEDAL_CRITIC.settings_for("peaked", budget)
    trials = bipedal_expert.actions_tried(settings, recorded(WALKER), "select")
    said = trials.said_by(free_expert().q)
    earned = trials.returns(
        lambda episode: bipedal_expert.soft_return(
            episode, settings.agent.gamma, settings.fall_penalty
        )
    )
    return _scatter(said, earned)


def _scatter(said: np.ndarray, earned: np.ndarray) -> Figure:
    left, right = figures.axes(2, width=8.5, height=3.4)
    ahead, truly = (x - x.mean(1, keepdims=True) for x in (said, earned))
    pairs = {
        "what Q says of actions": (left, earned, said),
        "less the mean of their moment": (right, truly, ahead),
    }
    for title, (ax, x, y) in pairs.items():
        ax.plot(x.ravel(), y.ravel(), color=figures.BLUE, **figures.SEEDS)
        ends = [min(x.min(), y.min()), max(x.max(), y.max())]
        ax.plot(ends, ends, **figures.DOTTED)
        goes_with = critic_checks.correlation(x, y)
        ax.set(title=f"{title}\n(correlation {goes_with:.2f})".replace("-", "−"))
        ax.set(xlabel="what came of them", ylabel="Q*")
    return left.figure
