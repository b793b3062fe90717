"""What the discriminator would pay for each place on the track, while the race car learns.

Trains `gail/racecar-ppo` once more, with the settings and the first seed of its records, and keeps a map every few
rollouts: the reward of a car that does at this place what the nearest demonstrated state does. The chapter draws from
the file.
"""

from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import torch
from IPython.display import Video
from matplotlib.axes import Axes
from matplotlib.image import AxesImage
from tqdm import tqdm

from rlnotes import paths
from rlnotes.algos import gail
from rlnotes.data.rollouts import Episode
from rlnotes.evidence import clips, figures
from rlnotes.experiments import gail_racecar
from rlnotes.seeding import reset_seeds

BETWEEN = 2  # rollouts from one map to the next
LONGEST = 501  # observations of an episode that runs out of time
SPACING = 0.1  # m between the places of a map
CORRIDORS = ((0, 2, 0, 4), (0, 10, 2, 4), (8, 10, 2, 8), (8, 15, 6, 8))  # x from, to; y from, to


class Maps(NamedTuple):
    steps: np.ndarray  # (maps,): how much was played before each
    places: np.ndarray  # (places, 2): x and y, inside the walls
    paid: np.ndarray  # (maps, places)
    drives: np.ndarray  # (maps, steps, 2): one deterministic drive each; where it ended it stays


def result() -> Path:
    return paths.runs("full") / "bench" / "gail-pay.npz"


def inside() -> np.ndarray:
    x, y = np.meshgrid(np.arange(SPACING / 2, 15, SPACING), np.arange(SPACING / 2, 8, SPACING))
    free = [(x > west) & (x < east) & (y > south) & (y < north) for west, east, south, north in CORRIDORS]
    return np.stack([x, y], axis=-1)[np.any(free, axis=0)].astype(np.float32)


@torch.no_grad()
def paid_at(agent: gail.Agent, shown: list[Episode], places: np.ndarray) -> np.ndarray:
    policy = agent.policy
    obs, action = (np.concatenate(rows) for rows in ([e.observations[:-1] for e in shown], [e.actions for e in shown]))
    nearest = [int(np.square(obs[:, :2] - place).sum(1).argmin()) for place in places]
    there = obs[nearest]
    there[:, :2] = places
    as_shown = policy.encode_action(torch.as_tensor(action[nearest], dtype=torch.float32))
    rows = gail.features(agent, policy.encode_obs(torch.as_tensor(there)), as_shown)
    return agent.config.reward(agent.discriminator(rows)).numpy()


def run(seed: int = 0, budget: str = "full") -> Maps:
    settings = gail_racecar.RACECAR_PPO.settings_for("ppo", budget)
    agent, envs, shown = gail_racecar.new_trial(settings, seed)
    world, places = gail_racecar.track(settings), inside()
    maps = []
    stream = gail.train(agent, envs, shown, settings["steps"], seed, warn=False)
    for number, (step, _) in enumerate(tqdm(stream, desc="what is paid for on the track", unit="rollout")):
        if number % BETWEEN == 0:
            (drive,) = world.play(agent.policy.act, reset_seeds("evaluate", 0, 1))
            line = np.pad(drive.observations[:, :2], ((0, LONGEST - len(drive.observations)), (0, 0)), mode="edge")
            maps.append((step, paid_at(agent, shown, places), line))
    steps, paid, lines = (np.array(column) for column in zip(*maps, strict=True))
    return Maps(steps, places, paid.astype(np.float16), lines.astype(np.float32))


def write(maps: Maps) -> None:
    result().parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(result(), **maps._asdict())


def read() -> Maps:
    with np.load(result()) as file:
        return Maps(**{name: file[name] for name in Maps._fields})


def draw(ax: Axes, maps: Maps, number: int, most: float = 2.0) -> AxesImage:
    """One map: blue is paid, red is charged, the line is where the learner drove at that time."""
    figures.track(ax)
    columns, rows = (maps.places / SPACING).astype(int).T
    paid = np.full((rows.max() + 1, columns.max() + 1), np.nan)
    paid[rows, columns] = maps.paid[number]
    around = (0, paid.shape[1] * SPACING, 0, paid.shape[0] * SPACING)
    coloured = ax.imshow(paid, cmap="RdBu", vmin=-most, vmax=most, origin="lower", extent=around, zorder=0)
    ax.plot(*maps.drives[number].T, color="black", linewidth=1.2)
    ax.set(xlim=(-0.5, 16), ylim=(-0.5, 8.8))
    ax.set_title(f"after {maps.steps[number]:,} steps")
    return coloured


def film(maps: Maps, fps: int = 4) -> Video:
    frames = []  # 800 by 464: multiples of 16, as the codec wants them
    for number in range(len(maps.steps)):
        figure, ax = plt.subplots(figsize=(8, 4.64), dpi=100, layout="constrained")
        figure.colorbar(draw(ax, maps, number), label="paid per step", shrink=0.8)
        figure.canvas.draw()
        frames.append(np.asarray(figure.canvas.buffer_rgba())[..., :3])  # type: ignore[attr-defined]
        plt.close(figure)
    return clips.video(frames, fps)
