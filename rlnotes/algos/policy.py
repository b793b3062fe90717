"""A trained policy: a network with the units of its environment, saved as safetensors.

Nothing is unpickled: `torch.load` of a stranger's file can run the stranger's code, a
safetensors file is only a table of numbers with a JSON header.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import safetensors
import safetensors.torch
import torch
from gymnasium import spaces
from torch import Tensor, nn

from rlnotes.algos import space_checks
from rlnotes.algos.networks import Activation, Eye, network
from rlnotes.data.transitions import Batch
from rlnotes.errors import UserError, unknown

Head = Literal["tanh", "clip", "gaussian", "argmax"]

FORMAT = "rlnotes-policies-2"
BATCH_DIMENSIONS = 1 + space_checks.PICTURE_DIMENSIONS


class Policy(nn.Module):
    """Maps observations to actions.

    Inside, observations are standardised and continuous actions lie in [−1, 1], so that
    losses and noise mean the same in every environment; `act` and `sample` speak the
    environment's own units. Pictures are seen through an eye, as numbers from 0 to 1.

    `head` says what the network puts out: "tanh" a deterministic action before
    squashing, "clip" one that is cut off at −1 and 1 instead, "gaussian" the mean and
    the log standard deviation of an action before squashing, "argmax" one number per
    discrete action, of which the largest wins.

    `log_std_bounds` hold in play and in learning alike. The default is not that of
    SAC's authors, who let the deviation fall to e⁻²⁰.
    """

    obs_mean: Tensor
    obs_std: Tensor
    action_center: Tensor
    action_scale: Tensor

    def __init__(
        self,
        obs_shape: Sequence[int],
        action_low: np.ndarray | Sequence[float],
        action_high: np.ndarray | Sequence[float],
        hidden: Sequence[int],
        head: Head = "tanh",
        obs_mean: np.ndarray | None = None,
        obs_std: np.ndarray | None = None,
        num_actions: int = 0,
        layer_norm: bool = False,
        eye: Eye | None = None,
        log_std_bounds: tuple[float, float] = (-5.0, 2.0),
        activation: Activation = "relu",
    ) -> None:
        super().__init__()
        if head not in get_args(Head):
            raise unknown("head of a policy", head, get_args(Head))
        self.obs_shape = tuple(obs_shape)
        self.hidden = tuple(hidden)
        self.head: Head = head
        self.num_actions = num_actions
        self.layer_norm = layer_norm
        self.eye = eye
        self.log_std_bounds = (log_std_bounds[0], log_std_bounds[1])
        self.activation: Activation = activation
        self.obs_dtype = torch.uint8 if eye else torch.float32
        low, high = np.asarray(action_low), np.asarray(action_high)
        self.action_dim = len(low)
        self.num_outputs = {
            "tanh": self.action_dim,
            "clip": self.action_dim,
            "gaussian": 2 * self.action_dim,
            "argmax": num_actions,
        }[head]
        self.net = network(
            obs_shape, hidden, self.num_outputs, eye, layer_norm, activation
        )
        mean, std = _obs_scale(self.obs_shape, obs_mean, obs_std, eye)
        for name, value in {
            "obs_mean": mean,
            "obs_std": std,
            "action_center": (high + low) / 2,
            "action_scale": (high - low) / 2,
        }.items():
            self.register_buffer(name, torch.tensor(value, dtype=torch.float32))

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
        eye: Eye | None = None,
        log_std_bounds: tuple[float, float] = (-5.0, 2.0),
        activation: Activation = "relu",
    ) -> "Policy":
        """A new policy for these spaces. Without mean and std, observations are used as
        they are; discrete actions always have the head "argmax"."""
        low: np.ndarray | Sequence[float]
        high: np.ndarray | Sequence[float]
        (low, high), num_actions = ((), ()), 0
        if isinstance(action_space, spaces.Discrete):
            head, num_actions = "argmax", space_checks.num_actions(action_space)
        else:
            low, high = space_checks.action_bounds(action_space)
            if head == "argmax":
                raise UserError(
                    f"the head argmax is for discrete actions, and {action_space} has"
                    " none: take head='gaussian' or head='tanh'"
                )
        return cls(
            space_checks.obs_shape(observation_space, eye is not None),
            low,
            high,
            hidden,
            head,
            obs_mean,
            obs_std,
            num_actions,
            layer_norm,
            eye,
            log_std_bounds,
            activation,
        )

    @property
    def arguments(self) -> dict[str, Any]:
        """What the constructor needs to make this policy again, but for its tensors."""
        center, scale = self.action_center, self.action_scale
        arguments = {
            "obs_shape": list(self.obs_shape),
            "action_low": (center - scale).tolist(),
            "action_high": (center + scale).tolist(),
            "hidden": list(self.hidden),
            "head": self.head,
            "num_actions": self.num_actions,
            "layer_norm": self.layer_norm,
            "eye": _eye_arguments(self.eye),
            "log_std_bounds": list(self.log_std_bounds),
        }
        # Checkpoints that are older than this argument have no checksum with it.
        ours = self.activation == "relu"
        return arguments if ours else arguments | {"activation": self.activation}

    def forward(self, obs: Tensor) -> Tensor:
        """The deterministic action in [−1, 1] for encoded observations."""
        outputs = self.net(obs)[..., : self.action_dim]
        return outputs.clamp(-1, 1) if self.head == "clip" else torch.tanh(outputs)

    def mean_and_log_std(self, outputs: Tensor) -> tuple[Tensor, Tensor]:
        """What the network of a "gaussian" head puts out, within its bounds."""
        mean, log_std = outputs.chunk(2, dim=-1)
        return mean, log_std.clamp(*self.log_std_bounds)

    def encode_obs(self, obs: Tensor) -> Tensor:
        """As the network sees them: standardised, equation eq-states; pictures are only
        divided."""
        if self.eye:
            pixels = as_channels_last(obs).float()
            return pixels.sub_(self.eye.background).div_(self.eye.divisor)
        return (obs - self.obs_mean) / self.obs_std

    def encode_array(self, obs: np.ndarray) -> Tensor:
        return self.encode_obs(torch.as_tensor(obs, dtype=self.obs_dtype))

    def encode_batch(self, batch: Batch) -> Batch:
        """A batch of raw observations, as the network is to see them."""
        obs, next_obs = self.encode_obs(batch.obs), self.encode_obs(batch.next_obs)
        return batch._replace(obs=obs, next_obs=next_obs)

    def encode_action(self, action: Tensor) -> Tensor:
        """Into [−1, 1]; the number of a discrete action stays what it is."""
        if self.head == "argmax":
            return action
        return (action - self.action_center) / self.action_scale

    def decode_action(self, action: Tensor) -> Tensor:
        return action * self.action_scale + self.action_center

    @torch.no_grad()
    def act(self, obs: np.ndarray) -> np.ndarray:
        """The deterministic action for a batch of observations, both in the
        environment's units."""
        encoded = self.encode_array(obs)
        if self.head == "argmax":
            return self.net(encoded).argmax(-1).numpy()
        return self.decode_action(self(encoded)).numpy()

    @torch.no_grad()
    def sample(self, obs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """An action drawn for each of a batch of observations.

        A "gaussian" head plays the tanh of a draw, a "tanh" or "clip" head has only one
        action, and "argmax" draws with the softmax of its outputs: for a Q-network this
        is Boltzmann play.
        """
        if self.head in ("tanh", "clip"):
            return self.act(obs)
        outputs = self.net(self.encode_array(obs))
        if self.head == "argmax":
            probs = torch.softmax(outputs, dim=-1).numpy()
            return draw(probs, rng.uniform(size=len(obs)))
        mean, log_std = self.mean_and_log_std(outputs)
        noise = torch.as_tensor(rng.standard_normal(mean.shape), dtype=torch.float32)
        return self.decode_action(torch.tanh(mean + log_std.exp() * noise)).numpy()


def as_channels_last(pictures: Tensor) -> Tensor:
    """The same pictures in the order in memory in which convolutions learn a fifth
    faster on a CPU."""
    if pictures.dim() != BATCH_DIMENSIONS:
        return pictures
    return pictures.contiguous(memory_format=torch.channels_last)


def draw(probs: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    """One action per row of `probs`, by inverting the cumulative probability.

    It is compared with its own last sum and in float64: 1 itself, or another sum of the
    same float32 numbers, can be more than it, and then no action is left to be drawn.
    """
    cumulative = np.cumsum(probs, axis=-1, dtype=np.float64)
    reached = uniform * cumulative[:, -1]
    return (cumulative < reached[:, None]).sum(-1)


def _eye_arguments(eye: Eye | None) -> dict[str, Any] | None:
    if eye is None:
        return None
    arguments = asdict(eye)
    if not eye.background:  # older checkpoints have no checksum with it
        del arguments["background"]
    return arguments


def _obs_scale(
    obs_shape: tuple[int, ...],
    mean: np.ndarray | None,
    std: np.ndarray | None,
    eye: Eye | None,
) -> tuple[np.ndarray, np.ndarray]:
    if eye is not None:
        if mean is not None or std is not None:
            raise UserError(
                "an eye divides its pictures by 255: leave out obs_mean and obs_std"
            )
        return np.full((), eye.background), np.full((), eye.divisor)
    mean = np.zeros(obs_shape) if mean is None else np.asarray(mean)
    std = np.ones(obs_shape) if std is None else np.asarray(std)
    if mean.shape != obs_shape or std.shape != obs_shape:
        raise UserError(
            f"obs_mean and obs_std have the shapes {mean.shape} and {std.shape}: give"
            f" one number for each observation, {obs_shape}"
        )
    with np.errstate(over="ignore"):
        usable = np.isfinite(mean.astype(np.float32)) & np.isfinite(
            std.astype(np.float32)
        )
    usable &= std.astype(np.float32) > 0
    if not usable.all():
        column = int(np.argmin(usable))
        raise UserError(
            f"observation {column} has the mean {mean[column]} and the deviation"
            f" {std[column]}, by which nothing can be divided: give finite numbers and"
            " a deviation above 0, for example obs_std + 1e-3"
        )
    return mean, std


NEEDS: dict[Head, str] = {
    "argmax": "a world with discrete actions",
    "gaussian": "head='gaussian' and continuous actions",
    "tanh": "head='tanh' and continuous actions",
    "clip": "head='clip' and continuous actions",
}


def require_head(policy: Policy, learner: str, *heads: Head) -> None:
    if policy.head not in heads:
        raise UserError(
            f"{learner} cannot train a policy with the head {policy.head}: make it with"
            f" Policy.for_spaces for {' or '.join(NEEDS[head] for head in heads)}"
        )


def check_spaces(
    policy: Policy, observation_space: spaces.Space, action_space: spaces.Space
) -> None:
    """Refuse a policy that belongs to another world."""
    actions: Any = action_space.shape
    if isinstance(action_space, spaces.Discrete):
        actions = int(action_space.n)
    wanted = policy.num_actions if policy.head == "argmax" else (policy.action_dim,)
    pictures = observation_space.dtype == np.uint8 if policy.eye else True
    if observation_space.shape != policy.obs_shape or actions != wanted or not pictures:
        raise UserError(
            f"this policy takes observations of shape {policy.obs_shape} and has"
            f" actions {wanted}, but the world has {observation_space} and"
            f" {action_space}: take a policy that was trained in this world"
        )


def tensors_sha256(tensors: Mapping[str, Tensor]) -> str:
    """Of names, types, shapes and bytes, in the order of the names."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name].detach().cpu().contiguous()
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.numpy().tobytes())
    return digest.hexdigest()


def policy_sha256(policy: Policy, tensors: Mapping[str, Tensor] | None = None) -> str:
    """Of all that a policy is: its constructor's arguments and its tensors, as it has
    them or as a file does."""
    made_with = json.dumps(policy.arguments, sort_keys=True)
    content = made_with + tensors_sha256(tensors or policy.state_dict())
    return hashlib.sha256(content.encode()).hexdigest()


def stored_tensors(policy: Policy) -> dict[str, Tensor]:
    """As a file keeps them. An eye has a million weights, so these are rounded to half
    precision, to one part in two thousand: it plays as before, but where two actions
    are as good as equal."""
    tensors = policy.state_dict()
    if policy.eye is None:
        return tensors
    return {name: tensor.half() for name, tensor in tensors.items()}


def save_policies(path: Path, policies: Mapping[str, Policy], owner: str) -> None:
    """All policies of `owner` in one file, each under its key. A reader sees the old
    file or the whole new one, and a failure leaves nothing behind."""
    stored = {key: stored_tensors(policy) for key, policy in policies.items()}
    tensors = {
        f"{key}/{name}": tensor
        for key, found in stored.items()
        for name, tensor in found.items()
    }
    header = {"format": FORMAT, "owner": owner} | {
        _entry(key): json.dumps(
            {
                "arguments": policy.arguments,
                "sha256": policy_sha256(policy, stored[key]),
            }
        )
        for key, policy in policies.items()
    }
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(in_order(safetensors.torch.save(tensors, header)))
        os.replace(partial, path)
    except OSError as problem:
        raise UserError(
            f"{path}: cannot be written ({problem.strerror}). Make room or take another"
            " folder, and run it again"
        ) from problem
    finally:
        if partial.exists():
            partial.unlink()


def _entry(key: str) -> str:
    """Where the header speaks of a policy."""
    return f"policy/{key}"


def in_order(content: bytes) -> bytes:
    """The same file with its header sorted: the library writes it in any order, and the
    same policies should make the same bytes."""
    size = int.from_bytes(content[:8], "little")
    header = json.dumps(json.loads(content[8 : 8 + size]), sort_keys=True).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + content[8 + size :]


def load_policy(path: Path, key: str, owner: str, remake: str) -> Policy:
    """Read one policy of `owner`; `remake` is the command that makes the file, for the
    error message."""
    header = _header(path, remake)
    if header.get("owner") != owner:
        raise _foreign(path, header, owner, remake)
    if _entry(key) not in header:
        raise UserError(
            f"{path}: no policy '{key}' in it, only {', '.join(_keys(header))}. Make it"
            f" with: {remake}"
        )
    try:
        entry = json.loads(header[_entry(key)])
        policy = from_arguments(entry["arguments"])
        tensors = _tensors(path, key)
        policy.load_state_dict(tensors)
        if policy_sha256(policy, tensors) != entry["sha256"]:
            raise ValueError("its numbers are not those that were saved")
    except (*DAMAGE, UserError) as problem:
        raise _damaged(path, str(problem), remake) from problem
    return policy


def load_tensors(path: Path, key: str, owner: str, remake: str) -> dict[str, Tensor]:
    """What is kept under a key beside the policies of `owner`, such as a critic."""
    header = _header(path, remake)
    if header.get("owner") != owner:
        raise _foreign(path, header, owner, remake)
    found = _tensors(path, key)
    if not found:
        raise UserError(f"{path}: no '{key}' in it. Make it with: {remake}")
    return found


def policy_keys(path: Path, remake: str = "the run that left it behind") -> list[str]:
    """The keys of all policies in the file."""
    return _keys(_header(path, remake))


DAMAGE = (
    safetensors.SafetensorError,
    OSError,
    RuntimeError,
    KeyError,
    TypeError,
    ValueError,
)


def _damaged(path: Path, reason: str, remake: str) -> UserError:
    said = " ".join(reason.split())
    return UserError(
        f"{path}: damaged checkpoint ({said}). Make it again with: {remake}"
    )


def _foreign(
    path: Path, header: Mapping[str, str], owner: str, remake: str
) -> UserError:
    return UserError(
        f"{path}: the checkpoint of '{header.get('owner')}', not of '{owner}'. Make it"
        f" again with: {remake}"
    )


def _header(path: Path, remake: str) -> dict[str, str]:
    if not path.exists():
        raise UserError(f"{path}: no such checkpoint. Make it with: {remake}")
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
    except DAMAGE as problem:
        raise _damaged(path, str(problem), remake) from problem
    if header.get("format") != FORMAT:
        found = f"its format is {header.get('format')!r}, not {FORMAT!r}"
        raise _damaged(path, found, remake)
    return header


def _keys(header: Mapping[str, str]) -> list[str]:
    return sorted(
        name.removeprefix(_entry("")) for name in header if name.startswith(_entry(""))
    )


def _tensors(path: Path, key: str) -> dict[str, Tensor]:
    with safetensors.safe_open(path, framework="pt") as file:
        parts = (name.rpartition("/") for name in file.keys())  # noqa: SIM118
        return {
            name: file.get_tensor(f"{key}/{name}")
            for owner_key, _, name in parts
            if owner_key == key
        }


def from_arguments(arguments: Mapping[str, Any]) -> Policy:
    eye = arguments["eye"]
    if eye is not None:
        filters = tuple((c, size, stride) for c, size, stride in eye["filters"])
        eye = Eye(**{**eye, "filters": filters})
    return Policy(**{**arguments, "eye": eye})
