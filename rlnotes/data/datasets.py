"""Minari datasets on disk, under the project's own `datasets/` folder.

Written whole or not at all, with a checksum beside; read with plain
`minari.load_dataset` or, as episodes and checked for damage, with `load`.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gymnasium as gym
import h5py
import minari
import numpy as np
from gymnasium import spaces
from h5py import h5d, h5g, h5s
from minari.data_collector import EpisodeBuffer

from rlnotes.data.catalogue import remake
from rlnotes.data.rollouts import NO_SEED, Episode
from rlnotes.errors import UserError
from rlnotes.progress import bar

LARGE = 5_000  # episodes: reading them takes long enough for a progress bar
CHECKSUM = "rlnotes-checksum.json"
ROOM_PER_EPISODE = 20_000  # bytes beside the numbers: HDF5 has been seen to need 15,000
TOLERANCE = 1e-5  # by which a float may lie beyond its bound

# What Minari, h5py and the checks below raise when the files are not what they were.
DAMAGE = (
    OSError,
    ValueError,
    KeyError,
    IndexError,
    AttributeError,
    TypeError,
    RuntimeError,
    AssertionError,
)


def path(dataset_id: str) -> Path:
    return Path(os.environ["MINARI_DATASETS_PATH"]) / dataset_id


def create(
    dataset_id: str,
    env: str | gym.Env,
    episodes: Sequence[Episode],
    algorithm: str,
    description: str,
    random_return: float,
    expert_return: float,
    eval_env: gym.Env | None = None,
) -> None:
    """Write `episodes` as a Minari dataset.

    The returns of a random and of the expert policy are stored beside the data as
    Minari's reference scores, so that `minari.get_normalized_score` works. `eval_env`
    is where learners are judged, if that is not where the data was collected.
    """
    refuse_existing(dataset_id)
    buffers = [
        EpisodeBuffer(
            id=number,
            seed=None if episode.seed == NO_SEED else episode.seed,
            observations=episode.observations,
            actions=episode.actions,
            rewards=list(episode.rewards),
            terminations=_last_only(len(episode.rewards), episode.terminated),
            truncations=_last_only(len(episode.rewards), episode.truncated),
        )
        for number, episode in enumerate(episodes)
    ]
    with _written_aside(dataset_id) as aside:
        _make_sure_of_room(aside, episodes)
        written = minari.create_dataset_from_buffers(
            dataset_id,
            buffers,
            env=env,
            eval_env=eval_env or env,
            algorithm_name=algorithm,
            author="rlnotes",
            author_email="none",
            code_permalink="none",
            description=description,
            ref_min_score=random_return,
            ref_max_score=expert_return,
        )
        _check(episodes, written.action_space)


def refuse_existing(dataset_id: str) -> None:
    if path(dataset_id).exists():
        raise UserError(
            f"{path(dataset_id)}: this dataset exists already."
            " Remove the folder to make it again."
        )


def load(
    dataset_id: str,
    read: Callable[[Any], np.ndarray] = np.asarray,
    limit: int | None = None,
) -> list[Episode]:
    """The episodes of a local dataset, or the first `limit` of them, free of damage.

    `read` makes rows of numbers of an episode's observations where they are stored
    otherwise. A dataset without a checksum, which an older version of this code or
    somebody else has made, is judged by its content alone.
    """
    folder = path(dataset_id)
    if not folder.exists():
        raise UserError(
            f"{folder}: no such dataset. Make it with: {remake(dataset_id)}"
        )
    try:
        _verify(folder)
        dataset = minari.load_dataset(dataset_id)
        episodes = _episodes(dataset, read, limit)
        _check(episodes, dataset.action_space)
        steps = sum(len(episode.rewards) for episode in episodes)
        if limit is None and steps != dataset.total_steps:
            raise ValueError(f"{steps} steps where {dataset.total_steps} are declared")
    except DAMAGE as problem:
        reason = " ".join(str(problem).split())  # in one line
        raise UserError(
            f"{folder}: damaged dataset ({reason})."
            f" Remove the folder and make it with: {remake(dataset_id)}"
        ) from problem
    return episodes


def _episodes(
    dataset: minari.MinariDataset,
    read: Callable[[Any], np.ndarray],
    limit: int | None,
) -> list[Episode]:
    """What `dataset.iterate_episodes` gives, in a fraction of the time.

    Minari and h5py make several objects for each of the five arrays of an episode, and
    those cost more than reading them.
    """
    count = dataset.total_episodes if limit is None else limit
    count = min(count, dataset.total_episodes)
    about = f"reading {dataset.id}"
    numbers = bar(range(count), about, unit="episode", show=count >= LARGE)
    with h5py.File(dataset.storage.data_path / "main_data.hdf5", "r") as file:
        return [_episode(file, number, dataset, read) for number in numbers]


def _episode(
    file: h5py.File,
    number: int,
    dataset: minari.MinariDataset,
    read: Callable[[Any], np.ndarray],
) -> Episode:
    group = h5g.open(file.id, f"episode_{number}".encode())
    return Episode(
        seed=int(h5py.Group(group).attrs.get("seed", NO_SEED)),
        observations=read(_rows(group, "observations", dataset.observation_space)),
        actions=_rows(group, "actions", dataset.action_space),
        rewards=_array(group, "rewards"),
        terminated=bool(_array(group, "terminations")[-1]),
        truncated=bool(_array(group, "truncations")[-1]),
    )


def _rows(group: h5g.GroupID, name: str, space: gym.Space) -> Any:
    if isinstance(space, spaces.Dict):
        inner = h5g.open(group, name.encode())
        return {key: _rows(inner, key, part) for key, part in space.items()}
    rows = _array(group, name)
    if rows.shape[1:] != space.shape:
        raise ValueError(f"{name} of shape {rows.shape[1:]} and not {space.shape}")
    return rows


def _array(group: h5g.GroupID, name: str) -> np.ndarray:
    stored = h5d.open(group, name.encode())
    kind = stored.get_type()
    array = np.empty(stored.shape, kind.dtype)
    stored.read(h5s.ALL, h5s.ALL, array, kind)
    return array


def _check(episodes: Sequence[Episode], action_space: gym.Space) -> None:
    """Raise where the content cannot be what somebody collected."""
    for episode in episodes:
        steps = len(episode.rewards)
        if (len(episode.observations), len(episode.actions)) != (steps + 1, steps):
            raise ValueError("an episode has lost some of its rows")
    for name in ("observations", "actions", "rewards"):
        rows = np.concatenate([getattr(episode, name) for episode in episodes])
        if not np.isfinite(rows).all():
            raise ValueError(f"the {name} are not all finite")
        if name == "actions" and not _inside(rows, action_space):
            raise ValueError(f"an action lies outside {action_space}")


def _inside(actions: np.ndarray, space: gym.Space) -> bool:
    if not isinstance(space, spaces.Box):
        return all(space.contains(action) for action in actions)
    low, high = space.low - TOLERANCE, space.high + TOLERANCE
    return bool(((low <= actions) & (actions <= high)).all())


def _last_only(length: int, value: bool) -> list[bool]:
    return [False] * (length - 1) + [value]


@contextmanager
def _written_aside(dataset_id: str) -> Iterator[Path]:
    """Let Minari write into a folder aside, then move the whole dataset into place at
    once, with its checksum. Where that fails, nothing is left."""
    final, root = path(dataset_id), os.environ["MINARI_DATASETS_PATH"]
    aside = None
    try:
        Path(root).mkdir(parents=True, exist_ok=True)
        aside = tempfile.mkdtemp(prefix=".partial-", dir=root)
        os.environ["MINARI_DATASETS_PATH"] = aside
        yield Path(aside)
        written = Path(aside) / dataset_id
        (written / CHECKSUM).write_text(json.dumps({"sha256": _sha256(written)}))
        final.parent.mkdir(parents=True, exist_ok=True)
        os.rename(written, final)
    except OSError as problem:
        raise UserError(
            f"{final}: the dataset could not be written ({problem}) and nothing is left"
            f" of it. When that is mended, make it with: {remake(dataset_id)}"
        ) from problem
    finally:
        os.environ["MINARI_DATASETS_PATH"] = root
        if aside:
            shutil.rmtree(aside, ignore_errors=True)


def _make_sure_of_room(folder: Path, episodes: Sequence[Episode]) -> None:
    """Raise `OSError` where the disk is too full for these episodes.

    HDF5 does not: where the disk fills up while it writes, it brings Python down.
    """
    enough = ROOM_PER_EPISODE * len(episodes)
    for episode in episodes:
        arrays = (episode.observations, episode.actions, episode.rewards)
        enough += 2 * sum(array.nbytes for array in arrays)
    with tempfile.TemporaryFile(dir=folder) as file:
        if hasattr(os, "posix_fallocate"):  # not on macOS
            os.posix_fallocate(file.fileno(), 0, enough)


def _verify(folder: Path) -> None:
    """Raise where a file is not what was written."""
    if not (folder / CHECKSUM).exists():
        return
    written, found = json.loads((folder / CHECKSUM).read_text()), _sha256(folder)
    for name, digest in written["sha256"].items():
        if found.get(name) != digest:
            raise ValueError(f"{name} is not as it was written")


def _sha256(folder: Path) -> dict[str, str]:
    digests = {}
    for file in sorted((folder / "data").iterdir()):
        with file.open("rb") as opened:
            digests[file.name] = hashlib.file_digest(opened, "sha256").hexdigest()
    return digests
