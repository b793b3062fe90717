"""Row `parallel/decorrelation`: do parallel environments decorrelate the data and
steady the gradient, as the notes say?

A rollout of 64 steps can be one environment's for 64 steps, or sixteen's for 4. The
number of samples is the same, and they are not equally independent: one environment's
are a short piece of one episode. How much that matters is asked of the gradients. At
each evaluation the policy and its critic are held still, every layout plays many
rollouts with them, and of each rollout the gradients of PPO's first step are kept, the
policy's and the value function's. `policy_variance` and `value_variance` are tr Cov of
these, how far the gradients of rollouts scatter. `policy_independence` and
`value_independence` are what that would be if the samples of a rollout were drawn
independently of each other, as a percentage of what it is.

Rollouts have 64 steps, less than an episode that goes well, or 512, more than one. A
layout changes two things that belong together: from how many episodes the samples come,
and how many steps there are behind each before V stands in for the rest.

What comes of it is the return at equal numbers of samples: variants train with the
layouts. With λ = 0 there is one step behind each sample whoever plays, and a layout
changes one thing only.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from rlnotes.algos import ppo
from rlnotes.data.rollouts import Episode
from rlnotes.envs.vector import make_vec_env
from rlnotes.experiments.base import (
    Bar,
    Budget,
    Diagnose,
    Experiment,
    Metrics,
    Settings,
    Trial,
    Variant,
    World,
    new_trial,
)

CARTPOLE = World("CartPole-v1")
SHORT, LONG = 64, 512  # samples of a rollout, whoever plays it
LAYOUTS = (1, 4, 16)  # environments
EPISODE = 500  # steps, of one that goes well
MEASURING_SEED = 1_000_000  # far from those of training runs


@dataclass(frozen=True, kw_only=True)
class LayoutSettings(Settings):
    agent: ppo.Config
    num_envs: int = 16
    measured_samples: int = 0  # of each layout, at each evaluation


def layout(samples: int, num_envs: int, **more: Any) -> dict[str, Any]:
    """Short rollouts are passed over once, whole, as in A2C; long ones ten times, in
    parts, as in PPO."""
    once = {"agent.update_epochs": 1, "agent.batch_size": SHORT}
    return {
        "num_envs": num_envs,
        "agent.num_steps": samples // num_envs,
        **(once if samples == SHORT else {}),
        **more,
    }


def start(settings: LayoutSettings, seed: int) -> Trial:
    envs = make_vec_env(CARTPOLE.env_id, settings.num_envs)
    policy = ppo.new_policy(*CARTPOLE.spaces(), settings.agent)
    agent = ppo.Agent(policy, settings.agent)
    stream = ppo.train(agent, envs, settings.steps, seed)
    diagnose = measured(agent, settings.measured_samples, seed)
    return new_trial(policy, agent, stream, CARTPOLE, settings, diagnose)


def measured(agent: ppo.Agent, samples: int, seed: int) -> Diagnose:
    def diagnose(episodes: Sequence[Episode]) -> Metrics:
        found: Metrics = {}
        if not samples:
            return found
        with torch.random.fork_rng():  # training goes on as if nobody had looked
            for num_envs, size in product(LAYOUTS, (SHORT, LONG)):
                rollouts = play(agent, num_envs, size, samples // size, seed)
                for net, gradients in rollouts.items():
                    variance, independent = variances(gradients)
                    percent = 100 * independent / variance
                    found[f"{net}_variance_{size}_{num_envs}"] = variance
                    found[f"{net}_independence_{size}_{num_envs}"] = percent
        return found

    return diagnose


def play(
    agent: ppo.Agent, num_envs: int, size: int, rollouts: int, seed: int
) -> dict[str, list[Tensor]]:
    """The gradients of each rollout, a row for each sample. What comes first, an
    episode's length of every environment, is played and left out."""
    envs = make_vec_env(CARTPOLE.env_id, num_envs)
    collector = ppo.Collector(agent.policy, envs, MEASURING_SEED + seed)
    collector.rollout(EPISODE)
    found: dict[str, list[Tensor]] = {"policy": [], "value": []}
    for _ in range(rollouts):
        rollout = collector.rollout(size // num_envs)
        for net, rows in sample_gradients(agent, rollout).items():
            found[net].append(rows)
    envs.close()
    return found


def variances(gradients: Sequence[Tensor]) -> tuple[float, float]:
    """tr Cov of the means of the rollouts, and what it would be if their rows were
    independent of each other; equation eq-independence divides this by that."""
    means = torch.stack([rows.mean(0) for rows in gradients])
    square = torch.stack([rows.square().sum(1).mean() for rows in gradients]).mean()
    of_one = square - means.mean(0).square().sum()
    return float(means.var(0).sum()), float(of_one) / len(gradients[0])


def sample_gradients(agent: ppo.Agent, rollout: ppo.Rollout) -> dict[str, Tensor]:
    """What PPO's first step is the mean of: −A ∇ log π(a | s), because the ratio is
    still 1, and ∇ (V(s) − target)². Advantages have mean 0 and deviation 1, as in
    training."""
    policy = agent.policy
    values, next_values = ppo.values_of(agent, rollout)
    next_values = next_values * (1 - rollout.terminated)
    advantage = ppo.advantages(rollout, values, next_values, agent.config)
    target = (advantage + values).flatten()
    advantage = ((advantage - advantage.mean()) / (advantage.std() + 1e-8)).flatten()
    obs = policy.encode_obs(rollout.obs.flatten(0, 1))
    action = rollout.action.flatten()

    def policy_loss(outputs: Tensor, action: Tensor, advantage: Tensor) -> Tensor:
        return -advantage * outputs.log_softmax(-1).gather(0, action[None]).squeeze(0)

    def value_loss(output: Tensor, target: Tensor) -> Tensor:
        return (output.squeeze(0) - target).square()

    return {
        "policy": _each_gradient(policy.net, policy_loss, obs, action, advantage),
        "value": _each_gradient(agent.value, value_loss, obs, target),
    }


def _each_gradient(
    net: nn.Module, loss: Callable[..., Tensor], obs: Tensor, *rest: Tensor
) -> Tensor:
    weights = {name: one.detach() for name, one in net.named_parameters()}

    def of_one(weights: dict[str, Tensor], obs: Tensor, *rest: Tensor) -> Tensor:
        return loss(functional_call(net, weights, (obs,)), *rest)

    alike = (None, *[0] * (1 + len(rest)))
    found = vmap(grad(of_one), alike)(weights, obs, *rest)
    return torch.cat([one.flatten(1) for one in found.values()], dim=1)


NEAR = {"agent.gae_lambda": 0.0}

DECORRELATION = Experiment(
    id="parallel/decorrelation",
    world=lambda settings: CARTPOLE,
    settings=LayoutSettings(
        agent=ppo.Config(learning_rate=1e-3, anneal_lr=True, reward_scale=0.01)
    ),
    budgets={
        "smoke": Budget(1_024, evaluations=1, curve_episodes=1, final_episodes=2),
        "ci": Budget(40_960, evaluations=4, curve_episodes=5, final_episodes=20),
        "full": Budget(81_920, evaluations=8, curve_episodes=20, final_episodes=100),
    },
    variants={
        "one": Variant("1 environment × 64 steps", layout(SHORT, 1)),
        "sixteen": Variant("16 × 4", layout(SHORT, 16)),
        "four": Variant("4 × 16", layout(SHORT, 4)),
        "sixteen-long": Variant("16 × 32", layout(LONG, 16)),
        "four-long": Variant("4 × 128", layout(LONG, 4), planned=True),
        "one-long": Variant("1 × 512", layout(LONG, 1), planned=True),
        # One step ahead, whoever plays: here only the episodes differ.
        "one-near": Variant("1 × 64, λ = 0", layout(SHORT, 1, **NEAR)),
        "sixteen-near": Variant("16 × 4, λ = 0", layout(SHORT, 16, **NEAR)),
        # `sixteen`, and at each evaluation all layouts with its networks.
        "held-still": Variant(
            "gradients of all layouts",
            layout(SHORT, 16, measured_samples=8_192),
            seeds=5,
        ),
    },
    bars=(
        Bar(
            "with short rollouts one environment learns as much from its samples as 16",
            "one",
            "iqm",
            ">=",
            "sixteen",
        ),
        Bar(
            "short rollouts of 16: to V, their samples count a fifth or more",
            "held-still",
            "iqm",
            ">=",
            20.0,
            "value_independence_64_16",
        ),
        Bar(
            "of one environment: a tenth or less",
            "held-still",
            "iqm",
            "<=",
            10.0,
            "value_independence_64_1",
        ),
        Bar(
            "to the policy, even one's count a half or more",
            "held-still",
            "iqm",
            ">=",
            50.0,
            "policy_independence_64_1",
        ),
    ),
    start=start,
)
