"""Every experiment that can be run, found by its ledger id."""

from rlnotes.errors import UserError, unknown
from rlnotes.experiments import gail, gail_questions, gail_racecar, ledger, racecar, td3bc, umaze, worlds
from rlnotes.experiments.base import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    experiment.id: experiment
    for experiment in (
        td3bc.PENDULUM,
        td3bc.PENDULUM_NO_BC,
        umaze.UMAZE,
        worlds.DEMONSTRATIONS,
        racecar.RACECAR,
        gail.CARTPOLE_GAIL,
        gail.ACROBOT_GAIL,
        gail.OFFLINE,
        gail_racecar.RACECAR_REINFORCE,
        gail_racecar.RACECAR_PPO,
        gail_questions.QUESTIONS,
        worlds.BULLET_CARTPOLE,
        worlds.PLATE,
        worlds.CUSTOM_GYM,
        worlds.CUSTOM_SB3,
    )
}


def find(experiment_id: str) -> Experiment:
    if experiment_id in EXPERIMENTS:
        return EXPERIMENTS[experiment_id]
    if any(row.id == experiment_id for row in ledger.ROWS):
        raise UserError(f"'{experiment_id}' is in the ledger but not built yet. Built: {', '.join(EXPERIMENTS)}")
    raise unknown("experiment", experiment_id, list(EXPERIMENTS))
