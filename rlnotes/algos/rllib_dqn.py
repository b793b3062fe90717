"""RLlib's own DQN, with its policy in the book's form after each of its iterations.

Its Q-network is an encoder and a head, together a plain network with a number per
action: our "argmax" head. A dueling one has two heads, and where they have no layers
of their own,

    Q(s, a) = V(s) + A(s, a) − mean_a A(s, a)                             `copy_weights`

is linear in what the encoder puts out, so that it is one layer, too. The activation is
ReLU, which our policies have; RLlib's default is tanh.

What takes time is RLlib's bookkeeping, and not the network: a batch is as many episodes
of one step, each cut out of its own and put through the connectors one by one, and
after each update the weights are put into Ray's store. So updates are what counts. Once
the replay is full, each new step has its whole index made anew: give it room for all.
"""

import logging
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from ray.rllib.algorithms import dqn
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
from ray.rllib.utils.metrics import NUM_ENV_STEPS_SAMPLED_LIFETIME
from torch import nn

from rlnotes.algos.policy import Policy

logging.getLogger("ray").setLevel(logging.ERROR)  # it warns of its own defaults


class DQN(dqn.DQN):
    """Without a folder for logs in the home of whoever runs it."""

    _logdir: Any

    def _setup_logdir(self) -> None:
        self._logdir = tempfile.gettempdir()  # nothing is written there


def config(
    env_id: str,
    hidden: Sequence[int],
    seed: int,
    num_env_runners: int = 0,
    num_envs: int = 1,
    rollout_fragment_length: int = 1,
    iteration: int = 1_000,
    **options: Any,
) -> dqn.DQNConfig:
    """`options` are RLlib's own, of `training`; `iteration` is how many steps, at
    least, it makes at a time. No runners: this process plays."""
    return (
        dqn.DQNConfig(DQN)
        .environment(env_id)
        .env_runners(
            num_env_runners=num_env_runners,
            num_envs_per_env_runner=num_envs,
            rollout_fragment_length=rollout_fragment_length,
        )
        .training(**options)
        .rl_module(
            model_config=DefaultModelConfig(
                fcnet_hiddens=list(hidden), fcnet_activation="relu"
            )
        )
        .reporting(min_sample_timesteps_per_iteration=iteration)
        .debugging(seed=seed, log_level="ERROR")
    )


def train(
    config: dqn.DQNConfig, policy: Policy, steps: int
) -> Iterator[tuple[int, dict[str, float]]]:
    """Ray must run. RLlib learns an iteration at a time, until there have been `steps`;
    after each, `policy` is its present policy."""
    algo: Any = config.build_algo()
    try:
        # RLlib seeds everything but its replay.
        algo.local_replay_buffer.rng = np.random.default_rng(config.seed)
        step = 0
        while step < steps:
            step = int(algo.train()[NUM_ENV_STEPS_SAMPLED_LIFETIME])
            copy_weights(algo.get_module(), policy)
            yield step, {}
    finally:
        algo.stop()


@torch.no_grad()
def copy_weights(module: Any, policy: Policy) -> None:
    *hidden, last = _linear(policy.net)
    for theirs, ours in zip(_linear(module.encoder), hidden, strict=True):
        ours.load_state_dict(theirs.state_dict())
    (advantage,) = _linear(module.af)
    last.load_state_dict(advantage.state_dict())
    if module.uses_dueling:
        (value,) = _linear(module.vf)
        last.weight.add_(value.weight - advantage.weight.mean(0))
        last.bias.add_(value.bias - advantage.bias.mean())


def _linear(module: nn.Module) -> list[nn.Linear]:
    return [part for part in module.modules() if isinstance(part, nn.Linear)]
