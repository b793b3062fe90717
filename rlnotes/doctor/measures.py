"""The numbers that checks go by, made of what a training loop has.

A measure is a function under the name of its number; its arguments are things that the
caller gives (`examination.GIVEN`) or other measures. Where there are several ways to a
number, the first is taken whose arguments are there.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rlnotes.algos import ppo
from rlnotes.autopsies import (
    corrupted_successor,
    identical_copies,
    rare_ends,
    raw_pixels,
    return_ceiling,
    short_horizon,
    silent_discriminator,
    time_limits,
)
from rlnotes.autopsies.covariate_shift import DistanceToData
from rlnotes.data.rollouts import BatchPolicy, Episode, rollout
from rlnotes.data.transitions import Batch
from rlnotes.doctor.checks import CannotTell
from rlnotes.seeding import reset_seeds

Measure = Callable[..., Any]
MEASURES: dict[str, list[Measure]] = {}

EPISODES, HORIZON = 5, 1_000  # what is played to see what comes of a promise


def measure(function: Measure) -> Measure:
    """Put a function in the list, under its name up to two underscores."""
    MEASURES.setdefault(function.__name__.split("__")[0], []).append(function)
    return function


def needs(function: Measure) -> tuple[str, ...]:
    return tuple(inspect.signature(function).parameters)


def array(value: Any) -> np.ndarray:
    """Of tensors with or without a graph, lists and arrays."""
    return (
        value.detach().cpu().numpy() if isinstance(value, Tensor) else np.array(value)
    )


def batch(replay: Any) -> Batch:
    """Five columns, under their names or in their order."""
    if isinstance(replay, Batch):
        return replay
    names = Batch._fields
    columns = (
        [replay[name] for name in names] if isinstance(replay, Mapping) else replay
    )
    if len(columns) != len(names):
        raise CannotTell(f"a replay has the columns {', '.join(names)}")
    return Batch(*(torch.as_tensor(array(column)) for column in columns))


# --- episodes and transitions


@measure
def longest_episode(episodes: Sequence[Episode]) -> int:
    return max(len(episode.rewards) for episode in episodes)


@measure
def terminated_lengths(episodes: Sequence[Episode]) -> list[int]:
    return time_limits.terminated_lengths(episodes)


@measure
def longest_chain(replay: Any, num_envs: int, time_limit: int) -> int:
    rows = batch(replay)
    if len(rows.obs) // num_envs <= time_limit + 1:
        raise CannotTell(
            f"the replay holds no more than the {time_limit:,} steps of an episode from"
            " each environment"
        )
    return corrupted_successor.longest_chain(rows, num_envs)


@measure
def same_starts(episodes: Sequence[Episode]) -> bool:
    first = episodes[0].observations[0]
    return all(np.array_equal(one.observations[0], first) for one in episodes)


@measure
def observations__of_replay(replay: Any) -> np.ndarray:
    return array(batch(replay).obs)


@measure
def observations__of_episodes(episodes: Sequence[Episode]) -> np.ndarray:
    return np.concatenate([episode.observations for episode in episodes])


@measure
def reward_min__of_replay(replay: Any) -> float:
    return float(batch(replay).reward.min())


@measure
def reward_max__of_replay(replay: Any) -> float:
    return float(batch(replay).reward.max())


@measure
def reward_min__of_episodes(episodes: Sequence[Episode]) -> float:
    return min(float(episode.rewards.min()) for episode in episodes)


@measure
def reward_max__of_episodes(episodes: Sequence[Episode]) -> float:
    return max(float(episode.rewards.max()) for episode in episodes)


@measure
def different_observations(vector_obs: np.ndarray) -> int:
    return identical_copies.different_observations(array(vector_obs))


@measure
def times_usual_distance(
    demonstrations: Sequence[Episode], episodes: Sequence[Episode]
) -> float:
    distance = DistanceToData(demonstrations)
    return float(np.median([distance.farthest(one) for one in episodes]))


# --- what a network sees


@measure
def largest_input__seen(seen: np.ndarray) -> float:
    return raw_pixels.largest_input(array(seen))


@measure
def largest_input__scaled(
    observations: np.ndarray, obs_mean: np.ndarray, obs_std: np.ndarray
) -> float:
    return raw_pixels.largest_input((array(observations) - obs_mean) / obs_std)


# --- a policy and its updates


@measure
def first_ratio_deviation(log_prob: Any, old_log_prob: Any) -> float:
    new, old = array(log_prob), array(old_log_prob)
    if new.shape != old.shape:
        raise CannotTell(
            f"log_prob has the shape {new.shape} and old_log_prob {old.shape}"
        )
    return float(np.abs(np.exp(new - old) - 1).max())


@measure
def first_value_grad_share(value_loss: Tensor, value: Tensor, target: Tensor) -> float:
    return float(ppo.grad_share(value_loss, value, target))


@measure
def bounded_std_fraction(unbounded_log_std: Any, log_std: Any) -> float:
    return float((array(unbounded_log_std) != array(log_std)).mean())


@measure
def mean_log_std(log_std: Any) -> float:
    return float(array(log_std).mean())


@measure
def horizon_seconds(
    gamma: float, gae_lambda: float, frame_skip: int, frames_per_second: float
) -> float:
    per_step = short_horizon.seconds(gamma, gae_lambda, frame_skip)
    return per_step * short_horizon.FRAMES_PER_SECOND / frames_per_second


# --- values


@torch.no_grad()
def _q_of_actions(q: Any, rows: Batch) -> Tensor:
    return q(rows.obs).gather(1, rows.action.long().view(-1, 1)).squeeze(1)


@measure
def q_data(q: Any, replay: Any) -> float:
    return float(_q_of_actions(q, batch(replay)).mean())


@measure
def end_error(q: Any, replay: Any) -> float:
    rows = batch(replay)
    if not rows.terminated.any():
        raise CannotTell("no row of the replay ends the task")
    return rare_ends.end_error(q, rows._replace(action=rows.action.view(-1, 1)))


@measure
def value_mean__of_critic(critic: Any, replay: Any) -> float:
    rows = batch(replay)
    with torch.no_grad():
        return float(array(critic(rows.obs, rows.action)).mean())


@measure
def value_mean__of_q(q_data: float) -> float:
    return q_data


@measure
def played_starts(make_env: Any, policy: BatchPolicy) -> list[Episode]:
    """In worlds of their own and for long, as the critic values an endless task."""
    starts = reset_seeds("select", 0, EPISODES)
    return rollout(lambda: make_env(max_episode_steps=HORIZON), policy, starts)


@measure
def q_promised(
    played_starts: Sequence[Episode], critic: Any, policy: BatchPolicy
) -> float:
    obs = np.stack([episode.observations[0] for episode in played_starts])
    with torch.no_grad():
        said = critic(torch.as_tensor(obs), torch.as_tensor(policy(obs)))
    return float(array(said).mean())


@measure
def q_true(played_starts: Sequence[Episode], gamma: float) -> float:
    return float(np.mean([one.discounted_return(gamma) for one in played_starts]))


# --- rewards


@measure
def positive_reward_fraction(learned_rewards: Any) -> float:
    return float((array(learned_rewards) > 0).mean())


@measure
def expert_logits(discriminator: Any, expert_features: Any) -> np.ndarray:
    with torch.no_grad():
        return array(discriminator(torch.as_tensor(expert_features)))


@measure
def policy_logits(discriminator: Any, policy_features: Any) -> np.ndarray:
    with torch.no_grad():
        return array(discriminator(torch.as_tensor(policy_features)))


@measure
def disc_accuracy(expert_logits: np.ndarray, policy_logits: np.ndarray) -> float:
    return silent_discriminator.accuracy(array(expert_logits), array(policy_logits))


@measure
def disc_loss(expert_logits: np.ndarray, policy_logits: np.ndarray) -> float:
    return silent_discriminator.loss(array(expert_logits), array(policy_logits))


@measure
def linear_accuracy(expert_features: Any, policy_features: Any) -> float:
    return silent_discriminator.linear_accuracy(
        array(expert_features), array(policy_features)
    )


@measure
def ceiling(wrap: Any, frames: int) -> float:
    return return_ceiling.ceiling(wrap, frames)
