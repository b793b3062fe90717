"""A learner that looks ahead for a quarter of a second (`pong/ppo`).

Symptom: no trend, with settings that are known to work.
Cause: γ and λ count decisions, and what a decision is depends on the frame skip. With
γλ = 0.94, advantages reach about 17 decisions ahead: with four frames each more than a
second, but a quarter of a second in the notes, who removed the skip and kept the rest.
The ball takes a second from the middle of the field to the paddle, so that what moved
the paddle to the right or to the wrong place is not told what came of it. A stack of
four frames, too, shows a quarter of the movement.
Diagnostic: the horizon 1 / (1 − γλ) in seconds, beside the time that passes between
what was done and what it earns. It needs no training.
"""

FRAMES_PER_SECOND = 60

# Half of what the ball takes from the middle of the field to the paddle, at the speed
# with which it is served: later it is faster.
PONG_SECONDS = 0.5

# With steps of four frames the horizon of one frame's steps, and the other way round.
QUARTER = {"gamma": 0.99**4, "gae_lambda": 0.95**4}
FOURFOLD = {"gamma": 0.99**0.25, "gae_lambda": 0.95**0.25}


def seconds(gamma: float, gae_lambda: float, frame_skip: int) -> float:
    """Equation eq-horizon: how far ahead advantages reach, in the time of the game."""
    return frame_skip / FRAMES_PER_SECOND / (1 - gamma * gae_lambda)


def fires(horizon_seconds: float, needed: float = PONG_SECONDS) -> bool:
    """Whether an action's reward comes after its horizon."""
    return horizon_seconds < needed
