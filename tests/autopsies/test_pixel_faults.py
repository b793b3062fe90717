"""Faults that need no training to be seen: a horizon in seconds, raw pixels, one coin
for all, a small replay, a mark that all reach, an early end."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from rlnotes.algos import dqn
from rlnotes.algos.networks import SMALL_EYE
from rlnotes.algos.policy import Policy
from rlnotes.autopsies import (
    capped_best,
    given_up,
    one_coin,
    raw_pixels,
    short_horizon,
    small_replay,
)
from rlnotes.data.frames import FrameTransitions
from rlnotes.data.rollouts import Episode
from rlnotes.envs.atari import AtariEnv
from rlnotes.experiments.pixels import replay_and_choice
from rlnotes.experiments.registry import find

LENGTHS = {"length", "annealing_length"}  # of twins that are only a beginning


def horizon(variant: str, id: str = "pong/ppo") -> float:
    settings: Any = find(id).settings_for(variant, "full")
    agent = settings.agent
    return short_horizon.seconds(
        agent.gamma, agent.gae_lambda, settings.game.frame_skip
    )


def test_the_horizon_by_hand() -> None:
    assert short_horizon.seconds(0.5, 1.0, 60) == pytest.approx(2.0)
    assert horizon("ppo") == pytest.approx(1.12, abs=0.01)
    assert horizon("notes") == pytest.approx(0.28, abs=0.01)


@pytest.mark.parametrize(
    ("id", "variant", "fires"),
    [
        ("pong/ppo", "ppo", False),
        ("pong/ppo", "no-skip-long-horizon", False),
        ("pixels/credit", "skip-1", True),
        ("pong/ppo", "short-horizon", True),
        ("pong/ppo", "notes", True),
    ],
)
def test_it_fires_where_the_reward_comes_after_the_horizon(
    id: str, variant: str, fires: bool
) -> None:
    assert short_horizon.fires(horizon(variant, id)) == fires


def test_the_twins_of_the_horizon_differ_by_what_they_say(differing: Any) -> None:
    healthy = ("pong/ppo", "early")
    two = {"agent.gamma", "agent.gae_lambda"}
    assert differing(healthy, ("pong/ppo", "short-horizon")) == two
    assert differing(healthy, ("pixels/credit", "skip-1")) == {"game.frame_skip"}


# --- pixels as they are


def test_raw_pixels_are_seen_and_scaled_ones_are_not(differing: Any) -> None:
    healthy, faulty = ("breakout/dqn", "dqn"), ("breakout/dqn", "raw-pixels")
    assert differing(healthy, faulty) - LENGTHS == {"eye.divisor"}
    env = AtariEnv(name="breakout")
    obs, _ = env.reset(seed=0)
    for variant, fires in ((healthy, False), (faulty, True)):
        eye = find(variant[0]).settings_for(variant[1], "full").eye
        policy = Policy.for_spaces(env.observation_space, env.action_space, (), eye=eye)
        largest = raw_pixels.largest_input(policy.encode_array(obs[None]).numpy())
        assert raw_pixels.fires(largest) == fires
        assert largest <= 255 / eye.divisor
    assert SMALL_EYE.divisor == 255


# --- one coin


def test_one_coin_is_seen_and_own_coins_are_not(differing: Any) -> None:
    healthy, faulty = ("breakout/dqn", "dqn"), ("breakout/dqn", "one-coin")
    assert differing(healthy, faulty) - LENGTHS == {"agent.explorers"}
    for explorers, fires in (
        (dqn.one_coin_each, False),
        (one_coin.one_coin_for_all, True),
    ):
        rng = np.random.default_rng(0)
        thrown = np.array([explorers(rng, 4, 0.3) for _ in range(200)])
        assert thrown.mean() == pytest.approx(0.3, abs=0.1)
        assert one_coin.fires(thrown) == fires


# --- a small replay

LIFE = 40  # decisions, of a beginner


@pytest.mark.parametrize(
    ("variant", "fires"), [("dqn", False), ("small-replay", True), ("notes", True)]
)
def test_a_small_replay_is_seen_and_a_large_one_is_not(
    variant: str, fires: bool
) -> None:
    """Once it is full, of lives of one length."""
    settings: Any = find("breakout/dqn").settings_for(variant, "full")
    memory = FrameTransitions(settings.agent.buffer_size, (1, 1, 1))
    ended = np.arange(settings.agent.buffer_size + 5) % LIFE == 0
    memory._terminated.copy_(torch.as_tensor(ended[-settings.agent.buffer_size :]))
    pairs = small_replay.same_episode_pairs(memory.ends, settings.agent.batch_size)
    assert small_replay.fires(pairs) == fires


def test_the_pairs_of_a_batch_are_those_that_are_drawn() -> None:
    rng, episodes, batch = np.random.default_rng(0), 20, 8
    drawn = rng.integers(episodes, size=(20_000, batch))
    same = (drawn[:, :, None] == drawn[:, None]).sum((1, 2)) - batch
    expected = small_replay.same_episode_pairs(episodes, batch)
    assert same.mean() / 2 == pytest.approx(expected, rel=0.03)
    assert small_replay.same_episode_pairs(0, 4) == 6  # one episode, not over yet


# --- a mark that all reach


def lasting(*lengths: int) -> list[Episode]:
    return [
        Episode(
            observations=np.zeros((1, 1)),
            actions=np.zeros(length),
            rewards=np.ones(length),
            terminated=True,
            truncated=False,
            seed=0,
        )
        for length in lengths
    ]


def test_a_capped_mark_chooses_the_latest_that_reaches_it() -> None:
    evaluations = [lasting(50, 70), lasting(900, 300), lasting(300, 400), lasting(40)]
    marks = [capped_best.capped_length(episodes) for episodes in evaluations]
    assert marks == [60, 300, 300, 40]
    assert capped_best.chosen(marks) == 2
    assert capped_best.fires(max(marks))
    scores = [float(np.mean([e.total_reward for e in one])) for one in evaluations]
    assert capped_best.chosen(scores) == 1
    assert not capped_best.fires(max(scores), highest=864)  # all bricks, twice


def test_dqn_tells_of_its_replay_and_of_the_capped_mark() -> None:
    settings: Any = find("breakout/dqn").settings_for("dqn", "full")
    env = AtariEnv(name="breakout")
    spaces = env.observation_space, env.action_space
    policy = Policy.for_spaces(*spaces, (), eye=settings.eye)
    agent = dqn.Agent(policy, replace(settings.agent, buffer_size=10))
    found = replay_and_choice(agent, lasting(100, 500))
    assert found == {"same_episode_pairs": 496, "capped_length": 200}


# --- an early end


def test_it_is_seen_that_a_training_ended_before_a_rise() -> None:
    healthy = [(125_000, -21.0), (250_000, -20.0), (375_000, -17.5), (500_000, -19.0)]
    needed = given_up.first_rise(healthy)
    assert needed == 375_000
    for variant, fires in (("ppo", False), ("given-up", True), ("notes", True)):
        settings: Any = find("pong/ppo").settings_for(variant, "full")
        decisions = settings.steps * settings.game.frame_skip / 4
        assert given_up.fires(decisions, needed) == fires
    assert given_up.fires(500_000, given_up.first_rise(healthy[:2]))


def test_the_twin_that_is_given_up_anneals_nothing(differing: Any) -> None:
    """A rate that had fallen to zero by then would be another fault."""
    found = differing(("pong/ppo", "ppo"), ("pong/ppo", "given-up"))
    assert found == {"length", "agent.anneal_lr"}
