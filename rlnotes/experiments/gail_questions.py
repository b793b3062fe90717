"""Chapter "GAIL": the notes' six questions, each answered by a small run on CartPole.

How large may the reward be (`hundredfold`, `dqn-hundredfold`)? The discriminator's reward alone, or with the task's
(`plus-task`)? Only pairs of state and action (`states-only`)? Must it interact with the world (`gail/offline`)? Does it
train only policy networks (`dqn`)? What is a cost function (what `alone` records at its end)?
"""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from scipy.stats import spearmanr

from rlnotes.algos import dqn, gail
from rlnotes.data.rollouts import BatchPolicy, Episode
from rlnotes.experiments import recipes
from rlnotes.experiments.base import Bar, Experiment, Metrics, Settings, Trial, evaluated
from rlnotes.experiments.gail import (
    CARTPOLE,
    CARTPOLE_EXPERT,
    CARTPOLE_GAIL,
    demonstrations,
    new_agent,
    new_dqn,
    new_policy,
)
from rlnotes.seeding import reset_seeds

SLIPS = (0.0, 0.1, 0.2, 0.3, 0.5, 1.0)  # how often each player takes a random action instead


def slipping(expert: BatchPolicy, often: float, seed: int) -> BatchPolicy:
    rng = np.random.default_rng([seed, round(100 * often)])

    def act(obs: np.ndarray) -> np.ndarray:
        slips = rng.uniform(size=len(obs)) < often
        return np.where(slips, rng.integers(2, size=len(obs)), expert(obs))

    return act


@torch.no_grad()
def cost(agent: gail.Agent, episode: Episode) -> float:
    """What the discriminator would charge for an episode: minus its discounted mean reward, the end included."""
    policy, discount = agent.policy, agent.config.learner.discount
    obs = policy.encode_obs(torch.as_tensor(episode.observations, dtype=torch.float32))
    rows = gail.features(agent, obs[:-1], torch.as_tensor(episode.actions))
    pay = agent.config.reward(agent.discriminator(rows))
    fading = discount ** torch.arange(len(pay) + 1.0)
    total = (1 - discount) * (fading[:-1] * pay).sum()
    if episode.terminated:
        total += fading[-1] * agent.config.reward(agent.discriminator(gail.ended_features(agent, obs[-1])))
    return -float(total)


def prices(agent: gail.Agent, seed: int, episodes: int) -> Metrics:
    """The cost and the true return of players of every quality, and whether the one ranks them like the other."""
    expert = recipes.find(CARTPOLE_EXPERT).player()
    played = [CARTPOLE.play(slipping(expert, often, seed), reset_seeds("evaluate", 0, episodes)) for often in SLIPS]
    costs = [float(np.mean([cost(agent, episode) for episode in group])) for group in played]
    returns = [CARTPOLE.scores(group)["return"] for group in played]
    named = {f"cost_at_{often}": value for often, value in zip(SLIPS, costs, strict=True)}
    named |= {f"return_at_{often}": value for often, value in zip(SLIPS, returns, strict=True)}
    return named | {"cost_ranks_returns": -float(spearmanr(costs, returns).statistic)}


def start(settings: Settings, seed: int) -> Trial:
    torch.manual_seed(seed)
    shown: Sequence[Episode] = demonstrations(settings, seed)
    if settings["generator"] == "dqn-paid":
        return _start_dqn(settings, shown, seed)
    policy, envs = new_policy(CARTPOLE, settings, shown)
    agent, steps = new_agent(policy, settings), settings["steps"]
    training = evaluated(policy.act, gail.train(agent, envs, shown, steps, seed), steps, CARTPOLE, settings)

    def stream() -> Iterator[tuple[int, Metrics]]:
        for step, metrics in training:
            yield step, metrics
        yield step, prices(agent, seed, settings["final_episodes"])

    return Trial(policy, steps, stream())


def _start_dqn(settings: Settings, shown: Sequence[Episode], seed: int) -> Trial:
    """A value network in a world where the discriminator pays."""
    env = CARTPOLE.make()
    policy, learner = new_dqn(env, settings)
    steps = settings["expert_steps"]
    stream = dqn.train(learner, gail.Paid(env, new_agent(policy, settings), shown), steps, seed)
    return Trial(policy, steps, evaluated(policy.act, stream, steps, CARTPOLE, settings))


DQN: Settings = {"generator": "dqn-paid", "enough": 475.0}

QUESTIONS = Experiment(
    id="gail/questions",
    world=lambda settings: CARTPOLE,
    settings=CARTPOLE_GAIL.settings,
    budgets=CARTPOLE_GAIL.budgets,
    variants={
        "alone": {},
        "hundredfold": {"reward": "hundredfold"},
        "plus-task": {"task_weight": 1.0},
        "states-only": {"sees_actions": False},
        "dqn": DQN,
        "dqn-hundredfold": DQN | {"reward": "hundredfold"},
    },
    bars=(
        Bar("the discriminator's reward is enough", "alone", "iqm", ">=", 475.0),
        Bar("a hundred times the reward changes nothing", "hundredfold", "iqm", ">=", 475.0),
        Bar("a value network can be trained as well", "dqn", "iqm", ">=", 475.0),
        Bar("the cost ranks players like their returns", "alone", "iqm", ">=", 0.9, "cost_ranks_returns"),
    ),
    start=start,
    seeds=3,
    seeds_of={"states-only": 5},
)
