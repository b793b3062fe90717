"""Evaluate a recorded policy in its unmodified environment."""

from dataclasses import dataclass

import numpy as np

from rlnotes.algos.policy import Policy
from rlnotes.errors import UserError
from rlnotes.evidence import records, stats
from rlnotes.evidence.records import Record, Run
from rlnotes.experiments import registry
from rlnotes.seeding import reset_seeds


@dataclass(frozen=True)
class Evaluation:
    """One object of `evaluate --json`; null where a key has no meaning for the environment."""

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


def median_record(found: list[Record], metric: str = "final_return") -> Record:
    """The record of the median training seed (the lower one of two): neither the best nor the worst."""
    ranked = sorted(found, key=lambda record: record.last(metric))
    return ranked[(len(ranked) - 1) // 2]


def recorded_policy(run: Run) -> Policy:
    return Policy.load(run.checkpoint, f"{run.command} --replace")


def evaluate(
    experiment_id: str,
    variant: str | None = None,
    train_seed: int | None = None,
    episodes: int = 100,
    seed: int = 0,
    progress: bool = False,
) -> Evaluation:
    experiment = registry.find(experiment_id)
    variant = variant or experiment.main_variant
    settings = experiment.settings_for(variant, "full")  # raises for an unknown variant
    if episodes < 1:
        raise UserError(f"--episodes must be at least 1, not {episodes}")
    if train_seed is None:
        train_seed = median_record(records.read_all(experiment_id, variant), experiment.bars[0].metric).run.seed
    starts = reset_seeds("evaluate", seed, episodes)
    world = experiment.world(settings)
    if experiment.scripted is not None:
        played = experiment.scripted(settings, starts)
    else:
        policy = recorded_policy(Run(experiment_id, variant, train_seed))
        played = world.play(policy.act, starts, f"{experiment_id} {variant}" if progress else None)
    returns = [round(episode.total_reward, 3) for episode in played]
    scores = world.scores(played)
    return Evaluation(
        experiment_id,
        variant,
        train_seed,
        episodes,
        seed,
        returns,
        mean=round(float(np.mean(returns)), 3),
        iqm=round(stats.iqm(returns), 3),
        success_rate=scores["success_percent"] / 100 if "success_percent" in scores else None,
        normalised=round(scores["normalised"], 3) if "normalised" in scores else None,
    )
