"""What the discriminator rewards: the controls by hand, and the diagnostic on every
reward."""

import math
from typing import Any

import pytest
import torch

from rlnotes.algos import gail
from rlnotes.autopsies import survival
from rlnotes.runs import store


@pytest.mark.parametrize(
    ("experiment", "healthy"),
    [("gail/cartpole", "ten"), ("gail/acrobot", "airl"), ("gail/racecar-ppo", "ppo")],
)
def test_the_twin_differs_by_reward_and_end(
    differing: Any, experiment: str, healthy: str
) -> None:
    settings = differing((experiment, healthy), (experiment, "gail-zero"))
    assert settings == {f"agent.{name}" for name in survival.FAULT}
    assert settings == {"agent.reward", "agent.terminal"}


@pytest.mark.parametrize("certainty", [0.1, 0.5, 0.9])
def test_the_controls(certainty: float) -> None:
    """With swapped labels the discriminator says 1 − D where the right one says D."""
    logit = torch.tensor(math.log(certainty / (1 - certainty)))
    swapped = survival.swapped_gail_reward(logit).item()
    assert swapped == pytest.approx(-math.log(certainty))
    assert survival.swapped_airl_reward(logit) == -logit
    assert survival.constant_reward(logit) == 1
    assert survival.hundredfold_airl_reward(logit) == 100 * logit


@pytest.mark.parametrize(
    ("reward", "fires"),
    [
        (gail.gail_reward, True),
        (gail.log_d_reward, True),
        (survival.swapped_gail_reward, True),
        (survival.constant_reward, True),
        (gail.airl_reward, False),
        (survival.swapped_airl_reward, False),
    ],
)
def test_it_fires_where_only_the_length_is_rewarded(
    reward: gail.Reward, fires: bool
) -> None:
    rewards = reward(torch.linspace(-3, 3, 50))
    share = float((rewards > 0).float().mean())
    assert survival.fires(share, "zero") == fires
    assert not survival.fires(share, "absorbing")


@pytest.mark.parametrize(
    ("experiment", "healthy"), [("gail/cartpole", "ten"), ("gail/acrobot", "airl")]
)
def test_on_record_it_fires_on_every_faulty_seed_and_on_no_healthy_one(
    experiment: str, healthy: str
) -> None:
    def fires(record: store.Record) -> bool:
        share = record.last("positive_reward_fraction")
        return survival.fires(share, record.settings["agent"]["terminal"])

    assert all(fires(record) for record in store.read_all(experiment, "gail-zero"))
    assert not any(fires(record) for record in store.read_all(experiment, healthy))
