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
from rlnotes.doctor.checks import BY_CHANCE, NO_ORDER, CannotTell
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


def tensor(value: Any) -> Tensor:
    """As networks expect it: NumPy's numbers are twice as long."""
    made = value if isinstance(value, Tensor) else torch.as_tensor(array(value))
    return made.to(torch.get_default_dtype()) if made.dtype == torch.float64 else made


def batch(replay: Any) -> Batch:
    """Five columns, under their names or in their order. A row is a step, or the steps
    of several environments."""
    names = Batch._fields
    if isinstance(replay, Mapping):
        replay = [replay[name] for name in names if name in replay]
    if len(replay) != len(names):
        raise CannotTell(f"a replay has the columns {', '.join(names)}")
    rows = Batch(*(tensor(column) for column in replay))
    lengths = [len(column) for column in rows]
    if len(set(lengths)) > 1:
        raise CannotTell(f"the columns of the replay have {lengths} rows")
    if rows.terminated.ndim > 1 and rows.terminated.shape[1] > 1:
        rows = Batch(*(column.flatten(0, 1) for column in rows))
    reward, terminated = rows.reward.flatten(), rows.terminated.flatten()
    return rows._replace(reward=reward, terminated=terminated)


FORMS: dict[Any, Callable[[Any], Any]] = {
    np.ndarray: array,
    Tensor: tensor,
    Batch: batch,
}


def given_as(form: Any, value: Any) -> Any:
    """In the form in which a function asks for it."""
    return FORMS[form](value) if form in FORMS else value


def has_nan(value: Any) -> bool:
    if isinstance(value, Batch):
        return any(has_nan(column) for column in value)
    if isinstance(value, Tensor):
        return bool(value.isnan().any())
    if isinstance(value, np.ndarray | float):
        numbers = np.asarray(value)
        return numbers.dtype.kind == "f" and bool(np.isnan(numbers).any())
    return False


# --- episodes and transitions


@measure
def longest_episode(episodes: Sequence[Episode]) -> int:
    return max(len(episode.rewards) for episode in episodes)


@measure
def terminated_lengths__of_episodes(episodes: Sequence[Episode]) -> list[int]:
    return time_limits.terminated_lengths(episodes)


@measure
def terminated_lengths__of_replay(replay: Batch, num_envs: int) -> list[int]:
    found = []
    for env, linked in enumerate(corrupted_successor.links(replay, num_envs)):
        if corrupted_successor.longest_run(linked) <= BY_CHANCE:
            raise CannotTell(NO_ORDER)
        ends = array(replay.terminated[env::num_envs])
        found += time_limits.stored_lengths(ends, linked)
    return found


@measure
def longest_chain(replay: Batch, num_envs: int, time_limit: int) -> int:
    if len(replay.obs) // num_envs <= time_limit + 1:
        raise CannotTell(
            f"the replay holds no more than the {time_limit:,} steps of an episode from"
            " each environment"
        )
    return corrupted_successor.longest_chain(replay, num_envs)


@measure
def same_starts(episodes: Sequence[Episode]) -> bool:
    first = episodes[0].observations[0]
    return all(np.array_equal(one.observations[0], first) for one in episodes)


@measure
def observations__of_replay(replay: Batch) -> np.ndarray:
    return array(replay.obs)


@measure
def observations__of_episodes(episodes: Sequence[Episode]) -> np.ndarray:
    return np.concatenate([episode.observations for episode in episodes])


@measure
def reward_min__of_replay(replay: Batch) -> float:
    return float(replay.reward.min())


@measure
def reward_max__of_replay(replay: Batch) -> float:
    return float(replay.reward.max())


@measure
def reward_min__of_episodes(episodes: Sequence[Episode]) -> float:
    return min(float(episode.rewards.min()) for episode in episodes)


@measure
def reward_max__of_episodes(episodes: Sequence[Episode]) -> float:
    return max(float(episode.rewards.max()) for episode in episodes)


@measure
def different_observations(vector_obs: np.ndarray) -> int:
    return identical_copies.different_observations(vector_obs)


@measure
def num_envs(vector_obs: np.ndarray) -> int:
    return len(vector_obs)


@measure
def times_usual_distance(
    demonstrations: Sequence[Episode], episodes: Sequence[Episode]
) -> float:
    if len(demonstrations) < 2:
        raise CannotTell("it takes two demonstrations to say what is usual")
    distance = DistanceToData(demonstrations)
    return float(np.median([distance.farthest(one) for one in episodes]))


# --- what a network sees


@measure
def largest_input__seen(seen: np.ndarray) -> float:
    return raw_pixels.largest_input(seen)


@measure
def largest_input__scaled(
    observations: np.ndarray, obs_mean: np.ndarray, obs_std: np.ndarray
) -> float:
    return raw_pixels.largest_input((observations - obs_mean) / obs_std)


# --- a policy and its updates


@measure
def first_ratio_deviation(log_prob: np.ndarray, old_log_prob: np.ndarray) -> float:
    _same_shape(log_prob=log_prob, old_log_prob=old_log_prob)
    return float(np.abs(np.exp(log_prob - old_log_prob) - 1).max())


def _same_shape(**named: Any) -> None:
    """What is compared row by row must not be spread over rows and columns."""
    shapes = [f"{name} has the shape {tuple(x.shape)}" for name, x in named.items()]
    if len({tuple(x.shape) for x in named.values()}) > 1:
        raise CannotTell(" and ".join(shapes))


@measure
def first_value_grad_share(value_loss: Tensor, value: Tensor, target: Tensor) -> float:
    _same_shape(value=value, target=target)
    return float(ppo.grad_share(value_loss, value, target))


@measure
def bounded_std_fraction(unbounded_log_std: np.ndarray, log_std: np.ndarray) -> float:
    return float((unbounded_log_std != log_std).mean())


@measure
def mean_log_std(log_std: np.ndarray) -> float:
    return float(log_std.mean())


@measure
def horizon_seconds(
    gamma: float, gae_lambda: float, frame_skip: int, frames_per_second: float
) -> float:
    per_step = short_horizon.seconds(gamma, gae_lambda, frame_skip)
    return per_step * short_horizon.FRAMES_PER_SECOND / frames_per_second


# --- values


@torch.no_grad()
def _q_of_actions(q: Any, rows: Batch) -> Tensor:
    return tensor(q(rows.obs)).gather(1, rows.action.long().view(-1, 1)).squeeze(1)


@measure
def q_data(q: Any, replay: Batch) -> float:
    return float(_q_of_actions(q, replay).mean())


@measure
def end_error(q: Any, replay: Batch) -> float:
    if not replay.terminated.any():
        raise CannotTell("no row of the replay ends the task")
    return rare_ends.end_error(q, replay._replace(action=replay.action.view(-1, 1)))


@measure
def value_mean__of_critic(critic: Any, replay: Batch) -> float:
    with torch.no_grad():
        return float(array(critic(replay.obs, replay.action)).mean())


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
        said = critic(tensor(obs), tensor(policy(obs)))
    return float(array(said).mean())


@measure
def q_true(played_starts: Sequence[Episode], gamma: float) -> float:
    return float(np.mean([one.discounted_return(gamma) for one in played_starts]))


# --- rewards


@measure
def positive_reward_fraction(learned_rewards: np.ndarray) -> float:
    return float((learned_rewards > 0).mean())


@measure
def expert_logits(discriminator: Any, expert_features: Tensor) -> np.ndarray:
    with torch.no_grad():
        return array(discriminator(expert_features))


@measure
def policy_logits(discriminator: Any, policy_features: Tensor) -> np.ndarray:
    with torch.no_grad():
        return array(discriminator(policy_features))


@measure
def disc_accuracy(expert_logits: np.ndarray, policy_logits: np.ndarray) -> float:
    return silent_discriminator.accuracy(expert_logits, policy_logits)


@measure
def disc_loss(expert_logits: np.ndarray, policy_logits: np.ndarray) -> float:
    return silent_discriminator.loss(expert_logits, policy_logits)


@measure
def linear_accuracy(expert_features: np.ndarray, policy_features: np.ndarray) -> float:
    return silent_discriminator.linear_accuracy(expert_features, policy_features)


@measure
def ceiling(wrap: Any, frames: int) -> float:
    return return_ceiling.ceiling(wrap, frames)
