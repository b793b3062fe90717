// CartPole-v1 as Gymnasium has it, and the networks that play it. Nothing here knows of
// a page.
"use strict";

const GRAVITY = 9.8;
const CART_MASS = 1.0;
const POLE_MASS = 0.1;
const PUSH = 10.0; // N, to the left or to the right, at every step
const TAU = 0.02; // s from one step to the next
const TRACK_LIMIT = 2.4; // m
const POLE_LIMIT = (12 * 2 * Math.PI) / 360;
const TIME_LIMIT = 500; // steps

// A state is [place of the cart, its velocity, angle of the pole, its velocity].
// Gymnasium's `length` is half of the pole's.
function step([x, xDot, theta, thetaDot], force, length = 0.5) {
  const totalMass = POLE_MASS + CART_MASS;
  const cos = Math.cos(theta);
  const sin = Math.sin(theta);
  const temp = (force + POLE_MASS * length * (thetaDot * thetaDot) * sin) / totalMass;
  const thetaAcc =
    (GRAVITY * sin - cos * temp) /
    (length * (4.0 / 3.0 - (POLE_MASS * (cos * cos)) / totalMass));
  const xAcc = temp - (POLE_MASS * length * thetaAcc * cos) / totalMass;
  return [
    x + TAU * xDot,
    xDot + TAU * xAcc,
    theta + TAU * thetaDot,
    thetaDot + TAU * thetaAcc,
  ];
}

function leftTheTrack([x]) {
  return Math.abs(x) > TRACK_LIMIT;
}

function fell([, , theta]) {
  return Math.abs(theta) > POLE_LIMIT;
}

// As Gymnasium begins, but around a place of one's choice.
function newStart(place = 0) {
  const [x, ...rest] = Array.from({ length: 4 }, () => 0.1 * Math.random() - 0.05);
  return [place + x, ...rest];
}

// --- networks

function numbers({ step, integers }) {
  const bytes = Uint8Array.from(atob(integers), (letter) => letter.charCodeAt(0));
  return Float32Array.from(new Int16Array(bytes.buffer), (integer) => integer * step);
}

function unpackedLayers(layers) {
  return layers.map(({ weight, bias }) => ({
    weight: numbers(weight),
    bias: numbers(bias),
  }));
}

function unpacked(policy) {
  const judge = policy.judge && {
    ...policy.judge,
    layers: unpackedLayers(policy.judge.layers),
  };
  return { ...policy, layers: unpackedLayers(policy.layers), judge };
}

// What a policy sees. The environment shows states as float32.
function encoded(policy, state) {
  return Float32Array.from(
    state,
    (value, i) => (Math.fround(value) - policy.obs_mean[i]) / policy.obs_std[i],
  );
}

function through(layers, inputs) {
  let values = inputs;
  layers.forEach((layer, depth) => {
    values = linear(layer, values);
    if (depth < layers.length - 1) values = values.map((x) => Math.max(x, 0));
  });
  return values;
}

// One number for each action.
function outputs(policy, state) {
  return Array.from(through(policy.layers, encoded(policy, state)));
}

// What a policy's judge pays for each action: it sees the state, which action, and
// that the episode goes on.
function pay(policy, state) {
  const { mean, scale, layers, sign, softplus } = policy.judge;
  return [[1, 0], [0, 1]].map((action) => {
    const features = [...encoded(policy, state), ...action, 0];
    const seen = Float32Array.from(features, (x, i) => (x - mean[i]) * scale[i]);
    const logit = sign * through(layers, seen)[0];
    return softplus ? Math.max(logit, 0) + Math.log1p(Math.exp(-Math.abs(logit))) : logit;
  });
}

function linear({ weight, bias }, inputs) {
  return bias.map((sum, row) => {
    const first = row * inputs.length;
    for (let i = 0; i < inputs.length; i += 1) sum += weight[first + i] * inputs[i];
    return sum;
  });
}

function greedy([left, right]) {
  return right > left ? 1 : 0;
}

function chanceOfRight([left, right]) {
  return 1 / (1 + Math.exp(left - right));
}

// What a reward of 1 for each of so many steps is worth at their beginning.
function discounted(steps, gamma) {
  return (1 - gamma ** steps) / (1 - gamma);
}
