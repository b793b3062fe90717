"""The walker that is asked: what is watched, what is checked, and what is kept of its
critic."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from rlnotes.algos import fitted_q
from rlnotes.algos.policy import Policy
from rlnotes.data.rollouts import Episode
from rlnotes.errors import UserError
from rlnotes.experiments import bipedal_expert, recipes, registry
from rlnotes.experiments.bipedal import EASY, FALL, HARD
from rlnotes.experiments.bipedal_expert import (
    BIPEDAL_CRITIC,
    BIPEDAL_EXPERT,
    Slipping,
    soft_return,
    watched,
)
from rlnotes.experiments.critic_checks import Check
from rlnotes.experiments.settings import as_json, changed, differences
from rlnotes.paths import Run
from rlnotes.runs import run, store

SMALL = {"num_envs": 4, "watched_steps": 20, "check": Check(3, 20, 20)}


def limp(obs: np.ndarray) -> np.ndarray:
    return np.zeros((len(obs), 4), np.float32)


@pytest.mark.parametrize("longest", [1, 8])
def test_each_world_has_its_share_of_slips(longest: int) -> None:
    shares = np.array([0.0, 0.25, 0.5, 1.0])
    player = Slipping(limp, shares, longest, 4)
    played = np.stack([player(np.zeros((4, 24))) for _ in range(6_000)])
    slips = (played != 0).any(-1)
    assert slips.mean(0) == pytest.approx(shares, abs=0.04)
    assert np.abs(played).max() <= 1


def test_a_slip_is_held_for_a_while_and_differs_between_worlds() -> None:
    player = Slipping(limp, np.array([0.1, 0.1]), 8, 4)
    played = np.stack([player(np.zeros((2, 24))) for _ in range(4_000)])
    slips = np.abs(played[:, 0]).sum(-1) > 0
    same = (played[1:, 0] == played[:-1, 0]).all(-1) & slips[1:]
    changes = np.flatnonzero(np.diff(np.r_[False, same, False].astype(int)))
    lengths = 1 + changes[1::2] - changes[::2]
    assert set(lengths) == set(range(2, 9))
    assert not np.equal(played[slips, 0], played[slips, 1]).any()


def test_what_is_watched_is_the_same_for_every_seed(a_walker: Policy) -> None:
    settings = BIPEDAL_CRITIC.settings_for("peaked", "smoke", SMALL)
    one, other = (watched(a_walker, settings).all() for _ in range(2))
    assert len(one.obs) == 400
    assert all(torch.equal(*pair) for pair in zip(one, other, strict=True))
    own = torch.as_tensor(a_walker.act(one.obs.numpy()))
    same = (own - one.action).abs().amax(-1) < 1e-5
    first, *_, last = same.view(100, 4).float().mean(0)
    assert (first, last) == (1, 0)  # the first world never slips, the last one always


def test_falls_are_as_soft_as_the_critic_was_told() -> None:
    rewards = np.array([1.0, 2.0, FALL])
    episode = Episode(0, np.zeros((4, 24)), np.zeros((3, 4)), rewards, True, False)
    assert soft_return(episode, 0.5, -10.0) == pytest.approx(1 + 1 - 2.5)
    assert soft_return(episode, 0.5, FALL) == pytest.approx(1 + 1 - 25)


@pytest.mark.parametrize(
    ("variant", "setting"),
    [
        ("fitted", "agent.peaked"),
        ("short-sighted", "agent.gamma"),
        ("hardcore", "hardcore"),
    ],
)
def test_critics_differ_by_one_thing(variant: str, setting: str) -> None:
    one, other = (
        BIPEDAL_CRITIC.settings_for(name, "full") for name in ("peaked", variant)
    )
    assert differences(as_json(one), other) == [setting]


def test_each_learns_and_is_judged_on_its_own_course() -> None:
    pairs: list[tuple[Any, str]] = [(BIPEDAL_EXPERT, "ppo"), (BIPEDAL_CRITIC, "peaked")]
    for experiment, name in pairs:
        worlds = {
            variant: experiment.world(experiment.settings_for(variant, "full"))
            for variant in (name, "hardcore")
        }
        assert worlds == {name: EASY, "hardcore": HARD}


def test_an_expert_that_is_not_recorded_is_asked_for_by_command() -> None:
    nowhere = Run("experts/bipedal", "ppo", 12_345)
    with pytest.raises(UserError, match="run experts/bipedal --variant ppo"):
        bipedal_expert.asked(nowhere, nowhere)


@pytest.mark.slow(seconds=15)
def test_what_is_kept_of_a_critic_says_what_it_said(
    a_walker: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RLNOTES_HOME", str(tmp_path))
    small = replace(BIPEDAL_CRITIC, settings=changed(BIPEDAL_CRITIC.settings, SMALL))
    monkeypatch.setitem(registry.EXPERIMENTS, small.id, small)
    critic = Run(BIPEDAL_CRITIC.id, "peaked", 0, "smoke")
    record = run.run(critic, progress=False)
    assert -1 <= record.last("final_action_rank_correlation") <= 1
    assert record.last("final_q_error") > 0
    kept = recipes.recorded_tensors(critic)
    assert kept.keys() == store.arrays(critic).keys()
    monkeypatch.setattr(bipedal_expert, "recorded_tensors", recipes.recorded_tensors)
    expert = bipedal_expert.asked(critic, critic)
    agent = fitted_q.Agent(a_walker, a_walker.act, small.settings.agent)
    agent.critic.load_state_dict(kept)
    obs, action = torch.randn(5, 24), torch.rand(5, 4)
    with torch.no_grad():
        said = fitted_q.q_value(agent, obs, action)
        assert torch.equal(expert.q(obs, action), said)
