"""EnvPool as it comes: the pair of a last and a first observation in the replay, and
the chains that show it."""

from typing import Any

import numpy as np
import pytest
import torch

from rlnotes.algos import dqn
from rlnotes.algos.policy import Policy
from rlnotes.autopsies import corrupted_successor, unreal_step
from rlnotes.data.transitions import Batch
from rlnotes.envs.vector import make_vec_env

HEALTHY, FAULTY = ("parallel/envpool", "dqn"), ("parallel/envpool", "as-it-comes")
COPIES, LIMIT = 4, 30


def replay(vector: Any, steps: int = 800) -> Batch:
    """Played at random: most poles fall, some outlast the short limit."""
    envs = vector("CartPole-v1", COPIES, "envpool", max_episode_steps=LIMIT)
    torch.manual_seed(0)
    config = dqn.Config(hidden=(4,), learning_starts=10_000, buffer_size=steps)
    spaces = envs.single_observation_space, envs.single_action_space
    agent = dqn.Agent(Policy.for_spaces(*spaces, (4,)), config)
    for _ in dqn.train(agent, envs, steps, 0):
        pass
    return agent.memory.all()


def test_the_twin_differs_by_exactly_one_setting(differing: Any) -> None:
    assert differing(HEALTHY, FAULTY) == {"vector"}


def test_after_each_end_a_step_is_stored_that_nobody_played() -> None:
    """It pays nothing, begins where the pole fell and leads to a start."""
    stored = replay(unreal_step.as_it_comes)
    unreal = stored.reward == 0
    assert unreal.any()
    assert (stored.reward[~unreal] == 1).all()
    assert (stored.next_obs[unreal].abs() <= 0.05).all()
    assert (stored.terminated[unreal] == 0).all()
    fell = torch.tensor(np.roll(stored.terminated == 1, COPIES))
    fell[:COPIES] = False
    assert unreal[fell].all()
    place_and_angle = stored.obs[fell][:, [0, 2]].abs()
    assert (place_and_angle > torch.tensor([2.4, 0.209])).any(1).all()


def test_the_healthy_vector_stores_no_such_step() -> None:
    stored = replay(make_vec_env)
    assert (stored.reward == 1).all()
    assert (stored.terminated == 1).any()


@pytest.mark.parametrize(
    ("vector", "fires"), [(make_vec_env, False), (unreal_step.as_it_comes, True)]
)
def test_chains_show_it(vector: Any, fires: bool) -> None:
    longest = corrupted_successor.longest_chain(replay(vector), COPIES)
    assert corrupted_successor.fires(longest, LIMIT) is fires
    assert longest == 800 // COPIES if fires else longest <= LIMIT


def test_the_infos_of_envpool_are_one_for_all_copies() -> None:
    """The notes look into those of each copy when time runs out."""
    envpool = pytest.importorskip("envpool")
    pool = envpool.make_gymnasium("CartPole-v1", num_envs=2, max_episode_steps=1)
    pool.reset()
    _, _, _, truncated, infos = pool.step(np.zeros(2, np.int32))
    assert truncated.all()
    with pytest.raises(KeyError):
        infos[0]
