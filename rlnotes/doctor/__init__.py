"""The doctor: the book's diagnostics on somebody else's training.

    from rlnotes.doctor import examine
    print(examine(replay=batch, num_envs=4, time_limit=500, gamma=0.99))

examines whatever a training loop has at hand (`examination.GIVEN` lists the names), and

    from rlnotes.doctor import Doctor
    model.learn(100_000, callback=(doctor := Doctor()))
    print(doctor.report())

watches a training of Stable-Baselines3. A check is the diagnostic of an autopsy, which
a twin of the book has proven. What cannot be seen is said, never guessed.
"""

from typing import Any

from rlnotes.doctor.examination import examine
from rlnotes.doctor.findings import Report

__all__ = ["Doctor", "Report", "examine"]


def __getattr__(name: str) -> Any:
    if name == "Doctor":  # its library is slow to import
        from rlnotes.doctor.sb3 import Doctor

        return Doctor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
