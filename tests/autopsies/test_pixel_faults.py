"""Faults that need no training to be seen: a horizon in seconds, raw pixels, one coin
for all."""

from typing import Any

import numpy as np
import pytest

from rlnotes.algos import dqn
from rlnotes.algos.networks import SMALL_EYE
from rlnotes.algos.policy import Policy
from rlnotes.autopsies import one_coin, raw_pixels, short_horizon
from rlnotes.envs.atari import AtariEnv
from rlnotes.experiments.registry import find


def horizon(variant: str) -> float:
    settings: Any = find("pong/ppo").settings_for(variant, "full")
    agent = settings.agent
    return short_horizon.seconds(
        agent.gamma, agent.gae_lambda, settings.game.frame_skip
    )


def test_the_horizon_by_hand() -> None:
    assert short_horizon.seconds(0.5, 1.0, 60) == pytest.approx(2.0)
    assert horizon("ppo") == pytest.approx(1.12, abs=0.01)
    assert horizon("notes") == pytest.approx(0.28, abs=0.01)


@pytest.mark.parametrize(
    ("variant", "fires"),
    [
        ("ppo", False),
        ("no-skip-long-horizon", False),
        ("no-skip", True),
        ("short-horizon", True),
        ("notes", True),
    ],
)
def test_it_fires_where_the_reward_comes_after_the_horizon(
    variant: str, fires: bool
) -> None:
    assert short_horizon.fires(horizon(variant)) == fires


def test_the_twins_of_the_horizon_differ_by_what_they_say(differing: Any) -> None:
    healthy = ("pong/ppo", "ppo")
    two = {"agent.gamma", "agent.gae_lambda"}
    assert differing(healthy, ("pong/ppo", "short-horizon")) == two
    assert differing(healthy, ("pong/ppo", "no-skip")) == {"game.frame_skip"}


# --- pixels as they are


def test_raw_pixels_are_seen_and_scaled_ones_are_not(differing: Any) -> None:
    healthy, faulty = ("breakout/dqn", "dqn"), ("breakout/dqn", "raw-pixels")
    assert differing(healthy, faulty) == {"eye.divisor"}
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
    assert differing(healthy, faulty) == {"agent.explorers"}
    for explorers, fires in (
        (dqn.one_coin_each, False),
        (one_coin.one_coin_for_all, True),
    ):
        rng = np.random.default_rng(0)
        thrown = np.array([explorers(rng, 4, 0.3) for _ in range(200)])
        assert thrown.mean() == pytest.approx(0.3, abs=0.1)
        assert one_coin.fires(thrown) == fires
