"""The checks of a new world are counted, so that their bar can be missed."""

import pytest

from rlnotes.envs import checks
from rlnotes.experiments.worlds import CUSTOM_GYM


def counts(variant: str) -> list[float]:
    """What `checks_held` is after each step of a run."""
    trial = CUSTOM_GYM.trial(CUSTOM_GYM.settings_for(variant, "smoke"), seed=0)
    steps, metrics = zip(*trial.stream, strict=True)
    assert steps == tuple(range(1, trial.steps + 1))
    assert "final_return" in metrics[-1]
    return [one["checks_held"] for one in metrics]


def passes(env_id: str, seed: int) -> None:
    """Any world does."""


def refuses(env_id: str, seed: int) -> None:
    raise ValueError(f"{env_id} {seed}")


def test_a_check_that_fails_is_not_counted_and_does_not_end_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried = {"one": passes, "two": refuses, "three": passes}
    monkeypatch.setattr(checks, "CHECKS", tried)
    assert counts("checks") == [1, 1, 2, 2]


@pytest.mark.parametrize(
    ("variant", "held"), [("checks", [1, 2, 3, 4, 5, 5]), ("careless", [0] * 6)]
)
def test_the_puck_passes_all_and_its_careless_twin_none(
    variant: str, held: list[int]
) -> None:
    assert counts(variant) == held
