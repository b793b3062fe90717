"""Every check on a tiny twin and on its healthy counterpart, by hand; what is not given
is not examined; causes come before consequences."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import nbformat
import numpy as np
import pytest
import torch

from rlnotes.algos import ppo
from rlnotes.autopsies import value_clip
from rlnotes.autopsies.corrupted_successor import start_after_truncation
from rlnotes.autopsies.time_limits import truncation_as_termination
from rlnotes.data.rollouts import Episode, rollout
from rlnotes.data.transitions import Batch, Transitions
from rlnotes.doctor import examine
from rlnotes.doctor.checks import CHECKS
from rlnotes.doctor.examination import GIVEN
from rlnotes.doctor.measures import MEASURES, needs
from rlnotes.envs.frame_skip import FrameSkip
from rlnotes.envs.vector import led_to, make_vec_env
from rlnotes.errors import UserError

BOOK = Path(__file__).parents[2] / "book"
COMING = {"aggrevated", "pixels"}  # chapters that are being written

# What the issue of every check is, of those that must be there.
NAMED = {
    "lost-ends",
    "clock-as-end",
    "foreign-successor",
    "ratio-at-first",
    "value-without-gradient",
    "pinned-deviation",
    "growing-entropy",
    "stale-copy",
    "impossible-values",
    "paid-to-live",
    "won-discriminator",
    "flat-discriminator",
    "magnified-constant",
    "raw-inputs",
    "identical-environments",
    "misread-return",
    "leaves-data",
}


# --- what a check says of itself


def test_the_known_failures_are_all_looked_for() -> None:
    assert set(CHECKS) >= NAMED


def anchors(chapter: str) -> set[str]:
    """Labels, and headings as the site names them."""
    cells = nbformat.read(BOOK / f"{chapter}.ipynb", 4).cells
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    slugs = {re.sub(r"[^a-z0-9]+", "-", one.lower()).strip("-") for one in headings}
    return set(re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE)) | slugs


@pytest.mark.parametrize("name", CHECKS)
def test_it_has_a_reason_a_remedy_and_a_section_that_is_there(name: str) -> None:
    check = CHECKS[name]
    assert all((check.title, check.symptom, check.remedy, check.reason))
    chapter, _, anchor = check.section.partition("#")
    if (BOOK / f"{chapter}.ipynb").exists():
        assert anchor in anchors(chapter)
    else:
        assert chapter in COMING


def test_every_name_that_is_asked_for_can_be_given_or_measured() -> None:
    measured = {one for ways in MEASURES.values() for way in ways for one in needs(way)}
    asked = {one for check in CHECKS.values() for one in check.needs} | measured
    assert asked - set(GIVEN) - set(MEASURES) == set()
    assert set(GIVEN) - asked == set(), "nobody asks for these"


# --- nothing is guessed


def test_what_is_not_given_is_not_examined_and_the_report_says_so() -> None:
    report = examine()
    assert report.findings == ()
    assert report.quiet == {}
    assert set(report.unexamined) == set(CHECKS)
    assert report.unexamined["impossible-values"] == "no critic given"
    assert "no replay given" in str(report)


def test_a_caller_can_say_why() -> None:
    report = examine(because={"replay": "it is on another machine"})
    assert report.unexamined["foreign-successor"] == "it is on another machine"


def test_an_unknown_name_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(UserError, match="unknown thing to examine 'repaly'.*replay"):
        examine(repaly=None)


def test_a_network_that_fails_is_reported_and_does_not_raise() -> None:
    def broken(obs: Any) -> Any:
        raise RuntimeError("no such\nlayer")

    report = examine(q=broken, replay=batch(20), gamma=0.9)
    assert report.unexamined["impossible-values"] == (
        "it failed: RuntimeError: no such layer"
    )


def test_shapes_that_do_not_fit_are_named() -> None:
    report = examine(log_prob=np.zeros(3), old_log_prob=np.zeros((3, 1)))
    assert "(3,)" in report.unexamined["ratio-at-first"]
    value = torch.zeros(3, requires_grad=True)
    loss = value.square().sum()
    report = examine(value=value, target=torch.ones(3, 1), value_loss=loss)
    assert "(3, 1)" in report.unexamined["value-without-gradient"]


def test_how_many_environments_there_are_is_not_guessed() -> None:
    report = examine(replay=stored(False), time_limit=5, continued_fractions=[0] * 4)
    assert report.unexamined["foreign-successor"] == "no num_envs given"
    assert report.unexamined["common-start"] == "no num_envs given"
    copies = examine(vector_obs=torch.ones(2, 3))  # it has a row for each
    assert copies.first == "identical-environments"


def test_steps_that_are_not_in_their_order_say_nothing_of_chains() -> None:
    rows = stored(False)
    order = np.random.default_rng(0).permutation(len(rows.obs))
    drawn = Batch(*(column[order] for column in rows))
    for replay, num_envs in ((drawn, 2), (rows, 1)):
        report = examine(replay=replay, num_envs=num_envs, time_limit=5)
        for name in ("foreign-successor", "clock-as-end"):
            assert "not in their order" in report.unexamined[name]


@pytest.mark.parametrize(
    ("name", "given"),
    {
        "ratio-at-first": {"log_prob": [np.nan], "old_log_prob": [0.0]},
        "raw-inputs": {"seen": np.full((5, 3), np.nan)},
        "out-of-bounds": {"actions": [[np.nan]], "action_low": -1, "action_high": 1},
        "paid-to-live": {"learned_rewards": [np.nan], "terminal": "zero"},
        "growing-entropy": {"entropies": [1, np.nan], "action_dim": 1, "ent_coef": 1},
        "identical-environments": {"vector_obs": np.full((2, 3), np.nan)},
        "silent-value": {"value_grad_norm": np.nan},
        "thrown-away": {"approx_kls": [0.1, np.nan]},
        "impossible-values": {
            "value_mean": np.nan,
            "reward_min": 0.0,
            "reward_max": 1.0,
            "gamma": 0.9,
        },
    }.items(),
)
def test_what_is_not_a_number_is_neither_quiet_nor_a_finding(
    name: str, given: dict[str, Any]
) -> None:
    report = examine(**given)
    assert report.findings == ()
    assert "NaN" in report.unexamined[name]


def test_tensors_and_lists_are_as_good_as_arrays() -> None:
    for form in (torch.tensor, list):
        beyond = examine(actions=form([[1.5]]), action_low=[-1], action_high=[1])
        assert beyond.first == "out-of-bounds"
        coin = examine(explored=form([[True, True], [False, False]]))
        assert coin.first == "common-coin"
        scaled: Given = {
            "observations": form([[0.0, 1.0], [1.0, 1.0]]),
            "obs_mean": 0.0,
        }
        constant = examine(**scaled, obs_std=form([0.5, 0.001]))
        assert constant.fired == ["raw-inputs", "magnified-constant"]
        assert "magnified-constant" in examine(**scaled, obs_std=0.5).quiet


def test_what_an_end_is_worth_is_one_of_the_known_words() -> None:
    report = examine(learned_rewards=[0.5, 0.7], terminal="Zero")
    assert "absorbing" in report.unexamined["paid-to-live"]


def test_pictures_are_not_expected_to_be_standardised() -> None:
    pictures = RNG.integers(0, 255, (20, 8, 8)).astype(np.uint8)
    report = examine(observations=pictures, obs_mean=0.0, obs_std=255.0)
    assert report.findings == ()
    assert {"raw-inputs", "magnified-constant"} <= set(report.quiet)


def test_a_replay_tells_of_clocks_too() -> None:
    """Of the episodes that are whole in it."""
    rows = stored(False)  # all of them out of time after five steps
    clock = torch.arange(len(rows.obs)) // 2 % 5 == 4
    given: Given = {"num_envs": 2, "time_limit": 5}
    faulty = examine(replay=rows._replace(terminated=clock), **given)
    assert faulty.fired == ["clock-as-end"]
    assert "100% of the 14 ends" in faulty.findings[0].evidence
    other = examine(replay=rows._replace(terminated=clock), **given | {"time_limit": 6})
    assert "clock-as-end" in other.quiet
    numbers = rows._replace(obs=rows.obs[:, 0], next_obs=rows.next_obs[:, 0])
    assert "foreign-successor" in examine(replay=numbers, **given).quiet


def test_a_replay_may_have_any_common_form() -> None:
    rows = stored(True)
    column = {"reward": rows.reward[:, None], "terminated": rows.terminated[:, None]}
    stacked = [one.reshape(-1, 2, *one.shape[1:]) for one in rows]
    long = [one.double().numpy() for one in rows]
    q = torch.nn.Linear(4, 2)
    for replay in (rows._asdict() | column, stacked, long):
        report = examine(replay=replay, num_envs=2, time_limit=5, q=q, gamma=0.9)
        assert report.first == "foreign-successor"
        assert "impossible-values" in report.quiet


def test_a_replay_whose_columns_do_not_fit_is_told_so() -> None:
    rows = batch(20)._asdict()
    given: Given = {"num_envs": 1, "time_limit": 5}
    without = {name: one for name, one in rows.items() if name != "terminated"}
    report = examine(replay=without, **given)
    assert "obs, action, reward" in report.unexamined["foreign-successor"]
    report = examine(replay=rows | {"reward": np.ones(3)}, **given)
    assert "[20, 20, 3, 20, 20] rows" in report.unexamined["foreign-successor"]


def test_without_a_discount_there_is_no_horizon() -> None:
    values: Given = {"value_mean": 9.0, "reward_min": 0.0, "reward_max": 1.0}
    report = examine(**values, target_updates=3, gamma=1.0)
    for name in ("stale-copy", "impossible-values"):
        assert report.unexamined[name] == "γ = 1 looks ahead without end"


# --- twins


def batch(rows: int, terminated: bool = False) -> Batch:
    obs = torch.linspace(0, 1, rows + 1)[:, None]
    ends = torch.zeros(rows)
    ends[-1] = terminated
    return Batch(obs[:-1], torch.zeros(rows, 1), torch.ones(rows), obs[1:], ends)


def stored(faulty: bool) -> Batch:
    """Two CartPoles with a short time limit."""
    envs = make_vec_env("CartPole-v1", 2, max_episode_steps=5)
    memory = Transitions(200, 4, 1)
    obs, _ = envs.reset(seed=0)
    for step in range(40):
        action = np.array([step % 2, step % 2])
        shown, reward, terminated, truncated, infos = envs.step(action)
        next_obs = led_to(shown, infos)
        if faulty:
            next_obs = start_after_truncation(next_obs, shown, terminated, truncated)
        memory.extend(obs, action[:, None], reward, next_obs, terminated)
        obs = shown
    return memory.all()


def pole(length: int) -> list[Episode]:
    """Episodes that only the clock ends."""

    def make() -> gym.Env:
        return gym.make("CartPole-v1", max_episode_steps=length)

    turn = iter(range(10_000))
    return rollout(make, lambda obs: np.full(len(obs), next(turn) % 2), [0, 1, 2])


def value_error(loss: Callable[..., Any]) -> dict[str, Any]:
    value = torch.zeros(50, requires_grad=True)
    target = torch.linspace(-3, 3, 50)
    old = value.detach()
    return {
        "value": value,
        "target": target,
        "value_loss": loss(value, old, target, 0.1)[0],
    }


def line(height: float) -> Episode:
    places = np.stack([np.linspace(0, 10, 101), np.full(101, height)], axis=1)
    return Episode(0, places, np.zeros((100, 1)), np.zeros(100), True, False)


def sides(rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {
        "expert_features": rng.normal(1, 1, (300, 2)).astype(np.float32),
        "policy_features": rng.normal(-1, 1, (300, 2)).astype(np.float32),
    }


RNG = np.random.default_rng(0)
SIDES = sides(RNG)
WIDE = RNG.normal(size=(500, 3)) * [1, 10, 0]
Given = dict[str, Any]
TWINS: dict[str, tuple[Given, Given]] = {
    "identical-environments": (
        {"vector_obs": np.ones((4, 3)), "num_envs": 4},
        {"vector_obs": np.arange(12).reshape(4, 3), "num_envs": 4},
    ),
    "lost-ends": (
        {"episodes": pole(12), "time_limit": 10},
        {"episodes": pole(10), "time_limit": 10},
    ),
    "clock-as-end": (
        {
            "episodes": [truncation_as_termination(one) for one in pole(5)],
            "time_limit": 5,
        },
        {"episodes": [*pole(5), line(0)], "time_limit": 5, "longest_episode": 5},
    ),
    "foreign-successor": (
        {"replay": stored(True), "num_envs": 2, "time_limit": 5},
        {"replay": stored(False), "num_envs": 2, "time_limit": 5},
    ),
    "common-start": (
        {"continued_fractions": [0, 0, 0, 0], "num_envs": 4},
        {"continued_fractions": [0, 0.75, 0.5, 1], "num_envs": 4},
    ),
    "raw-inputs": (
        {"seen": 255 * RNG.uniform(size=(100, 4))},
        {"seen": RNG.uniform(size=(100, 4))},
    ),
    "hand-scaled": (
        {"observations": WIDE, "obs_std": np.ones(3)},
        {"observations": WIDE, "obs_std": np.maximum(WIDE.std(0), 0.05)},
    ),
    "magnified-constant": (
        {"observations": WIDE, "obs_std": WIDE.std(0) + 1e-3},
        {"observations": WIDE, "obs_std": np.maximum(WIDE.std(0), 0.05)},
    ),
    "misread-return": (
        {
            "wrap": lambda env: FrameSkip(env, 4, divide_reward=True),
            "frames": 500,
            "believed_return": 500.0,
        },
        {
            "wrap": lambda env: FrameSkip(env, 4, divide_reward=False),
            "frames": 500,
            "believed_return": 500.0,
        },
    ),
    "out-of-bounds": (
        {"actions": np.array([[1.5]]), "action_low": [-1], "action_high": [1]},
        {"actions": np.tanh([[1.5]]), "action_low": [-1], "action_high": [1]},
    ),
    "short-sight": (
        {
            "gamma": 0.99,
            "gae_lambda": 0.95,
            "frame_skip": 1,
            "frames_per_second": 60,
            "needed_seconds": 0.5,
        },
        {
            "gamma": 0.99,
            "gae_lambda": 0.95,
            "frame_skip": 4,
            "frames_per_second": 60,
            "needed_seconds": 0.5,
        },
    ),
    "ratio-at-first": (
        {"log_prob": RNG.normal(size=20), "old_log_prob": RNG.normal(size=20)},
        {"log_prob": torch.ones(20), "old_log_prob": np.ones(20)},
    ),
    "foreign-actions": (
        {"first_score_deviation": 30.0},
        {"first_score_deviation": 2.0},
    ),
    "weights-of-states": ({"first_state_share": 0.99}, {"first_state_share": 0.7}),
    "value-without-gradient": (
        value_error(value_clip.clipped_around_returns),
        value_error(ppo.clipped_value_loss),
    ),
    "silent-value": ({"value_grad_norm": 0.0}, {"value_grad_norm": 1e-4}),
    "pinned-deviation": (
        {
            "unbounded_log_std": np.zeros(5),
            "log_std": np.full(5, 2.0),
            "log_std_grad_norm": 0.0,
        },
        {
            "unbounded_log_std": np.full(5, -9.0),
            "log_std": np.full(5, -2.0),  # it has come down to its lower bound
            "log_std_grad_norm": 0.0,
        },
    ),
    "thrown-away": (
        {"approx_kls": [0.01, 250.0, 0.1]},
        {"approx_kls": [0.01, 0.3, 0.1]},
    ),
    "stale-copy": (
        {"target_updates": 7, "gamma": 0.99},
        {"target_updates": 320, "gamma": 0.99},
    ),
    "common-coin": (
        {"explored": np.repeat(RNG.uniform(size=(50, 1)) < 0.5, 4, axis=1)},
        {"explored": RNG.uniform(size=(50, 4)) < 0.5},
    ),
    "paid-to-live": (
        {"learned_rewards": RNG.uniform(0.1, 1, 50), "terminal": "zero"},
        {"learned_rewards": RNG.normal(size=50), "terminal": "zero"},
    ),
    "flat-discriminator": (
        {"discriminator": lambda rows: 0.01 - 0 * rows[:, 0], **SIDES},
        {"discriminator": lambda rows: rows.sum(-1), **SIDES},
    ),
    "won-discriminator": (
        {"expert_logits": np.full(9, 5.0), "policy_logits": np.full(9, -5.0)},
        {"expert_logits": RNG.normal(0.3, 1, 9), "policy_logits": RNG.normal(size=9)},
    ),
    "growing-entropy": (
        {"entropies": [2.8, 3.5, 4.8], "action_dim": 2, "ent_coef": 0.01},
        {"entropies": [2.8, 2.5, 1.8], "action_dim": 2, "ent_coef": 0.01},
    ),
    "invented-values": (
        {"q_promised": -100.0, "q_true": -700.0},
        {"q_promised": -100.0, "q_true": -110.0},
    ),
    "impossible-values": (
        {"critic": lambda o, a: 30 + 0 * o, "replay": batch(20), "gamma": 0.9},
        {"critic": lambda o, a: 9 + 0 * o, "replay": batch(20), "gamma": 0.9},
    ),
    "unseen-ends": (
        {"q": lambda obs: 10 + 0 * obs, "replay": batch(20, True)},
        {"q": lambda obs: 10 * (obs < 0.9) + 1.0, "replay": batch(20, True)},
    ),
    "leaves-data": (
        {
            "demonstrations": [line(0), line(1), line(2)],
            "episodes": [line(9)],
        },
        {
            "demonstrations": [line(0), line(1), line(2)],
            "episodes": [line(0.5)],
        },
    ),
}


def test_every_check_has_a_twin_here() -> None:
    assert list(TWINS) == list(CHECKS)


@pytest.mark.parametrize("name", TWINS)
def test_it_is_ranked_first_on_its_twin_and_nothing_fires_on_the_healthy(
    name: str,
) -> None:
    faulty, healthy = (examine(**given) for given in TWINS[name])
    assert faulty.first == name, str(faulty)
    assert healthy.findings == (), str(healthy)
    assert name in healthy.quiet


def test_a_cause_is_ranked_before_what_follows_from_it() -> None:
    """A critic whose data never ends promises too much."""
    report = examine(
        longest_chain=5_000, time_limit=500, q_promised=100.0, q_true=10.0, gamma=0.99
    )
    assert report.fired == ["foreign-successor", "invented-values"]


def test_episodes_that_begin_alike_may_be_tied_by_chance() -> None:
    once: Given = {"longest_chain": 20, "time_limit": 10, "same_starts": True}
    assert examine(**once).fired == []
    assert examine(**once | {"longest_chain": 5_000}).first == "foreign-successor"


def test_a_short_replay_cannot_show_a_chain() -> None:
    report = examine(replay=batch(20), num_envs=1, time_limit=500)
    assert "500 steps" in report.unexamined["foreign-successor"]


def test_one_demonstration_does_not_say_what_is_usual() -> None:
    report = examine(demonstrations=[line(0)], episodes=[line(9)])
    assert "two demonstrations" in report.unexamined["leaves-data"]


def test_an_entropy_that_nobody_pays_for_may_grow() -> None:
    given = TWINS["growing-entropy"][0]
    assert examine(**given | {"ent_coef": 0.0}).findings == ()


def test_a_report_is_text_and_data() -> None:
    report = examine("my agent", **TWINS["stale-copy"][0])
    assert "my agent: 1 finding, " in str(report)
    assert "read: book/worlds.html#plate-autopsy" in str(report)
    said = report.as_json()
    assert said["findings"][0]["check"] == "stale-copy"
    assert said["findings"][0]["measured"] == 7
    assert said["not_examined"]["raw-inputs"] == "no seen given"
