"""The names of all datasets, and the commands that bring them."""

PENDULUM_EXPERT = "rlnotes/pendulum/expert-v0"
PENDULUM_MEDIUM = "rlnotes/pendulum/medium-v0"
PENDULUM_RANDOM = "rlnotes/pendulum/random-v0"

CARTPOLE_EXPERT = "rlnotes/cartpole/expert-v0"
ACROBOT_EXPERT = "rlnotes/acrobot/expert-v0"

RACECAR_CLEAN = "rlnotes/racecar/clean-v0"
RACECAR_DART = "rlnotes/racecar/dart-v0"
RACECAR_KEYBOARD = "rlnotes/racecar/keyboard-v0"
RACECAR_NOISY = "rlnotes/racecar/noisy-v0"
# The notes' conditions, one at a time and all together.
RACECAR_ONE_START = "rlnotes/racecar/one-start-v0"
RACECAR_TWO_STEPS = "rlnotes/racecar/two-steps-v0"
RACECAR_RADIUS_2 = "rlnotes/racecar/radius-2-v0"
RACECAR_NOTES = "rlnotes/racecar/notes-v0"
RACECAR_HUMAN = "rlnotes/racecar/human-v0"  # driven by whoever reads the book

UMAZE = "rlnotes/pointmaze/umaze-v2"  # made again by the recipe of the next one
UMAZE_PUBLISHED = "D4RL/pointmaze/umaze-v2"


def remake(dataset_id: str) -> str:
    """The command that brings a dataset that is missing or damaged."""
    if dataset_id == RACECAR_HUMAN:
        return "python -m rlnotes drive"
    if dataset_id == UMAZE_PUBLISHED:
        return f"minari download {UMAZE_PUBLISHED}"
    return f"python -m rlnotes data {dataset_id}"
