"""Recorded policies, played again in the worlds that they were trained for."""

import dataclasses
import json
from typing import Any

import numpy as np
import pytest
import torch

from rlnotes.algos.policy import Policy
from rlnotes.errors import UserError
from rlnotes.experiments import registry
from rlnotes.paths import Run
from rlnotes.runs import store
from rlnotes.runs.evaluate import evaluate, median_record
from rlnotes.seeding import reset_seeds

ID, VARIANT = "experts/pendulum", "half-trained"


def policy(seed: int) -> Policy:
    torch.manual_seed(seed)
    return Policy((3,), [-2.0], [2.0], (8,), "gaussian")


def record(seed: int, score: float, *kept: Policy) -> None:
    run = Run(ID, VARIANT, seed)
    info = {"settings": {}, "wall_seconds": 1.0}
    policies = dict(zip(("last", "best"), kept, strict=True))
    store.write_seed(run, [(1, "final_return", score)], info, policies, {})
    store.join(run)


@pytest.fixture(autouse=True)
def recorded(home: object) -> None:
    """Three seeds, of which number 2 is the median."""
    for seed, score in enumerate((9.0, -9.0, 1.0)):
        record(seed, score, policy(seed), policy(seed + 100))


def test_the_median_seed_plays_unless_another_is_named() -> None:
    assert median_record(ID, VARIANT).run.seed == 2
    assert evaluate(ID, VARIANT, episodes=1).train_seed == 2
    assert evaluate(ID, VARIANT, train_seed=0, episodes=1).train_seed == 0


def test_it_is_the_recorded_policy_that_plays_in_the_unmodified_world() -> None:
    found = evaluate(ID, VARIANT, episodes=2, seed=7)
    world = registry.find(ID).world(registry.find(ID).settings)
    played = world.play(policy(2).act, reset_seeds("evaluate", 7, 2))
    expected = [round(episode.total_reward, 3) for episode in played]
    assert found.returns == expected
    assert found.mean == round(float(np.mean(expected)), 3)
    assert (found.success_rate, found.normalised) == (None, None)
    assert json.loads(json.dumps(dataclasses.asdict(found)))["returns"] == expected


def test_seeds_and_policies_make_a_difference() -> None:
    def returns(**more: Any) -> list[float]:
        return evaluate(ID, VARIANT, episodes=2, **more).returns

    first = returns()
    assert returns() == first
    assert returns(seed=1) != first
    assert returns(train_seed=0) != first
    assert returns(which="best") != first
    assert returns(sample=True) != first
    assert returns(sample=True) == returns(sample=True)


def test_a_policy_that_is_not_kept_is_named_with_those_that_are() -> None:
    with pytest.raises(UserError, match="'seed-5/last' is not kept. Kept: seed-0/best"):
        evaluate(ID, VARIANT, train_seed=5, episodes=1)


def test_a_policy_of_another_world_is_refused() -> None:
    record(3, 0.0, Policy((4,), [-2.0], [2.0], (8,)), policy(0))
    with pytest.raises(UserError, match=r"observations of shape \(4,\)"):
        evaluate(ID, VARIANT, train_seed=3, episodes=1)


def test_no_episodes_are_no_evaluation() -> None:
    with pytest.raises(UserError, match="--episodes must be at least 1, not 0"):
        evaluate(ID, VARIANT, episodes=0)
