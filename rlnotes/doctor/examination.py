"""Examine whatever the caller has.

Each check asks for numbers by name. One that is given is taken, another is measured
from what is given, and where neither is possible the check is not examined, and the
report says what was missing.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rlnotes.doctor.checks import CHECKS, CannotTell, Check
from rlnotes.doctor.findings import Exhibit, Finding, Report
from rlnotes.doctor.measures import MEASURES, given_as, has_nan
from rlnotes.errors import unknown

# What can be given, and what it is.
GIVEN: dict[str, str] = {
    # what was played, stored or shown
    "episodes": "a list of rlnotes.data.rollouts.Episode that the policy played",
    "demonstrations": "a list of such that it learns from",
    "replay": "stored transitions in their order: a Batch, a dictionary or a list of"
    " obs, action, reward, next_obs, terminated",
    "observations": "observations as the world gives them, one per row",
    "seen": "observations as the network sees them, one per row",
    "vector_obs": "what a vector shows after some steps with different actions, one"
    " environment per row",
    "explored": "which environments (columns) acted at random in which steps (rows)",
    "actions": "what was played, one per row",
    "learned_rewards": "what a learnt reward paid",
    # networks, as functions
    "policy": "a function from observations to actions, both arrays",
    "q": "a network from observations to one value per action",
    "critic": "a function from observations and actions, both tensors, to values",
    "discriminator": "a function from features to the logit of 'demonstrated'",
    "expert_features": "what it sees of demonstrations, one per row",
    "policy_features": "what it sees of the policy, one per row",
    "make_env": "a function that makes the world, and takes `max_episode_steps`",
    "wrap": "a function that puts the wrappers around a world",
    # of an update, before its first step
    "log_prob": "of the stored actions, by the policy of now",
    "old_log_prob": "of the stored actions, when they were played",
    "value": "V with its graph",
    "target": "what V should be",
    "value_loss": "the loss of V with its graph",
    "log_std": "log σ as it is used",
    "unbounded_log_std": "log σ before it is bounded",
    "log_std_grad_norm": "the norm of the gradient that came to log σ",
    "value_grad_norm": "the norm of the gradient that came to the value function",
    # settings
    "gamma": "the discount",
    "gae_lambda": "λ of the advantages",
    "ent_coef": "the coefficient of the entropy",
    "time_limit": "the most steps of an episode",
    "num_envs": "environments that are played in turn",
    "same_starts": "whether all episodes begin with the same observation",
    "obs_mean": "what is subtracted from observations",
    "obs_std": "what observations are divided by",
    "action_low": "the lower bounds of actions",
    "action_high": "the upper bounds of actions",
    "action_dim": "how many continuous actions there are",
    "terminal": "what an end is worth to a learnt reward: zero, absorbing,"
    " absorbing_per_state",
    "entropy_bonus": "the most that an entropy bonus pays per step",
    "frame_skip": "frames per decision",
    "frames_per_second": "of the world",
    "needed_seconds": "from an action to what it earns",
    "frames": "the most frames of an episode",
    "believed_return": "what a perfect episode is believed to be worth",
    # curves
    "entropies": "the mean entropy at each update",
    "approx_kls": "the divergence by which each update moved the policy",
    "continued_fractions": "at each rollout, the share of environments that went on",
    "target_updates": "how often the target network was renewed",
    "first_score_deviation": "E[∇ log π] of an update's actions, in standard errors",
    "first_state_share": "of the variance of an expert's weights, the part between"
    " states",
}
DEFAULTS: dict[str, Any] = {
    "entropy_bonus": 0.0,
    "same_starts": False,
}

Lookup = Callable[[str, Check], Any]


class Missing(Exception):
    """Nobody gave it, and nothing that it could be measured from."""


def examine(
    patient: str = "the training",
    because: Mapping[str, str] | None = None,
    **given: Any,
) -> Report:
    """A ranked report on what is given, by the names of `GIVEN` or of the diagnostics
    themselves, as the experiments record them. `because` says of names, or of checks,
    why they are not there."""
    known = {*GIVEN, *MEASURES, *(name for c in CHECKS.values() for name in c.needs)}
    for name in given:
        if name not in known:
            raise unknown("thing to examine", name, sorted(known))
    there = {name: value for name, value in given.items() if value is not None}

    def lookup(name: str, check: Check) -> Any:
        if name not in there:
            raise Missing(name)
        return there[name]

    return diagnose(patient, lookup, because)


def diagnose(
    patient: str,
    lookup: Lookup,
    because: Mapping[str, str] | None = None,
    exhibits: tuple[Exhibit, ...] = (),
) -> Report:
    """The same for whoever finds things by name and check; who does not raises
    `Missing`."""
    findings: list[Finding] = []
    quiet: dict[str, str] = {}
    unexamined: dict[str, str] = {}
    measured: dict[tuple[str, str], Any] = {}  # by the name and the moment
    bounds: dict[str, float] = {}
    for check in CHECKS.values():
        try:
            sign = _called(check.look, check, lookup, measured)
            if np.isnan([sign.measured, sign.bound]).any():
                raise CannotTell(f"the number that it goes by is NaN: {sign.evidence}")
        except Missing as missing:
            name, said = str(missing), because or {}
            reason = said.get(check.name) or said.get(name) or f"no {name} given"
            unexamined[check.name] = reason
        except CannotTell as reason:
            unexamined[check.name] = str(reason)
        except Exception as problem:  # a stranger's network may do anything
            what = " ".join(str(problem).split())
            unexamined[check.name] = f"it failed: {type(problem).__name__}: {what}"
        else:
            bounds[check.needs[0]] = sign.bound
            if sign.fires:
                findings.append(check.finding(sign))
            else:
                quiet[check.name] = sign.evidence
    shown = tuple(replace(one, bound=bounds.get(one.name)) for one in exhibits)
    return Report(patient, tuple(findings), quiet, unexamined, exhibits=shown)


def _called(
    function: Callable[..., Any],
    check: Check,
    lookup: Lookup,
    measured: dict[tuple[str, str], Any],
) -> Any:
    """With what it asks for, in the form in which it does."""
    values = []
    for name, asked in inspect.signature(function).parameters.items():
        value = given_as(asked.annotation, _resolved(name, check, lookup, measured))
        if has_nan(value):
            raise CannotTell(f"there is NaN in {name}")
        values.append(value)
    return function(*values)


def _resolved(
    name: str, check: Check, lookup: Lookup, measured: dict[tuple[str, str], Any]
) -> Any:
    """Given, measured before, measured now, or usual; else `Missing`, with what could
    be given, or the first thing of it."""
    try:
        return lookup(name, check)
    except Missing as missing:
        lacking = missing
    key = name, check.along
    if key in measured:
        return measured[key]
    for number, way in enumerate(MEASURES.get(name, ())):
        try:
            measured[key] = _called(way, check, lookup, measured)
        except Missing as missing:
            if number == 0 and name not in GIVEN:
                lacking = missing
            continue
        return measured[key]
    if name in DEFAULTS:
        return DEFAULTS[name]
    raise lacking
