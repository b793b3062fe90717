"""The value clip around the returns: the fault by hand, and the diagnostic on it and on
PPO's two healthy value losses."""

from typing import Any

import pytest
import torch

from rlnotes.algos import ppo
from rlnotes.autopsies import value_clip
from rlnotes.envs.vector import make_vec_env

HEALTHY, FAULTY = ("pong/ppo", "first-third"), ("pong/ppo", "value-clip")


def test_the_twin_differs_by_exactly_one_setting(differing: Any) -> None:
    assert list(value_clip.FAULT) == ["value_loss"]
    assert differing(HEALTHY, FAULTY) == {"agent.value_loss"}


@pytest.mark.parametrize(
    ("target", "gradient"),
    [
        (3.0, 0.0),  # wrong by 2: nothing is learnt
        (1.5, 0.0),
        (1.05, -4 * 0.05),  # wrong by little: twice as much as −2 · 0.05
        (1.0, 0.0),
    ],
)
def test_the_gradient_by_hand(target: float, gradient: float) -> None:
    """V is 1, as it was, and a clip of 0.1."""
    value = torch.ones(1, requires_grad=True)
    fault = value_clip.FAULT["value_loss"]
    loss, _ = fault(value, torch.ones(1), torch.tensor([target]), 0.1)
    (found,) = torch.autograd.grad(loss, value)
    assert found.item() == pytest.approx(gradient, abs=1e-6)


def shares(**settings: Any) -> list[float]:
    """In training, on CartPole with rewards as large as V is wrong."""
    torch.manual_seed(0)
    config = ppo.Config(num_steps=16, batch_size=32, hidden=(16,), **settings)
    envs = make_vec_env("CartPole-v1", 4)
    spaces = envs.single_observation_space, envs.single_action_space
    agent = ppo.Agent(ppo.new_policy(*spaces, config), config)
    stream = ppo.train(agent, envs, 640, 0)
    return [float(x["first_value_grad_share"]) for _, x in stream]


def test_it_fires_on_the_fault_at_the_first_update() -> None:
    assert all(value_clip.fires(share) for share in shares(**value_clip.FAULT))


@pytest.mark.parametrize("loss", [ppo.squared_value_loss, ppo.clipped_value_loss])
def test_it_is_quiet_on_healthy_losses(loss: Any) -> None:
    assert not any(value_clip.fires(share) for share in shares(value_loss=loss))
