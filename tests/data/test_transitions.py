"""The transition store: what goes in comes out, and only real ends are marked as ends."""

import numpy as np
import torch

from rlnotes.data.rollouts import Episode
from rlnotes.data.transitions import Transitions


def episode(length: int, terminated: bool, first: float = 0.0) -> Episode:
    numbers = first + np.arange(length + 1, dtype=np.float32)
    return Episode(0, numbers[:, None], 10 * numbers[:-1, None], -numbers[:-1], terminated, not terminated)


def test_from_episodes_pairs_each_step_with_its_own_successor() -> None:
    batch = Transitions.from_episodes([episode(3, True), episode(2, False, first=100)]).all()
    assert batch.obs[:, 0].tolist() == [0, 1, 2, 100, 101]
    assert batch.next_obs[:, 0].tolist() == [1, 2, 3, 101, 102]
    assert batch.action[:, 0].tolist() == [0, 10, 20, 1000, 1010]
    assert batch.reward.tolist() == [0, -1, -2, -100, -101]


def test_a_time_limit_is_not_an_end() -> None:
    batch = Transitions.from_episodes([episode(3, terminated=True), episode(2, terminated=False)]).all()
    assert batch.terminated.tolist() == [0, 0, 1, 0, 0]


def test_the_oldest_is_overwritten_first() -> None:
    store = Transitions(3, 1, 1)
    for number in range(5):
        store.add(np.array([number]), np.array([number]), number, np.array([number + 1]), False)
    assert len(store) == 3
    assert sorted(store.all().reward.tolist()) == [2, 3, 4]


def test_samples_are_whole_rows_and_reach_every_row() -> None:
    torch.manual_seed(0)
    store = Transitions.from_episodes([episode(20, True)])
    batch = store.sample(2_000)
    assert torch.equal(batch.action, 10 * batch.obs)
    assert torch.equal(batch.next_obs, batch.obs + 1)
    counts = torch.bincount(batch.obs[:, 0].long(), minlength=20)
    assert counts.min() > 50  # 100 expected of each; less than 50 has a chance below one in a million


def test_a_store_half_full_never_samples_empty_rows() -> None:
    store = Transitions(1_000, 1, 1)
    for number in (1, 2, 3):
        store.add(np.array([number]), np.array([number]), number, np.array([number]), False)
    assert set(store.sample(500).reward.tolist()) == {1, 2, 3}


def test_encoding_changes_observations_and_actions_only_in_the_copy() -> None:
    store = Transitions.from_episodes([episode(3, True)])
    encoded = store.encoded(obs=lambda x: x / 2, action=lambda x: x + 1).all()
    assert encoded.obs[:, 0].tolist() == [0, 0.5, 1]
    assert encoded.next_obs[:, 0].tolist() == [0.5, 1, 1.5]
    assert encoded.action[:, 0].tolist() == [1, 11, 21]
    assert store.all().action[:, 0].tolist() == [0, 10, 20]
