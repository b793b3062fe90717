"""A world before anybody learns in it: its spaces, seeds, ends, rewards and speed.

It is played at random from seeded starts. The checks of `checks` that a world can be
asked for are among the findings; those of this module are about the world alone.
"""

import time
import warnings
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env

from rlnotes.autopsies import constant_feature
from rlnotes.data.rollouts import Episode, play_together
from rlnotes.doctor.examination import examine
from rlnotes.doctor.findings import Exhibit, Finding, Report
from rlnotes.envs import checks
from rlnotes.errors import UserError
from rlnotes.seeding import reset_seeds

EPISODES, LONGEST = 5, 2_000  # played at random; one that is longer has no end here
MOST_NUMBERS = 20_000_000  # of all observations, that are looked at
MOST_FEATURES = 64  # that a plot has room for
READ = "book/worlds.html#custom-gym"


@dataclass(frozen=True)
class Played:
    """What a world was asked to do."""

    make: Callable[[], gym.Env[Any, Any]]
    env_id: str
    seed: int
    episodes: list[Episode]
    inner: list[float]  # the return of each, as the innermost world paid it
    seconds: float
    flattened: bool  # its observations are no box by themselves

    @cached_property
    def observations(self) -> np.ndarray:
        """One per row; of large pictures only some, at equal distances."""
        numbers = sum(one.observations.size for one in self.episodes)
        every = -(-numbers // MOST_NUMBERS)
        rows = np.concatenate([one.observations[::every] for one in self.episodes])
        return rows.reshape(len(rows), -1)

    @property
    def rewards(self) -> np.ndarray:
        return np.concatenate([one.rewards for one in self.episodes])

    @property
    def steps(self) -> int:
        return len(self.rewards)


def examine_env(
    env_id: str,
    believed_return: float | None = None,
    episodes: int = EPISODES,
    seed: int = 0,
    **options: Any,
) -> Report:
    """A report on a registered world; `options` are those of `gymnasium.make`."""

    def make() -> gym.Env[Any, Any]:
        return flat(made(env_id, **options))

    with closing(made(env_id, **options)) as env:
        limit = env.spec.max_episode_steps if env.spec else None
        threshold = env.spec.reward_threshold if env.spec else None
        shown, acts = env.observation_space, env.action_space
    if not shown.is_np_flattenable:
        what = type(shown).__name__
        raise UserError(f"{env_id} observes a {what} that cannot be flattened to a box")
    seen: Any = shown if _is_box(shown) else spaces.flatten_space(shown)
    played = play(make, env_id, episodes, seed, flattened=not _is_box(shown))
    own = [finding for look in LOOKS if (finding := look(played, seen)) is not None]
    general = examine(
        env_id,
        NOT_OF_A_WORLD,
        episodes=played.episodes,
        time_limit=limit,
        seen=None if played.flattened else _as_seen(played.observations, seen),
        ceiling=ceiling(played, limit),
        believed_return=_reached(played, limit, threshold)
        if believed_return is None
        else believed_return,
    )
    facts = {
        "observations": f"{shown} with a typical size of up to"
        f" {np.sqrt(np.square(played.observations.astype(float)).mean(0)).max():.3g}",
        "actions": f"{acts}",
        "episodes": _lengths(played, limit),
        "rewards": _rewards(played, limit),
        "speed": f"{played.steps / played.seconds:,.0f} steps per second, at random",
    }
    return Report(
        env_id,
        (*own, *general.findings),
        general.quiet,
        general.unexamined,
        facts,
        exhibits(played),
    )


OF_A_TRAINING = (
    *("replay", "log_prob", "value_loss", "value_grad_norm", "unbounded_log_std"),
    *("target_updates", "explored", "learned_rewards", "discriminator"),
    *("entropies", "approx_kls", "make_env", "critic", "q", "demonstrations"),
    *("first_score_deviation", "continued_fractions", "vector_obs", "gamma"),
    *("obs_std", "obs_mean", "first_state_share", "actions"),
)
NOT_OF_A_WORLD = dict.fromkeys(OF_A_TRAINING, "this is a world, not a training") | {
    "time_limit": "the world has no time limit",
    "seen": "the world shows no box, and who learns makes one of it",
    "wrap": "what a perfect episode pays is known only where all steps pay the same",
    "believed_return": "nobody says what a perfect episode is worth (--believed)",
}


def flat(env: gym.Env[Any, Any]) -> gym.Env[Any, Any]:
    """Observations as one box, whatever they are."""
    shown = env.observation_space
    return env if _is_box(shown) else gym.wrappers.FlattenObservation(env)


def _is_box(space: spaces.Space[Any]) -> bool:
    return isinstance(space, spaces.Box)


def made(env_id: str, **options: Any) -> gym.Env[Any, Any]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return gym.make(env_id, **options)
    except Exception as problem:
        said = " ".join(str(problem).split())
        raise UserError(
            f"'{env_id}' cannot be made ({type(problem).__name__}: {said}). Give the id"
            " of a registered world, with the module that registers it in front:"
            " my_package:MyWorld-v0"
        ) from problem


def play(
    make: Callable[[], Any], env_id: str, episodes: int, seed: int, flattened: bool
) -> Played:
    """Random episodes, each from a seeded start, with what the innermost world paid
    beside what came out of its wrappers."""
    found, inner = [], []
    with closing(make()) as env:
        paid = _watch(env.unwrapped)

        def at_random(obs: np.ndarray) -> np.ndarray:
            return np.array([env.action_space.sample()])

        started = time.perf_counter()
        for start in reset_seeds("select", seed, episodes):
            env.action_space.seed(start)
            paid.clear()
            try:
                (one,) = play_together([_Patient(env)], at_random, [start])
            except Exception as problem:
                said = " ".join(str(problem).split())
                raise UserError(
                    f"{env_id} fails while it is played at random:"
                    f" {type(problem).__name__}: {said}"
                ) from problem
            found.append(one)
            inner.append(float(sum(paid)))
        seconds = time.perf_counter() - started
    return Played(make, env_id, seed, found, inner, seconds, flattened)


class _Patient(gym.Wrapper[Any, Any, Any, Any]):
    """Ends what does not end by itself."""

    def reset(self, **options: Any) -> Any:
        self._steps = 0
        return self.env.reset(**options)

    def step(self, action: Any) -> Any:
        obs, reward, terminated, truncated, info = self.env.step(action)
        self._steps += 1
        return obs, reward, terminated, truncated or self._steps >= LONGEST, info


def _watch(world: Any) -> list[float]:
    """What the innermost world pays from now on."""
    paid: list[float] = []
    step = world.step

    def watched(action: Any) -> Any:
        result = step(action)
        paid.append(float(result[1]))
        return result

    world.step = watched
    return paid


# --- what a perfect episode pays


def ceiling(played: Played, limit: int | None) -> float | None:
    """Where every step pays the same and more is better: that, to the time limit."""
    rewards = played.rewards
    if limit is None or np.ptp(rewards) > 0 or rewards[0] <= 0:
        return None
    return float(rewards[0]) * limit


def _reached(played: Played, limit: int | None, believed: float | None) -> float | None:
    """A threshold below the ceiling is reached before the end of a perfect episode."""
    most = ceiling(played, limit)
    return believed if believed is None or most is None else max(believed, most)


def _as_seen(observations: np.ndarray, space: spaces.Box) -> np.ndarray:
    """Libraries divide pictures by 255, and nothing else."""
    return observations / 255 if space.dtype == np.uint8 else observations


# --- facts


def _lengths(played: Played, limit: int | None) -> str:
    lengths = [len(one.rewards) for one in played.episodes]
    ended = sum(one.terminated for one in played.episodes)
    return (
        f"{min(lengths)} to {max(lengths)} steps at random, {ended} of {len(lengths)}"
        f" ended by the task; time limit {'none' if limit is None else f'{limit:,}'}"
    )


def _rewards(played: Played, limit: int | None) -> str:
    rewards = played.rewards
    returns = [one.total_reward for one in played.episodes]
    words = (
        f"{rewards.min():.4g} to {rewards.max():.4g} per step, returns"
        f" {min(returns):.4g} to {max(returns):.4g} at random"
    )
    most = ceiling(played, limit)
    if most is not None:
        words += f"; a perfect episode pays {most:,.6g}"
    if any(one.terminated for one in played.episodes):
        if rewards.min() > 0:
            words += "; every step pays, so living long is what is rewarded"
        if rewards.max() < 0:
            words += "; every step costs, so ending soon is what is rewarded"
    return words


def exhibits(played: Played) -> tuple[Exhibit, ...]:
    rows = played.observations
    shown: list[tuple[str, str, list[float]]] = [
        (
            "length of each random episode",
            "episode",
            [float(len(one.rewards)) for one in played.episodes],
        ),
        (
            "return of each random episode",
            "episode",
            [one.total_reward for one in played.episodes],
        ),
    ]
    if rows.shape[1] <= MOST_FEATURES:
        spread = rows.astype(float).std(0)
        shown.append(("spread of each feature", "feature", spread.tolist()))
    return tuple(
        Exhibit(title, range(len(values)), values, None, xlabel, "bars")
        for title, xlabel, values in shown
    )


# --- findings about the world alone


def _interface(played: Played, space: spaces.Box) -> Finding | None:
    """What Gymnasium's own checker raises. It also warns, of its own worlds too."""
    with warnings.catch_warnings(), closing(played.make()) as env:
        warnings.simplefilter("ignore")
        try:
            check_env(env.unwrapped, skip_render_check=True)
        except Exception as problem:
            return _finding(
                "interface",
                "Gymnasium's own checker objects",
                " ".join(str(problem).split())[:300],
                "Mend what it says: learners rely on it.",
            )
    return None


def _repeatable(played: Played, space: spaces.Box) -> Finding | None:
    try:
        checks.repeatable(played.env_id, played.seed, lambda _: played.make())
    except AssertionError as problem:
        return _finding(
            "repeatable",
            "the same seed does not give the same episode",
            str(problem),
            "Draw from `self.np_random` only, and put everything back in `reset`.",
        )
    except Exception as problem:
        return _finding(
            "repeatable",
            "it cannot be played twice",
            f"{type(problem).__name__}: {problem}",
            "Make `reset` work at any time.",
        )
    return None


def _different_starts(played: Played, space: spaces.Box) -> Finding | None:
    """The same actions after different seeds; a world may also draw in its steps."""
    starts = np.stack([one.observations[0].ravel() for one in played.episodes])
    actions = played.episodes[0].actions
    if len(starts) < 2 or (starts != starts[0]).any():
        return None
    with closing(played.make()) as env:
        for one in played.episodes[1:]:
            env.reset(seed=one.seed)
            steps = zip(actions, played.episodes[0].observations[1:], strict=True)
            if any((env.step(action)[0] != led_to).any() for action, led_to in steps):
                return None
    return _finding(
        "seeds",
        "a seed changes nothing",
        f"{len(starts)} seeds, one start, and the same steps after it",
        "Call `super().reset(seed=seed)` and draw the start from `self.np_random`, or"
        " know that the world is deterministic: then one evaluation episode is enough.",
    )


def _within_bounds(played: Played, space: spaces.Box) -> Finding | None:
    rows = played.observations
    low, high = space.low.ravel(), space.high.ravel()
    beyond = ~np.isfinite(rows) | (rows < low) | (rows > high)
    if not beyond.any():
        return None
    return _finding(
        "bounds",
        "observations leave their space",
        f"in {beyond.any(1).mean():.1%} of the steps, features"
        f" {np.flatnonzero(beyond.any(0))[:10].tolist()}",
        "Widen the space, or find out why they are not finite.",
    )


def _ends(played: Played, space: spaces.Box) -> Finding | None:
    endless = [one for one in played.episodes if len(one.rewards) >= LONGEST]
    if not endless:
        return None
    with closing(played.make()) as env:
        limit = env.spec.max_episode_steps if env.spec else None
    if limit is not None:
        return None
    return _finding(
        "endless",
        "episodes do not end",
        f"{len(endless)} of {len(played.episodes)} were still going on after"
        f" {LONGEST:,} steps, and there is no time limit",
        "Register it with `max_episode_steps`, or learners wait for ever.",
    )


def _finite_pay(played: Played, space: spaces.Box) -> Finding | None:
    lost = ~np.isfinite(played.rewards)
    if not lost.any():
        return None
    return _finding(
        "rewards",
        "rewards are not finite",
        f"in {lost.mean():.1%} of the steps",
        "Find out where they come from: one is enough to spoil a network.",
    )


def _changed_pay(played: Played, space: spaces.Box) -> Finding | None:
    outer = np.array([one.total_reward for one in played.episodes])
    inner = np.array(played.inner)
    same = np.allclose(outer, inner, rtol=1e-3, atol=1e-6, equal_nan=True)
    if same or not inner.any():
        return None
    share = float(np.abs(outer).sum() / max(1e-12, np.abs(inner).sum()))
    return _finding(
        "wrapped-pay",
        "wrappers change what an episode pays",
        f"an episode pays {share:.3g} times what the world inside pays",
        "Compare scores of the world inside, or convert them.",
        "book/pixels.html#pixels-ceiling",
    )


def _constant(played: Played, space: spaces.Box) -> Finding | None:
    if played.flattened or len(space.shape) > 1:
        return None  # a letter that is not drawn and a corner of a picture say nothing
    constant = constant_feature.never_varied(played.observations)
    if not len(constant) or len(constant) == played.observations.shape[1]:
        return None
    return _finding(
        "constant-feature",
        "a feature never varies",
        f"features {constant[:10].tolist()} in {played.steps:,} steps at random",
        "Leave it out, or make sure that nothing divides by its deviation.",
        "book/gail.html#gail-controls",
    )


LOOKS = (
    _interface,
    _repeatable,
    _different_starts,
    _within_bounds,
    _ends,
    _finite_pay,
    _changed_pay,
    _constant,
)


def _finding(
    name: str, title: str, evidence: str, remedy: str, read: str = READ
) -> Finding:
    return Finding(name, title, evidence, remedy, read, np.nan, np.nan)
