"""The picture of autoreset shows what Gymnasium does."""

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import pytest
import torch
from gymnasium.vector import AutoresetMode
from matplotlib.text import Annotation

from rlnotes.algos.policy import Policy
from rlnotes.errors import UserError
from rlnotes.report import autoreset
from rlnotes.report.autoreset import LIMIT, Call, calls, first_cut_off, timeline


def test_reset_in_the_next_step_shows_the_end_and_then_a_step_that_nobody_took() -> (
    None
):
    found = calls(AutoresetMode.NEXT_STEP, LIMIT + 2)
    assert [call.happened for call in found] == [True] * LIMIT + [False, True]
    assert found[LIMIT] == Call(LIMIT, 0, None, truncated=False)


def test_reset_in_the_same_step_shows_a_start_and_keeps_the_end_in_infos() -> None:
    found = calls(AutoresetMode.SAME_STEP, LIMIT + 1)
    assert found[LIMIT - 1] == Call(LIMIT - 1, 0, LIMIT, truncated=True)
    assert [call.happened for call in found] == [True] * (LIMIT - 1) + [False, True]


def test_the_picture_has_an_arrow_for_every_call_and_every_last_observation() -> None:
    next_step, same_step = timeline(6).axes
    arrows = [
        sum(isinstance(text, Annotation) for text in ax.texts)
        for ax in (next_step, same_step)
    ]
    assert arrows == [6, 6 + 2]


# --- the stored transition beside the true one


def linear_policy(*weights: float) -> Policy:
    """Pushes to the right where this sum over place, speed, lean and turning is
    positive; Q of pushing to the left is 0."""
    env = gym.make("CartPole-v1")
    policy = Policy.for_spaces(env.observation_space, env.action_space, ())
    last: Any = policy.net[-1]
    with torch.no_grad():
        last.bias.zero_()
        last.weight.copy_(torch.tensor([[0.0] * 4, weights]))
    return policy


def numbers(row: Sequence[str]) -> list[float]:
    """What was observed, from a row of the table."""
    return [float(cell.strip("⟨⟩").replace("−", "-")) for cell in row[1:5]]


def test_the_notes_store_a_start_where_time_ran_out() -> None:
    keeps_up = linear_policy(0.1, 0.3, 1.0, 0.3)
    led, stored = (numbers(row) for row in first_cut_off(keeps_up).rows)
    assert max(map(abs, stored)) <= 0.05, "where episodes start"
    assert led != stored


def test_a_policy_that_never_gets_there_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(autoreset, "LONGEST", 600)
    with pytest.raises(UserError, match="drops the pole"):
        first_cut_off(linear_policy(0.0, 0.0, -1.0, 0.0))
