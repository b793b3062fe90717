"""Row `bipedal/reinforce`: can REINFORCE walk? The notes say that it cannot.

Ours has a baseline, sees standardised observations, and passes once over fresh steps in
small batches; there is no ratio, and nothing is clipped but the gradient. Then the
notes' program, with the slip that pins its deviations and without it, and each thing
that it does otherwise put back alone.
"""

from dataclasses import replace
from functools import partial

import torch
from torch import Tensor
from torch.distributions import Distribution

from rlnotes.algos import ppo
from rlnotes.algos.aggrevated import ATANH_LIMIT
from rlnotes.autopsies import pinned_std
from rlnotes.experiments.base import Bar, Budget, Experiment, Variant
from rlnotes.experiments.bipedal import (
    DRAWN_ENTROPY,
    EASY,
    HARD_FALLS,
    NOTES_STD,
    SOFT_FALL,
    UNBOUNDED,
    WalkerSettings,
    start,
)
from rlnotes.experiments.settings import Override
from rlnotes.experiments.trials import beginning

# 2,000 steps to a rollout and four batches of them, the last of which are hardly older
# than the first. Without a ratio nothing holds the policy back where its deviation is
# small: there a step goes far, so it may not be small.
REINFORCE = replace(
    ppo.reinforce_config(
        num_steps=125,
        learning_rate=2e-4,
        anneal_lr=True,
        log_std_bounds=(-1.5, 1.0),
        norm_obs=True,
        ent_coef=0.004,
        entropy=ppo.played_entropy,
        reward_scale=0.1,
        loss=ppo.log_prob_loss,
        hidden=(128, 128),
    ),
    baseline=True,
    batch_size=500,
)

# --- the notes, one thing at a time


def round_trip_log_prob(dist: Distribution, action: Tensor) -> Tensor:
    """Of what is got back from the action after the tanh: nothing beyond ±7.25. With a
    deviation of 7.39, a third of all draws are."""
    played = torch.tanh(action).clamp(-ATANH_LIMIT, ATANH_LIMIT)
    return dist.log_prob(torch.atanh(played))


PINNED: Override = {f"agent.{name}": value for name, value in pinned_std.FAULT.items()}
ONE_PASS: Override = {"agent.update_epochs": 1}
FOUR_PASSES: Override = {"agent.update_epochs": 4}
NARROW: Override = {"agent.log_std_bounds": REINFORCE.log_std_bounds}
WIDE: Override = {"agent.log_std_bounds": NOTES_STD}
RAW_OBS: Override = {"agent.norm_obs": False}
NO_BASELINE: Override = {"agent.baseline": False}
# As many steps to a rollout, which then hold a whole episode and more: what comes after
# its last step is missing for few steps, as in the notes, and not for most.
LONG: Override = {"num_envs": 1, "agent.num_steps": 2_000}
ROUND_TRIP: Override = {"agent.log_prob": round_trip_log_prob}
SHORT_EPISODES: Override = {"max_episode_steps": 1_000}


def habit(label: str, override: Override, seeds: int | None = None) -> Variant:
    """For the first half of the way, by which ours walks."""
    label = f"{label}, half of the steps"
    return Variant(label, {**beginning(0.5), **override}, seeds)


# Their learner, as far as it can be told with ours: 2 million steps in a thousand
# rollouts, four passes over each. Their bonus is the mean entropy of a joint, ours the
# sum over four. (What is left: they play whole episodes until there are 2,000 steps,
# where we stop in the middle of one and go on there; and their last layers begin like
# any other, ours a hundredth as large.)
NOTES_REINFORCE = replace(
    ppo.reinforce_config(
        num_steps=2_000,
        ent_coef=0.01 / 4,
        max_grad_norm=UNBOUNDED,
        log_std_bounds=NOTES_STD,
        log_prob=round_trip_log_prob,
        loss=ppo.log_prob_loss,
        hidden=(128, 128, 128),
    ),
    update_epochs=4,
    batch_size=128,
)
FOUR_MENDED: Override = {
    **ONE_PASS,
    **NARROW,
    "agent.baseline": True,
    "agent.norm_obs": True,
}
SOFT_FALLS: Override = {"fall_penalty": SOFT_FALL}
SMALL_STEPS: Override = {
    "agent.max_grad_norm": REINFORCE.max_grad_norm,
    "agent.batch_size": REINFORCE.batch_size,
    "agent.log_prob": REINFORCE.log_prob,
}
NOTES_UNPINNED: Override = {
    "length": 2 / 3,
    "num_envs": 1,
    "agent": NOTES_REINFORCE,
    **HARD_FALLS,
    **SHORT_EPISODES,
}

BIPEDAL_REINFORCE = Experiment(
    id="bipedal/reinforce",
    world=lambda settings: EASY,
    settings=WalkerSettings(agent=REINFORCE, num_envs=16),
    budgets={
        "smoke": Budget(16_000, evaluations=1, curve_episodes=1, final_episodes=2),
        "ci": Budget(400_000, evaluations=4, curve_episodes=5, final_episodes=20),
        "full": Budget(
            3_000_000, evaluations=15, curve_episodes=10, final_episodes=100
        ),
    },
    variants={
        "reinforce": Variant("REINFORCE with a baseline", seeds=5),
        "notes": Variant("as in the notes", {**NOTES_UNPINNED, **PINNED}, 1),
        "notes-unpinned": Variant("as in the notes, σ free", NOTES_UNPINNED, 1),
        "notes-one-pass": Variant(
            "as in the notes, σ free, one pass", {**NOTES_UNPINNED, **ONE_PASS}, 1
        ),
        "notes-mended": Variant(
            "as in the notes, σ within our bounds, one pass",
            {**NOTES_UNPINNED, **ONE_PASS, **NARROW},
            seeds=1,
        ),
        "notes-four-mended": Variant(
            "… and a baseline, standardised observations",
            {**NOTES_UNPINNED, **FOUR_MENDED},
            seeds=1,
        ),
        "notes-small-steps": Variant(
            "… and clipped gradients, batches of 500, actions as they were drawn",
            {**NOTES_UNPINNED, **FOUR_MENDED, **SMALL_STEPS},
            seeds=1,
        ),
        "notes-soft-falls": Variant(
            "… and a fall costs 10",
            {**NOTES_UNPINNED, **FOUR_MENDED, **SMALL_STEPS, **SOFT_FALLS},
            seeds=1,
        ),
        "pinned-std": Variant("σ = 7.39, as in the notes", PINNED),
        "four-passes": Variant("four passes over each rollout", FOUR_PASSES),
        "wide-std": Variant("log σ from −10 to 2, as in the notes", WIDE),
        "raw-obs": habit("observations as they are", RAW_OBS),
        "no-baseline": habit("no baseline", NO_BASELINE),
        "long-rollouts": habit("one environment", LONG, seeds=1),
        "long-no-baseline": habit(
            "one environment, no baseline", {**LONG, **NO_BASELINE}, seeds=2
        ),
        "fall-penalty-100": habit("a fall costs 100", HARD_FALLS),
        "drawn-entropy": habit("entropy before the tanh", DRAWN_ENTROPY),
        "round-trip": habit("through the tanh and back", ROUND_TRIP),
        "short-episodes": habit("cut off after 1,000 steps", SHORT_EPISODES),
    },
    bars=(
        Bar("REINFORCE walks, after 3 million steps", "reinforce", "iqm", ">=", 200.0),
        Bar("with the pinned deviation it does not", "pinned-std", "iqm", "<=", 0.0),
        Bar(
            "with four passes over each rollout it does not",
            "four-passes",
            "iqm",
            "<=",
            0.0,
        ),
        Bar("on raw observations it does not", "raw-obs", "iqm", "<=", 0.0),
        Bar("without a baseline it does not", "no-baseline", "iqm", "<=", 0.0),
    ),
    start=partial(start, EASY),
    seeds=3,
)
