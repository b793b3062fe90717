"""All environments begin anew before every rollout: the fault by hand, and the
diagnostic in training."""

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.vector import VectorEnv

from rlnotes.algos import ppo
from rlnotes.autopsies import common_reset
from rlnotes.autopsies.common_reset import CommonReset
from rlnotes.envs.vector import led_to, make_vec_env

CONFIG = ppo.Config(num_steps=4, hidden=(8,))


def carts(limit: int = 500) -> VectorEnv:
    return make_vec_env("CartPole-v1", 3, max_episode_steps=limit)


def test_all_are_out_of_time_together_and_where_they_led_is_kept() -> None:
    healthy, faulty = carts(), CommonReset(carts(), num_steps=4)
    first, _ = healthy.reset(seed=0)
    faulty.reset(seed=0)
    for step in range(1, 5):
        action = np.array([0, 1, 0])
        right, wrong = healthy.step(action), faulty.step(action)
        assert not right[3].any()
        assert wrong[3].tolist() == [step == 4] * 3
        assert not wrong[2].any()
        assert (right[1] == wrong[1]).all()
        assert (led_to(right[0], right[4]) == led_to(wrong[0], wrong[4])).all()
    assert (abs(wrong[0]) <= 0.05).all()  # a start, which was not played from before
    assert (wrong[0] != first).all()


def test_an_end_of_the_task_stays_one() -> None:
    faulty = CommonReset(carts(), num_steps=20)
    faulty.reset(seed=0)
    for _ in range(20):
        _, _, terminated, truncated, _ = faulty.step(np.ones(3, int))
        assert not (terminated & truncated).any()
    assert (terminated | truncated).all()


@pytest.mark.parametrize("faulty", [False, True])
def test_it_fires_on_the_fault_only(faulty: bool) -> None:
    torch.manual_seed(0)
    envs = carts()
    spaces = envs.single_observation_space, envs.single_action_space
    agent = ppo.Agent(ppo.new_policy(*spaces, CONFIG), CONFIG)
    played = CommonReset(envs, CONFIG.num_steps) if faulty else envs
    stream = ppo.train(agent, played, 60, 0)
    shares = [float(diagnostics["continued_fraction"]) for _, diagnostics in stream]
    assert len(shares) == 5
    assert common_reset.fires(shares) == faulty


def test_the_twins_differ_by_the_reset_only(differing: Any) -> None:
    row = "bipedal/ppo-vector"
    twins = (row, "vector"), (row, "reset-every-rollout")
    assert differing(*twins) == {"reset_every_rollout"}
