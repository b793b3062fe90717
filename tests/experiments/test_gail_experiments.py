"""GAIL's experiments: who is shown what, when an expert is good enough, what a cost says, and how the car is judged."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from rlnotes.algos import gail
from rlnotes.algos.policy import Policy
from rlnotes.data.rollouts import Episode
from rlnotes.envs.racecar import WALLS
from rlnotes.evidence import pay_map, race, runner
from rlnotes.evidence.records import Run
from rlnotes.experiments import gail_questions, gail_racecar
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
        Run("gail/questions", "alone", 0, "smoke"),
        Run("gail/questions", "dqn", 0, "smoke"),
        Run("gail/racecar-ppo", "ppo", 0, "smoke"),
        Run("gail/racecar-ppo", "throttle-from-minus-1", 0, "smoke"),
        Run("gail/racecar-reinforce", "reinforce", 0, "smoke"),
    ],
    ids=lambda run: f"{run.id}/{run.variant}",
)
def test_it_runs_at_the_smallest_budget(run: Run) -> None:
    record, _ = runner.live(run, progress=False)
    assert np.isfinite(record.last("final_return"))


def test_the_cost_of_an_episode_by_hand() -> None:
    """A discriminator that always says the same charges minus that, whether the episode ends or not."""
    settings = CARTPOLE_GAIL.settings_for("ten", "smoke")
    shown = demonstrations(settings, 0)
    agent = new_agent(new_policy(CARTPOLE, settings, shown)[0], settings)
    with torch.no_grad():
        for parameter in agent.discriminator.parameters():
            parameter.zero_()
        last = agent.discriminator.net[-1]
        assert isinstance(last, torch.nn.Linear)
        last.bias.fill_(2.0)
    fallen = Episode(0, np.zeros((4, 4), np.float32), np.zeros(3, np.int64), np.ones(3), True, False)
    assert gail_questions.cost(agent, fallen) == pytest.approx(-2.0, rel=1e-5)
    assert gail_questions.cost(agent, shown[0]) == pytest.approx(-2.0 * (1 - 0.99**500), rel=1e-3)


def test_a_player_that_always_slips_plays_at_random() -> None:
    always, never = (gail_questions.slipping(lambda obs: np.zeros(len(obs), int), often, 0) for often in (1.0, 0.0))
    obs = np.zeros((1_000, 4))
    assert never(obs).sum() == 0
    assert 400 < always(obs).sum() < 600


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


def test_without_the_tanh_the_car_gets_another_action() -> None:
    policy = Policy(np.array([-1, 0]), np.array([1, 1]), np.zeros(9), np.ones(9), [4], "gaussian")
    last = policy.net[-1]
    assert isinstance(last, torch.nn.Linear)
    with torch.no_grad():
        last.weight.zero_()
        last.bias.copy_(torch.tensor([0.5, -0.5, 0.0, 0.0]))
    obs = np.zeros((1, 9), np.float32)
    assert gail_racecar.raw_mean(policy)(obs)[0] == pytest.approx([0.5, 0.25])
    assert policy.act(obs)[0] == pytest.approx([np.tanh(0.5), 0.5 - np.tanh(0.5) / 2])


@pytest.mark.parametrize(("variant", "throttle"), [("ppo", 0.5), ("throttle-from-minus-1", 0.0)])
def test_a_policy_that_says_nothing_stands_still_only_where_throttle_begins_at_minus_1(
    variant: str, throttle: float
) -> None:
    agent, _, _ = gail_racecar.new_trial(gail_racecar.RACECAR_PPO.settings_for(variant, "smoke"), 0)
    assert agent.policy.decode_action(torch.zeros(2)).tolist() == [0, throttle]


def test_the_map_of_what_is_paid_covers_the_track_and_nothing_else() -> None:
    places = pay_map.inside()
    for (x0, y0), (x1, y1) in WALLS:  # on both sides of a wall there would be twice as many
        along = [np.linspace(a, b, 9)[1:-1] for a, b in ((x0, x1), (y0, y1))]
        near = [np.sum(np.hypot(*(places - place).T) < 0.5) for place in zip(*along, strict=True)]
        assert 0 < np.median(near) < 0.6 * np.pi * 0.5**2 / pay_map.SPACING**2


def test_maps_come_back_as_they_were_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(pay_map, "result", lambda: tmp_path / "maps.npz")
    made = pay_map.run(budget="smoke")
    assert made.paid.shape == (1, len(made.places))
    assert np.ptp(made.paid) > 0
    pay_map.write(made)
    assert all(np.array_equal(a, b) for a, b in zip(made, pay_map.read(), strict=True))
