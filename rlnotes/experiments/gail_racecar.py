"""Chapter "GAIL": the race car, which converged neither with REINFORCE nor with PPO in
the notes.

With PPO the fix comes first, and each suspect puts back one thing that the notes had.
REINFORCE gets the same fixes, then one more thing at a time, until it drives as well.
`gail/reward-map` trains the fix once more and keeps what the discriminator pays for on
the track.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from gymnasium.vector import VectorEnv

from rlnotes.algos import bc, gail, ppo
from rlnotes.algos.policy import Policy
from rlnotes.autopsies import fresh_sample, hand_scaling, survival
from rlnotes.autopsies.raw_mean import raw_mean_policy
from rlnotes.data import catalogue
from rlnotes.data.rollouts import Episode
from rlnotes.data.transitions import Transitions
from rlnotes.envs.vector import make_vec_env
from rlnotes.experiments.base import (
    Bar,
    Budget,
    Diagnose,
    Experiment,
    Metrics,
    Trial,
    Variant,
    fresh_seeds,
    new_trial,
)
from rlnotes.experiments.gail import DISCOUNTED, DemonstratedSettings
from rlnotes.experiments.racecar import TRACK, Track, track
from rlnotes.experiments.settings import Override
from rlnotes.experiments.trials import observations
from rlnotes.seeding import reset_seeds

UNBOUNDED = 1e9  # JSON has no infinity
LONGEST = 501  # observations of an episode that runs out of time

GENERATOR = ppo.Config(
    num_steps=256,
    anneal_lr=True,
    initial_std=0.3,
    reward_scale=0.01,
    hidden=(128, 128),
)
AGENT = gail.Config(
    terminal="absorbing_per_state",
    gradient_penalty=1.0,
    bc_weight=10.0,
    generator=GENERATOR,
)


@dataclass(frozen=True, kw_only=True)
class RaceCarGailSettings(DemonstratedSettings):
    agent: gail.Config | bc.Config = AGENT
    num_envs: int = 16
    action_low: tuple[float, float] = (-1.0, 0.0)  # of steering and throttle
    reverse: bool = False  # with a throttle below 0 the car drives backwards


def gail_track(settings: RaceCarGailSettings) -> Track:
    return Track(options={"start_noise": 1.0, "reverse": settings.reverse})


def new_policy(settings: RaceCarGailSettings, shown: Sequence[Episode]) -> Policy:
    seen, _ = TRACK.spaces()
    low = np.array(settings.action_low, np.float32)
    actions = spaces.Box(low, np.ones(2, np.float32))
    config = GENERATOR
    if isinstance(settings.agent, gail.Config):
        config = settings.agent.generator
    return ppo.new_policy(
        seen, actions, config, *settings.obs_scale(observations(shown))
    )


def new_agent(
    settings: RaceCarGailSettings, shown: Sequence[Episode]
) -> tuple[gail.Agent, VectorEnv]:
    assert isinstance(settings.agent, gail.Config)
    envs = make_vec_env(gail_track(settings).make, settings.num_envs)
    return gail.Agent(new_policy(settings, shown), settings.agent), envs


def start(settings: RaceCarGailSettings, seed: int) -> Trial:
    shown = settings.shown(seed)
    agent: Any
    stream: Iterator[tuple[int, Any]]
    if isinstance(settings.agent, bc.Config):
        agent = bc.Agent(new_policy(settings, shown), settings.agent)
        stream = bc.train(agent, Transitions.from_episodes(shown), settings.steps)
    else:
        agent, envs = new_agent(settings, shown)
        stream = gail.train(agent, envs, shown, settings.steps, seed, warn=False)
    diagnose, world = driven(agent.policy, settings), gail_track(settings)
    return new_trial(agent.policy, agent, stream, world, settings, diagnose)


def driven(policy: Policy, settings: RaceCarGailSettings) -> Diagnose:
    """How far the cars came, and how often they would arrive without the tanh."""

    def diagnose(drives: Sequence[Episode]) -> Metrics:
        metres = [_length(drive.observations[:, :2]) for drive in drives]
        starts = reset_seeds("select", 0, settings.budget.curve_episodes)
        world = gail_track(settings)
        scores = world.scores(world.play(raw_mean_policy(policy), starts))
        return {
            "metres": float(np.mean(metres)),
            "raw_mean_success_percent": scores["success_percent"],
        }

    return diagnose


def _length(line: np.ndarray) -> float:
    return float(np.linalg.norm(np.diff(line, axis=0), axis=1).sum())


BUDGETS = {
    "smoke": Budget(4_096, evaluations=1, curve_episodes=1, final_episodes=2),
    "ci": Budget(100_000, evaluations=4, curve_episodes=5, final_episodes=20),
    "full": Budget(300_000, evaluations=10, curve_episodes=10, final_episodes=100),
}
SETTINGS = RaceCarGailSettings(dataset=catalogue.RACECAR_CLEAN, demonstrations=5)

FRESH: Override = {
    f"agent.generator.{name}": x for name, x in fresh_sample.FAULT.items()
}
SURVIVAL: Override = {f"agent.{name}": value for name, value in survival.FAULT.items()}
# Everything below the middle of the range means standing still,
THROTTLE: Override = {"action_low": (-1.0, -1.0)}
# or, as in the notes, whose car does not clip its throttle, driving backwards.
REVERSE: Override = {**THROTTLE, "reverse": True}
NO_PENALTY: Override = {"agent.gradient_penalty": 0.0}
NO_BC: Override = {"agent.bc_weight": 0.0}
# V = 0: advantages are sums of rewards over some 1 / (1 − γλ) = 17 steps.
NO_CRITIC: Override = {"agent.generator.baseline": False}
RAW_ADVANTAGES: Override = {
    "agent.generator.norm_adv": False,
    "agent.generator.reward_scale": 1.0,
}
ONE_EPISODE: Override = {
    "num_envs": 1,
    "agent.generator.episodic": True,
    "agent.generator.num_steps": LONGEST - 1,
}
# The notes' discriminator takes one step for each episode. The demonstrator's have some
# 340 steps, of which a rollout is twelve.
DISC_UPDATE_PER_EPISODE: Override = {"agent.disc_updates": 12}
ONE_DISC_UPDATE: Override = {"agent.disc_updates": 1}
# The notes also added the task's reward to the discriminator's and scaled states by
# hand. This has our critic and our rollouts.
TOGETHER: Override = {
    **FRESH,
    **THROTTLE,
    **SURVIVAL,
    **NO_PENALTY,
    **NO_BC,
    "obs_scale": hand_scaling.positions_by_15,
    "agent.task_reward_weight": 1.0,
}
# The notes' program as far as it can be told with this learner. What is left: theirs
# starts at one place, has the goal in the state and 2,500 steps to an episode, and goes
# on for 5,000 of them; its discriminator sees what it sees as it is, the last 128 steps
# of an episode only, and learns after the policy.
PROGRAM: Override = {
    **TOGETHER,
    **REVERSE,
    **ONE_DISC_UPDATE,
    "dataset": catalogue.RACECAR_NOTES,
    "demonstrations": 100,
    "num_envs": 1,
    "agent.disc_batch_size": 64,  # of either side
    "agent.disc_learning_rate": 1e-4,
    "agent.disc_hidden": (128, 64),
    "agent.generator": ppo.Config(
        baseline=False,
        norm_adv=False,
        episodic=True,
        num_steps=LONGEST - 1,
        update_epochs=4,
        batch_size=64,
        learning_rate=1e-4,
        max_grad_norm=UNBOUNDED,
        log_std_bounds=(-20.0, 2.0),
        hidden=(128, 128),
        **fresh_sample.FAULT,
    ),
}
# How long it takes is not the notes' question but ours: what can GAIL do by itself?
LONGER: Override = {"length": 4.0, "budget.evaluations": 40}
# No reward, no values and nothing that is divided by their deviation: the gradient of
# what is paid is exactly 0, and cloning is left.
UNPAID: Override = {
    "agent.reward": survival.no_reward,
    "agent.generator.baseline": False,
    "agent.generator.norm_adv": False,
}
# About as many batches of demonstrations as the fix sees, and nothing else.
BC_ALONE: Override = {"agent": bc.Config(hidden=(128, 128)), "length": 0.04}

RACECAR_PPO = Experiment(
    id="gail/racecar-ppo",
    world=gail_track,
    settings=SETTINGS,
    budgets=BUDGETS,
    variants={
        "ppo": Variant("GAIL and cloning", seeds=5),
        # Each of these is the fix with one thing as it was in the notes.
        "fresh-log-prob": Variant("ratio of an action drawn anew", FRESH),
        "reverse": Variant("throttle that reverses", REVERSE),
        "throttle-from-minus-1": Variant("throttle as if from −1", THROTTLE),
        "no-critic": Variant("no critic", NO_CRITIC),
        "raw-advantages": Variant("advantages as they come", RAW_ADVANTAGES),
        "one-episode": Variant("one episode per update", ONE_EPISODE),
        "disc-update-per-episode": Variant(
            "discriminator: a step per 340", DISC_UPDATE_PER_EPISODE
        ),
        "one-disc-update": Variant("discriminator: a step per 4,096", ONE_DISC_UPDATE),
        "gail-zero": Variant("survive, end worth 0", SURVIVAL, seeds=5),
        "no-penalty": Variant("no gradient penalty", NO_PENALTY),
        "discounted": Variant("steps weighed by γ^t", DISCOUNTED),
        "no-bc": Variant("GAIL alone", NO_BC),
        "no-bc-longer": Variant("GAIL alone, four times as long", {**NO_BC, **LONGER}),
        "bc-alone": Variant("cloning alone", BC_ALONE),
        # The same worlds, batches and rates as the fix, and nothing is paid.
        "unpaid": Variant("cloning with the fix's rates", UNPAID, seeds=5),
        "notes": Variant("five of them together", TOGETHER),
        "notes-program": Variant("nearly the notes' program", PROGRAM),
        **fresh_seeds(),
    },
    bars=(
        Bar(
            "GAIL with PPO arrives from perturbed starts",
            "ppo",
            "iqm",
            ">=",
            90.0,
            "final_success_percent",
        ),
    ),
    start=start,
    seeds=3,
)


# All that was fixed for PPO but the learner: no critic, one world, one batch and one
# pass, and so one step of cloning for each rollout.
REINFORCE: Override = {
    "agent.generator": ppo.reinforce_config(
        learning_rate=3e-3,
        num_steps=2_048,
        initial_std=0.3,
        reward_scale=0.01,
        hidden=(128, 128),
    ),
    "num_envs": 1,
}

CLONING_APART: Override = {**REINFORCE, "agent.bc_updates": 80}
ANNEALED: Override = {**CLONING_APART, "agent.generator.anneal_lr": True}
# V is taken from the returns, and stands in for them where a rollout or the clock cuts
# an episode off; without it what comes after the cut counts nothing.
WITH_BASELINE: Override = {**ANNEALED, "agent.generator.baseline": True}
ONE_PASS: Override = {"agent.generator.update_epochs": 1}
# 2,048 steps or more, two passes without a ratio, four steps of the discriminator. The
# notes went on for a thousand such rounds, two million steps.
REINFORCE_PROGRAM: Override = {
    **PROGRAM,
    "agent.task_reward_weight": 0.0,
    "agent.disc_updates": 4,
    "agent.generator": replace(
        ppo.reinforce_config(
            learning_rate=1e-4,
            num_steps=2_048,
            max_grad_norm=UNBOUNDED,
            clip_coef=UNBOUNDED,
            log_std_bounds=(-20.0, 2.0),
            hidden=(128, 128),
        ),
        update_epochs=2,
    ),
}

RACECAR_REINFORCE = Experiment(
    id="gail/racecar-reinforce",
    world=track,
    settings=SETTINGS,
    budgets=BUDGETS,
    variants={
        # Chosen by trying on seed 0, which is not among its own.
        "with-baseline": Variant(
            "+ critic as a baseline", WITH_BASELINE, seeds=5, first_seed=1
        ),
        # A ladder: each has one thing more than the one before.
        "reinforce": Variant("REINFORCE in the place of PPO", REINFORCE, seeds=5),
        "cloning-apart": Variant("+ as many steps of cloning as PPO", CLONING_APART),
        "annealed": Variant("+ a learning rate that falls", ANNEALED),
        # What the discriminator's pay has to do with it.
        "unpaid": Variant(
            "the same, unpaid",
            {**WITH_BASELINE, **UNPAID},
            first_seed=1,
        ),
        # The same from the other side: PPO with one thing less.
        "one-pass": Variant("PPO, one pass", ONE_PASS),
        "one-pass-cloning-apart": Variant(
            "PPO, one pass, cloning apart", {**ONE_PASS, "agent.bc_updates": 144}
        ),
        "notes": Variant(
            "REINFORCE, no cloning, the notes' pay",
            {**REINFORCE, **NO_BC, **NO_PENALTY, **SURVIVAL},
        ),
        "notes-program": Variant("nearly the notes' program", REINFORCE_PROGRAM),
    },
    bars=(
        Bar(
            "GAIL with REINFORCE arrives, too",
            "with-baseline",
            "iqm",
            ">=",
            90.0,
            "final_success_percent",
        ),
    ),
    start=start,
    seeds=3,
)


# --- what the discriminator pays for on the track

BETWEEN = 2  # rollouts from one map to the next
SPACING = 0.1  # m between the places of a map
# x from, to; y from, to
CORRIDORS = ((0, 2, 0, 4), (0, 10, 2, 4), (8, 10, 2, 8), (8, 15, 6, 8))


def places_on_the_track() -> np.ndarray:
    x, y = np.meshgrid(
        np.arange(SPACING / 2, 15, SPACING), np.arange(SPACING / 2, 8, SPACING)
    )
    free = [
        (x > west) & (x < east) & (y > south) & (y < north)
        for west, east, south, north in CORRIDORS
    ]
    return np.stack([x, y], axis=-1)[np.any(free, axis=0)].astype(np.float32)


@torch.no_grad()
def rewards_at(
    agent: gail.Agent, shown: Sequence[Episode], places: np.ndarray
) -> np.ndarray:
    """For a car that does at each place what the nearest demonstrated state does."""
    policy = agent.policy
    obs = np.concatenate([episode.observations[:-1] for episode in shown])
    action = np.concatenate([episode.actions for episode in shown])
    nearest = [int(np.square(obs[:, :2] - place).sum(1).argmin()) for place in places]
    there = obs[nearest]
    there[:, :2] = places
    as_shown = torch.as_tensor(action[nearest], dtype=torch.float32)
    rows = gail.features(
        agent,
        policy.encode_obs(torch.as_tensor(there)),
        policy.encode_action(as_shown),
    )
    return agent.config.reward(agent.discriminator(rows)).numpy()


def start_map(settings: RaceCarGailSettings, seed: int) -> Trial:
    """Train as `gail/racecar-ppo` does, and keep a map every few rollouts."""
    shown, places = settings.shown(seed), places_on_the_track()
    agent, envs = new_agent(settings, shown)
    trial = Trial(agent.policy, settings.steps)

    def stream() -> Iterator[tuple[int, Metrics]]:
        steps, rewards, drives = [], [], []
        (start,) = reset_seeds("select", 0, 1)
        training = gail.train(agent, envs, shown, settings.steps, seed, warn=False)
        for number, (step, _) in enumerate(training):
            if number % BETWEEN:
                yield step, {}
                continue
            (drive,) = TRACK.play(agent.policy.act, [start])
            line = drive.observations[:, :2]
            missing = ((0, LONGEST - len(line)), (0, 0))
            steps.append(step)
            rewards.append(rewards_at(agent, shown, places).astype(np.float16))
            drives.append(np.pad(line, missing, mode="edge"))
            yield step, map_numbers(places, rewards[-1])
        trial.arrays |= {
            "steps": np.array(steps),
            "places": places,
            "rewards": np.stack(rewards),
            "drives": np.stack(drives).astype(np.float32),
        }

    trial.stream = stream()
    return trial


def map_numbers(places: np.ndarray, rewards: np.ndarray) -> Metrics:
    """Mean rewards beyond and before x = 10 m, and their mean size."""
    far, rewards = places[:, 0] > 10, rewards.astype(float)
    return {
        "reward_far": float(rewards[far].mean()),
        "reward_near": float(rewards[~far].mean()),
        "reward_size": float(np.abs(rewards).mean()),
    }


REWARD_MAP = Experiment(
    id="gail/reward-map",
    world=track,
    settings=SETTINGS,
    budgets=BUDGETS,
    variants={"ppo": Variant("GAIL and cloning")},
    bars=(),
    start=start_map,
    seeds=1,
)
