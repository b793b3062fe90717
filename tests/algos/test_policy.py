"""Policies keep their units, refuse what they cannot do, and survive saving; damaged
files are named and refused."""

import errno
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors
import safetensors.torch
import torch
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

from rlnotes.algos.networks import Eye, network
from rlnotes.algos.policy import (
    Head,
    Policy,
    check_spaces,
    draw,
    load_policy,
    load_tensors,
    policy_keys,
    policy_sha256,
    save_policies,
    tensors_sha256,
)
from rlnotes.errors import UserError

VECTOR = spaces.Box(-1, 1, (2,), np.float32)
PUSH = spaces.Box(-1, 1, (2,), np.float32)
PICTURE = spaces.Box(0, 255, (1, 12, 12), np.uint8)
SMALL_EYE = Eye(filters=((4, 4, 2), (8, 3, 1)), units=16)


def some_policy(head: Head = "tanh", layer_norm: bool = False, seed: int = 0) -> Policy:
    torch.manual_seed(seed)
    low, high = np.array([0.0, -3.0]), np.array([1.0, 5.0])
    mean, std = np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.0, 2.0])
    shape, hidden = (3,), (8, 8)
    return Policy(shape, low, high, hidden, head, mean, std, layer_norm=layer_norm)


def seeing_policy() -> Policy:
    torch.manual_seed(0)
    return Policy.for_spaces(PICTURE, spaces.Discrete(3), (8,), eye=SMALL_EYE)


def linear_policy(action_space: spaces.Space, rows: list[list[float]]) -> Policy:
    """Outputs that are known: one row of weights for each."""
    policy = Policy.for_spaces(VECTOR, action_space, (), "gaussian")
    layer: Any = policy.net[0]
    layer.weight.data = torch.tensor(rows)
    layer.bias.data = torch.zeros(len(rows))
    return policy


# --- units


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


def test_a_discrete_policy_takes_the_action_with_the_largest_output() -> None:
    policy = linear_policy(spaces.Discrete(3), [[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    observations = np.array([[0.9, 0.1], [0.1, 0.9], [-0.5, -0.5]])
    assert policy.act(observations).tolist() == [0, 1, 2]


def test_pictures_are_seen_as_numbers_up_to_1() -> None:
    policy = seeing_policy()
    picture = np.full((2, 1, 12, 12), 51, np.uint8)
    encoded = policy.encode_array(picture)
    assert encoded.dtype == torch.float32
    assert encoded.unique().tolist() == pytest.approx([0.2])
    assert policy.act(picture).shape == (2,)
    alone, together = policy.net(encoded[0]), policy.net(encoded)[0]
    assert torch.allclose(alone, together, atol=1e-6)  # one picture, or a batch of one


def test_an_eye_is_convolutions_before_the_layers() -> None:
    layers = [type(layer).__name__ for layer in network((4, 84, 84), (), 6, Eye())]
    eye = ["Conv2d", "ReLU", "Conv2d", "ReLU", "Flatten", "Linear", "ReLU"]
    assert layers == [*eye, "Linear"]


# --- play


def test_a_gaussian_policy_plays_the_tanh_of_a_draw_within_its_bounds() -> None:
    policy = linear_policy(PUSH, [[1.0, 0.0], [0.0, 1.0], [100.0, 0.0], [-100.0, 0.0]])
    policy.log_std_bounds = (-1.0, 0.5)
    obs = np.tile([0.3, -0.2], (20_000, 1))  # log deviations of ±30 before the bounds
    played = np.arctanh(policy.sample(obs, np.random.default_rng(0)))
    assert played.mean(0) == pytest.approx([0.3, -0.2], abs=0.03)
    assert played.std(0) == pytest.approx(np.exp([0.5, -1.0]), rel=0.02)


def test_a_discrete_policy_plays_with_the_softmax_of_its_outputs() -> None:
    policy = linear_policy(spaces.Discrete(2), [[0.0, 0.0], [float(np.log(3)), 0.0]])
    obs = np.tile([1.0, 0.0], (20_000, 1))
    played = policy.sample(obs, np.random.default_rng(0))
    assert played.mean() == pytest.approx(0.75, abs=0.01)


def test_a_deterministic_policy_has_only_one_action() -> None:
    policy, obs = some_policy(), np.ones((4, 3))
    assert (policy.sample(obs, np.random.default_rng(0)) == policy.act(obs)).all()


def test_every_action_that_is_drawn_exists() -> None:
    """With 18 actions, float32 sums in another order can be more than the last sum."""
    torch.manual_seed(1)
    probs = torch.softmax(torch.randn(18), -1).numpy()
    last = np.nextafter(1.0, 0.0)
    assert np.searchsorted(np.cumsum(probs), float(last) * probs.sum()) == 18
    assert draw(probs[None], np.array([last])).tolist() == [17]
    assert draw(probs[None], np.array([0.0])).tolist() == [0]


# --- what is refused, and what it says


@pytest.mark.parametrize(
    ("observations", "actions", "options", "advice"),
    [
        (spaces.Dict({"a": VECTOR}), PUSH, {}, "FlattenObservation"),
        (spaces.Tuple([VECTOR, VECTOR]), PUSH, {}, "FlattenObservation"),
        (spaces.MultiBinary(3), PUSH, {}, "FlattenObservation"),
        (spaces.Discrete(16), PUSH, {}, "FlattenObservation"),
        (spaces.Box(-1, 1, (2, 2), np.float32), PUSH, {}, "FlattenObservation"),
        (PICTURE, PUSH, {}, r"eye=Eye\(\)"),
        (spaces.Box(0, 255, (12, 12, 3), np.uint8), PUSH, {"eye": Eye()}, "moveaxis"),
        (spaces.Box(0, 1, (3, 9, 9), np.float32), PUSH, {"eye": Eye()}, "convert"),
        (VECTOR, PUSH, {"eye": Eye()}, "leave the eye out"),
        (PICTURE, PUSH, {"eye": Eye()}, "smaller"),
        (PICTURE, PUSH, {"eye": SMALL_EYE, "obs_std": np.ones(3)}, "leave out"),
        (VECTOR, spaces.Dict({"a": PUSH}), {}, "TransformAction"),
        (VECTOR, spaces.Tuple([PUSH, PUSH]), {}, "TransformAction"),
        (VECTOR, spaces.MultiDiscrete([2, 3]), {}, "TransformAction"),
        (VECTOR, spaces.MultiBinary(2), {}, "TransformAction"),
        (VECTOR, spaces.Discrete(3, start=-1), {}, "TransformAction"),
        (VECTOR, spaces.Box(-1, 1, (2, 2), np.float32), {}, "flatten"),
        (VECTOR, spaces.Box(-np.inf, 1, (2,), np.float32), {}, "bounds"),
        (VECTOR, spaces.Box(1, 1, (2,), np.float32), {}, "leave it out"),
        (VECTOR, PUSH, {"head": "argmax"}, "head='gaussian'"),
        (VECTOR, PUSH, {"head": "softmax"}, "Valid: tanh"),
        (VECTOR, PUSH, {"obs_std": np.array([1.0, 0.0])}, r"obs_std \+ 1e-3"),
        (VECTOR, PUSH, {"obs_std": np.array([1.0, 1e-60])}, r"obs_std \+ 1e-3"),
        (VECTOR, PUSH, {"obs_std": np.array([1.0, np.nan])}, "observation 1"),
        (VECTOR, PUSH, {"obs_mean": np.array([np.inf, 1.0])}, "observation 0"),
        (VECTOR, PUSH, {"obs_std": np.ones(3)}, "one number for each"),
    ],
)
def test_what_a_policy_cannot_do_is_refused_with_advice(
    observations: spaces.Space,
    actions: spaces.Space,
    options: dict[str, Any],
    advice: str,
) -> None:
    with pytest.raises(UserError, match=advice) as refused:
        Policy.for_spaces(observations, actions, (8,), **options)
    assert "\n" not in str(refused.value)


FLOATS = spaces.Box(0, 1, PICTURE.shape, np.float32)
THREE, TWO = (spaces.Box(-9, 9, (n,), np.float32) for n in (3, 2))


@pytest.mark.parametrize(
    ("policy", "observations", "actions", "fits"),
    [
        (some_policy(), THREE, TWO, True),
        (some_policy(), TWO, TWO, False),
        (some_policy(), THREE, THREE, False),
        (some_policy(), THREE, spaces.Discrete(2), False),
        (seeing_policy(), PICTURE, spaces.Discrete(3), True),
        (seeing_policy(), PICTURE, spaces.Discrete(4), False),
        (seeing_policy(), FLOATS, spaces.Discrete(3), False),
    ],
)
def test_a_policy_of_another_world_is_refused(
    policy: Policy, observations: spaces.Space, actions: spaces.Space, fits: bool
) -> None:
    if fits:
        check_spaces(policy, observations, actions)
    else:
        with pytest.raises(UserError, match="trained in this world"):
            check_spaces(policy, observations, actions)


# --- files

OWNER = "td3bc/pendulum td3bc-expert full"


def load(path: Path, key: str = "seed-0/last", owner: str = OWNER) -> Policy:
    return load_policy(path, key, owner, "the command")


@pytest.mark.parametrize(
    "policy",
    [
        some_policy("tanh"),
        some_policy("gaussian"),
        some_policy("tanh", layer_norm=True),
        Policy.for_spaces(VECTOR, spaces.Discrete(3), (4,)),
        Policy.for_spaces(VECTOR, PUSH, (4,), "gaussian", log_std_bounds=(-4.0, 1.0)),
    ],
)
def test_a_loaded_policy_plays_as_the_saved_one(tmp_path: Path, policy: Policy) -> None:
    path = tmp_path / "a" / "policy.safetensors"
    save_policies(path, {"seed-0/last": policy}, OWNER)
    loaded = load(path)
    obs = np.random.default_rng(0).normal(size=(20, *policy.obs_shape))
    assert np.array_equal(loaded.act(obs), policy.act(obs))
    drawn, expected = (
        one.sample(obs, np.random.default_rng(0)) for one in (loaded, policy)
    )
    assert np.array_equal(drawn, expected)
    assert loaded.arguments == policy.arguments
    assert [file.name for file in path.parent.iterdir()] == ["policy.safetensors"]


def test_an_eye_survives_saving(tmp_path: Path) -> None:
    policy, path = seeing_policy(), tmp_path / "policy.safetensors"
    save_policies(path, {"seed-0/last": policy}, OWNER)
    pictures = np.random.default_rng(0).integers(
        256, size=(9, 1, 12, 12), dtype=np.uint8
    )
    assert np.array_equal(load(path).act(pictures), policy.act(pictures))
    assert load(path).eye == SMALL_EYE


def test_an_eye_is_kept_in_half_the_bytes_and_nearly_as_it_was(tmp_path: Path) -> None:
    policy, path = seeing_policy(), tmp_path / "policy.safetensors"
    save_policies(path, {"seed-0/last": policy}, OWNER)
    whole = sum(tensor.nbytes for tensor in policy.state_dict().values())
    assert path.stat().st_size < 0.5 * whole + 2_000
    loaded = load(path)
    assert loaded.obs_std == policy.obs_std == 255
    for ours, kept in zip(policy.parameters(), loaded.parameters(), strict=True):
        assert kept.dtype == torch.float32
        assert torch.allclose(ours, kept, rtol=2**-11, atol=1e-7)
    save_policies(path, {"seed-0/last": loaded}, OWNER)  # rounded once, it stays so
    assert policy_sha256(load(path)) == policy_sha256(loaded)


def test_one_file_holds_several_policies(tmp_path: Path) -> None:
    path = tmp_path / "policy.safetensors"
    policies = {
        f"seed-{n}/{which}": some_policy(seed=n) for n in (0, 1) for which in "ab"
    }
    save_policies(path, policies | {"seed-0": some_policy(seed=7)}, OWNER)
    assert policy_keys(path) == ["seed-0", *policies]
    for key, policy in policies.items():
        assert policy_sha256(load(path, key)) == policy_sha256(policy)
    assert policy_sha256(load(path, "seed-0")) == policy_sha256(some_policy(seed=7))
    content = path.read_bytes()
    save_policies(path, policies | {"seed-0": some_policy(seed=7)}, OWNER)
    assert path.read_bytes() == content  # the same policies make the same file


def test_a_hash_is_of_names_types_shapes_and_numbers() -> None:
    tensors = {"a": torch.zeros(2, 3), "b": torch.ones(1)}
    others = [
        {"c": tensors["a"], "b": tensors["b"]},
        {"a": tensors["a"].double(), "b": tensors["b"]},
        {"a": tensors["a"].view(3, 2), "b": tensors["b"]},
        {"a": tensors["a"] + 1e-30, "b": tensors["b"]},
    ]
    hashes = {tensors_sha256(one) for one in [tensors, *others]}
    assert len(hashes) == 5
    assert tensors_sha256(dict(reversed(tensors.items()))) == tensors_sha256(tensors)


def test_what_is_not_there_is_named_with_the_command(tmp_path: Path) -> None:
    path = tmp_path / "policy.safetensors"
    with pytest.raises(UserError, match="no such checkpoint.*the command"):
        load(path)
    with pytest.raises(UserError, match="no such checkpoint"):
        policy_keys(path)
    save_policies(path, {"seed-0/last": some_policy()}, OWNER)
    with pytest.raises(UserError, match="no policy 'seed-3/last'.*seed-0.*the command"):
        load(path, "seed-3/last")
    with pytest.raises(UserError, match=f"of '{OWNER}', not of 'another'.*the command"):
        load(path, owner="another")


def test_what_is_kept_beside_policies_is_found_by_its_key(tmp_path: Path) -> None:
    path, critic = tmp_path / "policy.safetensors", {"a.b": torch.arange(3.0)}
    save_policies(path, {"seed-0/last": some_policy()}, OWNER)
    ask = OWNER, "the command"
    with pytest.raises(UserError, match="no 'seed-0/arrays' in it.*the command"):
        load_tensors(path, "seed-0/arrays", *ask)
    with safetensors.safe_open(path, framework="pt") as file:
        header = file.metadata()
        there = {name: file.get_tensor(name) for name in list(file.keys())}
    more = {f"seed-0/arrays/{name}": tensor for name, tensor in critic.items()}
    path.write_bytes(safetensors.torch.save(there | more, header))
    found = load_tensors(path, "seed-0/arrays", *ask)
    assert found.keys() == critic.keys()
    assert torch.equal(found["a.b"], critic["a.b"])
    with pytest.raises(UserError, match=f"of '{OWNER}', not of 'another'"):
        load_tensors(path, "seed-0/arrays", "another", "the command")


def damage_cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def damage_empty(path: Path) -> None:
    path.write_bytes(b"")


def damage_pickle(path: Path) -> None:
    path.write_bytes(pickle.dumps({"net.0.weight": [1.0]}))


def damage_foreign(path: Path) -> None:
    path.write_bytes(safetensors.torch.save({"weight": torch.zeros(2)}))


def damage_number(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-2] ^= 1
    path.write_bytes(content)


def damage_bounds(path: Path) -> None:
    content = path.read_bytes()
    assert b"[-5.0, 2.0]" in content
    path.write_bytes(content.replace(b"[-5.0, 2.0]", b"[-9.0, 2.0]"))


@pytest.mark.parametrize(
    "damage",
    [
        damage_cut,
        damage_empty,
        damage_pickle,
        damage_foreign,
        damage_number,
        damage_bounds,
    ],
)
def test_a_damaged_file_is_refused_and_left_alone(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    path = tmp_path / "policy.safetensors"
    save_policies(path, {"seed-0/last": some_policy()}, OWNER)
    damage(path)
    content = path.read_bytes()
    with pytest.raises(UserError, match="damaged checkpoint.*the command"):
        load(path)
    assert path.read_bytes() == content


def test_no_single_bit_can_change_unnoticed(tmp_path: Path) -> None:
    path, policy = tmp_path / "policy.safetensors", some_policy()
    save_policies(path, {"seed-0/last": policy}, OWNER)
    content = path.read_bytes()
    for position in range(0, len(content), 7):
        flipped = bytearray(content)
        flipped[position] ^= 1 << position % 8
        path.write_bytes(flipped)
        try:
            loaded = load(path)
        except UserError:
            continue
        assert policy_sha256(loaded) == policy_sha256(policy)


def test_a_full_disk_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "policy.safetensors"
    save_policies(path, {"seed-0/last": some_policy()}, OWNER)
    content, write = path.read_bytes(), Path.write_bytes

    def full(file: Path, data: bytes) -> int:
        write(file, data[:100])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(UserError, match="policy.safetensors.*No space left"):
        save_policies(path, {"seed-0/last": some_policy(seed=1)}, OWNER)
    assert path.read_bytes() == content
    assert [file.name for file in tmp_path.iterdir()] == ["policy.safetensors"]
