"""Transitions between stacks of pictures, with every picture stored once.

A stack shows the last few pictures of an episode, so most of it was in the stack
before. Stored as they come, 100,000 transitions of four 84×84 pictures and their four
successors take 5.6 GB, and four times as much as floats. (The notes reckon with 11 GB,
which are the floats without successors, and keep a tenth of them.) Here they take less
than 0.8.
"""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from rlnotes.data.transitions import ADDED, Batch, zeros

SPARE = 0.1  # of the capacity: room for the pictures with which episodes begin
FIRST, PICTURES = "first", "pictures"  # in a saved state: numbers of the first, of all


def stacks_nbytes(count: int, obs_shape: tuple[int, ...], itemsize: int = 1) -> int:
    """What so many stacks take, each stored whole; a float has an `itemsize` of 4."""
    return count * int(np.prod(obs_shape)) * itemsize


class FrameTransitions:
    """A ring of at most `capacity` transitions, in the place of `Transitions` where
    observations are stacks of `obs_shape` (pictures, height, width), of bytes.

    A transition knows the numbers of its pictures, and a batch is put together when it
    is read. Whether a picture is stored already is seen by comparing it with those
    that were added before by the same environment, and not concluded from the ends of
    episodes: so no stack reaches into another episode, however an environment fills
    the first ones. Pictures have a ring of their own, a tenth larger. Where episodes
    are so short that it is not enough, a few transitions less are kept.
    """

    def __init__(
        self, capacity: int, obs_shape: tuple[int, ...], action_dim: int = 1
    ) -> None:
        self._stack_num, *size = obs_shape
        self._capacity = capacity
        room = round((1 + SPARE) * capacity) + 2 * self._stack_num
        self._frames = zeros((room, *size), torch.uint8)
        self._obs = zeros((capacity, self._stack_num), torch.int64)
        self._next_obs = zeros((capacity, self._stack_num), torch.int64)
        self._action = zeros((capacity, action_dim))
        self._reward = zeros((capacity,))
        self._terminated = zeros((capacity,))
        self._pictures = 0  # that were ever stored
        self._added = 0  # transitions
        self._first = 0  # the number of the oldest one whose pictures are all there
        # Where the last step of each environment led, and the numbers of its pictures.
        self._last: list[tuple[np.ndarray, np.ndarray]] = []

    def __len__(self) -> int:
        return self._added - self._first

    @property
    def ends(self) -> int:
        """How many of them ended an episode."""
        return int(self._terminated.sum())

    @property
    def nbytes(self) -> int:
        return sum(column.nbytes for column in self._columns().values())

    def extend(
        self,
        obs: np.ndarray,
        action: np.ndarray,
        reward: np.ndarray,
        next_obs: np.ndarray,
        terminated: np.ndarray,
    ) -> None:
        """Add one transition of each environment of a vector, in their order."""
        if len(self._last) != len(obs):
            self._last = []  # others than before, or the first ones
        rows = (self._added + np.arange(len(obs))) % self._capacity
        ends = []
        for env, row in enumerate(rows):
            numbers = self._numbers_of(obs[env], env)
            there = self._successors(obs[env], numbers, next_obs[env])
            self._obs.numpy()[row] = numbers
            self._next_obs.numpy()[row] = there
            ends.append((next_obs[env].copy(), there))
        self._action.numpy()[rows] = action
        self._reward.numpy()[rows] = reward
        self._terminated.numpy()[rows] = terminated
        self._last = ends
        self._added += len(obs)
        self._forget()

    def _numbers_of(self, stack: np.ndarray, env: int) -> np.ndarray:
        """Those of where this environment's last step led, if it goes on from there."""
        if self._last:
            shown, numbers = self._last[env]
            if self._kept(numbers) and np.array_equal(shown, stack):
                return numbers
        return self._store(stack)

    def _successors(
        self, stack: np.ndarray, numbers: np.ndarray, there: np.ndarray
    ) -> np.ndarray:
        """The same pictures but the oldest, and a new one; if it is so."""
        if not np.array_equal(there[:-1], stack[1:]):
            return self._store(there)
        return np.append(numbers[1:], self._store(there[-1:]))

    def _store(self, stack: np.ndarray) -> np.ndarray:
        """Their numbers from now on; pictures that repeat the one before are not stored
        again."""
        numbers = []
        for place, picture in enumerate(stack):
            if not (place and np.array_equal(picture, stack[place - 1])):
                self._frames.numpy()[self._pictures % len(self._frames)] = picture
                self._pictures += 1
            numbers.append(self._pictures - 1)
        return np.array(numbers)

    def _kept(self, numbers: np.ndarray) -> bool:
        return bool(numbers[0] >= self._pictures - len(self._frames))

    def _forget(self) -> None:
        """Transitions that were overwritten, or whose oldest picture was. That is never
        older than the pictures of so many steps of all environments as a stack has:
        farther on than that nothing needs to be looked at."""
        self._first = max(self._first, self._added - self._capacity)
        span = (self._stack_num + 1) * len(self._last)
        while True:
            near = np.arange(self._first, min(self._first + span, self._added))
            oldest = self._obs.numpy()[near % self._capacity, 0]
            gone = near[oldest < self._pictures - len(self._frames)]
            if not len(gone):
                return
            self._first = int(gone[-1]) + 1

    def sample(self, size: int) -> Batch:
        """`size` transitions drawn uniformly with replacement, from torch's global
        generator."""
        return self._read(self._first + torch.randint(len(self), (size,)))

    def all(self) -> Batch:
        """Every transition, from the oldest to the newest, with all pictures: for small
        ones."""
        return self._read(torch.arange(self._first, self._added))

    def _read(self, transitions: Tensor) -> Batch:
        rows = transitions % self._capacity
        return Batch(
            obs=self._stacks(self._obs[rows]),
            action=self._action[rows],
            reward=self._reward[rows],
            next_obs=self._stacks(self._next_obs[rows]),
            terminated=self._terminated[rows],
        )

    def _stacks(self, numbers: Tensor) -> Tensor:
        frames = self._frames.index_select(0, numbers.flatten() % len(self._frames))
        return frames.view(*numbers.shape, *frames.shape[1:])

    def _columns(self) -> dict[str, Tensor]:
        return {
            "frames": self._frames,
            "obs": self._obs,
            "next_obs": self._next_obs,
            "action": self._action,
            "reward": self._reward,
            "terminated": self._terminated,
        }

    def state(self) -> dict[str, Tensor]:
        """A copy of all that is stored, and how much was ever added. The environments
        begin anew, so what they showed last is not part of it."""
        counts = {ADDED: self._added, FIRST: self._first, PICTURES: self._pictures}
        filled = {name: self._filled(name) for name in self._columns()}
        return {name: column.clone() for name, column in filled.items()} | {
            name: torch.tensor(count) for name, count in counts.items()
        }

    def _filled(self, name: str) -> Tensor:
        count = self._pictures if name == "frames" else self._added
        return self._columns()[name][:count]

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Restore what `state` gave, of a store of this kind and capacity."""
        before = self._added, self._first, self._pictures
        self._added, self._first, self._pictures = (
            int(state[name]) for name in (ADDED, FIRST, PICTURES)
        )
        for name in self._columns():
            saved, own = state[name], self._filled(name)
            if (saved.shape, saved.dtype) != (own.shape, own.dtype):
                self._added, self._first, self._pictures = before
                raise ValueError(
                    f"the saved {name} is {saved.dtype} of shape {tuple(saved.shape)},"
                    f" not {own.dtype} of shape {tuple(own.shape)}"
                )
        for name in self._columns():
            self._filled(name).copy_(state[name])
        self._last = []
