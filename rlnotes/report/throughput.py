"""How fast the ways to step many worlds are, from records of `parallel/throughput`.

A record is one round in one world; its steps are numbers of environments. Of several
rounds the median is shown.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rlnotes.experiments import registry
from rlnotes.experiments.backends import BACKENDS, PLAIN, SIMULATOR
from rlnotes.report import figures, tables
from rlnotes.report.figures import BLACK, BLUE, GREEN, GREY, ORANGE, PINK, SKY, Style
from rlnotes.report.tables import Table
from rlnotes.runs import store
from rlnotes.runs.store import Record

ID = "parallel/throughput"
TIMES, SPEED = "times_plain", "steps_per_second"
Found = Mapping[str, Sequence[Record]]  # the rounds of each variant

# A colour for each library; dashed is in more than one process or thread, dash-dotted
# is reset in the step that ends an episode.
STYLES: dict[str, Style] = {
    PLAIN: {"color": BLACK},
    "sync": {"color": BLUE},
    "async": {"color": BLUE, "linestyle": "--"},
    "sb3_dummy": {"color": ORANGE},
    "sb3_subproc": {"color": ORANGE, "linestyle": "--"},
    "native": {"color": SKY},
    "native_same_step": {"color": SKY, "linestyle": "-."},
    "envpool": {"color": GREEN},
    "envpool_2_threads": {"color": GREEN, "linestyle": "--"},
    "envpool_same_step": {"color": GREEN, "linestyle": "-."},
    "rllib": {"color": PINK},
    "rllib_2_runners": {"color": PINK, "linestyle": "--"},
    SIMULATOR: {"color": GREY, "linestyle": ":"},
}


def recorded() -> dict[str, list[Record]]:
    return {name: store.read_all(ID, name) for name in registry.find(ID).on_record}


def curve(
    rounds: Sequence[Record], backend: str, measure: str = TIMES
) -> dict[int, float]:
    """By the number of environments, as far as it was measured."""
    name = f"{backend}_{measure}"
    values: dict[int, list[float]] = {}
    for record in rounds:
        for num_envs, metric, value in record.rows:
            if metric == name:
                values.setdefault(num_envs, []).append(value)
    return {num_envs: float(np.median(found)) for num_envs, found in values.items()}


def numbers(found: Found) -> list[int]:
    """Of environments."""
    steps = {
        step for rounds in found.values() for one in rounds for step, *_ in one.rows
    }
    return sorted(steps)


def _label(variant: str) -> str:
    return registry.find(ID).variants[variant].label


# --- figures


def speed_curves(found: Found) -> Figure:
    """One picture per world, one line per backend: how many times the plain loop's
    speed it has, with a dot for each round. Both axes are logarithmic."""
    columns = np.atleast_1d(
        figures.axes(len(found), width=11.0, height=4.6, sharey=True)
    )
    shown: dict[str, Any] = {}
    for ax, (variant, rounds) in zip(columns, found.items(), strict=True):
        for name, style in STYLES.items():
            times = curve(rounds, name)
            if times:
                line = style | {"label": BACKENDS[name].label}
                shown[name] = ax.plot(times.keys(), times.values(), **line)[0]
                _dots(ax, rounds, name)
        ticks = numbers({variant: rounds})
        ax.set(xscale="log", yscale="log", xlabel="environments", title=_label(variant))
        ax.set_xticks(ticks, [str(one) for one in ticks])
        ax.set_xticks([], minor=True)
    columns[0].set_ylabel("steps per second, times the plain loop's")
    columns[0].yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    figure = columns[0].figure
    figure.legend(
        handles=[shown[name] for name in BACKENDS if name in shown],
        fontsize="small",
        frameon=False,
        loc="outside right center",
    )
    return figure


def _dots(ax: Axes, rounds: Sequence[Record], name: str) -> None:
    if name not in (PLAIN, SIMULATOR):
        values = [curve([one], name).items() for one in rounds]
        dots = [dot for one in values for dot in one]
        colour = STYLES[name]["color"]
        ax.plot(*zip(*dots, strict=True), color=colour, **figures.SEEDS)


# --- tables


def table(found: Found) -> Table:
    """Every backend in every world: its speed as a multiple of the plain loop's, and at
    the largest number in steps per second."""
    columns = numbers(found)
    headings = ("world", "", *map(str, columns), "steps per second")
    return Table(
        headings,
        [
            (_label(variant), backend.label, *_times(rounds, name, columns))
            for variant, rounds in found.items()
            for name, backend in BACKENDS.items()
            if curve(rounds, name)
        ],
    )


def _times(rounds: Sequence[Record], name: str, columns: Sequence[int]) -> list[str]:
    times, speed = curve(rounds, name), curve(rounds, name, SPEED)
    cells = [_short(times[one]) if one in times else "" for one in columns]
    return [*cells, tables.text(float(speed[max(speed)]), ",.0f")]


def _short(times: float) -> str:
    """Two digits are more than a shared machine can repeat."""
    return tables.text(times, ".2f" if times < 1 else ".1f" if times < 10 else ".0f")


def purposes(found: Found) -> Table:
    """What each backend is for, and its speed with as many environments as there
    are."""
    worlds = {variant: max(numbers({variant: rs})) for variant, rs in found.items()}
    headings = [f"{_label(variant)}, {most}" for variant, most in worlds.items()]
    rows = []
    for name, backend in BACKENDS.items():
        times = [curve(rounds, name).get(worlds[v]) for v, rounds in found.items()]
        cells = ["" if one is None else _short(one) for one in times]
        rows.append((backend.label, backend.purpose, *cells))
    return Table(("", "is for", *headings), rows)


def as_json(record: Record) -> dict[str, dict[str, float]]:
    """By the number of environments, what was measured."""
    found: dict[str, dict[str, float]] = {}
    for num_envs, metric, value in record.rows:
        found.setdefault(str(num_envs), {})[metric] = value
    return found


# --- what the libraries say of themselves


class Advertised(NamedTuple):
    """Frames or steps per second: the highest of each, with EnvPool's fastest mode."""

    machine: str
    cores: int
    world: str
    plain: int
    subprocess: int
    envpool: int


# EnvPool's README at version 1.2.5, which repeats the tables of Weng et al. (2022).
ENVPOOL_SAYS = (
    Advertised("laptop", 12, "Pong", 4_893, 15_863, 49_439),
    Advertised("workstation", 32, "Pong", 7_914, 47_699, 200_428),
    Advertised("DGX-A100", 256, "Pong", 4_640, 71_943, 1_069_922),
    Advertised("laptop", 12, "MuJoCo Ant", 12_861, 36_586, 105_126),
    Advertised("workstation", 32, "MuJoCo Ant", 20_298, 105_432, 582_446),
    Advertised("DGX-A100", 256, "MuJoCo Ant", 11_569, 163_656, 3_134_287),
)


class Statement(NamedTuple):
    """What a library says, and which two of our speeds to hold beside it: how many
    times as fast `this` is as `than`."""

    source: str
    says: str
    variant: str
    this: tuple[str, int]
    than: tuple[str, int]


STATEMENTS = (
    Statement(
        "Gymnasium, VectorEnv",
        "vectors can give a linear speed-up in steps per second",
        "bipedal-walker",
        ("async", 64),
        ("async", 1),
    ),
    Statement(
        "SB3, DummyVecEnv",
        "for worlds as simple as CartPole, processes cost more than they bring",
        "cartpole",
        ("sb3_subproc", 64),
        ("sb3_dummy", 64),
    ),
    Statement(
        "SB3, SubprocVecEnv",
        "the number of environments should not exceed that of logical cores",
        "bipedal-walker",
        ("sb3_subproc", 64),
        ("sb3_subproc", 4),
    ),
    Statement(
        "EnvPool, README",
        "about twice as fast with a single environment",
        "bipedal-walker",
        ("envpool", 1),
        (PLAIN, 1),
    ),
    Statement(
        "EnvPool, README",
        "about three times the subprocesses on a machine of 12 cores",
        "bipedal-walker",
        ("envpool_2_threads", 64),
        ("async", 64),
    ),
)


def advertised(found: Found) -> Table:
    """EnvPool's published figures as multiples of their plain loop, and ours."""
    headings = ("machine", "cores", "world", "plain loop, steps per second")
    rows = [
        (
            *(one.machine, str(one.cores), one.world, tables.text(one.plain)),
            *(_short(fast / one.plain) for fast in (one.subprocess, one.envpool)),
        )
        for one in ENVPOOL_SAYS
    ]
    cores = registry.find(ID).cores
    for variant, rounds in found.items():
        if curve(rounds, "envpool"):
            best = [
                max(curve(rounds, n).values()) for n in ("async", "envpool_2_threads")
            ]
            plain = float(np.median(list(curve(rounds, PLAIN, SPEED).values())))
            cells = tables.text(plain, ",.0f"), *map(_short, best)
            rows.append(("ours", str(cores), _label(variant), *cells))
    return Table((*headings, "processes, ×", "EnvPool, ×"), rows)


def statements(found: Found) -> Table:
    """What the libraries say of themselves, and what was measured here."""
    rows = []
    for one in STATEMENTS:
        rounds = found[one.variant]
        this, than = (curve(rounds, name)[n] for name, n in (one.this, one.than))
        rows.append((one.source, one.says, _in_words(one), _short(this / than)))
    return Table(("source", "says", "here", "times as fast"), rows)


def _in_words(statement: Statement) -> str:
    ends = [f"{n} by {BACKENDS[name].label}" for name, n in statement[3:]]
    return f"{_label(statement.variant)}: {' against '.join(ends)}"
