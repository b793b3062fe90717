"""A training that is interrupted, and goes on with a copy of its agent, ends where it
would have ended.

For learners that play this holds to the last bit only if the world is at the start of
an episode that is always the same: so it is here, where every episode is one step long.
"""

import copy
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass, replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from rlnotes.algos import (
    aggrevated,
    bc,
    dqn,
    fitted_q,
    gail,
    offline_gail,
    ppo,
    reinforce,
    sac,
    sac_bc,
    td3_bc,
)
from rlnotes.algos.experts import Expert
from rlnotes.algos.networks import Eye
from rlnotes.algos.policy import Head, Policy
from rlnotes.data.frames import FrameTransitions
from rlnotes.data.rollouts import Episode
from rlnotes.data.transitions import Transitions
from rlnotes.envs.vector import make_vec_env

Stream = Iterator[tuple[int, dict[str, Tensor]]]
STEPS = 64

PLACES = gym.spaces.Box(-9, 9, (2,), np.float32)
PUSH = gym.spaces.Box(-2, 2, (1,), np.float32)
PUSHES: gym.spaces.Discrete = gym.spaces.Discrete(3)
SMALL: dict[str, Any] = {"hidden": (8,), "batch_size": 8}
GENERATOR = ppo.Config(**SMALL, num_steps=8, update_epochs=2, anneal_lr=True)
GENERATOR = replace(GENERATOR, ent_coef=0.1, anneal_ent_coef=True)
NORM_OBS = replace(GENERATOR, norm_obs=True)
GAIL = gail.Config(disc_hidden=(8,), disc_batch_size=8, generator=GENERATOR)


class Once(gym.Env[np.ndarray, Any]):
    """One push: the reward is how far it goes."""

    observation_space = PLACES

    def __init__(self, action_space: gym.spaces.Space) -> None:
        self.action_space = action_space

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return np.ones(2, np.float32), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        push = float(np.asarray(action).item())
        return np.full(2, push, np.float32), push, True, False, {}


class Seen(Once):
    """The same, as pictures: a stack of two of them."""

    observation_space = gym.spaces.Box(0, 255, (2, 8, 8), np.uint8)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return np.full((2, 8, 8), 7, np.uint8), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        _, push, *rest = super().step(action)
        shown = np.full((2, 8, 8), 7, np.uint8)
        shown[1] += int(push)
        return shown, push, *rest  # type: ignore[return-value]


def data(discrete: bool) -> list[Episode]:
    rng = np.random.default_rng(0)
    seen = rng.normal(size=(41, 2)).astype(np.float32)
    actions = rng.integers(3, size=40) if discrete else rng.uniform(-2, 2, (40, 1))
    return [Episode(0, seen, actions, rng.normal(size=40), True, False)]


def policy(space: gym.spaces.Space, head: Head = "tanh") -> Policy:
    return Policy.for_spaces(PLACES, space, (8,), head)


def generator(space: gym.spaces.Space = PUSHES) -> Policy:
    return ppo.new_policy(PLACES, space, GENERATOR)


EYE = Eye(filters=((4, 4, 2),), units=8)
SHARED = replace(GENERATOR, share_network=True, hidden=())
A2C = ppo.a2c_config(hidden=(), num_steps=4, anneal_lr=True)


def seeing(config: ppo.Config) -> ppo.Agent:
    space = Seen.observation_space
    return ppo.Agent(ppo.new_policy(space, PUSHES, config, eye=EYE), config)


DQN = dqn.Config(
    **SMALL, learning_starts=9, buffer_size=40, target_update_interval=7, anneal_lr=True
)
SAC = sac.Config(**SMALL, learning_starts=40, buffer_size=50)
AGGREVATED = aggrevated.Config(
    **SMALL, num_steps=8, gradient="exact", aggregate=True, anneal_lr=True
)
FAR = Expert(lambda obs: np.full(len(obs), 2), lambda obs, action: action.float())
REINFORCE = reinforce.Config(hidden=(8,), episodes_per_update=5)

LEARNERS: dict[str, tuple[Callable[[], Any], Callable[[Any], Stream]]] = {
    "bc": (
        lambda: bc.Agent(policy(PUSH), bc.Config(**SMALL)),
        lambda agent: bc.train(agent, Transitions.from_episodes(data(False)), STEPS),
    ),
    "td3_bc": (
        lambda: td3_bc.Agent(policy(PUSH), td3_bc.Config(**SMALL)),
        lambda agent: td3_bc.train(
            agent, Transitions.from_episodes(data(False)), STEPS
        ),
    ),
    "sac_bc": (
        lambda: sac_bc.Agent(policy(PUSH, "gaussian"), sac_bc.Config(**SMALL)),
        lambda agent: sac_bc.train(
            agent, Transitions.from_episodes(data(False)), STEPS
        ),
    ),
    "offline_gail": (
        lambda: gail.Agent(generator(), GAIL),
        lambda agent: offline_gail.train(
            agent, Transitions.from_episodes(data(True)), STEPS
        ),
    ),
    "dqn": (
        lambda: dqn.Agent(policy(PUSHES), DQN),
        lambda agent: dqn.train(agent, Once(PUSHES), STEPS, 0),
    ),
    "dqn_pictures": (
        lambda: dqn.Agent(
            Policy.for_spaces(Seen.observation_space, PUSHES, (), eye=EYE), DQN
        ),
        lambda agent: dqn.train(agent, make_vec_env(lambda: Seen(PUSHES), 2), STEPS, 0),
    ),
    "ppo_pictures": (
        lambda: seeing(SHARED),
        lambda agent: ppo.train(agent, make_vec_env(lambda: Seen(PUSHES), 2), STEPS, 0),
    ),
    "a2c": (
        lambda: seeing(A2C),
        lambda agent: ppo.train(agent, make_vec_env(lambda: Seen(PUSHES), 2), STEPS, 0),
    ),
    "sac": (
        lambda: sac.Agent(policy(PUSH, "gaussian"), SAC),
        lambda agent: sac.train(agent, Once(PUSH), STEPS, 0),
    ),
    "reinforce": (
        lambda: reinforce.Agent(policy(PUSHES), REINFORCE),
        lambda agent: reinforce.train(agent, Once(PUSHES), STEPS, 0),
    ),
    "ppo": (
        lambda: ppo.Agent(generator(PUSH), GENERATOR),
        lambda agent: ppo.train(agent, make_vec_env(lambda: Once(PUSH), 2), STEPS, 0),
    ),
    "ppo_norm_obs": (
        lambda: ppo.Agent(generator(PUSH), NORM_OBS),
        lambda agent: ppo.train(agent, make_vec_env(lambda: Once(PUSH), 2), STEPS, 0),
    ),
    "aggrevated": (
        lambda: aggrevated.Agent(policy(PUSHES), AGGREVATED),
        lambda agent: aggrevated.train(
            agent, FAR, make_vec_env(lambda: Once(PUSHES), 2), STEPS, 0
        ),
    ),
    "fitted_q": (
        lambda: fitted_q.Agent(policy(PUSHES), FAR.act, fitted_q.Config(**SMALL)),
        lambda agent: fitted_q.train(
            agent, Transitions.from_episodes(data(True)), STEPS
        ),
    ),
    "gail": (
        lambda: gail.Agent(generator(), GAIL),
        lambda agent: gail.train(
            agent, make_vec_env(lambda: Once(PUSHES), 2), data(True), STEPS, 0
        ),
    ),
}


def copy_state(source: Any, target: Any) -> None:
    """All that an agent may keep its state in; anything else fails."""
    for name, value in vars(source).items():
        other = getattr(target, name)
        if isinstance(value, nn.Module | torch.optim.Optimizer):
            other.load_state_dict(copy.deepcopy(value.state_dict()))
        elif isinstance(value, nn.Parameter):
            other.data.copy_(value.data)
        elif isinstance(value, Transitions | FrameTransitions):
            other.load_state(copy.deepcopy(value.state()))
        elif isinstance(value, np.random.Generator):
            other.bit_generator.state = value.bit_generator.state
        elif isinstance(value, Tensor | int | float):
            setattr(target, name, copy.deepcopy(value))
        elif type(value).__name__ == "Agent":
            copy_state(value, other)
        else:
            assert is_dataclass(value) or callable(value), name


def numbers(row: tuple[int, dict[str, Tensor]]) -> tuple[int, dict[str, float]]:
    step, diagnostics = row
    return step, {name: float(value) for name, value in diagnostics.items()}


@pytest.mark.parametrize("learner", list(LEARNERS))
@pytest.mark.parametrize("interrupted", [16, 48])
def test_a_copy_goes_on_where_the_first_was_interrupted(
    learner: str, interrupted: int
) -> None:
    new_agent, train = LEARNERS[learner]
    torch.manual_seed(0)
    whole = [numbers(row) for row in train(new_agent())]
    torch.manual_seed(0)
    first = new_agent()
    half = []
    for row in train(first):
        half.append(numbers(row))
        assert row[0] == first.step  # the counter is ahead of the yield
        if row[0] == interrupted:
            break
    state = torch.get_rng_state()
    second = new_agent()
    copy_state(first, second)
    torch.set_rng_state(state)
    assert half + [numbers(row) for row in train(second)] == whole
    assert second.step == STEPS


@pytest.mark.parametrize("learner", list(LEARNERS))
def test_a_training_that_is_over_does_nothing_more(learner: str) -> None:
    new_agent, train = LEARNERS[learner]
    agent = new_agent()
    agent.step = STEPS
    assert list(train(agent)) == []
