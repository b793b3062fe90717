"""PPO against PPO: how fast each learns, and where our time goes.

Contestants take turns, and a turn is one rollout and what is learnt from it. Whichever
of SB3's own vectors is faster in a turn is what all are compared with.

The shares are those of our turn. Collecting and learning are timed apart; within
collecting, EnvPool alone plays the same actions, and the network alone sees the same
observations, once step by step as in play, and once all in one batch, which is what it
would cost without a call for every step. The loop is what is left of collecting:
Python, the reset in the step that ends an episode, and writing it all down.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from gymnasium.vector import VectorEnv

from rlnotes.algos import ppo, sb3
from rlnotes.experiments.backends import Player, Task, envpool
from rlnotes.experiments.base import Metrics, Trial
from rlnotes.experiments.turns import median_ratio, seconds_per_call

Play = Callable[[], Any]
OURS, SB3_OWN = "ours", ("sb3_dummy", "sb3_subproc")


@dataclass(frozen=True)
class Contestant:
    label: str
    enter: Callable[[Any, int], AbstractContextManager[Play]]  # settings and a seed


@contextmanager
def our_turns(
    agent: ppo.Agent, envs: VectorEnv, steps: int, seed: int
) -> Iterator[Play]:
    with closing(envs):
        yield partial(next, ppo.train(agent, envs, steps, seed))


@contextmanager
def sb3_turns(config: ppo.Config, envs: Any, steps: int, seed: int) -> Iterator[Play]:
    with closing(envs):
        model = sb3.ppo(envs, seed, steps, **sb3.ppo_options(config))
        rollout = envs.num_envs * config.num_steps
        yield lambda: model.learn(rollout, reset_num_timesteps=False)


class Parts:
    """Of our turn, each alone, on the rollout that was collected last."""

    def __init__(
        self, agent: ppo.Agent, envs: VectorEnv, seed: int, env_id: str
    ) -> None:
        self.agent, self.envs = agent, envs
        self.collector = ppo.Collector(agent.policy, envs, seed)
        self.collect()
        actions = ppo.played(agent.policy, self.rollout.action)
        self.task = Task(env_id, envs.num_envs, seed, actions)
        self.players: dict[str, Player] = {"envpool": envpool(self.task, 1)}

    def collect(self) -> None:
        self.rollout = self.collector.rollout(self.agent.config.num_steps)

    def learn(self) -> None:
        ppo.update(self.agent, self.rollout)

    @torch.no_grad()
    def draw(self, obs: torch.Tensor) -> None:
        policy = self.agent.policy
        ppo.draw(policy, policy.net(policy.encode_obs(obs)))

    def draw_each(self) -> None:
        for obs in self.rollout.obs:
            self.draw(obs)

    def plays(self) -> dict[str, Play]:
        return {
            "collecting": self.collect,
            **{name: player.play for name, player in self.players.items()},
            "network": self.draw_each,
            "network_in_one_batch": lambda: self.draw(self.rollout.obs.flatten(0, 1)),
            "learning": self.learn,
        }

    def close(self) -> None:
        self.envs.close()
        for player in self.players.values():
            player.close()


@dataclass(frozen=True)
class Race:
    """For settings with `num_envs` and a PPO as `agent`. Among the contestants are
    `OURS` and those of `SB3_OWN`."""

    contestants: Mapping[str, Contestant]
    parts: Callable[[Any, int], Parts]

    def start(self, settings: Any, seed: int) -> Trial:
        return Trial(None, settings.steps, self.measure(settings, seed))

    def measure(self, settings: Any, seed: int) -> Iterator[tuple[int, Metrics]]:
        torch.set_num_threads(1)
        rollout = settings.num_envs * settings.agent.num_steps
        load = {"load_average": os.getloadavg()[0]}
        with ExitStack() as stack:
            plays = {
                name: stack.enter_context(one.enter(settings, seed))
                for name, one in self.contestants.items()
            }
            parts = stack.enter_context(closing(self.parts(settings, seed)))
            turns = settings.steps // rollout - 1  # the first rollout warms up
            seconds = seconds_per_call(plays | parts.plays(), turns)
        speeds = {name: rollout / seconds.pop(name) for name in plays}
        whole = rollout / speeds[OURS]
        yield settings.steps, load | compared(speeds) | shares(seconds, whole)


def compared(speeds: Mapping[str, np.ndarray]) -> Metrics:
    best = np.max([speeds[name] for name in SB3_OWN], axis=0)
    found: Metrics = {}
    for name, speed in speeds.items():
        found[f"{name}_steps_per_second"] = float(np.median(speed))
        found[f"{name}_times_sb3"] = median_ratio(speed, best)
    return found


def shares(parts: Mapping[str, np.ndarray], whole: np.ndarray) -> Metrics:
    loop = parts["collecting"] - parts["envpool"] - parts["network"]
    return {
        f"{name}_share": median_ratio(x, whole)
        for name, x in {**parts, "loop": loop}.items()
    }
