"""How much memory an experiment needs at least: the most that a run of a few steps
holds, of each in turn and in a process of its own.

Records tell what their own runs held; this is for those that are older than the
question. Most of it is libraries and networks, which a few steps need as well as many.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rlnotes import paths
from rlnotes.experiments.base import (
    Budget,
    Experiment,
    Metrics,
    Settings,
    Trial,
    Variant,
    World,
)

# They install other versions, in environments of their own.
ELSEWHERE = ("parallel/copies", "gail/race")
ID = "costs/memory"


def measured() -> list[str]:
    """Every experiment but these, and this one."""
    from rlnotes.experiments import registry  # which has this one, too

    return [id for id in registry.EXPERIMENTS if id not in (*ELSEWHERE, ID)]


def least_memory_mb(id: str) -> float:
    """Of the first variant's first seed, at the budget `smoke`."""
    here = dict(os.environ)
    here.pop("RLNOTES_SWEEP", None)  # it ends with us, not with the sweep
    with tempfile.TemporaryDirectory() as home:
        for shared in ("book", "datasets"):  # experts and demonstrations
            (Path(home) / shared).symlink_to(paths.root() / shared)
        words = ["run", id, "--budget", "smoke", "--quiet"]
        subprocess.run(
            [sys.executable, "-m", "rlnotes", *words],
            env=here | {"RLNOTES_HOME": home},
            check=True,
            capture_output=True,
        )
        (record,) = Path(home).glob(f"_runs/smoke/results/{id}/*.json")
        ((_, info),) = json.loads(record.read_text())["seeds"].items()
        return float(info["peak_memory_mb"])


def start(settings: Settings, seed: int) -> Trial:
    chosen = measured()[: settings.steps]

    def stream() -> Iterator[tuple[int, Metrics]]:
        for number, id in enumerate(chosen, 1):
            yield number, {id: least_memory_mb(id)}

    return Trial(None, len(chosen), stream())


def experiments(count: int) -> Budget:
    return Budget(count, evaluations=1, curve_episodes=0, final_episodes=0)


MEMORY = Experiment(
    id=ID,
    world=lambda settings: World("CartPole-v1"),
    settings=Settings(),
    budgets={
        "smoke": experiments(1),
        "ci": experiments(2),
        "full": experiments(1_000),  # all that there are
    },
    variants={"smoke": Variant("a run of a few steps")},
    bars=(),
    start=start,
    seeds=1,
)
