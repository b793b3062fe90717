"""SAC's soft Q beside the returns of its policy."""

import numpy as np
import pytest
import torch

from rlnotes.algos import sac
from rlnotes.algos.policy import Policy
from rlnotes.data.rollouts import Episode
from rlnotes.experiments.critic_checks import Check
from rlnotes.experiments.soft_q import PENDULUM, SOFT_Q, entropy_bonus


def test_the_bonus_is_the_entropy_that_sac_would_pay() -> None:
    """Against its own log-probabilities, of many draws."""
    torch.manual_seed(0)
    policy = Policy.for_spaces(*PENDULUM.spaces(), (8,), "gaussian")
    seen = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    episode = Episode(0, seen, np.zeros((3, 1)), np.zeros(3), False, True)
    obs = policy.encode_array(np.repeat(seen[1:3], 40_000, axis=0))
    with torch.no_grad():
        _, log_prob = sac.sample_action(policy, obs)
    first, second = -log_prob.view(2, -1).mean(1)
    wanted = 0.9 * first + 0.81 * second
    found = entropy_bonus(policy, 0.9, episode)
    assert found == pytest.approx(wanted.item(), abs=0.03)


@pytest.mark.slow(seconds=15)
def test_what_is_measured_adds_up() -> None:
    small = {"check": Check(3, 30, 20)}
    trial = SOFT_Q.trial(SOFT_Q.settings_for("sac", "smoke", small), seed=0)
    *_, (before, last), (step, told) = trial.stream
    assert before == step == 1_100
    assert "final_return" in last
    soft, plain = told["soft_return_mean"], told["greedy_return_mean"]
    assert soft == pytest.approx(plain - told["cost_of_noise"] + told["entropy_bonus"])
    assert told["soft_q_mean"] == told["greedy_q_mean"] != told["fitted_q_mean"]
    assert told["fitted_return_mean"] == plain
    gain = told["greedy_q_error"] - told["fitted_q_error"]
    assert told["closer_by"] == pytest.approx(gain)
