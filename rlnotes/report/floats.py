"""How far the same run comes out the same: on this machine, under other instruction
sets of its CPU, and what was recorded beside what is played now."""

import json
import os
import subprocess
import sys
from typing import Any

from rlnotes.experiments import registry
from rlnotes.report.tables import Table, varies
from rlnotes.runs import evaluate

# What torch and MKL may use. What a CPU lacks it does not use, whatever is said here.
SETS: dict[str, dict[str, str]] = {
    "plain": {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE"},
    "AVX2": {"ATEN_CPU_CAPABILITY": "avx2", "MKL_CBWR": "AVX2"},
    "what the CPU has": {},
}

PROGRAM = """
import json, sys
from rlnotes.algos.policy import policy_sha256
from rlnotes.experiments import registry
from rlnotes.runs.run import train_live
id, seed, budget, length = json.loads(sys.argv[1])
live = train_live(id, None, seed, budget, progress=False, length=length)
value = live.record.last(registry.find(id).metric)
print(json.dumps([value, policy_sha256(live.policy)]))
"""


def trained(
    id: str, seed: int, budget: str, length: float, environment: dict[str, str]
) -> tuple[float, str]:
    """In a process of its own, because a process chooses its instructions once: what
    the ledger reports of the policy, and a fingerprint of its weights."""
    given = json.dumps([id, seed, budget, length])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, given],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    value, weights = json.loads(done.stdout)
    return value, weights


def instruction_sets(
    id: str, seed: int, budget: str = "ci", length: float = 0.5
) -> Table:
    """The same seed trained under each, twice under the last."""
    rows: list[tuple[Any, ...]] = []
    known: dict[str, tuple[float, str]] = {}
    for name, environment in SETS.items():
        known[name] = trained(id, seed, budget, length, environment)
        value, weights = known[name]
        rows.append((name, varies(value), varies(weights[:8])))
    again = trained(id, seed, budget, length, SETS[name])
    same = "the same bits" if again == known[name] else "OTHER BITS"
    rows.append((f"{name}, once more", same, same))
    return Table(("instructions", "at the end", "weights"), rows)


def played_again(*ids: str, episodes: int = 100) -> Table:
    """The recorded policy of the median seed from the same starts: what was recorded,
    and what it comes to now."""
    rows = []
    for id in ids:
        experiment = registry.find(id)
        record = evaluate.median_record(id, experiment.main_variant)
        now = evaluate.evaluate(id, episodes=episodes).mean
        then = record.last("final_return")
        rows.append((id, f"{then:,.2f}".replace("-", "−"), varies(now, ",.2f")))
    return Table(("policy", "return when recorded", "played now"), rows)
