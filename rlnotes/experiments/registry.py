"""Every experiment that can be run, found by its id."""

from typing import Any

from rlnotes.errors import UserError, unknown
from rlnotes.experiments import (
    aggrevated,
    aggrevated_table,
    bipedal,
    bipedal_aggrevated,
    bipedal_expert,
    bipedal_reinforce,
    breakout,
    credit,
    decorrelation,
    doctor_cost,
    doctor_sb3,
    experts,
    eyes,
    gail,
    gail_questions,
    gail_race,
    gail_racecar,
    hardcore_sb3,
    ledger,
    memory,
    parallel,
    parallel_copies,
    parallel_rllib,
    parallel_sb3,
    pendulum,
    pixel_cartpole,
    pixels_sb3,
    pixels_speed,
    pong,
    ppo_speed,
    racecar,
    soft_q,
    throughput,
    umaze,
    unlimited,
    update_speed,
    worlds,
)
from rlnotes.experiments.base import Experiment

EXPERIMENTS: dict[str, Experiment[Any]] = {
    experiment.id: experiment
    for experiment in (
        pendulum.PENDULUM,
        pendulum.PENDULUM_NO_BC,
        umaze.UMAZE,
        worlds.DEMONSTRATIONS,
        racecar.RACECAR,
        gail.CARTPOLE_GAIL,
        gail.ACROBOT_GAIL,
        gail.OFFLINE,
        gail_racecar.RACECAR_REINFORCE,
        gail_racecar.RACECAR_PPO,
        gail_questions.QUESTIONS,
        bipedal_reinforce.BIPEDAL_REINFORCE,
        bipedal.BIPEDAL_PPO,
        bipedal_aggrevated.AGGREVATED_REINFORCE,
        bipedal_aggrevated.AGGREVATED_PPO,
        bipedal.BIPEDAL_PPO_VECTOR,
        bipedal.HARDCORE_PPO,
        bipedal.HARDCORE_PPO_VECTOR,
        hardcore_sb3.HARDCORE_SB3_PPO,
        aggrevated_table.AGGREVATED_TABLE,
        credit.CREDIT,
        breakout.BREAKOUT_DQN,
        pixels_sb3.BREAKOUT_SB3_DQN,
        breakout.BREAKOUT_A2C,
        pixels_sb3.BREAKOUT_SB3_A2C,
        pong.PONG_PPO,
        pong.PONG_A2C,
        pixels_sb3.PONG_SB3_A2C,
        pixels_sb3.PONG_SB3_PPO,
        pixels_sb3.PONG_SB3_DQN,
        pong.PONG_CLEANRL,
        pixel_cartpole.PIXEL_CARTPOLE,
        pixel_cartpole.CARTPOLE_LINE,
        worlds.BULLET_CARTPOLE,
        worlds.PLATE,
        worlds.CUSTOM_GYM,
        worlds.CUSTOM_SB3,
        throughput.THROUGHPUT,
        unlimited.UNLIMITED,
        parallel_sb3.SB3_DQN,
        parallel.PARALLEL_DQN,
        parallel.PARALLEL_ENVPOOL,
        decorrelation.DECORRELATION,
        parallel_rllib.RLLIB_DQN,
        parallel_rllib.RLLIB_RUNNERS,
        credit.SPARSE_PONG,
        credit.SPARSE_BASICMATH,
        # What rows of the ledger rest on.
        experts.PENDULUM,
        experts.CARTPOLE,
        experts.ACROBOT,
        gail.JUDGES,
        gail_racecar.REWARD_MAP,
        gail_race.RACE,
        aggrevated.CARTPOLE,
        aggrevated.ACROBOT,
        bipedal_expert.BIPEDAL_EXPERT,
        bipedal_expert.BIPEDAL_CRITIC,
        soft_q.SOFT_Q,
        aggrevated_table.ENTROPY,
        parallel.PARALLEL_ORCHARD,
        parallel_copies.COPIES,
        ppo_speed.PPO_SPEED,
        update_speed.UPDATE_SPEED,
        eyes.EYES,
        pixels_speed.PIXELS_SPEED,
        doctor_cost.DOCTOR_COST,
        doctor_sb3.DOCTOR_SB3,
        memory.MEMORY,
    )
}


def find(experiment_id: str) -> Experiment[Any]:
    if experiment_id in EXPERIMENTS:
        return EXPERIMENTS[experiment_id]
    if any(row.id == experiment_id for row in ledger.ROWS):
        raise UserError(
            f"'{experiment_id}' is in the ledger but not built yet."
            f" Built: {', '.join(EXPERIMENTS)}"
        )
    raise unknown("experiment", experiment_id, EXPERIMENTS)
