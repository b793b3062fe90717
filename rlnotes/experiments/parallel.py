"""Chapter "Parallel environments": DQN on vectors of CartPole, what was stored instead
of the truth, and a world in which that matters."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch.nn.functional as F
from gymnasium.vector import VectorEnv

from rlnotes.algos import dqn
from rlnotes.autopsies import corrupted_successor, one_coin, rare_ends, unreal_step
from rlnotes.data.rollouts import Episode
from rlnotes.envs.vector import Backend, make_vec_env, require_different_copies
from rlnotes.experiments.base import (
    Bar,
    Budget,
    Diagnose,
    Experiment,
    Metrics,
    Trial,
    Variant,
    World,
)
from rlnotes.experiments.trials import OnlineSettings, online_trial

CARTPOLE = World("CartPole-v1")
ORCHARD = World("rlnotes/Orchard-v0")


@dataclass(frozen=True, kw_only=True)
class VectorSettings(OnlineSettings):
    """DQN, and the vector that it plays."""

    num_envs: int = 4
    backend: Backend = "sync"
    max_episode_steps: int | None = None  # while training; None: as judged
    vector: Callable[..., VectorEnv] = make_vec_env


def start_in(world: World) -> Callable[[VectorSettings, int], Trial]:
    def start(settings: VectorSettings, seed: int) -> Trial:
        envs = settings.vector(
            world.env_id,
            settings.num_envs,
            settings.backend,
            max_episode_steps=settings.max_episode_steps,
        )
        require_different_copies(envs, seed)

        def diagnosed(agent: dqn.Agent) -> Diagnose:
            def diagnose(episodes: Sequence[Episode]) -> Metrics:
                replay, policy = agent.memory.all(), agent.policy
                chain = corrupted_successor.longest_chain(replay, settings.num_envs)
                found: Metrics = {"longest_chain": chain}
                if replay.terminated.any():
                    encoded = policy.encode_batch(replay)
                    found["end_error"] = rare_ends.end_error(policy.net, encoded)
                return found

            return diagnose

        return online_trial(world, settings, seed, envs, diagnosed)

    return start


def of_agent(fault: dict[str, Any]) -> dict[str, Any]:
    return {f"agent.{name}": value for name, value in fault.items()}


# --- as in the notes, where steps are those of all four environments

EPOCH = 1_200


def notes_epsilon(step: int, steps: int, config: dqn.Config) -> float:
    """5% less every 300 steps of the vector."""
    return max(config.final_epsilon, 0.95 ** ((step - 1) // EPOCH))


def after_every_tenth_epoch(step: int, done: bool, config: dqn.Config) -> bool:
    """And after the first."""
    return step % config.target_update_interval == EPOCH


CORRUPTED = of_agent(corrupted_successor.FAULT)
HUBER = of_agent(rare_ends.FAULT)
ONE_COIN = of_agent(one_coin.FAULT)
SELDOM = {
    "agent.target_update_interval": 10 * EPOCH,
    "agent.target_due": after_every_tenth_epoch,
}
CONSTANT_RATE = {"agent.anneal_lr": False}
NOTES: dict[str, Any] = {
    "agent.learning_rate": 1e-3,
    "agent.batch_size": 64,
    "agent.buffer_size": 100_000,
    "agent.hidden": (128, 128),
    "agent.train_freq": 4,  # one update for each step of the vector
    "agent.learning_starts": 639,
    "agent.epsilon": notes_epsilon,
    "agent.final_epsilon": 0.01,
    "agent.double_q": False,
    **CONSTANT_RATE,
    **ONE_COIN,
    **SELDOM,
    "length": 7.5,
}

# The RL Zoo's networks, batches and exploration; a squared error, a smaller rate, which
# falls, and an update for two steps, with a new target after 125 of them.
DQN = dqn.Config(
    loss=F.mse_loss,
    learning_rate=1e-3,
    anneal_lr=True,
    batch_size=64,
    hidden=(256, 256),
    exploration_fraction=0.16,
    final_epsilon=0.04,
    train_freq=2,
    target_update_interval=250,
)
BUDGETS = {
    "smoke": Budget(1_200, evaluations=2, curve_episodes=1, final_episodes=2),
    "ci": Budget(20_000, evaluations=4, curve_episodes=5, final_episodes=20),
    "full": Budget(80_000, evaluations=20, curve_episodes=20, final_episodes=100),
}


PARALLEL_DQN = Experiment(
    id="parallel/dqn",
    world=lambda settings: CARTPOLE,
    settings=VectorSettings(agent=DQN),
    budgets=BUDGETS,
    variants={
        "dqn": Variant("DQN, four environments", seeds=10),
        "corrupted": Variant("the next start as successor", CORRUPTED),
        "huber": Variant("the Huber loss", HUBER, replayed=True),
        "notes": Variant("as in the notes", NOTES | CORRUPTED),
        "notes-true-successor": Variant(
            "as in the notes, true successors", NOTES, planned=True
        ),
        "one-coin": Variant("one coin for all", ONE_COIN, planned=True),
        "seldom": Variant("target renewed as seldom as in the notes", SELDOM),
        "constant-rate": Variant(
            "learning rate not annealed", CONSTANT_RATE, planned=True
        ),
    },
    bars=(
        Bar("DQN on four environments keeps the pole up", "dqn", "iqm", ">=", 500.0),
    ),
    start=start_in(CARTPOLE),
    seeds=5,
)


# --- where the last state is worth more than a start

PARALLEL_ORCHARD = Experiment(
    id="parallel/orchard",
    world=lambda settings: ORCHARD,
    settings=VectorSettings(
        agent=dqn.Config(
            gamma=0.95,
            learning_rate=1e-3,
            anneal_lr=True,
            batch_size=64,
            hidden=(64, 64),
            exploration_fraction=0.5,
            train_freq=4,
            target_update_interval=100,
        ),
        max_episode_steps=10,
    ),
    budgets={
        "smoke": Budget(1_200, evaluations=2, curve_episodes=1, final_episodes=1),
        "ci": Budget(20_000, evaluations=4, curve_episodes=1, final_episodes=1),
        "full": Budget(20_000, evaluations=20, curve_episodes=1, final_episodes=1),
    },
    variants={
        "dqn": Variant("true successors"),
        "corrupted": Variant("the next start as successor", CORRUPTED),
    },
    bars=(
        Bar("DQN walks to where more grows", "dqn", "worst", ">=", 570.0),
        Bar(
            "carried back to the start, it seems, it never walks",
            "corrupted",
            "best",
            "<=",
            200.0,
        ),
    ),
    start=start_in(ORCHARD),
)


# --- EnvPool

PARALLEL_ENVPOOL = Experiment(
    id="parallel/envpool",
    world=lambda settings: CARTPOLE,
    settings=VectorSettings(agent=DQN, num_envs=8, backend="envpool"),
    budgets=BUDGETS,
    variants={
        "dqn": Variant("DQN on EnvPool"),
        "as-it-comes": Variant(
            "EnvPool's resets stored as steps",
            {"vector": unreal_step.as_it_comes},
        ),
    },
    bars=(Bar("DQN on EnvPool keeps the pole up", "dqn", "iqm", ">=", 500.0),),
    start=start_in(CARTPOLE),
    seeds=5,
)
