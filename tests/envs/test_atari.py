"""Atari: the fast vector against the plain game, frame by frame; every choice of `Game`
does what it says, and only that."""

from contextlib import closing
from dataclasses import asdict, replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from rlnotes.envs import atari, checks
from rlnotes.envs.atari import (
    AtariEnv,
    AtariVectorEnv,
    Game,
    make_atari_vec_env,
    pong_field,
)
from rlnotes.envs.vector import led_to, require_same_step
from rlnotes.errors import UserError

# With one frame of waiting, which is FIRE, nothing is drawn at a start.
PONG = Game("pong", noop_max=1)
BREAKOUT = Game("breakout", noop_max=1)
LIVES = replace(BREAKOUT, terminal_on_life_loss=True)


def new(game: Game) -> AtariEnv:
    return AtariEnv(**asdict(game))


def apart(one: np.ndarray, other: np.ndarray) -> int:
    """The most that two pictures differ in a pixel, of 255."""
    return int(np.abs(one.astype(int) - other.astype(int)).max())


@pytest.mark.parametrize(
    ("game", "steps"),
    [
        (PONG, 150),
        (replace(PONG, frame_skip=1), 60),
        (replace(PONG, frame_skip=2), 60),
        (replace(PONG, frame_skip=8, stack_num=2), 60),
        (replace(PONG, screen_size=42), 60),
        (replace(PONG, **pong_field(42)), 60),
        (replace(LIVES, crop=(9, 0)), 120),
        (BREAKOUT, 400),
        (LIVES, 400),
        (replace(LIVES, fire_reset=False), 200),
        (replace(LIVES, clip_reward=True), 100),
        (replace(BREAKOUT, grayscale=False, screen_size=42), 60),
    ],
)
@pytest.mark.slow(seconds=2)
def test_the_vector_shows_what_the_plain_game_shows(game: Game, steps: int) -> None:
    """To one of 255 greys, by how averages are rounded. Where a game ends in the middle
    of a step, EnvPool's last picture is an older one; nobody learns from it, because
    after an end nothing is to come."""
    plain, rng = new(game), np.random.default_rng(0)
    with closing(make_atari_vec_env(game, 2)) as envs:
        obs, _ = envs.reset(seed=0)
        expected, _ = plain.reset(seed=0)
        assert apart(obs[0], expected) <= 1
        for _ in range(steps):
            action = rng.integers(plain.action_space.n, size=2)  # type: ignore[attr-defined]
            obs, reward, terminated, _, infos = envs.step(action)
            expected, paid, ended, _, _ = plain.step(action[0])
            assert (reward[0], terminated[0]) == (paid, ended)
            if not plain.ale.game_over():
                assert apart(led_to(obs, infos)[0], expected) <= 1
            if ended:
                assert apart(obs[0], plain.reset()[0]) <= 1


@pytest.mark.slow(seconds=2)
def test_it_keeps_the_contract_of_vectors() -> None:
    with closing(make_atari_vec_env(LIVES, 3)) as envs:
        require_same_step(envs, "a learner")
        obs, _ = envs.reset(seed=1)
        assert envs.single_action_space == gym.spaces.Discrete(4)
        assert envs.observation_space.contains(obs)
        ends = 0
        for _ in range(120):
            obs, _, terminated, truncated, infos = envs.step(np.array([1, 2, 3]))
            assert not truncated.any()
            assert ("final_obs" in infos) == terminated.any()
            if terminated.any():
                assert np.array_equal(infos["_final_obs"], terminated)
                assert not np.array_equal(led_to(obs, infos), obs)
                ends += int(terminated.sum())
        assert ends > 3


@pytest.mark.parametrize("max_pool", [True, False])
def test_time_runs_out(max_pool: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here after 40 frames, ten steps."""
    monkeypatch.setattr(atari, "FRAMES", 40)
    with closing(make_atari_vec_env(replace(PONG, max_pool=max_pool), 2)) as envs:
        envs.reset(seed=0)
        ends = []
        for _ in range(25):
            _, _, terminated, truncated, _ = envs.step(np.zeros(2, int))
            assert not terminated.any()
            ends.append(bool(truncated.all()))
        assert np.flatnonzero(ends).tolist() == [9, 19]


def test_a_lost_life_ends_an_episode_for_learning_and_not_the_game() -> None:
    """Five lives, and one game, whichever way they are counted."""
    counts = {}
    for game in (BREAKOUT, LIVES):
        env, ends = new(game), 0
        env.reset(seed=0)
        for _ in range(1_000):
            if env.step(0)[2]:
                ends += 1
                if env.ale.game_over():
                    break
                env.reset()
        counts[game.terminal_on_life_loss] = ends
    assert counts == {False: 1, True: 5}


def test_without_fire_nobody_serves() -> None:
    env = new(replace(BREAKOUT, fire_reset=False))
    still, _ = env.reset(seed=0)
    for _ in range(5):
        seen = env.step(0)[0]
    assert np.array_equal(seen, still)
    env = new(BREAKOUT)
    still, _ = env.reset(seed=0)
    for _ in range(5):
        seen = env.step(0)[0]
    assert not np.array_equal(seen, still)


def played(game: Game, steps: int, action: int = 2, seed: int = 0) -> np.ndarray:
    env = new(game)
    env.reset(seed=seed)
    return np.stack([env.step(action)[0] for _ in range(steps)])


def test_a_step_is_so_many_frames_and_a_stack_so_many_steps() -> None:
    each = replace(PONG, frame_skip=1, max_pool=False, stack_num=1)
    frames = played(each, 24)
    fours = played(replace(PONG, max_pool=False), 6)
    assert np.array_equal(fours[-1], frames[11::4, 0])


def test_max_pool_shows_the_brighter_of_two_frames() -> None:
    """Before they are shrunk, so that after it a pixel is no darker than in either."""
    each = replace(PONG, frame_skip=1, max_pool=False, stack_num=1)
    frames = played(each, 120)[:, 0]
    pooled = played(replace(PONG, stack_num=1), 30)[:, 0]
    assert (pooled >= np.maximum(frames[2::4], frames[3::4])).all()
    assert (pooled > frames[3::4]).any()


def test_sticky_actions_repeat_the_last_one() -> None:
    straight = played(PONG, 30, seed=1)
    env = new(replace(PONG, repeat_action_probability=1.0))
    env.reset(seed=1)
    stuck = np.stack([env.step(2)[0] for _ in range(30)])
    assert np.array_equal(stuck, played(PONG, 30, action=0, seed=1))  # for ever nothing
    half = replace(PONG, repeat_action_probability=0.5)
    actions = [2, 3] * 30

    def differing(game: Game, seed: int) -> np.ndarray:
        env = new(game)
        env.reset(seed=seed)
        return np.stack([env.step(action)[0] for action in actions])

    assert not np.array_equal(stuck, straight)
    assert np.array_equal(differing(half, 3), differing(half, 3))
    assert not np.array_equal(differing(half, 3), differing(half, 4))
    assert np.array_equal(differing(PONG, 3), differing(PONG, 4))


def test_games_begin_after_different_waits() -> None:
    env = new(replace(PONG, noop_max=30))
    waits = set()
    for seed in range(60):
        env.reset(seed=seed)
        waits.add(env.ale.getEpisodeFrameNumber())
    assert waits <= set(range(1, 31))
    assert len(waits) > 15


@pytest.mark.slow(seconds=3)
def test_rewards_are_clipped_to_their_sign_if_asked() -> None:
    """In Seaquest, whose fish are worth 20."""
    rewards = {}
    for clip in (False, True):
        game = Game("seaquest", noop_max=1, clip_reward=clip)
        with closing(make_atari_vec_env(game, 1)) as envs:
            envs.reset(seed=0)
            rng = np.random.default_rng(0)
            size = int(envs.single_action_space.n)  # type: ignore[attr-defined]
            paid = [envs.step(rng.integers(size, size=1))[1][0] for _ in range(300)]
            rewards[clip] = np.array(paid)
    assert set(rewards[False]) == {0.0, 20.0}
    assert np.array_equal(rewards[True], np.sign(rewards[False]))


@pytest.mark.slow(seconds=2)
def test_same_seeds_same_bits_other_seeds_other_waits() -> None:
    def start(seed: Any) -> np.ndarray:
        with closing(make_atari_vec_env(Game(), 3)) as envs:
            envs.reset(seed=seed)
            for _ in range(4):
                obs = envs.step(np.array([2, 2, 2]))[0]
            return obs

    assert np.array_equal(start([1, 2, 3]), start([1, 2, 3]))
    assert len({row.tobytes() for row in start([1, 2, 3])}) > 1


def test_the_plain_game_passes_the_checks_of_worlds() -> None:
    checks.interface(atari.ENV_ID)
    checks.picture(atari.ENV_ID, seed=0)
    env = atari.make(Game("breakout"))
    assert np.array_equal(checks.play(env, 3, steps=40), checks.play(env, 3, steps=40))


def test_it_is_fast_where_it_can_be() -> None:
    with closing(make_atari_vec_env(PONG, 1)) as envs:
        assert isinstance(envs, AtariVectorEnv)


def test_an_unknown_game_is_refused_with_a_list() -> None:
    with pytest.raises(UserError, match="unknown game 'pongg'.*pong"):
        new(Game("pongg"))


def test_averages_of_areas_by_hand() -> None:
    expected = np.array([[0.4, 0.4, 0.2, 0, 0], [0, 0, 0.2, 0.4, 0.4]])
    assert atari.area_weights(5, 2) == pytest.approx(expected)
    assert atari.area_weights(210, 84).sum(1) == pytest.approx(np.ones(84), abs=1e-5)


@pytest.mark.parametrize("size", [42, 64, 84])
def test_the_field_is_what_lies_between_the_walls_of_pong(size: int) -> None:
    """On the screen: rows 34 to 194 of 210, within half a pixel of what is shown."""
    game = replace(PONG, **pong_field(size))
    pixel = 210 / game.shrunken_height
    rows = game.shown_rows
    assert rows.stop - rows.start == size
    assert rows.start * pixel == pytest.approx(34, abs=pixel)
    assert rows.stop * pixel == pytest.approx(194, abs=pixel)
    assert pixel == pytest.approx(160 / size, rel=0.02)


def test_cropping_leaves_rows_out_and_changes_no_other() -> None:
    """With as many rows as the screen has, nothing is averaged on the way."""
    whole = replace(PONG, screen_size=210, stack_num=1)
    cropped = replace(whole, screen_size=160, crop=(34, 16))
    env, part = new(whole), new(cropped)
    seen, rows = env.reset(seed=0)[0], part.reset(seed=0)[0]
    assert seen.shape == (1, 210, 210)
    assert rows.shape == (1, 160, 160)
    narrow = atari.area_weights(160, 210).T
    drawn = np.rint(rows[0].astype(np.float32) @ narrow)
    assert apart(drawn, seen[0, 34:194]) == 0
