"""How trials are built that differ only in their data, their world and their
learner."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import VectorEnv

from rlnotes.algos import bc, dqn, reinforce, sac, sac_bc, td3_bc
from rlnotes.algos.policy import Head, Policy
from rlnotes.data import datasets
from rlnotes.data.rollouts import Episode
from rlnotes.data.transitions import Transitions
from rlnotes.experiments.base import (
    Diagnose,
    Settings,
    Trial,
    World,
    new_trial,
    nothing_more,
)
from rlnotes.experiments.settings import Override

ObsScale = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def standardised(observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation of the data, as the authors of TD3+BC scale states."""
    return observations.mean(0), observations.std(0) + 1e-3


def unit_variance(observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same without the small number that keeps a constant column finite."""
    return observations.mean(0), observations.std(0)


def raw(observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    width = observations.shape[1]
    return np.zeros(width), np.ones(width)


def beginning(share: float) -> Override:
    """Over the first steps only, with what is annealed falling as if the rest came:
    beside the beginning of a whole run it differs in nothing else."""
    return {"length": share, "annealing_length": 1 / share}


def as_recorded(episode: Episode) -> Episode:
    return episode


@dataclass(frozen=True, kw_only=True)
class OfflineSettings(Settings):
    """A learner and the fixed data that it learns from."""

    agent: td3_bc.Config | bc.Config | sac_bc.Config
    dataset: str
    prepare: Callable[[Episode], Episode] = as_recorded  # each episode, before learning
    obs_scale: ObsScale = standardised

    def episodes(self) -> list[Episode]:
        found = datasets.load(self.dataset, limit=self.budget.dataset_episodes)
        return [self.prepare(episode) for episode in found]


OFFLINE: dict[type, tuple[Any, Head]] = {
    bc.Config: (bc, "tanh"),
    td3_bc.Config: (td3_bc, "tanh"),
    sac_bc.Config: (sac_bc, "gaussian"),
}


def offline_policy(
    world: World, settings: OfflineSettings, data: Transitions
) -> Policy:
    scale = settings.obs_scale(data.all().obs.numpy())
    _, head = OFFLINE[type(settings.agent)]
    return Policy.for_spaces(*world.spaces(), settings.agent.hidden, head, *scale)


def offline_trial(
    world: World,
    settings: OfflineSettings,
    data: Transitions,
    diagnosed: Callable[[Any], Diagnose] = lambda agent: nothing_more,
) -> Trial:
    """Any learner of `OFFLINE` on any data; `diagnosed` makes a diagnosis of its
    agent."""
    learner, _ = OFFLINE[type(settings.agent)]
    policy = offline_policy(world, settings, data)
    agent = learner.Agent(policy, settings.agent)
    stream = learner.train(agent, data, settings.steps)
    return new_trial(policy, agent, stream, world, settings, diagnosed(agent))


@dataclass(frozen=True, kw_only=True)
class OnlineSettings(Settings):
    """A learner that plays for itself."""

    agent: dqn.Config | sac.Config | reinforce.Config
    layer_norm: bool = False


ONLINE: dict[type, tuple[Any, Head]] = {
    dqn.Config: (dqn, "argmax"),
    sac.Config: (sac, "gaussian"),
    reinforce.Config: (reinforce, "argmax"),
}


def online_trial(
    world: World,
    settings: OnlineSettings,
    seed: int,
    env: gym.Env | VectorEnv | None = None,
    diagnosed: Callable[[Any], Diagnose] = lambda agent: nothing_more,
) -> Trial:
    """Any learner of `ONLINE` in a world; `env` where it trains in another one, or in a
    vector of them."""
    learner, head = ONLINE[type(settings.agent)]
    env = env or world.make()
    spaces = env.observation_space, env.action_space
    if isinstance(env, VectorEnv):
        spaces = env.single_observation_space, env.single_action_space
    policy = Policy.for_spaces(
        *spaces,
        settings.agent.hidden,
        head,
        layer_norm=settings.layer_norm,
    )
    agent = learner.Agent(policy, settings.agent)
    stream = learner.train(agent, env, settings.steps, seed)
    return new_trial(policy, agent, stream, world, settings, diagnosed(agent))


def observations(episodes: Sequence[Episode]) -> np.ndarray:
    return np.concatenate([episode.observations for episode in episodes])
