"""The cliff is solved rightly, and its pictures show what was played."""

import matplotlib as mpl
import numpy as np
import pytest

from rlnotes.algos.experts import agreement_expert
from rlnotes.data.rollouts import rollout
from rlnotes.report import cliff
from rlnotes.report.cliff import GAMMA, NAMES, PLACES, START

mpl.use("agg")


def test_the_best_way_has_thirteen_steps() -> None:
    best = -(1 - GAMMA**13) / (1 - GAMMA)
    q = cliff.solved().q
    assert q[START].max() == pytest.approx(best)
    assert cliff.value_at_start(np.eye(4)[q.argmax(-1)]) == pytest.approx(best)
    (played,) = rollout(cliff.make, cliff.expert().act, [0])
    assert played.terminated
    assert played.discounted_return(GAMMA) == pytest.approx(best)


def test_a_step_into_the_cliff_costs_a_hundred_and_the_way_back() -> None:
    q = cliff.solved().q
    assert q[START, NAMES.index("right")] == pytest.approx(-100 + GAMMA * q[START, 0])


def test_chance_is_worth_what_it_earns() -> None:
    """Bellman's equation, at the start: the mean over four moves."""
    alike = np.full((PLACES, 4), 0.25)
    earned = cliff.value_at_start(alike)
    up = alike.copy()
    up[START] = np.eye(4)[0]
    assert earned < cliff.value_at_start(up) < cliff.solved().q[START].max()


@pytest.mark.parametrize("agrees", [True, False])
def test_both_teachers_teach(agrees: bool) -> None:
    expert = cliff.expert()
    teacher = agreement_expert(expert.act) if agrees else expert
    values = cliff.taught(teacher, roll_ins=3).values
    assert len(values) == 4
    assert values[-1] > 0.5 * values[0], "both are negative"


def test_the_gradient_leads_away_from_the_cliff() -> None:
    slope = cliff.gradient(np.full((PLACES, 4), 0.25))
    assert slope.sum(-1) == pytest.approx(0)
    above = slope[2 * cliff.COLUMNS + 1 : START - 1]
    assert (above.argmin(-1) == NAMES.index("down")).all()
    assert (above.argmax(-1) == NAMES.index("right")).all()


def test_the_expert_goes_on_as_q_says() -> None:
    """What is written above the two pictures was earned, and is Q*."""
    figure = cliff.aggrevate()
    said = [ax.get_title().replace("−", "-") for ax in figure.axes]
    earned = {one.split()[1][:-1]: float(one.split()[-1]) for one in said}
    assert list(earned) == ["down", "up"]
    q = cliff.solved().q
    worth = np.round(q[:, [NAMES.index("down"), NAMES.index("up")]], 1)
    assert (worth == list(earned.values())).all(-1).any()
    assert earned["down"] < -100 < earned["up"]
