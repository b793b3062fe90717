"""The wrong gradient of the notes, in an example that can be done by hand.

Two states, three actions, an expert that is not the best there is. Whoever learns from
actions `e(a)` with weights `w(a)` follows, along the logits,

    g_b = Σ_a e(a) w(a) (1[a = b] − π(b))

With e = π and w = A* this is AggreVaTeD's. The notes put in what was executed.
"""

from typing import NamedTuple

import numpy as np

from rlnotes.report.tables import Table, text

ACTIONS = ("left", "stay", "right")
STATES = ("a good state", "a bad state")
Q = np.array([[9.0, 10.0, 8.0], [-1.0, 0.0, 2.0]])
CHOSEN = (1, 1)  # by the expert: the best action of the first state, not of the second
POLICY = np.array([[0.4, 0.3, 0.3], [0.4, 0.3, 0.3]])


class Gradients(NamedTuple):
    """Along the logits, (states, actions)."""

    right: np.ndarray
    executed: np.ndarray
    min_max: np.ndarray


def along_logits(
    policy: np.ndarray, chances: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """What is followed by one who learns from actions that are drawn with `chances`."""
    drawn = chances * weight
    return drawn - policy * drawn.sum(-1, keepdims=True)


def gradients(beta: float = 1.0) -> Gradients:
    """With the learner's draws and A*; with executed actions, a share `beta` of them
    the expert's, and A*; with these and Q* between 0 and 1."""
    plays = np.eye(len(ACTIONS))[list(CHOSEN)]
    advantage = Q - (plays * Q).sum(-1, keepdims=True)
    mixture = beta * plays + (1 - beta) * POLICY
    seen = Q[mixture > 0]
    scaled = (Q - seen.min()) / (seen.max() - seen.min())
    return Gradients(
        along_logits(POLICY, POLICY, advantage),
        along_logits(POLICY, mixture, advantage),
        along_logits(POLICY, mixture, scaled),
    )


def table(beta: float = 1.0) -> Table:
    found = gradients(beta)
    rows = []
    for state, name in enumerate(STATES):
        worth = Q[state] - Q[state, CHOSEN[state]]
        for action, move in enumerate(ACTIONS):
            cells = [POLICY[state, action], Q[state, action], worth[action]]
            cells += [gradient[state, action] for gradient in found]
            who = f"{move}, the expert's" if CHOSEN[state] == action else move
            numbers = (text(float(cell), ".2f") for cell in cells)
            rows.append(("" if action else name, who, *numbers))
    return Table(
        (
            "",
            "action",
            "π",
            "Q*",
            "A*",
            "the gradient",
            "from executed actions",
            "and with Q* between 0 and 1",
        ),
        rows,
    )
