"""DQN on vectors: the notes' schedule by hand, and what is right for somebody who
believes to be carried back to the start."""

import numpy as np
import pytest

from rlnotes.algos import dqn
from rlnotes.envs.orchard import PICK, WALK
from rlnotes.experiments import parallel, registry
from rlnotes.runs.run import train_live

ADDRESSES = [
    (id, variant)
    for id in ("parallel/dqn", "parallel/orchard", "parallel/envpool")
    for variant in registry.find(id).variants
]


@pytest.mark.slow(seconds=30)
@pytest.mark.parametrize(("id", "variant"), ADDRESSES)
def test_it_runs_at_the_smallest_budget(id: str, variant: str) -> None:
    live = train_live(id, variant, budget="smoke", progress=False, length=1.0)
    assert np.isfinite(live.record.last("final_return"))
    assert live.record.last("longest_chain") >= 1


@pytest.mark.parametrize(
    ("step", "chance"),
    [(1, 1), (1_200, 1), (1_201, 0.95), (2_401, 0.95**2), (600_000, 0.01)],
)
def test_the_notes_chance_of_a_random_action(step: int, chance: float) -> None:
    config = parallel.PARALLEL_DQN.settings_for("notes", "full").agent
    assert isinstance(config, dqn.Config)
    assert config.epsilon(step, 600_000, config) == pytest.approx(chance)


def test_the_notes_renew_the_target_after_the_first_and_every_tenth_epoch() -> None:
    settings = parallel.PARALLEL_DQN.settings_for("notes", "full")
    config = settings.agent
    assert isinstance(config, dqn.Config)
    due = [s for s in range(1, 30_001) if config.target_due(s, False, config)]
    assert due == [1_200, 13_200, 25_200]
    assert settings.steps == 500 * 300 * 4


# --- what the corrupted successor makes of the orchard


def carried_back(last_tree: int, limit: int) -> np.ndarray:
    """For each tree, how often a random walker's pick there is the last step of its
    time: what share of the stored picks seems to lead to the start."""
    chance = np.zeros((limit, last_tree + 1))
    chance[0, 0] = 1
    for time in range(1, limit):
        stays, walks = chance[time - 1] / 2, chance[time - 1] / 2
        chance[time] = stays
        chance[time, 1:] += walks[:-1]
        chance[time, -1] += walks[-1]
    return chance[-1] / chance.sum(0)


def right_first_action(gamma: float, share: np.ndarray) -> int:
    """By value iteration, where a share of the steps from each tree leads to the
    start."""
    last = len(share) - 1
    pays = np.zeros(len(share))
    pays[0], pays[last] = 1, 3
    value = np.zeros(len(share))
    ahead = np.minimum(np.arange(len(share)) + 1, last)
    for _ in range(2_000):
        stay = pays + gamma * ((1 - share) * value + share * value[0])
        walk = gamma * ((1 - share) * value[ahead] + share * value[0])
        value = np.maximum(stay, walk)
    return PICK if stay[0] >= walk[0] else WALK


def test_it_is_right_to_walk_and_to_stay_if_one_were_carried_back() -> None:
    settings = parallel.PARALLEL_ORCHARD.settings
    gamma, limit = settings.agent.gamma, settings.max_episode_steps
    assert limit is not None
    share = carried_back(8, limit)
    assert share[8] > 0.5
    assert right_first_action(gamma, np.zeros(9)) == WALK
    assert right_first_action(gamma, share) == PICK
