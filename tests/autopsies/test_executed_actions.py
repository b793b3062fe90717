"""The mixture's actions taken for the learner's: what the gradient becomes, and the
diagnostic that tells at the first update."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from rlnotes.algos import aggrevated
from rlnotes.algos.aggrevated import Config
from rlnotes.algos.experts import Expert
from rlnotes.autopsies import executed_actions
from rlnotes.envs.vector import make_vec_env

CART, ARM = "CartPole-v1", "Pendulum-v1"


def leans(obs: np.ndarray) -> np.ndarray:
    """Pushes to where the pole leans."""
    return (obs[:, 2] > 0).astype(np.int64)


def brakes(obs: np.ndarray) -> np.ndarray:
    return np.clip(-obs[:, 2:], -2, 2)


EXPERTS = {
    CART: Expert(leans, lambda obs, action: 1 + (action == (obs[:, 2] > 0)).float()),
    ARM: Expert(brakes, lambda obs, action: -(action + obs[:, 2:])[:, 0].square()),
}


def diagnosed(world: str, updates: int, **settings: Any) -> list[float]:
    """The diagnostic, update by update."""
    torch.manual_seed(0)
    config = Config(hidden=(16,), num_steps=32, batch_size=256, **settings)
    envs = make_vec_env(lambda: gym.make(world), 8)
    spaces = envs.single_observation_space, envs.single_action_space
    agent = aggrevated.Agent(aggrevated.new_policy(*spaces, config), config)
    stream = aggrevated.train(agent, EXPERTS[world], envs, 256 * updates, 0)
    return [float(told["first_score_deviation"]) for _, told in stream]


@pytest.mark.parametrize("world", [CART, ARM])
def test_the_diagnostic_fires_on_the_twin_from_the_first_update_on(world: str) -> None:
    told = diagnosed(world, 4, **executed_actions.FAULT)
    assert all(executed_actions.fires(value) for value in told[:2])  # β is 1, then ½


@pytest.mark.parametrize("world", [CART, ARM])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"baseline": "none", "weight_scale": aggrevated.min_max},
        {"actions": aggrevated.rollout_actions},
        {"gradient": "one_step", "initial_beta": 0.5},
    ],
    ids=["fresh", "min-max", "drawn in the rollout", "one step"],
)
def test_it_is_quiet_if_the_learner_drew_the_actions(
    world: str, settings: dict[str, Any]
) -> None:
    """Whatever else may be wrong with their weights."""
    told = diagnosed(world, 12, **settings)
    assert not any(executed_actions.fires(value) for value in told)


@pytest.mark.parametrize("world", [CART, ARM])
@pytest.mark.parametrize("beta", [0.0, 0.5])
def test_the_twin_differs_in_that_alone(world: str, beta: float) -> None:
    """From the same roll-in both take the same step, if the learner has played all of
    it: then what was executed is what it drew. (Fresh draws would be others, and no
    less the learner's.)"""
    found = []
    for actions in (aggrevated.rollout_actions, executed_actions.executed_actions):
        torch.manual_seed(0)
        config = Config(hidden=(16,), num_steps=32, batch_size=256, actions=actions)
        envs = make_vec_env(lambda: gym.make(world), 8)
        spaces = envs.single_observation_space, envs.single_action_space
        agent = aggrevated.Agent(aggrevated.new_policy(*spaces, config), config)
        collector = aggrevated.Collector(agent, EXPERTS[world], envs, 0)
        played = collector.roll_in(beta)
        aggrevated.update(agent, EXPERTS[world], played)
        found.append((played, [*agent.policy.net.parameters()]))
    (one, healthy), (other, twin) = found
    assert torch.equal(one.executed, other.executed)
    for column, same in zip(one.rollout, other.rollout, strict=True):
        assert torch.equal(column, same)
    equal = [
        torch.allclose(*pair, atol=1e-6) for pair in zip(healthy, twin, strict=True)
    ]
    assert all(equal) == (beta == 0)


def test_with_the_fault_a_better_action_is_never_heard_of() -> None:
    """The expert always takes the worse of two actions. A* says so, and the healthy
    learner leaves it; with the fault it is cloned, or nothing happens at all."""
    worse = Expert(
        lambda obs: np.zeros(len(obs), np.int64), lambda obs, action: 1 + action.float()
    )

    def chance_of_the_better(**settings: Any) -> float:
        torch.manual_seed(0)
        config = Config(hidden=(16,), num_steps=16, learning_rate=1e-2, **settings)
        envs = make_vec_env(lambda: gym.make(CART), 8)
        spaces = envs.single_observation_space, envs.single_action_space
        agent = aggrevated.Agent(aggrevated.new_policy(*spaces, config), config)
        collector = aggrevated.Collector(agent, worse, envs, 0)
        for _ in range(20):
            aggrevated.update(agent, worse, collector.roll_in(1.0))
        outputs = agent.policy.net(torch.zeros(1, 4))
        return torch.softmax(outputs, -1)[0, 1].item()

    assert chance_of_the_better() > 0.9
    assert chance_of_the_better(**executed_actions.FAULT, baseline="none") < 0.1
    assert chance_of_the_better(**executed_actions.FAULT) == pytest.approx(0.5, abs=0.1)
