"""What it costs to treat a time limit as the end of the task, as the notes do throughout.

Fault: an episode that merely ran out of time is stored as terminated, so the critic learns that the
future after step 200 is worth nothing, in a state that looks like any other.
"""

from dataclasses import replace

from rlnotes.data.rollouts import Episode


def truncation_as_termination(episode: Episode) -> Episode:
    """The fault: the only difference is one flag on the last step."""
    return replace(episode, terminated=episode.terminated or episode.truncated)
