"""The stale target network: how far Q can see, by hand; the diagnostic on the twin and
on the healthy run."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from rlnotes.algos import dqn
from rlnotes.algos.policy import Policy
from rlnotes.autopsies import stale_target
from rlnotes.runs import store
from rlnotes.runs.run import train_live

HEALTHY, FAULTY = (
    ("bullet/plate", "dqn"),
    ("bullet/plate", "target-at-episode-end"),
)


def test_the_twin_differs_by_exactly_one_setting(differing: Any) -> None:
    assert list(stale_target.FAULT) == ["target_due"]
    assert differing(HEALTHY, FAULTY) == {"agent.target_due"}


@pytest.mark.parametrize(
    ("step", "done", "expected"),
    [
        (1_000, True, True),
        (1_000, False, False),
        (999, True, False),
        (2_000, True, True),
    ],
)
def test_the_fault_by_hand(step: int, done: bool, expected: bool) -> None:
    config = dqn.Config(target_update_interval=1_000, **stale_target.FAULT)
    assert config.target_due(step, done, config) is expected


def test_the_ceiling_by_hand() -> None:
    assert stale_target.ceiling(0, 0.9) == pytest.approx(1)  # only the next reward
    assert stale_target.ceiling(2, 0.9) == pytest.approx(1 + 0.9 + 0.81)
    assert stale_target.ceiling(10_000, 0.99) == pytest.approx(100)


class Endless(gym.Env):
    """One state, one action, a reward of 1 for ever."""

    observation_space = gym.spaces.Box(0, 1, (1,), np.float32)
    action_space = gym.spaces.Discrete(1)

    def reset(self, **options: object) -> Any:
        return np.ones(1, np.float32), {}

    def step(self, action: object) -> Any:
        return np.ones(1, np.float32), 1.0, False, False, {}


@pytest.mark.parametrize("updates", [0, 1, 3])
def test_q_climbs_to_the_ceiling_and_no_further(updates: int) -> None:
    def in_time(step: int, done: bool, config: dqn.Config) -> bool:
        return dqn.on_schedule(step, done, config) and step <= 400 * updates

    torch.manual_seed(0)
    env = Endless()
    config = dqn.Config(
        gamma=0.9,
        learning_rate=1e-2,
        hidden=(8,),
        learning_starts=10,
        batch_size=8,
        target_update_interval=400,
        target_due=in_time,
    )
    policy = Policy.for_spaces(env.observation_space, env.action_space, config.hidden)
    agent = dqn.Agent(policy, config)
    for weights in agent.target.parameters():
        weights.data.zero_()  # Q' = 0 at first
    *_, (_, last) = dqn.train(agent, env, 400 * (updates + 1), 0)
    assert int(last["target_updates"]) == updates
    reached = stale_target.ceiling(updates, 0.9)
    assert float(last["q_data"]) == pytest.approx(reached, abs=0.05)


def fires(record: store.Record) -> bool:
    return stale_target.fires(record.last("target_updates"), dqn.Config().gamma)


@pytest.mark.slow(seconds=80)
def test_live_it_fires_on_the_twin_and_not_on_the_healthy_run() -> None:
    assert not fires(train_live(*HEALTHY, progress=False).record)
    assert fires(train_live(*FAULTY, progress=False).record)


def test_on_record_it_fires_on_every_faulty_seed_and_on_no_healthy_one() -> None:
    assert all(fires(record) for record in store.read_all(*FAULTY))
    assert not any(fires(record) for record in store.read_all(*HEALTHY))
