"""Chapter "Learning from pixels": what makes a reward hard to trace back. Frame skip,
the maximum of two frames, a reward for touching the ball, and rewards that come late,
each changed alone in the first three fifths of `pong/ppo/on-black`; and BasicMath,
where rewards hardly come at all."""

from typing import Any

from rlnotes.envs.atari import Game
from rlnotes.experiments.base import Bar, Budget, Experiment, Variant
from rlnotes.experiments.pixels import GameSettings, game_world, start
from rlnotes.experiments.pong import EARLY, PONG, PPO, PPO_BUDGETS
from rlnotes.experiments.settings import changed

EARLY_PONG = changed(GameSettings(agent=PPO, game=PONG), EARLY)
AS_IT_IS = "pong/ppo/early"  # four frames a step, rewards at once


def skip(frames: int) -> dict[str, Any]:
    return {"game.frame_skip": frames}


CREDIT = Experiment(
    id="pixels/credit",
    world=game_world,
    settings=EARLY_PONG,
    budgets=PPO_BUDGETS,
    variants={
        "skip-1": Variant("1 frame a step", skip(1)),
        "skip-2": Variant("2 frames", skip(2)),
        "skip-8": Variant("8 frames", skip(8)),
        "no-max-pool": Variant(
            "the last frame instead of the brighter of two", {"game.max_pool": False}
        ),
        "touch": Variant("0.1 for touching the ball", {"touch_reward": 0.1}),
    },
    bars=(
        Bar(
            "with every frame a step, less is learnt from as many steps",
            "skip-1",
            "iqm",
            "<=",
            AS_IT_IS,
        ),
    ),
    start=start,
    seeds=1,
    planned=True,
    large_policies=True,
)


def late(steps: int) -> Variant:
    return Variant(f"{steps} steps late", {"reward_delay": steps})


SPARSE_PONG = Experiment(
    id="sparse/pong",
    world=game_world,
    settings=EARLY_PONG,
    budgets=PPO_BUDGETS,
    variants={
        "delay-80": late(80),
        "delay-20": late(20),
        "delay-5": late(5),
    },
    bars=(
        Bar(
            "rewards 80 steps late teach less than rewards at once",
            "delay-80",
            "iqm",
            "<=",
            AS_IT_IS,
        ),
    ),
    start=start,
    seeds=1,
    planned=True,
    large_policies=True,
)

# FIRE hands in an answer, so nobody presses it for the player.
BASIC_MATH = Game("basic_math", fire_reset=False)
BASIC_BUDGETS = {
    **PPO_BUDGETS,
    "full": Budget(409_600, evaluations=10, curve_episodes=10, final_episodes=100),
}

SPARSE_BASICMATH = Experiment(
    id="sparse/basicmath",
    world=game_world,
    settings=GameSettings(agent=PPO, game=BASIC_MATH),
    budgets=BASIC_BUDGETS,
    variants={
        "ppo": Variant("PPO"),
        # The first policy is close to chance: with drawn actions, `final_sampled`.
        "random": Variant("random play", {"agent.learning_rate": 0.0, "length": 0.005}),
    },
    bars=(
        Bar(
            "PPO earns more than random play",
            "ppo",
            "iqm",
            ">=",
            "random",
            "final_sampled_return",
        ),
    ),
    start=start,
    seeds=3,
    planned=True,
    large_policies=True,
)
