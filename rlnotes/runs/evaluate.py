"""Evaluate a recorded policy in its unmodified environment."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.stats import trim_mean

from rlnotes.algos.policy import Policy, check_spaces, load_policy, policy_keys
from rlnotes.data.rollouts import BatchPolicy
from rlnotes.errors import UserError
from rlnotes.experiments import registry
from rlnotes.paths import Run
from rlnotes.runs import store
from rlnotes.runs.store import Record
from rlnotes.seeding import reset_seeds


@dataclass(frozen=True)
class Evaluation:
    """One object of `evaluate --json`; null where a key has no meaning for the
    world."""

    id: str
    variant: str
    train_seed: int
    episodes: int
    seed: int
    returns: list[float]
    mean: float
    iqm: float
    success_rate: float | None
    normalised: float | None


def median_record(
    experiment_id: str, variant: str, metric: str | None = None
) -> Record:
    """The record of the median training seed."""
    found = store.read_all(experiment_id, variant)
    return store.median_of(found, metric or registry.find(experiment_id).metric)


def recorded_policy(run: Run, which: str = "last") -> Policy:
    """The policy that a run left behind, as it was at the end or at its best."""
    path, key = store.verified_checkpoint(run), f"seed-{run.seed}/{which}"
    kept = policy_keys(path)
    if key not in kept:
        raise UserError(
            f"{run.checkpoint}: the policy '{key}' is not kept. Kept: {', '.join(kept)}"
        )
    return load_policy(path, key, run.owner, f"{run.command} --replace")


def evaluate(
    experiment_id: str,
    variant: str | None = None,
    train_seed: int | None = None,
    episodes: int = 100,
    seed: int = 0,
    progress: bool = False,
    sample: bool = False,
    which: str = "last",
) -> Evaluation:
    """Play greedily, or as the policy's own chances say where `sample` is given."""
    experiment = registry.find(experiment_id)
    variant = variant or experiment.main_variant
    settings = experiment.settings_for(variant, "full")  # raises for an unknown variant
    if episodes < 1:
        raise UserError(f"--episodes must be at least 1, not {episodes}")
    if train_seed is None:
        train_seed = median_record(experiment_id, variant).run.seed
    starts = reset_seeds("evaluate", seed, episodes)
    world = experiment.world(settings)
    if experiment.scripted is not None:
        played = experiment.scripted(settings, starts)
    else:
        policy = recorded_policy(Run(experiment_id, variant, train_seed), which)
        check_spaces(policy, *world.spaces())
        rng = np.random.default_rng(seed)
        act: BatchPolicy = partial(policy.sample, rng=rng) if sample else policy.act
        played = world.play(
            act, starts, f"{experiment_id} {variant}" if progress else None
        )
    returns = [round(episode.total_reward, 3) for episode in played]
    scores = world.scores(played)
    success, normalised = scores.get("success_percent"), scores.get("normalised")
    return Evaluation(
        experiment_id,
        variant,
        train_seed,
        episodes,
        seed,
        returns,
        mean=round(float(np.mean(returns)), 3),
        iqm=round(float(trim_mean(returns, 0.25)), 3),
        success_rate=None if success is None else success / 100,
        normalised=None if normalised is None else round(normalised, 3),
    )
