"""Games that never end, for the learner: the fault by hand, and the diagnostic in
training."""

from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.vector import VectorEnv

from rlnotes.algos import ppo
from rlnotes.autopsies import lost_done
from rlnotes.autopsies.lost_done import LostDone
from rlnotes.envs.vector import led_to, make_vec_env

LIMIT = 20
CONFIG = ppo.Config(num_steps=8, hidden=(8,))


def carts() -> VectorEnv:
    return make_vec_env("CartPole-v1", 3, max_episode_steps=LIMIT)


def test_the_twin_differs_by_exactly_one_setting(differing: Any) -> None:
    healthy, faulty = ("pong/ppo", "early"), ("pong/ppo", "lost-done")
    assert differing(healthy, faulty) == {"lost_done"}


def test_the_next_start_is_said_to_follow_from_the_end() -> None:
    healthy, faulty = carts(), LostDone(carts())
    healthy.reset(seed=0)
    faulty.reset(seed=0)
    ends = 0
    for _ in range(2 * LIMIT):
        right, wrong = (envs.step(np.ones(3, int)) for envs in (healthy, faulty))
        assert np.array_equal(right[0], wrong[0])
        assert np.array_equal(right[1], wrong[1])
        assert not (wrong[2] | wrong[3]).any()
        assert np.array_equal(led_to(wrong[0], wrong[4]), wrong[0])
        ends += int((right[2] | right[3]).sum())
    assert ends > 3


@pytest.mark.parametrize("faulty", [False, True])
def test_it_fires_on_the_fault_only(faulty: bool) -> None:
    torch.manual_seed(0)
    envs = LostDone(carts()) if faulty else carts()
    spaces = envs.single_observation_space, envs.single_action_space
    agent = ppo.Agent(ppo.new_policy(*spaces, CONFIG), CONFIG)
    stream = ppo.train(agent, envs, 240, 0)
    lengths = [float(diagnostics["longest_episode"]) for _, diagnostics in stream]
    fired = [lost_done.fires(length, LIMIT) for length in lengths]
    assert not fired[0]
    assert any(fired) == fired[-1] == faulty
