"""What SAC's critic says, and what its policy earns, on the pendulum.

SAC's Q is soft: after the first action it counts the policy's entropy as if it were
paid, and it is that of a policy that goes on with its noise. Whoever takes it for Q* of
the policy that is played, without noise and without a bonus, is told something else.
How much else is measured at the end of a training, with actions that are tried at the
same moments and gone on from in both ways (`critic_checks`):

    soft_…      the critic beside the soft returns that it is meant to say
    greedy_…    the same critic beside what greedy play earns
    fitted_…    fitted Q of greedy play, from SAC's own replay, beside that
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import torch

from rlnotes.algos import fitted_q, sac
from rlnotes.algos.experts import critic_expert
from rlnotes.algos.policy import Policy
from rlnotes.algos.ppo import squashed_entropy
from rlnotes.data.rollouts import Episode
from rlnotes.experiments import experts
from rlnotes.experiments.base import Bar, Experiment, Metrics, Trial, Variant, World
from rlnotes.experiments.critic_checks import Check, compared, prefixed, tried
from rlnotes.experiments.recipes import COLLECTING_SEED
from rlnotes.experiments.trials import OnlineSettings, online_trial
from rlnotes.seeding import reset_seeds

PENDULUM = World(experts.PENDULUM_ENV)
# Longer than any branch, because a critic values an endless task.
ENDLESS = World(experts.PENDULUM_ENV, {"max_episode_steps": 10_000})


@dataclass(frozen=True, kw_only=True)
class SoftSettings(OnlineSettings):
    fitted: fitted_q.Config = field(default_factory=fitted_q.Config)
    check: Check = field(default_factory=lambda: Check(before=150))


def start(settings: SoftSettings, seed: int) -> Trial:
    trial = online_trial(PENDULUM, settings, seed)
    evaluated = trial.stream

    def stream() -> Iterator[tuple[int, Metrics]]:
        for step, metrics in evaluated:
            yield step, metrics
        yield step, measured(trial.agent, settings)

    trial.stream = stream()
    return trial


def measured(agent: sac.Agent, settings: SoftSettings) -> Metrics:
    """The critic, beside what it is meant to say and what it is taken for."""
    policy, gamma = agent.policy, agent.config.gamma
    rng = np.random.default_rng(COLLECTING_SEED)
    samples = partial(policy.sample, rng=rng)
    starts = reset_seeds("evaluate", 0, settings.budget.final_episodes)
    episodes = PENDULUM.play(samples, starts)  # so that moments are not all upright
    asked = ENDLESS, policy.act, episodes, len(starts), settings.check, 0
    greedily, freely = tried(*asked), tried(*asked, goes_on=samples)
    temperature = float(agent.temperature)
    bonus = partial(entropy_bonus, policy, gamma)
    plain = partial(Episode.discounted_return, gamma=gamma)
    earned, sampled = greedily.returns(plain), freely.returns(plain)
    soft = sampled + temperature * freely.returns(bonus)
    said = greedily.said_by(critic_expert(policy, agent.critic).q)
    fitted = greedily.said_by(partial(fitted_q.q_value, fitted_to(agent, settings)))
    of_critic, of_fitted = compared(said, earned), compared(fitted, earned)
    return {
        **prefixed("soft", compared(said, soft)),
        **prefixed("greedy", of_critic),
        **prefixed("fitted", of_fitted),
        "temperature": temperature,
        "entropy_bonus": float((soft - sampled).mean()),
        "cost_of_noise": float((earned - sampled).mean()),
        "closer_by": of_critic["q_error"] - of_fitted["q_error"],
    }


@torch.no_grad()
def entropy_bonus(policy: Policy, gamma: float, episode: Episode) -> float:
    """The discounted entropy after the first action, of which SAC pays a share."""
    obs = policy.encode_array(episode.observations[1:-1])
    entropy = squashed_entropy(*policy.mean_and_log_std(policy.net(obs))).numpy()
    return float(entropy @ gamma ** np.arange(1, len(entropy) + 1))


def fitted_to(agent: sac.Agent, settings: SoftSettings) -> fitted_q.Agent:
    """Q of greedy play, from all that SAC has played and by as many updates."""
    policy = agent.policy
    evaluated = fitted_q.Agent(policy, policy.act, settings.fitted)
    data = agent.memory.encoded(lambda obs: obs, policy.decode_action)
    for _ in fitted_q.train(evaluated, data, settings.steps):
        pass
    return evaluated


SOFT_Q = Experiment(
    id="aggrevated/soft-q",
    world=lambda settings: PENDULUM,
    settings=SoftSettings(agent=sac.Config(learning_rate=1e-3, hidden=(64, 64))),
    budgets=experts.PENDULUM.budgets,
    variants={
        "sac": Variant("SAC"),
        "half-trained": Variant("SAC, half trained", {"length": 0.17}),
    },
    bars=(
        Bar(
            "Q of greedy play, fitted, is closer to what it earns than SAC's soft Q",
            "sac",
            "worst",
            ">=",
            0.0,
            "closer_by",
        ),
    ),
    start=start,
    seeds=5,
)
