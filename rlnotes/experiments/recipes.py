"""How each dataset of the book is made: which policy plays, in which environment, from which seeds."""

from dataclasses import dataclass
from typing import Literal

import gymnasium as gym
import numpy as np

from rlnotes import paths
from rlnotes.algos import sac
from rlnotes.algos.policy import Policy
from rlnotes.data import datasets
from rlnotes.data.rollouts import BatchPolicy, rollout
from rlnotes.errors import unknown
from rlnotes.experiments import td3bc
from rlnotes.seeding import reset_seeds


@dataclass(frozen=True)
class Recipe:
    """Who plays: a trained policy without or with its exploration noise, or uniform random actions."""

    dataset_id: str
    env_id: str
    behaviour: Literal["deterministic", "exploring", "random"]
    checkpoint: str  # id and variant of the run whose seed 0 plays; random play needs none
    episodes: int
    description: str


_PENDULUM_EXPERT = "td3bc/pendulum/online-expert"

RECIPES = {
    recipe.dataset_id: recipe
    for recipe in (
        Recipe(
            dataset_id=td3bc.EXPERT,
            env_id=td3bc.ENV,
            behaviour="deterministic",
            checkpoint=_PENDULUM_EXPERT,
            episodes=500,
            description="A fully trained SAC policy without noise, as in the notes.",
        ),
        Recipe(
            dataset_id=td3bc.MEDIUM,
            env_id=td3bc.ENV,
            behaviour="exploring",
            checkpoint="td3bc/pendulum/online-half",
            episodes=500,
            description="A half-trained SAC policy with its exploration noise.",
        ),
        Recipe(
            dataset_id=td3bc.RANDOM,
            env_id=td3bc.ENV,
            behaviour="random",
            checkpoint="",
            episodes=500,
            description="Uniformly random actions.",
        ),
    )
}

COLLECTING_SEED = 1_000_000  # far from the seeds of training runs, so the starts are others, too


def find(dataset_id: str) -> Recipe:
    if dataset_id not in RECIPES:
        raise unknown("dataset", dataset_id, list(RECIPES))
    return RECIPES[dataset_id]


def make(recipe: Recipe) -> float:
    """Collect and write the dataset; returns the mean return of what was collected."""
    policy = _behaviour(recipe)
    starts = reset_seeds("train", COLLECTING_SEED, recipe.episodes)
    episodes = rollout(lambda: gym.make(recipe.env_id), policy, starts, progress=recipe.dataset_id)
    mean = float(np.mean([episode.total_reward for episode in episodes]))
    datasets.create(
        recipe.dataset_id,
        recipe.env_id,
        episodes,
        algorithm=recipe.checkpoint or "uniform random actions",
        description=f"{recipe.description} Mean return {mean:.1f} over {recipe.episodes} episodes.",
        random_return=_mean_return(recipe.env_id, _random_play(recipe.env_id)),
        expert_return=_mean_return(recipe.env_id, _load(_PENDULUM_EXPERT).act),
    )
    return mean


def _behaviour(recipe: Recipe) -> BatchPolicy:
    if recipe.behaviour == "random":
        return _random_play(recipe.env_id)
    policy = _load(recipe.checkpoint)
    return policy.act if recipe.behaviour == "deterministic" else sac.exploring(policy, COLLECTING_SEED)


def _load(run: str) -> Policy:
    experiment_id, variant = run.rsplit("/", 1)
    path = paths.checkpoints("full") / run / "seed-0.safetensors"
    return Policy.load(path, f"python -m rlnotes run {experiment_id} --variant {variant} --seed 0 --budget full")


def _random_play(env_id: str) -> BatchPolicy:
    space = gym.make(env_id).action_space
    assert isinstance(space, gym.spaces.Box)
    rng = np.random.default_rng(COLLECTING_SEED)
    return lambda obs: rng.uniform(space.low, space.high, (len(obs), *space.shape)).astype(space.dtype)


def _mean_return(env_id: str, policy: BatchPolicy) -> float:
    episodes = rollout(lambda: gym.make(env_id), policy, reset_seeds("evaluate", 0, 100))
    return float(np.mean([episode.total_reward for episode in episodes]))
