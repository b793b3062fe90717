"""Reinforcement-learning notes that run: worlds, learners and evidence of the book.

The rooms, in the order in which data flows through them::

    envs → data → algos → autopsies → doctor → experiments → runs → report

and from there into the chapters in `book/`. A module imports only from rooms to its
left, so a learner can be lifted out and used alone.

Importing this package registers the worlds with Gymnasium; the physics engines behind
them are imported where a world is made.
"""

import os

from rlnotes import paths

# One thread per process: on two busy cores, two OpenMP threads run many times slower
# than one. This must be said before torch is first imported, hence here.
for _variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

# Minari looks here, so that plain `minari.load_dataset` finds the book's datasets.
os.environ.setdefault("MINARI_DATASETS_PATH", str(paths.root() / "datasets"))

from rlnotes import envs  # noqa: E402  (numpy, too, reads the variables when imported)

__all__ = ["envs"]
