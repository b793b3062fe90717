"""How each dataset of the book is made: who plays, in which environment, from where."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import gymnasium as gym
import numpy as np
from torch import Tensor

from rlnotes.algos.policy import Policy, load_policy, load_tensors
from rlnotes.data import catalogue, datasets, waypoints
from rlnotes.data.demonstrators import PurePursuit, Unsteady, keyboard_person
from rlnotes.data.rollouts import BatchPolicy, Episode, play_together, rollout
from rlnotes.errors import unknown
from rlnotes.experiments import experts
from rlnotes.paths import Run
from rlnotes.progress import bar
from rlnotes.seeding import reset_seeds

RACECAR = "rlnotes/RaceCar-v0"
UMAZE = "rlnotes/UMaze-v0"
DART_NOISE = 0.15  # deviation of the noise on steering and throttle
PERTURBED = {"start_noise": 1.0}
# Within 2 mm: what is left stands for a person's own variation.
ONE_START = {"start_noise": 0.02}

COLLECTING_SEED = 1_000_000  # far from those of training runs, so the starts are others


@dataclass(frozen=True)
class Recipe:
    """`player` makes whoever plays; a person with a memory is made anew for every
    episode.

    Where the data is not one episode from each of many starts, `collect` makes all of
    it.
    """

    dataset_id: str
    env_id: str
    player: Callable[[], BatchPolicy]
    expert: Callable[[], BatchPolicy]  # whose mean return is the dataset's reference
    description: str
    episodes: int = 0
    env_options: dict[str, Any] = field(default_factory=dict)
    anew: bool = False
    collect: Callable[[], list[Episode]] | None = None
    on_demand: bool = False  # no chapter reads it, only its records do

    def make_env(self) -> gym.Env:
        return gym.make(self.env_id, **self.env_options)

    def play(self, starts: Sequence[int]) -> list[Episode]:
        if not self.anew:
            player = self.player()
            return rollout(self.make_env, player, starts, progress=self.dataset_id)
        env = self.make_env()
        try:
            return [
                play_together([env], self.player(), [start])[0]
                for start in bar(starts, desc=self.dataset_id)
            ]
        finally:
            env.close()


@cache
def recorded(run: Run) -> Policy:
    """The policy that a recorded run left behind."""
    key = f"seed-{run.seed}/last"
    return load_policy(run.checkpoint, key, run.owner, f"{run.command} --replace")


@cache
def recorded_tensors(run: Run) -> dict[str, Tensor]:
    """What it left behind besides (`Trial.arrays`)."""
    key = f"seed-{run.seed}/arrays"
    return load_tensors(run.checkpoint, key, run.owner, f"{run.command} --replace")


def _random_play(env_id: str) -> BatchPolicy:
    env = gym.make(env_id)
    env.close()
    space = env.action_space
    rng = np.random.default_rng(COLLECTING_SEED)
    if isinstance(space, gym.spaces.Discrete):
        return lambda obs: rng.integers(int(space.n), size=len(obs))
    assert isinstance(space, gym.spaces.Box)
    low, high, dtype = space.low, space.high, space.dtype
    return lambda obs: rng.uniform(low, high, (len(obs), *space.shape)).astype(dtype)


def _pendulum_expert() -> BatchPolicy:
    return recorded(experts.PENDULUM_EXPERT).act


def _pendulum_half_trained() -> BatchPolicy:
    """With the noise that it explores with."""
    rng = np.random.default_rng(COLLECTING_SEED)
    return partial(recorded(experts.PENDULUM_HALF_TRAINED).sample, rng=rng)


def _cartpole_expert() -> BatchPolicy:
    return recorded(experts.CARTPOLE_EXPERT).act


def _acrobot_expert() -> BatchPolicy:
    return recorded(experts.ACROBOT_EXPERT).act


def _drives(
    dataset_id: str,
    description: str,
    env_options: dict[str, Any],
    player: Callable[[], BatchPolicy] = PurePursuit,
    keys: bool = False,
    on_demand: bool = False,
) -> Recipe:
    """A hundred drives on the track."""
    return Recipe(
        dataset_id,
        RACECAR,
        player=keyboard_person if keys else player,
        expert=PurePursuit,
        episodes=100,
        description=description,
        env_options=env_options,
        anew=keys,
        on_demand=on_demand,
    )


RECIPES = {
    recipe.dataset_id: recipe
    for recipe in (
        Recipe(
            catalogue.PENDULUM_EXPERT,
            experts.PENDULUM_ENV,
            player=_pendulum_expert,
            expert=_pendulum_expert,
            episodes=500,
            description="A fully trained SAC policy without noise, as in the notes.",
        ),
        Recipe(
            catalogue.PENDULUM_MEDIUM,
            experts.PENDULUM_ENV,
            player=_pendulum_half_trained,
            expert=_pendulum_expert,
            episodes=500,
            description="A half-trained SAC policy with its exploration noise.",
        ),
        Recipe(
            catalogue.PENDULUM_RANDOM,
            experts.PENDULUM_ENV,
            player=lambda: _random_play(experts.PENDULUM_ENV),
            expert=_pendulum_expert,
            episodes=500,
            description="Uniformly random actions.",
        ),
        Recipe(
            catalogue.CARTPOLE_EXPERT,
            experts.CARTPOLE_ENV,
            player=_cartpole_expert,
            expert=_cartpole_expert,
            episodes=100,
            description="A DQN that never drops the pole.",
        ),
        Recipe(
            catalogue.ACROBOT_EXPERT,
            experts.ACROBOT_ENV,
            player=_acrobot_expert,
            expert=_acrobot_expert,
            episodes=100,
            description="A DQN that swings up in under 100 steps on average.",
        ),
        _drives(
            catalogue.RACECAR_CLEAN, "The scripted driver without noise.", PERTURBED
        ),
        _drives(
            catalogue.RACECAR_DART,
            "The scripted driver; the car executes its action with noise, the clean"
            " action is recorded.",
            {**PERTURBED, "action_noise": DART_NOISE},
        ),
        _drives(
            catalogue.RACECAR_KEYBOARD,
            "The scripted driver through arrow keys: notched, held and late.",
            PERTURBED,
            keys=True,
        ),
        _drives(
            catalogue.RACECAR_NOISY,
            "The scripted driver with noise on its actions, which are recorded as they"
            " were executed.",
            PERTURBED,
            player=lambda: Unsteady(PurePursuit(), COLLECTING_SEED),
        ),
        _drives(
            catalogue.RACECAR_ONE_START,
            "The scripted driver, always from the same start.",
            ONE_START,
            on_demand=True,
        ),
        _drives(
            catalogue.RACECAR_TWO_STEPS,
            "The scripted driver in a car that takes two physics steps for each"
            " action.",
            {**PERTURBED, "physics_steps": 2},
            on_demand=True,
        ),
        _drives(
            catalogue.RACECAR_RADIUS_2,
            "The scripted driver, with the finish at two metres.",
            {**PERTURBED, "finish_radius": 2.0},
            on_demand=True,
        ),
        _drives(
            catalogue.RACECAR_NOTES,
            "As in the notes: arrow keys, one start, two physics steps for each action,"
            " the finish at two metres.",
            {**ONE_START, "physics_steps": 2, "finish_radius": 2.0},
            keys=True,
        ),
        Recipe(
            catalogue.UMAZE,
            UMAZE,
            player=waypoints.Waypoints,
            expert=waypoints.Waypoints,
            description=f"The controller of {catalogue.UMAZE_PUBLISHED} with its noise,"
            " by the published recipe.",
            env_options={"moving_goal": True},
            collect=partial(waypoints.collect, progress=catalogue.UMAZE),
        ),
    )
}


def find(dataset_id: str) -> Recipe:
    if dataset_id not in RECIPES:
        raise unknown("dataset", dataset_id, RECIPES)
    return RECIPES[dataset_id]


def make(recipe: Recipe) -> float:
    """Collect and write the dataset; returns the mean return of what was collected."""
    if recipe.collect is None:
        starts = reset_seeds("train", COLLECTING_SEED, recipe.episodes)
        episodes, eval_env = recipe.play(starts), None
    else:
        episodes, eval_env = recipe.collect(), gym.make(recipe.env_id)
    mean = float(np.mean([episode.total_reward for episode in episodes]))
    about = f"Mean return {mean:.1f} over {len(episodes)} episodes."
    datasets.create(
        recipe.dataset_id,
        recipe.make_env(),
        episodes,
        algorithm="see the description",
        description=f"{recipe.description} {about}",
        random_return=_random_return(recipe.env_id),
        expert_return=_expert_return(recipe.env_id, recipe.expert),
        eval_env=eval_env,
    )
    return mean


@cache
def _random_return(env_id: str) -> float:
    return _mean_return(env_id, _random_play(env_id))


@cache
def _expert_return(env_id: str, expert: Callable[[], BatchPolicy]) -> float:
    return _mean_return(env_id, expert())


def _mean_return(env_id: str, policy: BatchPolicy) -> float:
    starts = reset_seeds("evaluate", 0, 100)
    episodes = rollout(lambda: gym.make(env_id), policy, starts)
    return float(np.mean([episode.total_reward for episode in episodes]))
