"""What an update of TD3+BC costs, and what could make it cheaper.

All do the same updates, at batch 256 with two layers of 256, on one thread, and take
turns. The limit is the time that the update's floating-point operations take at the
speed of a 256 × 256 matrix product. `times_...` is how many times as fast ours is:

- *ours*: contiguous tensors, fused Adam, one call for all target parameters;
- *deque*: ours, but the replay is a deque of tuples turned into lists for every batch;
- *plain*: the deque, and the update as the notes write it: unfused Adam, gradients
  clipped, target parameters moved one by one, gradients through the critic's weights in
  the actor's step;
- *fused critic*: ours, but both critics go through each layer in one batched product;
- *compiled*: ours, but each network is one function of `torch.compile`.

Target parameters moved one by one are also timed alone.
"""

import copy
import random
import shutil
import tracemalloc
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from rlnotes.algos import td3_bc
from rlnotes.algos.networks import TwinQ, adam, polyak_update
from rlnotes.algos.policy import Policy
from rlnotes.data.transitions import Batch, Transitions
from rlnotes.experiments.base import (
    Experiment,
    Metrics,
    Settings,
    Trial,
    Variant,
    World,
)
from rlnotes.experiments.turns import Turns, median_ratio, seconds_per_call

PENDULUM = World("Pendulum-v1")  # whose sizes the numbers have
OBS_DIM, ACTION_DIM = 3, 1
COMPILER = "g++"  # what torch.compile calls


@dataclass(frozen=True, kw_only=True)
class Sizes(Turns):
    transitions: int = 100_000
    compiled: bool = False  # takes a minute, and a compiler


@dataclass(frozen=True, kw_only=True)
class UpdateSettings(Settings):
    budget: Sizes = Sizes(steps=1, evaluations=1)
    agent: td3_bc.Config = field(default_factory=td3_bc.Config)


# --- replays


class DequeReplay:
    """A replay of the kind most tutorials write, to compare with."""

    def __init__(self, capacity: int) -> None:
        self._memory: deque[tuple[Any, ...]] = deque(maxlen=capacity)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self._memory)

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


def filled_replays(size: int, seed: int) -> tuple[Transitions, DequeReplay, int]:
    """Two with the same transitions, and the bytes of the second."""
    rng = np.random.default_rng(seed)
    contiguous = Transitions(size, OBS_DIM, ACTION_DIM)
    tracemalloc.start()
    listed = DequeReplay(size)
    for _ in range(size):
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
    for transition in listed:
        contiguous.add(*transition)
    return contiguous, listed, listed_bytes


# --- agents and updates


def new_agent(config: td3_bc.Config) -> td3_bc.Agent:
    one = np.ones(ACTION_DIM)
    policy = Policy((OBS_DIM,), -one, one, config.hidden)
    return td3_bc.Agent(policy, config)


def with_unfused_adam(agent: td3_bc.Agent) -> td3_bc.Agent:
    rate = agent.config.learning_rate
    agent.policy_optimiser = torch.optim.Adam(agent.policy.parameters(), lr=rate)
    agent.critic_optimiser = torch.optim.Adam(agent.critic.parameters(), lr=rate)
    return agent


def plain_update(agent: td3_bc.Agent, batch: Batch) -> None:
    agent.step += 1
    target = td3_bc.critic_target(agent, batch, torch.randn_like(batch.action))
    loss, _ = td3_bc.critic_loss(agent.critic, batch, target)
    agent.critic_optimiser.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(agent.critic.parameters(), 1.0)
    agent.critic_optimiser.step()
    if agent.step % agent.config.policy_delay == 0:
        loss, _ = td3_bc.actor_loss(agent.policy, agent.critic, batch, agent.config)
        agent.policy_optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(agent.policy.parameters(), 1.0)
        agent.policy_optimiser.step()
        plain_polyak_update(agent.target_policy, agent.policy, agent.config.tau)
        plain_polyak_update(agent.target_critic, agent.critic, agent.config.tau)


def plain_polyak_update(target: nn.Module, source: nn.Module, tau: float) -> None:
    for old, new in zip(target.parameters(), source.parameters(), strict=True):
        old.data.copy_(tau * new.data + (1 - tau) * old.data)


class FusedTwinQ(nn.Module):
    """Two critics whose layers stand one behind the other in one tensor."""

    @torch.no_grad()
    def __init__(self, critic: TwinQ) -> None:
        super().__init__()
        layers = [
            [layer for layer in net if isinstance(layer, nn.Linear)]
            for net in (critic.q1, critic.q2)
        ]
        pairs = list(zip(*layers, strict=True))
        self.weights = nn.ParameterList(
            torch.stack([layer.weight.T for layer in pair]) for pair in pairs
        )
        self.biases = nn.ParameterList(
            torch.stack([layer.bias[None] for layer in pair]) for pair in pairs
        )

    def forward(self, obs: Tensor, action: Tensor) -> tuple[Tensor, Tensor]:
        pair = torch.cat([obs, action], dim=-1)
        q1, q2 = self._values(pair.expand(2, *pair.shape)).squeeze(-1)
        return q1, q2

    def q1(self, pair: Tensor) -> Tensor:
        return self._values(pair[None])[0]

    def _values(self, rows: Tensor) -> Tensor:
        """Of the first critic, or of both, each with rows of its own."""
        critics = len(rows)
        for layer, weight in enumerate(self.weights):
            rows = rows.relu_() if layer > 0 else rows
            rows = torch.baddbmm(self.biases[layer][:critics], rows, weight[:critics])
        return rows


def with_fused_critic(agent: td3_bc.Agent) -> td3_bc.Agent:
    critic: Any = FusedTwinQ(agent.critic)
    agent.critic, agent.target_critic = critic, copy.deepcopy(critic)
    agent.critic_optimiser = adam(critic.parameters(), agent.config.learning_rate)
    return agent


def with_compiled_networks(agent: td3_bc.Agent) -> td3_bc.Agent:
    from torch._inductor import config  # slow to import

    config.compile_threads = 1  # more would be processes that stay
    critics = (agent.critic, agent.critic.q1, agent.target_critic)
    for network in (agent.policy, agent.target_policy, *critics):
        network.compile()
    return agent


# --- the race


def start(settings: UpdateSettings, seed: int) -> Trial:
    return Trial(None, settings.steps, measure(settings, seed))


def measure(settings: UpdateSettings, seed: int) -> Iterator[tuple[int, Metrics]]:
    torch.set_num_threads(1)
    budget, config = settings.budget, settings.agent
    batch, tau = config.batch_size, config.tau
    contiguous, listed, listed_bytes = filled_replays(budget.transitions, seed)
    ours, plain = new_agent(config), with_unfused_adam(new_agent(config))
    fused = with_fused_critic(new_agent(config))
    left, right = torch.randn(2, 256, 256)
    tasks = {
        "matmul": lambda: left @ right,
        "ours": lambda: td3_bc.update(ours, contiguous.sample(batch)),
        "deque": lambda: td3_bc.update(ours, listed.sample(batch)),
        "plain": lambda: plain_update(plain, listed.sample(batch)),
        "fused_critic": lambda: td3_bc.update(fused, contiguous.sample(batch)),
        "sample": lambda: contiguous.sample(batch),
        "deque_sample": lambda: listed.sample(batch),
        "targets": lambda: polyak_update(ours.target_critic, ours.critic, tau),
        "plain_targets": lambda: plain_polyak_update(
            plain.target_critic, plain.critic, tau
        ),
    }
    if budget.compiled and shutil.which(COMPILER):
        quick = with_compiled_networks(new_agent(config))
        tasks["compiled"] = lambda: td3_bc.update(quick, contiguous.sample(batch))
    seconds = seconds_per_call(tasks, budget.evaluations, settings.steps)
    flops = flops_per_update(ours, contiguous)
    limit = flops / (2 * 256**3) * seconds["matmul"]

    def times(slow: str, quick: str = "ours") -> float:
        return median_ratio(seconds[slow], seconds[quick])

    found = {
        "updates_per_second": float(1 / np.median(seconds["ours"])),
        "mflops_per_update": flops / 1e6,
        "share_of_matmul_limit": median_ratio(limit, seconds["ours"]),
        "times_deque_replay": times("deque"),
        "times_plain_loop": times("plain"),
        "times_fused_critic": times("fused_critic"),
        "times_deque_sampling": times("deque_sample", "sample"),
        "times_plain_targets": times("plain_targets", "targets"),
        "megabytes_100k_transitions": contiguous.nbytes / budget.transitions / 10,
        "megabytes_100k_in_deque": listed_bytes / budget.transitions / 10,
    }
    if "compiled" in seconds:
        found["times_compiled"] = times("compiled")
    yield settings.steps, found


def flops_per_update(agent: td3_bc.Agent, data: Transitions) -> float:
    """Counted over one cycle of delayed policy updates, then averaged."""
    cycle = agent.config.policy_delay
    with FlopCounterMode(display=False) as counter:
        for _ in range(cycle):
            td3_bc.update(agent, data.sample(agent.config.batch_size))
    return counter.get_total_flops() / cycle


UPDATE_SPEED = Experiment(
    id="parallel/update-speed",
    world=lambda settings: PENDULUM,
    settings=UpdateSettings(),
    budgets={
        "smoke": Sizes(steps=10, evaluations=1, transitions=1_000),
        "ci": Sizes(steps=40, evaluations=7),
        "full": Sizes(steps=40, evaluations=21, compiled=True),
    },
    variants={"td3bc": Variant("an update of TD3+BC")},
    bars=(),
    start=start,
    seeds=3,
)
