"""Who plays the book's datasets: experts trained here on the task's own reward."""

from rlnotes.algos import dqn, sac
from rlnotes.experiments.base import Budget, Experiment, Trial, Variant, World
from rlnotes.experiments.trials import OnlineSettings, online_trial
from rlnotes.paths import Run

PENDULUM_ENV, CARTPOLE_ENV, ACROBOT_ENV = "Pendulum-v1", "CartPole-v1", "Acrobot-v1"


def expert(
    name: str,
    env_id: str,
    settings: OnlineSettings,
    budgets: dict[str, Budget],
    variants: dict[str, Variant],
) -> Experiment[OnlineSettings]:
    world = World(env_id)

    def start(settings: OnlineSettings, seed: int) -> Trial:
        return online_trial(world, settings, seed)

    return Experiment(
        id=f"experts/{name}",
        world=lambda settings: world,
        settings=settings,
        budgets=budgets,
        variants=variants,
        bars=(),
        start=start,
        seeds=1,
    )


PENDULUM = expert(
    "pendulum",
    PENDULUM_ENV,
    OnlineSettings(agent=sac.Config(learning_rate=1e-3, hidden=(64, 64))),
    {
        "smoke": Budget(1_100, evaluations=2, curve_episodes=1, final_episodes=2),
        "ci": Budget(5_000, evaluations=6, curve_episodes=5, final_episodes=20),
        "full": Budget(20_000, evaluations=10, curve_episodes=10, final_episodes=100),
    },
    {
        "sac": Variant("SAC, fully trained"),
        "half-trained": Variant("SAC, half trained", {"length": 0.17}, replayed=True),
    },
)

# The first DQN that never drops the pole in an evaluation; DQN alone often does so
# later.
CARTPOLE = expert(
    "cartpole",
    CARTPOLE_ENV,
    OnlineSettings(
        agent=dqn.Config(
            learning_rate=2e-3, anneal_lr=True, train_freq=2, target_update_interval=50
        ),
        stop_at_return=500.0,
    ),
    {
        "smoke": Budget(1_200, evaluations=2, curve_episodes=1, final_episodes=2),
        "ci": Budget(30_000, evaluations=30, curve_episodes=20, final_episodes=20),
        "full": Budget(30_000, evaluations=30, curve_episodes=20, final_episodes=100),
    },
    {"dqn": Variant("the demonstrator (DQN)")},
)

ACROBOT = expert(
    "acrobot",
    ACROBOT_ENV,
    OnlineSettings(
        agent=dqn.Config(
            learning_rate=1e-3, anneal_lr=True, train_freq=2, target_update_interval=200
        )
    ),
    {
        "smoke": Budget(1_200, evaluations=2, curve_episodes=1, final_episodes=2),
        "ci": Budget(20_000, evaluations=4, curve_episodes=5, final_episodes=20),
        "full": Budget(40_000, evaluations=10, curve_episodes=10, final_episodes=100),
    },
    {"dqn": Variant("the demonstrator (DQN)")},
)

PENDULUM_EXPERT = Run(PENDULUM.id, "sac", 0)
PENDULUM_HALF_TRAINED = Run(PENDULUM.id, "half-trained", 0)
CARTPOLE_EXPERT = Run(CARTPOLE.id, "dqn", 0)
ACROBOT_EXPERT = Run(ACROBOT.id, "dqn", 0)
