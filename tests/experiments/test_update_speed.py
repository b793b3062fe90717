"""Whatever is compared with our update does the same."""

import shutil
from collections.abc import Callable

import pytest
import torch

from rlnotes.algos import td3_bc
from rlnotes.data.transitions import Transitions
from rlnotes.experiments.update_speed import (
    COMPILER,
    UPDATE_SPEED,
    UpdateSettings,
    filled_replays,
    new_agent,
    plain_polyak_update,
    with_compiled_networks,
    with_fused_critic,
)

CONFIG = td3_bc.Config(batch_size=16, hidden=(8, 8))


@pytest.fixture
def data() -> Transitions:
    return filled_replays(100, seed=0)[0]


def learnt(
    data: Transitions, change: Callable[[td3_bc.Agent], td3_bc.Agent]
) -> tuple[torch.Tensor, ...]:
    """What agent and target say of all transitions after a few updates, of a seed."""
    torch.manual_seed(0)
    agent = change(new_agent(CONFIG))
    for _ in range(5):
        td3_bc.update(agent, data.sample(CONFIG.batch_size))
    rows = data.all()
    with torch.no_grad():
        pairs = (
            critic(rows.obs, rows.action)
            for critic in (agent.critic, agent.target_critic)
        )
        action = agent.policy(rows.obs), agent.target_policy(rows.obs)
        return *action, *(q for pair in pairs for q in pair)


@pytest.mark.parametrize(
    "change",
    [
        with_fused_critic,
        pytest.param(
            with_compiled_networks,
            marks=[
                pytest.mark.slow(seconds=60),
                pytest.mark.skipif(not shutil.which(COMPILER), reason="no compiler"),
            ],
        ),
    ],
)
def test_an_alternative_learns_the_same(
    data: Transitions, change: Callable[[td3_bc.Agent], td3_bc.Agent]
) -> None:
    ours = learnt(data, lambda agent: agent)
    assert not torch.equal(ours[2], ours[3])
    for one, other in zip(ours, learnt(data, change), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_a_fused_critic_has_one_tensor_where_there_were_two() -> None:
    agent = new_agent(CONFIG)
    before = [parameter.numel() for parameter in agent.critic.parameters()]
    after = [p.numel() for p in with_fused_critic(agent).critic.parameters()]
    assert (sum(after), len(after)) == (sum(before), len(before) / 2)


def test_targets_moved_one_by_one_arrive_at_the_same_place() -> None:
    one, other, source = (new_agent(CONFIG).critic for _ in range(3))
    other.load_state_dict(one.state_dict())
    plain_polyak_update(one, source, tau=0.25)
    td3_bc.polyak_update(other, source, tau=0.25)
    for left, right in zip(one.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(left, right)


def test_a_round_measures_all() -> None:
    """Compilation apart, which takes a minute."""
    small = {"agent.batch_size": 16, "agent.hidden": (8, 8)}
    settings: UpdateSettings = UPDATE_SPEED.settings_for("td3bc", "smoke", small)
    ((steps, found),) = UPDATE_SPEED.trial(settings, seed=0).stream
    assert steps == settings.steps
    assert "times_compiled" not in found
    assert all(value > 0 for value in found.values())
