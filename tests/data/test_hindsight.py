"""Relabelled transitions: another goal and its reward, and nothing else changed."""

import numpy as np
import torch
from torch import Tensor

from rlnotes.data import hindsight
from rlnotes.data.rollouts import Episode
from rlnotes.data.transitions import Transitions

PLACE, GOAL = slice(0, 2), slice(4, 6)  # columns of the observation
FAR = (9.0, 9.0)


def at_goal(places: Tensor, goals: Tensor) -> Tensor:
    return (places == goals).all(1).float()


def walk(first: int, steps: int) -> Episode:
    """Along x in steps of one metre, with a goal that is never reached."""
    x = np.arange(first, first + steps + 1)
    rows = np.array([(place, 0, 0, 0, *FAR) for place in x], np.float32)
    actions = np.zeros((steps, 2), np.float32)
    return Episode(0, rows, actions, np.zeros(steps), False, True)


EPISODES = [walk(0, 3), walk(100, 5)]


def relabelled(share: float, seed: int = 0) -> Transitions:
    return hindsight.relabelled(EPISODES, share, GOAL, PLACE, at_goal, seed)


def test_nothing_is_relabelled_without_a_share() -> None:
    plain = Transitions.from_episodes(EPISODES).all()
    assert all(
        torch.equal(one, other)
        for one, other in zip(relabelled(0).all(), plain, strict=True)
    )


def test_new_goals_lie_ahead_in_the_same_episode_and_pay_where_reached() -> None:
    seen = set()
    for seed in range(30):
        data = relabelled(1, seed).all()
        assert torch.equal(data.obs[:, GOAL], data.next_obs[:, GOAL])
        goals, places = data.obs[:, 4], data.next_obs[:, 0]
        last = torch.tensor([3.0] * 3 + [105.0] * 5)
        assert bool(((goals >= places) & (goals <= last)).all())
        assert torch.equal(data.reward, (goals == places).float())
        seen |= set(goals[:3].tolist())
    assert seen == {1.0, 2.0, 3.0}


def test_a_share_is_relabelled_and_the_rest_is_as_it_was() -> None:
    data = relabelled(0.5).all()
    kept = data.obs[:, 4] == FAR[0]
    assert 0 < int(kept.sum()) < len(kept)
    assert not data.reward[kept].any()
