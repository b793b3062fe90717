"""GAIL's experiments: who is shown what, what a cost says, and how the car is
judged."""

import numpy as np
import pytest
import torch

from rlnotes.algos import gail, ppo
from rlnotes.data.rollouts import Episode
from rlnotes.envs.racecar import WALLS
from rlnotes.experiments import gail_questions, gail_race, gail_racecar, registry
from rlnotes.experiments.gail import (
    CARTPOLE,
    CARTPOLE_GAIL,
    JUDGES,
    OFFLINE,
    new_agent,
)
from rlnotes.runs.run import train_live

pytestmark = pytest.mark.slow


def test_each_seed_is_shown_demonstrations_of_its_own() -> None:
    settings = CARTPOLE_GAIL.settings_for("four", "full")
    first, second = (settings.shown(seed) for seed in (0, 1))
    assert len(first) == len(second) == 4
    assert not {e.seed for e in first} & {e.seed for e in second}


def test_all_demonstrations_are_the_same_for_every_seed() -> None:
    settings = OFFLINE.settings_for("bc", "full")
    first, second = ({e.seed for e in settings.shown(seed)} for seed in (0, 1))
    assert first == second
    assert len(first) == 100


@pytest.mark.parametrize(
    "address",
    [
        "gail/cartpole/notes",
        "gail/cartpole/spectral",
        "gail/acrobot/airl",
        "gail/offline/notes",
        "gail/offline/bc",
        "gail/questions/alone",
        "gail/questions/dqn",
        "gail/racecar-ppo/ppo",
        "gail/racecar-ppo/bc-alone",
        "gail/racecar-ppo/throttle-from-minus-1",
        "gail/racecar-reinforce/reinforce",
    ],
)
def test_it_runs_at_the_smallest_budget(address: str) -> None:
    id, variant = address.rsplit("/", 1)
    live = train_live(id, variant, budget="smoke", progress=False)
    assert np.isfinite(live.record.last("final_return"))


def test_the_cost_of_an_episode_by_hand() -> None:
    """A discriminator that always says the same charges minus that, whether the episode
    ends or not."""
    settings = CARTPOLE_GAIL.settings_for("ten", "smoke")
    shown = settings.shown(0)
    agent, _ = new_agent(CARTPOLE, settings, shown)
    with torch.no_grad():
        for parameter in agent.discriminator.parameters():
            parameter.zero_()
        last = agent.discriminator.net[-1]
        assert isinstance(last, torch.nn.Linear)
        last.bias.fill_(2.0)
    states, actions = np.zeros((4, 4), np.float32), np.zeros(3, np.int64)
    fallen = Episode(0, states, actions, np.ones(3), True, False)
    assert gail_questions.cost(agent, fallen) == pytest.approx(-2.0, rel=1e-5)
    whole = -2.0 * (1 - 0.99**500)
    assert gail_questions.cost(agent, shown[0]) == pytest.approx(whole, rel=1e-3)


def test_a_player_that_always_slips_plays_at_random() -> None:
    always, never = (
        gail_questions.slipping(lambda obs: np.zeros(len(obs), int), often, 0)
        for often in (1.0, 0.0)
    )
    obs = np.zeros((1_000, 4))
    assert never(obs).sum() == 0
    assert 400 < always(obs).sum() < 600


def test_gammas_of_the_generator_and_the_weight_of_an_end_agree() -> None:
    settings = CARTPOLE_GAIL.settings_for("ten", "smoke")
    agent, _ = new_agent(CARTPOLE, settings, settings.shown(0))
    step, time = torch.zeros(1, 7), torch.zeros(1)
    side = gail.samples(agent, step, time, torch.zeros(1, 4), time)
    gamma = settings.agent.generator.gamma
    assert side.weight.tolist() == pytest.approx([1, 1 / (1 - gamma)])


@pytest.mark.parametrize(
    ("variant", "throttle"), [("ppo", 0.5), ("throttle-from-minus-1", 0.0)]
)
def test_a_policy_that_says_nothing_stands_still_only_where_throttle_begins_at_minus_1(
    variant: str, throttle: float
) -> None:
    settings = gail_racecar.RACECAR_PPO.settings_for(variant, "smoke")
    policy = gail_racecar.new_policy(settings, settings.shown(0))
    assert policy.decode_action(torch.zeros(2)).tolist() == [0, throttle]


@pytest.mark.parametrize(("variant", "moves"), [("unpaid", False), ("no-bc", True)])
def test_who_is_unpaid_learns_from_cloning_alone(variant: str, moves: bool) -> None:
    experiment = gail_racecar.RACECAR_PPO
    one_world = {"num_envs": 1, "agent.generator.num_steps": 64}
    settings = experiment.settings_for(variant, "smoke", one_world)
    agent, envs = gail_racecar.new_agent(settings, settings.shown(0))
    before = [parameter.clone() for parameter in agent.policy.parameters()]
    played = ppo.Collector(agent.policy, envs, 0).rollout(64)
    ppo.update(agent.generator, *gail.relabel_rewards(agent, played))
    envs.close()
    pairs = zip(before, agent.policy.parameters(), strict=True)
    assert any(not torch.equal(old, new) for old, new in pairs) is moves


def test_both_learners_clone_equally_often() -> None:
    """In batches for each step in the world."""
    ppo_settings = gail_racecar.RACECAR_PPO.settings_for("ppo", "full")
    assert isinstance(ppo_settings.agent, gail.Config)
    of_ppo = ppo_settings.agent.generator.update_epochs / 256
    for variant in ("cloning-apart", "annealed", "with-baseline", "unpaid"):
        experiment = gail_racecar.RACECAR_REINFORCE
        agent = experiment.settings_for(variant, "full").agent
        assert isinstance(agent, gail.Config)
        batches = agent.bc_updates + 1
        assert batches / agent.generator.num_steps == pytest.approx(of_ppo, rel=0.02)


def test_the_map_of_rewards_covers_the_track_and_nothing_else() -> None:
    places = gail_racecar.places_on_the_track()
    # On both sides of a wall there would be twice as many.
    most = 0.6 * np.pi * 0.5**2 / gail_racecar.SPACING**2
    for (x0, y0), (x1, y1) in WALLS:
        along = [np.linspace(a, b, 9)[1:-1] for a, b in ((x0, x1), (y0, y1))]
        spots = zip(*along, strict=True)
        near = [np.sum(np.hypot(*(places - spot).T) < 0.5) for spot in spots]
        assert 0 < np.median(near) < most


def test_maps_are_kept_beside_their_numbers() -> None:
    experiment = gail_racecar.REWARD_MAP
    trial = experiment.trial(experiment.settings_for("ppo", "smoke"), 0)
    (step, metrics), *_ = trial.stream
    kept = trial.arrays
    assert kept["rewards"].shape == (1, len(kept["places"]))
    assert np.ptp(kept["rewards"]) > 0
    assert kept["steps"].tolist() == [step]
    size = np.abs(kept["rewards"][0].astype(float)).mean()
    assert metrics["reward_size"] == pytest.approx(size)


def test_a_judge_is_kept_with_the_policy_that_it_paid() -> None:
    experiment = JUDGES
    trial = experiment.trial(experiment.settings_for("ten", "smoke"), 0)
    assert [name for _, row in trial.stream for name in row if name == "final_return"]
    judge = trial.agent.discriminator.state_dict()
    assert trial.arrays.keys() == judge.keys()
    for name, kept in trial.arrays.items():
        assert np.array_equal(kept, judge[name].numpy())


def race_of(monkeypatch: pytest.MonkeyPatch, theirs: list[float]) -> dict[str, float]:
    """What a race records whose other side has these returns."""

    def curve(returns: list[float]):  # type: ignore[no-untyped-def]
        return lambda *_: ((10 * n, n / 2, x) for n, x in enumerate(returns, start=1))

    monkeypatch.setattr(gail_race, "ours", curve([9.0, 500.0, 1.0]))
    monkeypatch.setattr(gail_race, "theirs", curve(theirs))
    experiment = registry.find("gail/race")
    trial = experiment.trial(experiment.settings_for("cartpole", "smoke"), 0)
    return {name: value for _, rows in trial.stream for name, value in rows.items()}


def test_a_race_is_timed_to_the_goal(monkeypatch: pytest.MonkeyPatch) -> None:
    told = race_of(monkeypatch, [9.0, 20.0, 480.0])
    assert told["ours_seconds_to_goal"] == 1.0
    assert told["ours_steps_to_goal"] == 20
    assert told["imitation_seconds_to_goal"] == 1.5


def test_who_never_arrives_has_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    told = race_of(monkeypatch, [9.0, 20.0, 30.0])
    assert np.isnan(told["imitation_seconds_to_goal"])
    assert np.isnan(told["imitation_steps_to_goal"])
