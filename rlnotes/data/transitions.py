"""Transitions to learn from: one tensor per field, so a batch is five indexed reads.

A deque of tuples, as in the notes, walks its blocks for every index and rebuilds five
arrays from Python lists for every batch; `python -m rlnotes bench` measures what that
costs.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Self

import numpy as np
import torch
from torch import Tensor

from rlnotes.data.rollouts import Episode

ADDED = "added"  # in a saved state: how many transitions were ever added


class Batch(NamedTuple):
    obs: Tensor
    action: Tensor
    reward: Tensor
    next_obs: Tensor
    terminated: Tensor  # 1 where the task ended; a time limit (truncation) is no end


class Transitions:
    """A ring of at most `capacity` transitions; the oldest is overwritten first.

    Observations keep the type that they are given, `obs_dtype`: pictures are stored,
    and come out, as bytes, and it is for the learner to make floats of a batch.
    """

    def __init__(
        self,
        capacity: int,
        obs_shape: int | tuple[int, ...],
        action_dim: int,
        obs_dtype: torch.dtype = torch.float32,
    ) -> None:
        shape = (obs_shape,) if isinstance(obs_shape, int) else obs_shape
        self._fields = Batch(
            obs=zeros((capacity, *shape), obs_dtype),
            action=zeros((capacity, action_dim)),
            reward=zeros((capacity,)),
            next_obs=zeros((capacity, *shape), obs_dtype),
            terminated=zeros((capacity,)),
        )
        self._capacity = capacity
        self._added = 0

    def __len__(self) -> int:
        return min(self._added, self._capacity)

    @property
    def nbytes(self) -> int:
        return sum(field.nbytes for field in self._fields)

    def add(
        self,
        obs: np.ndarray,
        action: np.ndarray,
        reward: float,
        next_obs: np.ndarray,
        terminated: bool,
    ) -> None:
        one = np.array([reward]), next_obs[None], np.array([terminated])
        self.extend(obs[None], action[None], *one)

    def extend(
        self,
        obs: np.ndarray,
        action: np.ndarray,
        reward: np.ndarray,
        next_obs: np.ndarray,
        terminated: np.ndarray,
    ) -> None:
        """Add one transition of each environment of a vector, in their order."""
        rows = (self._added + np.arange(len(obs))) % self._capacity
        given = (obs, action, reward, next_obs, terminated)
        for field, column in zip(self._fields, given, strict=True):
            field.numpy()[rows] = column  # torch takes longer for a row
        self._added += len(obs)

    def sample(self, size: int) -> Batch:
        """`size` transitions drawn uniformly with replacement, from torch's global
        generator."""
        rows = torch.randint(len(self), (size,))
        return Batch(*(field.index_select(0, rows) for field in self._fields))

    def all(self) -> Batch:
        return Batch(*(field[: len(self)] for field in self._fields))

    def state(self) -> dict[str, Tensor]:
        """A copy of all that is stored, and how much was ever added: with it the ring
        goes on where it was."""
        rows = {name: column.clone() for name, column in self.all()._asdict().items()}
        return rows | {ADDED: torch.tensor(self._added)}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Restore exactly what `state` gave, of a store of this kind and capacity."""
        added = int(state[ADDED])
        rows = min(added, self._capacity)
        own = {name: field[:rows] for name, field in self._fields._asdict().items()}
        for name, column in own.items():
            saved = state[name]
            if (saved.shape, saved.dtype) != (column.shape, column.dtype):
                raise ValueError(
                    f"the saved {name} is {saved.dtype} of shape {tuple(saved.shape)},"
                    f" not {column.dtype} of shape {tuple(column.shape)}"
                )
        for name, column in own.items():
            column.copy_(state[name])
        self._added = added

    def encoded(
        self, obs: Callable[[Tensor], Tensor], action: Callable[[Tensor], Tensor]
    ) -> Self:
        """A copy in a learner's units: observations through `obs`, actions through
        `action`."""
        raw = self.all()
        ours = Batch(
            obs(raw.obs),
            action(raw.action),
            raw.reward,
            obs(raw.next_obs),
            raw.terminated,
        )
        return self._of(ours)

    @classmethod
    def from_episodes(cls, episodes: Sequence[Episode]) -> Self:
        # A discrete action is one column.
        actions = [e.actions.reshape(len(e.actions), -1) for e in episodes]
        return cls._of(
            Batch(
                obs=_stack([episode.observations[:-1] for episode in episodes]),
                action=_stack(actions),
                reward=_stack([episode.rewards for episode in episodes]),
                next_obs=_stack([episode.observations[1:] for episode in episodes]),
                terminated=_stack([_terminations(episode) for episode in episodes]),
            )
        )

    @classmethod
    def _of(cls, columns: Batch) -> Self:
        """A full store that holds these columns."""
        capacity, *obs_shape = columns.obs.shape
        store = cls(
            capacity, tuple(obs_shape), columns.action.shape[1], columns.obs.dtype
        )
        for field, column in zip(store._fields, columns, strict=True):
            field.copy_(column)
        store._added = capacity
        return store


def zeros(shape: tuple[int, ...], dtype: torch.dtype = torch.float32) -> Tensor:
    """Memory that is only taken once it is written to: `torch.zeros` takes it at once,
    gigabytes where a large replay is never filled."""
    return torch.from_numpy(np.zeros(shape, torch.empty(0, dtype=dtype).numpy().dtype))


def _terminations(episode: Episode) -> np.ndarray:
    """Only the last step can end the task, and running out of time is no such end."""
    flags = np.zeros(len(episode.rewards))
    flags[-1] = episode.terminated
    return flags


def _stack(arrays: Sequence[np.ndarray]) -> Tensor:
    """Numbers as 32-bit floats, pictures as the bytes that they are."""
    rows = np.concatenate(arrays)
    return torch.from_numpy(rows if rows.dtype == np.uint8 else rows.astype(np.float32))
