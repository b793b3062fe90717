"""Chapter "Offline RL with TD3+BC": the pendulum.

Three datasets (expert, medium, random) and three learners (TD3+BC, TD3, BC), ablations
that each change one setting, and SAC with and without the same BC term.
"""

from collections.abc import Sequence
from typing import Any

from rlnotes.algos import bc, sac_bc, td3_bc
from rlnotes.autopsies import extrapolation, hand_scaling
from rlnotes.autopsies.time_limits import truncation_as_termination
from rlnotes.data import catalogue
from rlnotes.data.rollouts import Episode
from rlnotes.data.transitions import Transitions
from rlnotes.experiments.base import (
    Bar,
    Budget,
    Diagnose,
    Experiment,
    Metrics,
    Trial,
    Variant,
    World,
    fresh_seeds,
)
from rlnotes.experiments.settings import Override, changed
from rlnotes.experiments.trials import OfflineSettings, offline_trial, raw
from rlnotes.seeding import reset_seeds

WORLD = World("Pendulum-v1")
HIDDEN = (128, 128)

# The one table of what each budget spends. The full one has the notes' 10,000 updates.
BUDGETS = {
    "smoke": Budget(40, evaluations=2, curve_episodes=1, final_episodes=2),
    "ci": Budget(6_000, evaluations=6, curve_episodes=5, final_episodes=20),
    "full": Budget(10_000, evaluations=10, curve_episodes=10, final_episodes=100),
}

SETTINGS = OfflineSettings(
    agent=td3_bc.Config(hidden=HIDDEN), dataset=catalogue.PENDULUM_EXPERT
)
BC = {"agent": bc.Config(hidden=HIDDEN)}
SAC_BC = {"agent": sac_bc.Config(hidden=HIDDEN)}
MEDIUM = {"dataset": catalogue.PENDULUM_MEDIUM}
RANDOM = {"dataset": catalogue.PENDULUM_RANDOM}
NO_BC = {f"agent.{name}": value for name, value in extrapolation.FAULT.items()}


def start(settings: OfflineSettings, seed: int) -> Trial:
    data = Transitions.from_episodes(settings.episodes())
    return offline_trial(WORLD, settings, data, promises(settings))


def promises(settings: OfflineSettings) -> Any:
    """What a critic promises for fresh starts, and what its policy then earns."""

    def diagnosed(agent: Any) -> Diagnose:
        starts = reset_seeds("select", 0, settings.budget.curve_episodes)

        def diagnose(episodes: Sequence[Episode]) -> Metrics:
            if not hasattr(agent, "critic"):
                return {}
            gamma = agent.config.gamma
            return extrapolation.promised_and_true(
                agent.policy, agent.critic, WORLD.env_id, starts, gamma
            )

        return diagnose

    return diagnosed


# Each changes one thing about TD3+BC on expert data.
ABLATIONS = {
    "raw-states": Variant("states as they are", {"obs_scale": raw}, 5),
    "hand-scaled-states": Variant(
        "states scaled by hand", {"obs_scale": hand_scaling.velocity_by_bound}, 5
    ),
    "truncation-terminates": Variant(
        "time limit treated as an end", {"prepare": truncation_as_termination}, 5
    ),
    "alpha-0.5": Variant("α = 0.5", {"agent.alpha": 0.5}, 5),
    "alpha-10": Variant("α = 10", {"agent.alpha": 10.0}, 5),
    "twice-as-long": Variant("twice as many updates", {"length": 2.0}, 5),
}


def three_datasets(name: str, label: str, override: Override) -> dict[str, Variant]:
    return {
        f"{name}-{dataset}": Variant(f"{label} on {dataset} data", {**override, **data})
        for dataset, data in (("expert", {}), ("medium", MEDIUM), ("random", RANDOM))
    }


PENDULUM = Experiment(
    id="td3bc/pendulum",
    world=lambda settings: WORLD,
    settings=SETTINGS,
    budgets=BUDGETS,
    variants={
        **three_datasets("td3bc", "TD3+BC", {}),
        **three_datasets("bc", "BC", BC),
        **ABLATIONS,
        "sacbc-expert": Variant("SAC+BC", SAC_BC, 5),
        "sac-expert": Variant("SAC", SAC_BC | NO_BC, 5),
        **fresh_seeds(),
    },
    bars=(
        Bar("TD3+BC learns from expert data", "td3bc-expert", "iqm", ">=", -165.0),
        Bar("every seed of it does", "td3bc-expert", "worst", ">=", -200.0),
        Bar(
            "on medium data TD3+BC is at least as good as BC",
            "td3bc-medium",
            "iqm",
            ">=",
            "bc-medium",
        ),
    ),
    start=start,
)

PENDULUM_NO_BC = Experiment(
    id="td3bc/pendulum-no-bc",
    world=lambda settings: WORLD,
    settings=changed(SETTINGS, NO_BC),
    budgets=BUDGETS,
    variants={
        **three_datasets("td3", "TD3", {}),
        "twice-as-long": Variant("TD3, twice as many updates", {"length": 2.0}, 5),
    },
    bars=(
        Bar(
            "without the BC term the same learner fails on expert data",
            "td3-expert",
            "iqm",
            "<=",
            -1000.0,
        ),
    ),
    start=start,
)
