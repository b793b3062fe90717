"""The transition store: what goes in comes out, and only real ends are ends."""

from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from rlnotes.data import hindsight
from rlnotes.data.rollouts import Episode
from rlnotes.data.transitions import Batch, Transitions

PICTURE = (2, 3, 3)


def episode(length: int, terminated: bool, first: float = 0.0) -> Episode:
    numbers = first + np.arange(length + 1, dtype=np.float32)
    rows, before = numbers[:, None], numbers[:-1]
    return Episode(0, rows, 10 * before[:, None], -before, terminated, not terminated)


def add(store: Transitions, number: float, terminated: bool = False) -> None:
    before, after = np.array([number]), np.array([number + 1])
    store.add(before, 10 * before, -number, after, terminated)


def test_from_episodes_pairs_each_step_with_its_own_successor() -> None:
    episodes = [episode(3, True), episode(2, False, first=100)]
    batch = Transitions.from_episodes(episodes).all()
    assert batch.obs[:, 0].tolist() == [0, 1, 2, 100, 101]
    assert batch.next_obs[:, 0].tolist() == [1, 2, 3, 101, 102]
    assert batch.action[:, 0].tolist() == [0, 10, 20, 1000, 1010]
    assert batch.reward.tolist() == [0, -1, -2, -100, -101]


def test_a_time_limit_is_not_an_end() -> None:
    episodes = [episode(3, terminated=True), episode(2, terminated=False)]
    batch = Transitions.from_episodes(episodes).all()
    assert batch.terminated.tolist() == [0, 0, 1, 0, 0]


def test_the_oldest_is_overwritten_first() -> None:
    store = Transitions(3, 1, 1)
    for number in range(5):
        add(store, number)
    assert len(store) == 3
    assert sorted(store.all().reward.tolist()) == [-4, -3, -2]


@settings(max_examples=40, deadline=None)
@given(capacity=st.integers(1, 12), sizes=st.lists(st.integers(1, 5), max_size=8))
def test_several_at_once_are_as_one_after_the_other(
    capacity: int, sizes: list[int]
) -> None:
    together, apart = Transitions(capacity, 1, 1), Transitions(capacity, 1, 1)
    for first, size in zip(np.cumsum([0, *sizes]), sizes, strict=False):
        numbers = first + np.arange(size, dtype=float)
        column, ends = numbers[:, None], numbers % 2 == 0
        together.extend(column, 10 * column, -numbers, column + 1, ends)
        for number in numbers:
            add(apart, number, terminated=number % 2 == 0)
    assert len(together) == len(apart) == min(capacity, sum(sizes))
    for one, other in zip(together.all(), apart.all(), strict=True):
        assert torch.equal(one, other)


def test_samples_are_whole_rows_and_reach_every_row() -> None:
    torch.manual_seed(0)
    store = Transitions.from_episodes([episode(20, True)])
    batch = store.sample(2_000)
    assert torch.equal(batch.action, 10 * batch.obs)
    assert torch.equal(batch.next_obs, batch.obs + 1)
    counts = torch.bincount(batch.obs[:, 0].long(), minlength=20)
    # 100 are expected of each; less than 50 has a chance below one in a million.
    assert counts.min() > 50


def test_a_store_half_full_never_samples_empty_rows() -> None:
    store = Transitions(1_000, 1, 1)
    for number in (1, 2, 3):
        add(store, number)
    assert set(store.sample(500).reward.tolist()) == {-1, -2, -3}


def test_encoding_changes_observations_and_actions_only_in_the_copy() -> None:
    store = Transitions.from_episodes([episode(3, True)])
    encoded = store.encoded(obs=lambda x: x / 2, action=lambda x: x + 1).all()
    assert encoded.obs[:, 0].tolist() == [0, 0.5, 1]
    assert encoded.next_obs[:, 0].tolist() == [0.5, 1, 1.5]
    assert encoded.action[:, 0].tolist() == [1, 11, 21]
    assert store.all().action[:, 0].tolist() == [0, 10, 20]


def picture_step(rng: np.random.Generator) -> tuple[Any, ...]:
    before, after = rng.integers(256, size=(2, *PICTURE), dtype=np.uint8)
    return before, rng.normal(size=2), rng.normal(), after, bool(rng.integers(2))


def rows_of(batch: Batch) -> list[bytes]:
    """Each transition as bytes, whatever its place in the store."""
    columns = [column.numpy() for column in batch]
    return [b"".join(part.tobytes() for part in row) for row in zip(*columns)]  # noqa: B905


def naive(steps: Any) -> list[bytes]:
    """What a list of tuples holds, in the types of a store of pictures."""
    return [
        b"".join(
            (
                before.tobytes(),
                np.asarray(action, np.float32).tobytes(),
                np.float32(reward).tobytes(),
                after.tobytes(),
                np.float32(terminated).tobytes(),
            )
        )
        for before, action, reward, after, terminated in steps
    ]


stores = st.integers(1, 12), st.integers(0, 40), st.integers(0, 2**32)


@settings(max_examples=60, deadline=None)
@given(*stores)
def test_pictures_are_kept_as_by_a_list_that_forgets(
    capacity: int, count: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    store = Transitions(capacity, PICTURE, 2, torch.uint8)
    kept: deque[tuple[Any, ...]] = deque(maxlen=capacity)
    for _ in range(count):
        step = picture_step(rng)
        store.add(*step)
        kept.append(step)
    assert len(store) == len(kept)
    assert sorted(rows_of(store.all())) == sorted(naive(kept))
    if kept:
        batch = store.sample(30)
        assert batch.obs.dtype == batch.next_obs.dtype == torch.uint8
        assert batch.obs.shape == (30, *PICTURE)
        assert set(rows_of(batch)) <= set(naive(kept))


@settings(max_examples=60, deadline=None)
@given(*stores)
def test_a_restored_store_goes_on_as_the_saved_one(
    capacity: int, count: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    store, restored = (Transitions(capacity, PICTURE, 2, torch.uint8) for _ in "ab")
    for _ in range(count):
        store.add(*picture_step(rng))
    state = store.state()
    assert len(state["obs"]) == len(store), "only rows that are filled"
    restored.load_state(state)
    for _ in range(3):
        step = picture_step(rng)
        store.add(*step)
        restored.add(*step)
        assert rows_of(restored.all()) == rows_of(store.all())
    draws = []
    for one in (store, restored):
        torch.manual_seed(0)
        draws.append(rows_of(one.sample(20)))
    assert draws[0] == draws[1]


def test_a_state_is_a_copy() -> None:
    store = Transitions(2, 1, 1)
    add(store, 1)
    state = store.state()
    for number in (2, 3):
        add(store, number)
    assert state["reward"].tolist() == [-1]
    store.load_state(state)
    assert store.all().reward.tolist() == [-1]


@pytest.mark.parametrize(
    "other",
    [Transitions(3, 1, 1), Transitions(5, 2, 1), Transitions(5, 1, 1, torch.uint8)],
)
def test_the_state_of_another_kind_of_store_is_refused(other: Transitions) -> None:
    store = Transitions(5, 1, 1)
    for number in range(5):
        add(store, number)
    with pytest.raises(ValueError, match="the saved obs is torch.float32 of shape"):
        other.load_state(store.state())
    assert len(other) == 0


def test_pictures_of_episodes_stay_bytes() -> None:
    rng = np.random.default_rng(0)
    pictures = rng.integers(256, size=(4, *PICTURE), dtype=np.uint8)
    played = Episode(0, pictures, np.array([0, 1, 0]), np.ones(3), True, False)
    store = Transitions.from_episodes([played])
    batch = store.all()
    assert batch.obs.dtype == torch.uint8
    assert np.array_equal(batch.next_obs.numpy(), pictures[1:])
    assert batch.action.tolist() == [[0], [1], [0]]
    encoded = store.encoded(lambda obs: obs.flatten(1) / 255, lambda action: action)
    assert encoded.all().obs.dtype == torch.float32
    assert encoded.all().obs.shape == (3, 18)


STATUS = Path("/proc/self/statm")


@pytest.mark.skipif(not STATUS.exists(), reason="only Linux tells")
def test_a_large_store_takes_no_memory_before_it_is_filled() -> None:
    def resident() -> int:
        return int(STATUS.read_text().split()[1]) * 4_096

    before = resident()
    store = Transitions(20_000, (4, 84, 84), 1, torch.uint8)
    assert store.nbytes > 1e9
    assert resident() - before < 50e6


# --- Relabelled transitions

PLACE, GOAL = slice(0, 2), slice(4, 6)  # columns of the observation
FAR = (9.0, 9.0)


def at_goal(places: Tensor, goals: Tensor) -> Tensor:
    return (places == goals).all(1).float()


def walk(first: int, steps: int) -> Episode:
    """Along x in steps of one metre, with a goal that is never reached."""
    x = np.arange(first, first + steps + 1)
    rows = np.array([(place, 0, 0, 0, *FAR) for place in x], np.float32)
    actions = np.zeros((steps, 2), np.float32)
    return Episode(0, rows, actions, np.zeros(steps), False, True)


EPISODES = [walk(0, 3), walk(100, 5)]


def relabelled(share: float, seed: int = 0) -> Transitions:
    return hindsight.relabelled(EPISODES, share, GOAL, PLACE, at_goal, seed)


def test_nothing_is_relabelled_without_a_share() -> None:
    plain = Transitions.from_episodes(EPISODES).all()
    assert all(
        torch.equal(one, other)
        for one, other in zip(relabelled(0).all(), plain, strict=True)
    )


def test_new_goals_lie_ahead_in_the_same_episode_and_pay_where_reached() -> None:
    seen = set()
    for seed in range(30):
        data = relabelled(1, seed).all()
        assert torch.equal(data.obs[:, GOAL], data.next_obs[:, GOAL])
        goals, places = data.obs[:, 4], data.next_obs[:, 0]
        last = torch.tensor([3.0] * 3 + [105.0] * 5)
        assert bool(((goals >= places) & (goals <= last)).all())
        assert torch.equal(data.reward, (goals == places).float())
        seen |= set(goals[:3].tolist())
    assert seen == {1.0, 2.0, 3.0}


def test_a_share_is_relabelled_and_the_rest_is_as_it_was() -> None:
    data = relabelled(0.5).all()
    kept = data.obs[:, 4] == FAR[0]
    assert 0 < int(kept.sum()) < len(kept)
    assert not data.reward[kept].any()
