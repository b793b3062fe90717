"""Chapter "GAIL": the notes' six questions, each answered by a small run on CartPole.

What of the large negative values of log D (`log-d`), and how large may a reward be
(`hundredfold`, `dqn-hundredfold`)? The discriminator's
reward alone, or with the task's (`plus-task`)? Only pairs of state and action
(`states-only`)? Must it interact with the world (`gail/offline`)? Does it train only
policy networks (`dqn`)? What is a cost function (what `alone` records at its end)?
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from scipy.stats import spearmanr

from rlnotes.algos import dqn, gail
from rlnotes.algos.policy import Policy
from rlnotes.autopsies import survival
from rlnotes.data import catalogue
from rlnotes.data.rollouts import BatchPolicy, Episode
from rlnotes.experiments import recipes
from rlnotes.experiments.base import (
    Bar,
    Experiment,
    Metrics,
    Trial,
    Variant,
    new_trial,
)
from rlnotes.experiments.gail import CARTPOLE, CARTPOLE_GAIL, GailSettings, new_agent
from rlnotes.seeding import reset_seeds

SLIPS = (0.0, 0.1, 0.2, 0.3, 0.5, 1.0)  # how often each player acts at random instead


@dataclass(frozen=True, kw_only=True)
class QuestionSettings(GailSettings):
    q_learner: dqn.Config | None = None  # in the place of the generator


def slipping(expert: BatchPolicy, often: float, seed: int) -> BatchPolicy:
    rng = np.random.default_rng([seed, round(100 * often)])

    def act(obs: np.ndarray) -> np.ndarray:
        slips = rng.uniform(size=len(obs)) < often
        return np.where(slips, rng.integers(2, size=len(obs)), expert(obs))

    return act


@torch.no_grad()
def cost(agent: gail.Agent, episode: Episode) -> float:
    """What the discriminator would charge for an episode: minus its discounted mean
    reward, the end included."""
    policy, gamma = agent.policy, agent.config.generator.gamma
    seen = torch.as_tensor(episode.observations, dtype=torch.float32)
    obs = policy.encode_obs(seen)
    rows = gail.features(agent, obs[:-1], torch.as_tensor(episode.actions))
    reward = agent.config.reward(agent.discriminator(rows))
    discounts = gamma ** torch.arange(len(reward) + 1.0)
    total = (1 - gamma) * (discounts[:-1] * reward).sum()
    if episode.terminated:
        end = gail.terminal_features(agent, obs[-1])
        total += discounts[-1] * agent.config.reward(agent.discriminator(end))
    return -float(total)


def prices(agent: gail.Agent, seed: int, episodes: int) -> Metrics:
    """The cost and the true return of players of every quality, and whether the one
    ranks them like the other."""
    expert = recipes.find(catalogue.CARTPOLE_EXPERT).player()
    starts = reset_seeds("evaluate", 0, episodes)
    named: Metrics = {}
    for often in SLIPS:
        played = CARTPOLE.play(slipping(expert, often, seed), starts)
        charged = [cost(agent, episode) for episode in played]
        named[f"cost_at_{often}"] = float(np.mean(charged))
        named[f"return_at_{often}"] = CARTPOLE.scores(played)["return"]
    costs, returns = (
        [named[f"{what}_at_{often}"] for often in SLIPS] for what in ("cost", "return")
    )
    ranks = -float(spearmanr(costs, returns).statistic)
    return named | {"cost_ranks_returns": ranks}


def start(settings: QuestionSettings, seed: int) -> Trial:
    shown = settings.shown(seed)
    if settings.q_learner is not None:
        return _start_dqn(settings, settings.q_learner, shown, seed)
    agent, envs = new_agent(CARTPOLE, settings, shown)
    training = gail.train(agent, envs, shown, settings.steps, seed)
    trial = new_trial(agent.policy, agent, training, CARTPOLE, settings)
    evaluated = trial.stream

    def stream() -> Iterator[tuple[int, Metrics]]:
        for step, metrics in evaluated:
            yield step, metrics
        yield step, prices(agent, seed, settings.budget.final_episodes)

    trial.stream = stream()
    return trial


def _start_dqn(
    settings: QuestionSettings, config: dqn.Config, shown: list[Episode], seed: int
) -> Trial:
    """A value network in a world where the discriminator pays."""
    policy = Policy.for_spaces(*CARTPOLE.spaces(), config.hidden, "argmax")
    learner = dqn.Agent(policy, config)
    judge = gail.Agent(policy, settings.agent)
    env = gail.DiscriminatorRewardEnv(CARTPOLE.make(), judge, shown)
    stream = dqn.train(learner, env, settings.steps, seed)
    return new_trial(policy, None, stream, CARTPOLE, settings)


HUNDREDFOLD = {"agent.reward": survival.hundredfold_airl_reward}
DQN = {
    "q_learner": dqn.Config(
        learning_rate=2e-3, anneal_lr=True, train_freq=2, target_update_interval=50
    ),
    "length": 0.375,
}

QUESTIONS = Experiment(
    id="gail/questions",
    world=lambda settings: CARTPOLE,
    settings=QuestionSettings(dataset=catalogue.CARTPOLE_EXPERT, demonstrations=10),
    budgets=CARTPOLE_GAIL.budgets,
    variants={
        "alone": Variant("as above"),
        "log-d": Variant("log D", {"agent.reward": gail.log_d_reward}),
        "log-d-sharp": Variant(
            "log D, no penalty",
            {"agent.reward": gail.log_d_reward, "agent.gradient_penalty": 0.0},
        ),
        "hundredfold": Variant("a hundred times the reward", HUNDREDFOLD),
        "plus-task": Variant(
            "plus the task's reward", {"agent.task_reward_weight": 1.0}
        ),
        "states-only": Variant("states only", {"agent.use_action": False}),
        "dqn": Variant("DQN instead of PPO", DQN),
        "dqn-hundredfold": Variant(
            "DQN, a hundred times the reward", DQN | HUNDREDFOLD
        ),
    },
    bars=(
        Bar("the discriminator's reward is enough", "alone", "iqm", ">=", 475.0),
        Bar(
            "a hundred times the reward changes nothing",
            "hundredfold",
            "iqm",
            ">=",
            475.0,
        ),
        Bar(
            "a value network can be trained as well, if the best evaluation chooses",
            "dqn",
            "iqm",
            ">=",
            475.0,
            "final_best_return",
        ),
        Bar(
            "the cost ranks players like their returns",
            "alone",
            "iqm",
            ">=",
            0.9,
            "cost_ranks_returns",
        ),
    ),
    start=start,
    seeds=5,
)
