"""The race car's autopsy: what its settings do, and its diagnostic on the twin and on
the healthy run."""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import minari
import numpy as np
import pytest
import torch

from rlnotes.__main__ import main
from rlnotes.algos import td3_bc
from rlnotes.autopsies import covariate_shift, hand_scaling
from rlnotes.data import catalogue, waypoints
from rlnotes.data.rollouts import Episode
from rlnotes.data.transitions import Transitions
from rlnotes.envs.racecar import FINISH
from rlnotes.errors import UserError
from rlnotes.experiments import racecar, recipes, umaze
from rlnotes.experiments.racecar import RACECAR, RaceCarSettings
from rlnotes.experiments.recipes import Recipe
from rlnotes.experiments.trials import offline_policy
from rlnotes.paths import Run
from rlnotes.runs import store
from rlnotes.runs.evaluate import recorded_policy
from rlnotes.seeding import reset_seeds

pytestmark = pytest.mark.slow


def settings(variant: str, **changes: Any) -> RaceCarSettings:
    return RACECAR.settings_for(variant, "smoke", changes)


def test_the_goal_is_appended_to_every_demonstrated_state() -> None:
    plain = settings("keyboard").episodes()
    with_goal = settings("goal-in-state").episodes()
    for before, after in zip(plain, with_goal, strict=True):
        assert np.array_equal(after.observations[:, :-2], before.observations)
        assert (after.observations[:, -2:] == np.array(FINISH, np.float32)).all()


def test_the_step_reward_replaces_nothing_but_zeros() -> None:
    plain = settings("keyboard").episodes()
    for before, after in zip(plain, settings("step-reward").episodes(), strict=True):
        zeros = before.rewards == 0
        assert (after.rewards[zeros] == -0.01).all()
        assert np.array_equal(after.rewards[~zeros], before.rewards[~zeros])


def test_positions_and_the_goal_are_divided_and_nothing_else() -> None:
    rows = np.random.default_rng(0).normal(size=(5, 11))
    mean, scale = hand_scaling.positions_by_15(rows)
    assert (mean == 0).all()
    assert scale.tolist() == [15, 15, 1, 1, 1, 1, 1, 1, 1, 15, 15]
    assert settings("notes").obs_scale is hand_scaling.positions_by_15


def test_what_was_intended_replaces_the_noisy_actions_and_nothing_else() -> None:
    noisy, intended = settings("noisy").episodes(), settings("intended").episodes()
    for before, after in zip(noisy, intended, strict=True):
        assert np.array_equal(after.observations, before.observations)
        assert np.array_equal(after.rewards, before.rewards)
        apart = np.abs(after.actions - before.actions).mean()
        assert 0.05 < apart < 0.3  # noise of 0.3, cut off at the bounds


def test_a_steady_driver_does_what_it_intends() -> None:
    """So the script is a function of the observation, and can be asked afterwards."""
    for drive in settings("clean").episodes()[:10]:
        assert np.allclose(racecar.as_intended(drive).actions, drive.actions, atol=1e-4)


def test_drives_that_end_at_a_wall_can_be_left_out() -> None:
    kept = settings("arrived-only").episodes()
    everything = settings("noisy").episodes()
    assert len(kept) < len(everything)
    assert len(kept) == sum(map(racecar.arrived, everything))
    assert all(map(racecar.arrived, kept))


def test_the_critic_is_asked_so_many_steps_before_the_finish() -> None:
    shown = settings("noisy").episodes()
    data = Transitions.from_episodes(shown)
    policy = offline_policy(racecar.TRACK, settings("noisy"), data)
    agent = td3_bc.Agent(policy, td3_bc.Config(hidden=(8,)))
    found = racecar.worth_before_finish(agent, shown)
    (drive,) = one = [next(drive for drive in shown if racecar.arrived(drive))]
    # The last step, whose reward is the finish's, is 0 steps before it.
    step = len(drive.actions) - 1 - racecar.BEFORE_FINISH[0]
    obs = policy.encode_array(drive.observations[step : step + 1])
    action = policy.encode_action(torch.as_tensor(drive.actions[step : step + 1]))
    with torch.no_grad():
        expected = float(agent.critic.q1(torch.cat([obs, action], dim=-1)))
    name = f"q_{racecar.BEFORE_FINISH[0]}_before"
    assert racecar.worth_before_finish(agent, one)[name] == pytest.approx(expected)
    assert set(found) == {f"q_{steps}_before" for steps in racecar.BEFORE_FINISH}
    crashed = [drive for drive in shown if not racecar.arrived(drive)]
    assert racecar.worth_before_finish(agent, crashed) == {}


def test_fewer_demonstrations_are_the_first_ones() -> None:
    two = settings("bc-2-drives").episodes()
    everything = settings("bc-clean").episodes()
    assert len(two) == 2
    for fewer, more in zip(two, everything[:2], strict=True):
        assert np.array_equal(fewer.actions, more.actions)


def test_only_arrivals_have_a_time() -> None:
    def drive(reward: float, steps: int) -> Episode:
        rewards = np.zeros(steps)
        rewards[-1] = reward
        states = np.zeros((steps + 1, 9), np.float32)
        actions = np.zeros((steps, 2), np.float32)
        return Episode(0, states, actions, rewards, True, False)

    drives = [drive(3.0, 200), drive(3.0, 400), drive(-1.0, 20), drive(0.0, 500)]
    scores = racecar.TRACK.scores(drives)
    assert scores["success_percent"] == 50
    assert scores["seconds_to_finish"] == 15
    assert np.isnan(racecar.TRACK.scores(drives[2:])["seconds_to_finish"])


@pytest.mark.parametrize("variant", ["noisy", "bc-first", "bc-2-drives-dagger"])
def test_a_trial_ends_where_it_says(variant: str) -> None:
    """Imitation first makes a trial longer, rounds of DAgger do not."""
    changes = {"bc_epochs_first": 1} if variant == "bc-first" else {}
    trial = RACECAR.trial(settings(variant, demonstrations=2, **changes), 0)
    steps = [step for step, _ in trial.stream]
    assert steps == list(range(1, trial.steps + 1))
    assert trial.steps > 40 if variant == "bc-first" else trial.steps == 40


def test_a_dataset_that_is_missing_says_how_to_make_it() -> None:
    nowhere = settings("noisy", dataset="rlnotes/racecar/nowhere-v0")
    with pytest.raises(UserError, match="python -m rlnotes data rlnotes/racecar/now"):
        RACECAR.trial(nowhere, 0)


def farthest(variant: str) -> float:
    """Replayed now from the recorded policy of the first seed."""
    recorded = RACECAR.settings_for(variant, "full")
    policy = recorded_policy(Run(RACECAR.id, variant, 0))
    world = racecar.offline_track(recorded)
    drives = world.play(policy.act, reset_seeds("evaluate", 0, 5))
    distance = covariate_shift.DistanceToData(recorded.episodes())
    return float(np.median([distance.farthest(drive) for drive in drives]))


def test_the_distance_fires_on_the_twin_and_is_quiet_where_noise_widened_the_data() -> (
    None
):
    assert covariate_shift.fires(farthest("clean"))
    assert not covariate_shift.fires(farthest("bc-dart"))
    assert not covariate_shift.fires(farthest("noisy"))


@pytest.mark.parametrize(
    ("variant", "fires"),
    [("clean", True), ("keyboard", True), ("bc-dart", False), ("noisy", False)],
)
def test_it_did_so_for_every_recorded_seed(variant: str, fires: bool) -> None:
    for record in store.read_all(RACECAR.id, variant):
        distance = record.last("times_usual_distance")
        assert covariate_shift.fires(distance) == fires


# --- The U maze


def episode(rewards: Sequence[float]) -> Episode:
    steps = len(rewards)
    return Episode(
        0,
        np.zeros((steps + 1, 6), np.float32),
        np.zeros((steps, 2), np.float32),
        np.array(rewards),
        False,
        True,
    )


@pytest.mark.parametrize(
    ("rewards", "steps", "stays"),
    [
        ([0, 0, 1, 1, 0, 0], 2, 1 / 3),
        ([1, 1, 1], 0, 1.0),
        ([0, 0, 0], 3, np.nan),
        ([0, 0, 1], 2, np.nan),
    ],
)
def test_steps_to_the_goal_and_the_share_of_time_there_after_that(
    rewards: Sequence[float], steps: int, stays: float
) -> None:
    assert umaze.steps_to_goal(episode(rewards)) == steps
    assert umaze.stays(episode(rewards)) == pytest.approx(stays, nan_ok=True)


def test_the_published_references_score_0_and_100() -> None:
    scores = [
        umaze.Maze(reference=(0.0, 4.0)).scores([episode(rewards)])
        for rewards in ([0, 0, 0, 1], [1, 1, 1, 1])
    ]
    assert [score["normalised"] for score in scores] == [25, 100]
    assert umaze.Maze().reference == (13.49, 218.70)


def test_where_nobody_arrives_nobody_stays() -> None:
    assert np.isnan(umaze.Maze().scores([episode([0, 0, 0])])["stays_percent"])


def test_the_goal_pays_within_its_radius() -> None:
    places, goals = (
        torch.tensor([[0.0, 0.0], [0.0, 0.0]]),
        torch.tensor([[0.26, 0.36], [0.28, 0.36]]),
    )
    assert umaze.at_goal(places, goals).tolist() == [1.0, 0.0]


# --- Recipes


def test_the_maze_is_collected_in_one_condition_and_judged_in_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    monkeypatch.setattr(recipes, "_random_return", lambda env_id: 15.0)
    monkeypatch.setattr(recipes, "_expert_return", lambda env_id, expert: 215.0)
    recipe = recipes.find(catalogue.UMAZE)
    recipes.make(replace(recipe, collect=partial(waypoints.collect, 300)))
    dataset = minari.load_dataset(catalogue.UMAZE)
    assert dataset.total_steps == 300
    assert dataset.recover_environment().spec.kwargs == {"moving_goal": True}
    assert dataset.recover_environment(eval_env=True).spec.kwargs == {}
    assert (
        dataset.storage.metadata["ref_min_score"],
        dataset.storage.metadata["ref_max_score"],
    ) == (15.0, 215.0)


def test_what_no_chapter_reads_is_made_only_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made: list[str] = []

    def make(recipe: Recipe) -> None:
        made.append(recipe.dataset_id)

    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    monkeypatch.setattr(recipes, "make", make)
    assert main(["data", "--json"]) == 0
    assert made == list(json.loads(capsys.readouterr().out))
    assert set(recipes.RECIPES) - set(made) == {
        recipe.dataset_id for recipe in recipes.RECIPES.values() if recipe.on_demand
    }
    assert catalogue.RACECAR_ONE_START not in made
    assert main(["data", catalogue.RACECAR_ONE_START]) == 0
    assert made[-1] == catalogue.RACECAR_ONE_START
