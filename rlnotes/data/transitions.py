"""Transitions to learn from: one contiguous tensor per field, so a batch is five indexed reads.

A deque of tuples, as in the notes, walks its blocks for every index and rebuilds five arrays from
Python lists for every batch; `python -m rlnotes bench` measures what that costs.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from rlnotes.data.rollouts import Episode


class Batch(NamedTuple):
    obs: Tensor
    action: Tensor
    reward: Tensor
    next_obs: Tensor
    terminated: Tensor  # 1 where the task ended; a time limit (truncation) does not end the task


class Transitions:
    """A ring of at most `capacity` transitions; the oldest is overwritten first."""

    def __init__(self, capacity: int, obs_dim: int, action_dim: int) -> None:
        self._fields = Batch(
            obs=torch.zeros(capacity, obs_dim),
            action=torch.zeros(capacity, action_dim),
            reward=torch.zeros(capacity),
            next_obs=torch.zeros(capacity, obs_dim),
            terminated=torch.zeros(capacity),
        )
        self._capacity = capacity
        self._added = 0

    def __len__(self) -> int:
        return min(self._added, self._capacity)

    @property
    def nbytes(self) -> int:
        return sum(field.nbytes for field in self._fields)

    def add(self, obs: np.ndarray, action: np.ndarray, reward: float, next_obs: np.ndarray, terminated: bool) -> None:
        row = self._added % self._capacity
        self._fields.obs[row] = torch.as_tensor(obs)
        self._fields.action[row] = torch.as_tensor(action)
        self._fields.reward[row] = reward
        self._fields.next_obs[row] = torch.as_tensor(next_obs)
        self._fields.terminated[row] = float(terminated)
        self._added += 1

    def sample(self, size: int) -> Batch:
        """`size` transitions drawn uniformly with replacement, from torch's global generator."""
        rows = torch.randint(len(self), (size,))
        return Batch(*(field.index_select(0, rows) for field in self._fields))

    def all(self) -> Batch:
        return Batch(*(field[: len(self)] for field in self._fields))

    def encoded(self, obs: Callable[[Tensor], Tensor], action: Callable[[Tensor], Tensor]) -> "Transitions":
        """A copy in a learner's units: observations through `obs`, actions through `action`."""
        raw = self.all()
        copy = Transitions(len(self), raw.obs.shape[1], raw.action.shape[1])
        columns = raw._replace(obs=obs(raw.obs), action=action(raw.action), next_obs=obs(raw.next_obs))
        return copy._fill(columns)

    def _fill(self, columns: Batch) -> "Transitions":
        for field, column in zip(self._fields, columns, strict=True):
            field.copy_(column)
        self._added = self._capacity
        return self

    @classmethod
    def from_episodes(cls, episodes: Sequence[Episode]) -> "Transitions":
        steps = sum(len(episode.rewards) for episode in episodes)
        actions = [episode.actions.reshape(len(episode.actions), -1) for episode in episodes]  # discrete: one column
        store = cls(steps, episodes[0].observations.shape[1], actions[0].shape[1])
        columns = Batch(
            obs=_stack([episode.observations[:-1] for episode in episodes]),
            action=_stack(actions),
            reward=_stack([episode.rewards for episode in episodes]),
            next_obs=_stack([episode.observations[1:] for episode in episodes]),
            terminated=_stack([_terminations(episode) for episode in episodes]),
        )
        return store._fill(columns)


def _terminations(episode: Episode) -> np.ndarray:
    """Only the last step can end the task, and running out of time is not such an end."""
    flags = np.zeros(len(episode.rewards))
    flags[-1] = episode.terminated
    return flags


def _stack(arrays: Sequence[np.ndarray]) -> Tensor:
    return torch.from_numpy(np.concatenate(arrays).astype(np.float32))
