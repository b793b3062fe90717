"""Row `aggrevated/table`: the notes' table of fourteen hyper-parameters, each put to
the test on the walker; and what a coefficient of entropy does to PPO.

The notes give the table and then do otherwise. Here `table` takes its values, the
middle of a range, together with the right gradient. With it some seeds walk and some do
not, so that a row's other value, tried from there, tells little; with a bound of −2 for
log σ all of them do. So the rows after the first are changed from there, one at a time:

    from the table's values                 with log σ from −2
    α₀             unmixed                  N iterations         fifty
    α_n            linear                   α_n                  harmonic
    learning rate  annealed                 decay rate           slow-decay
    batch size     large-batches            K trajectories       eight
    log σ          narrow-std               H steps              short-episodes
    normalised Q*  min-max                  γ                    short-sighted
                                            learning rate        fast
                                            gradient clipping    unclipped
                                            entropy coefficient  entropy-1e-2, -1e-1
                                            replay buffer        aggregated
                                            batch size           narrow-large-batches
                                            normalised Q*        narrow-min-max

`aggrevated/entropy` is about the notes' finding that PPO does not converge with more
than 0.001. Their bonus is the entropy before the tanh, which grows without end. Both
entropies are recorded: `entropy` before the tanh, `squashed_entropy` after it.
"""

from dataclasses import replace
from functools import partial
from typing import Any

from rlnotes.algos import aggrevated, ppo
from rlnotes.experiments import bipedal, bipedal_aggrevated
from rlnotes.experiments.base import Bar, Budget, Experiment, Variant
from rlnotes.experiments.bipedal import (
    EASY,
    NOTES_STD,
    PPO,
    UNBOUNDED,
    WalkerSettings,
)
from rlnotes.experiments.bipedal_aggrevated import (
    BUDGETS,
    MIN_MAX,
    WalkingLesson,
    course,
)
from rlnotes.experiments.bipedal_expert import short_sighted_expert
from rlnotes.experiments.settings import Override

# A hundred roll-ins of 1,000 steps; a roll-in is 50 steps of 20 episodes.
TABLE = aggrevated.Config(
    weight_scale=aggrevated.standardised,
    beta_schedule="exponential",
    beta_decay=0.99,
    num_steps=50,
    update_epochs=20,
    batch_size=128,
    learning_rate=3e-4,
    max_grad_norm=0.5,
    initial_std=0.6,
    log_std_bounds=(-10.0, 1.0),
    hidden=(128, 128),
)


def of_agent(**settings: Any) -> Override:
    return {f"agent.{name}": value for name, value in settings.items()}


# Without it the deviation falls until a step of the usual size throws the policy away.
MENDED = "narrow-std"
NARROW = of_agent(log_std_bounds=(-2.0, 1.0))
LARGE_BATCHES = of_agent(batch_size=1_000)

ROWS = {
    MENDED: Variant("log σ from −2", NARROW, seeds=8),
    "unmixed": Variant("α₀ = 0", of_agent(initial_beta=0.0)),
    "linear": Variant("α_n on a line", of_agent(beta_schedule="linear")),
    "annealed": Variant("falling from 3e-4 to 0", of_agent(anneal_lr=True)),
    "large-batches": Variant("batches of 1,000", LARGE_BATCHES),
    "min-max": Variant("Q* between 0 and 1", MIN_MAX),
}

# Of as many steps together: N times K times the steps of a roll-in is the same.
MENDED_ROWS = {
    "fifty": Variant("N = 50", of_agent(num_steps=100)),
    "harmonic": Variant("α_n = 1/(n + 1)", of_agent(beta_schedule="harmonic")),
    "slow-decay": Variant("decay rate 0.995", of_agent(beta_decay=0.995)),
    "eight": Variant("K = 8", {"num_envs": 8, "agent.num_steps": 125}),
    "short-episodes": Variant("H = 400", {"max_episode_steps": 400}),
    "short-sighted": Variant("γ = 0.9, of Q*", {"expert": short_sighted_expert}),
    "fast": Variant("learning rate 3e-3", of_agent(learning_rate=3e-3)),
    "unclipped": Variant("no clipping", of_agent(max_grad_norm=UNBOUNDED)),
    "entropy-1e-2": Variant("entropy 0.01", of_agent(ent_coef=0.01)),
    "entropy-1e-1": Variant("entropy 0.1", of_agent(ent_coef=0.1)),
    # Twice, because from the table's values no seed, or nearly none, walks with them.
    "narrow-large-batches": Variant("batches of 1,000", LARGE_BATCHES),
    "narrow-min-max": Variant("Q* between 0 and 1", MIN_MAX),
    # Twenty passes over a memory that grows would be fifty times as many updates.
    "aggregated": Variant(
        "all states so far, one pass", of_agent(aggregate=True, update_epochs=1)
    ),
}


def from_mended(row: Variant) -> Variant:
    return replace(row, override={**NARROW, **row.override})


AGGREVATED_TABLE = Experiment(
    id="aggrevated/table",
    world=course,
    settings=WalkingLesson(agent=TABLE),
    # Many runs: half of the time of a lesson goes into its evaluations.
    budgets={
        **BUDGETS,
        "full": Budget(100_000, evaluations=5, curve_episodes=10, final_episodes=40),
    },
    variants={
        MENDED: ROWS[MENDED],
        "table": Variant("the table's values", seeds=8),
        **ROWS,
        **{name: from_mended(row) for name, row in MENDED_ROWS.items()},
    },
    bars=(
        Bar("the table's values do not walk in every seed", "table", "worst", "<=", 0),
        Bar(
            "with one of them changed they walk as well as the expert, nearly",
            MENDED,
            "iqm",
            ">=",
            "experts/bipedal/ppo",
            times=0.9,
        ),
    ),
    start=bipedal_aggrevated.start,
    seeds=3,
)

# --- PPO's bonus


def bonus(ent_coef: float) -> Variant:
    return Variant(f"entropy {ent_coef:g}", of_agent(ent_coef=ent_coef))


def played_bonus(ent_coef: float) -> Variant:
    override = of_agent(ent_coef=ent_coef, entropy=ppo.played_entropy)
    return Variant(f"entropy {ent_coef:g}, after the tanh", override)


def notes_bonus(ent_coef: float) -> Variant:
    """`bipedal/ppo-vector/notes`, which has 0.001 and as many steps, with more."""
    override = {
        "length": 2.0,
        "num_envs": 16,
        **bipedal.NOTES_VECTOR,
        **of_agent(ent_coef=ent_coef),
    }
    return Variant(
        f"as in the notes, entropy {ent_coef:g}", override, seeds=1, planned=True
    )


ENTROPY = Experiment(
    id="aggrevated/entropy",
    world=lambda settings: EASY,
    settings=WalkerSettings(
        agent=replace(
            PPO,
            ent_coef=0.001,
            entropy=ppo.drawn_entropy,
            log_std_bounds=NOTES_STD,
        ),
        num_envs=32,
    ),
    budgets={
        **bipedal.EASY_BUDGETS,
        "full": Budget(1_000_000, evaluations=10, curve_episodes=10, final_episodes=50),
    },
    variants={
        "entropy-1e-3": Variant("entropy 0.001"),
        "no-entropy": bonus(0.0),
        "entropy-1e-2": bonus(0.01),
        "entropy-3e-2": bonus(0.03),
        "played-3e-2": played_bonus(0.03),
        "notes-1e-2": notes_bonus(0.01),
    },
    bars=(),
    start=partial(bipedal.start, EASY),
    seeds=2,
)
