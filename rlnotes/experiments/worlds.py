"""Chapter "PyBullet worlds": drivers on the track, a cart and pole, a ball on a plate, a world of one's own."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch

from rlnotes.algos import dqn, reinforce, sb3
from rlnotes.algos.policy import Policy
from rlnotes.autopsies import stale_target
from rlnotes.data.rollouts import Episode
from rlnotes.envs import checks
from rlnotes.experiments import recipes
from rlnotes.experiments.base import Bar, Experiment, Metrics, Settings, Trial, World, evaluated
from rlnotes.experiments.racecar import track
from rlnotes.seeding import reset_seeds

CARTPOLE = World("rlnotes/BulletCartPole-v0")
PUCK = World("rlnotes/Puck-v0")


def plate(settings: Settings) -> World:
    """Held to the time limit is a success: the ball never fell."""
    options = {"joint_velocities": settings["joint_velocities"]}
    return World("rlnotes/BalancingPlate-v0", options, success=lambda episode: not episode.terminated)


# --- the scripted driver and those that drive like people


def play_demonstrations(settings: Settings, starts: Sequence[int]) -> list[Episode]:
    return recipes.find(settings["dataset"]).play(starts)


def start_demonstrations(settings: Settings, seed: int) -> Trial:
    def stream() -> Iterator[tuple[int, Metrics]]:
        episodes = play_demonstrations(settings, reset_seeds("evaluate", seed, settings["final_episodes"]))
        yield 1, {f"final_{name}": value for name, value in track(settings).scores(episodes).items()}

    return Trial(None, 1, stream())


DEMONSTRATIONS = Experiment(
    id="racecar/demos",
    world=track,
    settings={"dataset": recipes.RACECAR_CLEAN},
    budgets={"smoke": {"final_episodes": 2}, "ci": {"final_episodes": 20}, "full": {"final_episodes": 100}},
    variants={
        "clean": {},
        "dart": {"dataset": recipes.RACECAR_DART},
        "keyboard": {"dataset": recipes.RACECAR_KEYBOARD},
    },
    bars=(
        Bar("the scripted driver arrives from perturbed starts", "clean", "worst", ">=", 99.0, "final_success_percent"),
    ),
    start=start_demonstrations,
    scripted=play_demonstrations,
)


# --- REINFORCE on the cart and pole


def start_cartpole(settings: Settings, seed: int) -> Trial:
    torch.manual_seed(seed)
    env = CARTPOLE.make()
    config = reinforce.Config(learning_rate=settings["learning_rate"], hidden=tuple(settings["hidden"]))
    policy = Policy.for_spaces(env.observation_space, env.action_space, config.hidden)
    steps = settings["steps"]
    stream = reinforce.train(reinforce.Agent(policy, config), env, steps, seed)
    return Trial(policy, steps, evaluated(policy.act, stream, steps, CARTPOLE, settings))


BULLET_CARTPOLE = Experiment(
    id="bullet/cartpole",
    world=lambda settings: CARTPOLE,
    settings={"learning_rate": 1e-2, "hidden": [128]},
    budgets={
        "smoke": {"steps": 2_000, "evaluations": 2, "curve_episodes": 1, "final_episodes": 2},
        "ci": {"steps": 60_000, "evaluations": 6, "curve_episodes": 5, "final_episodes": 20},
        "full": {"steps": 200_000, "evaluations": 20, "curve_episodes": 10, "final_episodes": 100},
    },
    variants={"reinforce": {}},
    bars=(Bar("REINFORCE keeps the pole up", "reinforce", "iqm", ">=", 475.0),),
    start=start_cartpole,
)


# --- DQN on the plate, and why it did not work in the notes

RENEWALS: dict[str, Callable[[int, bool, dqn.Config], bool]] = {
    "on-schedule": dqn.renew_on_schedule,
    "at-episode-end": stale_target.renew_at_episode_end,
}


def start_plate(settings: Settings, seed: int) -> Trial:
    torch.manual_seed(seed)
    world = plate(settings)
    env = world.make(max_episode_steps=settings["time_limit"])
    config = dqn.Config(
        learning_rate=settings["learning_rate"],
        anneal=settings["anneal"],
        hidden=tuple(settings["hidden"]),
        capacity=settings["steps"],
        epsilon_steps=settings["steps"] // 5,
        update_every=settings["update_every"],
        target_every=settings["target_every"],
    )
    spaces = env.observation_space, env.action_space
    policy = Policy.for_spaces(*spaces, config.hidden, layer_norm=settings["layer_norm"])
    steps = settings["steps"]
    stream = dqn.train(dqn.Agent(policy, config), env, steps, seed, RENEWALS[settings["renewal"]])
    return Trial(policy, steps, evaluated(policy.act, stream, steps, world, settings))


PLATE = Experiment(
    id="bullet/plate",
    world=plate,
    settings={
        "learning_rate": 5e-4,
        "anneal": True,
        "hidden": [128, 128],
        "layer_norm": True,
        "update_every": 4,
        "target_every": 400,
        "renewal": "on-schedule",
        "joint_velocities": True,
        "time_limit": 1_000,
    },
    budgets={
        "smoke": {"steps": 1_200, "evaluations": 2, "curve_episodes": 1, "final_episodes": 2},
        "ci": {"steps": 48_000, "evaluations": 4, "curve_episodes": 5, "final_episodes": 20},
        "full": {"steps": 150_000, "evaluations": 10, "curve_episodes": 5, "final_episodes": 100},
    },
    variants={
        "dqn": {},
        "renewed-at-episode-end": stale_target.FAULT,
        "renewed-every-1000": {"target_every": 1_000},
        "no-joint-velocities": {"joint_velocities": False},
        "no-time-limit": {"time_limit": 1_000_000},
        "no-layer-norm": {"layer_norm": False},
        "as-in-the-notes": {
            **stale_target.FAULT,
            "target_every": 1_000,
            "joint_velocities": False,
            "time_limit": 1_000_000,
            "layer_norm": False,
        },
    },
    bars=(
        Bar("DQN holds the ball for 1,000 steps", "dqn", "iqm", ">=", 90.0, "final_success_percent"),
        Bar(
            "with the notes' renewal it never does",
            "renewed-at-episode-end",
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


def pull_and_brake(obs: np.ndarray) -> np.ndarray:
    """A spring to the target and a damper: what a person would write before learning anything."""
    return np.clip(6 * (obs[:, 4:] - obs[:, :2]) - 2.5 * obs[:, 2:4], -1, 1)


def play_by_rule(settings: Settings, starts: Sequence[int]) -> list[Episode]:
    return PUCK.play(pull_and_brake, starts)


def start_checks(settings: Settings, seed: int) -> Trial:
    """Each step of the stream is one check that held; a check that does not hold ends the run with its error."""
    held: list[Callable[[], None]] = [
        lambda: checks.interface(PUCK.env_id),
        lambda: checks.repeatable(PUCK.env_id, seed),
        lambda: checks.picture(PUCK.env_id, seed),
        lambda: checks.vectorised(PUCK.env_id, seed, "sync"),
        lambda: checks.vectorised(PUCK.env_id, seed, "async"),
    ]

    def stream() -> Iterator[tuple[int, Metrics]]:
        for step, check in enumerate(held, start=1):
            check()
            yield step, {"checks_held": step}
        scores = PUCK.scores(play_by_rule(settings, reset_seeds("evaluate", seed, settings["final_episodes"])))
        yield len(held) + 1, {"checks_held": len(held), "final_return": scores["return"]}

    return Trial(None, len(held) + 1, stream())


CUSTOM_GYM = Experiment(
    id="envs/custom-gym",
    world=lambda settings: PUCK,
    settings={},
    budgets={"smoke": {"final_episodes": 2}, "ci": {"final_episodes": 20}, "full": {"final_episodes": 100}},
    variants={"checks": {}},
    bars=(Bar("the new world passes all five checks", "checks", "worst", ">=", 5.0, "checks_held"),),
    start=start_checks,
    scripted=play_by_rule,
)


def start_sb3(settings: Settings, seed: int) -> Trial:
    options = {"policy_kwargs": {"net_arch": settings["hidden"]}, "learning_rate": settings["learning_rate"]}
    model = sb3.sac(PUCK.make(), seed, learning_starts=500, gamma=settings["discount"], **options)
    policy = sb3.new_policy(model)
    steps = settings["steps"]
    stream = sb3.train(model, policy, steps, chunk=100)
    return Trial(policy, steps, evaluated(policy.act, stream, steps, PUCK, settings))


CUSTOM_SB3 = Experiment(
    id="envs/custom-sb3",
    world=lambda settings: PUCK,
    settings={"learning_rate": 1e-3, "hidden": [64, 64], "discount": 0.97},
    budgets={
        "smoke": {"steps": 600, "evaluations": 2, "curve_episodes": 2, "final_episodes": 2},
        "ci": {"steps": 3_000, "evaluations": 3, "curve_episodes": 10, "final_episodes": 20},
        "full": {"steps": 8_000, "evaluations": 8, "curve_episodes": 20, "final_episodes": 100},
    },
    variants={"sb3-sac": {}},
    # Chance earns about −87 and the rule about −9: nine tenths of the way.
    bars=(Bar("Stable-Baselines3 learns the puck, the world unchanged", "sb3-sac", "iqm", ">=", -17.0),),
    start=start_sb3,
    seeds=5,
)
