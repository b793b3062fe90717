"""The pinned deviation: the notes' clamp and ours by hand, and the diagnostic on a tiny
world, twin and healthy run."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from rlnotes.algos import ppo
from rlnotes.algos.policy import Policy
from rlnotes.autopsies import pinned_std
from rlnotes.envs.vector import make_vec_env

WALKER = "bipedal/reinforce"


class Push(gym.Env[np.ndarray, np.ndarray]):
    """One step: a push to a half is best, and nothing else is to be known."""

    observation_space = gym.spaces.Box(-1, 1, (1,), np.float32)
    action_space = gym.spaces.Box(-1, 1, (1,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return np.ones(1, np.float32), {}

    def step(self, action: np.ndarray) -> Any:
        paid = -float((action[0] - 0.5) ** 2)
        return np.ones(1, np.float32), paid, True, False, {}


def test_the_twins_differ_by_the_bounds_only(differing: Any) -> None:
    bounds = {"agent.log_std_bounds"}
    assert list(pinned_std.FAULT) == ["log_std_bounds"]
    assert differing((WALKER, "reinforce"), (WALKER, "pinned-std")) == bounds
    assert differing((WALKER, "notes-unpinned"), (WALKER, "notes")) == bounds


def test_the_fault_is_the_notes_clamp_also_in_its_gradient() -> None:
    """Between 128 and 2: as if it were between 2 and 2."""
    outputs = torch.linspace(-12, 130, 100).repeat(2, 1).T.contiguous().requires_grad_()
    policy = Policy((1,), [-1], [1], (4,), "gaussian", **pinned_std.FAULT)
    _, log_std = policy.mean_and_log_std(outputs)
    notes = outputs[:, 1:].clamp(128, 2)
    assert torch.equal(log_std, notes)
    assert log_std.exp().flatten().tolist() == pytest.approx([7.389] * 100, abs=1e-3)
    for clamped in (log_std, notes):
        (gradient,) = torch.autograd.grad(clamped.sum(), outputs)
        assert not gradient.any()


def trained(updates: int, **settings: Any) -> tuple[Policy, list[dict[str, Any]]]:
    torch.manual_seed(0)
    config = ppo.reinforce_config(
        num_steps=16,
        learning_rate=1e-2,
        ent_coef=1e-3,
        loss=ppo.log_prob_loss,
        hidden=(8,),
        **settings,
    )
    envs = make_vec_env(Push, 8)
    spaces = envs.single_observation_space, envs.single_action_space
    agent = ppo.Agent(ppo.new_policy(*spaces, config), config)
    stream = ppo.train(agent, envs, 128 * updates, 0)
    return agent.policy, [told for _, told in stream]


def fires(told: dict[str, Any]) -> bool:
    seen = "bounded_std_fraction", "log_std_grad_norm", "log_std"
    return pinned_std.fires(*(float(told[name]) for name in seen))


def test_it_fires_at_every_update_of_the_twin() -> None:
    _, told = trained(20, **pinned_std.FAULT)
    assert all(fires(one) for one in told)
    assert {one["log_std"].item() for one in told} == {pinned_std.LOG_STD}


def test_it_is_quiet_on_the_healthy_run_which_learns_to_shake_less() -> None:
    policy, told = trained(40)
    assert not any(fires(one) for one in told)
    assert told[-1]["log_std"] < told[0]["log_std"] - 0.5
    assert policy.act(np.ones((1, 1))).item() == pytest.approx(0.5, abs=0.3)


def test_it_is_quiet_where_only_some_deviations_are_at_their_bounds() -> None:
    assert not pinned_std.fires(0.9, 0.1, 2.0)
    assert not pinned_std.fires(1.0, 0.1, 2.0)
    assert pinned_std.fires(1.0, 0.0, 2.0)


def test_it_is_quiet_where_a_policy_has_come_down_to_its_lower_bound() -> None:
    assert not pinned_std.fires(1.0, 0.0, -2.0)
