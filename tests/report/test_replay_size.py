"""A replay that is filled, and what others would take."""

from rlnotes.envs.atari import Game
from rlnotes.report import replay_size

SHAPE = (4, 84, 84)


def test_every_picture_once_is_the_smallest() -> None:
    memory = replay_size.filled(Game("breakout"), count=40, num_envs=4)
    assert len(memory) == 40
    assert memory.sample(2).obs.shape == (2, *SHAPE)
    rows = replay_size.table(memory, SHAPE, large=100_000).rows
    sizes = [float(row[2].removesuffix(" GB")) for row in rows]
    assert sizes[:3] == [22.58, 11.29, 5.64]  # by hand: 4 · 84² · 100,000 · 8, 4, 2
    assert sizes[3] < min(sizes[:3])
