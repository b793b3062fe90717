"""A trained policy: a network with the units of its environment, saved as safetensors.

Nothing is unpickled: `torch.load` of a stranger's file can run the stranger's code, a safetensors
file is only a table of numbers with a JSON header.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import safetensors
import safetensors.torch
import torch
from gymnasium import spaces
from torch import Tensor, nn

from rlnotes.algos.networks import mlp
from rlnotes.errors import UserError

Head = Literal["tanh", "gaussian", "argmax"]


class Policy(nn.Module):
    """Maps observations to actions.

    Inside, observations are standardised and continuous actions lie in [−1, 1], so that losses and noise
    mean the same in every environment; `act` speaks the environment's own units.

    `head` says what the network puts out: "tanh" a deterministic action before squashing, "gaussian" the
    mean and the log standard deviation of an action before squashing, "argmax" one number per discrete
    action, of which the largest wins.
    """

    obs_mean: Tensor
    obs_std: Tensor
    action_center: Tensor
    action_scale: Tensor

    def __init__(
        self,
        action_low: np.ndarray,
        action_high: np.ndarray,
        obs_mean: np.ndarray,
        obs_std: np.ndarray,
        hidden: Sequence[int],
        head: Head = "tanh",
        choices: int = 0,
        layer_norm: bool = False,
    ) -> None:
        super().__init__()
        self.head: Head = head
        self.hidden = tuple(hidden)
        self.choices = choices
        self.layer_norm = layer_norm
        self.obs_dim, self.action_dim = len(obs_mean), len(action_low)
        outputs = {"tanh": self.action_dim, "gaussian": 2 * self.action_dim, "argmax": choices}[head]
        self.net = mlp([self.obs_dim, *hidden, outputs], layer_norm)
        for name, value in {
            "obs_mean": obs_mean,
            "obs_std": obs_std,
            "action_center": (np.asarray(action_high) + action_low) / 2,
            "action_scale": (np.asarray(action_high) - action_low) / 2,
        }.items():
            self.register_buffer(name, torch.tensor(np.asarray(value), dtype=torch.float32))

    @classmethod
    def for_spaces(
        cls,
        observation_space: spaces.Space,
        action_space: spaces.Space,
        hidden: Sequence[int],
        head: Head = "tanh",
        obs_mean: np.ndarray | None = None,
        obs_std: np.ndarray | None = None,
        layer_norm: bool = False,
    ) -> "Policy":
        """A new policy for these spaces; without mean and std, observations are used as they are."""
        assert isinstance(observation_space, spaces.Box)
        width = observation_space.shape[0]
        mean = np.zeros(width) if obs_mean is None else obs_mean
        std = np.ones(width) if obs_std is None else obs_std
        if isinstance(action_space, spaces.Discrete):
            return cls(np.zeros(0), np.zeros(0), mean, std, hidden, "argmax", int(action_space.n), layer_norm)
        assert isinstance(action_space, spaces.Box)
        return cls(action_space.low, action_space.high, mean, std, hidden, head, 0, layer_norm)

    def forward(self, obs: Tensor) -> Tensor:
        """The deterministic action in [−1, 1] for standardised observations."""
        return torch.tanh(self.net(obs)[..., : self.action_dim])

    def encode_obs(self, obs: Tensor) -> Tensor:
        return (obs - self.obs_mean) / self.obs_std

    def encode_action(self, action: Tensor) -> Tensor:
        """Into [−1, 1]; the number of a discrete action stays what it is."""
        return action if self.head == "argmax" else (action - self.action_center) / self.action_scale

    def decode_action(self, action: Tensor) -> Tensor:
        return action * self.action_scale + self.action_center

    @torch.no_grad()
    def act(self, obs: np.ndarray) -> np.ndarray:
        """The deterministic action for a batch of observations, both in the environment's units."""
        encoded = self.encode_obs(torch.as_tensor(obs, dtype=torch.float32))
        if self.head == "argmax":
            return self.net(encoded).argmax(-1).numpy()
        return self.decode_action(self(encoded)).numpy()

    def save(self, path: Path) -> None:
        """Write atomically: a reader sees the old file or the whole new one."""
        path.parent.mkdir(parents=True, exist_ok=True)
        header = {
            "format": "rlnotes-policy-1",
            "head": self.head,
            "hidden": json.dumps(self.hidden),
            "choices": str(self.choices),
            "layer_norm": json.dumps(self.layer_norm),
        }
        partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
        partial.write_bytes(safetensors.torch.save(self.state_dict(), header))
        os.replace(partial, path)

    @classmethod
    def load(cls, path: Path, remake: str) -> "Policy":
        """Read a policy; `remake` is the command that makes the file, for the error message."""
        if not path.exists():
            raise UserError(f"{path}: no such checkpoint. Make it with: {remake}")
        try:
            with safetensors.safe_open(path, framework="pt") as file:
                header = file.metadata() or {}
                weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            if header.get("format") != "rlnotes-policy-1":
                raise ValueError(f"its format is {header.get('format')!r}, not 'rlnotes-policy-1'")
            center, scale = weights["action_center"].numpy(), weights["action_scale"].numpy()
            policy = cls(
                action_low=center - scale,
                action_high=center + scale,
                obs_mean=weights["obs_mean"].numpy(),
                obs_std=weights["obs_std"].numpy(),
                hidden=json.loads(header["hidden"]),
                head=header["head"],
                choices=int(header.get("choices", "0")),
                layer_norm=json.loads(header.get("layer_norm", "false")),
            )
            policy.load_state_dict(weights)
        except (safetensors.SafetensorError, ValueError, KeyError, RuntimeError) as problem:
            reason = " ".join(str(problem).split())
            raise UserError(f"{path}: damaged checkpoint ({reason}). Make it again with: {remake}") from problem
        return policy
