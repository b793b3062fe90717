"""The entropy of continuous actions, before and after the tanh: it can be negative, and
only one of the two has a largest value."""

import math
from collections.abc import Callable

import numpy as np
from matplotlib.figure import Figure
from scipy import integrate, optimize, stats

from rlnotes.report import figures

LARGEST = math.log(2)  # of anything in [−1, 1]: all actions equally likely
STDS = (0.1, 0.5, 0.9, 3.0)
FAR = 8.0  # deviations from the mean, beyond which nothing is left


def gaussian_entropy(std: float) -> float:
    return 0.5 * math.log(2 * math.pi * math.e * std**2)


def squashed_entropy(std: float, mean: float = 0.0) -> float:
    """Of tanh(u), by numerical integration over u: −∫ p(u) log p(tanh u) du."""

    def integrand(u: float) -> float:
        dense = stats.norm.logpdf(u, mean, std)
        slope = 2 * (math.log(2) - abs(u) - math.log1p(math.exp(-2 * abs(u))))
        return -math.exp(dense) * (dense - slope)

    ends = mean - FAR * std, mean + FAR * std
    found, _ = integrate.quad(integrand, *ends, limit=200)
    return float(found)


def density(action: np.ndarray, std: float, mean: float = 0.0) -> np.ndarray:
    """Of actions after the tanh."""
    u = np.arctanh(action)
    return stats.norm.pdf(u, mean, std) / (1 - action**2)


def freest_std() -> float:
    """The deviation before the tanh after which actions are as free as they can be."""
    found = optimize.minimize_scalar(
        lambda std: -squashed_entropy(std), bounds=(0.1, 5), method="bounded"
    )
    return float(found.x)


def picture(log_std_limit: float = 2.0) -> Figure:
    """Left what is played, right what a bonus would be paid for."""
    left, right = figures.axes(2, width=10, height=3.2)
    action = np.linspace(-0.9999, 0.9999, 1_001)
    for std, colour in zip(STDS, figures.PALETTE, strict=False):
        label = f"σ = {std:g}: {squashed_entropy(std):.2f}".replace("-", "−")
        left.plot(action, density(action, std), color=colour, label=label)
    left.set(xlabel="action, after the tanh", ylabel="density", ylim=(0, 4.2))
    left.set_xticks([-1, -0.5, 0, 0.5, 1])
    left.set_title("deviations, and entropies of what is played")
    figures.legend(left, "outside")
    stds = np.exp(np.linspace(-4, log_std_limit, 61))
    lines: dict[str, tuple[Callable[[float], float], str]] = {
        "before the tanh": (gaussian_entropy, figures.ORANGE),
        "after the tanh": (squashed_entropy, figures.BLUE),
    }
    for label, (entropy, colour) in lines.items():
        right.plot(stds, [entropy(std) for std in stds], color=colour, label=label)
    right.axhline(LARGEST, **figures.DOTTED)
    right.axhline(0, color="black", linewidth=0.8)
    right.set(xscale="log", xlabel="σ before the tanh", ylabel="entropy of one joint")
    right.set_title("what a bonus is paid for (dotted: log 2)")
    figures.legend(right)
    return left.figure
