"""SB3's PPO on the hardcore course: the notes' settings, the Zoo's, and the defaults
that neither changes."""

from typing import Any

import pytest

from rlnotes.experiments.hardcore_sb3 import HARDCORE_SB3_PPO, PpoOptions, options

SMALL = {"num_envs": 2, "agent.n_steps": 32, "budget.steps": 128}


def test_what_falls_and_how_far() -> None:
    notes, zoo = (
        options(HARDCORE_SB3_PPO.settings_for(name, "full"))
        for name in ("notes", "zoo")
    )
    assert notes["clip_range"] == 0.2
    assert zoo["clip_range"](0.5) == 0.1
    assert notes["learning_rate"](0.5) == zoo["learning_rate"](0.5) == 1.25e-4


def test_what_the_notes_leave_alone_is_the_installed_librarys_default() -> None:
    from stable_baselines3 import PPO

    model: Any = PPO("MlpPolicy", "Pendulum-v1")
    names = ("n_steps", "batch_size", "n_epochs", "gamma", "gae_lambda", "vf_coef")
    for name in (*names, "max_grad_norm"):
        assert getattr(model, name) == getattr(PpoOptions(), name)
    assert model.clip_range(1.0) == PpoOptions().clip_range


@pytest.mark.slow(seconds=10)
@pytest.mark.parametrize("variant", HARDCORE_SB3_PPO.variants)
def test_it_is_trained_by_sb3_and_judged_by_us(variant: str) -> None:
    settings = HARDCORE_SB3_PPO.settings_for(variant, "smoke", SMALL)
    trial = HARDCORE_SB3_PPO.trial(settings, seed=0)
    *_, (step, last) = trial.stream
    assert step == 128
    assert last["final_return"] < 0
    assert trial.policy is not None
    assert trial.policy.hidden == settings.agent.net_arch
    assert (trial.policy.obs_std != 1).any()
