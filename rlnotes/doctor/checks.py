"""The checks, in the order of their rank: causes before what follows from them.

Wrong data comes first, then what is seen of the world, then what the learner does with
it, then what the values and the policy look like in the end: a critic that promises too
much may do so because its data never ends. A check is a function of numbers under the
names that the experiments give them in their records, and of settings; `measures` makes
these numbers of what a training loop has. Its diagnostic, with its threshold, is that
of an autopsy. The docstring says what is compared and why the bound lies where it does.
"""

import inspect
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from rlnotes.algos.gail import Terminal
from rlnotes.algos.ppo import LEAST_OBS_STD
from rlnotes.autopsies import (
    common_reset,
    constant_feature,
    corrupted_successor,
    covariate_shift,
    executed_actions,
    extrapolation,
    fresh_sample,
    hand_scaling,
    identical_copies,
    lost_done,
    one_coin,
    pinned_std,
    rare_ends,
    raw_entropy,
    raw_mean,
    raw_pixels,
    return_ceiling,
    short_horizon,
    silent_discriminator,
    stale_target,
    state_weights,
    survival,
    thrown_policy,
    time_limits,
    value_clip,
)
from rlnotes.doctor.findings import Finding, Sign

ALIKE = 10  # episodes that are tied together, where it may be by chance
BY_CHANCE = 2  # steps that follow each other, where they were drawn at random
NO_ORDER = (
    "stored steps do not begin where the one before led: they are not in their order,"
    " or of another number of environments"
)


class CannotTell(Exception):
    """What is given does not suffice: the reason, as a part of a sentence."""


@dataclass(frozen=True)
class Check:
    name: str
    title: str  # what is wrong, if it fires
    symptom: str  # what its owner would complain of
    remedy: str
    section: str  # of the book: `chapter#anchor`
    look: Callable[..., Sign]
    along: Literal["first", "final"]  # of a curve, the value to go by

    @property
    def needs(self) -> tuple[str, ...]:
        return tuple(inspect.signature(self.look).parameters)

    @property
    def reason(self) -> str:
        """What is compared, and why the bound lies where it does."""
        return inspect.cleandoc(self.look.__doc__ or "")

    @property
    def read(self) -> str:
        chapter, _, anchor = self.section.partition("#")
        return f"book/{chapter}.html#{anchor}"

    def finding(self, sign: Sign) -> Finding:
        return Finding(
            self.name,
            self.title,
            sign.evidence,
            self.remedy,
            self.read,
            float(sign.measured),
            float(sign.bound),
        )


CHECKS: dict[str, Check] = {}


def _horizon(gamma: float) -> float:
    """How many steps ahead γ looks."""
    if gamma >= 1:
        raise CannotTell(f"γ = {gamma:g} looks ahead without end")
    return 1 / (1 - gamma)


def check(
    title: str,
    symptom: str,
    remedy: str,
    section: str,
    along: Literal["first", "final"] = "final",
) -> Callable[[Callable[..., Sign]], Callable[..., Sign]]:
    """Put a function in the list, under its name with hyphens."""

    def listed(look: Callable[..., Sign]) -> Callable[..., Sign]:
        name = look.__name__.replace("_", "-")
        CHECKS[name] = Check(name, title, symptom, remedy, section, look, along)
        return look

    return listed


# --- data


@check(
    "the environments of a vector are copies of one",
    "Many environments bring nothing; all of them end in the same step.",
    "Give each copy a seed of its own, and reinstall the library behind them for this"
    " version of NumPy.",
    "parallel#parallel-envpool",
)
def identical_environments(different_observations: float, num_envs: int) -> Sign:
    """Rows that differ, among those that a vector shows at once. After steps with
    different actions at least two do; one is what EnvPool's old build showed."""
    if num_envs == 1:
        raise CannotTell("there is one environment only")
    return Sign(
        identical_copies.fires(different_observations, num_envs),
        different_observations,
        1,
        f"{num_envs} environments show {different_observations:.0f} different"
        " observations",
    )


@check(
    "the ends of episodes are lost",
    "The loss looks fine; V of a lost game is as good as that of a fresh one.",
    "Store `terminated` before the reset, not after it.",
    "parallel#parallel-ends",
)
def lost_ends(longest_episode: float, time_limit: int) -> Sign:
    """The longest episode beside the time limit of the world: none can be longer."""
    return Sign(
        lost_done.fires(longest_episode, time_limit),
        longest_episode,
        time_limit,
        f"an episode of {longest_episode:,.0f} steps; the time limit is {time_limit:,}",
    )


@check(
    "running out of time is stored as an end of the task",
    "The loss looks fine; states near the limit are valued as if the world ended.",
    "Store `terminated` alone, and bootstrap from the last observation where an episode"
    " was merely truncated.",
    "td3bc#ablations-what-else-mattered",
)
def clock_as_end(terminated_lengths: Collection[int], time_limit: int) -> Sign:
    """The lengths of the episodes that are said to have ended. A task ends now and
    then; if all of them are exactly as long as the limit, it was the clock."""
    if not terminated_lengths:
        raise CannotTell("no episode is said to have ended")
    share = float(np.mean([length == time_limit for length in terminated_lengths]))
    return Sign(
        time_limits.fires(terminated_lengths, time_limit),
        share,
        1,
        f"{share:.0%} of the {len(terminated_lengths):,} ends come exactly at the limit"
        f" of {time_limit:,} steps",
    )


@check(
    "stored successors belong to the next episode",
    "The loss looks fine; learnt values ignore what comes at the end of an episode.",
    "After an end take the successor from `final_obs` (Gymnasium) or"
    " `terminal_observation` (SB3), and store no step that only resets.",
    "parallel#parallel-dqn",
)
def foreign_successor(longest_chain: float, time_limit: int, same_starts: bool) -> Sign:
    """Steps that follow each other in the replay, each beginning where the one before
    it led. An end breaks the chain, so none is longer than the time limit. Where all
    episodes begin alike one may end where the next begins, but not ten in a row."""
    if longest_chain <= BY_CHANCE:
        raise CannotTell(NO_ORDER)
    most = ALIKE * time_limit if same_starts else time_limit
    return Sign(
        corrupted_successor.fires(int(longest_chain), most),
        longest_chain,
        most,
        f"{longest_chain:,.0f} stored steps follow each other without a break; the time"
        f" limit is {time_limit:,}",
    )


@check(
    "all environments begin anew before every rollout",
    "The policy starts well and does not know how to go on.",
    "Keep the last observation of each environment and go on from it.",
    "aggrevated#agg-vector",
)
def common_start(continued_fractions: Sequence[float], num_envs: int) -> Sign:
    """The share of environments that go on with an episode of the rollout before. With
    several environments and several rollouts it cannot be 0 every time."""
    if len(continued_fractions) < 3 or num_envs == 1:
        raise CannotTell("it takes several rollouts of several environments")
    largest = max(continued_fractions[1:])
    return Sign(
        common_reset.fires(continued_fractions),
        largest,
        0,
        f"at most {largest:.0%} of the environments go on with an episode of the"
        " rollout before",
    )


# --- what is seen of the world, and what is asked of it


@check(
    "the network sees numbers that it was not made for",
    "It learns slowly and unsteadily; the first values are far larger than any reward.",
    "Divide pixels by 255; standardise other observations by mean and deviation.",
    "pixels#pixels-raw",
)
def raw_inputs(largest_input: float) -> Sign:
    """The usual size of the largest input. First weights are made for inputs of about
    1; pixels as they are reach 255."""
    return Sign(
        raw_pixels.fires(largest_input),
        largest_input,
        raw_pixels.TOLERANCE,
        f"the largest input is usually {largest_input:.1f}; weights are made for 1",
    )


@check(
    "observations are scaled by something else than their spread",
    "The same learner ends worse than with standardised observations.",
    "Scale by the mean and deviation of the data, not by bounds that it never reaches.",
    "td3bc#ablations-what-else-mattered",
)
def hand_scaled(observations: np.ndarray, obs_std: np.ndarray) -> Sign:
    """The spread of each feature after the scaling. Standardised it is 1; twice or half
    as much is no standardising."""
    if observations.ndim > 2:
        raise CannotTell("pictures are not standardised")
    spread = (observations.std(0) / obs_std)[np.ptp(observations, axis=0) > 0]
    if not len(spread):
        raise CannotTell("no feature varies")
    off = float(np.maximum(spread, 1 / np.maximum(spread, 1e-12)).max())
    return Sign(
        hand_scaling.fires(observations, obs_std),
        off,
        hand_scaling.TOLERANCE,
        f"after the scaling a feature is {off:.1f} times too wide or too narrow",
    )


@check(
    "a feature that never varies is magnified",
    "What is learnt depends on a number that tells nothing.",
    "Leave the feature out, or divide by no less than some hundredths.",
    "gail#gail-controls",
)
def magnified_constant(observations: np.ndarray, obs_std: np.ndarray) -> Sign:
    """What features that never varied are divided by. Next to 0, it blows up the first
    step that one of them takes."""
    rows = observations.reshape(len(observations), -1)
    std = np.broadcast_to(obs_std, observations.shape[1:]).ravel()
    constant = constant_feature.never_varied(rows)
    least = float(std[constant].min()) if len(constant) else 1.0
    return Sign(
        constant_feature.fires(rows, std),
        least,
        LEAST_OBS_STD,
        f"features {constant.tolist()} never vary and are divided by {least:.2g}"
        if len(constant)
        else "every feature varies",
    )


@check(
    "a perfect episode is not worth what it is believed to be",
    "The best episodes stop at a number far below the known one.",
    "Compare scores of the unwrapped world only, or convert them.",
    "pixels#pixels-ceiling",
)
def misread_return(ceiling: float, believed_return: float) -> Sign:
    """What the wrappers pay for an episode in which nothing can go wrong, beside what
    one believes it to be worth. More than a hundredth apart, scores cannot be
    compared."""
    return Sign(
        return_ceiling.fires(ceiling, believed_return),
        ceiling,
        believed_return,
        f"a perfect episode pays {ceiling:,.6g} here; believed are"
        f" {believed_return:,.6g}",
    )


@check(
    "actions lie beyond the bounds of the world",
    "The policy is worse when evaluated than while it trained.",
    "Evaluate with the same squashing (tanh) or clipping as in training.",
    "gail#gail-racecar",
)
def out_of_bounds(
    actions: np.ndarray, action_low: np.ndarray, action_high: np.ndarray
) -> Sign:
    """The share of actions beyond the bounds. After a tanh there is none."""
    beyond = ((actions < action_low) | (actions > action_high)).mean()
    return Sign(
        raw_mean.fires(actions, action_low, action_high),
        float(beyond),
        0,
        f"{beyond:.0%} of the actions' components lie beyond the bounds",
    )


@check(
    "rewards come after the horizon of the advantages",
    "No trend, with settings that are known to work.",
    "Keep γ and λ to the time of the world: with a quarter of the frame skip take their"
    " fourth roots.",
    "pixels#pixels-horizon",
)
def short_sight(horizon_seconds: float, needed_seconds: float) -> Sign:
    """How far ahead advantages reach, 1 / (1 − γλ) decisions, in seconds of the world,
    beside the time from an action to what it earns."""
    return Sign(
        short_horizon.fires(horizon_seconds, needed_seconds),
        horizon_seconds,
        needed_seconds,
        f"advantages reach {horizon_seconds:.2f} s ahead; rewards come after"
        f" {needed_seconds:.2f} s",
    )


# --- what the learner does


@check(
    "the ratio is not 1 before the first step",
    "PPO's loss moves, and the policy learns nothing from its rewards.",
    "Take the new log-probability of the *stored* action, of the observation as it was"
    " seen then.",
    "gail#gail-racecar",
)
def ratio_at_first(first_ratio_deviation: float) -> Sign:
    """The largest |π / π_old − 1| before anything has changed. It is 0 but for
    rounding, which is far below a thousandth."""
    return Sign(
        fresh_sample.fires(first_ratio_deviation),
        first_ratio_deviation,
        fresh_sample.TOLERANCE,
        f"before the first step a ratio is {first_ratio_deviation:.3g} away from 1",
    )


@check(
    "the actions of an update are not the learner's own",
    "An expert's values make no better learner than a clone of it.",
    "Draw the actions of the gradient anew from the learner, at the states that were"
    " reached.",
    "aggrevated#agg-wrong",
    along="first",
)
def foreign_actions(first_score_deviation: float) -> Sign:
    """E[∇ log π(a|s)] is 0 for the learner's own draws; the largest correlation in
    standard errors, which chance brings above 5 less than once in ten thousand."""
    return Sign(
        executed_actions.fires(first_score_deviation),
        first_score_deviation,
        executed_actions.TOLERANCE,
        f"the mean score is {first_score_deviation:.1f} standard errors away from 0",
    )


@check(
    "an expert's values say which state is good, not which action",
    "An expert tells what actions are worth, and the policy does not learn.",
    "Subtract the V that belongs to that Q: of the same policy, in the same units.",
    "aggrevated#agg-walker",
    along="first",
)
def weights_of_states(first_state_share: float) -> Sign:
    """The share of the weights' variance between states and not between two draws in
    the same one, at the first update. In the book A* stays below 0.9, mostly far below,
    and Q* alone or with another V is above."""
    return Sign(
        state_weights.fires(first_state_share),
        first_state_share,
        state_weights.MOST,
        f"{first_state_share:.0%} of the variance of the weights lies between states",
    )


@check(
    "most of what the value function gets wrong has no gradient",
    "The value loss does not fall, whatever the policy does.",
    "Clip V around its *old* value, not around the return, or do not clip it at all.",
    "pixels#pixels-value-clip",
)
def value_without_gradient(first_value_grad_share: float) -> Sign:
    """The share of V's squared error in rows that the loss has a gradient for, before
    the first step. It is 1; below a half, most of the error is not learnt from."""
    return Sign(
        value_clip.fires(first_value_grad_share),
        first_value_grad_share,
        value_clip.TOLERANCE,
        f"{first_value_grad_share:.0%} of V's squared error has a gradient",
    )


@check(
    "no gradient reaches the value function",
    "The value loss does not fall, whatever the policy does.",
    "Look for a coefficient of 0, a detached value or a frozen layer.",
    "pixels#pixels-value-clip",
)
def silent_value(value_grad_norm: float) -> Sign:
    """The gradient that an update left in the last layer of V: 0 only where nothing of
    its error gets there."""
    return Sign(
        value_clip.is_silent(value_grad_norm),
        value_grad_norm,
        0,
        f"the gradient of the value function has a norm of {value_grad_norm:.3g}",
    )


@check(
    "every deviation of the policy is pinned, and wide",
    "No return ever rises; the policy shakes for ever.",
    "Look at the order of the clamp's bounds, and at where log σ begins.",
    "aggrevated#agg-walker",
    along="first",
)
def pinned_deviation(
    bounded_std_fraction: float, log_std_grad_norm: float, mean_log_std: float
) -> Sign:
    """The share of log σ beyond its bounds, the gradient that comes to it, and σ. Where
    the bounds cut all of it and nothing comes, it cannot be unlearnt; that is an
    illness where σ is 1 or more, and not where a policy has come down to the least
    that it may have."""
    return Sign(
        pinned_std.fires(bounded_std_fraction, log_std_grad_norm, mean_log_std),
        bounded_std_fraction,
        1,
        f"{bounded_std_fraction:.0%} of all log σ lie beyond their bounds, their"
        f" gradient has a norm of {log_std_grad_norm:.2g}, and σ is"
        f" {np.exp(mean_log_std):.2g}",
    )


@check(
    "an update throws the policy away",
    "The return falls to some number and stays there.",
    "Pass over a rollout once, or hold the policy back: with PPO's clipped ratio, a"
    " bound on the divergence, a least deviation.",
    "aggrevated#agg-reinforce",
)
def thrown_away(approx_kls: Sequence[float]) -> Sign:
    """By how much an update has moved the policy at most, as a divergence, over the
    actions that it was made of. PPO stays far below 1, learners without a ratio that
    learn stay below 10 in the book, and those that are thrown about reach 50 and far
    more."""
    largest = thrown_policy.largest(approx_kls)
    return Sign(
        thrown_policy.fires(largest),
        largest,
        thrown_policy.FAR,
        f"an update has moved the policy by a divergence of {largest:,.3g}",
    )


@check(
    "the target network is renewed too seldom",
    "The loss is small, and nothing ever changes.",
    "Renew the target by a count of steps that looks at nothing else, and more often.",
    "worlds#plate-autopsy",
)
def stale_copy(target_updates: float, gamma: float) -> Sign:
    """Renewals of the target in the whole training, beside the horizon 1 / (1 − γ).
    Between two of them Q learns one backup, so with fewer it cannot see as far as γ
    does."""
    horizon = _horizon(gamma)
    return Sign(
        stale_target.fires(target_updates, gamma),
        target_updates,
        horizon,
        f"{target_updates:,.0f} renewals of the target; γ = {gamma:g} looks"
        f" {horizon:,.0f} steps ahead",
    )


@check(
    "one coin decides for all environments whether they explore",
    "Many environments bring no more than few.",
    "Throw a coin for each environment.",
    "parallel#parallel-dqn",
)
def common_coin(explored: np.ndarray) -> Sign:
    """Which environments, the columns, acted at random in which steps: always all or
    none is one coin."""
    if explored.shape[1] == 1 or explored.all() or not explored.any():
        raise CannotTell("it takes several environments, and steps of both kinds")
    together = float((explored == explored[:, :1]).all(1).mean())
    return Sign(
        one_coin.fires(explored),
        together,
        1,
        f"in {together:.0%} of the steps all environments explore or none does",
    )


# --- what rewards it


@check(
    "a learnt reward pays for the length of an episode",
    "It learns to live long, or to die soon, whatever was demonstrated.",
    "Use a reward of either sign (log D − log(1 − D)) and let absorbing states pay"
    " after an end.",
    "gail#who-pays",
)
def paid_to_live(positive_reward_fraction: float, terminal: Terminal) -> Sign:
    """The share of positive rewards, where an end pays nothing. At 1 every step is
    worth having, at 0 every end is."""
    if terminal not in get_args(Terminal):
        raise CannotTell(f"terminal is one of {', '.join(get_args(Terminal))}")
    return Sign(
        survival.fires(positive_reward_fraction, terminal),
        positive_reward_fraction,
        float(positive_reward_fraction > 0.5),
        f"{positive_reward_fraction:.0%} of the rewards are positive, and an end is"
        f" worth {'nothing' if terminal == 'zero' else 'what it is judged to be'}",
    )


@check(
    "the discriminator has gone flat",
    "The discriminator's rewards are all alike, and the policy drifts.",
    "Penalise its slope less, and leave out features that never vary.",
    "gail#gail-controls",
)
def flat_discriminator(disc_accuracy: float, linear_accuracy: float) -> Sign:
    """Its accuracy beside that of a straight line through the same features. A line
    that is better by a fifth sees what it does not."""
    return Sign(
        silent_discriminator.is_flat(disc_accuracy, linear_accuracy),
        disc_accuracy,
        linear_accuracy - silent_discriminator.FLAT_GAP,
        f"its accuracy is {disc_accuracy:.0%}; a straight line's is"
        f" {linear_accuracy:.0%}",
    )


@check(
    "the discriminator has won",
    "The discriminator is certain, and the policy does not come closer.",
    "Look for what keeps the policy from learning; then train the discriminator less,"
    " or penalise its slope.",
    "gail#gail-controls",
)
def won_discriminator(disc_loss: float) -> Sign:
    """Its loss, 1.39 where it guesses. Below 0.3 it gives the right answer a likelihood
    of 0.86 and more; no GAIL on record that learns ends there."""
    return Sign(
        silent_discriminator.has_won(disc_loss),
        disc_loss,
        silent_discriminator.WON_LOSS,
        f"the discriminator's loss is {disc_loss:.2f}; it is 1.39 where it guesses",
    )


# --- what comes of it


@check(
    "the entropy bonus drives the deviation up",
    "With a slightly larger coefficient of entropy nothing is learnt any more.",
    "Lower the coefficient, or pay for the entropy of what is played.",
    "aggrevated#agg-entropy",
)
def growing_entropy(
    entropies: Sequence[float], action_dim: int, ent_coef: float
) -> Sign:
    """How much the entropy per continuous action has grown since the first update,
    where it is paid for. By log 2, σ has doubled; who learns shakes less."""
    if len(entropies) < 2:
        raise CannotTell("it takes two looks at least")
    grown = raw_entropy.growth(entropies, action_dim)
    return Sign(
        raw_entropy.fires(grown, ent_coef),
        grown,
        raw_entropy.LARGEST_GROWTH,
        f"the entropy per action has changed by {grown:+.2f} with a bonus of"
        f" {ent_coef:g}",
    )


@check(
    "the critic promises more than comes",
    "The loss looks fine and the return does not: the critic is content.",
    "Keep the policy close to its data (a BC term, a conservative critic), or gather"
    " data where it goes.",
    "td3bc#why-td3-fails",
)
def invented_values(q_promised: float, q_true: float) -> Sign:
    """What the critic says of the starts, beside the discounted return that the policy
    then earns. More than half of |return| apart, the promise is invented, or the critic
    is not done."""
    return Sign(
        extrapolation.fires(q_promised, q_true),
        q_promised,
        q_true + extrapolation.TOLERANCE * abs(q_true),
        f"promised are {q_promised:,.1f}, and {q_true:,.1f} came",
    )


@check(
    "the critic promises more than rewards allow",
    "Values grow without end.",
    "Look at the terminal flags and the target network; lower the learning rate; take"
    " the minimum of two critics.",
    "td3bc#why-td3-fails",
)
def impossible_values(
    value_mean: float,
    reward_min: float,
    reward_max: float,
    gamma: float,
    entropy_bonus: float,
) -> Sign:
    """The mean value beside the best reward at every step for ever. Beyond that by half
    of all that rewards can make a difference of is no error of a critic in training."""
    _horizon(gamma)
    allowed = extrapolation.most_allowed(reward_max, gamma, entropy_bonus)
    return Sign(
        extrapolation.fires_without_play(
            value_mean, reward_min, reward_max, gamma, entropy_bonus
        ),
        value_mean,
        allowed,
        f"the mean value is {value_mean:,.1f}; rewards up to {reward_max:.3g} allow"
        f" {allowed:,.1f}",
    )


@check(
    "Q does not see the end coming",
    "Returns climb to the top and fall back, again and again.",
    "Use a squared error, or scale rewards so that errors stay below 1.",
    "parallel#parallel-dqn",
    along="first",
)
def unseen_ends(end_error: float, q_data: float) -> Sign:
    """|Q − r| in rows that end the task, whose target is known, beside the mean Q, at
    the first look. A quarter of it is what the Huber loss leaves and a squared error
    does not."""
    return Sign(
        rare_ends.fires(end_error, q_data),
        end_error,
        rare_ends.LARGEST_SHARE * abs(q_data),
        f"at ends Q is off by {end_error:.1f}; its mean is {q_data:.1f}",
    )


@check(
    "the policy leaves its data",
    "It crashes at once, though it imitates what always succeeds.",
    "Find out who leads it away: a critic's invented values, or too few demonstrations"
    " (noise while demonstrating, DAgger).",
    "td3bc#racecar-autopsy",
)
def leaves_data(times_usual_distance: float) -> Sign:
    """The distance of its farthest state to the data, in units of what is usual between
    demonstrations. Beyond twice that, nobody has shown what to do."""
    return Sign(
        covariate_shift.fires(times_usual_distance),
        times_usual_distance,
        covariate_shift.TOLERANCE,
        f"it goes {times_usual_distance:.1f} times as far from the data as"
        " demonstrations do from each other",
    )
