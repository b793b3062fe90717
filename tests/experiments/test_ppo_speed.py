"""All learn alike from as many steps, SB3's best is the measure, and nothing is left
running."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np
import psutil
import pytest

from rlnotes.experiments import ppo_speed
from rlnotes.experiments.bipedal import WalkerSettings
from rlnotes.experiments.ppo_speed import CONTESTANTS, PPO_SPEED, compared, shares

SMALL = {"num_envs": 4, "agent.num_steps": 10, "agent.batch_size": 20, "length": 0.005}


@pytest.fixture(autouse=True)
def _nothing_is_left_running() -> Iterator[None]:
    before = set(psutil.Process().children(recursive=True))
    yield
    assert set(psutil.Process().children(recursive=True)) <= before


@pytest.fixture
def small() -> WalkerSettings:
    return PPO_SPEED.settings_for("bipedal-walker", "smoke", SMALL)


def test_a_race_measures_every_contestant_and_every_part(small: WalkerSettings) -> None:
    ((steps, found),) = PPO_SPEED.trial(small, seed=0).stream
    assert steps == small.steps == 80
    for name in CONTESTANTS:
        assert found[f"{name}_steps_per_second"] > 0
        assert found[f"{name}_times_sb3"] > 0
    parts = {name for name in found if name.endswith("_share")}
    assert parts == {
        "collecting_share",
        "envpool_share",
        "network_share",
        "network_in_one_batch_share",
        "loop_share",
        "learning_share",
    }
    assert found["load_average"] >= 0


def test_ours_is_compared_with_the_faster_of_sb3_in_each_turn() -> None:
    found = compared(
        {
            "sb3_dummy": np.array([1.0, 4.0, 1.0]),
            "sb3_subproc": np.array([2.0, 2.0, 2.0]),
            "ours": np.array([4.0, 4.0, 6.0]),
        }
    )
    assert found["ours_steps_per_second"] == 4.0
    assert found["ours_times_sb3"] == 2.0  # of 2, 1 and 3
    assert found["sb3_dummy_times_sb3"] == 0.5


def test_the_loop_is_what_is_left_of_collecting() -> None:
    seconds = {
        "ours": 10.0,
        "collecting": 7.0,
        "envpool": 4.0,
        "network": 1.0,
        "learning": 3.0,
    }
    found = shares({name: np.array([x, 2 * x]) for name, x in seconds.items()})
    assert found["loop_share"] == pytest.approx(0.2)
    assert found["collecting_share"] == pytest.approx(0.7)


def test_sb3_has_our_settings_and_as_many_updates(small: WalkerSettings) -> None:
    config = small.agent
    with closing(ppo_speed.sb3_envpool(small.num_envs)) as envs:
        model = ppo_speed.sb3.ppo(envs, 0, 1, **ppo_speed.sb3.ppo_options(config))
        model.learn(40)
        assert model.num_timesteps == 40
        assert model._n_updates == config.update_epochs
    assert (model.batch_size, model.n_steps) == (20, 10)
    widths: Any = [
        [layer.out_features for layer in net if hasattr(layer, "out_features")]
        for net in (
            model.policy.mlp_extractor.policy_net,
            model.policy.mlp_extractor.value_net,
        )
    ]
    assert widths == 2 * [list(config.hidden)]
