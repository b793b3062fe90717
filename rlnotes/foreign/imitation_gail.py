"""The other side of the race: GAIL of the `imitation` library, run by `race` in an
environment of its own.

Not imported by the book: `imitation` needs an older Gymnasium than ours. The settings
are those of its documentation's example for GAIL on CartPole. Prints one JSON object
per evaluation.
"""

import json
import sys
import time

import gymnasium as gym
import numpy as np
import torch
from imitation.algorithms.adversarial.gail import GAIL
from imitation.data.types import Trajectory
from imitation.data.wrappers import RolloutInfoWrapper
from imitation.rewards.reward_nets import BasicRewardNet
from imitation.util.logger import configure
from imitation.util.networks import RunningNorm
from imitation.util.util import make_vec_env
from stable_baselines3 import PPO
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.ppo import MlpPolicy


def demonstrations(path: str) -> list[Trajectory]:
    shown = np.load(path)
    pairs = zip(shown["observations"], shown["actions"], strict=True)
    return [
        Trajectory(obs=obs, acts=acts, infos=None, terminal=False)
        for obs, acts in pairs
    ]


def main(path: str, seed: int, steps: int, every: int, goal: float) -> None:
    torch.set_num_threads(1)
    rng = np.random.default_rng(seed)
    wrapped = [lambda env, _: RolloutInfoWrapper(env)]
    venv = make_vec_env("CartPole-v1", rng=rng, n_envs=8, post_wrappers=wrapped)
    learner = PPO(
        env=venv,
        policy=MlpPolicy,
        batch_size=64,
        ent_coef=0.0,
        learning_rate=0.0004,
        gamma=0.95,
        n_epochs=5,
        seed=seed,
    )
    reward = BasicRewardNet(
        observation_space=venv.observation_space,
        action_space=venv.action_space,
        normalize_input_layer=RunningNorm,
    )
    trainer = GAIL(
        demonstrations=demonstrations(path),
        demo_batch_size=1024,
        gen_replay_buffer_capacity=512,
        n_disc_updates_per_round=8,
        venv=venv,
        gen_algo=learner,
        reward_net=reward,
        allow_variable_horizon=True,
        custom_logger=configure(format_strs=[]),
    )
    judge = gym.wrappers.RecordEpisodeStatistics(gym.make("CartPole-v1"))
    seconds = 0.0
    started = time.perf_counter()

    def report(round_number: int) -> None:
        nonlocal seconds, started
        played = learner.num_timesteps
        if played // every > (played - trainer.gen_train_timesteps) // every:
            seconds += time.perf_counter() - started  # evaluations are not training
            mean, _ = evaluate_policy(
                learner.policy, judge, n_eval_episodes=10, deterministic=True
            )
            print(
                json.dumps(
                    {"steps": played, "seconds": seconds, "return": float(mean)}
                ),
                flush=True,
            )
            if mean >= goal:
                raise SystemExit
            started = time.perf_counter()

    trainer.train(steps, report)


if __name__ == "__main__":
    main(
        sys.argv[1],
        int(sys.argv[2]),
        int(sys.argv[3]),
        int(sys.argv[4]),
        float(sys.argv[5]),
    )
