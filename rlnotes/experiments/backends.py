"""Ways to step many copies of a world, each as its library offers it.

Every player is given the same task: so many copies, the seeds of their first episodes,
and the actions, which are drawn beforehand. It plays them from first to last, again
each time that it is asked, and goes on where it stopped. So all of them do the same
work, and only the way differs.

Libraries that reset in the *next* step (Gymnasium's native vectors, EnvPool) ignore an
action there. That is no step of a world: it is not counted, and such a player plays
some actions more.
"""

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle
from typing import Any, Protocol

import gymnasium as gym
import numpy as np
from gymnasium.vector.utils import batch_space

from rlnotes.envs.atari import ENV_ID as PONG
from rlnotes.envs.vector import Backend as VectorBackend
from rlnotes.envs.vector import make_vec_env
from rlnotes.errors import UserError, unknown


@dataclass(frozen=True)
class Task:
    env_id: str
    num_envs: int
    seed: int  # of the first copy; the others have those that follow
    actions: np.ndarray  # (steps of each copy, copies, ...)

    @property
    def steps(self) -> int:
        return len(self.actions) * self.num_envs

    def make(self) -> gym.Env[Any, Any]:
        return gym.make(self.env_id)


def new_task(env_id: str, num_envs: int, steps: int, seed: int) -> Task:
    """`steps` of all copies together, in whole steps of each."""
    env = gym.make(env_id)
    space = batch_space(env.action_space, num_envs)
    env.close()
    space.seed(seed)
    each = max(1, steps // num_envs)
    actions = np.array([space.sample() for _ in range(each)])
    return Task(env_id, num_envs, seed, actions)


@dataclass(frozen=True)
class Work:
    """What a player did, and how long it took."""

    steps: int
    episodes: int  # that ended
    seconds: float


class Player(Protocol):
    def play(self) -> Work: ...

    def close(self) -> None: ...


@dataclass
class VectorPlayer:
    """`step` plays an action in every copy and tells how many episodes ended."""

    task: Task
    step: Callable[[Any], int]
    close: Callable[[], None]
    next_step: bool = False  # resets in the step after an end
    clock: Callable[[], float] = time.perf_counter
    _resets: int = field(default=0, init=False)  # that the next step will be

    def play(self) -> Work:
        steps = episodes = 0
        started = self.clock()
        for action in cycle(self.task.actions):
            ended = self.step(action)
            steps += self.task.num_envs - self._resets
            episodes += ended
            self._resets = ended if self.next_step else 0
            if steps >= self.task.steps:
                break
        return Work(steps, episodes, self.clock() - started)


# --- in Python


def plain_loop(task: Task, envs: Sequence[gym.Env[Any, Any]] = ()) -> VectorPlayer:
    envs = envs or [task.make() for _ in range(task.num_envs)]
    for copy, env in enumerate(envs):
        env.reset(seed=task.seed + copy)

    def step(actions: Any) -> int:
        ended = 0
        for env, action in zip(envs, actions, strict=True):
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()
                ended += 1
        return ended

    def close() -> None:
        for env in envs:
            env.close()

    return VectorPlayer(task, step, close)


def gymnasium_vector(task: Task, envs: Any, next_step: bool = False) -> VectorPlayer:
    """Also those that only look like Gymnasium's."""

    def step(actions: Any) -> int:
        _, _, terminated, truncated, _ = envs.step(actions)
        return int(np.count_nonzero(terminated | truncated))

    return VectorPlayer(task, step, envs.close, next_step)


def ours(task: Task, backend: VectorBackend, **options: Any) -> VectorPlayer:
    """`make_vec_env`, which for "sync" and "async" is Gymnasium's own vector."""
    envs = make_vec_env(task.env_id, task.num_envs, backend, **options)
    envs.reset(seed=task.seed)
    return gymnasium_vector(task, envs)


# Pong elsewhere: EnvPool's is the same as ours as it comes, that of the Arcade Learning
# Environment is told to be.
ENVPOOL_IDS = {PONG: "Pong-v5"}
NATIVE_IDS = {PONG: "ALE/Pong-v5"}
NATIVE_OPTIONS: dict[str, dict[str, Any]] = {
    PONG: {
        "repeat_action_probability": 0.0,
        "reward_clipping": False,
        "num_threads": 1,
    }
}


def native(task: Task) -> VectorPlayer:
    if task.env_id in NATIVE_IDS:
        import ale_py

        gym.register_envs(ale_py)
    env_id = NATIVE_IDS.get(task.env_id, task.env_id)
    if gym.spec(env_id).vector_entry_point is None:
        raise UserError(f"{task.env_id} has no native vector")
    options = NATIVE_OPTIONS.get(task.env_id, {})
    envs = gym.make_vec(env_id, task.num_envs, "vector_entry_point", **options)
    envs.reset(seed=task.seed)
    return gymnasium_vector(task, envs, next_step=True)


def sb3(task: Task, name: str, **options: Any) -> VectorPlayer:
    from stable_baselines3.common import vec_env  # slow to import

    envs = getattr(vec_env, name)([task.make] * task.num_envs, **options)
    envs.seed(task.seed)
    envs.reset()

    def step(actions: Any) -> int:
        _, _, done, _ = envs.step(actions)
        return int(np.count_nonzero(done))

    return VectorPlayer(task, step, envs.close)


# --- not in Python


def envpool(task: Task, num_threads: int) -> VectorPlayer:
    import envpool

    options = {"seed": task.seed, "num_threads": num_threads}
    with warnings.catch_warnings():  # it warns of how it rounds its own bounds
        warnings.simplefilter("ignore")
        env_id = ENVPOOL_IDS.get(task.env_id, task.env_id)
        pool = envpool.make_gymnasium(env_id, num_envs=task.num_envs, **options)
        pool.reset()
    return gymnasium_vector(task, pool, next_step=True)


def rllib(task: Task, num_env_runners: int) -> Player:
    from rlnotes.experiments.scripted_runners import ScriptedRunners  # slow to import

    return ScriptedRunners(task, num_env_runners)


# --- nothing but the simulator


class Stopwatch:
    """Calls a function, and adds up the seconds that it takes."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.seconds = function, 0.0

    def __call__(self, *arguments: Any) -> Any:
        started = time.perf_counter()
        result = self.function(*arguments)
        self.seconds += time.perf_counter() - started
        return result


def within(find: Callable[[Any], tuple[Any, str]], task: Task) -> VectorPlayer:
    """A plain loop, of which only the time in one function counts: `find` says which,
    as an owner and a name."""
    envs = [task.make() for _ in range(task.num_envs)]
    watches = []
    for env in envs:
        owner, name = find(env.unwrapped)
        watches.append(Stopwatch(getattr(owner, name)))
        setattr(owner, name, watches[-1])
    player = plain_loop(task, envs)
    player.clock = lambda: sum(watch.seconds for watch in watches)
    return player


def cart_and_pole(state: np.ndarray, action: np.ndarray) -> np.ndarray:
    """CartPole's equations of motion (Barto, Sutton and Anderson, 1983), with the
    constants and Euler's rule as in Gymnasium; `state` is (4, copies)."""
    _, x_dot, theta, theta_dot = state
    force = 20.0 * action - 10.0
    cos, sin = np.cos(theta), np.sin(theta)
    push = (force + 0.05 * theta_dot**2 * sin) / 1.1
    theta_acc = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos**2 / 1.1))
    x_acc = push - 0.05 * theta_acc * cos / 1.1
    return state + 0.02 * np.stack((x_dot, x_acc, theta_dot, theta_acc))


def equations_of_motion(task: Task) -> VectorPlayer:
    """Of all carts at once, without an end."""
    start = np.random.default_rng(task.seed).uniform(-0.05, 0.05, (4, task.num_envs))
    state = start

    def step(actions: Any) -> int:
        nonlocal state
        state = cart_and_pole(state, actions)
        return 0

    return VectorPlayer(task, step, lambda: None)


def emulators(task: Task) -> VectorPlayer:
    """The frames of games, and no picture of them."""
    envs: list[Any] = [task.make().unwrapped for _ in range(task.num_envs)]
    for copy, env in enumerate(envs):
        env.reset(seed=task.seed + copy)
    buttons = envs[0].ale.getMinimalActionSet()

    def step(actions: Any) -> int:
        ended = 0
        for env, action in zip(envs, actions, strict=True):
            for _ in range(env.game.frame_skip):
                env.ale.act(buttons[action])
            if env.ale.game_over():
                env.ale.reset_game()
                ended += 1
        return ended

    return VectorPlayer(task, step, lambda: None)


SIMULATORS: dict[str, Callable[[Task], Player]] = {
    "CartPole-v1": equations_of_motion,
    "BipedalWalker-v3": partial(within, lambda env: (env.world, "Step")),
    "rlnotes/RaceCar-v0": partial(within, lambda env: (env.physics, "stepSimulation")),
    PONG: emulators,
}


def simulator(task: Task) -> Player:
    if task.env_id not in SIMULATORS:
        raise unknown("simulator of", task.env_id, SIMULATORS)
    return SIMULATORS[task.env_id](task)


# --- all of them


@dataclass(frozen=True)
class Backend:
    """With the name that figures show, and what it is for."""

    label: str
    purpose: str
    make: Callable[[Task], Player]


PLAIN, SIMULATOR = "plain", "simulator"

# Those that fork come before those that have threads.
BACKENDS = {
    PLAIN: Backend(
        "plain loop",
        "a first try, and what all others are measured by",
        plain_loop,
    ),
    "sync": Backend(
        "Gymnasium sync",
        "any world, where the policy costs more than the world: it is asked once for"
        " all copies, which take turns",
        partial(ours, backend="sync"),
    ),
    "async": Backend(
        "Gymnasium async",
        "any world whose step takes longer than a message to another process, on a"
        " machine with cores to spare",
        partial(ours, backend="async"),
    ),
    "sb3_dummy": Backend(
        "SB3 DummyVecEnv",
        "what Stable-Baselines3 learns from unless told otherwise",
        partial(sb3, name="DummyVecEnv"),
    ),
    "sb3_subproc": Backend(
        "SB3 SubprocVecEnv",
        "as Gymnasium's async, for Stable-Baselines3",
        # Its default starts each process anew, which takes seconds and imports torch;
        # once they run, they are the same.
        partial(sb3, name="SubprocVecEnv", start_method="fork"),
    ),
    "native": Backend(
        "Gymnasium native",
        "the few worlds that are written for whole arrays",
        native,
    ),
    "native_same_step": Backend(
        "native, by make_vec_env",
        "the same, reset in the step that ends an episode",
        partial(ours, backend="native"),
    ),
    "envpool": Backend(
        "EnvPool, 1 thread",
        "worlds that somebody has written in C++: Atari, MuJoCo, Box2D and more",
        partial(envpool, num_threads=1),
    ),
    "envpool_2_threads": Backend(
        "EnvPool, 2 threads",
        "the same, where the learner leaves a core free",
        partial(envpool, num_threads=2),
    ),
    "envpool_same_step": Backend(
        "EnvPool, by make_vec_env",
        "one thread, reset in the step that ends an episode",
        partial(ours, backend="envpool"),
    ),
    "rllib": Backend(
        "RLlib, 1 runner",
        "worlds on other machines; it returns whole episodes, not steps",
        partial(rllib, num_env_runners=1),
    ),
    "rllib_2_runners": Backend(
        "RLlib, 2 runners",
        "the same, in two processes that share the copies",
        partial(rllib, num_env_runners=2),
    ),
    SIMULATOR: Backend(
        "the simulator alone",
        "nothing: it is what the plain loop would do without Python, wrappers,"
        " observations, rewards and resets",
        simulator,
    ),
}


def find(name: str) -> Backend:
    if name not in BACKENDS:
        raise unknown("backend", name, BACKENDS)
    return BACKENDS[name]
