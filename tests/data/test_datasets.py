"""Minari datasets: written whole, read by plain Minari, damage named."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import h5py
import minari
import numpy as np
import pytest

from rlnotes.data import catalogue, datasets
from rlnotes.data.rollouts import Episode, rollout
from rlnotes.errors import UserError

NAME = "rlnotes/test/tiny-v0"
CARTPOLE = "rlnotes/test/cartpole-v0"


@pytest.fixture
def episodes() -> list[Episode]:
    def make_env() -> gym.Env:
        return gym.make("Pendulum-v1", max_episode_steps=12)

    def rest(obs: np.ndarray) -> np.ndarray:
        return np.zeros((len(obs), 1), np.float32)

    return rollout(make_env, rest, seeds=[7, 8, 9])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    return tmp_path


@pytest.fixture
def made(folder: Path, episodes: list[Episode]) -> Path:
    create(episodes)
    return folder / NAME


def create(episodes: list[Episode]) -> None:
    datasets.create(NAME, "Pendulum-v1", episodes, "zero", "a test", -1200.0, -150.0)


def assert_same(one: Episode, other: Episode) -> None:
    for name in ("observations", "actions", "rewards"):
        array, expected = getattr(one, name), getattr(other, name)
        assert array.dtype == expected.dtype
        assert np.array_equal(array, expected)
    assert one.seed == other.seed
    assert (one.terminated, one.truncated) == (other.terminated, other.truncated)


def test_what_is_loaded_is_what_was_written(
    made: Path, episodes: list[Episode]
) -> None:
    for one, other in zip(datasets.load(NAME), episodes, strict=True):
        assert_same(one, other)


def test_discrete_actions_are_loaded_as_they_were_written(folder: Path) -> None:
    def right(obs: np.ndarray) -> np.ndarray:
        return np.ones(len(obs), np.int64)

    played = rollout(lambda: gym.make("CartPole-v1"), right, seeds=[1, 2])
    datasets.create(CARTPOLE, "CartPole-v1", played, "right", "a test", 20.0, 500.0)
    for one, other in zip(datasets.load(CARTPOLE), played, strict=True):
        assert_same(one, other)


def test_it_is_read_as_minari_reads_it(made: Path) -> None:
    theirs = minari.load_dataset(NAME)
    for one, other in zip(datasets.load(NAME), theirs.iterate_episodes(), strict=True):
        for name in ("observations", "actions", "rewards"):
            array, expected = getattr(one, name), getattr(other, name)
            assert array.dtype == expected.dtype
            assert np.array_equal(array, expected)
        assert one.terminated == other.terminations[-1]
        assert one.truncated == other.truncations[-1]


@pytest.mark.parametrize(("limit", "count"), [(1, 1), (2, 2), (3, 3), (99, 3)])
def test_a_limit_gives_the_first_episodes(
    made: Path, episodes: list[Episode], limit: int, count: int
) -> None:
    loaded = datasets.load(NAME, limit=limit)
    for one, other in zip(loaded, episodes[:count], strict=True):
        assert_same(one, other)


def test_plain_minari_reads_it_with_its_reference_scores(made: Path) -> None:
    assert list(minari.list_local_datasets()) == [NAME]
    dataset = minari.load_dataset(NAME)
    assert (dataset.total_episodes, dataset.total_steps) == (3, 36)
    scores = minari.get_normalized_score(dataset, np.array([-150.0, -1200.0]))
    assert scores.tolist() == [1.0, 0.0]
    assert dataset.recover_environment().spec.id == "Pendulum-v1"


def test_an_existing_dataset_is_kept(made: Path, episodes: list[Episode]) -> None:
    before = (made / "data" / "main_data.hdf5").read_bytes()
    with pytest.raises(UserError, match="exists already"):
        create(episodes)
    assert (made / "data" / "main_data.hdf5").read_bytes() == before


def test_a_failed_write_leaves_nothing_behind(
    folder: Path, monkeypatch: pytest.MonkeyPatch, episodes: list[Episode]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(minari, "create_dataset_from_buffers", fail)
    with pytest.raises(UserError, match=f"{NAME}.*could not be written .disk full"):
        create(episodes)
    assert list(folder.iterdir()) == []


FULL_DISK = """
import resource
import numpy as np
from rlnotes.data import datasets
from rlnotes.data.rollouts import Episode
from rlnotes.errors import UserError

rows = np.zeros((200, 3), np.float32)
long = Episode(0, np.zeros((201, 3), np.float32), rows[:, :1], rows[:, 0], False, True)
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
try:
    datasets.create("rlnotes/test/full-v0", "Pendulum-v1", [long] * 50, "", "", 0, 1)
except UserError as problem:
    print(problem)
"""


def test_a_disk_that_is_too_full_is_noticed_before_hdf5_crashes(folder: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-c", FULL_DISK], check=False, capture_output=True, text=True
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert "could not be written" in result.stdout
    assert "python -m rlnotes data rlnotes/test/full-v0" in result.stdout
    assert list(folder.iterdir()) == []


def with_nan_rewards(episode: Episode) -> Episode:
    return replace(episode, rewards=np.full_like(episode.rewards, np.nan))


def with_wild_actions(episode: Episode) -> Episode:
    return replace(episode, actions=episode.actions + 2.1)


@pytest.mark.parametrize("spoil", [with_nan_rewards, with_wild_actions])
def test_what_could_not_be_loaded_is_not_written(
    folder: Path, episodes: list[Episode], spoil: Callable[[Episode], Episode]
) -> None:
    with pytest.raises(ValueError, match="finite|outside"):
        create([*episodes, spoil(episodes[0])])
    assert list(folder.iterdir()) == []


def test_missing_dataset_names_the_command(folder: Path) -> None:
    command = f"python -m rlnotes data {NAME}"
    with pytest.raises(UserError, match=f"no such dataset.*{command}"):
        datasets.load(NAME)
    with pytest.raises(UserError, match="no such dataset.*python -m rlnotes drive"):
        datasets.load(catalogue.RACECAR_HUMAN)


def data_of(folder: Path) -> Path:
    return folder / "data" / "main_data.hdf5"


def cut_hdf5(folder: Path) -> None:
    data_of(folder).write_bytes(data_of(folder).read_bytes()[:2_000])


def cut_metadata(folder: Path) -> None:
    file = folder / "data" / "metadata.json"
    file.write_text(file.read_text()[:40])


def lose_data(folder: Path) -> None:
    data_of(folder).unlink()


def change_metadata(folder: Path) -> None:
    file = folder / "data" / "metadata.json"
    file.write_text(file.read_text().replace("-150.0", "-151.0"))


def cut_checksum(folder: Path) -> None:
    file = folder / datasets.CHECKSUM
    file.write_text(file.read_text()[:40])


def zero_some_bytes(folder: Path) -> None:
    """Sixty-four bytes of the first observations, which stay finite and plausible."""
    content = bytearray(data_of(folder).read_bytes())
    with h5py.File(data_of(folder)) as file:
        chunk = file["episode_0/observations"].id.get_chunk_info(0)
    content[chunk.byte_offset : chunk.byte_offset + 64] = bytes(64)
    data_of(folder).write_bytes(content)


def assert_damaged(what: str, limit: int | None = None) -> None:
    with pytest.raises(UserError) as caught:
        datasets.load(NAME, limit=limit)
    message = str(caught.value)
    assert message.startswith(f"{datasets.path(NAME)}: damaged dataset (")
    assert what in message
    assert message.endswith(f"make it with: python -m rlnotes data {NAME}")
    assert "\n" not in message


@pytest.mark.parametrize("limit", [None, 1])
@pytest.mark.parametrize(
    ("damage", "what"),
    [
        (cut_hdf5, "main_data.hdf5 is not as it was written"),
        (cut_metadata, "metadata.json is not as it was written"),
        (change_metadata, "metadata.json is not as it was written"),
        (lose_data, "main_data.hdf5 is not as it was written"),
        (zero_some_bytes, "main_data.hdf5 is not as it was written"),
        (cut_checksum, ""),
    ],
)
def test_damage_is_named_with_the_way_out(
    made: Path, damage: Callable[[Path], None], what: str, limit: int | None
) -> None:
    damage(made)
    assert_damaged(what, limit)


@contextmanager
def opened(folder: Path) -> Iterator[h5py.File]:
    """The data of a dataset that has no checksum, to be changed."""
    (folder / datasets.CHECKSUM).unlink()
    with h5py.File(data_of(folder), "a") as file:
        yield file


def test_a_dataset_without_a_checksum_is_accepted(
    made: Path, episodes: list[Episode]
) -> None:
    with opened(made):
        pass
    for one, other in zip(datasets.load(NAME), episodes, strict=True):
        assert_same(one, other)


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        ("observations", np.nan, "the observations are not all finite"),
        ("actions", np.inf, "the actions are not all finite"),
        ("rewards", np.nan, "the rewards are not all finite"),
        ("rewards", -np.inf, "the rewards are not all finite"),
        ("actions", 2.01, "an action lies outside Box(-2.0, 2.0"),
        ("actions", -2.01, "an action lies outside Box(-2.0, 2.0"),
    ],
)
def test_without_a_checksum_the_content_is_judged(
    made: Path, name: str, value: float, what: str
) -> None:
    with opened(made) as file:
        file[f"episode_1/{name}"][3] = value
    assert_damaged(what)


def test_rounding_at_the_bound_is_no_damage(made: Path) -> None:
    with opened(made) as file:
        file["episode_1/actions"][3] = np.nextafter(np.float32(2), np.float32(3))
    assert len(datasets.load(NAME)) == 3


@pytest.mark.parametrize("name", ["observations", "actions", "rewards"])
def test_without_a_checksum_lost_rows_are_noticed(made: Path, name: str) -> None:
    with opened(made) as file:
        rows = file[f"episode_2/{name}"]
        rows.resize(len(rows) - 1, axis=0)
    assert_damaged("lost some of its rows")


def test_without_a_checksum_a_shorter_episode_is_noticed(made: Path) -> None:
    with opened(made) as file:
        for rows in file["episode_2"].values():
            rows.resize(len(rows) - 1, axis=0)
    assert_damaged("35 steps where 36 are declared")


@pytest.mark.parametrize("damage", [cut_hdf5, cut_metadata, lose_data])
def test_without_a_checksum_unreadable_files_are_damage(
    made: Path, damage: Callable[[Path], None]
) -> None:
    (made / datasets.CHECKSUM).unlink()
    damage(made)
    assert_damaged("")


def test_without_a_checksum_a_missing_episode_is_noticed(made: Path) -> None:
    with opened(made) as file:
        del file["episode_1"]
    assert_damaged("")


def test_without_a_checksum_another_number_of_columns_is_noticed(made: Path) -> None:
    with opened(made) as file:
        del file["episode_0/observations"]
        file["episode_0/observations"] = np.zeros((13, 4), np.float32)
    assert_damaged("observations of shape (4,) and not (3,)")


def test_a_discrete_action_that_there_is_not_is_noticed(folder: Path) -> None:
    def right(obs: np.ndarray) -> np.ndarray:
        return np.ones(len(obs), np.int64)

    played = rollout(lambda: gym.make("CartPole-v1"), right, seeds=[1])
    datasets.create(CARTPOLE, "CartPole-v1", played, "right", "a test", 20.0, 500.0)
    with opened(folder / CARTPOLE) as file:
        file["episode_0/actions"][0] = 2
    with pytest.raises(UserError, match=r"an action lies outside Discrete\(2\)"):
        datasets.load(CARTPOLE)


def test_the_checksum_covers_every_file(made: Path) -> None:
    kept = json.loads((made / datasets.CHECKSUM).read_text())["sha256"]
    assert set(kept) == {"main_data.hdf5", "metadata.json"}
    assert all(len(digest) == 64 for digest in kept.values())


def test_the_catalogue_has_every_name_once() -> None:
    names = [value for name, value in vars(catalogue).items() if name.isupper()]
    assert len(set(names)) == len(names) == 16


def test_jax_is_never_imported() -> None:
    code = "import sys, rlnotes.data.datasets; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
