"""The stale target network: how far Q can see, by hand; the diagnostic on the twin and on the healthy run."""

import gymnasium as gym
import numpy as np
import pytest
import torch

from rlnotes.algos import dqn
from rlnotes.algos.policy import Policy
from rlnotes.autopsies import stale_target
from rlnotes.evidence import records, runner
from rlnotes.evidence.records import Run
from rlnotes.experiments.worlds import PLATE


def test_the_twin_differs_by_exactly_one_setting() -> None:
    healthy, faulty = (PLATE.settings_for(name, "full") for name in ("dqn", "renewed-at-episode-end"))
    assert {name for name in healthy if healthy[name] != faulty[name]} == set(stale_target.FAULT) == {"renewal"}


@pytest.mark.parametrize(
    ("step", "over", "expected"), [(1_000, True, True), (1_000, False, False), (999, True, False), (2_000, True, True)]
)
def test_the_fault_by_hand(step: int, over: bool, expected: bool) -> None:
    assert stale_target.renew_at_episode_end(step, over, dqn.Config(target_every=1_000)) is expected


def test_the_ceiling_by_hand() -> None:
    assert stale_target.ceiling(0, 0.9) == pytest.approx(1)  # only the next reward
    assert stale_target.ceiling(2, 0.9) == pytest.approx(1 + 0.9 + 0.81)
    assert stale_target.ceiling(10_000, 0.99) == pytest.approx(100)


class Endless(gym.Env):
    """One state, one action, a reward of 1 for ever."""

    observation_space = gym.spaces.Box(0, 1, (1,), np.float32)
    action_space = gym.spaces.Discrete(1)

    def reset(self, **options: object) -> tuple[np.ndarray, dict[str, object]]:
        return np.ones(1, np.float32), {}

    def step(self, action: object) -> tuple[np.ndarray, float, bool, bool, dict[str, object]]:
        return np.ones(1, np.float32), 1.0, False, False, {}


@pytest.mark.parametrize("renewals", [0, 1, 3])
def test_q_climbs_to_the_ceiling_and_no_further(renewals: int) -> None:
    torch.manual_seed(0)
    env = Endless()
    config = dqn.Config(discount=0.9, learning_rate=1e-2, hidden=(8,), random_steps=10, batch_size=8)
    policy = Policy.for_spaces(env.observation_space, env.action_space, config.hidden)
    agent = dqn.Agent(policy, config)
    for weights in agent.target.parameters():
        weights.data.zero_()  # Q' = 0 at first
    *_, (_, last) = dqn.train(
        agent, env, 400 * (renewals + 1), 0, lambda step, *_: step % 400 == 0 and step <= 400 * renewals
    )
    assert int(last["renewals"]) == renewals
    assert float(last["q_data"]) == pytest.approx(stale_target.ceiling(renewals, 0.9), abs=0.05)


def fires(record: records.Record) -> bool:
    return stale_target.fires(record.last("renewals"), dqn.Config().discount)


def test_live_it_fires_on_the_twin_and_not_on_the_healthy_run() -> None:
    healthy, _ = runner.live(Run("bullet/plate", "dqn", 0, "ci"), progress=False)
    faulty, _ = runner.live(Run("bullet/plate", "renewed-at-episode-end", 0, "ci"), progress=False)
    assert not fires(healthy)
    assert fires(faulty)


def test_on_record_it_fires_on_every_faulty_seed_and_on_no_healthy_one() -> None:
    assert all(fires(record) for record in records.read_all("bullet/plate", "renewed-at-episode-end"))
    assert not any(fires(record) for record in records.read_all("bullet/plate", "dqn"))
