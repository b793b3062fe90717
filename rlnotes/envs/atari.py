"""Atari games, seen and paid as learners usually want them: one game, plainly, and many
of them in C++.

Libraries differ in what they do to a game unless told otherwise (sticky actions,
clipped rewards, what a lost life ends), and none of it raises. Here every such choice
is a field of `Game`, with the defaults of Mnih et al. (2015) but for two: FIRE is
pressed for the player, and nothing that would change a score is on.
"""

from dataclasses import asdict, dataclass
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.vector import VectorEnv

from rlnotes.envs.actions import checked_discrete_action
from rlnotes.envs.vector import EnvPoolVectorEnv, make_vec_env
from rlnotes.errors import unknown

ENV_ID = "rlnotes/Atari-v0"
FRAMES = 108_000  # of a game, half an hour at 60 Hz
SCREEN = (210, 160)  # height and width of most games
PONG_WALL = 34  # the row where its upper one ends
PONG_GREY = 87.0  # of its field, as `grayscale` shows it


@dataclass(frozen=True)
class Game:
    """What is done to a game. Steps are decisions, each of `frame_skip` frames."""

    name: str = "pong"  # of its ROM
    frame_skip: int = 4  # frames for which an action is held
    max_pool: bool = True  # show the brighter of a step's last two frames, by pixel
    repeat_action_probability: float = 0.0  # sticky actions, at each frame
    noop_max: int = 30  # a game begins with up to so many frames of nothing
    fire_reset: bool = True  # then FIRE is pressed, and for a step after a lost life
    terminal_on_life_loss: bool = False  # an end for learning; the game goes on
    clip_reward: bool = False  # to its sign
    screen_size: int = 84
    # Rows of the shrunken screen that are left out above and below. It is drawn so much
    # higher, so that what is left is a square of `screen_size`.
    crop: tuple[int, int] = (0, 0)
    grayscale: bool = True
    stack_num: int = 4

    @property
    def max_episode_steps(self) -> int:
        return FRAMES // self.frame_skip

    @property
    def shrunken_height(self) -> int:
        return self.screen_size + sum(self.crop)

    @property
    def shown_rows(self) -> slice:
        """Of the shrunken screen."""
        above, _ = self.crop
        return slice(above, above + self.screen_size)


def pong_field(screen_size: int) -> dict[str, Any]:
    """Of `Game`: Pong's field alone, without the score above and the wall below. It is
    as high as wide, so that the ball is shown as large in both directions."""
    height = round(screen_size * SCREEN[0] / SCREEN[1])
    above = round(PONG_WALL / SCREEN[0] * height)
    crop = (above, height - above - screen_size)
    return {"screen_size": screen_size, "crop": crop}


class AtariEnv(gym.Env[np.ndarray, int]):
    """One game on the Arcade Learning Environment (Bellemare et al., 2013), frame by
    frame in Python: what the fast vector must agree with, and where policies are
    judged.

    ## Action space
    `Discrete(n)`: the game's own actions, 6 in Pong, 4 in Breakout. Anything else
    raises `ValueError`.

    ## Observation space
    `Box(0, 255, (stack_num, size, size), uint8)`: the last steps' screens, the newest
    last, shrunk by averaging areas, without the rows that `crop` leaves out. In colour
    each of them is three channels. A game begins with copies of its first screen.

    ## Rewards
    The score, summed over the frames of a step.

    ## Start
    1 to `noop_max` frames without an action, the last of them FIRE where the game has
    it.

    ## End
    Terminated at the end of the game, with `terminal_on_life_loss` after each life:
    then `reset` without a seed goes on with the same game. Truncated after 108,000
    frames when made by `make`.

    ## Arguments
    The fields of `Game`, and `render_mode` ("rgb_array" or None).

    ## Version history
    v0.
    """

    metadata = {
        "render_modes": ["rgb_array"],
        "render_fps": 15,  # decisions, of four frames at 60 Hz
    }

    def __init__(
        self, render_mode: Literal["rgb_array"] | None = None, **options: Any
    ) -> None:
        import ale_py  # registers its own worlds

        game = Game(**options)
        known = ale_py.roms.get_all_rom_ids()
        if game.name not in known:
            raise unknown("game", game.name, known)
        rom = ale_py.roms.get_rom_path(game.name)
        assert rom is not None
        self.game, self.render_mode = game, render_mode
        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        self.ale = ale_py.ALEInterface()
        self.ale.setFloat("repeat_action_probability", 0.0)  # drawn here, by our seed
        self.ale.loadROM(rom)
        self._actions = self.ale.getMinimalActionSet()
        self._noop = ale_py.Action.NOOP
        self.fire: int | None = None  # the action that is pressed for the player
        if game.fire_reset and ale_py.Action.FIRE in self._actions:
            self.fire = self._actions.index(ale_py.Action.FIRE)
        height, width = self.ale.getScreenDims()
        self._shrink = area_weights(height, game.shrunken_height)[game.shown_rows]
        self._narrow = area_weights(width, game.screen_size).T
        self._goes_on = False  # after a lost life that was an end
        self.action_space = spaces.Discrete(len(self._actions))
        channels = 1 if game.grayscale else 3
        size = (game.stack_num * channels, game.screen_size, game.screen_size)
        self.observation_space = spaces.Box(0, 255, size, np.uint8)
        self._stack = np.zeros((game.stack_num, channels, *size[1:]), np.uint8)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        if self._goes_on and seed is None:
            self._goes_on = False
            self._serve()
            return self._observation(), {}
        self._goes_on = False
        self.ale.reset_game()
        noops = self.np_random.integers(1, self.game.noop_max + 1)
        for _ in range(noops - (self.fire is not None)):
            self.ale.act(self._noop)
        if self.fire is not None:
            self.ale.act(self._actions[self.fire])
        self._last_action = self._noop
        self._lives = self.ale.lives()
        self._stack[:] = self._shrunk(self._screen())
        return self._observation(), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        assert isinstance(self.action_space, spaces.Discrete)
        reward = self._hold(checked_discrete_action(action, self.action_space))
        seen, over = self._observation(), self.ale.game_over()
        lost = self.ale.lives() < self._lives and not over
        self._lives = self.ale.lives()
        self._goes_on = lost and self.game.terminal_on_life_loss
        if lost and not self._goes_on:
            self._serve()
            seen = self._observation()
        if self.game.clip_reward:
            reward = float(np.sign(reward))
        return seen, reward, over or self._goes_on, False, {}

    def _hold(self, action: int) -> float:
        """An action for a step's frames, and what is seen then."""
        reward, first_shown = 0.0, self.game.frame_skip - 1 - self.game.max_pool
        shown = []
        for frame in range(self.game.frame_skip):
            reward += self._act(self._actions[action])
            over = self.ale.game_over()
            if frame >= first_shown or over:
                shown.append(self._screen())
            if over:
                break
        pooled = self._shrunk(np.maximum.reduce(shown))
        self._stack[:] = np.concatenate([self._stack[1:], pooled[None]])
        return reward

    def _serve(self) -> None:
        if self.fire is not None:
            self._hold(self.fire)

    def _act(self, action: Any) -> float:
        sticky = self.game.repeat_action_probability
        if not (sticky and self.np_random.uniform() < sticky):
            self._last_action = action
        return float(self.ale.act(self._last_action))

    def _screen(self) -> np.ndarray:
        """(channels, height, width), as large as the game draws it."""
        if self.game.grayscale:
            return self.ale.getScreenGrayscale()[None]
        return np.moveaxis(self.ale.getScreenRGB(), -1, 0)

    def _shrunk(self, screen: np.ndarray) -> np.ndarray:
        averages = self._shrink @ screen.astype(np.float32) @ self._narrow
        return np.rint(averages).astype(np.uint8)

    def _observation(self) -> np.ndarray:
        return self._stack.reshape(self.observation_space.shape).copy()

    def render(self) -> np.ndarray | None:  # type: ignore[override]
        return self.ale.getScreenRGB() if self.render_mode == "rgb_array" else None


def area_weights(length: int, size: int) -> np.ndarray:
    """(size, length): each new pixel is the mean of the stretch that it covers, with
    the parts of pixels at its two ends."""
    edges = np.linspace(0, length, size + 1)
    left = np.maximum.outer(edges[:-1], np.arange(length))
    right = np.minimum.outer(edges[1:], np.arange(1, length + 1))
    return (np.clip(right - left, 0, None) * size / length).astype(np.float32)


def make(game: Game, **more: Any) -> gym.Env[Any, Any]:
    """One game with the limit of its time, from Gymnasium's registry."""
    limit = {"max_episode_steps": game.max_episode_steps}
    return gym.make(ENV_ID, **(limit | asdict(game) | more))


def make_atari_vec_env(game: Game, num_envs: int, num_threads: int = 1) -> VectorEnv:
    """Many games side by side, with the ends of `make_vec_env`: in EnvPool, or one
    after the other in Python where `max_pool` is off, which EnvPool cannot do."""
    if not game.max_pool:
        return make_vec_env(lambda: make(game), num_envs)
    return AtariVectorEnv(game, num_envs, num_threads)


class AtariVectorEnv(EnvPoolVectorEnv):
    """EnvPool's games, pixel for pixel those of `AtariEnv`; how long a game waits at
    its start, and which actions stick, is drawn by a generator of its own.

    Lives are counted here. EnvPool's own way to end an episode with a life
    (`episodic_life`) works only if it resets by itself, in the next step; asked to
    reset, it begins another game.
    """

    def __init__(self, game: Game, num_envs: int, num_threads: int = 1) -> None:
        self._game, self._single = game, AtariEnv(**asdict(game))
        super().__init__(
            envpool_id(game.name),
            num_envs,
            num_threads=num_threads,
            max_episode_steps=game.max_episode_steps,
            frame_skip=game.frame_skip,
            repeat_action_probability=game.repeat_action_probability,
            noop_max=game.noop_max,
            use_fire_reset=game.fire_reset,
            episodic_life=False,
            reward_clip=game.clip_reward,
            img_height=game.shrunken_height,
            img_width=game.screen_size,
            gray_scale=game.grayscale,
            stack_num=game.stack_num,
            use_inter_area_resize=True,
            full_action_space=False,
        )

    def _spaces(self) -> tuple[gym.Space[Any], gym.Space[Any]]:
        return self._single.observation_space, self._single.action_space

    @property
    def ram(self) -> np.ndarray:
        """The 128 bytes of each game, after the last step and before a reset."""
        return self._more["ram"]

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        obs, infos = super().reset(seed=seed, options=options)
        self._at_first = self._lives = self._more["lives"]
        return self._shown(obs), infos

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        obs, reward, terminated, truncated, infos = self._step_whole(actions)
        if "final_obs" in infos:
            infos = infos | {"final_obs": self._shown(infos["final_obs"])}
        return self._shown(obs), reward, terminated, truncated, infos

    def _shown(self, obs: np.ndarray) -> np.ndarray:
        return obs[:, :, self._game.shown_rows]

    def _step_whole(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """With the rows that are left out."""
        obs, reward, terminated, truncated, infos = super().step(actions)
        over, lives = terminated | truncated, self._more["lives"]
        lost = (lives < self._lives) & ~over
        self._lives = np.where(over, self._at_first, lives)
        if not lost.any():
            return obs, reward, terminated, truncated, infos
        if self._game.terminal_on_life_loss:
            terminated = terminated | lost
            there = infos.get("final_obs", obs)
            infos = {"final_obs": there, "_final_obs": over | lost}
        if self._single.fire is not None:
            rows = np.flatnonzero(lost)
            pressed = np.full(len(rows), self._single.fire)
            obs = obs.copy()
            obs[rows] = self._pool.step(pressed, rows)[0]
        return obs, reward, terminated, truncated, infos


def envpool_id(rom: str) -> str:
    return "".join(part.capitalize() for part in rom.split("_")) + "-v5"
