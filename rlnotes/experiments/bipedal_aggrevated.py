"""Rows `bipedal/aggrevated-reinforce` and `bipedal/aggrevated-ppo`: a walker that is
told by an expert what its actions are worth.

The first draws its actions afresh in every pass, as the paper does. The second takes
those of the roll-in several times over, and a clipped ratio holds it back, as in PPO.
Both differ from the notes in the same things, which variants put back one at a time,
the wrong gradient first; `notes` has all of them.

The steps of an expert and of its critic are not counted here: they have their own
records. A walker that had to pay for its teacher would be better off alone.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from rlnotes.algos import aggrevated, ppo
from rlnotes.algos.aggrevated import ATANH_LIMIT, Rows
from rlnotes.algos.experts import Expert, agreement_expert
from rlnotes.algos.policy import Policy
from rlnotes.autopsies import executed_actions, hand_scaling, pinned_std
from rlnotes.data.rollouts import BatchPolicy
from rlnotes.experiments.base import (
    Bar,
    Budget,
    Experiment,
    Settings,
    Trial,
    Variant,
    World,
    new_trial,
)
from rlnotes.experiments.bipedal import (
    EASY,
    FALL,
    HARD,
    NOTES_STD,
    SOFT_FALL,
    UNBOUNDED,
    walkers,
)
from rlnotes.experiments.bipedal_expert import (
    HARDCORE_WALKER,
    WALKER,
    free_expert,
    hardcore_expert,
    walker_expert,
)
from rlnotes.experiments.recipes import COLLECTING_SEED, recorded
from rlnotes.experiments.settings import Override
from rlnotes.experiments.trials import ObsScale, raw
from rlnotes.paths import Run


def as_the_expert(observations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """By mean and deviation of all that the expert has seen."""
    policy = recorded(WALKER)
    return policy.obs_mean.numpy(), policy.obs_std.numpy()


@dataclass(frozen=True, kw_only=True)
class WalkingLesson(Settings):
    agent: aggrevated.Config
    expert: Callable[[], Expert] = walker_expert
    hardcore: bool = False  # the course
    num_envs: int = 20
    obs_scale: ObsScale = as_the_expert
    fall_penalty: float = SOFT_FALL  # where somebody asks for rewards
    max_episode_steps: int | None = None  # in training; None: the world's own


def course(settings: WalkingLesson) -> World:
    return HARD if settings.hardcore else EASY


def start(settings: WalkingLesson, seed: int) -> Trial:
    world, expert = course(settings), settings.expert()
    envs = walkers(
        world,
        settings.num_envs,
        settings.fall_penalty,
        max_episode_steps=settings.max_episode_steps,
    )
    seen, actions = envs.single_observation_space, envs.single_action_space
    assert seen.shape is not None
    scale = settings.obs_scale(np.empty((0, *seen.shape)))
    policy = aggrevated.new_policy(seen, actions, settings.agent, *scale)
    agent = aggrevated.Agent(policy, settings.agent)
    stream = aggrevated.train(agent, expert, envs, settings.steps, seed)
    return new_trial(policy, agent, stream, world, settings)


# --- who else is asked


def agreeing_expert() -> Expert:
    """DAgger's: it says what it would do, and nothing of what that is worth."""
    return agreement_expert(recorded(WALKER).act)


def sampled_expert() -> Expert:
    return with_its_noise(walker_expert(), WALKER)


def sampled_hardcore_expert() -> Expert:
    return with_its_noise(hardcore_expert(), HARDCORE_WALKER)


@dataclass(frozen=True)
class NoisyExpert(Expert):
    """It plays with noise. V* is still the worth of what it would do without."""

    quiet: BatchPolicy

    def value(self, obs: Tensor) -> Tensor:
        return self.q(obs, torch.as_tensor(self.quiet(obs.numpy())))


def with_its_noise(expert: Expert, walker: Run) -> Expert:
    """It plays as it did when it learnt. What it says of actions stays the same."""
    rng = np.random.default_rng(COLLECTING_SEED)
    noisy = partial(recorded(walker).sample, rng=rng)
    return NoisyExpert(act=noisy, q=expert.q, quiet=expert.act)


# --- the notes' actions


def stale_actions(policy: Policy, outputs: Tensor, rows: Rows) -> tuple[Tensor, Tensor]:
    """The draws of the roll-in, as if the learner of now had made them: no ratio knows
    better."""
    dist = ppo.output_distribution(policy, outputs.detach())
    return rows.action, dist.log_prob(rows.action)


def round_trip_actions(
    policy: Policy, outputs: Tensor, rows: Rows
) -> tuple[Tensor, Tensor]:
    """Fresh draws, got back from the actions after the tanh: nothing beyond ±7.25.
    Their log-probability is that of the draws themselves."""
    action, log_prob = aggrevated.fresh_actions(policy, outputs, rows)
    played = torch.tanh(action).clamp(-ATANH_LIMIT, ATANH_LIMIT)
    return torch.atanh(played), log_prob


def executed_by_the_expert(
    policy: Policy, outputs: Tensor, rows: Rows
) -> tuple[Tensor, Tensor]:
    """What was played, and how likely it was for whoever played it: the ratio is one
    between two players."""
    return _executed_by(recorded(WALKER), rows)


def executed_by_the_hardcore_expert(
    policy: Policy, outputs: Tensor, rows: Rows
) -> tuple[Tensor, Tensor]:
    return _executed_by(recorded(HARDCORE_WALKER), rows)


@torch.no_grad()
def _executed_by(walker: Policy, rows: Rows) -> tuple[Tensor, Tensor]:
    theirs = (rows.executed != rows.action).any(-1)
    dist = ppo.distribution(walker, walker.encode_obs(rows.obs))
    log_prob = torch.where(theirs, dist.log_prob(rows.executed), rows.log_prob)
    return rows.executed, log_prob


# --- the lessons

# 1,000 steps to a roll-in, so that the budget is whole roll-ins.
FRESHLY = aggrevated.Config(
    weight_scale=aggrevated.standardised,
    num_steps=50,
    update_epochs=20,
    batch_size=250,
    learning_rate=2e-4,
    anneal_lr=True,
    initial_std=0.6,
    log_std_bounds=(-2.0, 1.0),
    hidden=(128, 128),
)
CLIPPED = replace(
    FRESHLY, actions=aggrevated.rollout_actions, clip_coef=0.2, update_epochs=5
)

EXECUTED: Override = {
    f"agent.{name}": value for name, value in executed_actions.FAULT.items()
}
MIN_MAX: Override = {
    "agent.baseline": "none",
    "agent.weight_scale": aggrevated.min_max,
}
MIXTURE_VALUE: Override = {"agent.baseline": "mixture"}
UNSCALED: Override = {"agent.weight_scale": aggrevated.as_they_are}
PINNED: Override = {f"agent.{name}": value for name, value in pinned_std.FAULT.items()}
OWN_STALE: Override = {"agent.actions": stale_actions}
FIVE: Override = {"agent.update_epochs": 5}
THIRTY: Override = {"agent.update_epochs": 30}
# Positive weights on whatever was played, most of it the expert's at first.
CLONE: Override = {**EXECUTED, **MIN_MAX}
FREE_CRITIC: Override = {"expert": free_expert}
OTHER_EXPERT: Override = {"expert": hardcore_expert}
ROUND_TRIP: Override = {"agent.actions": round_trip_actions}
LINEAR_TO_THE_END: Override = {"agent.mixing_fraction": 1.0}
PATHWISE: Override = {"agent.gradient": "pathwise"}
DAGGER: Override = {"expert": agreeing_expert, **PATHWISE}
SAMPLED_EXPERT: Override = {"expert": sampled_expert}
BETWEEN_PLAYERS: Override = {
    **SAMPLED_EXPERT,
    "agent.actions": executed_by_the_expert,
}

# Their program, as far as it can be told with ours: 50 iterations of 20 episodes, 30
# passes over each. (What is left: they stop an iteration when 20 episodes are over, and
# ours goes on with the next ones until there are 20,000 steps; they scale Q* by the
# smallest and the largest of an iteration, ours of a batch; their expert is SAC with a
# soft critic; and their last layers begin like any other, ours a hundredth as large.)
NOTES_REINFORCE: Override = {
    "length": 10.0,
    "hardcore": True,
    "num_envs": 20,
    "max_episode_steps": 1_000,
    "obs_scale": raw,
    "fall_penalty": FALL,
    **OTHER_EXPERT,
    "agent": aggrevated.Config(
        **executed_actions.FAULT,
        **pinned_std.FAULT,
        baseline="none",
        weight_scale=aggrevated.min_max,
        learning_rate=3e-4,
        max_grad_norm=UNBOUNDED,
        mixing_fraction=1.0,
        num_steps=1_000,
        update_epochs=30,
        batch_size=128,
        hidden=(128, 128, 128),
    ),
}
# 600 iterations of 3,000 steps in one environment, with ten passes over each. (What is
# left, besides the last layers and the critic: they play whole episodes; and to their V
# the end of the time is the end of the task.)
NOTES_PPO: Override = {
    "length": 18.0,
    "num_envs": 1,
    "obs_scale": hand_scaling.walker_by_bounds,
    "fall_penalty": FALL,
    "expert": sampled_hardcore_expert,
    "agent": aggrevated.Config(
        actions=executed_by_the_hardcore_expert,
        clip_coef=0.2,
        baseline="mixture",
        ent_coef=0.001,
        learning_rate=3e-4,
        max_grad_norm=UNBOUNDED,
        num_steps=3_000,
        update_epochs=10,
        batch_size=128,
        log_std_bounds=NOTES_STD,
        hidden=(128, 128),
    ),
}


def bars(variant: str) -> tuple[Bar, ...]:
    """A fifth: PPO with five times as many steps is not as good."""
    return (
        Bar(
            "it walks nearly as well as its expert",
            variant,
            "iqm",
            ">=",
            "experts/bipedal/ppo",
            times=0.9,
        ),
        Bar(
            "better than PPO alone does after five times as many steps",
            variant,
            "iqm",
            ">=",
            "bipedal/ppo/five-lessons",
        ),
    )


BUDGETS = {
    "smoke": Budget(4_000, evaluations=1, curve_episodes=1, final_episodes=2),
    "ci": Budget(20_000, evaluations=4, curve_episodes=5, final_episodes=20),
    "full": Budget(100_000, evaluations=10, curve_episodes=10, final_episodes=100),
}

AGGREVATED_REINFORCE = Experiment(
    id="bipedal/aggrevated-reinforce",
    world=course,
    settings=WalkingLesson(agent=FRESHLY),
    budgets=BUDGETS,
    variants={
        "aggrevated": Variant("AggreVaTeD, actions drawn afresh", seeds=5),
        "notes": Variant(
            "nearly as in the notes, hardcore", NOTES_REINFORCE, 1, planned=True
        ),
        "executed-actions": Variant("executed actions as the learner's", EXECUTED),
        "min-max": Variant("Q* between 0 and 1", MIN_MAX),
        "executed-min-max": Variant("executed actions, Q* between 0 and 1", CLONE),
        "pinned-std": Variant("σ = 7.39, as in the notes", PINNED),
        # Whoever passes over executed actions passes over old ones, too.
        "stale-batch": Variant(
            "30 passes over the same draws", {**OWN_STALE, **THIRTY}
        ),
        "stale-twenty": Variant("20 passes over the same draws", OWN_STALE),
        "stale-five": Variant("5 passes over the same draws", {**OWN_STALE, **FIVE}),
        "executed-five": Variant(
            "5 passes over executed actions", {**EXECUTED, **FIVE}
        ),
        "fresh-five": Variant("5 passes, drawn afresh", FIVE),
        # What else the notes have, put into a learner that clones as theirs does.
        "clone-pinned": Variant("a clone with σ = 7.39", {**CLONE, **PINNED}),
        "clone-thirty": Variant("a clone with 30 passes", {**CLONE, **THIRTY}),
        "free-critic": Variant("Q* that may like other actions better", FREE_CRITIC),
        "other-expert": Variant("the expert of another world", OTHER_EXPERT),
        "round-trip": Variant("actions through the tanh and back", ROUND_TRIP),
        "linear-mixing": Variant("the expert plays to the end", LINEAR_TO_THE_END),
        "pathwise": Variant("the gradient through Q*", PATHWISE),
        "dagger": Variant("DAgger", DAGGER),
    },
    bars=bars("aggrevated"),
    start=start,
    seeds=3,
)

AGGREVATED_PPO = Experiment(
    id="bipedal/aggrevated-ppo",
    world=course,
    settings=WalkingLesson(agent=CLIPPED),
    budgets=BUDGETS,
    variants={
        "aggrevated": Variant("AggreVaTeD with PPO's ratio", seeds=5),
        "notes": Variant("nearly as in the notes", NOTES_PPO, 1),
        "executed-actions": Variant("executed actions as the learner's", EXECUTED),
        "sampled-expert": Variant("the expert plays with noise", SAMPLED_EXPERT),
        "between-players": Variant(
            "executed actions, the ratio to who played", BETWEEN_PLAYERS
        ),
        "mixture-value": Variant("Q* less the mixture's V", MIXTURE_VALUE),
        "unscaled": Variant("A* as it is", UNSCALED),
        "mixture-value-unscaled": Variant(
            "Q* less the mixture's V, as it is", {**MIXTURE_VALUE, **UNSCALED}
        ),
        "other-expert": Variant("the expert of another world", OTHER_EXPERT),
    },
    bars=(
        *bars("aggrevated"),
        Bar(
            "with the value of the mixture in the place of V* it does not walk",
            "mixture-value",
            "iqm",
            "<=",
            200.0,
        ),
    ),
    start=start,
    seeds=3,
)
