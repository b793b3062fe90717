"""All learn alike from as many steps, SB3's best is the measure, and nothing is left
running."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np
import psutil
import pytest

from rlnotes.algos import sb3
from rlnotes.algos.networks import NATURE_EYE
from rlnotes.experiments import pixels_speed, ppo_speed
from rlnotes.experiments.base import Experiment
from rlnotes.experiments.bipedal import WalkerSettings
from rlnotes.experiments.pixels_speed import GAMES, PIXELS_SPEED
from rlnotes.experiments.ppo_race import Race, compared, shares
from rlnotes.experiments.ppo_speed import PPO_SPEED, WALKERS

SMALL = {"num_envs": 4, "agent.num_steps": 10, "agent.batch_size": 20, "length": 0.005}


@pytest.fixture(autouse=True)
def _nothing_is_left_running() -> Iterator[None]:
    before = set(psutil.Process().children(recursive=True))
    yield
    assert set(psutil.Process().children(recursive=True)) <= before


@pytest.fixture
def small() -> WalkerSettings:
    return PPO_SPEED.settings_for("bipedal-walker", "smoke", SMALL)


PARTS = {
    "collecting_share",
    "envpool_share",
    "network_share",
    "network_in_one_batch_share",
    "loop_share",
    "learning_share",
}


@pytest.mark.parametrize(
    ("experiment", "race", "parts"),
    [(PPO_SPEED, WALKERS, PARTS), (PIXELS_SPEED, GAMES, PARTS | {"emulator_share"})],
    ids=["walkers", "games"],
)
@pytest.mark.slow(seconds=10)
def test_a_race_measures_every_contestant_and_every_part(
    experiment: Experiment[Any], race: Race, parts: set[str]
) -> None:
    few = {**SMALL, "budget.steps": 80, "length": 1.0}
    small = experiment.settings_for(experiment.main_variant, "smoke", few)
    ((steps, found),) = experiment.trial(small, seed=0).stream
    assert steps == small.steps == 80
    for name in race.contestants:
        assert found[f"{name}_steps_per_second"] > 0
        assert found[f"{name}_times_sb3"] > 0
    assert {name for name in found if name.endswith("_share")} == parts
    assert found["load_average"] >= 0


def test_sb3_sees_with_the_eye_of_ours() -> None:
    """It has as many weights, and pictures through the adapter."""
    settings: Any = PIXELS_SPEED.settings_for("pong", "smoke", {"num_envs": 2})
    assert settings.eye == NATURE_EYE
    with closing(pixels_speed.sb3_envpool(settings)) as envs:
        model = sb3.ppo(envs, 0, 1, **sb3.ppo_options(settings.agent))
        theirs = sum(weights.numel() for weights in model.policy.parameters())
        agent = pixels_speed.new_agent(envs.envs, settings)
    ours = [*agent.policy.parameters(), *agent.value.parameters()]
    assert sum(weights.numel() for weights in ours) == theirs


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
        "collecting": 7.0,
        "envpool": 4.0,
        "network": 1.0,
        "learning": 3.0,
    }
    parts = {name: np.array([x, 2 * x]) for name, x in seconds.items()}
    found = shares(parts, np.array([10.0, 20.0]))
    assert found["loop_share"] == pytest.approx(0.2)
    assert found["collecting_share"] == pytest.approx(0.7)


def test_sb3_has_our_settings_and_as_many_updates(small: WalkerSettings) -> None:
    config = small.agent
    with closing(ppo_speed.sb3_envpool(small.num_envs)) as envs:
        model = sb3.ppo(envs, 0, 1, **sb3.ppo_options(config))
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
