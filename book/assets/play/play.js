// The page: an episode of CartPole, who plays it, and what an agent thinks of it.
// What moves the cart and what the networks say is in cartpole.js.
"use strict";

(() => {
  const find = (name) => document.getElementById(`play-${name}`);
  const stage = find("stage");
  const chart = find("chart");
  const agents = Object.fromEntries(
    Object.entries(POLICIES).map(([name, policy]) => [name, unpacked(policy)]),
  );
  const HIGHEST_Q = 130; // of the chart; a hundred is all that can be earned
  const SHOWN = 15; // steps for which a shove is seen

  // --- what the controls say

  const chosen = (name) => document.querySelector(`input[name=${name}]:checked`).value;
  const agent = () => agents[chosen("play-agent")];
  const youPlay = () => chosen("play-player") === "you";
  const halfLength = () => Number(find("length").value) / 2;
  const speaksOfValue = () => agent().gamma !== null;

  // --- an episode

  let game;
  let running = false;
  let held = 0; // −1: you hold the left key, 1: the right one
  let waiting = 0; // a shove in N, for the next step
  let before; // when the page was last drawn
  let owed = 0; // seconds of the world's time that have not been played yet

  function begin() {
    game = {
      state: newStart(Number(find("place").value)),
      steps: 0,
      action: null,
      end: null, // "track", "pole" or "time"
      shove: { force: 0, step: -SHOWN },
      thoughts: [], // what the agent put out at each step
    };
    waiting = 0;
    owed = 0;
  }

  // Whoever lets go pushes in turns: as near to nothing as CartPole allows.
  function yourAction() {
    if (held) return held > 0 ? 1 : 0;
    return 1 - game.action;
  }

  function advance() {
    const thought = outputs(agent(), game.state);
    game.thoughts.push(thought);
    game.action = youPlay() ? yourAction() : greedy(thought);
    if (waiting) game.shove = { force: waiting, step: game.steps };
    const force = (game.action ? PUSH : -PUSH) + waiting;
    waiting = 0;
    game.state = step(game.state, force, halfLength());
    game.steps += 1;
    if (leftTheTrack(game.state)) game.end = "track";
    else if (fell(game.state)) game.end = "pole";
    else if (game.steps === TIME_LIMIT) game.end = "time";
    if (game.end) finish();
  }

  function finish() {
    run(false);
    say(`${ENDS[game.end]} ${after(game.steps)}. ${promise()}`);
  }

  const after = (steps) => `after ${steps} ${steps === 1 ? "step" : "steps"}`;
  const ENDS = {
    track: "The cart left the track",
    pole: "The pole fell",
    time: "Time is up, and the pole still stands,",
  };

  // How Q's promise at the last step compares with what came.
  function promise() {
    if (!speaksOfValue()) return "";
    const promised = Math.max(...game.thoughts.at(-1)).toFixed(0);
    if (game.end === "time") return `Q promises ${promised} more.`;
    return `At the last step Q still promised ${promised}; 1 came.`;
  }

  function say(words) {
    find("said").textContent = words;
  }

  // --- time

  function run(on) {
    running = on;
    before = undefined;
    find("run").textContent = on ? "Pause" : "Play";
    if (on) requestAnimationFrame(tick);
  }

  function tick(now) {
    if (!running) return;
    if (before !== undefined) {
      const passed = Math.min((now - before) / 1000, 0.1);
      owed += passed * Number(find("speed").value);
    }
    before = now;
    while (running && owed >= TAU) {
      owed -= TAU;
      advance();
    }
    draw();
    requestAnimationFrame(tick);
  }

  function playOrPause() {
    if (!running && game.end) begin();
    run(!running);
    if (running) say(youPlay() ? "You play." : "The agent plays.");
    draw();
  }

  function oneStep() {
    run(false);
    if (game.end) begin();
    advance();
    draw();
  }

  function anew() {
    begin();
    say("A new start.");
    draw();
  }

  function shove(direction) {
    waiting = direction * Number(find("shove").value);
  }

  // An arrow key, or a finger on one half of the stage.
  function towards(direction) {
    if (youPlay()) held = direction;
    else shove(direction);
  }

  // --- pictures

  function canvas(element) {
    const { width, height } = element.getBoundingClientRect();
    const scale = window.devicePixelRatio || 1;
    element.width = Math.round(width * scale);
    element.height = Math.round(height * scale);
    const pen = element.getContext("2d");
    pen.scale(scale, scale);
    return { pen, width, height };
  }

  function colours() {
    const style = getComputedStyle(document.getElementById("play"));
    const named = (name) => style.getPropertyValue(name).trim();
    return {
      ink: named("--pst-color-text-base"),
      muted: named("--pst-color-text-muted"),
      agent: named("--play-agent"),
      end: named("--play-end"),
    };
  }

  function line(pen, points, colour, width, dashes = []) {
    pen.beginPath();
    points.forEach(([x, y]) => pen.lineTo(x, y));
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.setLineDash(dashes);
    pen.stroke();
    pen.setLineDash([]);
  }

  function arrow(pen, x, y, length, colour, width) {
    const [tip, barb] = [x + length, 2 * width];
    const back = tip - Math.sign(length) * barb;
    line(pen, [[x, y], [tip, y]], colour, width);
    line(pen, [[back, y - barb], [tip, y], [back, y + barb]], colour, width);
  }

  function drawStage() {
    const { pen, width, height } = canvas(stage);
    const { ink, muted, agent: blue, end: orange } = colours();
    const metre = width / (2 * TRACK_LIMIT + 1);
    const [x, , theta] = game.state;
    const ground = height - 26;
    const at = (place) => width / 2 + place * metre;
    pen.lineCap = "round";
    pen.lineJoin = "round";
    line(pen, [[at(-TRACK_LIMIT), ground], [at(TRACK_LIMIT), ground]], muted, 2);
    for (const end of [-TRACK_LIMIT, TRACK_LIMIT])
      line(pen, [[at(end), ground - 0.25 * metre], [at(end), ground + 8]], orange, 4);
    pen.font = "13px sans-serif";
    pen.fillStyle = ink;
    pen.textAlign = "center";
    pen.textBaseline = "top";
    for (const mark of [-2, -1, 0, 1, 2]) {
      line(pen, [[at(mark), ground], [at(mark), ground + 5]], muted, 2);
      pen.fillText(minus(`${mark} m`), at(mark), ground + 8);
    }

    const axle = ground - 0.26 * metre;
    const tip = (angle, length) => [
      at(x) + length * metre * Math.sin(angle),
      axle - length * metre * Math.cos(angle),
    ];
    for (const limit of [-POLE_LIMIT, POLE_LIMIT])
      line(pen, [[at(x), axle], tip(limit, 2 * halfLength())], muted, 1, [3, 5]);
    pen.fillStyle = ink;
    pen.fillRect(at(x) - 0.22 * metre, axle, 0.44 * metre, 0.2 * metre);
    for (const wheel of [-0.13, 0.13]) {
      pen.beginPath();
      pen.arc(at(x + wheel), ground - 0.05 * metre, 0.05 * metre, 0, 2 * Math.PI);
      pen.fill();
    }
    const colour = game.end === "track" || game.end === "pole" ? orange : blue;
    line(pen, [[at(x), axle], tip(theta, 2 * halfLength())], colour, 0.07 * metre);

    if (game.action !== null) {
      const side = game.action ? 1 : -1;
      const middle = axle + 0.1 * metre;
      arrow(pen, at(x + side * 0.27), middle, side * 0.2 * metre, blue, 3);
    }
    const { force, step: shoved } = game.shove;
    if (force && game.steps - shoved < SHOWN) {
      const length = (force / 100) * metre;
      arrow(pen, at(x) - length, ground - 0.5 * metre, length, orange, 5);
    }
  }

  // Over time: of Q the largest, and when the end is known what came after each step;
  // of a policy its chance of a push to the right.
  function drawChart() {
    const { pen, width, height } = canvas(chart);
    const { ink, muted, agent: blue, end: orange } = colours();
    const ofValue = speaksOfValue();
    const highest = ofValue ? HIGHEST_Q : 1;
    const longest = Math.max(100, game.thoughts.length);
    const [left, right, top, bottom] = [34, 8, 10, 34];
    const at = (time, value) => [
      left + (time / longest) * (width - left - right),
      top + (1 - Math.max(0, value) / highest) * (height - top - bottom),
    ];
    pen.font = "13px sans-serif";
    pen.fillStyle = ink;
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    for (const value of ofValue ? [0, 50, 100] : [0, 0.5, 1]) {
      const [x, y] = at(0, value);
      line(pen, [[x, y], at(longest, value)], muted, 0.5);
      pen.fillText(value, x - 6, y);
    }
    pen.textBaseline = "top";
    pen.textAlign = "left";
    pen.fillText("0", left, height - bottom + 6);
    pen.textAlign = "right";
    pen.fillText(`${longest} steps`, width - right, height - bottom + 6);
    const thought = ofValue ? (both) => Math.max(...both) : chanceOfRight;
    line(pen, game.thoughts.map((both, time) => at(time, thought(both))), blue, 2);
    if (ofValue && (game.end === "track" || game.end === "pole")) {
      const came = (time) => discounted(game.steps - time, agent().gamma);
      const points = game.thoughts.map((_, time) => at(time, came(time)));
      line(pen, points, orange, 2, [6, 4]);
    }
  }

  // --- words and bars

  function drawThoughts() {
    const both = outputs(agent(), game.state);
    const right = chanceOfRight(both);
    const chances = [1 - right, right];
    const shares = speaksOfValue() ? both.map((q) => q / HIGHEST_Q) : chances;
    ["left", "right"].forEach((side, action) => {
      const share = Math.min(Math.max(shares[action], 0), 1);
      find(`${side}-bar`).style.width = `${100 * share}%`;
      find(side).textContent = speaksOfValue()
        ? both[action].toFixed(1)
        : `${(100 * chances[action]).toFixed(0)}%`;
      find(`${side}-name`).classList.toggle("play-chosen", greedy(both) === action);
    });
  }

  function drawPay() {
    find("pay").hidden = !agent().judge;
    if (!agent().judge) return;
    pay(agent(), game.state).forEach((paid, action) => {
      find(action ? "pay-right" : "pay-left").textContent = minus(paid.toFixed(2));
    });
  }

  function describe() {
    const { id, variant, seed, rank, seeds, final_return: recorded } = agent();
    const mean = Number(recorded.toFixed(1));
    find("agent-is").textContent =
      `${id}, variant ${variant}, seed ${seed}: the ${rank} of ${seeds}. ` +
      `In the record it lasts for ${mean} steps on average, of at most ${TIME_LIMIT}.`;
    find("view-is").textContent = speaksOfValue()
      ? "Q, what it expects to earn from here on, with a push to the"
      : "Its chances of a push to the (it plays the likelier)";
    find("chart-is").textContent = speaksOfValue()
      ? "Over time: the larger Q (solid), and after the end what really came (dashed)."
      : "Over time: its chance of a push to the right.";
  }

  function drawState() {
    const [x, , theta] = game.state;
    const degrees = (theta * 180) / Math.PI;
    find("state").textContent =
      `Step ${game.steps}: cart at ${minus(x.toFixed(2))} m, ` +
      `pole at ${minus(degrees.toFixed(1))}°`;
    for (const [name, unit] of [["shove", "N"], ["length", "m"], ["place", "m"]])
      find(`${name}-is`).textContent = minus(`${find(name).value} ${unit}`);
  }

  const minus = (text) => text.replace("-", "−");

  function draw() {
    drawStage();
    drawChart();
    drawThoughts();
    drawPay();
    drawState();
  }

  // --- controls

  find("run").addEventListener("click", playOrPause);
  find("step").addEventListener("click", oneStep);
  find("anew").addEventListener("click", anew);
  find("shove-left").addEventListener("click", () => shove(-1));
  find("shove-right").addEventListener("click", () => shove(1));
  find("length").addEventListener("input", draw);
  find("shove").addEventListener("input", draw);
  find("place").addEventListener("input", anew);
  document.querySelectorAll("input[name=play-agent]").forEach((radio) =>
    radio.addEventListener("change", () => {
      // The new one goes on from where the old one was, but not with its thoughts.
      game.thoughts = game.thoughts.map(() => [NaN, NaN]);
      describe();
      if (game.end) anew();
      draw();
    }),
  );

  const KEYS = { ArrowLeft: -1, ArrowRight: 1 };
  stage.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key in KEYS) {
      if (!event.repeat) towards(KEYS[event.key]);
    } else if (event.key === " ") playOrPause();
    else if (event.key.toLowerCase() === "r") anew();
    else return;
    event.preventDefault();
  });
  stage.addEventListener("keyup", (event) => {
    if (KEYS[event.key] === held) held = 0;
  });
  stage.addEventListener("pointerdown", (event) => {
    const { left, width } = stage.getBoundingClientRect();
    towards(event.clientX < left + width / 2 ? -1 : 1);
  });
  for (const name of ["pointerup", "pointercancel", "pointerleave", "blur"])
    stage.addEventListener(name, () => (held = 0));

  new ResizeObserver(draw).observe(document.getElementById("play"));
  new MutationObserver(draw).observe(document.documentElement, {
    attributeFilter: ["data-theme"],
  });

  begin();
  describe();
  draw();
})();
