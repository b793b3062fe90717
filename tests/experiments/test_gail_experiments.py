"""GAIL's experiments: who is shown what, and when an expert is good enough."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from rlnotes.algos import gail
from rlnotes.evidence import race, runner
from rlnotes.evidence.records import Run
from rlnotes.experiments.base import evaluated
from rlnotes.experiments.gail import CARTPOLE, CARTPOLE_GAIL, OFFLINE, demonstrations, new_agent, new_policy


def test_each_seed_is_shown_demonstrations_of_its_own() -> None:
    settings = CARTPOLE_GAIL.settings_for("four", "full")
    first, second = (demonstrations(settings, seed) for seed in (0, 1))
    assert len(first) == len(second) == 4
    assert not {episode.seed for episode in first} & {episode.seed for episode in second}


def test_all_demonstrations_are_the_same_for_every_seed() -> None:
    settings = OFFLINE.settings_for("bc", "full")
    first, second = ({episode.seed for episode in demonstrations(settings, seed)} for seed in (0, 1))
    assert first == second
    assert len(first) == 100


def steps_of(stride: int, steps: int, enough: float) -> list[tuple[int, list[str]]]:
    """Where a learner that always pushes right, and so earns about nine, is evaluated."""

    def stream() -> Iterator[tuple[int, dict[str, torch.Tensor]]]:
        for step in range(stride, 10 * steps, stride):
            yield step, {}

    settings = {"evaluations": 4, "curve_episodes": 1, "final_episodes": 1, "enough": enough}
    rows = evaluated(lambda obs: np.ones(len(obs), np.int64), stream(), steps, CARTPOLE, settings)
    return [(step, sorted(metrics)) for step, metrics in rows if metrics]


def test_large_strides_are_evaluated_once_past_each_distance() -> None:
    assert steps_of(30, 100, 500.0) == [
        (30, ["return"]),
        (60, ["return"]),
        (90, ["return"]),
        (120, ["final_return", "return"]),
    ]
    assert [step for step, _ in steps_of(1, 100, 500.0)] == [25, 50, 75, 100]


def test_training_ends_when_an_evaluation_is_good_enough() -> None:
    assert steps_of(10, 100, 5.0) == [(30, ["final_return", "return"])]


@pytest.mark.parametrize(
    "run",
    [
        Run("gail/cartpole", "notes", 0, "smoke"),
        Run("gail/cartpole", "spectral", 0, "smoke"),
        Run("gail/acrobot", "either", 0, "smoke"),
        Run("gail/offline", "notes", 0, "smoke"),
        Run("gail/offline", "bc", 0, "smoke"),
    ],
    ids=lambda run: f"{run.id}/{run.variant}",
)
def test_it_runs_at_the_smallest_budget(run: Run) -> None:
    record, _ = runner.live(run, progress=False)
    assert np.isfinite(record.last("final_return"))


def test_the_race_is_between_medians() -> None:
    def curve(seconds: float) -> race.Curve:
        return [{"steps": 1, "seconds": seconds / 2, "return": 9.0}, {"steps": 2, "seconds": seconds, "return": 500.0}]

    curves = {"ours": [curve(1), curve(2), curve(30)], "imitation": [curve(20), curve(10), curve(40)]}
    assert race.times_faster(curves) == 10


def test_discounts_of_the_learner_and_the_weight_of_an_end_agree() -> None:
    settings = CARTPOLE_GAIL.settings_for("ten", "smoke")
    agent = new_agent(new_policy(CARTPOLE, settings, demonstrations(settings, 0))[0], settings)
    side = gail.shown(agent, torch.zeros(1, 7), torch.zeros(1, 4))
    assert side.weight.tolist() == pytest.approx([1, 1 / (1 - settings["discount"])])
