"""Policies trained by Stable-Baselines3, in the book's own form.

SB3 saves its models as pickles inside a zip file; nothing in this book is unpickled.
SAC's actor is a plain network with a mean and a deviation per action, the same as our
"gaussian" head, so its weights can be copied.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import torch
from torch import nn

from rlnotes.algos.policy import Policy

if TYPE_CHECKING:
    from stable_baselines3 import SAC

LOG_STD_BOUNDS = (-20.0, 2.0)  # SB3's


def sac(env: gym.Env[Any, Any], seed: int, **options: Any) -> "SAC":
    """SB3's SAC on one CPU thread; `options` are SB3's own."""
    from stable_baselines3 import SAC  # slow to import, and nobody else needs it

    model = SAC("MlpPolicy", env, seed=seed, device="cpu", **options)
    torch.set_num_threads(1)
    return model


def train(
    model: "SAC", policy: Policy, steps: int, chunk: int
) -> Iterator[tuple[int, dict[str, float]]]:
    """SB3 learns `chunk` steps at a time; after each chunk `policy` is its present
    policy."""
    for step in range(0, steps, chunk):
        # `learn` counts from the model's own step on, and stops the collecting where it
        # is told.
        model.learn(min(chunk, steps - step), reset_num_timesteps=False)
        copy_actor(model, policy)
        yield min(step + chunk, steps), {}


def new_policy(model: "SAC") -> Policy:
    hidden = [layer.out_features for layer in _linear(model.actor.latent_pi)]
    policy = Policy.for_spaces(
        model.observation_space,
        model.action_space,
        hidden,
        head="gaussian",
        log_std_bounds=LOG_STD_BOUNDS,
    )
    copy_actor(model, policy)
    return policy


@torch.no_grad()
def copy_actor(model: "SAC", policy: Policy) -> None:
    """The mean's and the deviation's weights one above the other: that is the only
    difference."""
    *hidden, last = _linear(policy.net)
    for theirs, ours in zip(_linear(model.actor.latent_pi), hidden, strict=True):
        ours.load_state_dict(theirs.state_dict())
    (mean,), (deviation,) = _linear(model.actor.mu), _linear(model.actor.log_std)
    last.weight.copy_(torch.cat([mean.weight, deviation.weight]))
    last.bias.copy_(torch.cat([mean.bias, deviation.bias]))


def _linear(module: Any) -> list[nn.Linear]:
    return [part for part in module.modules() if isinstance(part, nn.Linear)]
