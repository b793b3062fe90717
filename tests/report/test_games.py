"""What games give a learner, against what is known of them."""

from dataclasses import replace
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from rlnotes.algos.networks import SMALL_EYE
from rlnotes.envs.atari import AtariEnv, Game
from rlnotes.experiments import registry
from rlnotes.experiments.pong import PONG_PPO
from rlnotes.report import games
from rlnotes.report.games import Pay

mpl.use("agg")


@pytest.fixture(autouse=True)
def closed() -> Any:
    yield
    plt.close("all")


# --- pictures


def test_the_stack_is_shown_beside_the_screen_that_it_comes_from() -> None:
    shown = games.seen("pong", decisions=3)
    titles = [ax.get_title() for ax in shown]
    assert titles == ["the screen", "now − 3", "now − 2", "now − 1", "now"]
    screen, *stack = [np.asarray(ax.images[0].get_array()) for ax in shown]
    assert screen.shape == (210, 160, 3)
    assert {picture.shape for picture in stack} == {(84, 84)}
    assert (stack[0] != stack[-1]).any()


def test_of_two_frames_the_brighter_has_what_flickers_in_one() -> None:
    names = ["asteroids", "pong"]
    shown = [np.asarray(ax.images[0].get_array()) for ax in games.pooled(names)]
    for before, last, brighter in (shown[:3], shown[3:]):
        assert np.array_equal(brighter, np.maximum(before, last))
    lost = [(shown[i].astype(int) - shown[i + 1] > 20).sum() for i in (0, 3)]
    assert lost[0] > 10 * lost[1]


def test_raw_pixels_are_large_before_anything_is_learnt() -> None:
    eyes = {"scaled": SMALL_EYE, "raw": replace(SMALL_EYE, divisor=1.0)}
    scaled, raw = games.untrained("breakout", eyes).rows
    assert (scaled[-1], raw[-1]) == ("no", "yes")
    assert float(scaled[1]) <= 1 < float(raw[1]) <= 255


# --- rewards


def test_pay_by_hand() -> None:
    pay = Pay(steps=2_000, gains=3, losses=9)
    assert (pay.per_thousand, pay.gains_percent) == (6, 25)
    assert Pay(100, 0, 0).gains_percent == 0
    (row,) = games.pay_table({"Pong": pay}).rows
    assert row == ("Pong", "2,000", "⟨6.0⟩", "⟨25⟩")


def test_random_play_loses_pong() -> None:
    pay = games.random_pay(Game("pong"), 150, num_envs=2)
    assert pay.steps == 300
    assert pay.losses > pay.gains


# --- time


def test_horizons_are_read_from_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "EXPERIMENTS", {"pong/ppo": PONG_PPO})
    table = games.horizons(["pong/ppo/ppo", "pong/ppo/notes"], needed=0.5)
    ours, notes = table.rows
    assert ours == ("PPO", "4", "0.990", "0.950", "17", "1.12", "no")
    assert notes[1] == "1"
    assert notes[-2:] == ("0.28", "yes")


def test_a_served_ball_takes_a_second_to_the_paddle() -> None:
    assert games.flight_seconds() == pytest.approx(1.0, abs=0.1)
    with pytest.raises(ValueError, match="no ball"):
        games.flight_seconds(most=10)


def test_a_moment_is_what_the_policy_sees_then() -> None:
    asked = []

    def act(obs: np.ndarray) -> np.ndarray:
        asked.append(obs)
        return np.zeros(1, int)

    seen = games.moment(lambda: AtariEnv(name="pong"), act, seed=0, decisions=5)
    assert len(asked) == 5
    assert np.array_equal(seen[:-1], asked[-1][0, 1:])
