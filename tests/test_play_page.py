"""The page on which the reader plays CartPole, in a browser: it is Gymnasium's world,
the networks are torch's, and what the page says to try happens."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.envs.classic_control import CartPoleEnv
from playwright.sync_api import Browser, Page, expect

from rlnotes.algos import gail
from rlnotes.report import play
from rlnotes.report.results import Results

# In one process, which starts the browser once for all of them.
pytestmark = [pytest.mark.slow(seconds=15), pytest.mark.xdist_group("play")]

BOOK = Path(__file__).parents[1] / "book"
SCRIPTS = BOOK / "assets" / "play"

ONE_STEP = "rows => rows.map(([state, force, half]) => step(state, force, half))"
ENDED = "states => states.map((state) => leftTheTrack(state) || fell(state))"
OUTPUTS = """([name, states]) => {
  const policy = unpacked(POLICIES[name]);
  return states.map((state) => outputs(policy, state));
}"""
PAY = """([name, states]) => {
  const policy = unpacked(POLICIES[name]);
  return states.map((state) => pay(policy, state));
}"""
EPISODES = """([name, starts, length, shove, limit]) => {
  const policy = unpacked(POLICIES[name]);
  return starts.map((start) => {
    const states = [start];
    const actions = [];
    const best = [];
    while (actions.length < limit) {
      const both = outputs(policy, states.at(-1));
      const action = greedy(both);
      const extra = actions.length === 50 ? shove : 0;
      states.push(step(states.at(-1), (action ? PUSH : -PUSH) + extra, length / 2));
      actions.push(action);
      best.push(Math.max(...both));
      if (leftTheTrack(states.at(-1)) || fell(states.at(-1))) break;
    }
    const left = leftTheTrack(states.at(-1)) ? "track" : "pole";
    const end = actions.length === 500 ? "time" : left;
    return { states, actions, best, end };
  });
}"""


@pytest.fixture(scope="module")
def scripts(browser: Browser) -> Page:
    """An empty page with the world and the networks."""
    page = browser.new_page()
    for name in ("policies.js", "cartpole.js"):
        page.add_script_tag(path=SCRIPTS / name)
    return page


@pytest.fixture
def page(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    """What the chapter holds, without the book around it; no error is tolerated."""
    shutil.copytree(SCRIPTS, tmp_path / "play")
    (tmp_path / "book").mkdir()
    source = (BOOK / "play.md").read_text()
    found = re.search(r"```{raw} html\n(.*?)```", source, re.DOTALL)
    assert found
    html = f"<!doctype html><html lang=en><meta charset=utf-8>{found[1]}"
    (tmp_path / "book" / "play.html").write_text(html)
    page = browser.new_page()
    page.set_default_timeout(120_000)  # ms: a busy machine is slow, not wrong
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("requestfailed", lambda request: errors.append(request.url))
    page.goto((tmp_path / "book" / "play.html").as_uri())
    yield page
    page.close()
    assert errors == []


def cartpole() -> CartPoleEnv:
    env = gym.make("CartPole-v1").unwrapped
    assert isinstance(env, CartPoleEnv)
    env.reset(seed=0)
    return env


def stepped(
    env: CartPoleEnv, state: np.ndarray, force: float, half: float = 0.5
) -> tuple[np.ndarray, bool]:
    """Gymnasium's next state before it is rounded, and whether the task is over."""
    env.length, env.polemass_length = half, env.masspole * half
    env.force_mag, env.state = abs(force), state
    env.steps_beyond_terminated = None
    _, _, terminated, _, _ = env.step(int(force > 0))
    assert env.state is not None
    return env.state, terminated


def starts(count: int, place: float = 0.0) -> np.ndarray:
    found = np.random.default_rng(7).uniform(-0.05, 0.05, (count, 4))
    return found + np.array([place, 0, 0, 0])


def test_one_step_is_gymnasiums(scripts: Page) -> None:
    rng, far = np.random.default_rng(0), np.array([2.6, 4.0, 0.25, 4.0])
    states = rng.uniform(-far, far, (3_000, 4))
    forces = rng.choice([-10.0, 10.0], 3_000) + rng.choice([-100, -50, 0, 50], 3_000)
    halves = rng.choice([0.1, 0.5, 0.75], 3_000)
    rows = list(zip(states.tolist(), forces.tolist(), halves.tolist(), strict=True))
    ours = np.array(scripts.evaluate(ONE_STEP, rows))
    env = cartpole()
    theirs = [stepped(env, *row) for row in zip(states, forces, halves, strict=True)]
    assert np.abs(ours - [state for state, _ in theirs]).max() < 1e-12
    ended = scripts.evaluate(ENDED, [state.tolist() for state, _ in theirs])
    assert ended == [terminated for _, terminated in theirs]
    assert 0.05 < np.mean(ended) < 0.95


def test_a_hundred_steps_are_gymnasiums(scripts: Page) -> None:
    """A pole doubles an error in less than ten steps, so not for ever."""
    given = ["gail", starts(3).tolist(), 1.0, 0, 100]
    env = cartpole()
    for episode in scripts.evaluate(EPISODES, given):
        state = np.array(episode["states"][0])
        for action, ours in zip(episode["actions"], episode["states"][1:], strict=True):
            state, _ = stepped(env, state, 10.0 if action else -10.0)
            assert np.abs(state - ours).max() < 1e-9
        assert len(episode["actions"]) == 100


@pytest.mark.parametrize("name", play.PLAYERS)
def test_the_networks_are_torchs(scripts: Page, name: str) -> None:
    """Rounding included, of which `test_play_policies` has a closer look."""
    player = play.PLAYERS[name]
    policy = Results(player.id).policy(player.variant, player.record().run.seed)
    far = np.array([2.4, 3.0, 0.21, 3.0])
    states = np.random.default_rng(1).uniform(-far, far, (200, 4))
    ours = np.array(scripts.evaluate(OUTPUTS, [name, states.tolist()]))
    with torch.no_grad():
        theirs = policy.net(policy.encode_array(states)).numpy()
    assert np.abs(ours - theirs).max() < 0.05


@pytest.mark.parametrize("name", ["gail", "gail-swapped", "gail-untrained"])
def test_the_judges_are_torchs(scripts: Page, name: str) -> None:
    """For both actions, in states of both kinds; rounding included."""
    run = play.PLAYERS[name].record().run
    judge, config = play.judge_of(run)
    policy = Results(run.id).policy(run.variant, run.seed)
    far = np.array([2.4, 3.0, 0.21, 3.0])
    states = np.random.default_rng(1).uniform(-far, far, (200, 4))
    ours = np.array(scripts.evaluate(PAY, [name, states.tolist()]))
    agent = gail.Agent(policy, config)
    obs = policy.encode_array(states)
    with torch.no_grad():
        theirs = [
            config.reward(judge(gail.features(agent, obs, torch.full((200,), action))))
            for action in (0, 1)
        ]
    assert np.abs(ours.T - torch.stack(theirs).numpy()).max() < 0.05
    assert np.ptp(ours) > 0.1


# --- what the page says to try: name, place, length, shove, and how it ends

TRIES = [
    ("dqn", 0.0, 1.0, 0, "time"),
    ("dqn-huber", 0.0, 1.0, 0, "track"),
    ("dqn", -2.0, 1.0, 0, "track"),
    ("dqn", 1.0, 1.0, 0, "track"),
    ("gail", 0.0, 1.0, 0, "time"),
    ("gail", 2.0, 1.0, 0, "time"),
    ("gail", -2.0, 1.0, 0, "time"),
    ("gail", 0.0, 0.2, 0, "time"),
    ("gail", 0.0, 1.5, 0, "time"),
    ("gail", 0.0, 1.0, -50, "time"),
    ("gail", 0.0, 1.0, -100, "pole"),
    ("gail-swapped", 0.0, 1.0, 0, "track"),
    ("gail-untrained", 2.0, 1.0, 0, "time"),
    ("gail-untrained", 0.0, 0.2, 0, "time"),
    ("gail-untrained", 0.0, 1.5, 0, "time"),
    ("gail-untrained", 0.0, 1.0, -50, "time"),
    ("gail-untrained", 0.0, 1.0, -100, "pole"),
    ("dqn", 0.0, 1.0, -100, "pole"),
]


@pytest.mark.parametrize(("name", "place", "length", "shove", "end"), TRIES)
def test_what_the_page_says_happens(
    scripts: Page, name: str, place: float, length: float, shove: float, end: str
) -> None:
    given = [name, starts(3, place).tolist(), length, shove, 500]
    assert [one["end"] for one in scripts.evaluate(EPISODES, given)] == 3 * [end]


def test_only_the_mended_q_sees_the_end_coming(scripts: Page) -> None:
    given = ["dqn-huber", starts(3).tolist(), 1.0, 0, 500]
    for episode in scripts.evaluate(EPISODES, given):
        x, _, theta, _ = episode["states"][-1]
        assert x < -2.4
        assert abs(theta) < np.deg2rad(6)
        assert min(episode["best"]) > 100
    given = ["dqn", starts(3, -2.0).tolist(), 1.0, 0, 500]
    for episode in scripts.evaluate(EPISODES, given):
        assert episode["best"][-1] < min(40, episode["best"][-20])


def test_judges_pay_as_the_page_says(scripts: Page) -> None:
    """By place, for a pole that stands: from the left end of the track to the right."""
    places = [[x, 0, 0, 0] for x in (-2, -1, 0, 1, 2)]
    paid = {
        name: np.mean(scripts.evaluate(PAY, [name, places]), axis=1)
        for name in ("gail", "gail-swapped", "gail-untrained")
    }
    assert (np.diff(paid["gail"][:3]) > 0).all()
    assert (np.diff(paid["gail"][2:]) < 0).all()
    assert (np.diff(paid["gail-swapped"]) >= 0).all()
    assert paid["gail-swapped"][4] > 10 * paid["gail-swapped"][2]
    assert np.ptp(paid["gail-untrained"]) < 0.2 < paid["gail-untrained"].min()


def test_exchanged_labels_lean_and_drive_to_the_right(scripts: Page) -> None:
    given = ["gail-swapped", starts(3).tolist(), 1.0, 0, 500]
    for episode in scripts.evaluate(EPISODES, given):
        x, velocity, theta, _ = episode["states"][-1]
        assert x > 2.4
        assert velocity > 1
        assert theta > np.deg2rad(8)


# --- the page itself


def now(page: Page) -> str:
    return page.inner_text("#play-state")


def test_nothing_moves_before_it_is_asked_to(page: Page) -> None:
    before = now(page)
    page.wait_for_timeout(300)
    assert now(page) == before
    page.click("#play-run")
    expect(page.locator("#play-run")).to_have_text("Pause")
    expect(page.locator("#play-state")).not_to_have_text(before)
    page.click("#play-run")
    before = now(page)
    page.wait_for_timeout(300)
    assert now(page) == before


def test_an_episode_ends_in_words(page: Page) -> None:
    page.check("[value=dqn-huber]")
    expect(page.locator("#play-agent-is")).to_contain_text("the worst of 5")
    page.evaluate(
        """() => {
          const said = document.getElementById("play-said");
          const one = document.getElementById("play-step");
          while (!said.textContent.includes("after")) one.click();
        }"""
    )
    words = page.inner_text("#play-said")
    assert re.fullmatch(
        r"The cart left the track after \d+ steps\."
        r" At the last step Q still promised 1\d\d; 1 came\.",
        words,
    )
    page.click("#play-step")  # the next one
    assert now(page).startswith("Step 1:")


def place(page: Page) -> float:
    found = re.search(r"cart at (\S+) m", now(page))
    assert found
    return float(found[1].replace("−", "-"))


def test_the_keys_push(page: Page) -> None:
    page.check("[value=you]")
    for key, sign in (("ArrowRight", 1), ("ArrowLeft", -1)):
        page.focus("#play-stage")
        page.keyboard.press("r")
        page.keyboard.down(key)
        for _ in range(8):
            page.evaluate("document.getElementById('play-step').click()")
        page.keyboard.up(key)
        assert sign * place(page) > 0.03


def test_a_touch_shoves_the_agent(page: Page) -> None:
    page.fill("#play-shove", "100")
    page.focus("#play-stage")
    before = place(page)
    box = page.locator("#play-stage").bounding_box()
    assert box
    page.mouse.click(box["x"] + 0.9 * box["width"], box["y"] + 20)
    for _ in range(4):
        page.click("#play-step")
    assert place(page) - before > 0.05


def test_what_a_judge_pays_is_shown_where_there_is_one(page: Page) -> None:
    expect(page.locator("#play-pay")).to_be_hidden()
    page.check("[value=gail]")
    expect(page.locator("#play-pay")).to_be_visible()
    assert re.fullmatch(r"−?\d\.\d\d", page.inner_text("#play-pay-left"))
    page.check("[value=dqn]")
    expect(page.locator("#play-pay")).to_be_hidden()


def test_every_control_has_a_name_and_the_keyboard_reaches_it(page: Page) -> None:
    controls = page.locator("#play").locator("input, select, button, canvas, output")
    page.check("[value=gail]")  # with all that can be seen
    unnamed = [
        one.get_attribute("id")
        for one in controls.all()
        if not re.match(r"- '?\w+ \"", one.aria_snapshot()) and not one.inner_text()
    ]
    assert unnamed == []
    page.reload()
    page.keyboard.press("Tab")
    expect(page.locator("#play-stage")).to_be_focused()
    page.keyboard.press("Space")
    expect(page.locator("#play-run")).to_have_text("Pause")


@pytest.mark.parametrize("width", [390, 768, 1400])
def test_nothing_is_wider_than_the_screen(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_every_agent_of_the_page_is_recorded(page: Page) -> None:
    offered = page.locator("input[name=play-agent]").all()
    assert [one.get_attribute("value") for one in offered] == list(play.PLAYERS)
