"""RLlib's DQN and runners: nothing that did not happen goes unseen, and nothing of Ray
is left."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import psutil
import pytest

from rlnotes.data.rollouts import NO_SEED, Episode
from rlnotes.errors import UserError
from rlnotes.experiments import parallel_rllib, registry
from rlnotes.experiments.parallel_rllib import CARTPOLE, DqnOptions, PlainLoop
from rlnotes.runs.run import train_live

IDS = ["parallel/rllib-dqn", "parallel/rllib-runners"]
SEEDS = [7, 8]


def played(seed: int, cuts: list[int]) -> list[Episode]:
    """Random play in one world, cut into pieces of at most so many steps."""
    env, rng = CARTPOLE.make(), np.random.default_rng(seed)
    obs, _ = env.reset(seed=seed)
    pieces = []
    for cut in cuts:
        actions: list[int] = []
        observations, ends = [obs], [False, False]
        while len(actions) < cut and not any(ends):
            actions.append(int(rng.integers(2)))
            obs, _, *ends, _ = env.step(actions[-1])
            observations.append(obs)
        columns = np.stack(observations), np.array(actions), np.ones(len(actions))
        pieces.append(Episode(NO_SEED, *columns, bool(ends[0]), bool(ends[1])))
        if any(ends):
            obs, _ = env.reset()
    return pieces


PIECES = [piece for seed in SEEDS for piece in played(seed, [5, 500, 500, 1, 9])]
TOTAL = sum(len(piece.rewards) for piece in PIECES)


def compared(pieces: list[Episode]) -> tuple[float, float]:
    found = PlainLoop(CARTPOLE.make, SEEDS).follow(pieces)
    total, wrong = float(found["compared"]), float(found["mismatches"])
    assert float(found["verified_percent"]) == pytest.approx(100 * (1 - wrong / total))
    return total, wrong


def test_what_happened_is_found_in_any_order_and_any_number_of_samples() -> None:
    assert compared(PIECES) == compared(PIECES[::-1]) == (TOTAL, 0)
    loop = PlainLoop(CARTPOLE.make, SEEDS)
    for sample in (PIECES[:1], PIECES[1:7], PIECES[7:]):
        found = loop.follow(sample)
    assert (float(found["compared"]), float(found["mismatches"])) == (TOTAL, 0)


def with_changed(index: int, **columns: Any) -> list[Episode]:
    return [*PIECES[:index], replace(PIECES[index], **columns), *PIECES[index + 1 :]]


def test_every_transition_that_did_not_happen_is_counted() -> None:
    """In a piece of five steps, and the one after it."""
    piece = PIECES[0]
    assert not piece.terminated
    rewards = np.array([1, 1, 0, 1, 1])
    assert compared(with_changed(0, rewards=rewards)) == (TOTAL, 1)
    nudged = piece.observations.copy()
    nudged[3] = np.nextafter(nudged[3], 1)
    assert compared(with_changed(0, observations=nudged)) == (TOTAL, 1)
    assert compared(with_changed(0, terminated=True)) == (TOTAL, 1)
    assert compared(with_changed(0, truncated=True)) == (TOTAL, 1)


def test_an_end_that_is_concealed_is_counted() -> None:
    piece = PIECES[1]
    assert piece.terminated
    assert compared(with_changed(1, terminated=False)) == (TOTAL, 1)
    longer = {
        "observations": np.concatenate([piece.observations, piece.observations[:2]]),
        "actions": np.append(piece.actions, [0, 0]),
        "rewards": np.ones(len(piece.rewards) + 2),
        "terminated": False,
    }
    # The step that ended it, and two that were never made.
    assert compared(with_changed(1, **longer)) == (TOTAL + 2, 3)


def test_what_begins_nowhere_is_wrong_from_end_to_end() -> None:
    """Also what another seed began with, or the same piece twice."""
    (stranger,) = played(9, [5])
    assert compared([*PIECES, stranger]) == (TOTAL + 5, 5)
    assert compared([*PIECES, PIECES[0]]) == (TOTAL + 5, 5)


@pytest.mark.parametrize("id", IDS)
def test_without_ray_the_sentence_says_how_to_install_it(
    id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = registry.find(id)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match="Ray is not installed. Install it with: pip"):
        experiment.trial(experiment.settings_for(experiment.main_variant, "smoke"), 0)


def test_a_rate_that_is_annealed_falls_to_zero_at_the_last_step() -> None:
    experiment = parallel_rllib.RLLIB_DQN
    settings = experiment.settings_for("dqn", "full")
    rate = parallel_rllib.training_options(settings)["lr"]
    assert rate == [[0, settings.agent.lr], [settings.steps, 0.0]]


def test_the_notes_have_25_iterations_of_as_many_steps_as_rllib_makes() -> None:
    experiment = parallel_rllib.RLLIB_DQN
    settings = experiment.settings_for("notes", "full")
    assert settings.steps == 25_000
    assert settings.steps // settings.budget.evaluations == 1_000
    assert parallel_rllib.training_options(settings)["lr"] == 1e-4


@pytest.mark.slow(seconds=10)
def test_the_defaults_are_those_of_the_installed_library() -> None:
    from ray.rllib.algorithms.dqn import DQNConfig
    from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig

    library = DQNConfig()
    found = {name: getattr(library, name) for name in vars(DqnOptions())}
    found["train_batch_size_per_learner"] = library.total_train_batch_size
    found["epsilon"] = tuple(found["epsilon"])
    assert found == vars(DqnOptions())
    settings = parallel_rllib.RllibDqnSettings()
    replay = library.replay_buffer_config
    assert settings.replay_buffer == replay["type"]
    assert settings.capacity == replay["capacity"]
    assert settings.hidden == tuple(DefaultModelConfig().fcnet_hiddens)
    assert settings.rollout_fragment_length == library.get_rollout_fragment_length()


@pytest.fixture
def _nothing_is_left_running() -> Iterator[None]:
    before = set(psutil.Process().children(recursive=True))
    yield
    assert set(psutil.Process().children(recursive=True)) <= before


@pytest.mark.xdist_group("ray")
@pytest.mark.slow(seconds=60)
@pytest.mark.usefixtures("_nothing_is_left_running")
@pytest.mark.parametrize(
    ("id", "variant"),
    [(id, one) for id in IDS for one in registry.find(id).variants],
)
def test_it_runs_at_the_smallest_budget(id: str, variant: str) -> None:
    live = train_live(id, variant, budget="smoke", progress=False, length=1.0)
    assert live.record.last("final_return") > 0
    if id == "parallel/rllib-runners":
        assert live.record.last("compared") >= 1_200
        assert live.record.last("mismatches") == 0
        assert live.record.last("verified_percent") == 100
        assert live.record.last("first_ratio_deviation") < 1e-5
