"""Worlds: Gymnasium environments, on PyBullet, MuJoCo and the Arcade Learning
Environment, or drawn here.

Importing this package registers them, which `import rlnotes` does.
"""

import gymnasium as gym

gym.register(
    "rlnotes/RaceCar-v0",
    "rlnotes.envs.racecar:RaceCarEnv",
    max_episode_steps=500,
)
gym.register(
    "rlnotes/BulletCartPole-v0",
    "rlnotes.envs.cartpole:BulletCartPoleEnv",
    max_episode_steps=500,
)
gym.register(
    "rlnotes/BalancingPlate-v0",
    "rlnotes.envs.plate:BalancingPlateEnv",
    max_episode_steps=1_000,
)
gym.register(
    "rlnotes/Puck-v0",
    "rlnotes.envs.puck:PuckEnv",
    max_episode_steps=100,
)
gym.register(
    "rlnotes/CarelessPuck-v0",
    "rlnotes.envs.careless:CarelessPuckEnv",
    max_episode_steps=100,
)
gym.register(
    "rlnotes/Orchard-v0",
    "rlnotes.envs.orchard:OrchardEnv",
    max_episode_steps=200,
)
gym.register(
    "rlnotes/UMaze-v0",
    "rlnotes.envs.maze:UMazeEnv",
    max_episode_steps=300,
)
gym.register("rlnotes/Atari-v0", "rlnotes.envs.atari:AtariEnv")
gym.register("rlnotes/PixelCartPole-v0", "rlnotes.envs.pixel_cartpole:PixelCartPoleEnv")
