"""Chapter "GAIL": who pays for the end, on CartPole and Acrobot, and whether a world is needed at all.

Every variant differs from the first one of its experiment by what its override says. `expert` trains the DQN whose
play the demonstrations are.
"""

from collections.abc import Callable, Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from rlnotes.algos import bc, dqn, gail, ppo
from rlnotes.algos.policy import Policy
from rlnotes.autopsies import fresh_sample, survival
from rlnotes.data import datasets
from rlnotes.data.rollouts import Episode
from rlnotes.data.transitions import Transitions
from rlnotes.experiments.base import Experiment, Settings, Trial, World, evaluated

CARTPOLE, ACROBOT = World("CartPole-v1"), World("Acrobot-v1")
CARTPOLE_EXPERT, ACROBOT_EXPERT = (f"rlnotes/{name}/expert-v0" for name in ("cartpole", "acrobot"))

GAIL: Settings = {
    "generator": "ppo",
    "demonstrations": 10,
    "reward": "either",
    "after_end": "in place",
    "task_weight": 0.0,
    "sees_actions": True,
    "gradient_penalty": 10.0,
    "spectral": False,
    "discriminator_epochs": 2,
    "discriminator_rate": 3e-4,
    "ratio": "stored",
    "discount": 0.99,
    "envs": 8,
    "length": 128,
    "epochs": 10,
    "learning_rate": 3e-4,
    "anneal": True,
    "hidden": [64, 64],
}


def demonstrations(settings: Settings, seed: int) -> list[Episode]:
    """Each training seed is shown episodes of its own, as far as there are enough of them."""
    episodes, count = datasets.load(settings["dataset"]), settings["demonstrations"]
    return [episodes[number % len(episodes)] for number in range(seed * count, (seed + 1) * count)]


def learner(settings: Settings) -> ppo.Config:
    common = {
        "discount": settings["discount"],
        "length": settings["length"],
        "learning_rate": settings["learning_rate"],
        "anneal": settings["anneal"],
        "hidden": tuple(settings["hidden"]),
    }
    if settings["generator"] == "reinforce":
        return ppo.reinforce_config(**common)
    return ppo.Config(epochs=settings["epochs"], **common)


def new_agent(policy: Policy, settings: Settings) -> gail.Agent:
    config = gail.Config(
        reward=survival.PAYS[settings["reward"]],
        after_end=settings["after_end"],
        task_weight=settings["task_weight"],
        sees_actions=settings["sees_actions"],
        gradient_penalty=settings["gradient_penalty"],
        spectral=settings["spectral"],
        epochs=settings["discriminator_epochs"],
        learning_rate=settings["discriminator_rate"],
        learner=learner(settings),
    )
    agent = gail.Agent(policy, config)
    if settings["ratio"] == "fresh":
        agent.learner.log_prob_of = fresh_sample.log_prob_of_fresh
    return agent


def many(make: Callable[[], gym.Env], count: int) -> SyncVectorEnv:
    return SyncVectorEnv([make] * count, autoreset_mode=AutoresetMode.SAME_STEP)


def start_gail(world: World, settings: Settings, seed: int) -> Trial:
    torch.manual_seed(seed)
    shown = demonstrations(settings, seed)
    states = np.concatenate([episode.observations for episode in shown])
    envs, hidden, steps = many(world.make, settings["envs"]), tuple(settings["hidden"]), settings["steps"]
    spaces = envs.single_observation_space, envs.single_action_space
    policy = Policy.for_spaces(*spaces, hidden, "gaussian", states.mean(0), states.std(0) + 1e-3)
    stream: Iterator[tuple[int, Any]]
    if settings["generator"] == "bc":
        cloned = bc.Agent(policy, bc.Config(learning_rate=settings["learning_rate"], hidden=hidden))
        steps = settings["updates"]
        stream = bc.train(cloned, Transitions.from_episodes(shown), steps)
    else:
        stream = gail.train(new_agent(policy, settings), envs, shown, steps, seed, warn=False)
    return Trial(policy, steps, evaluated(policy.act, stream, steps, world, settings))


def start_expert(world: World, settings: Settings, seed: int) -> Trial:
    """DQN on the task's own reward, until an evaluation is good enough to be shown to somebody."""
    torch.manual_seed(seed)
    steps = settings["expert_steps"]
    config = dqn.Config(
        learning_rate=settings["expert_rate"],
        anneal=True,
        capacity=steps,
        epsilon_steps=steps // 5,
        update_every=2,
        target_every=settings["target_every"],
    )
    env = world.make()
    policy = Policy.for_spaces(env.observation_space, env.action_space, config.hidden)
    stream = dqn.train(dqn.Agent(policy, config), env, steps, seed)
    return Trial(policy, steps, evaluated(policy.act, stream, steps, world, settings))


def starting(world: World) -> Callable[[Settings, int], Trial]:
    def start(settings: Settings, seed: int) -> Trial:
        begin = start_expert if settings["generator"] == "dqn" else start_gail
        return begin(world, settings, seed)

    return start
