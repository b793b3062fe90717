"""A run that was stopped goes on: bit for bit where the data is fixed, and in any case
with all that its learner had."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch

from rlnotes.algos import (
    bc,
    dqn,
    gail,
    offline_gail,
    ppo,
    reinforce,
    sac,
    sac_bc,
    td3_bc,
)
from rlnotes.algos.policy import Policy
from rlnotes.data.rollouts import Episode
from rlnotes.data.transitions import Transitions
from rlnotes.envs.vector import make_vec_env
from rlnotes.errors import UserError
from rlnotes.experiments import registry
from rlnotes.experiments.base import (
    Budget,
    Experiment,
    Settings,
    Trial,
    Variant,
    World,
    new_trial,
)
from rlnotes.experiments.trials import (
    OfflineSettings,
    OnlineSettings,
    offline_trial,
    online_trial,
)
from rlnotes.paths import Run
from rlnotes.runs import resume, store
from rlnotes.runs import run as running

PENDULUM, CARTPOLE = World("Pendulum-v1"), World("CartPole-v1")
STEPS = 24
BUDGET = Budget(STEPS, evaluations=3, curve_episodes=1, final_episodes=1)
SMALL: dict[str, Any] = {"hidden": (8,), "batch_size": 4}


def shown(world: World) -> list[Episode]:
    """What somebody at random might have played there, in form at least."""
    rng = np.random.default_rng(0)
    width = 3 if world is PENDULUM else 4
    torques, pushes = rng.uniform(-2, 2, (20, 1)), rng.integers(2, size=20)
    observations = rng.normal(size=(21, width)).astype(np.float32)
    actions = torques.astype(np.float32) if world is PENDULUM else pushes
    return [Episode(0, observations, actions, rng.normal(size=20), True, False)]


def data(world: World) -> Transitions:
    return Transitions.from_episodes(shown(world))


def start_offline(settings: OfflineSettings, seed: int) -> Trial:
    return offline_trial(PENDULUM, settings, data(PENDULUM))


@dataclass(frozen=True, kw_only=True)
class GeneratorSettings(Settings):
    agent: ppo.Config | gail.Config


def start_offline_gail(settings: GeneratorSettings, seed: int) -> Trial:
    agent, policy = new_gail(settings)
    stream = offline_gail.train(agent, data(CARTPOLE), settings.steps)
    return new_trial(policy, agent, stream, CARTPOLE, settings)


def new_gail(settings: GeneratorSettings) -> tuple[gail.Agent, Policy]:
    assert isinstance(settings.agent, gail.Config)
    policy = ppo.new_policy(*CARTPOLE.spaces(), settings.agent.generator)
    return gail.Agent(policy, settings.agent), policy


def registered(
    monkeypatch: pytest.MonkeyPatch,
    settings: Settings,
    start: Callable[[Any, int], Trial],
) -> Run:
    experiment: Experiment[Any] = Experiment(
        id="toy/resumed",
        world=lambda settings: PENDULUM,
        settings=settings,
        budgets={"smoke": BUDGET},
        variants={"only": Variant("the only one", stages=(1, 2))},
        bars=(),
        start=start,
    )
    monkeypatch.setitem(registry.EXPERIMENTS, experiment.id, experiment)
    return Run(experiment.id, "only", 0, "smoke")


Learner = tuple[Settings, Callable[[Any, int], Trial]]

TD3_BC = OfflineSettings(agent=td3_bc.Config(**SMALL), dataset="none")
BC = OfflineSettings(agent=bc.Config(**SMALL), dataset="none")
SAC_BC = OfflineSettings(agent=sac_bc.Config(**SMALL), dataset="none")
GENERATOR = ppo.Config(num_steps=4, update_epochs=1, anneal_lr=True, **SMALL)
GAIL = GeneratorSettings(agent=gail.Config(disc_batch_size=4, generator=GENERATOR))
OFFLINE: dict[str, Learner] = {
    "bc": (BC, start_offline),
    "td3_bc": (TD3_BC, start_offline),
    "sac_bc": (SAC_BC, start_offline),
    "offline_gail": (GAIL, start_offline_gail),
}


@pytest.fixture(params=list(OFFLINE))
def offline(request: Any, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A learner on fixed data."""
    return registered(monkeypatch, *OFFLINE[request.param])


def train(run: Run) -> store.Record:
    return running.run(run, replace=True, progress=False, save_every=0)


def train_until(run: Run, save: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupted right after the given number of saved states."""
    saves = [0]

    def interrupting(*arguments: Any, keep: Any = resume.save) -> None:
        keep(*arguments)
        saves[0] += 1
        if saves[0] == save:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(resume, "save", interrupting)
        with pytest.raises(KeyboardInterrupt):
            train(run)


# The evaluations are at 8, 16 and 24.
@pytest.mark.parametrize("stop", [1, 8, 9, STEPS - 1])
def test_an_offline_run_goes_on_bit_for_bit(
    offline: Run, stop: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = train(offline)
    policies = offline.checkpoint.read_bytes()
    train_until(offline, stop, monkeypatch)
    torch.manual_seed(12345)  # another process has another state of chance
    resumed = train(offline)
    assert resumed.rows == whole.rows
    assert offline.checkpoint.read_bytes() == policies
    assert (whole.info["resumptions"], resumed.info["resumptions"]) == (0, 1)


def test_it_may_be_stopped_more_than_once(
    offline: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = train(offline)
    for _ in range(3):
        train_until(offline, 5, monkeypatch)
    resumed = train(offline)
    assert (resumed.rows, resumed.info["resumptions"]) == (whole.rows, 3)
    assert not offline.in_flight.exists()


def test_the_control_a_run_that_forgets_its_chance_is_another(
    offline: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without it, the comparisons above could not fail."""
    whole = train(offline)
    train_until(offline, 8, monkeypatch)
    with monkeypatch.context() as patched:
        patched.setattr(torch, "set_rng_state", lambda state: None)
        assert train(offline).rows != whole.rows


def test_what_is_said_of_its_start_is_of_its_first(
    offline: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "_revision", lambda: "of the first start")
    train_until(offline, 5, monkeypatch)
    monkeypatch.setattr(running, "_revision", lambda: "of the resumption")
    assert train(offline).info["revision"] == "of the first start"


def test_a_run_that_is_over_saves_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else one that stopped because it was good enough would be trained on, and end
    twice."""
    enough = replace(BC, stop_at_return=-1e9)
    run = registered(monkeypatch, enough, start_offline)
    saved = []

    def save(path: Path, trial: Trial, progress: resume.Progress) -> None:
        saved.append(progress.rows[-1:])

    monkeypatch.setattr(resume, "save", save)
    record = train(run)
    assert record.rows[-1][0] == STEPS // BUDGET.evaluations
    assert len(saved) == STEPS // BUDGET.evaluations - 1
    assert not any(saved)


# --- every learner's state comes back whole


def start_online(world: World) -> Callable[[OnlineSettings, int], Trial]:
    return lambda settings, seed: online_trial(world, settings, seed)


def start_ppo(settings: GeneratorSettings, seed: int) -> Trial:
    assert isinstance(settings.agent, ppo.Config)
    policy = ppo.new_policy(*CARTPOLE.spaces(), settings.agent)
    agent, envs = ppo.Agent(policy, settings.agent), make_vec_env(CARTPOLE.make, 2)
    stream = ppo.train(agent, envs, settings.steps, seed)
    return new_trial(policy, agent, stream, CARTPOLE, settings)


def start_gail(settings: GeneratorSettings, seed: int) -> Trial:
    agent, policy = new_gail(settings)
    envs, expert = make_vec_env(CARTPOLE.make, 2), shown(CARTPOLE)
    stream = gail.train(agent, envs, expert, settings.steps, seed, warn=False)
    return new_trial(policy, agent, stream, CARTPOLE, settings)


LEARNERS: dict[str, Learner] = {
    **OFFLINE,
    "sac": (
        OnlineSettings(agent=sac.Config(learning_starts=4, buffer_size=9, **SMALL)),
        start_online(PENDULUM),
    ),
    "dqn": (
        OnlineSettings(agent=dqn.Config(learning_starts=4, buffer_size=9, **SMALL)),
        start_online(CARTPOLE),
    ),
    "reinforce": (
        OnlineSettings(agent=reinforce.Config(hidden=(8,), episodes_per_update=3)),
        start_online(CARTPOLE),
    ),
    "ppo": (GeneratorSettings(agent=GENERATOR), start_ppo),
    "ppo_norm_obs": (
        GeneratorSettings(agent=replace(GENERATOR, norm_obs=True)),
        start_ppo,
    ),
    "gail": (GAIL, start_gail),
}


def content(file: Path) -> tuple[Any, dict[str, torch.Tensor]]:
    with safetensors.safe_open(file, framework="pt") as opened:
        names = list(opened.keys())
        tensors = {name: opened.get_tensor(name) for name in names}
        return json.loads(opened.metadata()["state"]), tensors


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_state_that_is_restored_is_the_one_that_was_saved(
    learner: str, tmp_path: Path
) -> None:
    settings, start = LEARNERS[learner]
    settings = replace(settings, budget=replace(BUDGET, steps=100))
    torch.manual_seed(0)
    trial = start(settings, 0)
    rows = [(step, "x", 0.5) for step, _ in trial.stream]
    rows.append((100, "nothing", float("nan")))
    info = {"settings": {"a": [1]}}
    first, second = tmp_path / "first", tmp_path / "second"
    progress = resume.Progress(rows, info, wall_seconds=1.5, resumptions=2)
    resume.save(first, trial, progress)

    torch.manual_seed(1)
    other = start(settings, 0)
    restored = resume.restore(first, other, {"a": [1]})
    assert restored.resumptions == 3
    assert repr(restored.rows) == repr(rows)
    restored.resumptions = 2
    resume.save(second, other, restored)
    about, tensors = content(first)
    again, others = content(second)
    assert repr(about) == repr(again)
    if learner == "reinforce":
        assert len(tensors["agent.returns"]) > 0  # episodes that wait for an update
    assert tensors.keys() == others.keys()
    assert all(torch.equal(tensors[name], others[name]) for name in tensors)
    assert any(not torch.equal(x, y) for x, y in _weights(trial, start(settings, 0)))
    assert list(other.stream) == []  # nothing is left to do


def _weights(one: Trial, other: Trial) -> Any:
    assert one.policy is not None
    assert other.policy is not None
    return zip(one.policy.parameters(), other.policy.parameters(), strict=True)


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_learner_goes_on_to_its_end(
    learner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = registered(monkeypatch, *LEARNERS[learner])
    train_until(run, 1, monkeypatch)
    record = train(run)
    assert record.info["resumptions"] == 1
    assert record.rows[-1][0] >= STEPS
    steps = [step for step, _ in record.curve("return")]
    assert steps == sorted(set(steps))
    assert len(record.curve("final_return")) == 1


# --- damage


def flip_bit(file: Path) -> None:
    damaged = bytearray(file.read_bytes())
    damaged[-9] ^= 1
    file.write_bytes(damaged)


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-50])


def empty(file: Path) -> None:
    file.write_bytes(b"")


def without_state(file: Path) -> None:
    safetensors.torch.save_file({"x": torch.zeros(3)}, file)


def no_object(file: Path) -> None:
    safetensors.torch.save_file({"x": torch.zeros(3)}, file, {"state": "null"})


def no_file(file: Path) -> None:
    file.unlink()
    file.mkdir()


DAMAGES = [flip_bit, cut, empty, without_state, no_object, no_file]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_state_is_one_sentence(
    damage: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = registered(monkeypatch, TD3_BC, start_offline)
    train_until(run, 3, monkeypatch)
    state = run.in_flight / "state.safetensors"
    damage(state)
    with pytest.raises(UserError, match="cannot be used.*Remove the file") as problem:
        train(run)
    assert str(state) in str(problem.value)
    assert "\n" not in str(problem.value)
    assert state.exists()


@pytest.mark.parametrize("override", [{"agent.gamma": 0.9}, {"agent.hidden": (9,)}])
def test_a_run_does_not_go_on_with_other_settings(
    override: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its record would name settings that only half of it was trained with."""
    run = registered(monkeypatch, TD3_BC, start_offline)
    train_until(run, 3, monkeypatch)
    experiment = registry.find(run.id)
    edited = {"only": Variant("the only one", override)}
    monkeypatch.setitem(
        registry.EXPERIMENTS, run.id, replace(experiment, variants=edited)
    )
    with pytest.raises(UserError, match="settings are others now.*Remove the file"):
        train(run)


# --- killed in earnest


def start_killable(run: Run) -> "subprocess.Popen[bytes]":
    command = [sys.executable, *run.command.split()[1:], "--quiet"]
    return subprocess.Popen([*command, "--save-every", "0"])


@pytest.mark.slow(seconds=10)
def test_a_killed_run_goes_on_when_it_is_started_again() -> None:
    run = Run("experts/pendulum", "half-trained", 0, "smoke")
    state = run.in_flight / "state.safetensors"
    first = start_killable(run)
    deadline = time.monotonic() + 120
    while not state.exists():
        assert first.poll() is None, "it ended before it saved anything"
        assert time.monotonic() < deadline, "it never saved anything"
        time.sleep(0.01)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    assert store.recorded_seeds(run.id, run.variant, run.budget) == []
    assert state.exists()

    assert start_killable(run).wait() == 0
    record = store.read(run)
    assert record.info["resumptions"] == 1
    assert record.rows[-1][0] == 187  # 0.17 × 1,100
    assert not run.in_flight.exists()
