"""The race car's autopsy: what its settings do, and its diagnostic on the twin and on the healthy run."""

import numpy as np
import pytest

from rlnotes.autopsies import covariate_shift
from rlnotes.data.rollouts import Episode
from rlnotes.envs.racecar import FINISH
from rlnotes.errors import UserError
from rlnotes.evidence import evaluation, records
from rlnotes.evidence.records import Run
from rlnotes.experiments import racecar
from rlnotes.experiments.base import Settings
from rlnotes.experiments.racecar import RACECAR
from rlnotes.seeding import reset_seeds


def settings(variant: str, **changes: object) -> Settings:
    return RACECAR.settings_for(variant, "smoke") | changes


def test_the_goal_is_appended_to_every_demonstrated_state() -> None:
    plain = racecar.demonstrations(settings("keyboard"))
    for before, after in zip(plain, racecar.demonstrations(settings("goal-in-state")), strict=True):
        assert np.array_equal(after.observations[:, :-2], before.observations)
        assert (after.observations[:, -2:] == np.array(FINISH, np.float32)).all()


def test_the_step_reward_replaces_nothing_but_zeros() -> None:
    plain = racecar.demonstrations(settings("keyboard"))
    for before, after in zip(plain, racecar.demonstrations(settings("step-reward")), strict=True):
        zeros = before.rewards == 0
        assert (after.rewards[zeros] == -0.01).all()
        assert np.array_equal(after.rewards[~zeros], before.rewards[~zeros])


def test_positions_and_the_goal_are_divided_and_nothing_else() -> None:
    rows = np.random.default_rng(0).normal(size=(5, 11))
    mean, scale = racecar.state_scale(settings("notes"), rows)
    assert (mean == 0).all()
    assert scale.tolist() == [15, 15, 1, 1, 1, 1, 1, 1, 1, 15, 15]


def test_fewer_demonstrations_are_the_first_ones() -> None:
    two = racecar.demonstrations(settings("bc-2-drives"))
    everything = racecar.demonstrations(settings("bc-clean"))
    assert len(two) == 2
    assert all(np.array_equal(a.actions, b.actions) for a, b in zip(two, everything[:2], strict=True))


def test_only_arrivals_have_a_time() -> None:
    def drive(reward: float, steps: int) -> Episode:
        rewards = np.zeros(steps)
        rewards[-1] = reward
        return Episode(0, np.zeros((steps + 1, 9), np.float32), np.zeros((steps, 2), np.float32), rewards, True, False)

    scores = racecar.Track().scores([drive(3.0, 200), drive(3.0, 400), drive(-1.0, 20), drive(0.0, 500)])
    assert scores["success_percent"] == 50
    assert scores["seconds_to_finish"] == 15
    assert np.isnan(racecar.Track().scores([drive(-1.0, 20)])["seconds_to_finish"])


@pytest.mark.parametrize("variant", ["noisy", "bc-first", "bc-2-drives-dagger"])
def test_a_trial_ends_where_it_says(variant: str) -> None:
    """Imitation first makes a trial longer, rounds of DAgger do not."""
    changes = {"bc_epochs_first": 1} if variant == "bc-first" else {}
    trial = racecar.start(settings(variant, demonstrations=2, **changes), 0)
    steps = [step for step, _ in trial.stream]
    assert steps == list(range(1, trial.steps + 1))
    assert trial.steps > 40 if variant == "bc-first" else trial.steps == 40


def test_a_dataset_that_is_missing_says_how_to_make_it() -> None:
    with pytest.raises(UserError, match="python -m rlnotes data rlnotes/racecar/nowhere-v0"):
        racecar.start(settings("noisy", dataset="rlnotes/racecar/nowhere-v0"), 0)


def farthest(variant: str) -> float:
    """Replayed now from the recorded policy of the first seed."""
    recorded = RACECAR.settings_for(variant, "full")
    policy = evaluation.recorded_policy(Run(RACECAR.id, variant, 0))
    drives = racecar.track(recorded).play(policy.act, reset_seeds("evaluate", 0, 5))
    distance = covariate_shift.DistanceToData(racecar.demonstrations(recorded))
    return float(np.median([distance.farthest(drive) for drive in drives]))


def test_the_distance_to_the_data_fires_on_the_clean_imitator_and_is_quiet_where_noise_widened_the_data() -> None:
    assert covariate_shift.fires(farthest("clean"))
    assert not covariate_shift.fires(farthest("bc-dart"))
    assert not covariate_shift.fires(farthest("noisy"))


@pytest.mark.parametrize(
    ("variant", "fires"), [("clean", True), ("keyboard", True), ("bc-dart", False), ("noisy", False)]
)
def test_it_did_so_for_every_recorded_seed(variant: str, fires: bool) -> None:
    found = records.read_all(RACECAR.id, variant)
    assert all(covariate_shift.fires(record.last("times_usual_distance")) == fires for record in found)
