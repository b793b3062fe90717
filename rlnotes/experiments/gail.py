"""Chapter "GAIL": who pays for the end, on CartPole and Acrobot; and whether a world is
needed at all.

Every variant differs from the first one of its experiment by what its override says.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from gymnasium.vector import VectorEnv

from rlnotes.algos import bc, gail, offline_gail, ppo
from rlnotes.algos.policy import Policy
from rlnotes.autopsies import survival
from rlnotes.data import catalogue, datasets
from rlnotes.data.rollouts import Episode
from rlnotes.data.transitions import Transitions
from rlnotes.envs.vector import make_vec_env
from rlnotes.experiments.base import (
    Bar,
    Budget,
    Experiment,
    Metrics,
    Settings,
    Trial,
    Variant,
    World,
    fresh_seeds,
    new_trial,
)
from rlnotes.experiments.settings import Override
from rlnotes.experiments.trials import (
    ObsScale,
    observations,
    raw,
    standardised,
    unit_variance,
)

CARTPOLE, ACROBOT = World("CartPole-v1"), World("Acrobot-v1")

# Rewards times 1 − γ, so that values are means of rewards and as large as they are;
# what that changes is one of the variants of `gail/cartpole`.
GENERATOR = ppo.Config(
    learning_rate=1e-3, anneal_lr=True, reward_scale=0.01, hidden=(64, 64)
)
AGENT = gail.Config(terminal="absorbing", gradient_penalty=1.0, generator=GENERATOR)


@dataclass(frozen=True, kw_only=True)
class DemonstratedSettings(Settings):
    """What is shown to a learner."""

    dataset: str
    demonstrations: int
    obs_scale: ObsScale = standardised

    def shown(self, seed: int) -> list[Episode]:
        """Each training seed is shown episodes of its own, while there are enough."""
        episodes, count = datasets.load(self.dataset), self.demonstrations
        first = seed * count
        return [episodes[n % len(episodes)] for n in range(first, first + count)]


@dataclass(frozen=True, kw_only=True)
class GailSettings(DemonstratedSettings):
    agent: gail.Config = AGENT
    num_envs: int = 8


def new_agent(
    world: World, settings: GailSettings, shown: Sequence[Episode]
) -> tuple[gail.Agent, VectorEnv]:
    """A policy in the units of what it is shown, and the worlds that it is to play
    in."""
    envs = make_vec_env(world.make, settings.num_envs)
    policy = ppo.new_policy(
        envs.single_observation_space,
        envs.single_action_space,
        settings.agent.generator,
        *settings.obs_scale(observations(shown)),
    )
    return gail.Agent(policy, settings.agent), envs


def start_gail(world: World, settings: GailSettings, seed: int) -> Trial:
    shown = settings.shown(seed)
    agent, envs = new_agent(world, settings, shown)
    stream = gail.train(agent, envs, shown, settings.steps, seed, warn=False)
    return new_trial(agent.policy, agent, stream, world, settings)


# --- CartPole: what it can prove and what it cannot

# An end that is worth nothing, whatever the discriminator thinks of it.
ZERO = {"agent.terminal": "zero"}
# The discriminator weighs steps and ends as the occupancy measure does.
DISCOUNTED = {"agent.discounted": True}
SURVIVAL = {f"agent.{name}": value for name, value in survival.FAULT.items()}
UNTRAINED = {"agent.disc_epochs": 0}
# The notes' learner and pay. States are standardised and rates are ours, so this is not
# their program line by line.
NOTES: Override = {
    **SURVIVAL,
    "agent.gradient_penalty": 0.0,
    "agent.generator": ppo.reinforce_config(
        learning_rate=1e-3, num_steps=2_048, reward_scale=0.01, hidden=(64, 64)
    ),
    "num_envs": 1,
}

CARTPOLE_GAIL = Experiment(
    id="gail/cartpole",
    world=lambda settings: CARTPOLE,
    settings=GailSettings(dataset=catalogue.CARTPOLE_EXPERT, demonstrations=10),
    budgets={
        "smoke": Budget(2_048, evaluations=2, curve_episodes=1, final_episodes=2),
        "ci": Budget(40_000, evaluations=8, curve_episodes=5, final_episodes=20),
        "full": Budget(80_000, evaluations=16, curve_episodes=10, final_episodes=100),
    },
    variants={
        "ten": Variant("ten demonstrations", seeds=10),
        "four": Variant("four", {"demonstrations": 4}, seeds=10),
        "one": Variant("one", {"demonstrations": 1}, seeds=10),
        "notes": Variant("REINFORCE", NOTES),
        "notes-swapped": Variant(
            "REINFORCE, labels exchanged",
            {**NOTES, "agent.reward": survival.swapped_gail_reward},
        ),
        "gail-zero": Variant("PPO", SURVIVAL),
        # What looks at the demonstrations wrongly, or not at all. With an end worth
        # nothing and a reward that is never negative, each is paid for staying alive;
        # with a judged end and a reward of either sign, none is. (Two changes at once:
        # an end judged by a reward that is never negative is a bonus still.)
        "swapped-zero": Variant(
            "labels exchanged", ZERO | {"agent.reward": survival.swapped_gail_reward}
        ),
        "swapped-zero-no-penalty": Variant(
            "labels exchanged, no penalty",
            ZERO
            | {
                "agent.reward": survival.swapped_gail_reward,
                "agent.gradient_penalty": 0.0,
            },
        ),
        "constant-zero": Variant(
            "always 1", ZERO | {"agent.reward": survival.constant_reward}
        ),
        "untrained-zero": Variant("untrained discriminator", SURVIVAL | UNTRAINED),
        "swapped": Variant(
            "labels exchanged", {"agent.reward": survival.swapped_airl_reward}
        ),
        "constant": Variant("always 1", {"agent.reward": survival.constant_reward}),
        "untrained": Variant("untrained discriminator", UNTRAINED),
        "penalty-10": Variant("penalty 10", {"agent.gradient_penalty": 10.0}),
        "no-penalty": Variant("no penalty", {"agent.gradient_penalty": 0.0}),
        "spectral": Variant(
            "spectral", {"agent.gradient_penalty": 0.0, "agent.spectral_norm": True}
        ),
        "per-state": Variant(
            "penalty 1, ended in place", {"agent.terminal": "absorbing_per_state"}
        ),
        "discounted": Variant("steps weighed by γ^t", DISCOUNTED),
        "unscaled": Variant(
            "rewards as they are", {"agent.generator.reward_scale": 1.0}, seeds=10
        ),
        **fresh_seeds(10),
    },
    bars=(
        Bar(
            "GAIL from ten demonstrations keeps the pole up", "ten", "iqm", ">=", 500.0
        ),
        Bar("every seed of it does", "ten", "worst", ">=", 475.0),
        Bar("from four demonstrations every seed does", "four", "worst", ">=", 475.0),
        Bar("from one demonstration every seed does", "one", "worst", ">=", 475.0),
    ),
    start=partial(start_gail, CARTPOLE),
    seeds=5,
)


# --- CartPole: judges that are kept with the policies that they paid


def start_judged(settings: GailSettings, seed: int) -> Trial:
    trial = start_gail(CARTPOLE, settings, seed)
    evaluated = trial.stream

    def with_its_judge() -> Iterator[tuple[int, Metrics]]:
        yield from evaluated
        assert isinstance(trial.agent, gail.Agent)
        judge = trial.agent.discriminator.state_dict()
        trial.arrays |= {name: tensor.numpy() for name, tensor in judge.items()}

    trial.stream = with_its_judge()
    return trial


# On the page for playing: what is paid, and what comes of it.
JUDGES = Experiment(
    id="gail/judges",
    world=lambda settings: CARTPOLE,
    settings=CARTPOLE_GAIL.settings,
    budgets=CARTPOLE_GAIL.budgets,
    variants={
        name: replace(CARTPOLE_GAIL.variants[name], seeds=3, replayed=True)
        for name in ("ten", "swapped-zero", "untrained-zero")
    },
    bars=(),
    start=start_judged,
    seeds=3,
)


# --- Acrobot: where living long is the opposite of the task

ACROBOT_GAIL = Experiment(
    id="gail/acrobot",
    world=lambda settings: ACROBOT,
    settings=GailSettings(dataset=catalogue.ACROBOT_EXPERT, demonstrations=10),
    budgets={
        "smoke": Budget(2_048, evaluations=2, curve_episodes=1, final_episodes=2),
        "ci": Budget(60_000, evaluations=4, curve_episodes=5, final_episodes=20),
        "full": Budget(200_000, evaluations=10, curve_episodes=10, final_episodes=100),
    },
    variants={
        "airl": Variant("either, absorbing"),
        "gail-zero": Variant("survive, end worth 0 (notes)", SURVIVAL),
        "gail": Variant("survive, absorbing", {"agent.reward": gail.gail_reward}),
        "airl-zero": Variant("either, end worth 0", ZERO),
        "log-d-zero": Variant(
            "hurry, end worth 0", ZERO | {"agent.reward": gail.log_d_reward}
        ),
        "discounted": Variant("either, absorbing, weighed by γ^t", DISCOUNTED),
        **fresh_seeds(),
    },
    bars=(
        Bar(
            "GAIL comes within 10% of its expert",
            "airl",
            "iqm",
            ">=",
            "experts/acrobot/dqn",
            times=1.1,
        ),
        Bar(
            "with the notes' pay it seldom swings up", "gail-zero", "iqm", "<=", -400.0
        ),
    ),
    start=partial(start_gail, ACROBOT),
    seeds=5,
)


# --- no world at all


@dataclass(frozen=True, kw_only=True)
class NoWorldSettings(DemonstratedSettings):
    agent: gail.Config | bc.Config
    obs_scale: ObsScale = unit_variance


def start_offline(settings: NoWorldSettings, seed: int) -> Trial:
    data = Transitions.from_episodes(settings.shown(seed))
    scale = settings.obs_scale(data.all().obs.numpy())
    config = settings.agent
    agent: Any
    stream: Iterator[tuple[int, Any]]
    if isinstance(config, bc.Config):
        policy = Policy.for_spaces(*CARTPOLE.spaces(), config.hidden, "argmax", *scale)
        agent = bc.Agent(policy, config)
        stream = bc.train(agent, data, settings.steps)
    else:
        policy = ppo.new_policy(*CARTPOLE.spaces(), config.generator, *scale)
        agent = gail.Agent(policy, config)
        stream = offline_gail.train(agent, data, settings.steps)

    def diagnose(episodes: Sequence[Episode]) -> Metrics:
        return {"agreement_percent": 100 * offline_gail.agreement(policy, data)}

    return new_trial(policy, agent, stream, CARTPOLE, settings, diagnose)


SLOW = {"agent.disc_learning_rate": 1e-4}
RAW = {"obs_scale": raw}

OFFLINE = Experiment(
    id="gail/offline",
    world=lambda settings: CARTPOLE,
    settings=NoWorldSettings(
        agent=gail.Config(
            reward=gail.gail_reward,
            terminal="zero",
            gradient_penalty=0.0,
            disc_epochs=5,
            disc_batch_size=128,
            disc_learning_rate=1e-3,
            disc_hidden=(128, 64),
            generator=ppo.Config(learning_rate=1e-4, hidden=(128, 128)),
        ),
        dataset=catalogue.CARTPOLE_EXPERT,
        demonstrations=100,
    ),
    budgets={
        "smoke": Budget(20, evaluations=2, curve_episodes=1, final_episodes=2),
        "ci": Budget(1_500, evaluations=6, curve_episodes=5, final_episodes=20),
        "full": Budget(3_000, evaluations=12, curve_episodes=10, final_episodes=100),
    },
    variants={
        "fast-discriminator": Variant("+ quick discriminator", seeds=5),
        "notes": Variant("the notes' settings", SLOW | RAW, replayed=True),
        "standardised": Variant("+ standardised states", SLOW, replayed=True),
        "raw-fast-discriminator": Variant("quick discriminator, raw states", RAW),
        "bc": Variant(
            "behaviour cloning",
            {"agent": bc.Config(1e-4, batch_size=128, hidden=(128, 128))},
            seeds=5,
        ),
        "longer": Variant("+ three times as long", {"length": 3.0}),
        **fresh_seeds(),
    },
    bars=(
        Bar(
            "with a quick discriminator it keeps the pole up",
            "fast-discriminator",
            "iqm",
            ">=",
            475.0,
        ),
        Bar("three times as long, it still does", "longer", "iqm", ">=", 475.0),
        Bar("behaviour cloning does, too", "bc", "iqm", ">=", 475.0),
    ),
    start=start_offline,
    seeds=3,
)
