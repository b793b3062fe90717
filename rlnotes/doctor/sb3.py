"""A doctor who watches a training of Stable-Baselines3: PPO, A2C, DQN, SAC and TD3.

Counting at every step takes microseconds. A few times in a training there is a look at
what was stored and at the networks. No look takes a step in the world, draws from a
generator that others draw from, or leaves a gradient; whatever goes wrong in it stays
in it.
"""

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from stable_baselines3.common.preprocessing import preprocess_obs
from torch import Tensor

from rlnotes.autopsies.corrupted_successor import longest_run
from rlnotes.autopsies.identical_copies import different_observations
from rlnotes.doctor.checks import CHECKS, Check
from rlnotes.doctor.examination import Missing, diagnose
from rlnotes.doctor.findings import Exhibit, Report
from rlnotes.doctor.measures import MEASURES

ROWS = 256  # of what is stored, that the networks are asked about
LARGEST_WINDOW = 20_000_000  # numbers of the replay that are compared at a look
UNTIL_DIFFERENT = 100  # steps in which copies must have come apart
CONTINUOUS = "actions are discrete"
UNLIMITED = "the world has no time limit, or does not say: Doctor(time_limit=…) does"
UNSAID = "nobody says that the reward is learnt: Doctor(learned_reward=True) does"
ENDLESS = "no episode has ended"
UNSEEN = "a callback does not see it; `examine` takes it"
FOLLOWS = "its target follows by τ and is never renewed as a whole"
BY_STATE = "its noise depends on the state"
UNSCALED = "observations are not scaled"
FOLLOWED = "VecNormalize follows all that it has seen, and a policy sees less and less"
SHORT_REPLAY = "the replay holds less than an episode of full length"
LOSS = "SB3's DQN has no other loss than Huber's"

Numbers = dict[str, Any]
CURVES = {"entropy": "entropies", "approx_kl": "approx_kls"}  # one number a look


class Doctor(BaseCallback):
    """Give it to `learn` as a callback; `report()` says at any time what was seen.

    What cannot be seen from the model may be said: the `time_limit` of the world if it
    has none registered, and that the world pays a `learned_reward`, such as a
    discriminator's. There are `looks` looks in a training. With `verbose` 1 a finding
    is printed when it is first made.
    """

    def __init__(
        self,
        looks: int = 10,
        time_limit: int | None = None,
        learned_reward: bool = False,
        verbose: int = 0,
    ) -> None:
        super().__init__(verbose)
        self._looks, self._said_limit = looks, time_limit
        self._learned_reward = learned_reward
        self._patient: tuple[Any, Any] = None, None  # the model, and its worlds
        self._next_look, self._between = 0, 1
        self._forget()

    def _forget(self) -> None:
        """As if there had been no training."""
        self._given: Numbers = {}
        self._because: dict[str, str] = {}  # by check or name; "" is none
        self._curves: dict[str, list[tuple[int, float]]] = {}
        self._told: set[str] = set()
        self.problems: list[str] = []  # what went wrong in a look
        self._lengths = np.zeros(0, int)

    # --- what SB3 calls; nothing may come out of it

    def _on_training_start(self) -> None:
        self._safely(self._start)

    def _on_step(self) -> bool:
        try:
            self._count()
        except Exception as problem:
            self._note(problem)
        return True

    def _on_rollout_end(self) -> None:
        if self.num_timesteps >= self._next_look:
            self._next_look = self.num_timesteps + self._between
            self._safely(self._look)

    def _on_training_end(self) -> None:
        self._safely(self._look)

    def _safely(self, work: Callable[[], None]) -> None:
        try:
            with undisturbed(self.model.policy):
                work()
        except Exception as problem:
            self._note(problem)

    def _note(self, problem: Exception) -> None:
        said = f"{type(problem).__name__}: {problem}"
        if said not in self.problems:
            self.problems.append(said)

    # --- counting

    def _start(self) -> None:
        model, envs = self.model, self.training_env
        self._between = max(1, model._total_timesteps // self._looks)
        self._next_look = model.num_timesteps
        if self._patient == (model, envs) and model.num_timesteps > 0:
            return  # the training goes on
        self._patient = model, envs
        self._forget()
        self._lengths = np.zeros(envs.num_envs, int)
        self._longest = 0
        self._ended: dict[int, int] = {}  # lengths of episodes that ended: how many
        self._reward_min, self._reward_max = np.inf, -np.inf
        self._alike = envs.num_envs > 1
        self._steps = 0
        self._same_starts, self._start_obs = True, None
        self._joined = model.num_timesteps
        self._target = _watched(model)
        self._target_said = np.nan if self._target is None else self._target.item()
        self._target_changes = 0
        self._timeouts_known = getattr(
            getattr(model, "replay_buffer", None), "handle_timeout_termination", True
        )
        said = self._said_limit
        self._time_limit = _time_limit(envs) if said is None else said

    def _count(self) -> None:
        """At every step, so without NumPy where rows are few: that takes longer."""
        there = self.locals
        rewards, dones = there["rewards"].tolist(), there["dones"].tolist()
        self._steps += 1
        self._lengths += 1
        self._reward_min = min(self._reward_min, *rewards)
        self._reward_max = max(self._reward_max, *rewards)
        if True in dones:
            self._end(np.flatnonzero(dones), there["infos"], there["new_obs"])
        if self._alike:
            self._alike = _are_alike(there["new_obs"])
        if self._target is not None:
            said = self._target.item()
            if said != self._target_said:
                self._target_said = said
                self._target_changes += 1

    def _end(self, over: np.ndarray, infos: list[dict[str, Any]], new_obs: Any) -> None:
        for env in over:
            length = int(self._lengths[env])
            self._longest = max(self._longest, length)
            out_of_time = infos[env].get("TimeLimit.truncated", False)
            if not (out_of_time and self._timeouts_known):
                self._ended[length] = self._ended.get(length, 0) + 1
        self._lengths[over] = 0
        if self._same_starts and not isinstance(new_obs, Mapping):
            if self._start_obs is None:
                self._start_obs = new_obs[over[0]].copy()
            self._same_starts = bool((new_obs[over] == self._start_obs).all())

    # --- looking

    def _look(self) -> None:
        model: Any = self.model
        on_policy = isinstance(model, OnPolicyAlgorithm)
        buffer = model.rollout_buffer if on_policy else model.replay_buffer
        self._because |= NOT_IN_SB3 | (NOT_ON_POLICY if on_policy else NOT_OFF_POLICY)
        self._given |= self._counted()
        if isinstance(model.observation_space, spaces.Dict):
            reason = "observations are a dictionary"
            self._because |= dict.fromkeys(("replay", "seen", "log_prob"), reason)
        elif buffer.size() and not (on_policy and buffer.generator_ready):
            for part in ON_POLICY if on_policy else OFF_POLICY:
                self._see(part)
        rows = self._given.pop("chain_rows", None)
        if rows is not None:
            enough = rows > (self._time_limit or 0)
            self._because["foreign-successor"] = "" if enough else SHORT_REPLAY
        for name, value in self._given.items():
            if isinstance(value, int | float):
                curve = self._curves.setdefault(name, [])
                curve.append((self.num_timesteps, float(value)))
        if self.verbose:
            self._tell()

    def _see(self, part: "Part") -> None:
        """One part of the model; what fails there leaves the others alone."""
        try:
            self._given |= part(self.model, self._because)
        except Exception as problem:
            self._note(problem)
        for name, curve in CURVES.items():
            if name in self._given:
                self._given.setdefault(curve, []).append(self._given.pop(name))

    def _counted(self) -> Numbers:
        """What was counted at every step."""
        model: Any = self.model
        counted: Numbers = {
            "gamma": model.gamma,
            "num_envs": len(self._lengths),
            "time_limit": self._time_limit,
            "longest_episode": int(max(self._longest, self._lengths.max())),
            "terminated_lengths": [
                length for length, times in self._ended.items() for _ in range(times)
            ],
            "same_starts": self._same_starts,
            "reward_min": float(self._reward_min),
            "reward_max": float(self._reward_max),
        }
        if self._time_limit is None:
            self._because["time_limit"] = UNLIMITED
        if not self._alike:
            counted["different_observations"] = len(self._lengths)
        elif self._steps >= UNTIL_DIFFERENT:
            counted["different_observations"] = 1
        if self._target is not None:
            counted |= self._renewals()
        self._because["learned_rewards"] = ENDLESS if self._learned_reward else UNSAID
        if self._learned_reward and self._ended:
            share = 1.0 if self._reward_min > 0 else float(self._reward_max > 0) / 2
            counted |= {"positive_reward_fraction": share, "terminal": "zero"}
        return counted

    def _renewals(self) -> Numbers:
        """In the whole training, as they have come so far. The next one may be near:
        until there is no time left for it, it counts."""
        model: Any = self.model
        begun = max(self._joined, model.learning_starts)
        learnt = model.num_timesteps - begun
        if learnt <= 0:
            self._because["target_updates"] = "it has not begun to learn"
            return {}
        left = max(0, model._total_timesteps - model.learning_starts - learnt)
        seen = self._target_changes
        expected = seen + (seen + 1) * left / learnt
        return {"target_updates": round(model.tau * expected)}

    def _tell(self) -> None:
        for number, finding in enumerate(self.report().findings, start=1):
            if finding.check not in self._told:
                self._told.add(finding.check)
                print(f"step {self.num_timesteps:,}", *finding.lines(number), sep="\n")

    # --- telling

    def report(self) -> Report:
        """What the last look saw, and what was counted up to it."""

        def lookup(name: str, check: Check) -> Any:
            if self._because.get(check.name) or self._given.get(name) is None:
                raise Missing(name)
            return self._given[name]

        shown = {name for check in CHECKS.values() for name in check.needs}
        exhibits = tuple(
            Exhibit.of_curve(name, curve)
            for name, curve in self._curves.items()
            if name in shown and name in (*MEASURES, "target_updates")
        )
        patient = type(self.model).__name__ if hasattr(self, "model") else "no training"
        said = diagnose(patient, lookup, self._because, exhibits)
        wrong = {"went wrong in a look": "; ".join(self.problems)}
        return replace(said, facts=wrong if self.problems else {})


@contextmanager
def undisturbed(policy: torch.nn.Module) -> Iterator[None]:
    """Whatever is done inside, generators, gradients and modes are as before. Inside,
    the policy is not in training: what normalises batches would note these, too."""
    numpy_state, python_state = np.random.get_state(), random.getstate()
    modes = [(module, module.training) for module in policy.modules()]
    policy.train(False)
    try:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            yield
    finally:
        np.random.set_state(numpy_state)
        random.setstate(python_state)
        for module, training in modes:
            module.training = training


def _time_limit(envs: Any) -> int | None:
    """As registered; None where there is none, or where nobody can say."""
    try:
        return envs.get_attr("spec")[0].max_episode_steps
    except Exception:
        return None


def _are_alike(obs: Any) -> bool:
    """Whether all rows, of all parts of a dictionary, are the same."""
    parts = obs.values() if isinstance(obs, Mapping) else [obs]
    return all(different_observations(part) == 1 for part in parts)


def _watched(model: Any) -> Tensor | None:
    """Of a target network that is renewed as a whole: a number that shows it."""
    target = getattr(model, "q_net_target", None)
    if target is None:
        return None
    return list(target.parameters())[-1].detach()[0]


def _norm(gradient: Tensor | None) -> float:
    return 0.0 if gradient is None else float(gradient.norm())


def _spread(count: int, rows: int = ROWS) -> np.ndarray:
    """Numbers of rows at equal distances, so that no dice are thrown."""
    return np.unique(np.linspace(0, count - 1, min(rows, count)).astype(int))


def _tensor(model: Any, rows: np.ndarray) -> Tensor:
    """Where its networks are."""
    return torch.as_tensor(rows, device=model.device)


def _inputs(model: Any, obs: np.ndarray) -> Numbers:
    """Observations as its networks see them, and how they are scaled."""
    space, policy = model.observation_space, model.policy
    seen = preprocess_obs(torch.as_tensor(obs), space, policy.normalize_images)
    if not isinstance(seen, Tensor):
        return {}
    return {"seen": seen.flatten(1).numpy()}


def _scaled(model: Any, obs: np.ndarray, because: dict[str, str]) -> Numbers:
    """Of `VecNormalize`, given observations as the world gave them."""
    normalised = model.get_vec_normalize_env()
    if normalised is None or not normalised.norm_obs:
        because |= dict.fromkeys(("hand-scaled", "magnified-constant"), UNSCALED)
        return {}
    because["magnified-constant"] = ""
    because["hand-scaled"] = FOLLOWED if normalised.training else ""
    stats = normalised.obs_rms
    std = np.sqrt(stats.var + normalised.epsilon)
    return {"observations": obs, "obs_mean": stats.mean, "obs_std": std}


# --- PPO and A2C: the rollout that is about to be learnt from, and the gradients that
# the last update left


def _rollout(model: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Observations as they are seen, actions and their log-probabilities."""
    buffer = model.rollout_buffer
    rows = _spread(buffer.observations.shape[0] * buffer.n_envs)
    obs, action, log_prob = (
        _tensor(model, column.reshape(-1, *column.shape[2:])[rows])
        for column in (buffer.observations, buffer.actions, buffer.log_probs)
    )
    if isinstance(model.action_space, spaces.Discrete):
        action = action.long().flatten()
    return obs, action, log_prob


def _ratio(model: Any, because: dict[str, str]) -> Numbers:
    obs, action, old_log_prob = _rollout(model)
    _, log_prob, entropy = model.policy.evaluate_actions(obs, action)
    found: Numbers = {
        "log_prob": log_prob,
        "old_log_prob": old_log_prob.reshape(log_prob.shape),
    }
    if isinstance(model.action_space, spaces.Box) and entropy is not None:
        found |= {
            "entropy": float(entropy.mean()),
            "action_dim": int(np.prod(model.action_space.shape)),
            "ent_coef": float(model.ent_coef),
        }
    else:
        because["entropies"] = CONTINUOUS
    return found


def _divergence(model: Any, because: dict[str, str]) -> Numbers:
    """Of the update before, as PPO has logged it and not shown yet."""
    logged = model.logger.name_to_value.get("train/approx_kl")
    return {} if logged is None else {"approx_kl": float(logged)}


def _rollout_inputs(model: Any, because: dict[str, str]) -> Numbers:
    obs = _rollout(model)[0].cpu().numpy()
    normalised = model.get_vec_normalize_env()
    raw = obs if normalised is None else normalised.unnormalize_obs(obs)
    return _inputs(model, obs) | _scaled(model, raw, because)


def _value(model: Any, because: dict[str, str]) -> Numbers:
    found: Numbers = {"value_mean": float(model.rollout_buffer.values.mean())}
    if model._n_updates:
        found["value_grad_norm"] = _norm(model.policy.value_net.weight.grad)
    return found


def _deviation(model: Any, because: dict[str, str]) -> Numbers:
    policy = model.policy
    if not isinstance(model.action_space, spaces.Box):
        because["unbounded_log_std"] = CONTINUOUS
        return {}
    if model.use_sde:
        because["unbounded_log_std"] = BY_STATE
        return {}
    obs, _, _ = _rollout(model)
    used = policy.get_distribution(obs).distribution.stddev.log()
    off = (used - policy.log_std).abs() > 1e-5  # exp and log round
    found: Numbers = {
        "bounded_std_fraction": float(off.float().mean()),
        "log_std": float(used.mean()),
    }
    if model._n_updates:
        found["log_std_grad_norm"] = _norm(policy.log_std.grad)
    return found


# --- DQN, SAC and TD3: the replay


def _stored(model: Any) -> tuple[np.ndarray, Tensor, Tensor]:
    """Observations as the world gave them and as they are seen, and actions."""
    buffer = model.replay_buffer
    rows = (buffer.pos - 1 - _spread(buffer.size())) % buffer.buffer_size
    obs, action = buffer.observations[rows, 0], buffer.actions[rows, 0]
    normalised = model.get_vec_normalize_env()
    seen = obs if normalised is None else normalised.normalize_obs(obs)
    return obs, _tensor(model, seen), _tensor(model, action)


def _stored_inputs(model: Any, because: dict[str, str]) -> Numbers:
    obs, seen, _ = _stored(model)
    return _inputs(model, seen.cpu().numpy()) | _scaled(model, obs, because)


def _q(model: Any, because: dict[str, str]) -> Numbers:
    _, seen, action = _stored(model)
    if hasattr(model, "q_net"):
        because |= {"q": LOSS, "unbounded_log_std": CONTINUOUS}
        values = model.q_net(seen).gather(1, action.long().view(-1, 1))
    else:
        because["target_updates"] = FOLLOWS
        values = model.critic(seen, action.float())[0]
    return {"value_mean": float(values.mean())}


def _soft(model: Any, because: dict[str, str]) -> Numbers:
    """SAC's deviations before and after their bounds, and the most that its entropy
    bonus can pay: log 2 for each action, which lies in [−1, 1]."""
    if not hasattr(model, "ent_coef_optimizer"):
        because.setdefault("unbounded_log_std", "its policy has no deviation")
        return {}
    actor, (_, seen, _) = model.actor, _stored(model)
    _, log_std, _ = actor.get_action_dist_params(seen)
    log_alpha = model.log_ent_coef
    alpha = model.ent_coef_tensor if log_alpha is None else log_alpha.exp()
    found: Numbers = {"entropy_bonus": float(alpha * log_std.shape[1] * np.log(2))}
    if model.use_sde:
        because["unbounded_log_std"] = BY_STATE
        return found
    features = actor.extract_features(seen, actor.features_extractor)
    found |= {
        "unbounded_log_std": actor.log_std(actor.latent_pi(features)),
        "log_std": log_std,
    }
    if model._n_updates:
        found["log_std_grad_norm"] = _norm(actor.log_std.weight.grad)
    return found


def _chain(model: Any, because: dict[str, str]) -> Numbers:
    """The steps of one environment that follow each other, in the latest part of the
    replay."""
    buffer = model.replay_buffer
    if buffer.optimize_memory_usage:
        because["foreign-successor"] = "successors are not stored"
        return {}
    per_row = int(np.prod(buffer.observations.shape[1:]))
    count = min(buffer.size(), LARGEST_WINDOW // max(1, per_row))
    rows = (buffer.pos - count + np.arange(count)) % buffer.buffer_size
    led = buffer.next_observations[rows[:-1]] == buffer.observations[rows[1:]]
    linked = led.all(axis=tuple(range(2, led.ndim)))
    chain = max((longest_run(column) for column in linked.T), default=0)
    return {"longest_chain": chain, "chain_rows": count}


Part = Callable[[Any, dict[str, str]], Numbers]

ON_POLICY: tuple[Part, ...] = (
    *(_ratio, _divergence),
    *(_rollout_inputs, _value, _deviation),
)
OFF_POLICY: tuple[Part, ...] = (_chain, _stored_inputs, _q, _soft)
NOT_IN_SB3 = dict.fromkeys(
    (
        *("continued_fractions", "wrap", "actions", "gae_lambda", "explored"),
        *("first_score_deviation", "first_state_share", "discriminator"),
        *("make_env", "demonstrations"),
    ),
    UNSEEN,
)
NOT_ON_POLICY = {
    "q": "there is no Q",
    "replay": "there is no replay",
    "target_updates": "there is no target network",
    "value_loss": "SB3 computes its loss in private",
    "value_grad_norm": "there was no update yet",
    "log_std_grad_norm": "there was no update yet",
    "approx_kls": "no update has said how far it went; A2C never does",
}
NOT_OFF_POLICY = {
    "log_prob": "there is no ratio",
    "q": "its critics have no value for each action",
    "value_loss": "there is no V",
    "value_grad_norm": "there is no V",
    "entropies": "its bonus is that of what is played, or there is none",
    "approx_kls": "it does not say how far an update goes",
    "log_std_grad_norm": "there was no update yet",
}
