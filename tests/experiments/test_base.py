"""What an experiment is made of: budgets, evaluations along the way, and their best."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from rlnotes.algos.policy import Policy, policy_sha256
from rlnotes.data.rollouts import Episode
from rlnotes.errors import UserError
from rlnotes.experiments.base import (
    Bar,
    Budget,
    Experiment,
    Settings,
    Trial,
    Variant,
    World,
    keep_stages,
    keeps_all_policies,
    kept_policies,
    new_trial,
)
from rlnotes.seeding import reset_seeds

BUDGET = Budget(steps=100, evaluations=4, curve_episodes=2, final_episodes=3)
SETTINGS = Settings(budget=BUDGET)
CARTPOLE = World("CartPole-v1")


def nothing_starts(settings: Settings, seed: int) -> Trial:
    raise AssertionError("not started here")


def experiment(
    *bars: Bar,
    variants: dict[str, Variant] | None = None,
    budgets: dict[str, Budget] | None = None,
) -> Experiment[Settings]:
    return Experiment(
        id="toy/one",
        world=lambda settings: CARTPOLE,
        settings=Settings(stop_at_return=5.0),
        budgets=budgets or {"smoke": SETTINGS.budget, "full": BUDGET},
        variants=variants
        or {"a": Variant("the first"), "b": Variant("twice", {"length": 2.0})},
        bars=bars,
        start=nothing_starts,
        seeds=4,
    )


# --- settings of a run


def test_the_settings_of_a_run_are_the_budgets_then_the_variants_then_ones_own() -> (
    None
):
    toy = experiment()
    assert toy.settings_for("a", "full") == Settings(budget=BUDGET, stop_at_return=5.0)
    assert toy.settings_for("b", "full").length == 2.0
    assert toy.settings_for("b", "full").steps == 200
    more = toy.settings_for("b", "full", {"length": 0.5, "budget.steps": 31})
    assert (more.length, more.steps) == (0.5, 16)


def test_a_misspelt_override_is_refused_where_it_is_written() -> None:
    with pytest.raises(UserError, match="unknown setting 'lenght'.*length"):
        experiment(variants={"a": Variant("wrong", {"lenght": 2.0})})
    with pytest.raises(UserError, match="length is of type float"):
        experiment(variants={"a": Variant("wrong", {"length": "2"})})


@pytest.mark.parametrize(
    "bar",
    [
        Bar("of nobody", "nobody", "iqm", ">=", 1.0),
        Bar("against nobody", "a", "iqm", ">=", "nobody"),
    ],
)
def test_a_bar_that_names_no_variant_is_refused(bar: Bar) -> None:
    with pytest.raises(ValueError, match=r"toy/one: .*unknown variants \['nobody'\]"):
        experiment(bar)


def test_a_bar_may_name_a_variant_of_another_experiment() -> None:
    assert experiment(Bar("as good", "a", "iqm", ">=", "toy/other/c")).bars


def test_unknown_variants_and_budgets_list_the_valid_ones() -> None:
    with pytest.raises(UserError, match="unknown variant of toy/one 'c'. Valid: a, b"):
        experiment().settings_for("c", "full")
    with pytest.raises(UserError, match="unknown budget 'ci'. Valid: smoke, full"):
        experiment().settings_for("a", "ci")


def test_the_first_variant_and_the_first_bar_are_reported() -> None:
    assert experiment().main_variant == "a"
    assert experiment().metric == "final_return"
    bar = Bar("x", "b", "worst", "<=", 1.0, metric="final_success_percent")
    assert experiment(bar).metric == "final_success_percent"


def test_seeds_and_kept_policies_can_differ_between_variants() -> None:
    toy = experiment(
        variants={
            "main": Variant("main"),
            "few": Variant("few", seeds=2),
            "played": Variant("played", replayed=True),
        }
    )
    assert [toy.seeds_for(name) for name in toy.variants] == [4, 2, 4]
    kept = {name: keeps_all_policies(toy, name) for name in toy.variants}
    assert kept == {"main": True, "few": False, "played": True}


def test_of_large_policies_few_are_kept() -> None:
    """The last ones of the first variant, and of what a chapter plays."""
    policy = Policy((4,), (), (), (2,), "argmax", num_actions=2)
    trial = Trial(policy, 1, best=policy)
    variants = {
        "first": Variant("first"),
        "other": Variant("other", {"length": 2.0}),
        "played": Variant("played", {"length": 3.0}, replayed=True),
    }
    small = experiment(variants=variants)
    large = replace(small, large_policies=True)
    found = {
        (one.large_policies, variant): list(kept_policies(one, variant, trial))
        for one in (small, large)
        for variant in variants
    }
    assert all(found[False, name] == ["last", "best"] for name in variants)
    assert [found[True, name] for name in variants] == [["last"], [], ["last"]]
    kept = [keeps_all_policies(small, name) for name in variants]
    assert kept == [True, False, True]
    assert not any(keeps_all_policies(large, name) for name in variants)


def test_a_trial_starts_from_its_seed_alone() -> None:
    drawn = []

    def start(settings: Settings, seed: int) -> Trial:
        drawn.append((seed, float(torch.rand(()))))
        return Trial(None, 1)

    toy = replace(experiment(), start=start)
    for seed in (0, 1, 0):
        toy.trial(SETTINGS, seed)
        torch.rand(7)
    assert drawn[0] == drawn[2]
    assert drawn[0][1] != drawn[1][1]


# --- worlds


def episode(*rewards: float) -> Episode:
    nothing = np.zeros((len(rewards) + 1, 1))
    return Episode(0, nothing, nothing[1:], np.array(rewards), True, False)


def test_scores_are_means_over_episodes() -> None:
    played = [episode(1.0, 2.0), episode(5.0)]
    assert CARTPOLE.scores(played) == {"return": 4.0}
    world = World(
        "CartPole-v1", success=lambda e: e.total_reward > 4, reference=(2.0, 6.0)
    )
    assert world.scores(played) == {
        "return": 4.0,
        "success_percent": 50.0,
        "normalised": 50.0,
    }


def test_options_of_a_world_reach_it_and_can_be_added_to() -> None:
    env = World("CartPole-v1", {"max_episode_steps": 7}).make(render_mode="rgb_array")
    assert env.spec is not None
    assert (env.spec.max_episode_steps, env.render_mode) == (7, "rgb_array")
    env.close()


# --- evaluations along the way


class Puppet(Policy):
    """Remembers for how many episodes at once it was asked."""

    def __init__(self) -> None:
        super().__init__((4,), (), (), (2,), "argmax", num_actions=2)
        self.asked: list[int] = []

    def act(self, obs: np.ndarray) -> np.ndarray:
        self.asked.append(len(obs))
        return super().act(obs)


def trial_of(
    stream_of: list[int], settings: Settings = SETTINGS, **more: Any
) -> tuple[Trial, list[tuple[int, dict[str, float]]]]:
    """Played to its end."""
    trial = new_puppet(stream_of, settings, **more)
    return trial, list(trial.stream)


def new_puppet(
    stream_of: list[int], settings: Settings = SETTINGS, **more: Any
) -> Trial:
    """A stream that changes the policy at each of its steps."""
    torch.manual_seed(0)
    policy = Puppet()

    def stream() -> Iterator[tuple[int, dict[str, float]]]:
        for step in stream_of:
            torch.manual_seed(step)
            for parameter in policy.parameters():
                torch.nn.init.normal_(parameter)
            yield step, {"loss": 0.5, "first_loss": 0.7}

    return new_trial(policy, None, stream(), CARTPOLE, settings, **more)


def steps_with(name: str, rows: list[tuple[int, dict[str, float]]]) -> list[int]:
    return [step for step, metrics in rows if name in metrics]


def test_evaluations_come_at_equal_distances_and_once_more_at_the_end() -> None:
    _, rows = trial_of(list(range(1, 101)))
    assert [step for step, _ in rows] == list(range(1, 101))
    assert steps_with("return", rows) == [25, 50, 75, 100]
    assert steps_with("loss", rows) == [25, 50, 75, 100]
    assert steps_with("final_return", rows) == [100]


def test_what_is_measured_before_an_update_is_told_of_the_very_first_one_too() -> None:
    _, rows = trial_of(list(range(1, 101)))
    assert steps_with("first_loss", rows) == [1, 25, 50, 75, 100]
    assert rows[0] == (1, {"first_loss": 0.7})


def test_large_strides_are_evaluated_at_the_first_step_past_each_distance() -> None:
    _, rows = trial_of([30, 60, 90, 120])
    assert steps_with("return", rows) == [30, 60, 90, 120]
    _, rows = trial_of([80, 160, 240])
    assert steps_with("return", rows) == [80, 160]
    assert steps_with("final_return", rows) == [160]  # no more than were asked for


def test_a_trial_may_take_other_steps_than_its_settings_say() -> None:
    _, rows = trial_of(list(range(1, 300)), steps=200)
    assert steps_with("return", rows) == [50, 100, 150, 200]


def test_it_ends_with_the_first_evaluation_that_is_good_enough() -> None:
    trial, rows = trial_of([25, 50, 75, 100])
    returns = [metrics["return"] for _, metrics in rows]
    bar = max(returns)
    first = returns.index(bar)
    assert first < 3
    ended, rows = trial_of([25, 50, 75, 100], replace(SETTINGS, stop_at_return=bar))
    assert [step for step, _ in rows] == [25, 50, 75, 100][: first + 1]
    assert steps_with("final_return", rows) == [rows[-1][0]]
    assert trial.ended
    assert ended.ended


def test_a_trial_that_is_left_in_the_middle_has_not_ended() -> None:
    trial, _ = trial_of([25, 50])
    assert not trial.ended


def test_the_best_policy_is_that_of_the_best_evaluation() -> None:
    trial, rows = trial_of([25, 50, 75, 100])
    returns = [metrics["return"] for _, metrics in rows]
    best = (25, 50, 75, 100)[int(np.argmax(returns))]
    assert trial.best_return == max(returns)
    other, _ = trial_of([best])  # stopped there
    assert trial.best is not None
    assert other.policy is not None
    assert policy_sha256(trial.best) == policy_sha256(other.policy)
    assert rows[-1][1]["final_best_return"] == _mean_return(trial.best)
    assert trial.policy is not None
    assert rows[-1][1]["final_return"] == _mean_return(trial.policy)


def test_stages_are_what_the_policy_was_at_these_evaluations() -> None:
    variant = Variant("one", stages=(1, 3))
    trial = new_puppet([25, 50, 75, 100])
    for _ in trial.stream:
        keep_stages(variant, trial)
    assert list(trial.stages) == ["stage-1", "stage-3"]
    for name, step in (("stage-1", 25), ("stage-3", 75)):
        then, _ = trial_of([step])
        assert then.policy is not None
        assert policy_sha256(trial.stages[name]) == policy_sha256(then.policy)
    toy = experiment(variants={"first": variant, "other": Variant("other")})
    large = replace(toy, large_policies=True)
    stages = {"stage-1", "stage-3"}
    assert set(kept_policies(large, "first", trial)) == {"last", *stages}
    assert set(kept_policies(toy, "first", trial)) == {"last", "best", *stages}


def test_a_world_may_be_judged_with_drawn_actions_too() -> None:
    """The same ones each time, and others than the greedy ones."""

    def judged(sampled: bool) -> dict[str, float]:
        policy = Policy((4,), (), (), (2,), "argmax", num_actions=2)
        for parameter in policy.parameters():
            parameter.data.zero_()  # greedily always the first, drawn either
        world = replace(CARTPOLE, sampled=sampled)
        stream: Any = iter([(100, {})])
        (_, metrics), *_ = new_trial(policy, None, stream, world, SETTINGS).stream
        return metrics

    plain, drawn = judged(False), judged(True)
    assert "final_sampled_return" not in plain
    assert plain.items() <= drawn.items()
    assert drawn["final_sampled_return"] > drawn["final_return"]
    assert judged(True) == drawn


def _mean_return(policy: Policy) -> float:
    starts = reset_seeds("evaluate", 0, BUDGET.final_episodes)
    return CARTPOLE.scores(CARTPOLE.play(policy.act, starts))["return"]


def test_what_selects_is_played_on_other_starts_than_what_is_reported() -> None:
    """And each on as many as the budget says."""
    seen = []

    def diagnose(episodes: Any) -> dict[str, float]:
        seen.append([episode.seed for episode in episodes])
        return {"more": 1.0}

    trial, rows = trial_of([50, 100], diagnose=diagnose)
    assert seen == [reset_seeds("select", 0, 2)] * 2
    assert steps_with("more", rows) == [50, 100]
    assert not set(reset_seeds("select", 0, 2)) & set(reset_seeds("evaluate", 0, 3))
    assert isinstance(trial.policy, Puppet)
    assert set(trial.policy.asked) <= {1, 2, 3}
    assert trial.policy.asked.count(3) >= 1
