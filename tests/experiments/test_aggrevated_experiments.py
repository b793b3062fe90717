"""AggreVaTeD on CartPole and Acrobot: who is asked, what twins differ in, and whose
return is beaten."""

from typing import Any

import numpy as np
import pytest
import torch

from rlnotes.algos.experts import Expert, ValueExpert
from rlnotes.autopsies import executed_actions
from rlnotes.data.rollouts import Episode
from rlnotes.experiments import aggrevated, experts
from rlnotes.experiments.aggrevated import ACROBOT, CARTPOLE, Lesson
from rlnotes.experiments.recipes import recorded
from rlnotes.experiments.registry import find
from rlnotes.experiments.settings import as_json, differences

CART = experts.CARTPOLE_ENV, experts.CARTPOLE_EXPERT
ARM = experts.ACROBOT_ENV, experts.ACROBOT_EXPERT


@pytest.mark.parametrize(
    ("healthy", "other", "settings"),
    [
        ("aggrevated", "exact", ["agent.gradient"]),
        ("aggrevated", "adam", ["agent.optimiser"]),
        ("adam", "aggregated", ["agent.aggregate"]),
        ("aggrevated", "one-step", ["agent.gradient"]),
        ("aggrevated", "fitted-q", ["expert"]),
        ("aggrevated", "half-blind-expert", ["expert"]),
        ("aggrevated", "executed-actions", ["agent.actions"]),
        ("aggrevated", "min-max", ["agent.baseline", "agent.weight_scale"]),
        ("min-max", "notes", ["agent.actions"]),
        ("notes", "half-blind-notes", ["expert"]),
    ],
)
@pytest.mark.parametrize("id", [CARTPOLE.id, ACROBOT.id])
def test_variants_differ_by_what_they_say(
    id: str, healthy: str, other: str, settings: list[str]
) -> None:
    one, two = (find(id).settings_for(name, "full") for name in (healthy, other))
    assert differences(as_json(one), two) == settings


def test_the_budget_is_whole_roll_ins() -> None:
    for experiment in (CARTPOLE, ACROBOT):
        settings = experiment.settings_for("aggrevated", "full")
        assert settings.steps % (settings.num_envs * settings.agent.num_steps) == 0


def test_returns_are_compared_with_the_experts() -> None:
    rest = np.zeros((2, 1)), np.ones(2), True, False
    scores = Lesson("any", expert_return=5.0).scores([Episode(0, np.zeros(3), *rest)])
    assert scores == {"return": 2.0, "ahead_of_expert": -3.0}


def test_a_half_blind_expert_sees_a_fifth_of_every_speed_and_all_of_the_rest() -> None:
    rng = np.random.default_rng(0)
    for (env_id, run), seen in ((CART, 4), (ARM, 6)):
        obs = rng.normal(size=(200, seen)).astype(np.float32)
        dim = obs * np.where(np.isin(range(seen), aggrevated.SPEEDS[env_id]), 0.2, 1)
        acted = aggrevated.half_blind(env_id, run)(obs)
        assert np.array_equal(acted, recorded(run).act(dim.astype(np.float32)))
        assert not np.array_equal(acted, recorded(run).act(obs))


def test_every_other_action_of_the_watched_episodes_is_random() -> None:
    obs = np.random.default_rng(0).normal(size=(4_000, 6)).astype(np.float32)
    same = aggrevated.slipping(ARM[1])(obs) == recorded(ARM[1]).act(obs)
    assert same.mean() == pytest.approx(0.5 + 0.5 / 3, abs=0.03)


def test_nobody_knows_what_a_state_is_worth() -> None:
    teacher = aggrevated.nobody(*CART)
    assert isinstance(teacher, ValueExpert)
    assert not teacher.value(torch.randn(5, 4)).any()


def test_the_experts_own_actions_are_worth_nothing_more_than_it_expects() -> None:
    obs = torch.randn(50, 4)
    for ask in (aggrevated.dqn_expert, aggrevated.agreeing_expert):
        expert = ask(*CART)
        assert isinstance(expert, Expert)
        chosen = torch.as_tensor(expert.act(obs.numpy()))
        with torch.no_grad():
            assert not expert.advantage(obs, chosen).any()
            assert (expert.advantage(obs, 1 - chosen) < 0).all()


def test_fitting_leaves_the_learners_dice_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(aggrevated, "FITTED_EPISODES", 2)
    monkeypatch.setattr(aggrevated, "FITTED_UPDATES", 2)
    torch.manual_seed(0)
    aggrevated.fitted_expert(*CART)
    drawn = torch.rand(1)
    torch.manual_seed(0)
    assert torch.rand(1) == drawn


def small(variant: str, experiment: Any = CARTPOLE) -> dict[str, float]:
    trial = experiment.trial(experiment.settings_for(variant, "smoke"), seed=0)
    told: dict[str, float] = {}
    for _, metrics in trial.stream:
        told |= metrics
    return told


@pytest.mark.parametrize("variant", ["aggrevated", "dagger", "policy-gradient"])
@pytest.mark.parametrize("experiment", [CARTPOLE, ACROBOT], ids=lambda one: one.id)
def test_it_runs_at_the_smallest_budget(experiment: Any, variant: str) -> None:
    told = small(variant, experiment)
    expert = told["final_return"] - told["final_ahead_of_expert"]
    assert expert == pytest.approx(500 if experiment is CARTPOLE else -85, abs=30)


def test_the_diagnostic_tells_the_twin_from_the_healthy_run() -> None:
    """While the expert plays a part; after that both learn from the same actions."""
    for variant, fires in (("aggrevated", False), ("executed-actions", True)):
        settings = CARTPOLE.settings_for(variant, "smoke")
        (_, told), *_ = CARTPOLE.trial(settings, seed=0).stream
        assert executed_actions.fires(told["first_score_deviation"]) is fires


@pytest.mark.slow(seconds=20)
def test_the_learner_becomes_better_than_a_half_blind_expert() -> None:
    settings = CARTPOLE.settings_for("half-blind-expert", "ci")
    *_, (_, last) = CARTPOLE.trial(settings, seed=0).stream
    assert last["final_ahead_of_expert"] > 100
