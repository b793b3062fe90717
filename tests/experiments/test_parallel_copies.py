"""How many worlds EnvPool shows: the script that counts them, and who asks for which
versions."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rlnotes.errors import UserError
from rlnotes.experiments import foreign
from rlnotes.experiments.parallel_copies import COPIES, SCRIPT


def test_the_script_counts_eight_with_the_versions_of_this_book() -> None:
    words = [sys.executable, str(foreign.SCRIPTS / SCRIPT), "8", "3", "5"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    found = {"different_observations": 8, "different_numbers": 8}
    assert json.loads(done.stdout) == found


def test_each_variant_has_versions_and_an_environment_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: dict[str, Any] = {}

    def run(name: str, packages: Any, *_: Any) -> list[dict[str, int]]:
        asked[name] = packages
        return [{"different_observations": 1}]

    monkeypatch.setattr(foreign, "run", run)
    for variant in COPIES.variants:
        trial = COPIES.trial(COPIES.settings_for(variant, "full"), 0)
        assert list(trial.stream) == [(10, {"different_observations": 1.0})]
    assert len(set(asked.values())) == len(asked) == 3
    assert ("envpool==0.8.4", "numpy==2.4.6", "gymnasium==1.2.2") in asked.values()


def test_a_script_that_fails_is_told_with_its_last_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = tmp_path / "fails.py"
    script.write_text("raise ValueError('no worlds today')")
    monkeypatch.setattr(foreign, "SCRIPTS", tmp_path)
    here = Path(sys.executable)
    monkeypatch.setattr(foreign, "library_python", lambda *_: here)
    with pytest.raises(UserError, match="(?s)with a==1 failed.*no worlds today"):
        foreign.run("any", ("a==1",), "fails.py")
