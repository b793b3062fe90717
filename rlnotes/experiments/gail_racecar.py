"""Chapter "GAIL": the race car, which converged neither with REINFORCE nor with PPO in the notes.

The fix comes first. Each suspect then puts back one thing that the notes had; `notes` puts back all of them.
"""

from collections.abc import Sequence

import numpy as np
import torch

from rlnotes.algos import gail
from rlnotes.algos.policy import Policy
from rlnotes.autopsies import fresh_sample, survival
from rlnotes.data.rollouts import BatchPolicy, Episode
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


def start(settings: Settings, seed: int) -> Trial:
    torch.manual_seed(seed)
    world = track(settings)
    shown = demonstrations(settings, seed)
    envs, steps = many(world.make, settings["envs"]), settings["steps"]
    low, high = envs.single_action_space.low, envs.single_action_space.high  # type: ignore[attr-defined]
    if settings["throttle"] == "as-if-from-minus-1":
        low = -np.ones_like(high)  # half of what the policy says means standing still
    mean, std = state_scale(settings, np.concatenate([episode.observations for episode in shown]))
    policy = Policy(low, high, mean, std, settings["hidden"], "gaussian")
    stream = gail.train(new_agent(policy, settings), envs, shown, steps, seed, warn=False)

    def diagnose(drives: Sequence[Episode]) -> Metrics:
        """How far the cars came, and how often they would arrive without the tanh."""
        metres = [float(np.linalg.norm(np.diff(drive.observations[:, :2], axis=0), axis=1).sum()) for drive in drives]
        without = world.scores(world.play(raw_mean(policy), reset_seeds("evaluate", 0, settings["curve_episodes"])))
        return {"metres": float(np.mean(metres)), "raw_mean_success_percent": without["success_percent"]}

    return Trial(policy, steps, evaluated(policy.act, stream, steps, world, settings, diagnose))


# Each is the fix with one thing as it was in the notes.
SUSPECTS: dict[str, Settings] = {
    "fresh-log-prob": fresh_sample.FAULT,
    "throttle-from-minus-1": {"throttle": "as-if-from-minus-1"},
    "survive": {"reward": "survive"},
    "unpaid-end": {"after_end": "nothing"},
    "survive-unpaid-end": survival.FAULT,
    "no-penalty": {"gradient_penalty": 0.0},
    "no-entropy": {"entropy_weight": 0.0},
}
# The task's reward was added to the discriminator's, and states were scaled by hand.
NOTES: Settings = {name: value for suspect in SUSPECTS.values() for name, value in suspect.items()} | {
    "dataset": recipes.RACECAR_KEYBOARD,
    "states": "divided-by-15",
    "task_weight": 1.0,
}

RACECAR_PPO = Experiment(
    id="gail/racecar-ppo",
    world=track,
    settings=GAIL
    | {
        "dataset": recipes.RACECAR_CLEAN,
        "demonstrations": 100,
        "states": "standardised",
        "throttle": "from-0",
        "after_end": "in place",
        "gradient_penalty": 10.0,
        "entropy_weight": 0.01,
        "learning_rate": 3e-4,
        "envs": 16,
        "length": 256,
    },
    budgets={
        "smoke": {"steps": 4_096, "evaluations": 1, "curve_episodes": 1, "final_episodes": 2},
        "ci": {"steps": 120_000, "evaluations": 3, "curve_episodes": 5, "final_episodes": 20},
        "full": {"steps": 1_000_000, "evaluations": 10, "curve_episodes": 10, "final_episodes": 100},
    },
    variants={"ppo": {}, **SUSPECTS, "nowhere": {"after_end": "nowhere"}, "notes": NOTES},
    bars=(Bar("GAIL with PPO arrives from perturbed starts", "ppo", "iqm", ">=", 90.0, "final_success_percent"),),
    start=start,
    seeds=3,
    seeds_of={"ppo": 5},
)
