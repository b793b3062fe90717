"""A race on CartPole from ten demonstrations: our GAIL against the `imitation` library's, on this machine, in one run.

Both train on one thread, one after the other and taking turns, until ten evaluation episodes last 475 steps on average.
Only training is timed. The library cannot share our environment, so it gets one of its own, made on first use.
"""

import json
import os
import subprocess
import sys
import time
import venv
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

from rlnotes import paths
from rlnotes.algos import gail
from rlnotes.errors import UserError
from rlnotes.experiments import registry
from rlnotes.experiments.gail import CARTPOLE, demonstrations, new_agent, new_policy
from rlnotes.seeding import reset_seeds

GOAL, STEPS, EVERY = 475.0, 400_000, 4_096
PACKAGES = ("imitation==1.0.1", "gymnasium==0.29.1", "stable-baselines3==2.2.1")

Curve = list[dict[str, float]]


def result() -> Path:
    return paths.runs("full") / "bench" / "gail.json"


def run(seeds: int) -> dict[str, Any]:
    """Both curves for each seed, written where the chapter reads them."""
    python = _environment()
    curves: dict[str, list[Curve]] = {"ours": [], "imitation": []}
    for seed in tqdm(range(seeds), desc="GAIL against the imitation library", unit="seed"):
        curves["ours"].append(ours(seed))
        curves["imitation"].append(_theirs(python, seed))
    report = {"goal": GOAL, "times_faster": times_faster(curves), "packages": PACKAGES, "curves": curves}
    result().parent.mkdir(parents=True, exist_ok=True)
    result().write_text(json.dumps(report, indent=1) + "\n")
    return report


def times_faster(curves: dict[str, list[Curve]]) -> float:
    """The ratio of the median training times. Who has not arrived is counted with the time spent so far."""
    ours, theirs = (np.median([curve[-1]["seconds"] for curve in curves[name]]) for name in ("ours", "imitation"))
    return float(theirs / ours)


def ours(seed: int) -> Curve:
    """The first variant of `gail/cartpole`, as recorded, but stopped at the goal."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    settings = registry.find("gail/cartpole").settings_for("ten", "full")
    shown = demonstrations(settings, seed)
    policy, envs = new_policy(CARTPOLE, settings, shown)
    curve: Curve = []
    seconds, started, evaluated = 0.0, time.perf_counter(), 0
    for step, _ in gail.train(new_agent(policy, settings), envs, shown, settings["steps"], seed):
        if step // EVERY > evaluated:
            evaluated = step // EVERY
            seconds += time.perf_counter() - started
            episodes = CARTPOLE.play(policy.act, reset_seeds("evaluate", 0, 10))
            curve.append({"steps": step, "seconds": seconds, "return": CARTPOLE.scores(episodes)["return"]})
            if curve[-1]["return"] >= GOAL:
                break
            started = time.perf_counter()
    return curve


def _environment() -> Path:
    folder = paths.root() / "_runs" / "imitation"
    python = folder / "bin" / "python"
    if not python.exists():
        print("installing the imitation library in an environment of its own ...", file=sys.stderr)
        venv.create(folder, with_pip=True)
        made = subprocess.run(
            [python, "-m", "pip", "install", "-q", *PACKAGES], check=False, capture_output=True, text=True
        )
        if made.returncode:
            python.unlink()
            raise UserError(f"could not install {', '.join(PACKAGES)}: {made.stderr.strip()[-500:]}")
    return python


def _theirs(python: Path, seed: int) -> Curve:
    shown = demonstrations(registry.find("gail/cartpole").settings_for("ten", "full"), seed)
    data = paths.root() / "_runs" / "imitation" / f"demonstrations-{seed}.npz"
    np.savez(
        data,
        observations=np.stack([episode.observations for episode in shown]),
        actions=np.stack([episode.actions for episode in shown]),
    )
    script = Path(__file__).with_name("imitation_gail.py")
    words = [python, script, data, seed, STEPS, EVERY, GOAL]
    one_thread = os.environ | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    done = subprocess.run([str(word) for word in words], check=False, capture_output=True, text=True, env=one_thread)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        raise UserError(f"the imitation library's run failed: {done.stderr.strip()[-500:]}")
    return lines
