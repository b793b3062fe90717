"""What an update and a world cost, as ratios measured in one run, because machines
differ and are shared.

A step of the race car is compared with bare `stepSimulation` calls in the same world, a
reset with building the world anew. For a TD3+BC update, three loops do the same updates
at batch 256 with two layers of 256, on one thread:

- *ours*: contiguous tensors, fused Adam, one call for all target parameters;
- *deque*: ours, but the replay is a deque of tuples turned into lists for every batch;
- *plain*: the deque, and the update as the notes write it: unfused Adam, gradients
  clipped, target parameters moved one by one, gradients through the critic's weights in
  the actor's step.

The limit is the time that the update's floating-point operations take at the speed of a
256 × 256 matrix product.

How fast many worlds are stepped is an experiment, `parallel/throughput`; here one round
of it is measured and kept nowhere.
"""

import random
import time
import tracemalloc
from collections import deque
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from rlnotes.algos import td3_bc
from rlnotes.algos.policy import Policy
from rlnotes.data.transitions import Batch, Transitions
from rlnotes.experiments.throughput import THROUGHPUT
from rlnotes.paths import Run
from rlnotes.runs.run import run_live
from rlnotes.runs.store import Record

TRANSITIONS = 100_000
BATCH = 256
OBS_DIM, ACTION_DIM = 3, 1
ROUNDS = 7


class DequeReplay:
    """A replay of the kind most tutorials write, to compare with."""

    def __init__(self, capacity: int) -> None:
        self._memory: deque[tuple[Any, ...]] = deque(maxlen=capacity)

    def add(self, *transition: Any) -> None:
        self._memory.append(transition)

    def sample(self, size: int) -> Batch:
        rows = random.sample(self._memory, size)
        return Batch(
            *(
                torch.tensor(np.array([row[i] for row in rows]), dtype=torch.float32)
                for i in range(5)
            )
        )


def measure() -> dict[str, float]:
    return race_car() | td3_bc_update()


def td3_bc_update() -> dict[str, float]:
    torch.set_num_threads(1)
    contiguous, listed, listed_bytes = _filled_replays()
    ours, plain = _agent(), _agent()
    plain.policy_optimiser = torch.optim.Adam(plain.policy.parameters(), lr=3e-4)
    plain.critic_optimiser = torch.optim.Adam(plain.critic.parameters(), lr=3e-4)
    left, right = torch.randn(256, 256), torch.randn(256, 256)
    seconds = _interleaved(
        {
            "matmul": lambda: left @ right,
            "ours": lambda: td3_bc.update(ours, contiguous.sample(BATCH)),
            "deque": lambda: td3_bc.update(ours, listed.sample(BATCH)),
            "plain": lambda: _plain_update(plain, listed.sample(BATCH)),
            "sample": lambda: contiguous.sample(BATCH),
            "deque_sample": lambda: listed.sample(BATCH),
        }
    )
    flops = _flops_per_update(ours, contiguous)
    limit = flops / (2 * 256**3) * seconds["matmul"]
    return {
        "updates_per_second": 1 / np.median(seconds["ours"]),
        "mflops_per_update": flops / 1e6,
        "share_of_matmul_limit": _ratio(limit, seconds["ours"]),
        "times_deque_replay": _ratio(seconds["deque"], seconds["ours"]),
        "times_plain_loop": _ratio(seconds["plain"], seconds["ours"]),
        "times_deque_sampling": _ratio(seconds["deque_sample"], seconds["sample"]),
        "megabytes_100k_transitions": contiguous.nbytes / 1e6,
        "megabytes_100k_in_deque": listed_bytes / 1e6,
    }


def race_car() -> dict[str, float]:
    """The parked car: its wheels and steering are driven, and it stays where it is for
    as long as we measure."""
    env: Any = gym.make("rlnotes/RaceCar-v0").unwrapped
    env.reset(seed=0)
    parked = np.zeros(2, np.float32)
    seconds = _interleaved(
        {
            "bare": env.physics.stepSimulation,
            "step": lambda: env.step(parked),
            "reset": lambda: env.reset(seed=0),
        },
        repeats=300,
    )
    seconds |= _interleaved(
        {"build": lambda: gym.make("rlnotes/RaceCar-v0").close()}, repeats=1
    )
    env.close()
    return {
        "racecar_steps_per_second": 1 / np.median(seconds["step"]),
        "racecar_share_of_bare_physics": _ratio(seconds["bare"], seconds["step"]),
        "racecar_reset_milliseconds": 1_000 * np.median(seconds["reset"]),
        "racecar_times_building_anew": _ratio(seconds["build"], seconds["reset"]),
    }


def parallel(budget: str, progress: bool = True) -> dict[str, Record]:
    """What a round measures in each world."""
    return {
        name: run_live(
            Run(THROUGHPUT.id, name, 0, budget),
            THROUGHPUT.settings_for(name, budget),
            progress,
        )[0]
        for name in THROUGHPUT.variants
    }


def table(report: dict[str, float]) -> str:
    return "\n".join(
        f"{name.replace('_', ' '):30}{value:10.2f}" for name, value in report.items()
    )


def _filled_replays() -> tuple[Transitions, DequeReplay, int]:
    rng = np.random.default_rng(0)
    contiguous = Transitions(TRANSITIONS, OBS_DIM, ACTION_DIM)
    tracemalloc.start()
    listed = DequeReplay(TRANSITIONS)
    for _ in range(TRANSITIONS):
        obs, next_obs = rng.standard_normal((2, OBS_DIM), dtype=np.float32)
        listed.add(
            obs,
            rng.uniform(-1, 1, ACTION_DIM).astype(np.float32),
            float(rng.normal()),
            next_obs,
            False,
        )
    listed_bytes = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    for transition in listed._memory:
        contiguous.add(*transition)
    return contiguous, listed, listed_bytes


def _agent() -> td3_bc.Agent:
    one = np.ones(ACTION_DIM)
    config = td3_bc.Config()
    policy = Policy((OBS_DIM,), -one, one, config.hidden)
    return td3_bc.Agent(policy, config)


def _plain_update(agent: td3_bc.Agent, batch: Batch) -> None:
    agent.step += 1
    target = td3_bc.critic_target(agent, batch, torch.randn_like(batch.action))
    loss, _ = td3_bc.critic_loss(agent.critic, batch, target)
    agent.critic_optimiser.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(agent.critic.parameters(), 1.0)
    agent.critic_optimiser.step()
    if agent.step % agent.config.policy_delay == 0:
        loss, _ = td3_bc.actor_loss(agent.policy, agent.critic, batch, agent.config)
        agent.policy_optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(agent.policy.parameters(), 1.0)
        agent.policy_optimiser.step()
        for slow, quick in (
            (agent.target_policy, agent.policy),
            (agent.target_critic, agent.critic),
        ):
            for old, new in zip(slow.parameters(), quick.parameters(), strict=True):
                old.data.copy_(
                    agent.config.tau * new.data + (1 - agent.config.tau) * old.data
                )


def _flops_per_update(agent: td3_bc.Agent, data: Transitions) -> float:
    """Counted over one cycle of delayed policy updates, then averaged."""
    cycle = agent.config.policy_delay
    with FlopCounterMode(display=False) as counter:
        for _ in range(cycle):
            td3_bc.update(agent, data.sample(BATCH))
    return counter.get_total_flops() / cycle


def _interleaved(
    tasks: dict[str, Callable[[], Any]], repeats: int = 40
) -> dict[str, np.ndarray]:
    """Seconds per call of each task in each round; rounds alternate, so that noise hits
    all alike."""
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(ROUNDS + 1):
        for name, task in tasks.items():
            started = time.perf_counter()
            for _ in range(repeats):
                task()
            seconds[name].append((time.perf_counter() - started) / repeats)
    return {
        name: np.array(values[1:]) for name, values in seconds.items()
    }  # the first round warms up


def _ratio(above: np.ndarray, below: np.ndarray) -> float:
    return float(np.median(above / below))
