"""The few pieces every learner shares."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn


def mlp(sizes: Sequence[int], layer_norm: bool = False) -> nn.Sequential:
    """Linear layers of the given widths with ReLU between them, normalised if asked for; the output is linear."""
    layers: list[nn.Module] = []
    for width_in, width_out in pairwise(sizes[:-1]):
        norm = [nn.LayerNorm(width_out)] if layer_norm else []
        layers += [nn.Linear(width_in, width_out), *norm, nn.ReLU(inplace=True)]
    return nn.Sequential(*layers, nn.Linear(sizes[-2], sizes[-1]))


class TwinQ(nn.Module):
    """Two independent critics Q1(s, a), Q2(s, a); the smaller of the two curbs overestimation."""

    def __init__(self, obs_dim: int, action_dim: int, hidden: Sequence[int]) -> None:
        super().__init__()
        self.q1 = mlp([obs_dim + action_dim, *hidden, 1])
        self.q2 = mlp([obs_dim + action_dim, *hidden, 1])

    def forward(self, obs: Tensor, action: Tensor) -> tuple[Tensor, Tensor]:
        pair = torch.cat([obs, action], dim=-1)
        return self.q1(pair).squeeze(-1), self.q2(pair).squeeze(-1)


def adam(parameters: Iterable[nn.Parameter], learning_rate: float) -> torch.optim.Adam:
    """Adam in one fused kernel, which saves most of its overhead for small networks on a CPU."""
    return torch.optim.Adam(parameters, lr=learning_rate, fused=True)


@torch.no_grad()
def polyak_update(target: nn.Module, source: nn.Module, tau: float) -> None:
    """target ← (1 − τ)·target + τ·source."""
    torch._foreach_lerp_(list(target.parameters()), list(source.parameters()), tau)
