"""Policies keep their units, and survive saving; damaged files are named and refused."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

from rlnotes.algos.policy import Policy
from rlnotes.errors import UserError


def some_policy(head: str = "tanh", layer_norm: bool = False) -> Policy:
    torch.manual_seed(0)
    low, high = np.array([0.0, -3.0]), np.array([1.0, 5.0])
    mean, std = np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.0, 2.0])
    return Policy(low, high, mean, std, (8, 8), head, layer_norm=layer_norm)  # type: ignore[arg-type]


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=3, max_size=3))
def test_actions_are_always_within_bounds(observation: list[float]) -> None:
    action = some_policy().act(np.array([observation]))[0]
    assert (action >= [0, -3]).all()
    assert (action <= [1, 5]).all()


def test_encode_and_decode_are_inverse() -> None:
    policy = some_policy()
    action = torch.tensor([[0.25, 4.0]])
    assert torch.allclose(policy.decode_action(policy.encode_action(action)), action)
    assert policy.encode_action(torch.tensor([[1.0, -3.0]])).tolist() == [[1.0, -1.0]]


def test_a_discrete_policy_takes_the_action_with_the_largest_output(tmp_path: Path) -> None:
    box = spaces.Box(-1, 1, (2,), np.float32)
    policy = Policy.for_spaces(box, spaces.Discrete(3), hidden=())
    layer: Any = policy.net[0]
    layer.weight.data = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    layer.bias.data = torch.zeros(3)
    observations = np.array([[0.9, 0.1], [0.1, 0.9], [-0.5, -0.5]])
    assert policy.act(observations).tolist() == [0, 1, 2]
    policy.save(tmp_path / "policy.safetensors")
    assert Policy.load(tmp_path / "policy.safetensors", "").act(observations).tolist() == [0, 1, 2]


@pytest.mark.parametrize(("head", "layer_norm"), [("tanh", False), ("gaussian", False), ("tanh", True)])
def test_a_loaded_policy_acts_as_the_saved_one(tmp_path: Path, head: str, layer_norm: bool) -> None:
    policy, path = some_policy(head, layer_norm), tmp_path / "a" / "policy.safetensors"
    policy.save(path)
    observations = np.random.default_rng(0).normal(size=(20, 3))
    assert np.array_equal(Policy.load(path, "make it").act(observations), policy.act(observations))
    assert [file.name for file in path.parent.iterdir()] == ["policy.safetensors"]


def test_missing_file_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such checkpoint.*the command"):
        Policy.load(tmp_path / "none.safetensors", "the command")


def damage_cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def damage_pickle(path: Path) -> None:
    path.write_bytes(pickle.dumps({"net.0.weight": [1.0]}))


def damage_foreign(path: Path) -> None:
    path.write_bytes(safetensors.torch.save({"weight": torch.zeros(2)}))


def damage_shapes(path: Path) -> None:
    weights = some_policy().state_dict() | {"net.0.weight": torch.zeros(8, 9)}
    path.write_bytes(
        safetensors.torch.save(weights, {"format": "rlnotes-policy-1", "head": "tanh", "hidden": "[8, 8]"})
    )


@pytest.mark.parametrize("damage", [damage_cut, damage_pickle, damage_foreign, damage_shapes])
def test_damaged_file_is_refused_and_left_alone(tmp_path: Path, damage: object) -> None:
    path = tmp_path / "policy.safetensors"
    some_policy().save(path)
    damage(path)  # type: ignore[operator]
    content = path.read_bytes()
    with pytest.raises(UserError, match="damaged checkpoint.*the command"):
        Policy.load(path, "the command")
    assert path.read_bytes() == content
