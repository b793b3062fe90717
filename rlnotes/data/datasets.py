"""Minari datasets on disk, under the project's own `datasets/` folder.

Written whole or not at all; read with plain `minari.load_dataset` or, as episodes, with `load`.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gymnasium as gym
import minari
import numpy as np
from minari.data_collector import EpisodeBuffer
from tqdm import tqdm

from rlnotes.data.rollouts import NO_SEED, Episode
from rlnotes.errors import UserError

LARGE = 5_000  # episodes: reading them takes long enough for a progress bar


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

    The returns of a random and of the expert policy are stored beside the data as Minari's reference
    scores, so that `minari.get_normalized_score` works. `eval_env` is where learners are judged, if that is
    not where the data was collected.
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
    with _written_aside(dataset_id):
        minari.create_dataset_from_buffers(
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


def refuse_existing(dataset_id: str) -> None:
    if path(dataset_id).exists():
        raise UserError(f"{path(dataset_id)}: this dataset exists already. Remove the folder to make it again.")


def load(dataset_id: str, read: Callable[[Any], np.ndarray] = np.asarray, remake: str | None = None) -> list[Episode]:
    """All episodes of a local dataset, checked for damage.

    `read` makes rows of numbers of an episode's observations where they are stored otherwise; `remake` is the
    command that brings the dataset, if not ours.
    """
    remake = remake or f"python -m rlnotes data {dataset_id}"
    folder = path(dataset_id)
    if not folder.exists():
        raise UserError(f"{folder}: no such dataset. Make it with: {remake}")
    try:
        dataset = minari.load_dataset(dataset_id)
        metadata_of_all = dataset.storage.get_episode_metadata(dataset.episode_indices)
        count = dataset.total_episodes
        stored = zip(dataset.iterate_episodes(), metadata_of_all, strict=True)
        episodes = [
            Episode(
                seed=int(metadata["seed"]) if "seed" in metadata else NO_SEED,
                observations=read(data.observations),
                actions=data.actions,
                rewards=data.rewards,
                terminated=bool(data.terminations[-1]),
                truncated=bool(data.truncations[-1]),
            )
            for data, metadata in tqdm(stored, f"reading {dataset_id}", count, unit="episode", disable=count < LARGE)
        ]
        steps = sum(len(episode.rewards) for episode in episodes)
        if steps != dataset.total_steps:
            raise ValueError(f"{steps} steps where {dataset.total_steps} are declared")
        if not all(np.isfinite(episode.observations).all() for episode in episodes):
            raise ValueError("an observation is not finite")
    except (OSError, ValueError, KeyError, AttributeError, IndexError) as problem:
        raise UserError(
            f"{folder}: damaged dataset ({problem}). Remove the folder and make it with: {remake}"
        ) from problem
    return episodes


def _last_only(length: int, value: bool) -> list[bool]:
    return [False] * (length - 1) + [value]


@contextmanager
def _written_aside(dataset_id: str) -> Iterator[None]:
    """Let Minari write into a folder aside, then move the whole dataset into place at once."""
    final, root = path(dataset_id), os.environ["MINARI_DATASETS_PATH"]
    Path(root).mkdir(parents=True, exist_ok=True)
    aside = tempfile.mkdtemp(prefix=".partial-", dir=root)
    os.environ["MINARI_DATASETS_PATH"] = aside
    try:
        yield
        final.parent.mkdir(parents=True, exist_ok=True)
        os.rename(Path(aside) / dataset_id, final)
    finally:
        os.environ["MINARI_DATASETS_PATH"] = root
        shutil.rmtree(aside, ignore_errors=True)
