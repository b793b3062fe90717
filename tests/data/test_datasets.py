"""Minari datasets: written whole, read by plain Minari, damage named."""

import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import minari
import numpy as np
import pytest

from rlnotes.data import datasets
from rlnotes.data.rollouts import Episode, rollout
from rlnotes.errors import UserError

NAME = "rlnotes/test/tiny-v0"


@pytest.fixture
def episodes() -> list[Episode]:
    def make_env() -> gym.Env:
        return gym.make("Pendulum-v1", max_episode_steps=12)

    return rollout(make_env, lambda obs: np.zeros((len(obs), 1), np.float32), seeds=[7, 8, 9])


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, episodes: list[Episode]) -> Path:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    create(episodes)
    return tmp_path / NAME


def create(episodes: list[Episode]) -> None:
    datasets.create(NAME, "Pendulum-v1", episodes, "zero", "a test", random_return=-1200.0, expert_return=-150.0)


def test_what_is_loaded_is_what_was_written(made: Path, episodes: list[Episode]) -> None:
    for one, other in zip(datasets.load(NAME), episodes, strict=True):
        assert np.array_equal(one.observations, other.observations)
        assert np.array_equal(one.actions, other.actions)
        assert np.array_equal(one.rewards, other.rewards)
        assert (one.seed, one.terminated, one.truncated) == (other.seed, False, True)


def test_plain_minari_reads_it_with_its_reference_scores(made: Path) -> None:
    dataset = minari.load_dataset(NAME)
    assert (dataset.total_episodes, dataset.total_steps) == (3, 36)
    assert minari.get_normalized_score(dataset, np.array([-150.0, -1200.0])).tolist() == [1.0, 0.0]
    assert dataset.recover_environment().spec.id == "Pendulum-v1"


def test_an_existing_dataset_is_kept(made: Path, episodes: list[Episode]) -> None:
    before = (made / "data" / "main_data.hdf5").read_bytes()
    with pytest.raises(UserError, match="exists already"):
        create(episodes)
    assert (made / "data" / "main_data.hdf5").read_bytes() == before


def test_a_failed_write_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, episodes: list[Episode]
) -> None:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))

    def fail(*_: object, **__: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(minari, "create_dataset_from_buffers", fail)
    with pytest.raises(OSError, match="disk full"):
        create(episodes)
    assert list(tmp_path.iterdir()) == []


def test_missing_dataset_names_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    with pytest.raises(UserError, match=f"no such dataset.*python -m rlnotes data {NAME}"):
        datasets.load(NAME)


def cut_hdf5(folder: Path) -> None:
    file = folder / "data" / "main_data.hdf5"
    file.write_bytes(file.read_bytes()[:2_000])


def cut_metadata(folder: Path) -> None:
    file = folder / "data" / "metadata.json"
    file.write_text(file.read_text()[:40])


def lose_data(folder: Path) -> None:
    (folder / "data" / "main_data.hdf5").unlink()


@pytest.mark.parametrize("damage", [cut_hdf5, cut_metadata, lose_data])
def test_damage_is_named_with_the_way_out(made: Path, damage: object) -> None:
    damage(made)  # type: ignore[operator]
    with pytest.raises(UserError, match=f"damaged dataset.*python -m rlnotes data {NAME}"):
        datasets.load(NAME)


def test_jax_is_never_imported() -> None:
    code = "import sys, rlnotes.data.datasets, rlnotes.experiments.recipes; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
