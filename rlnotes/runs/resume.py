"""The state of a run in the middle: saved at intervals, so that it can go on.

One safetensors file: networks, optimisers and replays as tensors; counters, random
states and the rows so far as JSON in its header. The world itself is not saved, so a
learner that plays goes on with new episodes; one that learns from fixed data goes on
bit for bit.
"""

import copy
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.torch
import torch
from torch import Tensor, nn

from rlnotes.algos.policy import tensors_sha256
from rlnotes.data.frames import FrameTransitions
from rlnotes.data.transitions import Transitions
from rlnotes.errors import UserError
from rlnotes.experiments.base import Trial
from rlnotes.runs.store import Row, writing

FORMAT = "rlnotes-state-1"
DAMAGES = (
    safetensors.SafetensorError,
    OSError,
    ValueError,
    KeyError,
    RuntimeError,
    TypeError,
)


@dataclass
class Progress:
    """How far a run has come, besides what its trial knows."""

    rows: list[Row]
    info: dict[str, Any]  # settings and provenance, as they were at its first start
    wall_seconds: float = 0.0
    resumptions: int = 0


def save(path: Path, trial: Trial, progress: Progress) -> None:
    tensors: dict[str, Tensor] = {"torch_rng": torch.get_rng_state()}
    numbers: dict[str, Any] = {}
    for name, part in _parts(trial.agent):
        _take(name, part, tensors, numbers)
    assert trial.best is not None
    _take("best", trial.best, tensors, numbers)
    for name, policy in trial.stages.items():
        _take(name, policy, tensors, numbers)
    about = {
        "format": FORMAT,
        "rows": progress.rows,
        "info": progress.info,
        "wall_seconds": progress.wall_seconds,
        "resumptions": progress.resumptions,
        "evaluated": trial.evaluated,
        "best_return": trial.best_return,
        "stages": list(trial.stages),
        "numbers": numbers,
        "sha256": tensors_sha256(tensors),
    }
    contiguous = {name: tensor.contiguous() for name, tensor in tensors.items()}
    with writing(path.parent):
        partial = path.with_name(f".{path.name}.partial")
        header = {"state": json.dumps(about)}  # NaN and infinity come back as they were
        partial.write_bytes(safetensors.torch.save(contiguous, header))
        os.replace(partial, path)


def restore(path: Path, trial: Trial, settings: Any) -> Progress:
    """Bring the trial to where it was saved; its stream must not have begun. A record
    names one set of settings, so these must be those that it was saved with."""
    assert trial.best is not None
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            about = json.loads((file.metadata() or {})["state"])
            names = list(file.keys())
            tensors = {name: file.get_tensor(name) for name in names}
        if about["format"] != FORMAT:
            raise ValueError(f"its format is {about['format']!r}, not {FORMAT!r}")
        if about["sha256"] != tensors_sha256(tensors):
            raise ValueError("it does not match its own checksum")
        if about["info"]["settings"] != settings:
            raise ValueError("the settings are others now")
        for name, part in _parts(trial.agent):
            _give(name, part, tensors, about["numbers"])
        _give("best", trial.best, tensors, about["numbers"])
        for name in about.get("stages", []):  # older states have none
            trial.stages[name] = copy.deepcopy(trial.best)
            _give(name, trial.stages[name], tensors, about["numbers"])
        torch.set_rng_state(tensors["torch_rng"])
        trial.evaluated, trial.best_return = about["evaluated"], about["best_return"]
        rows = [(int(step), str(name), float(x)) for step, name, x in about["rows"]]
        times = about["wall_seconds"], about["resumptions"] + 1
        return Progress(rows, about["info"], *times)
    except DAMAGES as problem:
        reason = " ".join(str(problem).split())
        raise UserError(
            f"{path}: this saved state cannot be used ({reason}). Remove the file, and"
            " the run begins anew"
        ) from problem


def _parts(agent: Any, prefix: str = "agent") -> Iterator[tuple[str, Any]]:
    """Everything that changes while an agent learns, with a name; agents within agents
    too. What is in two places (a policy) is named once."""
    seen: set[int] = set()

    def walk(owner: Any, prefix: str) -> Iterator[tuple[str, Any]]:
        for name, part in vars(owner).items():
            if id(part) in seen and isinstance(part, nn.Module):
                continue
            seen.add(id(part))
            here = f"{prefix}.{name}"
            if type(part).__name__ == "Agent":
                yield from walk(part, here)
            elif isinstance(part, _SAVED):
                yield here, _Attribute(owner, name)

    yield from walk(agent, prefix)


_SAVED = (
    nn.Module,
    torch.optim.Optimizer,
    Tensor,
    Transitions,
    FrameTransitions,
    np.random.Generator,
    int,
    float,
)


@dataclass
class _Attribute:
    owner: Any
    name: str

    @property
    def value(self) -> Any:
        return getattr(self.owner, self.name)


def _take(
    name: str, part: Any, tensors: dict[str, Tensor], numbers: dict[str, Any]
) -> None:
    value = part.value if isinstance(part, _Attribute) else part
    if isinstance(value, nn.Module):
        tensors |= {f"{name}/{key}": x for key, x in value.state_dict().items()}
    elif isinstance(value, torch.optim.Optimizer):
        kept = value.state_dict()
        for number, slots in kept["state"].items():
            tensors |= {f"{name}/{number}/{slot}": x for slot, x in slots.items()}
        rates = [group["lr"] for group in kept["param_groups"]]
        numbers[name] = [float(rate) for rate in rates]
    elif isinstance(value, Transitions | FrameTransitions):
        tensors |= {f"{name}/{key}": x for key, x in value.state().items()}
    elif isinstance(value, Tensor):
        tensors[name] = value.detach()
    elif isinstance(value, np.random.Generator):
        numbers[name] = value.bit_generator.state
    else:
        numbers[name] = value


def _give(
    name: str, part: Any, tensors: dict[str, Tensor], numbers: dict[str, Any]
) -> None:
    value = part.value if isinstance(part, _Attribute) else part
    mine = {
        key.removeprefix(f"{name}/"): tensor
        for key, tensor in tensors.items()
        if key.startswith(f"{name}/")
    }
    if isinstance(value, nn.Module):
        value.load_state_dict(mine)
    elif isinstance(value, torch.optim.Optimizer):
        kept = value.state_dict()
        for key, tensor in mine.items():
            number, slot = key.split("/")
            kept["state"].setdefault(int(number), {})[slot] = tensor
        for group, rate in zip(kept["param_groups"], numbers[name], strict=True):
            group["lr"] = rate
        value.load_state_dict(kept)
    elif isinstance(value, Transitions | FrameTransitions):
        value.load_state(mine)
    elif isinstance(value, nn.Parameter):
        with torch.no_grad():  # in place: an optimiser holds it
            value.copy_(tensors[name])
    elif isinstance(value, Tensor):
        setattr(part.owner, part.name, tensors[name])
    elif isinstance(value, np.random.Generator):
        value.bit_generator.state = numbers[name]
    else:
        setattr(part.owner, part.name, numbers[name])
