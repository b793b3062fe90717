"""How a chapter opens: what failed beside what was mended, at one moment."""

from collections.abc import Mapping
from dataclasses import dataclass

from matplotlib.figure import Figure

from rlnotes.report import addresses, clips
from rlnotes.report.results import Results
from rlnotes.seeding import reset_seeds


@dataclass(frozen=True)
class Stills:
    """Recorded policies after so many steps from one start, or where their episode
    ended. Each is of the median seed, or of the worst one."""

    labels: Mapping[str, str]  # by the address of a variant
    step: int
    start_seed: int
    worst: bool = False


CHAPTERS = {
    "worlds": Stills(
        {
            "bullet/plate/target-at-episode-end": "failed: copy hardly ever renewed",
            "bullet/plate/dqn": "mended: renewed on schedule",
        },
        step=200,
        start_seed=5,
    ),
    "td3bc": Stills(
        {
            "td3bc/pendulum-no-bc/td3-expert": "failed: TD3",
            "td3bc/pendulum/td3bc-expert": "mended: TD3+BC",
            "td3bc/racecar/clean": "failed: TD3+BC on clean drives",
            "td3bc/racecar/noisy": "mended: drives with noise",
        },
        step=150,
        start_seed=3,
    ),
    "gail": Stills(
        {
            "gail/cartpole/swapped-zero": "failed: exchanged labels",
            "gail/cartpole/ten": "GAIL, ten demonstrations",
            "gail/acrobot/gail-zero": "failed: paid to live",
            "gail/acrobot/airl": "mended: the end is judged",
        },
        step=400,
        start_seed=3,
    ),
    "parallel": Stills(
        {
            "parallel/dqn/huber": "failed: the Huber loss",
            "parallel/dqn/dqn": "mended: squared error",
        },
        step=450,
        start_seed=2,
        worst=True,
    ),
    "aggrevated": Stills(
        {
            "bipedal/aggrevated-reinforce/stale-twenty": "failed: the same draws",
            "bipedal/aggrevated-reinforce/aggrevated": "mended: drawn afresh",
        },
        step=400,
        start_seed=1,
    ),
    "pixels": Stills(
        {
            "pong/ppo/given-up": "failed: given up early",
            "pong/ppo/ppo": "mended: learnt to the end",
        },
        step=400,
        start_seed=1,
    ),
}


def picture(chapter: str) -> Figure:
    return drawn(CHAPTERS[chapter])


def drawn(stills: Stills) -> Figure:
    (start,) = reset_seeds("evaluate", stills.start_seed, 1)
    players = {
        label: _player(address, stills.worst)
        for address, label in stills.labels.items()
    }
    return clips.portraits(players, start, stills.step)


def _player(address: str, worst: bool) -> clips.Player:
    results = Results(addresses.experiment_of(address) or address)
    seed = None
    if worst:
        metric = results.experiment.metric
        found = results.records(address)
        seed = min(found, key=lambda record: record.last(metric)).run.seed
    return results.world(address).make, results.policy(address, seed).act
