"""Pictures stored once: read back, every transition is what a list of whole stacks
would have kept."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rlnotes.data.frames import FrameTransitions, stacks_nbytes

SIZE = (2, 2)
Steps = list[tuple[np.ndarray, ...]]


def play(
    rng: np.random.Generator, num_envs: int, steps: int, stack: int, fill: str
) -> Iterator[tuple[np.ndarray, ...]]:
    """Random pictures in episodes of random lengths, which begin with copies of the
    first one, with black, with pictures of before, or with others."""

    def picture() -> np.ndarray:
        return rng.integers(4, size=SIZE).astype(np.uint8)  # some are alike by chance

    def start(before: np.ndarray) -> np.ndarray:
        first = picture()
        older = {
            "copies": [first] * (stack - 1),
            "black": [np.zeros(SIZE, np.uint8)] * (stack - 1),
            "before": list(before[1:]),
            "others": [picture() for _ in range(stack - 1)],
        }[fill]
        return np.stack([*older, first])

    obs = np.stack([start(np.zeros((stack, *SIZE), np.uint8)) for _ in range(num_envs)])
    for _ in range(steps):
        newest = np.stack([picture() for _ in range(num_envs)])[:, None]
        there = np.concatenate([obs[:, 1:], newest], axis=1)
        action, reward = rng.integers(3, size=(num_envs, 1)), rng.normal(size=num_envs)
        ended = rng.uniform(size=num_envs) < 0.3
        terminated = ended & (rng.uniform(size=num_envs) < 0.5)
        yield obs, action, reward, there, terminated
        obs = there.copy()  # the same memory is never handed in twice
        for env in np.flatnonzero(ended):
            obs[env] = start(there[env])


def rows(batch: Any) -> list[bytes]:
    columns = [np.asarray(column) for column in batch]
    return [b"".join(part.tobytes() for part in row) for row in zip(*columns)]  # noqa: B905


def naive(steps: Steps) -> list[bytes]:
    """Whole stacks in the order in which they came, in the types of the store."""
    found = []
    for obs, *numbers in steps:
        action, reward, there, terminated = numbers
        floats = [x.astype(np.float32) for x in (action, reward, terminated)]
        found += rows([obs, *floats[:2], there, floats[2]])
    return found


games = {
    "seed": st.integers(0, 2**32),
    "num_envs": st.integers(1, 4),
    "steps": st.integers(1, 40),
    "stack": st.integers(1, 4),
    "fill": st.sampled_from(["copies", "black", "before", "others"]),
    "capacity": st.integers(1, 60),
}


@settings(max_examples=80, deadline=None)
@given(**games)
def test_it_keeps_what_a_list_of_whole_stacks_keeps(
    seed: int, num_envs: int, steps: int, stack: int, fill: str, capacity: int
) -> None:
    """The newest ones, in their order: all that fit, or where episodes are short and
    begin with many pictures, fewer."""
    store = FrameTransitions(capacity, (stack, *SIZE), 1)
    played: Steps = []
    for step in play(np.random.default_rng(seed), num_envs, steps, stack, fill):
        store.extend(*step)
        played.append(step)
        kept = naive(played[-capacity - 1 :])
        assert len(store) <= capacity
        if len(store):
            assert rows(store.all()) == kept[-len(store) :]
    if len(store):
        torch.manual_seed(0)
        batch = store.sample(20)
        assert batch.obs.dtype == batch.next_obs.dtype == torch.uint8
        assert batch.obs.shape == (20, stack, *SIZE)
        assert set(rows(batch)) <= set(kept)


def filled(capacity: int, fill: str = "copies", steps: int = 400) -> FrameTransitions:
    store = FrameTransitions(capacity, (4, *SIZE), 1)
    for step in play(np.random.default_rng(0), 2, steps, 4, fill):
        store.extend(*step)
    return store


def test_long_episodes_leave_no_transition_out() -> None:
    """An episode of n steps has n + 1 pictures: with a tenth more room than for
    transitions, all fit from ten steps on."""
    store = FrameTransitions(200, (4, *SIZE), 1)
    rng = np.random.default_rng(0)
    for _ in range(60):
        pictures = rng.integers(256, size=(12, *SIZE), dtype=np.uint8)
        shown = np.concatenate([pictures[:1]] * 3 + [pictures])
        for step in range(11):
            obs, there = shown[step : step + 4][None], shown[step + 1 : step + 5][None]
            store.extend(obs, np.zeros((1, 1)), np.zeros(1), there, np.zeros(1, bool))
    assert len(store) == 200


def test_most_are_kept_even_if_episodes_are_very_short() -> None:
    assert len(filled(300)) > 200


def test_every_row_is_drawn() -> None:
    store = filled(50)
    torch.manual_seed(0)
    assert set(rows(store.sample(3_000))) == set(rows(store.all()))


def test_100_000_transitions_of_an_atari_game_take_less_than_800_mb() -> None:
    store = FrameTransitions(100_000, (4, 84, 84), 1)
    assert store.nbytes < 0.8e9
    assert len(store._frames) >= 100_000
    notes = stacks_nbytes(100_000, (4, 84, 84), itemsize=4)
    assert notes == pytest.approx(11.3e9, rel=0.01)  # their 11 GB
    assert 2 * stacks_nbytes(100_000, (4, 84, 84)) == pytest.approx(5.6e9, rel=0.01)


def test_ends_are_counted_as_long_as_they_are_stored() -> None:
    store, flags = FrameTransitions(6, (1, *SIZE), 1), [1, 0, 0, 1, 1, 0, 0, 0, 1]
    counted = []
    for number, flag in enumerate(flags):
        picture = np.full((1, 1, *SIZE), number, np.uint8)
        step = picture, np.zeros((1, 1)), np.zeros(1), picture + 100
        store.extend(*step, np.array([bool(flag)]))
        counted.append(store.ends)
    kept = [sum(flags[max(0, last - 5) : last + 1]) for last in range(len(flags))]
    assert counted == kept


@pytest.mark.parametrize("fill", ["copies", "before", "others"])
@pytest.mark.parametrize("steps", [3, 40])
def test_a_restored_store_goes_on_as_the_saved_one(fill: str, steps: int) -> None:
    game = play(np.random.default_rng(1), 2, 30 + steps, 4, fill)
    store, restored = (FrameTransitions(25, (4, *SIZE), 1) for _ in "ab")
    for _ in range(steps):
        store.extend(*next(game))
    state = store.state()
    restored.load_state(state)
    assert rows(restored.all()) == rows(store.all())
    for step in game:
        store.extend(*step)
        restored.extend(*step)
        fewer = min(len(store), len(restored))
        assert rows(restored.all())[-fewer:] == rows(store.all())[-fewer:]
    draws = []
    for _ in range(2):
        torch.manual_seed(0)
        draws.append(rows(restored.sample(20)))
    assert draws[0] == draws[1]


def test_a_state_is_a_copy_and_of_one_kind() -> None:
    store = filled(10, steps=3)
    state, kept = store.state(), rows(store.all())
    for step in play(np.random.default_rng(5), 2, 9, 4, "copies"):
        store.extend(*step)
    assert rows(store.all()) != kept
    store.load_state(state)
    assert rows(store.all()) == kept
    other = FrameTransitions(10, (3, *SIZE), 1)
    with pytest.raises(ValueError, match="the saved obs is torch.int64 of shape"):
        other.load_state(state)
    assert len(other) == 0
