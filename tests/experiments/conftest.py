"""What the tests of the walkers share."""

import pytest
import torch

from rlnotes.algos import fitted_q, ppo
from rlnotes.algos.policy import Policy
from rlnotes.experiments import bipedal_aggrevated, bipedal_expert
from rlnotes.experiments.bipedal import EASY
from rlnotes.experiments.bipedal_expert import BIPEDAL_CRITIC, BIPEDAL_EXPERT


@pytest.fixture
def a_walker(monkeypatch: pytest.MonkeyPatch) -> Policy:
    """One that has learnt nothing, and its critic neither, in the place of those that
    are recorded."""
    torch.manual_seed(0)
    config = BIPEDAL_EXPERT.settings.agent
    walker = ppo.new_policy(*EASY.spaces(), config)
    critic = fitted_q.Agent(walker, walker.act, BIPEDAL_CRITIC.settings.agent).critic
    for module in (bipedal_expert, bipedal_aggrevated):
        monkeypatch.setattr(module, "recorded", lambda run: walker)
    monkeypatch.setattr(
        bipedal_expert, "recorded_tensors", lambda run: critic.state_dict()
    )
    return walker
