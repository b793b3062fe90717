"""Our policies in RLlib's env runners: its workers, and nothing else of it.

A runner asks an `RLModule` what to do. Ours holds a `Policy` and answers with actions,
in the environment's units; RLlib would draw them itself from the parameters of one of
its distributions, and rescale them.

What the runners bring back are episodes and pieces of such, and our PPO learns from
them (`train`).
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.core.rl_module.torch import TorchRLModule
from ray.rllib.env.env_runner_group import EnvRunnerGroup
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner
from ray.rllib.env.single_agent_episode import SingleAgentEpisode
from torch import Tensor

from rlnotes.algos import ppo
from rlnotes.algos.policy import Policy, from_arguments, require_head
from rlnotes.data.rollouts import NO_SEED, Episode
from rlnotes.data.transitions import Transitions

logging.getLogger("ray").setLevel(logging.ERROR)  # it warns of its own defaults


class PolicyModule(TorchRLModule):
    """A `Policy` as RLlib wants it; its weights come with `Runners.set_policy`."""

    def setup(self) -> None:
        assert isinstance(self.model_config, dict)
        self.policy = from_arguments(self.model_config["arguments"])
        # RLlib has seeded torch, for each runner otherwise.
        self.rng = np.random.default_rng(int(torch.randint(2**62, ())))

    def _forward_inference(
        self, batch: Mapping[str, Tensor], **_: Any
    ) -> dict[str, Tensor]:
        return _answer(self.policy.act(batch[Columns.OBS].numpy()))

    def _forward_exploration(
        self, batch: Mapping[str, Tensor], **_: Any
    ) -> dict[str, Tensor]:
        return _answer(self.policy.sample(batch[Columns.OBS].numpy(), self.rng))


def _answer(actions: np.ndarray) -> dict[str, Tensor]:
    return {Columns.ACTIONS: torch.as_tensor(actions)}


class Config(AlgorithmConfig):
    """Runners belong to an algorithm. This one has nothing else."""

    def get_default_rl_module_spec(self) -> RLModuleSpec:
        return RLModuleSpec(PolicyModule)


class Runners:
    """RLlib's env runners, all playing one policy in `num_envs` copies of a world each:
    in this process, or `num_runners` Ray actors beside it.

    `env_seeds` are what RLlib resets the copies with, once; then each goes on by its
    own chance. It counts actors from 1, and from there the copies of each: with more
    than one of both, some copies begin alike.
    """

    def __init__(
        self,
        env_id: str,
        policy: Policy,
        num_runners: int = 0,
        num_envs: int = 1,
        seed: int = 0,
        **env_options: Any,
    ) -> None:
        config = (
            Config()
            .environment(
                env_id,
                env_config=env_options,
                normalize_actions=False,
                clip_actions=False,
            )
            .env_runners(num_env_runners=num_runners, num_envs_per_env_runner=num_envs)
            .rl_module(model_config={"arguments": policy.arguments})
            .debugging(seed=seed)
        )
        indices = range(1, num_runners + 1) if num_runners else [0]
        self.env_seeds = [seed + i + copy for i in indices for copy in range(num_envs)]
        self._group: EnvRunnerGroup | None = None
        self._local: SingleAgentEnvRunner | None = None
        if num_runners:
            self._group = EnvRunnerGroup(config=config, local_env_runner=False)
        else:
            self._local = SingleAgentEnvRunner(config=config)
        self.set_policy(policy)

    def _each(self, function: Any) -> list[Any]:
        if self._local is not None:
            return [function(self._local)]
        assert self._group is not None
        return self._group.foreach_env_runner(function)

    def set_policy(self, policy: Policy) -> None:
        weights = policy.state_dict()
        self._each(lambda runner: runner.module.policy.load_state_dict(weights))

    def sample(self, num_steps: int, explore: bool = True) -> list[Episode]:
        """At least so many steps of each runner: episodes, and pieces of such as go on
        in the next sample. (A number of episodes may be asked for, too, but then RLlib
        resets with the same seed each time, and its first starts are its only ones.)"""
        found = self._each(
            lambda runner: runner.sample(num_timesteps=num_steps, explore=explore)
        )
        return [as_episode(one) for episodes in found for one in episodes]

    def close(self) -> None:
        self._each(lambda runner: runner.stop())
        if self._group is not None:
            self._group.stop()


def as_episode(found: SingleAgentEpisode) -> Episode:
    return Episode(
        NO_SEED,
        np.asarray(found.get_observations()),
        np.asarray(found.get_actions()),
        np.asarray(found.get_rewards(), np.float64),
        bool(found.is_terminated),
        bool(found.is_truncated),
    )


def as_rollout(policy: Policy, episodes: Sequence[Episode]) -> ppo.Rollout:
    """Episodes and pieces that `policy` has played, one after the other as if of one
    environment. A piece that goes on elsewhere is done, like one that ran out of time:
    V of its last state stands in for the rest."""
    require_head(policy, "PPO on RLlib's runners", "argmax")
    batch = Transitions.from_episodes(episodes).all()
    lengths = [len(episode.rewards) for episode in episodes]
    done = torch.zeros(sum(lengths))
    done[np.cumsum(lengths) - 1] = 1
    action = batch.action.squeeze(1).long()
    with torch.no_grad():
        dist = ppo.distribution(policy, policy.encode_obs(batch.obs))
    columns = ppo.Rollout(
        obs=batch.obs,
        action=action,
        log_prob=dist.log_prob(action),
        reward=batch.reward,
        next_obs=batch.next_obs,
        terminated=batch.terminated,
        done=done,
        time=torch.cat([torch.arange(length) for length in lengths]),  # of the piece
    )
    return ppo.Rollout(*(column.unsqueeze(1) for column in columns))


def train(
    agent: ppo.Agent,
    runners: Runners,
    steps: int,
    watch: Callable[[Sequence[Episode]], ppo.Diagnostics] = lambda episodes: {},
) -> Iterator[tuple[int, ppo.Diagnostics]]:
    """PPO until the runners have played `steps`, at least `num_steps` of each between
    updates. `watch` sees all that they bring back."""
    config = agent.config
    while agent.step < steps:
        ppo.renew_obs_scale(agent)
        runners.set_policy(agent.policy)
        episodes = runners.sample(config.num_steps)
        rollout = as_rollout(agent.policy, episodes)
        diagnostics = ppo.update(agent, rollout)
        if config.norm_obs:
            agent.obs_stats.update(rollout.obs.flatten(0, 1).double())
        agent.step += len(rollout.reward)
        ppo.anneal(agent, agent.step / steps)
        yield agent.step, diagnostics | watch(episodes)
