"""The walkers: three ends of an episode, and a training that leaves the judging
alone."""

from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.envs.box2d import bipedal_walker
from torch.distributions import Independent, Normal

from rlnotes.algos import ppo
from rlnotes.data.rollouts import Episode, play_together
from rlnotes.experiments.bipedal import (
    EASY,
    FALL,
    Course,
    fell,
    finished,
    training_envs,
)
from rlnotes.experiments.bipedal_reinforce import round_trip_log_prob
from rlnotes.experiments.registry import find
from rlnotes.experiments.settings import as_json, differences
from rlnotes.runs import resume
from rlnotes.runs.run import train_live


def limp(obs: np.ndarray) -> np.ndarray:
    """No torque: the walker collapses."""
    return np.zeros((len(obs), 4), np.float32)


def played(limit: int = 1_600) -> Episode:
    env = gym.make("BipedalWalker-v3", max_episode_steps=limit)
    return play_together([env], limp, [0])[0]


def an_episode(*rewards: float, terminated: bool = True) -> Episode:
    steps = len(rewards)
    rest = np.zeros((steps, 4)), np.array(rewards), terminated, not terminated
    return Episode(0, np.zeros((steps + 1, 24)), *rest)


def test_who_collapses_has_fallen() -> None:
    episode = played()
    assert (fell(episode), finished(episode)) == (True, False)
    assert episode.rewards[-1] == FALL
    assert (episode.rewards[:-1] > -10).all()


def test_who_is_out_of_time_has_neither_fallen_nor_finished() -> None:
    episode = played(limit=5)
    assert episode.truncated
    assert (fell(episode), finished(episode)) == (False, False)


def test_who_passes_the_end_of_the_course_has_finished(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The course is made shorter once it is built, so that the start is beyond it."""
    monkeypatch.setattr(bipedal_walker, "TERRAIN_LENGTH", bipedal_walker.TERRAIN_LENGTH)
    env = gym.make("BipedalWalker-v3")

    def shorten(obs: np.ndarray) -> np.ndarray:
        monkeypatch.setattr(
            bipedal_walker, "TERRAIN_LENGTH", bipedal_walker.TERRAIN_GRASS
        )
        return limp(obs)

    episode = play_together([env], shorten, [0])[0]
    assert len(episode.rewards) == 1
    assert (fell(episode), finished(episode)) == (False, True)


def test_every_judged_episode_has_a_world_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In one that was played in before, it would not go the same way."""
    made = []

    def make(_: Course) -> gym.Env:
        made.append(gym.make("BipedalWalker-v3", max_episode_steps=2))
        return made[-1]

    monkeypatch.setattr(Course, "make", make)
    with EASY.stage() as stage:
        for _ in range(3):
            stage.play(limp, [0, 1])
    assert len(made) == 6


def test_the_three_ends_are_counted_apart() -> None:
    episodes = [
        an_episode(1.0, FALL),
        an_episode(1.0, 300.0),
        an_episode(1.0, 1.0, terminated=False),
        an_episode(1.0, 2.0, 3.0, terminated=False),
    ]
    scores = EASY.scores(episodes)
    assert scores == {
        "return": pytest.approx((-99 + 301 + 2 + 6) / 4),
        "success_percent": 25.0,
        "falls_percent": 25.0,
        "timeouts_percent": 50.0,
        "episode_length": 9 / 4,
    }


@pytest.mark.parametrize(("penalty", "lowest"), [(-10.0, -10.0), (FALL, FALL)])
def test_a_fall_costs_less_in_training_and_all_of_it_in_judging(
    penalty: float, lowest: float
) -> None:
    settings = find("bipedal/ppo").settings_for("ppo", "smoke")
    settings = replace(settings, num_envs=4, fall_penalty=penalty)
    envs = training_envs(EASY, settings)
    obs, _ = envs.reset(seed=0)
    ends: list[float] = []
    while len(ends) < 4:
        obs, reward, terminated, _, _ = envs.step(limp(obs))
        ends += reward[terminated].tolist()
        assert (reward[~terminated] > -10).all()
    assert set(ends) == {lowest}
    judged = find("bipedal/ppo").world(settings).play(limp, [0, 1])
    assert [episode.rewards[-1] for episode in judged] == [FALL, FALL]


@pytest.mark.parametrize(
    ("id", "healthy", "faulty", "setting"),
    [
        ("bipedal/ppo", "ppo", "truncation-terminates", "truncation_terminates"),
        ("bipedal/ppo-vector", "vector", "raw-advantages", "agent.norm_adv"),
        ("bipedal/reinforce", "reinforce", "four-passes", "agent.update_epochs"),
        ("bipedal/reinforce", "reinforce", "short-episodes", "max_episode_steps"),
        ("bipedal/reinforce", "reinforce", "raw-obs", "agent.norm_obs"),
        ("bipedal/reinforce", "reinforce", "no-baseline", "agent.baseline"),
        ("bipedal/reinforce", "reinforce", "fall-penalty-100", "fall_penalty"),
        ("bipedal/reinforce", "long-rollouts", "long-no-baseline", "agent.baseline"),
    ],
)
def test_the_twins_differ_by_one_thing(
    id: str, healthy: str, faulty: str, setting: str
) -> None:
    one, other = (find(id).settings_for(name, "full") for name in (healthy, faulty))
    lengths = {"length", "annealing_length"}  # some are beginnings only
    assert set(differences(as_json(one), other)) - lengths == {setting}
    annealed = (way.steps * way.annealing_length for way in (one, other))
    assert next(annealed) == pytest.approx(next(annealed))


@pytest.mark.parametrize(
    ("faulty", "setting"),
    [
        ("fall-penalty-100", "fall_penalty"),
        ("near-sighted", "agent.gamma"),
        ("no-bonus", "agent.ent_coef"),
    ],
)
def test_a_twin_on_the_hardcore_course_is_a_beginning_of_the_whole(
    faulty: str, setting: str
) -> None:
    experiment = find("hardcore/ppo-vector")
    whole = experiment.settings_for("vector", "full")
    twin = experiment.settings_for(faulty, "full")
    lengths = {"length", "annealing_length"}
    assert set(differences(as_json(whole), twin)) == {setting, *lengths}
    assert twin.annealing_length * twin.steps == pytest.approx(whole.steps)


def test_the_rate_falls_as_if_the_rest_came() -> None:
    lengths = {"length": 0.5, "annealing_length": 2.0}
    settings = find("bipedal/ppo").settings_for("ppo", "smoke", lengths)
    trial = find("bipedal/ppo").trial(settings, 0)
    for _ in trial.stream:
        pass
    assert trial.agent.step == 8_000
    (group,) = trial.agent.optimiser.param_groups
    assert group["lr"] == pytest.approx(settings.agent.learning_rate / 2)


@pytest.mark.parametrize(
    "id", ["bipedal/ppo", "bipedal/ppo-vector", "bipedal/reinforce", "hardcore/ppo"]
)
def test_the_bars_steps_are_whole_rollouts(id: str) -> None:
    settings = find(id).settings_for(find(id).main_variant, "full")
    assert settings.steps % (settings.num_envs * settings.agent.num_steps) == 0


def test_training_can_be_cut_off_earlier_than_judging() -> None:
    settings = find("bipedal/reinforce").settings_for("short-episodes", "smoke")
    assert settings.max_episode_steps == 1_000
    envs = training_envs(EASY, replace(settings, num_envs=2, max_episode_steps=5))
    obs, _ = envs.reset(seed=0)
    ends = []
    for _ in range(5):
        obs, _, _, truncated, _ = envs.step(limp(obs))
        ends.append(bool(truncated.all()))
    assert ends == [False] * 4 + [True]
    assert len(EASY.play(limp, [0])[0].rewards) > 5


def test_reinforce_has_no_ratio_and_no_second_pass() -> None:
    config = find("bipedal/reinforce").settings_for("reinforce", "full").agent
    assert config.loss is ppo.log_prob_loss
    assert (config.update_epochs, config.gae_lambda) == (1, 1.0)


def test_what_comes_back_through_the_tanh_has_lost_what_was_far_out() -> None:
    dist = Independent(Normal(torch.zeros(5, 1), torch.ones(5, 1)), 1)
    drawn = torch.tensor([[-40.0], [-8.0], [0.5], [3.0], [8.0]])
    kept = drawn.clamp(-7.25, 7.25)
    found = round_trip_log_prob(dist, drawn)
    assert found.tolist() == pytest.approx(dist.log_prob(kept).tolist(), rel=0.01)


@pytest.mark.slow(seconds=10)
def test_a_training_goes_on_elsewhere_with_what_it_has_seen(tmp_path: Path) -> None:
    experiment = find("bipedal/ppo")
    small = {"agent.num_steps": 20, "num_envs": 4, "budget.steps": 240}
    settings = experiment.settings_for("ppo", "smoke", small)
    first = experiment.trial(settings, 0)
    next(first.stream)
    file = tmp_path / "state"
    resume.save(file, first, resume.Progress([], {"settings": None}))
    second = experiment.trial(settings, 0)
    resume.restore(file, second, None)
    stats, others = first.agent.obs_stats, second.agent.obs_stats
    assert others.count.item() == pytest.approx(80, abs=1e-3)
    assert torch.equal(stats.mean, others.mean)
    next(second.stream)
    assert second.agent.step == 160
    assert torch.allclose(second.agent.policy.obs_mean.double(), stats.mean)
    assert others.count.item() == pytest.approx(160, abs=1e-3)
    # It played other starts than a training that begins: those it has learnt from.
    begun = experiment.trial(settings, 0)
    next(begun.stream)
    assert torch.equal(begun.agent.obs_stats.mean, stats.mean)
    assert not torch.allclose(2 * others.mean - stats.mean, stats.mean)


@pytest.mark.slow(seconds=30)
@pytest.mark.parametrize(
    ("id", "variant"),
    [
        ("bipedal/ppo", "ppo"),
        ("bipedal/ppo", "notes"),
        ("bipedal/ppo-vector", "reset-every-rollout"),
        ("bipedal/reinforce", "reinforce"),
        ("hardcore/ppo", "ppo"),
    ],
)
def test_it_runs_at_the_smallest_budget(id: str, variant: str) -> None:
    live = train_live(id, variant, budget="smoke", progress=False)
    shares = ("success_percent", "falls_percent", "timeouts_percent")
    ends = [live.record.last(f"final_{share}") for share in shares]
    assert sum(ends) == pytest.approx(100)
    # By its own statistics, or by hand.
    assert not np.allclose(live.policy.obs_std, 1)
