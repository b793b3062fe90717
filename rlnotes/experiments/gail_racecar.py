"""Chapter "GAIL": the race car, which converged neither with REINFORCE nor with PPO in the notes.

With PPO the fix comes first, and each suspect puts back one thing that the notes had. REINFORCE is tried with the same
fixes, and as the notes had it.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from gymnasium.vector import VectorEnv

from rlnotes.algos import bc, gail
from rlnotes.algos.policy import Policy
from rlnotes.autopsies import fresh_sample, survival
from rlnotes.data.rollouts import BatchPolicy, Episode
from rlnotes.data.transitions import Transitions
from rlnotes.experiments import recipes
from rlnotes.experiments.base import Bar, Experiment, Metrics, Settings, Trial, evaluated
from rlnotes.experiments.gail import GAIL, demonstrations, many, new_agent
from rlnotes.experiments.racecar import state_scale, track
from rlnotes.seeding import reset_seeds


def raw_mean(policy: Policy) -> BatchPolicy:
    """The fault of the notes' evaluation: the mean itself, without the tanh under which it was trained."""

    @torch.no_grad()
    def act(obs: np.ndarray) -> np.ndarray:
        outputs = policy.net(policy.encode_obs(torch.as_tensor(obs, dtype=torch.float32)))
        return policy.decode_action(outputs[:, : policy.action_dim]).numpy()

    return act


def new_trial(settings: Settings, seed: int) -> tuple[gail.Agent, VectorEnv, list[Episode]]:
    torch.manual_seed(seed)
    shown = demonstrations(settings, seed)
    envs = many(track(settings).make, settings["envs"])
    low, high = envs.single_action_space.low, envs.single_action_space.high  # type: ignore[attr-defined]
    if settings["throttle"] == "as-if-from-minus-1":
        low = -np.ones_like(high)  # everything below the middle means standing still
    mean, std = state_scale(settings, np.concatenate([episode.observations for episode in shown]))
    policy = Policy(low, high, mean, std, settings["hidden"], "gaussian")
    return new_agent(policy, settings), envs, shown


def start(settings: Settings, seed: int) -> Trial:
    agent, envs, shown = new_trial(settings, seed)
    world, policy, steps = track(settings), agent.policy, settings["steps"]
    stream: Iterator[tuple[int, Any]]
    if settings["generator"] == "bc":
        alone = bc.Agent(policy, bc.Config(learning_rate=settings["learning_rate"]))
        stream = bc.train(alone, Transitions.from_episodes(shown), steps)
    else:
        stream = gail.train(agent, envs, shown, steps, seed, warn=False)

    def diagnose(drives: Sequence[Episode]) -> Metrics:
        """How far the cars came, and how often they would arrive without the tanh."""
        metres = [float(np.linalg.norm(np.diff(drive.observations[:, :2], axis=0), axis=1).sum()) for drive in drives]
        without = world.scores(world.play(raw_mean(policy), reset_seeds("evaluate", 0, settings["curve_episodes"])))
        return {"metres": float(np.mean(metres)), "raw_mean_success_percent": without["success_percent"]}

    return Trial(policy, steps, evaluated(policy.act, stream, steps, world, settings, diagnose))


RACECAR: Settings = GAIL | {
    "dataset": recipes.RACECAR_CLEAN,
    "demonstrations": 5,
    "states": "standardised",
    "throttle": "from-0",
    "after_end": "in place",
    "cloning": 10.0,
    "first_deviation": 0.3,
    "hidden": [128, 128],
    "learning_rate": 3e-4,
    "envs": 16,
    "length": 256,
}
BUDGETS: dict[str, Settings] = {
    "smoke": {"steps": 4_096, "evaluations": 1, "curve_episodes": 1, "final_episodes": 2},
    "ci": {"steps": 100_000, "evaluations": 4, "curve_episodes": 5, "final_episodes": 20},
    "full": {"steps": 300_000, "evaluations": 10, "curve_episodes": 10, "final_episodes": 100},
}

THROTTLE: Settings = {"throttle": "as-if-from-minus-1"}
NO_CLONING: Settings = {"cloning": 0.0}
NO_PENALTY: Settings = {"gradient_penalty": 0.0}
# About as many batches of demonstrations as the fix sees, and nothing else.
BC_ALONE: Settings = {"generator": "bc", "steps": 12_000}

# Each is the fix with one thing as it was in the notes.
SUSPECTS: dict[str, Settings] = {
    "fresh-log-prob": fresh_sample.FAULT,
    "throttle-from-minus-1": THROTTLE,
    "survive-unpaid": survival.FAULT,
    "no-penalty": NO_PENALTY,
    "no-cloning": NO_CLONING,
}
# The notes added the task's reward to the discriminator's and scaled states by hand. They had no critic; this has one.
NOTES: Settings = {name: value for suspect in SUSPECTS.values() for name, value in suspect.items()} | {
    "states": "divided-by-15",
    "task_weight": 1.0,
}

RACECAR_PPO = Experiment(
    id="gail/racecar-ppo",
    world=track,
    settings=RACECAR,
    budgets=BUDGETS,
    variants={"ppo": {}, **SUSPECTS, "bc-alone": BC_ALONE, "notes": NOTES},
    bars=(Bar("GAIL with PPO arrives from perturbed starts", "ppo", "iqm", ">=", 90.0, "final_success_percent"),),
    start=start,
    seeds=3,
    seeds_of={"ppo": 5},
)


# All that was fixed for PPO but the learner; and beside it what the notes paid, without cloning.
REINFORCE: Settings = {"generator": "reinforce", "envs": 1, "length": 2_048, "learning_rate": 3e-3, "anneal": False}

RACECAR_REINFORCE = Experiment(
    id="gail/racecar-reinforce",
    world=track,
    settings=RACECAR | REINFORCE,
    budgets=BUDGETS,
    variants={
        "reinforce": {},
        "notes": NO_CLONING | NO_PENALTY | survival.FAULT,
    },
    bars=(Bar("GAIL with REINFORCE arrives, too", "reinforce", "iqm", ">=", 90.0, "final_success_percent"),),
    start=start,
    seeds=3,
    seeds_of={"reinforce": 5},
)
