"""Chapter "PyBullet worlds": drivers on the track, a cart and pole, a ball on a plate,
a world of one's own."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rlnotes.algos import dqn, reinforce
from rlnotes.autopsies import stale_target
from rlnotes.data import catalogue
from rlnotes.data.rollouts import Episode
from rlnotes.envs import checks
from rlnotes.experiments import recipes
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
from rlnotes.experiments.racecar import TRACK, track
from rlnotes.experiments.trials import OnlineSettings, online_trial
from rlnotes.seeding import reset_seeds

# Where nothing is trained, a budget is a number of episodes.
PLAYED = {
    "smoke": Budget(1, evaluations=1, curve_episodes=1, final_episodes=2),
    "ci": Budget(1, evaluations=1, curve_episodes=1, final_episodes=20),
    "full": Budget(1, evaluations=1, curve_episodes=1, final_episodes=100),
}


# --- the scripted driver and those that drive like people


@dataclass(frozen=True, kw_only=True)
class DemonstrationSettings(Settings):
    dataset: str = catalogue.RACECAR_CLEAN  # whose recipe drives


def play_demonstrations(
    settings: DemonstrationSettings, starts: Sequence[int]
) -> list[Episode]:
    return recipes.find(settings.dataset).play(starts)


def start_demonstrations(settings: DemonstrationSettings, seed: int) -> Trial:
    def stream() -> Iterator[tuple[int, Metrics]]:
        starts = reset_seeds("evaluate", seed, settings.budget.final_episodes)
        scores = TRACK.scores(play_demonstrations(settings, starts))
        yield 1, {f"final_{name}": value for name, value in scores.items()}

    return Trial(None, 1, stream())


DEMONSTRATIONS = Experiment(
    id="racecar/demos",
    world=track,
    settings=DemonstrationSettings(),
    budgets=PLAYED,
    variants={
        "clean": Variant("clean"),
        "dart": Variant("dart", {"dataset": catalogue.RACECAR_DART}),
        "keyboard": Variant("keyboard", {"dataset": catalogue.RACECAR_KEYBOARD}),
    },
    bars=(
        Bar(
            "the scripted driver arrives from perturbed starts",
            "clean",
            "worst",
            ">=",
            99.0,
            "final_success_percent",
        ),
    ),
    start=start_demonstrations,
    scripted=play_demonstrations,
)


# --- REINFORCE on the cart and pole

CARTPOLE = World("rlnotes/BulletCartPole-v0", at_once=10)

BULLET_CARTPOLE = Experiment(
    id="bullet/cartpole",
    world=lambda settings: CARTPOLE,
    settings=OnlineSettings(agent=reinforce.Config()),
    budgets={
        "smoke": Budget(2_000, evaluations=2, curve_episodes=1, final_episodes=2),
        "ci": Budget(60_000, evaluations=6, curve_episodes=5, final_episodes=20),
        "full": Budget(200_000, evaluations=20, curve_episodes=10, final_episodes=100),
    },
    variants={"reinforce": Variant("REINFORCE"), **fresh_seeds()},
    bars=(Bar("REINFORCE keeps the pole up", "reinforce", "iqm", ">=", 475.0),),
    start=lambda settings, seed: online_trial(CARTPOLE, settings, seed),
)


# --- DQN on the plate, and why it did not work in the notes


@dataclass(frozen=True, kw_only=True)
class PlateSettings(OnlineSettings):
    layer_norm: bool = True
    joint_velocities: bool = True
    max_episode_steps: int = 1_000  # while training


def held(episode: Episode) -> bool:
    """To the time limit: the ball never fell."""
    return not episode.terminated


def plate(settings: PlateSettings) -> World:
    options = {"joint_velocities": settings.joint_velocities}
    return World("rlnotes/BalancingPlate-v0", options, success=held, at_once=10)


def start_plate(settings: PlateSettings, seed: int) -> Trial:
    world = plate(settings)
    env = world.make(max_episode_steps=settings.max_episode_steps)
    return online_trial(world, settings, seed, env)


STALE_TARGET = {f"agent.{name}": value for name, value in stale_target.FAULT.items()}
EVERY_1000 = {"agent.target_update_interval": 1_000}
HIDDEN_VELOCITIES = {"joint_velocities": False}
NO_TIME_LIMIT = {"max_episode_steps": 1_000_000}
NO_LAYER_NORM = {"layer_norm": False}

PLATE = Experiment(
    id="bullet/plate",
    world=plate,
    settings=PlateSettings(
        agent=dqn.Config(
            learning_rate=5e-4,
            anneal_lr=True,
            buffer_size=150_000,
            train_freq=4,
            target_update_interval=400,
        )
    ),
    budgets={
        "smoke": Budget(1_200, evaluations=2, curve_episodes=1, final_episodes=2),
        "ci": Budget(48_000, evaluations=4, curve_episodes=5, final_episodes=20),
        "full": Budget(150_000, evaluations=10, curve_episodes=5, final_episodes=100),
    },
    variants={
        "dqn": Variant("DQN"),
        "target-at-episode-end": Variant("renewed at an episode's end", STALE_TARGET),
        "target-every-1000": Variant("renewed every 1,000 steps", EVERY_1000),
        "no-joint-velocities": Variant("without joint velocities", HIDDEN_VELOCITIES),
        "no-time-limit": Variant("without a time limit", NO_TIME_LIMIT),
        "no-layer-norm": Variant("without layer normalisation", NO_LAYER_NORM),
        "as-in-the-notes": Variant(
            "all five together",
            STALE_TARGET
            | EVERY_1000
            | HIDDEN_VELOCITIES
            | NO_TIME_LIMIT
            | NO_LAYER_NORM,
        ),
        **fresh_seeds(),
    },
    bars=(
        Bar(
            "DQN holds the ball for 1,000 steps",
            "dqn",
            "iqm",
            ">=",
            90.0,
            "final_success_percent",
        ),
        Bar(
            "renewed only at an episode's end, it never does",
            "target-at-episode-end",
            "best",
            "<=",
            0.0,
            "final_success_percent",
        ),
    ),
    start=start_plate,
    seeds=5,
)


# --- a world of one's own

PUCK = World("rlnotes/Puck-v0", at_once=10)


def pull_and_brake(
    obs: np.ndarray, spring: float = 6.0, damper: float = 2.5
) -> np.ndarray:
    """A spring to the target and a damper: what one writes before learning anything."""
    return np.clip(spring * (obs[:, 4:] - obs[:, :2]) - damper * obs[:, 2:4], -1, 1)


@dataclass(frozen=True, kw_only=True)
class CheckSettings(Settings):
    env_id: str = PUCK.env_id


def checked(settings: CheckSettings) -> World:
    return replace(PUCK, env_id=settings.env_id)


def play_by_rule(settings: CheckSettings, starts: Sequence[int]) -> list[Episode]:
    return checked(settings).play(pull_and_brake, starts)


def start_checks(settings: CheckSettings, seed: int) -> Trial:
    """Each step tries one check, whether the ones before it held or not; the last plays
    by the rule."""
    tried = checks.CHECKS.values()

    def stream() -> Iterator[tuple[int, Metrics]]:
        passed = 0
        for step, check in enumerate(tried, start=1):
            passed += checks.holds(check, settings.env_id, seed)
            yield step, {"checks_held": passed}
        starts = reset_seeds("evaluate", seed, settings.budget.final_episodes)
        final = PUCK.scores(play_by_rule(settings, starts))["return"]
        yield len(tried) + 1, {"checks_held": passed, "final_return": final}

    return Trial(None, len(tried) + 1, stream())


CUSTOM_GYM = Experiment(
    id="envs/custom-gym",
    world=checked,
    settings=CheckSettings(),
    budgets=PLAYED,
    variants={
        "checks": Variant("the rule"),
        "careless": Variant("careless", {"env_id": "rlnotes/CarelessPuck-v0"}),
    },
    bars=(
        Bar(
            "the new world passes all five checks",
            "checks",
            "worst",
            ">=",
            5.0,
            "checks_held",
        ),
        Bar(
            "the same world, written carelessly, passes none",
            "careless",
            "best",
            "<=",
            0.0,
            "checks_held",
        ),
    ),
    start=start_checks,
    scripted=play_by_rule,
)


@dataclass(frozen=True, kw_only=True)
class Sb3Settings(Settings):
    """Stable-Baselines3's own names."""

    learning_rate: float = 1e-3
    net_arch: tuple[int, ...] = (64, 64)
    gamma: float = 0.97
    learning_starts: int = 500


def start_sb3(settings: Sb3Settings, seed: int) -> Trial:
    from rlnotes.algos import sb3  # nobody else here needs the library

    model = sb3.sac(
        PUCK.make(),
        seed,
        learning_starts=settings.learning_starts,
        gamma=settings.gamma,
        learning_rate=settings.learning_rate,
        policy_kwargs={"net_arch": list(settings.net_arch)},
    )
    policy = sb3.new_policy(model)
    stream = sb3.train(model, policy, settings.steps, chunk=100)
    return new_trial(policy, None, stream, PUCK, settings)


CUSTOM_SB3 = Experiment(
    id="envs/custom-sb3",
    world=lambda settings: PUCK,
    settings=Sb3Settings(),
    budgets={
        "smoke": Budget(600, evaluations=2, curve_episodes=2, final_episodes=2),
        "ci": Budget(3_000, evaluations=3, curve_episodes=10, final_episodes=20),
        "full": Budget(8_000, evaluations=8, curve_episodes=20, final_episodes=100),
    },
    variants={"sb3-sac": Variant("SB3's SAC"), **fresh_seeds()},
    # Chance earns about −87 and the rule about −9: nine tenths of the way.
    bars=(
        Bar(
            "Stable-Baselines3 learns the puck, the world unchanged",
            "sb3-sac",
            "iqm",
            ">=",
            -17.0,
        ),
    ),
    start=start_sb3,
    seeds=5,
)
