"""Chapter "AggreVaTeD": the paper's own cases, CartPole and Acrobot, taught by the DQNs
that play the book's demonstrations.

The expert says what any action is worth if it goes on after it, and the learner may ask
it at every state that it comes to. Variants exchange one thing each: how the gradient
is taken, how a step is made, from which states, and who is asked what. DAgger and a
plain policy gradient are among them, as limits; and two of the notes' faults.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch

from rlnotes.algos import aggrevated, fitted_q
from rlnotes.algos.experts import (
    Expert,
    ValueExpert,
    agreement_expert,
    q_network_expert,
)
from rlnotes.algos.policy import Policy
from rlnotes.autopsies import executed_actions
from rlnotes.data.rollouts import BatchPolicy, Episode
from rlnotes.data.transitions import Transitions
from rlnotes.envs.vector import make_vec_env
from rlnotes.experiments import experts
from rlnotes.experiments.base import (
    Bar,
    Budget,
    Experiment,
    Metrics,
    Settings,
    Trial,
    Variant,
    World,
    fresh_seeds,
    new_trial,
)
from rlnotes.experiments.recipes import COLLECTING_SEED, recorded
from rlnotes.experiments.settings import Override
from rlnotes.experiments.trials import observations, standardised
from rlnotes.paths import Run
from rlnotes.seeding import reset_seeds


@dataclass(frozen=True)
class Lesson(World):
    """A world in which the expert's return is known."""

    expert_return: float = 0.0

    def scores(self, episodes: Sequence[Episode]) -> Metrics:
        scores = super().scores(episodes)
        return scores | {"ahead_of_expert": scores["return"] - self.expert_return}


# --- who is asked

Teacher = Callable[[str, Run], Expert | ValueExpert]  # of a world, for a run

SPEEDS = {experts.CARTPOLE_ENV: [1, 3], experts.ACROBOT_ENV: [4, 5]}  # what is observed
SIGHT = 0.2  # of a half-blind expert: what it sees of every speed
FITTED_EPISODES = 400
FITTED_UPDATES = 6_000
FITTED = fitted_q.Config(tau=0.03)


def dqn_expert(env_id: str, run: Run) -> Expert:
    """The DQN and its own Q, which is that of the best play it can think of."""
    return q_network_expert(recorded(run))


def fitted_expert(env_id: str, run: Run) -> Expert:
    """The DQN and a Q of it that is learnt from how its actions turned out."""
    return evaluated(env_id, run, recorded(run).act)


def half_blind_expert(env_id: str, run: Run) -> Expert:
    """A poor player, always in the same way, and what its actions are worth if it goes
    on so. Who copies it becomes as poor."""
    return evaluated(env_id, run, half_blind(env_id, run))


def agreeing_expert(env_id: str, run: Run) -> Expert:
    """DAgger's: it says what it would do, and nothing of what that is worth."""
    return agreement_expert(recorded(run).act)


def nobody(env_id: str, run: Run) -> ValueExpert:
    """For a learner who asks for nothing. It is not told what a state is worth."""
    return ValueExpert(recorded(run).act, lambda obs: torch.zeros(len(obs)))


def half_blind(env_id: str, run: Run) -> BatchPolicy:
    def act(obs: np.ndarray) -> np.ndarray:
        seen = obs.copy()
        seen[:, SPEEDS[env_id]] *= SIGHT
        return recorded(run).act(seen)

    return act


def slipping(run: Run) -> BatchPolicy:
    """The recorded policy, with every other action a random one."""
    policy, rng = recorded(run), np.random.default_rng(COLLECTING_SEED)

    def act(obs: np.ndarray) -> np.ndarray:
        slips = rng.uniform(size=len(obs)) < 0.5
        random = rng.integers(policy.num_actions, size=len(obs))
        return np.where(slips, random, policy.act(obs))

    return act


def evaluated(env_id: str, run: Run, player: BatchPolicy) -> Expert:
    """Fitted to the same episodes for every seed, in which half of the actions are
    random, so that there is something to be known about all of them."""
    world = World(env_id)
    starts = reset_seeds("train", COLLECTING_SEED, FITTED_EPISODES)
    with torch.random.fork_rng():  # the learner begins as with any other expert
        torch.manual_seed(COLLECTING_SEED)
        seen = world.play(slipping(run), starts)
        scale = standardised(observations(seen))
        units = Policy.for_spaces(*world.spaces(), (), "tanh", *scale)
        agent = fitted_q.Agent(units, player, FITTED)
        data = Transitions.from_episodes(seen)
        for _ in fitted_q.train(agent, data, FITTED_UPDATES):
            pass
    return fitted_q.fitted_expert(agent)


# --- the lesson


@dataclass(frozen=True, kw_only=True)
class LessonSettings(Settings):
    agent: aggrevated.Config
    expert: Teacher = dqn_expert
    num_envs: int = 8


def start(world: World, run: Run, settings: LessonSettings, seed: int) -> Trial:
    expert = settings.expert(world.env_id, run)
    starts = reset_seeds("select", 0, settings.budget.final_episodes)
    shown = world.scores(world.play(expert.act, starts))["return"]
    envs = make_vec_env(world.env_id, settings.num_envs)
    policy = aggrevated.new_policy(*world.spaces(), settings.agent)
    agent = aggrevated.Agent(policy, settings.agent)
    stream = aggrevated.train(agent, expert, envs, settings.steps, seed)
    lesson = Lesson(world.env_id, expert_return=shown)
    return new_trial(policy, agent, stream, lesson, settings)


# Roll-ins of 512 steps, and twice over each in four parts.
AGENT = aggrevated.Config(
    optimiser="natural",
    num_steps=64,
    update_epochs=2,
    batch_size=128,
    learning_rate=5e-3,
    anneal_lr=True,
)

EXACT: Override = {"agent.gradient": "exact"}
ADAM: Override = {"agent.optimiser": "adam"}
# More and more batches, none of which may need a step as long as the first ones'.
AGGREGATED: Override = {**ADAM, "agent.aggregate": True}
DAGGER: Override = {"expert": agreeing_expert, **EXACT, **AGGREGATED}
ONE_STEP: Override = {"agent.gradient": "one_step"}
POLICY_GRADIENT: Override = {
    "expert": nobody,
    **ONE_STEP,
    "agent.gae_lambda": 1.0,
    "agent.initial_beta": 0.0,
    "agent.weight_scale": aggrevated.standardised,
}
EXECUTED: Override = {
    f"agent.{name}": value for name, value in executed_actions.FAULT.items()
}
MIN_MAX: Override = {
    "agent.baseline": "none",
    "agent.weight_scale": aggrevated.min_max,
}
HALF_BLIND: Override = {"expert": half_blind_expert}
NOTES: Override = {**EXECUTED, **MIN_MAX}

VARIANTS = {
    "aggrevated": Variant("AggreVaTeD, natural gradient"),
    "exact": Variant("summed over all actions", EXACT),
    "adam": Variant("Adam", ADAM),
    "aggregated": Variant("Adam, from all states so far", AGGREGATED),
    "one-step": Variant("V* alone, and a step of the world", ONE_STEP),
    "dagger": Variant("DAgger", DAGGER),
    "policy-gradient": Variant("policy gradient, no expert", POLICY_GRADIENT),
    "fitted-q": Variant("Q* learnt by watching", {"expert": fitted_expert}),
    "half-blind-expert": Variant("a half-blind expert", HALF_BLIND),
    "half-blind-notes": Variant(
        "as in the notes, a half-blind expert", {**NOTES, **HALF_BLIND}
    ),
    "executed-actions": Variant("executed actions as the learner's", EXECUTED),
    "min-max": Variant("Q* between 0 and 1", MIN_MAX),
    "notes": Variant("both, as in the notes", NOTES),
    **fresh_seeds(10),
}


def lesson(
    name: str, env_id: str, run: Run, steps: int, reaches: Bar, **agent: Any
) -> Experiment[LessonSettings]:
    world = World(env_id)
    return Experiment(
        id=f"aggrevated/{name}",
        world=lambda settings: world,
        settings=LessonSettings(agent=replace(AGENT, **agent)),
        budgets={
            "smoke": Budget(1_024, evaluations=2, curve_episodes=1, final_episodes=2),
            "ci": Budget(steps, evaluations=10, curve_episodes=5, final_episodes=20),
            "full": Budget(
                steps, evaluations=20, curve_episodes=10, final_episodes=100
            ),
        },
        variants=VARIANTS,
        bars=(
            reaches,
            Bar(
                "a policy gradient without an expert is not there after as many steps",
                "aggrevated",
                "iqm",
                ">=",
                "policy-gradient",
            ),
            Bar(
                "it becomes better than an expert that is half blind",
                "half-blind-expert",
                "iqm",
                ">=",
                0.0,
                "final_ahead_of_expert",
            ),
        ),
        start=partial(start, world, run),
    )


CARTPOLE = lesson(
    "cartpole",
    experts.CARTPOLE_ENV,
    experts.CARTPOLE_EXPERT,
    steps=8_192,
    reaches=Bar("it keeps the pole up", "aggrevated", "iqm", ">=", 475.0),
)

ACROBOT = lesson(
    "acrobot",
    experts.ACROBOT_ENV,
    experts.ACROBOT_EXPERT,
    steps=20_480,
    reaches=Bar(
        "it swings up as fast as its expert, within 10%",
        "aggrevated",
        "iqm",
        ">=",
        "experts/acrobot/dqn",
        times=1.1,
    ),
)
