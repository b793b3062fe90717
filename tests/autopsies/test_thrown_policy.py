"""An update that throws the policy away: the diagnostic on passes over old draws, with
and without a ratio, and on what a learner does that passes once."""

from typing import Any

import gymnasium as gym
import pytest
import torch

from rlnotes.algos import ppo
from rlnotes.autopsies import thrown_policy
from rlnotes.envs.vector import make_vec_env


def approx_kls(**settings: Any) -> list[float]:
    """Of a few updates in a world of one joint."""
    torch.manual_seed(0)
    config = ppo.Config(hidden=(16,), num_steps=64, batch_size=64, **settings)
    envs = make_vec_env(lambda: gym.make("Pendulum-v1"), 4)
    spaces = envs.single_observation_space, envs.single_action_space
    agent = ppo.Agent(ppo.new_policy(*spaces, config), config)
    stream = ppo.train(agent, envs, 2_048, 0)
    return [float(told["approx_kl"]) for _, told in stream]


NO_RATIO = {"loss": ppo.log_prob_loss, "learning_rate": 3e-3}


def test_it_fires_on_passes_over_old_draws_without_a_ratio() -> None:
    assert thrown_policy.fires(
        thrown_policy.largest(approx_kls(update_epochs=40, **NO_RATIO))
    )


@pytest.mark.parametrize(
    "healthy",
    [
        {"update_epochs": 1, **NO_RATIO},
        {"update_epochs": 40, "learning_rate": 3e-3},  # PPO's ratio
    ],
)
def test_it_is_quiet_where_draws_are_fresh_or_a_ratio_holds(
    healthy: dict[str, Any],
) -> None:
    assert not thrown_policy.fires(thrown_policy.largest(approx_kls(**healthy)))


def test_an_update_that_went_beyond_all_numbers_is_thrown_too() -> None:
    assert thrown_policy.fires(thrown_policy.largest([0.1, float("inf")]))
