"""A push that is held for too long (`pixels/cartpole`).

Symptom: learning from pictures stays far below learning from the state, and the
pictures are blamed.
Cause: the notes hold a push for four frames of CartPole. Of rules that push to the side
that a weighted sum of the state says, about half keep the pole up if they may decide at
every frame or every second one, and one in thirty if they may at every fourth. Whoever
has to learn from pictures how fast things move has little room for error left.
Diagnostic: the share of random such rules that keep the pole up for an episode. It
needs neither pictures nor training.
"""

import numpy as np

from rlnotes.envs.vector import make_vec_env

FRAMES = 500
TOLERANCE = 0.1  # at every frame it is about a half


def share_that_hold(frame_skip: int, rules: int = 500, seed: int = 0) -> float:
    """Of rules with random weights for place, speed and spin, beside a weight of 1 for
    the lean: those that hold it for 500 frames."""
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0, (0.5, 1, 1, 1), size=(rules, 4))
    weights[:, 2] = 1
    envs = make_vec_env("CartPole-v1", rules, "native")
    obs, _ = envs.reset(seed=seed)
    held = np.ones(rules, bool)
    for frame in range(FRAMES):
        if frame % frame_skip == 0:
            action = ((obs * weights).sum(1) > 0).astype(np.int64)
        obs, _, terminated, _, _ = envs.step(action)
        held &= ~terminated
    envs.close()
    return float(held.mean())


def fires(share_that_hold: float) -> bool:
    """Whether the world, and not what is seen of it, is what is hard."""
    return share_that_hold < TOLERANCE
