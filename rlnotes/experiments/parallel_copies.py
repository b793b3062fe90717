"""Eight copies that are one: the fault for which the notes gave EnvPool up, brought
back by installing the versions that have it.

EnvPool 0.8.4 was built for NumPy 1 and does not say so, so that pip puts it beside
NumPy 2. Each pair of versions has an environment of its own.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from rlnotes.experiments import foreign
from rlnotes.experiments.base import (
    Bar,
    Budget,
    Experiment,
    Metrics,
    Settings,
    Trial,
    Variant,
    World,
)
from rlnotes.seeding import reset_seeds

CARTPOLE = World("CartPole-v1")
SCRIPT = "envpool_copies.py"
ENVPOOL_SEEDS = 2**31  # it takes those below


@dataclass(frozen=True, kw_only=True)
class CopiesSettings(Settings):
    num_envs: int = 8  # as in the notes
    envpool: str = "0.8.4"
    numpy: str = "2.4.6"

    @property
    def packages(self) -> tuple[str, ...]:
        return f"envpool=={self.envpool}", f"numpy=={self.numpy}", "gymnasium==1.2.2"


def start(settings: CopiesSettings, seed: int) -> Trial:
    def stream() -> Iterator[tuple[int, Metrics]]:
        (first,) = reset_seeds("train", seed, 1)
        (found,) = foreign.run(
            f"envpool-{settings.envpool}-numpy-{settings.numpy}",
            settings.packages,
            SCRIPT,
            settings.num_envs,
            first % ENVPOOL_SEEDS,
            settings.steps,
        )
        yield settings.steps, {name: float(value) for name, value in found.items()}

    return Trial(None, settings.steps, stream())


def steps(count: int) -> Budget:
    return Budget(count, evaluations=1, curve_episodes=0, final_episodes=0)


COPIES = Experiment(
    id="parallel/copies",
    world=lambda settings: CARTPOLE,
    settings=CopiesSettings(),
    budgets={"smoke": steps(2), "ci": steps(10), "full": steps(10)},
    variants={
        "notes": Variant("EnvPool 0.8.4, NumPy 2"),
        "old-numpy": Variant("EnvPool 0.8.4, NumPy 1", {"numpy": "1.26.4"}),
        "new-envpool": Variant("EnvPool 1.2.5, NumPy 2", {"envpool": "1.2.5"}),
    },
    bars=(
        Bar(
            "EnvPool 0.8.4 on NumPy 2 shows one world eight times",
            "notes",
            "best",
            "<=",
            1.0,
            "different_observations",
        ),
        Bar(
            "on NumPy 1 it shows eight",
            "old-numpy",
            "worst",
            ">=",
            8.0,
            "different_observations",
        ),
        Bar(
            "and so does EnvPool 1.2.5 on NumPy 2",
            "new-envpool",
            "worst",
            ">=",
            8.0,
            "different_observations",
        ),
    ),
    start=start,
    seeds=5,
)
