"""Policies trained by Stable-Baselines3, in the book's own form.

SB3 saves its models as pickles inside a zip file; nothing in this book is unpickled.
SAC's actor is a plain network with a mean and a deviation per action, the same as our
"gaussian" head, DQN's a plain network with a number per action, our "argmax" head, and
PPO's one with tanh inside and a mean per action that is cut off at the bounds, our head
"clip"; so their weights can be copied, those of its eye for pictures (Nature's), too.
(PPO's deviation belongs to no state and is left out: without noise nothing depends on
it.) Where SB3 normalises observations, ours are
scaled by the same numbers; it also cuts them off at ten deviations, we do not.

With many worlds, SB3 counts calls of the vector, not steps: on four, an `eval_freq` of
50,000 is every 200,000 steps, and one update for each four calls (`train_freq`) is one
for sixteen transitions. `total_timesteps`, `learning_starts` and the exploration are in
steps, and `target_update_interval` is divided by the number of worlds.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import torch
from torch import nn

from rlnotes.algos.networks import Eye
from rlnotes.algos.policy import Policy
from rlnotes.algos.ppo import Config
from rlnotes.algos.space_checks import PICTURE_DIMENSIONS

if TYPE_CHECKING:
    from stable_baselines3 import A2C, DQN, PPO, SAC
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv, VecNormalize

    Model = SAC | DQN | PPO | A2C

LOG_STD_BOUNDS = (-20.0, 2.0)  # SB3's


def sac(env: gym.Env[Any, Any], seed: int, **options: Any) -> "SAC":
    """SB3's SAC on one CPU thread; `options` are SB3's own."""
    from stable_baselines3 import SAC  # slow to import, and nobody else needs it

    model = SAC("MlpPolicy", env, seed=seed, device="cpu", **options)
    torch.set_num_threads(1)
    return model


def kind_of_policy(envs: "VecEnv") -> str:
    """With an eye for pictures."""
    shape = envs.observation_space.shape or ()
    return "CnnPolicy" if len(shape) == PICTURE_DIMENSIONS else "MlpPolicy"


def dqn(envs: "VecEnv", seed: int, **options: Any) -> "DQN":
    """SB3's DQN in the same way."""
    from stable_baselines3 import DQN

    model = DQN(kind_of_policy(envs), envs, seed=seed, device="cpu", **options)
    torch.set_num_threads(1)
    return model


def ppo(envs: "VecEnv", seed: int, steps: int, **options: Any) -> "PPO":
    """SB3's PPO in the same way. What it anneals is 0 after `steps`: its `learn` would
    anneal in each part of a training."""
    from stable_baselines3 import PPO

    class Annealed(PPO):
        def _update_current_progress_remaining(
            self, num_timesteps: int, total_timesteps: int
        ) -> None:
            super()._update_current_progress_remaining(num_timesteps, steps)

    model = Annealed(kind_of_policy(envs), envs, seed=seed, device="cpu", **options)
    torch.set_num_threads(1)
    return model


def a2c(envs: "VecEnv", seed: int, **options: Any) -> "A2C":
    """SB3's A2C in the same way."""
    from stable_baselines3 import A2C

    model = A2C(kind_of_policy(envs), envs, seed=seed, device="cpu", **options)
    torch.set_num_threads(1)
    return model


def ppo_options(config: Config) -> dict[str, Any]:
    """The settings of our PPO under SB3's names, as far as it has them: its deviation
    does not depend on the state, and it sees and is rewarded as the world says."""
    layers = list(config.hidden)
    return {
        "learning_rate": config.learning_rate,
        "n_steps": config.num_steps,
        "batch_size": config.batch_size,
        "n_epochs": config.update_epochs,
        "gamma": config.gamma,
        "gae_lambda": config.gae_lambda,
        "clip_range": config.clip_coef,
        "normalize_advantage": config.norm_adv,
        "ent_coef": config.ent_coef,
        "vf_coef": config.vf_coef,
        "max_grad_norm": config.max_grad_norm,
        "policy_kwargs": {
            "net_arch": {"pi": layers, "vf": layers},
            "activation_fn": nn.ReLU,
        },
    }


def vector(make: Callable[[], gym.Env[Any, Any]], num_envs: int) -> "DummyVecEnv":
    """Worlds that take turns in this process."""
    from stable_baselines3.common.vec_env import DummyVecEnv

    return DummyVecEnv([make] * num_envs)


def processes(make: Callable[[], gym.Env[Any, Any]], num_envs: int) -> "VecEnv":
    """Worlds in processes of their own, forked from this one."""
    from stable_baselines3.common.vec_env import SubprocVecEnv

    return SubprocVecEnv([make] * num_envs, start_method="fork")


def normalised(envs: "VecEnv", norm_reward: bool) -> "VecNormalize":
    """Worlds with observations, and rewards if asked for, by their running
    deviation."""
    from stable_baselines3.common.vec_env import VecNormalize

    return VecNormalize(envs, norm_reward=norm_reward)


def train(
    model: "Model", policy: Policy, steps: int, chunk: int
) -> Iterator[tuple[int, dict[str, float]]]:
    """SB3 learns about `chunk` steps at a time; after each chunk `policy` is its
    present policy."""
    whole = _part_of(steps)
    while model.num_timesteps < steps:
        # `learn` counts from the model's own step on, and stops the collecting where it
        # is told.
        part = min(chunk, steps - model.num_timesteps)
        model.learn(part, callback=whole, reset_num_timesteps=False)
        copy_weights(model, policy)
        yield model.num_timesteps, {}


def _part_of(steps: int) -> "BaseCallback":
    """Schedules, such as DQN's exploration, belong to the whole training: otherwise
    each part would have one of its own."""
    from stable_baselines3.common.callbacks import BaseCallback

    class PartOf(BaseCallback):
        def _on_training_start(self) -> None:
            self.model._total_timesteps = steps

        def _on_step(self) -> bool:
            return True

    return PartOf()


def counted(model: "DQN", steps: int) -> tuple[int, int, int]:
    """What SB3 has counted after `steps`: steps, calls of the vector, updates."""
    from stable_baselines3.common.callbacks import BaseCallback

    class Counter(BaseCallback):
        def _on_step(self) -> bool:
            return True

    counter = Counter()
    model.learn(steps, callback=counter)
    return model.num_timesteps, counter.n_calls, model._n_updates


def new_policy(model: "Model") -> Policy:
    on_policy = hasattr(model.policy, "mlp_extractor")
    layers = _hidden_layers(model)
    filters = [layer for layer in layers if isinstance(layer, nn.Conv2d)]
    widths = [layer.out_features for layer in layers if isinstance(layer, nn.Linear)]
    eye = _eye(filters, widths.pop(0)) if filters else None
    policy = Policy.for_spaces(
        model.observation_space,
        model.action_space,
        widths,
        head="clip" if on_policy else "gaussian",  # discrete actions have their own
        eye=eye,
        log_std_bounds=LOG_STD_BOUNDS,
        activation="tanh" if on_policy and not eye else "relu",
    )
    copy_weights(model, policy)
    return policy


def _eye(filters: Sequence[nn.Conv2d], units: int) -> Eye:
    shapes = ((one.out_channels, one.kernel_size[0], one.stride[0]) for one in filters)
    return Eye(tuple(shapes), units)


@torch.no_grad()
def copy_weights(model: "Model", policy: Policy) -> None:
    """SAC's mean and deviation come one above the other, and PPO's mean in units of the
    world: these are the only differences."""
    *hidden, last = _weighted(policy.net)
    for theirs, ours in zip(_hidden_layers(model), hidden, strict=True):
        ours.load_state_dict(theirs.state_dict())
    outputs: list[Any] = _outputs(model)
    last.weight.copy_(torch.cat([layer.weight for layer in outputs]))
    assert last.bias is not None
    last.bias.copy_(torch.cat([layer.bias for layer in outputs]))
    if policy.head == "clip":
        last.weight.div_(policy.action_scale[:, None])
        last.bias.copy_(policy.encode_action(last.bias))
    if (seen := model.get_vec_normalize_env()) is not None:
        stats: Any = seen.obs_rms
        policy.obs_mean.copy_(torch.as_tensor(stats.mean))
        policy.obs_std.copy_(torch.as_tensor(stats.var + seen.epsilon).sqrt())


Weighted = nn.Linear | nn.Conv2d


def _hidden_layers(model: Any) -> list[Weighted]:
    """All but the last, from the eye on where there is one."""
    if hasattr(model, "q_net"):
        return _weighted(model.q_net)[:-1]
    if hasattr(model, "actor"):
        return _weighted(model.actor.latent_pi)
    seen = _weighted(model.policy.features_extractor)
    return seen + _weighted(model.policy.mlp_extractor.policy_net)


def _outputs(model: Any) -> list[Weighted]:
    if hasattr(model, "q_net"):
        return _weighted(model.q_net)[-1:]
    if hasattr(model, "actor"):
        return _weighted(model.actor.mu) + _weighted(model.actor.log_std)
    return _weighted(model.policy.action_net)


def _weighted(module: Any) -> list[Weighted]:
    return [part for part in module.modules() if isinstance(part, Weighted)]
