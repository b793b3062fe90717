"""The Huber loss at an end: how hard it pulls, and what Q says of the rows that end the
task, in the twin and in the healthy run."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from rlnotes.autopsies import rare_ends
from rlnotes.data.transitions import Batch
from rlnotes.runs.run import train_live

HEALTHY, FAULTY = ("parallel/dqn", "dqn"), ("parallel/dqn", "huber")


def test_the_twin_differs_by_exactly_one_setting(differing: Any) -> None:
    assert differing(HEALTHY, FAULTY) == {"agent.loss"}


def pull(loss: Any, error: float) -> float:
    """The gradient of a loss where Q is too high by `error`."""
    q = torch.tensor(error, requires_grad=True)
    loss(q, torch.tensor(0.0)).backward()
    assert q.grad is not None
    return float(q.grad)


def test_huber_pulls_no_harder_at_a_large_error_than_at_one() -> None:
    huber = rare_ends.FAULT["loss"]
    assert pull(huber, 90.0) == pull(huber, 1.0) == 1
    assert pull(F.mse_loss, 90.0) == 90 * pull(F.mse_loss, 1.0)


def test_with_small_rewards_it_is_half_the_squared_error() -> None:
    for error in (0.01, 0.3, 0.99):
        assert pull(rare_ends.FAULT["loss"], error) == pytest.approx(
            pull(F.mse_loss, error) / 2
        )


def test_the_error_at_the_ends_by_hand() -> None:
    """Q(s, ·) is (s, 10 s). Two rows end the task; of the others nothing is asked."""
    q = nn.Linear(1, 2, bias=False)
    with torch.no_grad():
        q.weight.copy_(torch.tensor([[1.0], [10.0]]))
    replay = Batch(
        obs=torch.tensor([[3.0], [4.0], [100.0]]),
        action=torch.tensor([[0.0], [1.0], [1.0]]),
        reward=torch.tensor([1.0, 1.0, 1.0]),
        next_obs=torch.zeros(3, 1),
        terminated=torch.tensor([1.0, 1.0, 0.0]),
    )
    assert rare_ends.end_error(q, replay) == (2 + 39) / 2
    assert rare_ends.fires(20.5, 50.0)
    assert not rare_ends.fires(20.5, 100.0)


@pytest.mark.slow(seconds=40)
@pytest.mark.parametrize(("variant", "fires"), [("dqn", False), ("huber", True)])
def test_it_fires_on_the_twin_and_not_on_the_healthy_run(
    variant: str, fires: bool
) -> None:
    found = train_live("parallel/dqn", variant, budget="ci", progress=False).record
    curves = [dict(found.curve(name)) for name in ("end_error", "q_data")]
    errors, values = curves
    assert [rare_ends.fires(errors[step], values[step]) for step in errors] == [
        fires
    ] * len(errors)
