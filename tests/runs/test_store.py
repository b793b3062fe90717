"""Records: read as they were written, joined in any order, whole at every moment."""

import errno
import itertools
import json
import multiprocessing
import os
import shutil
import struct
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
import torch

from rlnotes import paths
from rlnotes.algos.policy import Policy, policy_keys, policy_sha256
from rlnotes.errors import UserError
from rlnotes.experiments import registry
from rlnotes.paths import Run
from rlnotes.runs import store
from rlnotes.runs.evaluate import recorded_policy
from rlnotes.runs.store import Row

ROWS: tuple[Row, ...] = (
    (10, "return", -1.5),
    (20, "return", 0.1 + 0.2),
    (20, "final_return", -1.0),
)


def named(seed: int = 0, variant: str = "half-trained", budget: str = "smoke") -> Run:
    return Run("experts/pendulum", variant, seed, budget)


@cache
def policy(seed: int) -> Policy:
    torch.manual_seed(seed)
    return Policy((3,), [-2.0], [2.0], (4,), "gaussian")


def put_aside(run: Run, rows: tuple[Row, ...] = ROWS, note: str = "first") -> None:
    info = {
        "settings": {"length": 0.17},
        "wall_seconds": 90.0,
        "seed": run.seed,
        "note": note,
    }
    kept = {"last": policy(run.seed), "best": policy(run.seed + 100)}
    store.write_seed(run, rows, info, kept, {"map": torch.tensor([run.seed, 7])})


def record(run: Run, rows: tuple[Row, ...] = ROWS, note: str = "first") -> store.Record:
    put_aside(run, rows, note)
    return store.join(run, replace=True)


def files(run: Run) -> dict[Path, bytes]:
    """Everything that is kept of a variant, hidden files too."""
    folders = {run.json.parent, run.checkpoint.parent}
    return {
        path: path.read_bytes()
        for folder in folders
        if folder.exists()
        for path in sorted(folder.iterdir())
    }


def bits(rows: tuple[Row, ...]) -> list[tuple[int, str, bytes]]:
    return [(step, name, struct.pack("<d", value)) for step, name, value in rows]


def move_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RLNOTES_HOME", str(home))


# --- what is read is what was written


def test_what_is_read_is_what_was_written() -> None:
    record(named(3))
    found = store.read(named(3))
    assert found.rows == ROWS
    assert found.curve("return") == [(10, -1.5), (20, 0.1 + 0.2)]
    assert (found.last("final_return"), found.best("return")) == (-1.0, 0.1 + 0.2)
    assert (found.minutes, found.settings) == (1.5, {"length": 0.17})
    assert store.recorded_seeds("experts/pendulum", "half-trained", "smoke") == [3]
    assert [one.run for one in store.read_all(*_variant(named(3)))] == [named(3)]


def _variant(run: Run) -> tuple[str, str, str]:
    return run.id, run.variant, run.budget


def test_numbers_come_back_to_the_last_bit() -> None:
    rng = np.random.default_rng(0)
    values = [float("nan"), float("inf"), -float("inf"), -0.0, 5e-324, 1e308, 0.1]
    values += list(rng.standard_normal(200) * 10.0 ** rng.integers(-300, 300, 200))
    rows = tuple((step, "return", value) for step, value in enumerate(values))
    assert isinstance(rows[-1][2], np.float64)  # NumPy's floats are numbers, too
    assert bits(record(named(), rows).rows) == bits(rows)


def test_policies_and_arrays_come_back_to_the_last_bit() -> None:
    record(named(3))
    last, best = (recorded_policy(named(3), which) for which in ("last", "best"))
    assert policy_sha256(last) == policy_sha256(policy(3))
    assert policy_sha256(best) == policy_sha256(policy(103))
    assert store.arrays(named(3))["map"].tolist() == [3, 7]


def test_an_unknown_metric_lists_those_that_are_there() -> None:
    with pytest.raises(UserError, match="'speed'. Recorded: final_return, return"):
        record(named()).last("speed")


def test_a_time_that_was_not_kept_is_no_number() -> None:
    store.write_seed(named(), ROWS, {"settings": {}, "wall_seconds": None}, {}, {})
    assert np.isnan(store.join(named()).minutes)


def test_a_missing_record_names_the_command() -> None:
    command = "run experts/pendulum --variant half-trained --seed 3 --budget smoke"
    with pytest.raises(UserError, match=f"no record.*{command}"):
        store.read(named(3))
    record(named(0))
    with pytest.raises(UserError, match=f"no record.*{command}"):
        store.read(named(3))
    with pytest.raises(UserError, match="no such record.*--variant sac --seed 0"):
        store.read_all("experts/pendulum", "sac", "smoke")
    with pytest.raises(UserError, match="no such checkpoint.*run experts/pendulum"):
        recorded_policy(named(3, "sac"))


@pytest.mark.parametrize("seed", [-1, 2**32, 12345678901234567890123])
def test_a_seed_that_no_library_takes_is_refused(seed: int) -> None:
    with pytest.raises(UserError, match=f"from 0 to 4294967295, not {seed}"):
        named(seed)


def test_the_largest_seed_is_one() -> None:
    assert record(named(2**32 - 1)).run.seed == 2**32 - 1


# --- joining


def trains_nothing(run: Run) -> store.Record:
    store.write_seed(run, ROWS, {"settings": {}, "wall_seconds": 1.0}, {}, {})
    return store.join(run)


@pytest.mark.parametrize("recording", [record, trains_nothing])
def test_a_seed_that_was_sent_is_the_same_in_its_new_home(
    recording: Callable[[Run], store.Record],
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs, parcels = [named(seed) for seed in (0, 1)], []
    for run in runs:
        recording(run)
    there = sorted(path.read_bytes() for path in files(runs[0]))
    for run in runs:
        move_home(home / f"node-{run.seed}", monkeypatch)
        recording(run)
        parcels.append(store.pack(run))
    move_home(home / "new", monkeypatch)
    for parcel in parcels:
        store.unpack(parcel)
        assert store.join(parcel.record.run) == parcel.record
    assert sorted(path.read_bytes() for path in files(runs[0])) == there
    assert len(there) == (3 if recording is record else 2)


def test_an_existing_seed_is_kept_unless_told_otherwise() -> None:
    record(named())
    before = files(named())
    put_aside(named(), ROWS[:1], "second")
    with pytest.raises(UserError, match="recorded already; --replace"):
        store.join(named())
    assert files(named()) == before
    store.join(named(), replace=True)
    assert store.read(named()).rows == ROWS[:1]
    assert store.read(named()).info["note"] == "second"
    kept = [f"half-trained.{end}" for end in ("csv", "json", "safetensors")]
    assert sorted(path.name for path in files(named())) == kept


def test_a_replaced_seed_leaves_nothing_of_its_old_policies() -> None:
    record(named(0))
    record(named(1))
    info = {"settings": {}, "wall_seconds": 1.0}
    store.write_seed(named(0), ROWS, info, {"last": policy(7)}, {})
    store.join(named(0), replace=True)
    keys = ["seed-0/last", "seed-1/best", "seed-1/last"]
    assert policy_keys(named().checkpoint) == keys
    assert store.arrays(named(0)) == {}
    assert policy_sha256(recorded_policy(named(0))) == policy_sha256(policy(7))
    assert policy_sha256(recorded_policy(named(1))) == policy_sha256(policy(1))


def test_the_order_of_joining_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for number, order in enumerate(itertools.permutations([0, 1, 10])):
        move_home(tmp_path / str(number), monkeypatch)
        for seed in order:
            record(named(seed))
        found.append({path.name: content for path, content in files(named()).items()})
    assert len(found[0]) == 3
    assert all(one == found[0] for one in found)


def join_seeds(seeds: list[int], ready: Any) -> None:
    for seed in seeds:
        put_aside(named(seed))
    ready.wait()
    for seed in seeds:
        store.join(named(seed))


@pytest.mark.parametrize("attempt", range(3))
def test_processes_that_join_at_once_lose_nothing(attempt: int) -> None:
    """And whoever reads meanwhile sees one state or the next, never a mixture."""
    shares = [list(range(first, 24, 3)) for first in range(3)]
    fork = multiprocessing.get_context("fork")
    ready = fork.Barrier(len(shares) + 1)
    workers = [fork.Process(target=join_seeds, args=(one, ready)) for one in shares]
    for worker in workers:
        worker.start()
    ready.wait()
    seen: list[int] = []
    while any(worker.is_alive() for worker in workers):
        now = store.recorded_seeds(*_variant(named()))
        assert set(seen) <= set(now)
        seen = now
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert store.recorded_seeds(*_variant(named())) == list(range(24))
    for seed in range(24):
        assert store.read(named(seed)).rows == ROWS
        assert policy_sha256(recorded_policy(named(seed))) == policy_sha256(
            policy(seed)
        )


def test_a_seed_that_is_joined_between_two_reads_is_no_damage(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    record(named(0))
    put_aside(named(1))
    waiting = [named(1)]

    def meanwhile(path: Path, sha256: str, find: Any = store._in_force) -> Any:
        if waiting:
            store.join(waiting.pop())
        return find(path, sha256)

    store._parsed.cache_clear()
    monkeypatch.setattr(store, "_in_force", meanwhile)
    assert store.recorded_seeds(*_variant(named())) == [0, 1]


def test_files_replaced_within_one_tick_of_the_clock_are_read_again() -> None:
    record(named(0))
    times = {f: f.stat().st_mtime_ns for f in (named().json, named().csv)}
    record(named(1))
    for file, time in times.items():
        os.utime(file, ns=(time, time))
    assert store.recorded_seeds(*_variant(named())) == [0, 1]


# --- of a variant that no chapter replays, the median seed's policy stays


@pytest.fixture
def three_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = registry.find("experts/pendulum")
    variants = {
        name: replace(variant, replayed=False)
        for name, variant in experiment.variants.items()
    }
    changed = replace(experiment, seeds=3, variants=variants)
    monkeypatch.setitem(registry.EXPERIMENTS, experiment.id, changed)


@pytest.mark.usefixtures("three_seeds")
def test_a_complete_variant_keeps_its_median_policy() -> None:
    runs = [named(seed, budget="full") for seed in range(3)]
    for run, score in zip(runs, (5.0, -5.0, 1.0), strict=True):
        put_aside(run, ((1, "final_return", score),))
        store.join(run)
    assert policy_keys(runs[0].checkpoint) == ["seed-2/best", "seed-2/last"]
    assert policy_sha256(recorded_policy(runs[2])) == policy_sha256(policy(2))
    with pytest.raises(UserError, match="'seed-0/last' is not kept. Kept: seed-2/best"):
        recorded_policy(runs[0])


@pytest.mark.usefixtures("three_seeds")
@pytest.mark.parametrize(
    ("variant", "budget", "seeds"),
    [("half-trained", "full", 2), ("half-trained", "smoke", 3), ("sac", "full", 3)],
    ids=["incomplete", "no evidence", "the main variant"],
)
def test_otherwise_every_policy_stays(variant: str, budget: str, seeds: int) -> None:
    runs = [named(seed, variant, budget) for seed in range(seeds)]
    for run in runs:
        record(run)
    for run in runs:
        assert policy_sha256(recorded_policy(run)) == policy_sha256(policy(run.seed))


@pytest.mark.usefixtures("three_seeds")
def test_where_nothing_is_trained_no_median_is_needed() -> None:
    """A variant without policies may lack what the ledger reports of another."""
    runs = [named(seed, budget="full") for seed in range(3)]
    for run in runs:
        store.write_seed(run, ((1, "other", 1.0),), {"wall_seconds": 1.0}, {}, {})
        store.join(run)
    assert store.recorded_seeds(runs[0].id, runs[0].variant) == [0, 1, 2]


# --- killed at any point


def dying_at(line: int, functions: set[str]) -> Callable[..., Any]:
    """A tracer that ends the process, as SIGKILL does, before the given line (counted
    as they are executed) of these functions of the store."""
    left = [line]

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        code = frame.f_code
        if code.co_filename != store.__file__ or code.co_name not in functions:
            return None
        if event in ("line", "return"):
            left[0] -= 1
            if left[0] < 0:
                os._exit(9)
        return trace

    return trace


def join_and_die(run: Run, line: int) -> bool:
    """In another process; whether it died before it was done."""
    child = os.fork()
    if child == 0:
        parts = {"join", "write_variant", "_replace_with", "_finish_interrupted"}
        sys.settrace(dying_at(line, parts))
        store.join(run, replace=True)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, 9)
    return code == 9


@pytest.mark.parametrize("case", ["a new seed", "replacing", "after another death"])
@pytest.mark.slow(seconds=8)
def test_killed_at_any_line_the_old_or_the_new_record_is_there(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, other = named(0 if case == "replacing" else 5), named(1)
    for seed in (0, 2):
        record(named(seed))
    if case == "after another death":
        put_aside(named(7))
        join_until_rename(3, named(7), monkeypatch)
        shutil.rmtree(named(7).in_flight)
    put_aside(run, ROWS[:2], "second")
    put_aside(other)
    monkeypatch.setattr(os, "fsync", lambda file: None)  # the power stays on
    start = tmp_path / "start"
    shutil.copytree(tmp_path, start)
    seen = set()
    for line in itertools.count():
        home = tmp_path / str(line)
        shutil.copytree(start, home)
        move_home(home, monkeypatch)
        if not join_and_die(run, line):
            break
        seen.add(what_is_there(run))
        if store.finished(run):  # as `run` does when it is started again
            store.join(run, replace=True)
        store.join(other)
        assert what_is_there(run) == "second"
        left = [path.name for path in files(run) if path.suffix != ".partial"]
        assert sorted(left) == [
            f"half-trained.{end}" for end in ("csv", "json", "safetensors")
        ]
        assert not any(path.is_dir() for path in run.in_flight.parent.iterdir())
    assert line > 40  # it did die in many places
    assert seen == {"first" if case == "replacing" else None, "second"}


def what_is_there(run: Run) -> str | None:
    """Of the whole variant; reading it fails if any part of it is lost."""
    seeds = store.recorded_seeds(*_variant(run))
    assert {0, 2} <= set(seeds)
    for seed in seeds:
        one = store.read(named(seed))
        fresh = seed == run.seed and one.info["note"] == "second"
        assert one.rows == (ROWS[:2] if fresh else ROWS)
        assert policy_sha256(recorded_policy(one.run)) == policy_sha256(policy(seed))
    return store.read(run).info["note"] if run.seed in seeds else None


def join_until_rename(call: int, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupted before the given one of its five renames; the third is the JSON's."""
    calls = itertools.count()

    def interrupted(old: Path, new: Path, rename: Any = os.replace) -> None:
        if next(calls) == call:
            raise KeyboardInterrupt
        rename(old, new)

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            store.join(run, replace=True)


@pytest.mark.parametrize("call", range(5))
def test_interrupted_between_two_renames_nothing_is_lost(
    call: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(named())
    put_aside(named(), ROWS[:2], "second")
    join_until_rename(call, named(), monkeypatch)
    assert not [path for path in files(named()) if path.suffix == ".partial"]
    assert store.read(named()).rows == (ROWS if call < 3 else ROWS[:2])
    store.join(named(), replace=True)
    assert store.read(named()).rows == ROWS[:2]


def test_what_was_joined_but_not_tidied_away_is_not_joined_again() -> None:
    """Else `run --replace` would record the old result as if it were new."""
    record(named())
    put_aside(named())  # as it was a moment before tidying up
    assert not store.finished(named())
    assert not named().in_flight.exists()
    put_aside(named(), note="second")  # really waiting
    assert store.finished(named())


# --- a full disk


def filling_up(after: int) -> Callable[[int], None]:
    """In the place of `os.fsync`."""
    calls = itertools.count()

    def sync(file: int) -> None:
        if next(calls) >= after:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    return sync


@pytest.mark.parametrize("call", range(3))
def test_a_full_disk_is_one_sentence_and_loses_nothing(
    call: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(named())
    before = store.read(named())
    put_aside(named(), ROWS[:1], "second")
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", filling_up(call))
        with pytest.raises(UserError, match="No space left on device.*make room") as no:
            store.join(named(), replace=True)
    assert str(named().json.parent) in str(no.value)
    assert store.read(named()) == before
    store.join(named(), replace=True)
    assert store.read(named()).rows == ROWS[:1]


@pytest.mark.parametrize("call", range(2))
def test_a_seed_that_finds_no_room_is_not_half_put_aside(
    call: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", filling_up(call))
    with pytest.raises(UserError, match="No space left on device"):
        put_aside(named())
    assert not store.finished(named())


# --- damage


def edited(change: Callable[[Any], Any]) -> Callable[[Run], Path]:
    """Damage the JSON by changing what it says."""

    def damage(run: Run) -> Path:
        run.json.write_text(json.dumps(change(json.loads(run.json.read_text()))))
        return run.json

    return damage


def cut(run: Run) -> Path:
    run.json.write_text(run.json.read_text()[:-30])
    return run.json


def no_text(run: Run) -> Path:
    run.json.write_bytes(b"\xff\xfe\x00")
    return run.json


def other_settings(kept: Any) -> Any:
    kept["seeds"]["0"]["settings"]["length"] = 0.18
    return kept


def other_seed(kept: Any) -> Any:
    kept["seeds"]["9"] = kept["seeds"].pop("0")
    return kept


def without(key: str) -> Callable[[Any], Any]:
    return lambda kept: {name: kept[name] for name in kept if name != key}


def another_variant(run: Run) -> Path:
    record(named(0, "sac"))
    shutil.copy(named(0, "sac").json, run.json)
    shutil.copy(named(0, "sac").csv, run.csv)
    return run.json


def one_digit(run: Run) -> Path:
    run.csv.write_text(run.csv.read_text().replace("-1.5", "-1.4", 1))
    return run.csv


def lost_csv(run: Run) -> Path:
    run.csv.unlink()
    return run.csv


def half_csv(run: Run) -> Path:
    run.csv.write_text(run.csv.read_text()[:40])
    return run.csv


KEYS = ("format", "id", "csv_sha256", "checkpoint_sha256", "seeds", "sha256")
DAMAGES = {
    "null": edited(lambda _: None),
    "a list": edited(lambda _: []),
    "a number": edited(lambda _: 3),
    "empty": edited(lambda _: {}),
    "cut": cut,
    "no text": no_text,
    "settings edited": edited(other_settings),
    "seed renamed": edited(other_seed),
    "older format": edited(lambda kept: kept | {"format": "rlnotes-record-1"}),
    **{f"without {key}": edited(without(key)) for key in KEYS},
    "another variant's": another_variant,
    "one digit": one_digit,
    "CSV lost": lost_csv,
    "half a CSV": half_csv,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damage_is_noticed_and_nothing_is_overwritten(
    damage: Callable[[Run], Path],
) -> None:
    for seed in (0, 1):
        record(named(seed))
    file = damage(named())
    put_aside(named(2))
    left = files(named())
    again = "sweep experts/pendulum --variant half-trained --budget smoke"
    for attempt in (
        lambda: store.read(named()),
        lambda: store.read_all(*_variant(named())),
        lambda: store.recorded_seeds(*_variant(named())),
        lambda: store.join(named(2)),
        lambda: store.join(named(2), replace=True),
    ):
        with pytest.raises(UserError, match=f"damaged record.*{again}") as problem:
            attempt()
        assert file.name in str(problem.value)
        assert "\n" not in str(problem.value)
        assert files(named()) == left
    assert (named(2).in_flight / "run.json").exists()


def test_a_stray_file_among_the_results_disturbs_nobody() -> None:
    record(named())
    for name in ("seed-0.bak", "half-trained.csv.bak", "notes.txt", "seed-x"):
        (named().json.parent / name).write_text("stray")
    (named().json.parent / "seed-1").mkdir()
    assert store.recorded_seeds(*_variant(named())) == [0]
    assert record(named(1)).rows == ROWS


def flip_bit(run: Run) -> None:
    content = bytearray(run.checkpoint.read_bytes())
    content[-3] ^= 1
    run.checkpoint.write_bytes(content)


def copy_over(run: Run) -> None:
    record(named(0, "sac"))
    shutil.copy(named(0, "sac").checkpoint, run.checkpoint)


def lose(run: Run) -> None:
    run.checkpoint.unlink()


@pytest.mark.parametrize("damage", [flip_bit, copy_over, lose])
def test_a_checkpoint_that_is_not_its_own_is_not_played(
    damage: Callable[[Run], None],
) -> None:
    for seed in (0, 1):
        record(named(seed))
    damage(named())
    put_aside(named(2))
    left = files(named())
    for attempt in (
        lambda: recorded_policy(named()),
        lambda: store.arrays(named()),
        lambda: store.refuse_damage(named()),
        lambda: store.join(named(2)),
    ):
        with pytest.raises(UserError, match="checkpoint.*sweep experts/pend") as found:
            attempt()
        assert str(named().checkpoint) in str(found.value)
        assert "\n" not in str(found.value)
        assert files(named()) == left
    assert store.read(named()).rows == ROWS  # the record itself is whole


def test_a_home_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "_runs").write_text("a file where a folder should be")
    with pytest.raises(UserError, match=f"{paths.in_flight('smoke')}.*cannot be writ"):
        put_aside(named())
