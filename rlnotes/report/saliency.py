"""Where an eye looks: what changes if a spot of what it sees is blurred (Greydanus et
al., 2018).

    S(i, j) = ½ ‖ f(x) − f(x′) ‖²,   x′ = (1 − M) x + M blur(x)             `saliency`

f are the outputs of the network, before a softmax, and M is a soft spot around (i, j).
Blurring takes away what is drawn there and puts nothing new in its place, as a black
spot would.
"""

from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from scipy.ndimage import gaussian_filter, zoom

from rlnotes.algos.policy import Policy
from rlnotes.report import figures

BLUR = 3.0  # deviation, in pixels of 84; so is the next one
SPOT = 5.0
USUAL_SIZE = 84


@torch.no_grad()
def saliency(policy: Policy, stack: np.ndarray, every: int = 4) -> np.ndarray:
    """Equation eq-saliency, Greydanus et al. (2018): (height, width) for a stack of
    pictures, measured at each `every`-th pixel and interpolated between them."""
    _, height, width = stack.shape
    pixels = stack.astype(np.float32)
    scale = height / USUAL_SIZE
    blurred = gaussian_filter(pixels, (0, BLUR * scale, BLUR * scale))
    rows, columns = (np.arange(every // 2, side, every) for side in (height, width))

    def outputs(pictures: np.ndarray) -> torch.Tensor:
        return policy.net(policy.encode_obs(torch.as_tensor(pictures)))

    def bump(length: int, middle: Any) -> np.ndarray:
        away = (np.arange(length) - middle) / (SPOT * scale)
        return np.exp(-0.5 * away**2).astype(np.float32)

    before = outputs(pixels[None])
    found = np.zeros((len(rows), len(columns)))
    for number, row in enumerate(rows):  # one row of spots is one batch
        across = np.stack([bump(width, column) for column in columns])
        spots = (bump(height, row)[:, None] * across[:, None])[:, None]
        after = outputs(pixels + spots * (blurred - pixels))
        found[number] = 0.5 * (after - before).square().sum(-1)
    finer = height / len(rows), width / len(columns)
    return zoom(found, finer, order=1, grid_mode=True, mode="nearest")


def seen_and_looked_at(policy: Policy, stack: np.ndarray) -> list[Axes]:
    """The pictures of a stack, each with how many steps ago it was, and the newest once
    more with what the policy looks at in colour."""
    *columns, last = figures.axes(len(stack) + 1, width=9, height=2.1)
    ages = range(len(stack) - 1, -1, -1)
    titles = [*(f"now − {age}" if age else "now" for age in ages), "looked at"]
    shown = [*columns, last]
    for ax, picture, title in zip(shown, [*stack, stack[-1]], titles, strict=True):
        ax.imshow(picture, cmap="gray", vmin=0, vmax=255)
        ax.set_title(title, fontsize="medium")
        ax.axis("off")
    looked_at = saliency(policy, stack)
    strength = looked_at / max(float(looked_at.max()), 1e-12)
    last.imshow(strength, cmap="Reds", vmin=0, vmax=1, alpha=0.8 * strength)
    return shown
