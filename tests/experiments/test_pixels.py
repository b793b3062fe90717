"""The pixel rows: what training does to a game stays out of the judging, twins differ
by what they say, and everything runs at the smallest budget."""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from rlnotes.algos import ppo
from rlnotes.envs.atari import AtariEnv, AtariVectorEnv, Game
from rlnotes.envs.rewards import DelayedReward, TouchReward
from rlnotes.experiments import pixels
from rlnotes.experiments.pixels import GameSettings, judged, training_envs
from rlnotes.experiments.registry import find
from rlnotes.experiments.settings import as_json, differences
from rlnotes.runs import resume
from rlnotes.runs.run import train_live

OURS = [
    "pong/ppo",
    "pong/a2c",
    "pong/cleanrl",
    "breakout/dqn",
    "breakout/a2c",
    "pixels/cartpole",
    "pixels/cartpole-line",
    "pixels/credit",
    "pixels/eyes",
    "sparse/pong",
    "sparse/basicmath",
]
SB3 = [
    "pong/sb3-ppo",
    "pong/sb3-a2c",
    "pong/sb3-dqn",
    "breakout/sb3-dqn",
    "breakout/sb3-a2c",
]


def test_games_are_judged_whole_and_by_their_score() -> None:
    game = Game("breakout", terminal_on_life_loss=True, clip_reward=True, frame_skip=3)
    world = judged(game)
    env: Any = world.make().unwrapped
    assert isinstance(env, AtariEnv)
    assert env.game == replace(game, terminal_on_life_loss=False, clip_reward=False)
    assert world.make(render_mode="rgb_array").spec is not None


def test_a_policy_is_judged_in_games_whose_pictures_are_not_kept() -> None:
    world = judged(Game("breakout"))
    with world.stage() as stage:
        one, other = stage.play(lambda obs: np.zeros(len(obs), int), [1, 2])
    assert one.terminated
    assert other.observations.shape == (1, 4, 84, 84)
    assert len(one.rewards) > 50


@pytest.mark.parametrize("id", [*OURS, *SB3])
def test_every_row_is_judged_unclipped(id: str) -> None:
    experiment = find(id)
    for variant in experiment.variants:
        settings = experiment.settings_for(variant, "full")
        world = experiment.world(settings)
        assert world.sampled
        assert not world.keep_obs
        assert not world.options.get("clip_reward", False)
        assert not world.options.get("terminal_on_life_loss", False)
        assert "divide_reward" not in world.options


@pytest.mark.parametrize(
    ("healthy", "faulty", "setting"),
    [
        ("pong/ppo/first-third", "pong/ppo/value-clip", "agent.value_loss"),
        ("pong/ppo/early", "pong/ppo/lost-done", "lost_done"),
        ("pong/ppo/early", "pixels/credit/skip-1", "game.frame_skip"),
        ("pong/ppo/early", "pixels/credit/no-max-pool", "game.max_pool"),
        ("pong/ppo/early", "pixels/credit/touch", "touch_reward"),
        ("pong/ppo/early", "sparse/pong/delay-20", "reward_delay"),
        ("pong/a2c/a2c", "pong/a2c/one-step", "agent.num_steps"),
        ("pong/a2c/a2c", "pong/a2c/one-step-targets", "agent.gae_lambda"),
        ("pong/a2c/a2c", "pong/a2c/no-grad-clip", "agent.max_grad_norm"),
        ("breakout/dqn/dqn", "breakout/dqn/small-replay", "agent.buffer_size"),
        ("pixels/cartpole/ppo", "pixels/cartpole/divided", "divide_reward"),
        ("pixels/cartpole/ppo", "pixels/cartpole/skip-4", "frame_skip"),
        ("pixels/cartpole/ppo", "pixels/cartpole-line/line", "line"),
    ],
)
def test_the_twins_differ_by_one_thing(healthy: str, faulty: str, setting: str) -> None:
    ways = (address.rpartition("/") for address in (healthy, faulty))
    one, other = (find(id).settings_for(variant, "full") for id, _, variant in ways)
    lengths = {"length", "annealing_length"}  # some are beginnings only
    assert set(differences(as_json(one), other)) - lengths == {setting}
    annealed = (x.steps * x.annealing_length for x in (one, other))
    assert next(annealed) == pytest.approx(next(annealed))


@pytest.mark.parametrize(
    "id", ["pong/ppo", "pixels/credit", "pixels/eyes", "sparse/pong"]
)
def test_the_steps_are_whole_rollouts(id: str) -> None:
    settings: Any = find(id).settings_for(find(id).main_variant, "full")
    assert settings.steps % (settings.num_envs * settings.agent.num_steps) == 0
    assert settings.steps <= 2_000_000


def test_every_eye_is_annealed_alike_and_ends_with_a_whole_rollout() -> None:
    eyes, whole = find("pixels/eyes"), find("pong/ppo").settings_for("ppo", "full")
    for variant in eyes.variants:
        settings: Any = eyes.settings_for(variant, "full")
        assert settings.steps % 2_048 == 0
        assert settings.steps % settings.budget.evaluations == 0
        assert round(settings.steps * settings.annealing_length) == whole.steps
        env = judged(settings.game).make()
        spaces = env.observation_space, env.action_space
        ppo.new_policy(*spaces, settings.agent, eye=settings.eye)  # it fits


def test_speed_counts_the_learner_and_not_what_comes_between(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of a clock that others move on, too."""
    now = [5.0]
    monkeypatch.setattr(time, "process_time", lambda: now[0])

    def learner() -> Iterator[tuple[int, dict[str, Any]]]:
        for step in (120, 140):
            now[0] += 2.0
            yield step, {"loss": 1.0}

    agent = SimpleNamespace(step=100)  # it goes on from there
    found = []
    for step, diagnostics in pixels.with_speed(learner(), agent):
        now[0] += 50.0  # an evaluation
        found.append((step, diagnostics["steps_per_cpu_second"]))
        assert diagnostics["loss"] == 1.0
    assert found == [(120, 10.0), (140, 10.0)]


def test_training_changes_the_game_as_it_is_told() -> None:
    settings: GameSettings = find("pong/ppo").settings
    settings = replace(settings, num_envs=2)
    assert isinstance(training_envs(settings), AtariVectorEnv)
    late = training_envs(replace(settings, reward_delay=3, touch_reward=0.1))
    assert isinstance(late, DelayedReward)
    assert isinstance(late.env, TouchReward)


def small(id: str) -> dict[str, Any]:
    """Of a row's settings: the least that goes through all that it does."""
    if id in SB3:
        return {"budget.steps": 64, "num_envs": 2} | {
            "ppo": {"agent.n_steps": 16, "agent.batch_size": 16, "agent.n_epochs": 1},
            "a2c": {},
            "dqn": {"agent.learning_starts": 16, "agent.buffer_size": 64},
        }[id.rpartition("-")[2]]
    agent = find(id).settings.agent
    rollouts = {"agent.num_steps": 16, "agent.update_epochs": 1}
    replays = {"agent.learning_starts": 16, "agent.buffer_size": 64}
    more = rollouts if hasattr(agent, "num_steps") else replays
    return {"budget.steps": 64, "num_envs": 2, **more}


@pytest.mark.slow(seconds=20)
@pytest.mark.parametrize("id", [*OURS, *SB3])
def test_it_learns_and_is_judged_greedily_and_drawn(
    id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For a few steps, and in games that are cut short."""
    original = pixels.judged

    def short(game: Game) -> Any:
        world = original(game)
        return replace(world, options={**world.options, "max_episode_steps": 40})

    for module in ("pixels", "pixels_sb3"):
        monkeypatch.setattr(f"rlnotes.experiments.{module}.judged", short)
    experiment = find(id)
    settings = experiment.settings_for(experiment.main_variant, "smoke", small(id))
    trial = experiment.trial(settings, seed=0)
    *_, (step, last) = trial.stream
    assert step >= settings.steps
    assert {"final_return", "final_best_return", "final_sampled_return"} <= set(last)
    assert id in SB3 or last["steps_per_cpu_second"] > 0
    assert trial.policy is not None
    assert trial.policy.eye is not None


@pytest.mark.slow(seconds=10)
def test_dqn_goes_on_with_the_pictures_that_it_has_seen(tmp_path: Path) -> None:
    experiment = find("pixels/cartpole")
    few = {"agent.learning_starts": 16, "agent.buffer_size": 64, "num_envs": 2}
    settings = experiment.settings_for("dqn", "smoke", few | {"budget.steps": 600})
    first = experiment.trial(settings, 0)
    for step, _ in first.stream:
        if step == 100:
            break
    file = tmp_path / "state"
    resume.save(file, first, resume.Progress([], {"settings": None}))
    second = experiment.trial(settings, 0)
    resume.restore(file, second, None)
    one, other = (trial.agent.memory.all() for trial in (first, second))
    assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))
    assert next(second.stream)[0] == 101


@pytest.mark.slow(seconds=60)
def test_a_small_eye_learns_to_balance_a_little() -> None:
    """At the smallest budget a policy that has learnt nothing falls within 10 to 60
    frames; this only shows that all parts hold together."""
    live = train_live("pixels/cartpole", budget="smoke", progress=False)
    assert live.record.last("final_return") >= 8
    assert live.record.last("final_sampled_return") >= 8
