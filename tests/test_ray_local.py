"""Ray on this machine alone: it says why it cannot be had, and nothing is left."""

import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from rlnotes import ray_local
from rlnotes.errors import UserError


def test_without_ray_the_sentence_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match="Ray is not installed. Install it with: pip"):
        ray_local.session().__enter__()


@pytest.mark.slow(seconds=5)  # to import Ray
def test_a_ray_that_does_not_start_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def start(cores: int, folder: str) -> None:
        assert Path(folder).is_dir()
        raise RuntimeError("first line\nno port is free.")

    monkeypatch.setattr(ray_local, "start", start)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(UserError, match=r"^Ray did not start \(no port is free\): .*"):
        ray_local.session().__enter__()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.xdist_group("ray")
@pytest.mark.slow(seconds=30)
def test_it_ends_with_its_block_even_if_that_fails() -> None:
    before = set(psutil.Process().children(recursive=True))

    def work() -> Any:
        import ray

        with ray_local.session(cores=2):
            assert ray.cluster_resources()["CPU"] == 2
            raise KeyError("a fault of the block's own")

    with pytest.raises(KeyError, match="a fault of the block's own"):
        work()
    assert set(psutil.Process().children(recursive=True)) <= before
