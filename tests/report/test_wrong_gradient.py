"""The example of the wrong gradient, beside the learner's own losses."""

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from rlnotes.algos import aggrevated
from rlnotes.algos.aggrevated import Agent, Config, Rows
from rlnotes.algos.experts import Expert
from rlnotes.algos.policy import Policy
from rlnotes.autopsies.executed_actions import executed_actions
from rlnotes.report import wrong_gradient
from rlnotes.report.wrong_gradient import CHOSEN, POLICY, Q, gradients

SEEN = gym.spaces.Box(0, 1, (2,), np.float32)
TWENTY = 20  # rows for each state, in which the mixture's shares are whole


def learner(**settings: Any) -> Agent:
    policy = Policy.for_spaces(SEEN, gym.spaces.Discrete(3), ())
    return Agent(policy, Config(**settings))


def expert() -> Expert:
    q, chosen = torch.as_tensor(Q).float(), np.array(CHOSEN)
    return Expert(
        lambda obs: chosen[obs.argmax(-1)],
        lambda obs, action: q[obs.argmax(-1), action.long()],
    )


def rows_of(chances: np.ndarray) -> Rows:
    """Each state twenty times, with actions in these shares."""
    counts = np.round(TWENTY * chances).astype(int)
    actions = [np.repeat(np.arange(3), count) for count in counts]
    action = torch.as_tensor(np.concatenate(actions))
    obs = torch.eye(2).repeat_interleave(TWENTY, dim=0)
    nothing = torch.zeros(len(action))
    return Rows(obs, action, nothing, action, nothing)


def found(agent: Agent, loss_of: Callable[..., Any], rows: Rows) -> np.ndarray:
    """The gradient along the logits of each state, of what is maximised."""
    logits = torch.as_tensor(POLICY).float().log().requires_grad_()
    outputs = logits[rows.obs.argmax(-1)]
    loss, _ = loss_of(agent, expert(), outputs, rows)
    (gradient,) = torch.autograd.grad(loss, logits)
    return -len(Q) * gradient.numpy()


def test_the_right_one_is_that_of_the_exact_loss() -> None:
    agent = learner(gradient="exact")
    slope = found(agent, aggrevated.exact_loss, rows_of(POLICY))
    assert slope == pytest.approx(gradients().right, abs=1e-6)


@pytest.mark.parametrize("beta", [1.0, 0.5])
def test_the_wrong_ones_are_those_of_executed_actions(beta: float) -> None:
    mixture = beta * np.eye(3)[list(CHOSEN)] + (1 - beta) * POLICY
    rows, wrong = rows_of(mixture), gradients(beta)
    agent = learner(actions=executed_actions)
    assert found(agent, aggrevated.sampled_loss, rows) == pytest.approx(
        wrong.executed, abs=1e-6
    )
    scale = aggrevated.min_max
    agent = learner(actions=executed_actions, baseline="none", weight_scale=scale)
    assert found(agent, aggrevated.sampled_loss, rows) == pytest.approx(
        wrong.min_max, abs=1e-6
    )


def test_what_the_chapter_says_of_it() -> None:
    """The right gradient leaves the expert's action where another one is better. With
    executed actions and A*, nothing is learnt; with Q* scaled, the expert's action, in
    the good state alone."""
    right, executed, scaled = gradients()
    assert right.argmax(-1).tolist() == [CHOSEN[0], 2]
    assert not executed.any()
    assert scaled[0].argmax() == CHOSEN[0]
    assert not scaled[1].any()


def test_the_table_has_a_row_for_each_action() -> None:
    table = wrong_gradient.table()
    assert len(table.rows) == 6
    assert table.rows[1][1:5] == ("stay, the expert's", "0.30", "10.00", "0.00")
