"""The ledger: all 47 rows, what the notes report of each, and the bar ours must reach.

Forty-six are experiments of the notes, one is a control of ours. A row marked `autopsy`
failed in the notes, or rests on a mistake in them: the book reproduces it, isolates the
cause and fixes it. Where an experiment is built, its bars stand there; the text here is
for those that are still to come.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    id: str
    chapter: str
    notes: str  # the figures are the notes' own
    bar: str = ""
    autopsy: bool = False


OFFLINE = "Offline RL with TD3+BC"
GAIL = "GAIL"
AGGREVATED = "AggreVaTeD"
PIXELS = "Learning from pixels"
BULLET = "PyBullet worlds"
PARALLEL = "Parallel environments"

BESIDE_OURS = "recorded beside ours at equal steps"

ROWS: tuple[Row, ...] = (
    Row(
        "td3bc/pendulum",
        OFFLINE,
        "SAC expert, 100k transitions, 10k updates: returns −0.2 to −241",
    ),
    Row(
        "td3bc/pendulum-no-bc",
        OFFLINE,
        "without the BC term: −1380 to −1655, the pendulum spins",
        autopsy=True,
    ),
    Row("td3bc/umaze", OFFLINE, "2000 updates said to be enough, no figures"),
    Row("racecar/demos", OFFLINE, "100 episodes driven by keyboard"),
    Row(
        "td3bc/racecar",
        OFFLINE,
        "never converged; the car turns left into the wall",
        autopsy=True,
    ),
    Row(
        "gail/cartpole",
        GAIL,
        "10 of 10 episodes at 500; with swapped labels it converges too, later",
    ),
    Row("gail/acrobot", GAIL, "not in the notes: our control"),
    Row("gail/offline", GAIL, "157 to 281, worse with more epochs", autopsy=True),
    Row("gail/racecar-reinforce", GAIL, "does not converge", autopsy=True),
    Row("gail/racecar-ppo", GAIL, "does not converge", autopsy=True),
    Row("gail/questions", GAIL, "six questions, answered from screenshots"),
    Row("bipedal/reinforce", AGGREVATED, "does not converge", autopsy=True),
    Row("bipedal/ppo", AGGREVATED, "262 to 279"),
    Row(
        "bipedal/aggrevated-reinforce",
        AGGREVATED,
        "on Hardcore: learnt nothing",
        autopsy=True,
    ),
    Row(
        "bipedal/aggrevated-ppo",
        AGGREVATED,
        "does not converge",
        autopsy=True,
    ),
    Row(
        "bipedal/ppo-vector",
        AGGREVATED,
        "16 environments: solves the easy walker",
    ),
    Row(
        "hardcore/ppo",
        AGGREVATED,
        "−0.7 after 26M steps",
        autopsy=True,
    ),
    Row(
        "hardcore/ppo-vector",
        AGGREVATED,
        "16 environments, 26.2M steps: fails",
        autopsy=True,
    ),
    Row(
        "hardcore/sb3-ppo",
        AGGREVATED,
        "does not converge at 10M steps",
        autopsy=True,
    ),
    Row("aggrevated/table", AGGREVATED, "a table of 14 hyper-parameters"),
    Row(
        "pixels/credit",
        PIXELS,
        "delayed reward and frame skip: discussion only",
        "measured: skip 1, 2, 4, 8; max-pooling on and off",
    ),
    Row(
        "breakout/dqn",
        PIXELS,
        "5 hours, keeps the ball up; replay of 100k frames takes 11 GB",
        "score ≥ 70; 100k transitions ≤ 0.8 GB",
    ),
    Row("breakout/sb3-dqn", PIXELS, "69.9 after 3.9M steps", BESIDE_OURS),
    Row(
        "breakout/a2c",
        PIXELS,
        "the actor-critic that fails on Pong learns Breakout",
        "learns, and explains why it does so here",
    ),
    Row("breakout/sb3-a2c", PIXELS, "learns Breakout clearly", BESIDE_OURS),
    Row("pong/ppo", PIXELS, "never converged", "≥ 18 within 2M steps", autopsy=True),
    Row("pong/a2c", PIXELS, "never converged", "≥ 15", autopsy=True),
    Row("pong/sb3-a2c", PIXELS, "no trend at 1M steps", BESIDE_OURS, autopsy=True),
    Row("pong/sb3-ppo", PIXELS, "converges at 1M steps", BESIDE_OURS),
    Row("pong/sb3-dqn", PIXELS, "no trend at 500k steps", BESIDE_OURS, autopsy=True),
    Row(
        "pong/cleanrl",
        PIXELS,
        "CleanRL's PPO moves from 400k steps on",
        "our PPO with CleanRL's settings, recorded",
    ),
    Row(
        "pixels/cartpole",
        PIXELS,
        "28 to 125 after 4M steps",
        "≥ 475 of 500 frames",
        autopsy=True,
    ),
    Row(
        "pixels/cartpole-line",
        PIXELS,
        "with a reference line drawn: no change",
        "recorded, with the interval",
    ),
    Row("bullet/cartpole", BULLET, "REINFORCE converges"),
    Row(
        "bullet/plate",
        BULLET,
        "ball on a plate, DQN: no result reported",
        autopsy=True,
    ),
    Row("envs/custom-gym", BULLET, "a heading only"),
    Row("envs/custom-sb3", BULLET, "a heading only"),
    Row("parallel/throughput", PARALLEL, "impressions only"),
    Row(
        "parallel/dqn",
        PARALLEL,
        "4 workers: 369 once, unstable",
        "IQM 500",
        autopsy=True,
    ),
    Row(
        "parallel/decorrelation",
        PARALLEL,
        "parallel environments decorrelate the data: not measured",
        "gradient variance and return with 1, 4, 16 environments",
    ),
    Row(
        "parallel/unlimited",
        PARALLEL,
        "without the limit of 500: over 10,000 steps",
    ),
    Row(
        "parallel/sb3-dqn",
        PARALLEL,
        "collapses late; its best model is fine, 10 × 500",
        autopsy=True,
    ),
    Row(
        "parallel/envpool",
        PARALLEL,
        "8 environments all identical, abandoned",
        "a DQN trained on EnvPool, IQM 500",
        autopsy=True,
    ),
    Row("parallel/rllib-dqn", PARALLEL, "387", "≥ 450"),
    Row(
        "parallel/rllib-runners",
        PARALLEL,
        "not solved",
        "our policy sampling through RLlib's runners, verified",
        autopsy=True,
    ),
    Row(
        "sparse/pong",
        PARALLEL,
        "a heading only",
        "learning speed against reward delay",
    ),
    Row(
        "sparse/basicmath",
        PARALLEL,
        "a heading only",
        "what random play earns, and the first method that beats it",
    ),
)
