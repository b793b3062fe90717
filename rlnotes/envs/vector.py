"""Many worlds that advance together, so that a network is asked once for all of them.

The one place that makes vectors of worlds, with whichever library, and the one contract
for the ends of their episodes: libraries differ in it, and a learner that reads one of
them as if it were another learns from steps that never happened.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, get_args

import gymnasium as gym
import numpy as np
from gymnasium.vector import (
    AsyncVectorEnv,
    AutoresetMode,
    SyncVectorEnv,
    VectorEnv,
    VectorWrapper,
)
from gymnasium.vector.utils import batch_space

from rlnotes.errors import UserError, unknown

Backend = Literal["sync", "async", "native", "envpool"]

NO_LIMIT = -1  # as a `max_episode_steps`, in Gymnasium too
INT32_MAX = 2**31 - 1


def make_vec_env(
    world: str | Callable[[], gym.Env[Any, Any]],
    num_envs: int,
    backend: Backend = "sync",
    **options: Any,
) -> VectorEnv:
    """`num_envs` copies of a world side by side, as one Gymnasium vector.

    ## World
    The id of a registered world, which `options` belong to, or a function that makes
    one (for "sync" and "async"). `max_episode_steps` is an option of every id: −1 means
    no limit, `None` the registered one.

    ## Backends
    - "sync": one after the other in this process. Any world.
    - "async": each in a process of its own. Any world; pays where a step takes longer
      than to send it, from about a tenth of a millisecond on.
    - "native": the world's own vector, all copies in one array. CartPole has one.
    - "envpool": in C++ (Weng et al., 2022); its own list of worlds. One thread, unless
      the option `num_threads` says otherwise.

    ## Ends
    Where an episode ends, the next one begins in the same step:
    `metadata["autoreset_mode"]` is `SAME_STEP`. So every action is played, and every
    step is a transition of one episode.
    - `terminated`: the task is over. `truncated`: the time is. In a step that is both,
      both are true.
    - `reward` belongs to the step that was played.
    - In rows where neither is true, the observation is where the step led. In the
      others it is the first of the next episode; where the step led is the same row of
      `infos["final_obs"]`, and `infos["_final_obs"]` is true there. `led_to` puts the
      two together. Without an end there is no `final_obs`.

    Gymnasium's default, and EnvPool's only way, is to reset in the *next* step: its
    action is ignored, its reward is 0, and the pair of a last and a first observation
    that it returns is no transition.

    ## Seeds
    `reset(seed=[...])` takes one for each copy, `reset(seed=s)` means s, s + 1, ...:
    the same seeds give the same bits. Later episodes go on with each copy's generator.
    In "native" all copies share one, which the seeds make together. EnvPool reads seeds
    only when it is made, so it is made again; its generator is not NumPy's, so that the
    starts of one seed differ from those of the other backends.
    """
    if backend not in get_args(Backend):
        raise unknown("backend", backend, get_args(Backend))
    if num_envs < 1:
        raise UserError(f"a vector has at least 1 world, not {num_envs}")
    if not isinstance(world, str) and (options or backend in ("native", "envpool")):
        raise UserError(
            f"backend '{backend}' with the options {list(options)} needs the id of a"
            " world: a function that makes one takes no options and can only be used"
            " with 'sync' and 'async'"
        )
    if backend == "native":
        return NativeVectorEnv(str(world), num_envs, **options)
    if backend == "envpool":
        return EnvPoolVectorEnv(str(world), num_envs, **options)
    vector = SyncVectorEnv if backend == "sync" else AsyncVectorEnv
    make = (lambda: gym.make(world, **options)) if isinstance(world, str) else world
    envs = vector([make] * num_envs, autoreset_mode=AutoresetMode.SAME_STEP)
    # Gymnasium writes into the metadata of the world's class, which all its vectors
    # share: the next one made would change what this one says of itself.
    envs.metadata = {**envs.metadata, "autoreset_mode": AutoresetMode.SAME_STEP}
    return envs


class SeededStarts(gym.Wrapper[Any, Any, Any, Any]):
    """A world in which every episode begins with the next of `starts`, unless its reset
    is given another seed."""

    def __init__(self, env: gym.Env[Any, Any], starts: Iterator[int]) -> None:
        super().__init__(env)
        self._starts = starts

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        seed = next(self._starts) if seed is None else seed
        return self.env.reset(seed=seed, options=options)


def as_vector(env: gym.Env[Any, Any] | VectorEnv, starts: Iterator[int]) -> VectorEnv:
    """A single world as a vector of one, whose episodes begin with `starts` one after
    the other. A vector stays what it is, and its copies draw their starts."""
    if isinstance(env, VectorEnv):
        return env
    return make_vec_env(lambda: SeededStarts(env, starts), 1)


def led_to(obs: np.ndarray, infos: dict[str, Any]) -> np.ndarray:
    """Where each step of a vector led: the last observation of an episode that ended in
    it, not the first of the next."""
    if "final_obs" not in infos:
        return obs
    over = infos["_final_obs"]
    result = obs.copy()
    result[over] = np.stack(list(infos["final_obs"][over]))
    return result


def require_same_step(envs: VectorEnv, learner: str) -> None:
    """Refuse a vector whose steps are not all transitions."""
    if envs.metadata.get("autoreset_mode") != AutoresetMode.SAME_STEP:
        raise UserError(
            f"{learner} needs environments that reset in the step that ends an episode:"
            " make them with make_vec_env, which uses AutoresetMode.SAME_STEP"
        )


def require_different_copies(envs: VectorEnv, seed: int = 0, steps: int = 10) -> None:
    """Refuse a vector that shows one world many times, whatever its copies do.

    EnvPool 0.8.4 did so with NumPy 2: it was built for NumPy 1 and repeated the first
    row. Copies may start alike, so they are given different actions. The vector must be
    reset again afterwards.
    """
    obs, _ = envs.reset(seed=seed)
    envs.action_space.seed(seed)
    for _ in range(steps):
        if (obs != obs[:1]).any() or envs.num_envs == 1:
            return
        obs, *_ = envs.step(envs.action_space.sample())
    raise UserError(
        f"all {envs.num_envs} environments show the same observations after different"
        " actions: reinstall the library behind them for this version of NumPy, or"
        " use backend='sync'"
    )


class NativeVectorEnv(VectorWrapper):
    """A world's own vector, reset in the step that ends an episode.

    Those of Gymnasium do so in the next one, and their interface cannot reset some rows
    alone. CartPole's state is one array, so here these rows are written into it, drawn
    as it draws them itself.
    """

    env: Any  # `CartPoleVectorEnv`

    def __init__(self, env_id: str, num_envs: int, **options: Any) -> None:
        native = gym.spec(env_id).vector_entry_point
        if native != gym.spec("CartPole-v1").vector_entry_point:
            found = "no native vector" if native is None else "another one"
            raise UserError(
                "only CartPole's native vector can be reset row by row, and"
                f" {env_id} has {found}: use backend='sync' or 'async'"
            )
        registered = gym.spec(env_id).max_episode_steps
        limit = _limit(options.pop("max_episode_steps", None), registered)
        more = {"max_episode_steps": limit} | options
        super().__init__(gym.make_vec(env_id, num_envs, "vector_entry_point", **more))
        self.metadata = {
            **self.env.metadata,
            "autoreset_mode": AutoresetMode.SAME_STEP,
        }

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        if isinstance(seed, Sequence):
            _check_count(seed, self.num_envs)
            seed = int(np.random.SeedSequence(list(seed)).generate_state(1)[0])
        return self.env.reset(seed=seed, options=options)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        env = self.env
        obs, reward, terminated, truncated, infos = env.step(actions)
        over = env.prev_done
        if over.any():
            infos = {"final_obs": obs, "_final_obs": over}
            size = (4, over.sum())
            env.state[:, over] = env.np_random.uniform(env.low, env.high, size)
            env.steps[over] = 0
            env.prev_done = np.zeros_like(over)
            obs = env.state.T.astype(np.float32)
        return obs, reward, terminated, truncated, infos


class EnvPoolVectorEnv(VectorEnv):
    """EnvPool, reset in the step that ends an episode.

    Rows that ended are reset at once, so that EnvPool never gets to do it in the next
    step. The time limit is counted here: EnvPool's own is one step later and never
    reached, because it calls a task truncated that is over in its last step. EnvPool
    does not know the bounds of most observations, so Gymnasium's world of the same name
    says what they are.

    BipedalWalker-v3 and BipedalWalkerHardcore-v3 are Gymnasium's: the same observations
    in the same order, the same rewards (−100 for a fall), ends and limits (1,600 and
    2,000 steps), so that a policy of one can be judged in the other. After the same
    first push the same actions give the same walk, to about a thousandth 40 steps
    later; the Box2D behind it is another version, and walking is chaotic.
    """

    def __init__(self, env_id: str, num_envs: int, **options: Any) -> None:
        try:
            import envpool
        except ImportError as problem:
            raise UserError(
                f"EnvPool cannot be imported on this machine ({problem}): install"
                " envpool==1.2.5, or use backend='sync'"
            ) from problem
        if env_id not in envpool.list_all_envs():
            raise UserError(
                f"EnvPool has no world {env_id}: envpool.list_all_envs() lists what it"
                " has, and backend='sync' takes any world"
            )
        limit = options.pop("max_episode_steps", None)
        self._options = {"num_threads": 1} | options
        try:
            spec = envpool.make_spec(env_id, **self._options)
        except TypeError as problem:
            names = ", ".join(envpool.make_spec(env_id).config._fields)
            raise UserError(
                f"EnvPool's {env_id} has no such option ({problem}), only: {names}"
            ) from problem
        self._limit = _limit(limit, spec.config.max_episode_steps)
        self._pool_limit = self._limit + 1
        self._make = envpool.make_gymnasium
        self._env_id, self.num_envs = env_id, num_envs
        self._pool: Any = None
        self._more: dict[str, Any] = {}  # what EnvPool says besides, of the last step
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}
        self.single_observation_space, self.single_action_space = self._spaces()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def _spaces(self) -> tuple[gym.Space[Any], gym.Space[Any]]:
        if self._env_id in gym.registry:
            env = gym.make(self._env_id)
            env.close()
            return env.observation_space, env.action_space
        pool = self._new_pool([0] * self.num_envs)
        return pool.observation_space, pool.action_space

    def _new_pool(self, seeds: Sequence[int]) -> Any:
        wrapped = np.array(seeds, np.uint32).astype(np.int32)  # the type of its seeds
        pool = self._make(
            self._env_id,
            num_envs=self.num_envs,
            seed=wrapped.tolist(),
            max_episode_steps=int(min(self._pool_limit, INT32_MAX)),
            **self._options,
        )
        with warnings.catch_warnings():  # it warns of how it rounds its own bounds
            warnings.simplefilter("ignore")
            assert pool.observation_space is not None
        return pool

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        if seed is None and self._pool is None:
            seed = np.random.default_rng().integers(INT32_MAX, size=self.num_envs)
        if seed is not None:
            if isinstance(seed, int):
                seed = range(seed, seed + self.num_envs)
            _check_count(seed, self.num_envs)
            self._pool = self._new_pool(seed)
        obs, self._more = self._pool.reset()
        return obs, {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        if self._pool is None:
            raise gym.error.ResetNeeded(
                "reset the environments before their first step"
            )
        if len(actions) != self.num_envs:  # EnvPool would read beyond their end
            raise ValueError(f"{len(actions)} actions for {self.num_envs} environments")
        obs, reward, terminated, _, self._more = self._pool.step(actions)
        truncated = self._more["elapsed_step"] >= self._limit
        over = terminated | truncated
        infos = {}
        if over.any():
            infos = {"final_obs": obs, "_final_obs": over}
            obs = obs.copy()
            obs[over] = self._pool.reset(np.flatnonzero(over))[0]
        return obs, reward, terminated, truncated, infos

    def close_extras(self, **kwargs: Any) -> None:
        self._pool = None  # its threads end with it


def _limit(given: int | None, registered: int | None) -> float:
    """Steps of an episode, infinite where there is no limit."""
    if given is None:
        given = NO_LIMIT if registered is None else registered
    if given < 1 and given != NO_LIMIT:
        raise UserError(f"max_episode_steps is at least 1, or −1 for none, not {given}")
    return np.inf if given == NO_LIMIT else given


def _check_count(seeds: Sequence[int], num_envs: int) -> None:
    if len(seeds) != num_envs:
        raise UserError(f"{len(seeds)} seeds for {num_envs} environments: give as many")
