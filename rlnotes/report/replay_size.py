"""What a replay of pictures takes, by how it is stored: filled by random play just now,
and reckoned up for a large one."""

from contextlib import closing

import numpy as np
from gymnasium import spaces

from rlnotes.data.frames import FrameTransitions, stacks_nbytes
from rlnotes.envs.atari import AtariVectorEnv, Game
from rlnotes.envs.vector import led_to
from rlnotes.report import tables
from rlnotes.report.tables import Table

FLOAT = 4  # bytes


def filled(
    game: Game, count: int, num_envs: int = 8, seed: int = 0
) -> FrameTransitions:
    """A replay that random play has just filled."""
    rng = np.random.default_rng(seed)
    with closing(AtariVectorEnv(game, num_envs)) as envs:
        shape, space = envs.single_observation_space.shape, envs.single_action_space
        assert shape is not None
        assert isinstance(space, spaces.Discrete)
        memory = FrameTransitions(count, shape)
        obs, _ = envs.reset(seed=seed)
        for _ in range(count // num_envs):
            actions = rng.integers(int(space.n), size=num_envs)
            there, reward, terminated, _, infos = envs.step(actions)
            ends = led_to(there, infos)
            memory.extend(obs, actions[:, None], reward, ends, terminated)
            obs = there
    return memory


def table(memory: FrameTransitions, shape: tuple[int, ...], large: int) -> Table:
    """Of all that are stored, and of a memory of `large` transitions."""
    small = len(memory)

    def row(layout: str, nbytes: float) -> tuple[str, str, str]:
        whole = nbytes / small * large
        return layout, f"{nbytes / 1e6:.1f} MB", f"{whole / 1e9:.2f} GB"

    both = 2 * small  # a stack and its successor
    rows = [
        row("stacks and successors, as floats", stacks_nbytes(both, shape, FLOAT)),
        row("stacks without successors, as floats", stacks_nbytes(small, shape, FLOAT)),
        row("stacks and successors, as bytes", stacks_nbytes(both, shape)),
        row("every picture once, as bytes", memory.nbytes),
    ]
    headings = ("stored", f"{tables.text(small)} transitions")
    return Table((*headings, f"{tables.text(large)} transitions"), rows)
