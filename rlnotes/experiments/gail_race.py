"""A race on CartPole from ten demonstrations: our GAIL against the `imitation`
library's, on this machine, in one run.

Both train on one thread, one after the other, until ten evaluation episodes last 475
steps on average. Only training is timed. The library cannot share our environment, so
it gets one of its own, made on first use.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rlnotes.algos import gail
from rlnotes.data import catalogue
from rlnotes.data.rollouts import Episode
from rlnotes.experiments import foreign
from rlnotes.experiments.base import Budget, Experiment, Metrics, Trial, Variant
from rlnotes.experiments.gail import CARTPOLE, CARTPOLE_GAIL, GailSettings, new_agent
from rlnotes.seeding import reset_seeds

PACKAGES = ("imitation==1.0.1", "gymnasium==0.29.1", "stable-baselines3==2.2.1")
SCRIPT = "imitation_gail.py"


@dataclass(frozen=True, kw_only=True)
class RaceSettings(GailSettings):
    goal: float = 475.0
    evaluate_every: int = 4_096  # steps
    library_steps: int = 400_000  # at most


def start(settings: RaceSettings, seed: int) -> Trial:
    shown = settings.shown(seed)

    def stream() -> Iterator[tuple[int, Metrics]]:
        for name, training in (
            ("ours", ours(settings, shown, seed)),
            ("imitation", theirs(settings, shown, seed)),
        ):
            arrived: Metrics = {
                f"{name}_seconds_to_goal": np.nan,
                f"{name}_steps_to_goal": np.nan,
            }
            for step, seconds, score in training:
                yield step, {f"{name}_return": score, f"{name}_seconds": seconds}
                if score >= settings.goal:
                    arrived = dict(zip(arrived, (seconds, float(step)), strict=True))
                    break
            yield (
                step,
                arrived,
            )  # NaN: it never did, and nobody knows when it would have

    return Trial(None, settings.steps, stream())


def ours(
    settings: RaceSettings, shown: list[Episode], seed: int
) -> Iterator[tuple[int, float, float]]:
    """The first variant of `gail/cartpole`, as recorded: (steps, seconds, return)."""
    agent, envs = new_agent(CARTPOLE, settings, shown)
    starts = reset_seeds("select", 0, 10)
    seconds, started, evaluated = 0.0, time.perf_counter(), 0
    for step, _ in gail.train(agent, envs, shown, settings.steps, seed):
        if step // settings.evaluate_every > evaluated:
            evaluated = step // settings.evaluate_every
            seconds += time.perf_counter() - started  # evaluations are not training
            episodes = CARTPOLE.play(agent.policy.act, starts)
            yield step, seconds, CARTPOLE.scores(episodes)["return"]
            started = time.perf_counter()


def theirs(
    settings: RaceSettings, shown: list[Episode], seed: int
) -> Iterator[tuple[int, float, float]]:
    data = foreign.folder(f"demonstrations-{seed}.npz")
    data.parent.mkdir(exist_ok=True)
    np.savez(
        data,
        observations=np.stack([episode.observations for episode in shown]),
        actions=np.stack([episode.actions for episode in shown]),
    )
    limits = (settings.library_steps, settings.evaluate_every, settings.goal)
    rows = foreign.run("imitation", PACKAGES, SCRIPT, data, seed, *limits)
    for row in rows:
        yield row["steps"], row["seconds"], row["return"]


RACE = Experiment(
    id="gail/race",
    world=lambda settings: CARTPOLE,
    settings=RaceSettings(dataset=catalogue.CARTPOLE_EXPERT, demonstrations=10),
    budgets={
        "smoke": Budget(4_096, evaluations=1, curve_episodes=1, final_episodes=1),
        "ci": CARTPOLE_GAIL.budgets["ci"],
        "full": CARTPOLE_GAIL.budgets["full"],
    },
    variants={"cartpole": Variant("ours and the library's")},
    bars=(),
    start=start,
    seeds=3,
)
