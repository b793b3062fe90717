"""CartPole without its limit, and SB3's DQN judged at its best and at the end."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.wrappers import TimeLimit

from rlnotes.experiments import unlimited
from rlnotes.experiments.parallel_sb3 import SB3_DQN, DqnOptions
from rlnotes.experiments.settings import changed
from rlnotes.experiments.unlimited import UNLIMITED, lean_alone, lean_and_place


def limits(env: gym.Env[Any, Any]) -> list[int]:
    found = []
    while isinstance(env, gym.Wrapper):
        if isinstance(env, TimeLimit):
            found.append(env._max_episode_steps)
        env = env.env
    return found


def test_none_means_as_registered_and_minus_one_no_limit() -> None:
    assert limits(unlimited.with_none()) == [500]
    assert limits(unlimited.with_minus_one()) == []
    assert limits(unlimited.unwrapped()) == []


def watched(variant: str, player: Any, steps: int) -> dict[str, float]:
    settings = UNLIMITED.settings_for(variant, "smoke", {"player": player})
    longer = changed(settings, {"budget.steps": steps, "budget.final_episodes": 5})
    ((step, metrics),) = UNLIMITED.trial(longer, seed=0).stream
    assert step == metrics["final_longest"]
    return metrics


@pytest.mark.parametrize(
    ("variant", "longest"), [("minus-one", 700), ("unwrapped", 700), ("none", 500)]
)
def test_a_pole_that_is_held_stays_up_for_as_long_as_the_world_goes_on(
    variant: str, longest: int
) -> None:
    metrics = watched(variant, lean_and_place, 700)
    assert metrics == {
        "final_longest": longest,
        "final_shortest": longest,
        "final_long_percent": 0.0,
    }


def test_only_episodes_of_more_than_ten_thousand_steps_are_long() -> None:
    assert watched("minus-one", lean_and_place, 10_000)["final_long_percent"] == 0.0
    assert watched("minus-one", lean_and_place, 10_001)["final_long_percent"] == 100.0


def test_a_rule_that_is_blind_to_the_place_runs_off_the_rail() -> None:
    metrics = watched("minus-one", lean_alone, 6_000)
    assert 500 < metrics["final_shortest"] < 6_000


def test_the_rules_push_to_the_side_that_the_pole_leans_to() -> None:
    leaning = np.array([[0, 0, 0.1, 0], [0, 0, -0.1, 0]], np.float32)
    for rule in (lean_alone, lean_and_place):
        assert rule()(leaning).tolist() == [1, 0]
    assert lean_and_place()(np.eye(4)[:1]).tolist() == [1]  # to lean back to the middle
    assert lean_alone()(np.eye(4)[:1]).tolist() == [0]


@pytest.mark.parametrize("variant", SB3_DQN.variants)
def test_sb3_is_judged_at_its_best_and_at_the_end(variant: str) -> None:
    trial = SB3_DQN.trial(SB3_DQN.settings_for(variant, "smoke"), seed=0)
    *_, (step, last) = trial.stream
    assert step >= trial.steps
    assert last["final_best_return"] > 0
    assert last["final_return"] > 0


def test_the_defaults_are_those_of_the_installed_library() -> None:
    from rlnotes.algos import sb3

    envs = sb3.vector(lambda: gym.make("CartPole-v1"), 4)
    model: Any = sb3.dqn(envs, seed=0, buffer_size=100)
    options = vars(DqnOptions()) | {"buffer_size": 100}
    net_arch = options.pop("net_arch")
    found = {name: getattr(model, name) for name in options}
    found["train_freq"] = model.train_freq.frequency
    assert found == options
    assert sb3.new_policy(model).hidden == net_arch
