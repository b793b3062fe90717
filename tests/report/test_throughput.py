"""The table and the figure of throughput, from hand-made rounds."""

import json

import matplotlib as mpl
import numpy as np
import pytest

from rlnotes.experiments import registry
from rlnotes.experiments.backends import BACKENDS
from rlnotes.experiments.throughput import THROUGHPUT
from rlnotes.paths import Run
from rlnotes.report import throughput
from rlnotes.report.throughput import STYLES, Found
from rlnotes.runs.store import Record

mpl.use("agg")


@pytest.fixture(autouse=True)
def _throughput(toys: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.EXPERIMENTS, THROUGHPUT.id, THROUGHPUT)


def one_round(variant: str, seed: int, times: dict[str, dict[int, float]]) -> Record:
    """The plain loop makes 1,000 steps a second."""
    rows = [
        (num_envs, f"{name}_{measure}", factor * value)
        for name, values in times.items()
        for num_envs, value in values.items()
        for measure, factor in (("times_plain", 1.0), ("steps_per_second", 1_000.0))
    ]
    return Record(Run(THROUGHPUT.id, variant, seed), {}, tuple(rows))


SAME = {1: 1.0, 4: 1.0, 64: 1.0}
WALKER = {
    "plain": SAME,
    "async": {1: 0.5, 4: 1.5, 64: 1.0},
    "sb3_subproc": {4: 2.0, 64: 0.5},
    "envpool": {1: 2.0, 4: 4.0, 64: 16.0},
    "envpool_2_threads": {1: 2.0, 4: 6.0, 64: 24.0},
    "rllib_2_runners": {4: 0.125, 64: 0.25},
    "simulator": {1: 3.0, 4: 3.0, 64: 3.0},
}
CART = {
    "plain": SAME,
    "sb3_dummy": {64: 0.8},
    "sb3_subproc": {64: 0.2},
    "native": {64: 40.0},
}


@pytest.fixture
def found() -> Found:
    slow, quick = ({"plain": SAME, "envpool": {64: x}} for x in (1.0, 99.0))
    return {
        "bipedal-walker": [
            one_round("bipedal-walker", seed, times)
            for seed, times in enumerate((slow, WALKER, quick))
        ],
        "cartpole": [one_round("cartpole", 0, CART)],
    }


def test_one_row_per_world_and_backend_with_the_median_of_the_rounds(
    found: Found,
) -> None:
    table = throughput.table(found)
    assert table.headings == ("world", "", "1", "4", "64", "steps per second")
    rows = {(world, name): rest for world, name, *rest in table.rows}
    assert rows["BipedalWalker", "plain loop"] == ["1.0", "1.0", "1.0", "1,000"]
    assert rows["BipedalWalker", "EnvPool, 1 thread"] == ["2.0", "4.0", "16", "16,000"]
    assert rows["BipedalWalker", "RLlib, 2 runners"] == ["", "0.12", "0.25", "250"]
    assert rows["CartPole", "Gymnasium native"] == ["", "", "40", "40,000"]
    assert ("CartPole", "EnvPool, 1 thread") not in rows
    assert len(rows) == len(WALKER) + len(CART)


def test_every_backend_has_a_purpose_and_its_speed_in_each_world(found: Found) -> None:
    table = throughput.purposes(found)
    assert table.headings == ("", "is for", "BipedalWalker, 64", "CartPole, 64")
    rows = {label: (purpose, *rest) for label, purpose, *rest in table.rows}
    assert list(rows) == [backend.label for backend in BACKENDS.values()]
    assert rows["SB3 SubprocVecEnv"][1:] == ("0.50", "0.20")
    assert rows["Gymnasium native"][1:] == ("", "40")
    assert all(purpose for purpose, *_ in rows.values())


def test_one_picture_per_world_one_line_per_backend(found: Found) -> None:
    figure = throughput.speed_curves(found)
    walker, cart = figure.axes
    assert [ax.get_title() for ax in figure.axes] == ["BipedalWalker", "CartPole"]
    lines = [
        [line for line in ax.get_lines() if line.get_linestyle() != "None"]
        for ax in figure.axes
    ]
    assert [len(one) for one in lines] == [len(WALKER), len(CART)]
    assert {(ax.get_xscale(), ax.get_yscale()) for ax in (walker, cart)} == {
        ("log", "log")
    }
    shown = [text.get_text() for text in figure.legends[0].get_texts()]
    assert shown == [BACKENDS[name].label for name in BACKENDS if name in WALKER | CART]
    dots = [line for line in walker.get_lines() if line.get_linestyle() == "None"]
    assert sum(len(np.asarray(line.get_xdata())) for line in dots) == 15  # every round
    dotted = [line for line in walker.get_lines() if line.get_linestyle() == ":"]
    assert [np.unique(line.get_ydata()) for line in dotted] == [3.0]


def test_no_two_backends_look_the_same() -> None:
    assert set(STYLES) == set(BACKENDS)
    assert len({json.dumps(style) for style in STYLES.values()}) == len(BACKENDS)


def test_what_is_advertised_stands_beside_what_was_measured(found: Found) -> None:
    *theirs, ours = throughput.advertised(found).rows
    assert theirs[0] == ("laptop", "12", "Pong", "4,893", "3.2", "10")
    assert theirs[-1] == ("DGX-A100", "256", "MuJoCo Ant", "11,569", "14", "271")
    assert ours == ("ours", "2", "BipedalWalker", "1,000", "1.5", "24")
    said = {says: rest for _, says, *rest in throughput.statements(found).rows}
    assert list(said.values()) == [
        ["BipedalWalker: 64 by Gymnasium async against 1 by Gymnasium async", "2.0"],
        ["CartPole: 64 by SB3 SubprocVecEnv against 64 by SB3 DummyVecEnv", "0.25"],
        [
            "BipedalWalker: 64 by SB3 SubprocVecEnv against 4 by SB3 SubprocVecEnv",
            "0.25",
        ],
        ["BipedalWalker: 1 by EnvPool, 1 thread against 1 by plain loop", "2.0"],
        ["BipedalWalker: 64 by EnvPool, 2 threads against 64 by Gymnasium async", "24"],
    ]


def test_a_round_as_json(found: Found) -> None:
    shown = throughput.as_json(found["cartpole"][0])
    assert shown["4"] == {"plain_times_plain": 1.0, "plain_steps_per_second": 1_000.0}
    assert shown["64"]["native_times_plain"] == 40.0
