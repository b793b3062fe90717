"""RLlib's env runners play our policies, and what they bring back happened."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from rlnotes.algos import ppo
from rlnotes.algos.policy import Policy
from rlnotes.data.rollouts import NO_SEED, Episode
from rlnotes.data.transitions import Transitions
from rlnotes.errors import UserError

pytestmark = pytest.mark.slow(seconds=10)  # to import RLlib

WORLDS = {
    "CartPole-v1": 12,
    "Pendulum-v1": 9,
}  # cut short: some episodes run out of time
SEED = 5


def new_policy(env_id: str, seed: int = 0) -> Policy:
    torch.manual_seed(seed)
    env = gym.make(env_id)
    return Policy.for_spaces(env.observation_space, env.action_space, (16,), "gaussian")


def sampled(
    env_id: str, policy: Policy, *lengths: int, explore: bool = True, seed: int = SEED
) -> list[Episode]:
    from rlnotes.algos.rllib import Runners

    limit = WORLDS[env_id]
    runners = Runners(env_id, policy, 0, 3, seed, max_episode_steps=limit)
    try:
        return [e for length in lengths for e in runners.sample(length, explore)]
    finally:
        runners.close()


def ended(piece: Episode) -> bool:
    return piece.terminated or piece.truncated


def replayed(env_id: str, seed: int, pieces: list[Episode]) -> Iterator[Episode]:
    """The same actions in one world and a plain loop: each piece as it happens there,
    for as long as one begins where the last one ended."""
    env: gym.Env[Any, Any] = gym.make(env_id, max_episode_steps=WORLDS[env_id])
    obs, _ = env.reset(seed=seed)
    while found := [p for p in pieces if np.array_equal(p.observations[0], obs)]:
        (piece,) = found
        observations, rewards, ends = [obs], [], [False, False]
        for action in piece.actions:
            assert not any(ends)
            obs, reward, *ends, _ = env.step(action)
            observations.append(obs)
            rewards.append(float(reward))
        happened = np.stack(observations), piece.actions, np.array(rewards)
        yield Episode(piece.seed, *happened, bool(ends[0]), bool(ends[1]))
        if any(ends):
            obs, _ = env.reset()


@pytest.mark.parametrize("env_id", WORLDS)
def test_the_transitions_are_those_of_a_plain_loop(env_id: str) -> None:
    pieces = sampled(env_id, new_policy(env_id), 50, 1, 70)
    plain = [e for i in range(3) for e in replayed(env_id, SEED + i, pieces)]
    assert len(plain) == len(pieces)
    by_start = {piece.observations[0].tobytes(): piece for piece in pieces}
    for expected in plain:
        piece = by_start[expected.observations[0].tobytes()]
        assert (piece.terminated, piece.truncated) == (
            expected.terminated,
            expected.truncated,
        )
        ours = Transitions.from_episodes([piece]).all()
        theirs = Transitions.from_episodes([expected]).all()
        assert all(map(torch.equal, ours, theirs))
    assert any(piece.truncated for piece in pieces)
    assert any(piece.terminated for piece in pieces) == (env_id == "CartPole-v1")
    assert not all(map(ended, pieces))  # some go on in the next sample


@pytest.mark.parametrize("env_id", WORLDS)
def test_the_policy_is_ours(env_id: str) -> None:
    policy = new_policy(env_id, seed=1)
    greedy = sampled(env_id, policy, 40, explore=False)
    for piece in greedy:
        expected = policy.act(piece.observations[:-1])
        assert np.allclose(piece.actions, expected, atol=1e-6)


def test_it_explores_by_its_own_chances() -> None:
    """A network without inputs, and outputs that say 1 : 3."""
    policy = new_policy("CartPole-v1")
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.zero_()
        *_, bias = policy.parameters()
        bias.copy_(torch.tensor([1.0, 3.0]).log())
    actions = []
    for seed in (0, 1):
        pieces = sampled("CartPole-v1", policy, 3_000, seed=seed)
        actions.append(np.concatenate([piece.actions for piece in pieces]))
    for drawn in actions:
        assert drawn.mean() == pytest.approx(0.75, abs=0.04)  # five deviations
    assert not np.array_equal(actions[0][:100], actions[1][:100])


def test_a_new_policy_is_played_at_once() -> None:
    from rlnotes.algos.rllib import Runners

    policies = [new_policy("CartPole-v1", seed) for seed in (0, 1)]
    runners = Runners("CartPole-v1", policies[0], seed=SEED)
    for policy in [*policies, *policies]:
        runners.set_policy(policy)
        for piece in runners.sample(20, explore=False):
            assert np.array_equal(piece.actions, policy.act(piece.observations[:-1]))
    runners.close()


# --- PPO on what they bring back


def test_pieces_become_a_rollout_of_one_environment() -> None:
    """Three steps that go on elsewhere, two that end the task, one out of time."""
    from rlnotes.algos.rllib import as_rollout

    policy = new_policy("CartPole-v1")
    ends = {3: (False, False), 2: (True, False), 1: (False, True)}
    rng = np.random.default_rng(0)
    pieces = [
        Episode(
            NO_SEED,
            rng.normal(size=(length + 1, 4)).astype(np.float32),
            rng.integers(2, size=length),
            rng.normal(size=length),
            *end,
        )
        for length, end in ends.items()
    ]
    rollout = as_rollout(policy, pieces)
    assert rollout.obs.shape == rollout.next_obs.shape == (6, 1, 4)
    assert rollout.action.shape == (6, 1)
    assert rollout.done.flatten().tolist() == [0, 0, 1, 0, 1, 1]
    assert rollout.terminated.flatten().tolist() == [0, 0, 0, 0, 1, 0]
    assert rollout.time.flatten().tolist() == [0, 1, 2, 0, 1, 0]
    for piece, row in zip(pieces, (2, 4, 5), strict=True):  # not the next one's first
        assert np.array_equal(rollout.next_obs[row, 0], piece.observations[-1])
    chances = torch.softmax(policy.net(rollout.obs[:, 0]), -1)
    expected = chances.gather(1, rollout.action).log()
    assert torch.allclose(rollout.log_prob, expected, atol=1e-6)


def test_continuous_actions_are_refused() -> None:
    """They come back squashed, and PPO needs what was drawn."""
    from rlnotes.algos.rllib import as_rollout

    with pytest.raises(UserError, match="RLlib's runners cannot train.*gaussian"):
        as_rollout(new_policy("Pendulum-v1"), [])


def test_ppo_learns_from_them_and_sends_them_what_it_has_learnt() -> None:
    from rlnotes.algos.rllib import Runners, train

    env = gym.make("CartPole-v1")
    torch.manual_seed(0)
    config = ppo.Config(num_steps=1_024, learning_rate=1e-3)
    policy = ppo.new_policy(env.observation_space, env.action_space, config)
    agent = ppo.Agent(policy, config)
    runners = Runners("CartPole-v1", policy, num_envs=4, seed=SEED)
    lengths: list[float] = []

    def watch(episodes: Sequence[Episode]) -> dict[str, torch.Tensor]:
        steps = sum(len(episode.rewards) for episode in episodes)
        lengths.append(steps / max(1, sum(map(ended, episodes))))
        return {"watched": torch.tensor(len(lengths))}

    stream = list(train(agent, runners, 10_000, watch))
    runners.close()
    assert agent.step == stream[-1][0] >= 10_000
    assert [int(found["watched"]) for _, found in stream] == [*range(1, 11)]
    # The runners play the policy that is about to be updated.
    assert all(float(found["first_ratio_deviation"]) < 1e-5 for _, found in stream)
    assert lengths[-1] > 2 * lengths[0]


ON_RAY = """
import numpy as np, ray, torch
from rlnotes import ray_local
from rlnotes.algos.policy import Policy
from rlnotes.algos.rllib import Runners
import gymnasium as gym

env = gym.make("CartPole-v1")
policy = Policy.for_spaces(env.observation_space, env.action_space, (16,))
ray_local.start(2)
runners = Runners("CartPole-v1", policy, 2, 1, seed=5)
pieces = runners.sample(30, explore=False)
assert sum(len(piece.rewards) for piece in pieces) == 60
for piece in pieces:
    assert np.array_equal(piece.actions, policy.act(piece.observations[:-1]))
starts = {piece.observations[0].tobytes() for piece in pieces}
for seed in (6, 7):  # RLlib counts its remote runners from 1
    assert env.reset(seed=seed)[0].tobytes() in starts
runners.close()
ray.shutdown()
"""


@pytest.mark.xdist_group("ray")
@pytest.mark.slow(seconds=60)
def test_runners_are_actors_on_ray() -> None:
    subprocess.run([sys.executable, "-c", ON_RAY], check=True)
