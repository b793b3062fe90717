"""The few pieces every learner shares."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Literal

import torch
import torch.nn.functional as F
from gymnasium.wrappers.utils import update_mean_var_count_from_moments
from torch import Tensor, nn

from rlnotes.errors import UserError


@dataclass(frozen=True)
class Eye:
    """Convolutions for pictures. Each filter has (channels, size, stride); the defaults
    are those of the first DQN (Mnih et al., 2013)."""

    filters: tuple[tuple[int, int, int], ...] = ((16, 8, 4), (32, 4, 2))
    units: int = 256  # what the eye hands on
    # An eye sees (pixel − background) / divisor. Where most of a picture is one grey,
    # that grey should be 0, or it is all that the first filters answer to.
    divisor: float = 255.0
    background: float = 0.0
    orthogonal: bool = True  # the first weights (Saxe et al., 2014), or torch's own


SMALL_EYE = Eye()
NATURE_EYE = Eye(((32, 8, 4), (64, 4, 2), (64, 3, 1)), 512)  # Mnih et al., 2015
LOW_EYE = Eye(((16, 6, 3), (32, 4, 2)), 128)  # for pictures of 42×42


Activation = Literal["relu", "tanh"]
ACTIVATIONS: dict[Activation, Callable[[], nn.Module]] = {
    "relu": partial(nn.ReLU, inplace=True),
    "tanh": nn.Tanh,
}


def mlp(
    sizes: Sequence[int], layer_norm: bool = False, activation: Activation = "relu"
) -> nn.Sequential:
    """Linear layers of the given widths with ReLU between them, or what is asked for,
    normalised if asked for; the output is linear."""
    layers: list[nn.Module] = []
    for width_in, width_out in pairwise(sizes[:-1]):
        norm = [nn.LayerNorm(width_out)] if layer_norm else []
        layers += [nn.Linear(width_in, width_out), *norm, ACTIVATIONS[activation]()]
    return nn.Sequential(*layers, nn.Linear(sizes[-2], sizes[-1]))


def network(
    obs_shape: Sequence[int],
    hidden: Sequence[int],
    outputs: int,
    eye: Eye | None = None,
    layer_norm: bool = False,
    activation: Activation = "relu",
) -> nn.Sequential:
    """From encoded observations to `outputs` numbers: an MLP, behind an eye of its own
    where observations are pictures."""
    if eye is None:
        return mlp([*obs_shape, *hidden, outputs], layer_norm, activation)
    head = mlp([eye.units, *hidden, outputs], layer_norm, activation)
    return nn.Sequential(*_eye_layers(obs_shape, eye), *head)


def _eye_layers(obs_shape: Sequence[int], eye: Eye) -> list[nn.Module]:
    channels, height, width = obs_shape
    layers: list[nn.Module] = []
    for filters, size, stride in eye.filters:
        layers += [nn.Conv2d(channels, filters, size, stride), nn.ReLU(inplace=True)]
        height, width = ((side - size) // stride + 1 for side in (height, width))
        channels = filters
    if min(height, width) < 1:
        raise UserError(
            f"a picture of {obs_shape[1]}×{obs_shape[2]} is too small for the filters"
            f" {eye.filters}: give the eye smaller ones, or the policy a larger picture"
        )
    layers += [nn.Flatten(-3), nn.Linear(channels * height * width, eye.units)]
    if eye.orthogonal:
        _begin_orthogonal(layers)
    return [*layers, nn.ReLU(inplace=True)]


def _begin_orthogonal(layers: Iterable[nn.Module]) -> None:
    """As large as ReLU needs. Torch's own weights are smaller, so that with each layer
    less of a picture comes through."""
    for layer in layers:
        if isinstance(layer, nn.Conv2d | nn.Linear):
            nn.init.orthogonal_(layer.weight, nn.init.calculate_gain("relu"))
            assert layer.bias is not None
            nn.init.zeros_(layer.bias)


class TwinQ(nn.Module):
    """Two independent critics Q1(s, a), Q2(s, a); the smaller of the two curbs
    overestimation."""

    def __init__(
        self, obs_shape: Sequence[int], action_dim: int, hidden: Sequence[int]
    ) -> None:
        super().__init__()
        if len(obs_shape) != 1:
            raise UserError(
                f"critics of actions take vectors, not pictures of {tuple(obs_shape)}:"
                " learn from pixels with PPO or DQN"
            )
        self.q1 = mlp([obs_shape[0] + action_dim, *hidden, 1])
        self.q2 = mlp([obs_shape[0] + action_dim, *hidden, 1])

    def forward(self, obs: Tensor, action: Tensor) -> tuple[Tensor, Tensor]:
        pair = torch.cat([obs, action], dim=-1)
        return self.q1(pair).squeeze(-1), self.q2(pair).squeeze(-1)


class RunningMeanStd(nn.Module):
    """Mean and variance of all rows so far. A module, so that whoever holds it saves it
    with the rest of its state; it begins as if a ten-thousandth of a row had been seen.
    """

    mean: Tensor
    var: Tensor
    count: Tensor

    def __init__(self, shape: Sequence[int]) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(tuple(shape), dtype=torch.float64))
        self.register_buffer("var", torch.ones(tuple(shape), dtype=torch.float64))
        self.register_buffer("count", torch.tensor(1e-4, dtype=torch.float64))

    @property
    def std(self) -> Tensor:
        return self.var.sqrt()

    def update(self, new: Tensor) -> None:
        """Count these rows among all that were seen."""
        rows = new.numpy()
        known = (self.mean, self.var, self.count)
        mean, var, count = (buffer.numpy() for buffer in known)
        updated = update_mean_var_count_from_moments(
            mean, var, count, rows.mean(0), rows.var(0), len(rows)
        )
        for buffer, value in zip(known, updated, strict=True):
            buffer.copy_(torch.as_tensor(value))


def log_tanh_slope(raw: Tensor) -> Tensor:
    """log(1 − tanh²(u)), written so that it neither overflows nor rounds to log(0) for
    large |u|. It is what a density loses in the tanh."""
    return 2 * (math.log(2) - raw - F.softplus(-2 * raw))


def adam(parameters: Iterable[nn.Parameter], learning_rate: float) -> torch.optim.Adam:
    """Adam in one fused kernel, which saves most of its overhead for small networks on
    a CPU."""
    return torch.optim.Adam(parameters, lr=learning_rate, fused=True)


@torch.no_grad()
def polyak_update(target: nn.Module, source: nn.Module, tau: float) -> None:
    """target ← (1 − τ)·target + τ·source."""
    torch._foreach_lerp_(list(target.parameters()), list(source.parameters()), tau)


def check_gamma(gamma: float) -> None:
    if not 0 <= gamma <= 1:
        raise UserError(
            f"gamma is a number from 0 to 1, not {gamma}: choose one, say 0.99"
        )
