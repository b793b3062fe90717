"""The front page: all agents in one picture, and the ledger in a few numbers.

`python -m rlnotes.report.front` draws the picture for the README again.
"""

import re
from collections import Counter

from matplotlib.figure import Figure

from rlnotes import paths
from rlnotes.errors import UserError
from rlnotes.experiments import registry
from rlnotes.experiments.base import World
from rlnotes.report import clips, ledger
from rlnotes.report.results import Results
from rlnotes.seeding import reset_seeds

PICTURE = "book/assets/agents.png"


def agents(step: int = 90) -> Figure:
    """The recorded policy of each world, as its camera sees it after so many steps."""
    (start,) = reset_seeds("evaluate", 0, 1)
    return clips.portraits(players(), start, step)


def players() -> dict[str, clips.Player]:
    """For every world that can be seen, the first experiment with a policy: of the
    variant that the ledger reports, the median seed's."""
    found: dict[str, clips.Player] = {}
    for id, experiment in registry.EXPERIMENTS.items():
        main = experiment.main_variant
        if main not in experiment.on_record:
            continue
        results = Results(id)
        world = results.world()
        name = name_of(world)
        if name in found or not clips.can_be_seen(world.make):
            continue
        try:
            policy = results.policy(main)
        except UserError:  # nothing was learnt there
            continue
        found[name] = world.make, policy.act
    return found


def name_of(world: World) -> str:
    """Of a world: its words, without namespace and version; of a game, its own."""
    if "name" in world.options:
        return str(world.options["name"]).replace("_", " ").title()
    words = world.env_id.rpartition("/")[2].rpartition("-v")[0]
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", words)


def counts() -> dict[str, int]:
    """Rows of the ledger: all, those of the notes, recorded, those that reach their
    bar, those that failed in the notes, and of these those that reach it; by chapter,
    too."""
    found: Counter[str] = Counter()
    for entry in ledger.entries():
        slug = ledger.SLUGS[entry.chapter]
        reached = entry.verdict == ledger.REACHED
        recorded = entry.recorded is not None
        found["rows"] += 1
        found["of-the-notes"] += "not in the notes" not in entry.notes
        found["recorded"] += recorded
        found["reached"] += reached
        found["failed"] += entry.autopsy
        found["mended"] += entry.autopsy and reached
        found[f"{slug}-rows"] += 1
        found[f"{slug}-recorded"] += recorded
        found[f"{slug}-reached"] += reached
    return dict(found)


if __name__ == "__main__":
    agents().savefig(paths.root() / PICTURE, bbox_inches="tight")
