"""Chapter "Learning from pixels": Breakout, with DQN and with the actor-critic that
fails on Pong."""

from dataclasses import replace
from typing import Any

import torch.nn.functional as F

from rlnotes.algos.networks import NATURE_EYE
from rlnotes.autopsies import one_coin, raw_pixels
from rlnotes.envs.atari import Game
from rlnotes.experiments.base import Bar, Budget, Experiment, Variant
from rlnotes.experiments.pixels import GameSettings, game_world, of, start
from rlnotes.experiments.pong import A2C, A2C_BUDGETS, DQN, NOTES_ACTOR_CRITIC
from rlnotes.experiments.trials import beginning

BREAKOUT = Game("breakout", terminal_on_life_loss=True, clip_reward=True)

# --- DQN

# What is put back alone is put back for the first quarter of the way.
QUARTER = beginning(0.25)
RAW_PIXELS = of("eye", raw_pixels.FAULT)
ONE_COIN = of("agent", one_coin.FAULT)
SMALL_REPLAY = {"agent.buffer_size": 10_000}

# Theirs. (What is left: Xavier's first weights; exploration that falls with the lives
# of the first game, where ours falls with the steps; a reset of all games every 300
# steps; and the best model, chosen by a length that this reset cut off.)
NOTES: dict[str, Any] = {
    "agent": replace(
        DQN,
        learning_rate=1e-4,
        anneal_lr=False,
        learning_starts=3_200,
        exploration_fraction=0.5,
        train_freq=12,  # one update for four steps of three games
        target_update_interval=3_000,
        double_q=False,
        loss=F.mse_loss,
        max_grad_norm=10.0,
    ),
    "num_envs": 3,
    "eye": NATURE_EYE,
    **RAW_PIXELS,
    **ONE_COIN,
    **SMALL_REPLAY,
}

BREAKOUT_DQN = Experiment(
    id="breakout/dqn",
    world=game_world,
    settings=GameSettings(agent=DQN, game=BREAKOUT, num_envs=8),
    budgets={
        "smoke": Budget(2_000, evaluations=1, curve_episodes=1, final_episodes=1),
        "ci": Budget(24_000, evaluations=2, curve_episodes=2, final_episodes=3),
        "full": Budget(1_200_000, evaluations=12, curve_episodes=5, final_episodes=30),
    },
    variants={
        "dqn": Variant("DQN"),
        "raw-pixels": Variant(
            "pixels as they are", {**QUARTER, **RAW_PIXELS}, planned=True
        ),
        "one-coin": Variant("one coin for all", {**QUARTER, **ONE_COIN}, planned=True),
        "small-replay": Variant(
            "replay of 10,000", {**QUARTER, **SMALL_REPLAY}, planned=True
        ),
        "notes": Variant("as in the notes, three environments", NOTES, planned=True),
    },
    bars=(Bar("DQN plays Breakout, on full games", "dqn", "iqm", ">=", 70.0),),
    start=start,
    seeds=1,
    large_policies=True,
)

# --- the actor-critic

BREAKOUT_A2C = Experiment(
    id="breakout/a2c",
    world=game_world,
    settings=GameSettings(agent=A2C, game=BREAKOUT, length=0.4),
    budgets=A2C_BUDGETS,
    variants={
        "a2c": Variant("A2C, 2 million steps"),
        "notes": Variant(
            "as in the notes, 0.5 of 13 million steps", NOTES_ACTOR_CRITIC
        ),
    },
    # Random play earns 1.5.
    bars=(
        Bar("the notes' actor-critic learns Breakout", "notes", "iqm", ">=", 10.0),
        Bar("and so does ours", "a2c", "iqm", ">=", 30.0),
    ),
    start=start,
    seeds=1,
    planned=True,
    large_policies=True,
)
