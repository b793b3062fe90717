"""Weights that tell states apart and not actions: the share by hand, and the diagnostic
on the twins and on healthy learners."""

from typing import Any

import gymnasium as gym
import pytest
import torch

from rlnotes.algos import aggrevated, ppo
from rlnotes.algos.aggrevated import Config
from rlnotes.algos.experts import Expert
from rlnotes.autopsies import state_weights
from rlnotes.envs.vector import make_vec_env


def brakes(obs: Any) -> Any:
    return (-obs[:, 2:]).clip(-2, 2)


def q(obs: torch.Tensor, action: torch.Tensor) -> torch.Tensor:
    """Far from upright nothing is worth much, whatever is done."""
    return 100 * obs[:, 0] - (action + obs[:, 2:].clamp(-2, 2))[:, 0].square()


EXPERT = Expert(brakes, q)
NO_BASELINE = {"baseline": "none", "weight_scale": aggrevated.min_max}


def new_agent(**settings: Any) -> tuple[aggrevated.Agent, Any]:
    torch.manual_seed(0)
    config = Config(hidden=(16,), num_steps=32, batch_size=256, **settings)
    envs = make_vec_env(lambda: gym.make("Pendulum-v1"), 8)
    spaces = envs.single_observation_space, envs.single_action_space
    return aggrevated.Agent(aggrevated.new_policy(*spaces, config), config), envs


def first_shares(**settings: Any) -> list[float]:
    agent, envs = new_agent(**settings)
    stream = aggrevated.train(agent, EXPERT, envs, 512, 0)
    return [float(told["first_state_share"]) for _, told in stream]


@pytest.mark.parametrize("fault", [state_weights.FAULT, NO_BASELINE])
def test_it_fires_on_what_tells_states_apart(fault: dict[str, Any]) -> None:
    assert all(map(state_weights.fires, first_shares(**fault)))


@pytest.mark.parametrize("actions", ["fresh_actions", "rollout_actions"])
def test_it_is_quiet_with_the_value_that_belongs_to_q(actions: str) -> None:
    shares = first_shares(actions=getattr(aggrevated, actions))
    assert not any(map(state_weights.fires, shares))


@pytest.mark.parametrize(
    ("by_state", "by_action", "share"), [(1.0, 0.0, 1.0), (0.0, 1.0, 0.0)]
)
def test_the_share_of_weights_that_depend_on_one_thing_alone(
    by_state: float, by_action: float, share: float
) -> None:
    agent, envs = new_agent(baseline="none")
    obs = torch.as_tensor(envs.reset(seed=0)[0]).repeat(500, 1)
    expert = Expert(brakes, lambda s, a: by_state * s[:, 0] + by_action * a[:, 0])
    outputs = agent.policy.net(agent.policy.encode_obs(obs))
    found = aggrevated.state_share(agent, expert, obs, outputs.detach())
    assert float(found) == pytest.approx(share, abs=0.03)


def test_a_look_leaves_the_draws_of_a_training_alone() -> None:
    agent, envs = new_agent()
    obs = torch.as_tensor(envs.reset(seed=0)[0])
    outputs = agent.policy.net(agent.policy.encode_obs(obs)).detach()
    torch.manual_seed(3)
    expected = ppo.output_distribution(agent.policy, outputs).sample()
    torch.manual_seed(3)
    aggrevated.state_share(agent, EXPERT, obs, outputs)
    assert torch.equal(
        ppo.output_distribution(agent.policy, outputs).sample(), expected
    )
