"""AggreVaTeD on the walker: what each variant puts back, and that it is that alone."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from rlnotes.algos import aggrevated, ppo
from rlnotes.algos.aggrevated import Rows
from rlnotes.algos.policy import Policy
from rlnotes.autopsies import executed_actions
from rlnotes.experiments.aggrevated_table import (
    AGGREVATED_TABLE,
    ENTROPY,
    MENDED,
    MENDED_ROWS,
    ROWS,
)
from rlnotes.experiments.base import Experiment
from rlnotes.experiments.bipedal import EASY, HARD
from rlnotes.experiments.bipedal_aggrevated import (
    AGGREVATED_PPO,
    AGGREVATED_REINFORCE,
    executed_by_the_expert,
    round_trip_actions,
    sampled_expert,
    stale_actions,
    walker_expert,
)
from rlnotes.experiments.registry import find
from rlnotes.experiments.settings import as_json, differences
from rlnotes.runs import resume

FRESHLY, CLIPPED = AGGREVATED_REINFORCE.id, AGGREVATED_PPO.id
SMALL = {"num_envs": 4, "agent.num_steps": 20, "budget.steps": 160}


@pytest.mark.parametrize(
    ("id", "healthy", "other", "settings"),
    [
        (FRESHLY, "aggrevated", "executed-actions", ["agent.actions"]),
        (FRESHLY, "aggrevated", "min-max", ["agent.baseline", "agent.weight_scale"]),
        (FRESHLY, "min-max", "executed-min-max", ["agent.actions"]),
        (FRESHLY, "aggrevated", "pinned-std", ["agent.log_std_bounds"]),
        (FRESHLY, "stale-twenty", "stale-batch", ["agent.update_epochs"]),
        (FRESHLY, "stale-twenty", "stale-five", ["agent.update_epochs"]),
        (FRESHLY, "aggrevated", "stale-twenty", ["agent.actions"]),
        (FRESHLY, "stale-twenty", "executed-actions", ["agent.actions"]),
        (FRESHLY, "stale-five", "executed-five", ["agent.actions"]),
        (FRESHLY, "aggrevated", "fresh-five", ["agent.update_epochs"]),
        (FRESHLY, "executed-min-max", "clone-pinned", ["agent.log_std_bounds"]),
        (FRESHLY, "executed-min-max", "clone-thirty", ["agent.update_epochs"]),
        (FRESHLY, "aggrevated", "free-critic", ["expert"]),
        (FRESHLY, "aggrevated", "other-expert", ["expert"]),
        (FRESHLY, "aggrevated", "round-trip", ["agent.actions"]),
        (FRESHLY, "aggrevated", "linear-mixing", ["agent.mixing_fraction"]),
        (FRESHLY, "aggrevated", "pathwise", ["agent.gradient"]),
        (FRESHLY, "pathwise", "dagger", ["expert"]),
        (CLIPPED, "aggrevated", "executed-actions", ["agent.actions"]),
        (CLIPPED, "aggrevated", "sampled-expert", ["expert"]),
        (CLIPPED, "sampled-expert", "between-players", ["agent.actions"]),
        (CLIPPED, "aggrevated", "mixture-value", ["agent.baseline"]),
        (CLIPPED, "aggrevated", "unscaled", ["agent.weight_scale"]),
        (CLIPPED, "unscaled", "mixture-value-unscaled", ["agent.baseline"]),
        (CLIPPED, "aggrevated", "other-expert", ["expert"]),
    ],
)
def test_variants_differ_by_what_they_say(
    id: str, healthy: str, other: str, settings: list[str]
) -> None:
    one, two = (find(id).settings_for(name, "full") for name in (healthy, other))
    assert differences(as_json(one), two) == settings


@pytest.mark.parametrize(
    ("taken", "variant"),
    [
        *(("table", name) for name in ROWS),
        *((MENDED, name) for name in MENDED_ROWS),
    ],
)
def test_a_row_of_the_table_changes_one_thing(taken: str, variant: str) -> None:
    """K, and the steps to a roll-in with it; what is subtracted from Q* with how it is
    scaled; and a memory with how often it is passed over."""
    one, two = (AGGREVATED_TABLE.settings_for(x, "full") for x in (taken, variant))
    found = differences(as_json(one), two)
    pairs = [
        ["agent.num_steps", "num_envs"],
        ["agent.baseline", "agent.weight_scale"],
        ["agent.aggregate", "agent.update_epochs"],
    ]
    assert len(found) == 1 or found in pairs


@pytest.mark.parametrize("experiment", [AGGREVATED_REINFORCE, AGGREVATED_PPO])
def test_the_budget_is_whole_roll_ins_and_a_fifth_of_ppos(experiment: Any) -> None:
    settings = experiment.settings_for("aggrevated", "full")
    assert settings.steps % (settings.num_envs * settings.agent.num_steps) == 0
    alone = find("bipedal/ppo").settings_for("five-lessons", "full")
    assert alone.steps == 5 * settings.steps


def test_the_notes_steps_are_theirs() -> None:
    for experiment, iterations, steps in (
        (AGGREVATED_REINFORCE, 50, 20_000),
        (AGGREVATED_PPO, 600, 3_000),
    ):
        settings = experiment.settings_for("notes", "full")
        assert settings.num_envs * settings.agent.num_steps == steps
        assert settings.steps == iterations * steps
    worlds = [
        one.world(one.settings_for("notes", "full"))
        for one in (AGGREVATED_REINFORCE, AGGREVATED_PPO)
    ]
    assert worlds == [HARD, EASY]


def test_only_ppos_bonus_differs() -> None:
    main = ENTROPY.settings_for("entropy-1e-3", "full")
    for variant in ("no-entropy", "entropy-1e-2", "entropy-3e-2"):
        other = ENTROPY.settings_for(variant, "full")
        assert differences(as_json(main), other) == ["agent.ent_coef"]
    notes = find("bipedal/ppo-vector").settings_for("notes", "full")
    other = ENTROPY.settings_for("notes-1e-2", "full")
    assert other.steps == notes.steps
    other = replace(other, budget=notes.budget, length=notes.length)
    assert differences(as_json(notes), other) == ["agent.ent_coef"]


# --- the notes' actions


def rows(policy: Policy, count: int = 500) -> tuple[torch.Tensor, Rows]:
    """As after a roll-in, in which somebody else played every third step."""
    obs = torch.randn(count, 24)
    outputs = policy.net(policy.encode_obs(obs)).detach()
    drawn = ppo.draw(policy, outputs)
    log_prob = ppo.output_distribution(policy, outputs).log_prob(drawn)
    executed = drawn.clone()
    executed[::3] = torch.randn_like(drawn[::3])
    return outputs, Rows(obs, drawn, log_prob, executed, torch.zeros(count))


def test_stale_draws_pass_for_fresh_ones(a_walker: Policy) -> None:
    outputs, there = rows(a_walker)
    action, log_prob = stale_actions(a_walker, outputs + 1, there)
    assert torch.equal(action, there.action)
    now = ppo.output_distribution(a_walker, outputs + 1).log_prob(there.action)
    assert torch.equal(log_prob, now)
    assert not torch.allclose(log_prob, there.log_prob)


def test_a_round_trip_loses_only_what_is_far_out(a_walker: Policy) -> None:
    outputs, there = rows(a_walker)
    for log_std, lost in ((0.0, False), (3.0, True)):
        outputs[:, 4:] = log_std
        a_walker.log_std_bounds = (-4.0, 4.0)
        torch.manual_seed(1)
        drawn, wanted = aggrevated.fresh_actions(a_walker, outputs, there)
        torch.manual_seed(1)
        action, log_prob = round_trip_actions(a_walker, outputs, there)
        assert torch.equal(log_prob, wanted)
        assert action.abs().max() < 7.5
        assert (drawn.abs().max() > 7.5) == lost
        inside = drawn.abs() < 5
        assert torch.allclose(action[inside], drawn[inside], rtol=1e-2, atol=1e-2)


def test_an_executed_action_is_as_likely_as_for_who_played_it(
    a_walker: Policy,
) -> None:
    outputs, there = rows(a_walker)
    there = there._replace(log_prob=there.log_prob + 5)  # of a learner that is another
    action, log_prob = executed_by_the_expert(a_walker, outputs, there)
    assert torch.equal(action, there.executed)
    theirs = ppo.output_distribution(a_walker, outputs).log_prob(there.executed)
    expected = there.log_prob.clone()
    expected[::3] = theirs[::3]
    assert torch.allclose(log_prob, expected, atol=1e-4)


def test_an_expert_with_noise_says_the_same_of_actions(a_walker: Policy) -> None:
    one, other = walker_expert(), sampled_expert()
    obs, action = torch.randn(6, 24), torch.rand(6, 4)
    with torch.no_grad():
        assert torch.equal(one.advantage(obs, action), other.advantage(obs, action))
    seen = obs.numpy()
    assert np.array_equal(one.act(seen), one.act(seen))
    assert not np.array_equal(other.act(seen), other.act(seen))


# --- runs


def first_update(experiment: Experiment[Any], variant: str, **more: Any) -> Any:
    settings = experiment.settings_for(variant, "smoke", {**SMALL, **more})
    (_, told), *_ = experiment.trial(settings, seed=0).stream
    return told


def test_the_wrong_gradient_alone_sets_the_diagnostic_off(a_walker: Policy) -> None:
    """At the first update, where the expert plays all steps."""
    enough = {"agent.num_steps": 200, "agent.batch_size": 800, "budget.steps": 800}
    for experiment in (AGGREVATED_REINFORCE, AGGREVATED_PPO):
        healthy, twin = (
            first_update(experiment, variant, **enough)
            for variant in ("aggrevated", "executed-actions")
        )
        assert not executed_actions.fires(healthy["first_score_deviation"])
        assert executed_actions.fires(twin["first_score_deviation"])


@pytest.mark.slow(seconds=20)
@pytest.mark.parametrize(
    ("experiment", "variant"),
    [
        (AGGREVATED_REINFORCE, "aggrevated"),
        (AGGREVATED_REINFORCE, "pathwise"),
        (AGGREVATED_REINFORCE, "dagger"),
        (AGGREVATED_PPO, "aggrevated"),
        (AGGREVATED_PPO, "mixture-value"),
        (AGGREVATED_PPO, "between-players"),
        (AGGREVATED_TABLE, "table"),
        (AGGREVATED_TABLE, "aggregated"),
    ],
    ids=lambda value: getattr(value, "id", value),
)
def test_it_runs_at_the_smallest_budget(
    experiment: Experiment[Any], variant: str, a_walker: Policy
) -> None:
    settings = experiment.settings_for(variant, "smoke", SMALL)
    *_, (step, last) = experiment.trial(settings, seed=0).stream
    assert step == 160
    shares = ("success_percent", "falls_percent", "timeouts_percent")
    assert sum(last[f"final_{share}"] for share in shares) == pytest.approx(100)


@pytest.mark.slow(seconds=10)
def test_a_lesson_goes_on_where_it_was_interrupted(
    a_walker: Policy, tmp_path: Path
) -> None:
    settings = AGGREVATED_REINFORCE.settings_for("aggrevated", "smoke", SMALL)
    first = AGGREVATED_REINFORCE.trial(settings, 0)
    next(first.stream)
    file = tmp_path / "state"
    resume.save(file, first, resume.Progress([], {"settings": None}))
    second = AGGREVATED_REINFORCE.trial(settings, 0)
    resume.restore(file, second, None)
    assert (second.agent.step, second.agent.updates) == (80, 1)
    one, other = (trial.agent.policy.state_dict() for trial in (first, second))
    assert all(torch.equal(one[name], other[name]) for name in one)
    *_, (step, _) = second.stream
    assert step == 160
