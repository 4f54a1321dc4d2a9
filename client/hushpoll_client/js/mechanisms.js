// The mechanisms, compiled again from their published parameters. The twin of mechanisms.py, compile.py and exact.py.
// A published channel counts only when it is, weight for weight, what its mechanism's name and parameters give.

import { Channel, MAX_TABLE, SCALE } from "./channel.js";
import { MechanismError } from "./errors.js";

const MAX_EPSILON = 20n; // no client sends answers above this total
const D = BigInt(SCALE);
const DECOY = ["decoy", "decoy_share", "decoy_counts", "epsilon"];

// name: [its parameters, its constructor, what the device does with an answer and a decoy's answer before it draws]
const RULES = {
  warner: [["epsilon", "truth"], warner],
  krr: [["epsilon"], (given, options) => ({ device: krrChannel(options, given.epsilon) })],
  forced: [["forced"], forced],
  or_poll: [DECOY, orPoll, "or"],
  unrelated: [[...DECOY, "truth"], unrelated, "pair"],
  crosswise: [DECOY, crosswise, "same"],
};

// Kinds of question, each with the mechanisms that fit it; decoys ask a second yes/no question.
export const KINDS = {
  yes_no: ["warner", "krr", "forced", "or_poll", "unrelated", "crosswise"],
  choice: ["krr", "warner", "forced"],
};

const COMBINE = {
  or: (answer, decoy) => answer | decoy,
  same: (answer, decoy) => Number(answer === decoy),
  pair: (answer, decoy) => 2 * answer + decoy,
};

/** Combine an answer with the decoy's (No is 0, Yes is 1); the result is what the device's channel randomizes. */
export function deviceAnswer(combine, answer, decoy) {
  if (![answer, decoy].every((value) => value === 0 || value === 1)) {
    refuse("decoy", "two answers are needed, to the question and to the decoy, each No (0) or Yes (1)");
  }
  return COMBINE[combine](answer, decoy);
}

/**
 * Compile a published mechanism for a question of this kind with so many options.
 * Gives `device` (what is drawn from), `analysis` (from the true answer to the report; differs where there is a decoy)
 * and `combine` ("none", "or", "same" or "pair").
 */
export function compileMechanism(kind, options, given) {
  const { name } = given;
  if (!KINDS[kind].includes(name)) refuse("name", `${JSON.stringify(name)} is not a mechanism for a ${kind} question`);
  const [parameters, make, combine = "none"] = RULES[name];
  if (options !== 2 && name !== "krr" && name !== "forced") refuse("name", `${name} takes exactly two options`);
  for (const key of Object.keys(given)) {
    if (key !== "name" && !parameters.includes(key)) refuse(key, `unknown key; ${name} takes: ${parameters.join(", ")}`);
  }
  const { device, analysis = device } = make(given, options);
  return { device, analysis, combine };
}

function warner({ epsilon, truth }) {
  if ((epsilon === undefined) === (truth === undefined)) refuse("epsilon", "warner takes either epsilon or truth");
  if (truth === undefined) return { device: krrChannel(2, epsilon) };
  const [top, bottom] = readShare(truth, "truth");
  // Toward 1/2 is toward privacy, on either side of it.
  const kept = 2n * top > bottom ? (top * D) / bottom : ceil(top * D, bottom);
  if (kept === 0n || kept === D || 2n * kept === D) refuse("truth", "truth is too close to 0, 1/2 or 1");
  return { device: Channel.krr(2, Number(D - kept)) };
}

// W = ceil(2^53 / (L + K - 1)) with L just below e^epsilon, so that T/W <= L <= e^epsilon exactly.
function krrChannel(options, epsilon) {
  const exponent = readDecimal(epsilon, "epsilon");
  if (exponent[0] === 0n) refuse("epsilon", "epsilon must be greater than 0");
  if (exponent[0] > MAX_EPSILON * exponent[1]) refuse("epsilon", `epsilon must be at most ${MAX_EPSILON}`);
  const others = BigInt(options - 1);
  const weight = ceil(D << 64n, expBelow(exponent) + (others << 64n));
  if (D - others * weight <= weight) refuse("options", `${options} options at epsilon ${epsilon} are too many`);
  return Channel.krr(options, Number(weight));
}

function forced({ forced: shares }, options) {
  if (!Array.isArray(shares) || shares.length !== options) refuse("forced", "forced needs one share for each option");
  const weights = shares.map((share) => readShare(share, "forced")).map(([top, bottom]) => ceil(top * D, bottom));
  const truth = D - weights.reduce((a, b) => a + b);
  if (truth < 1n) refuse("forced", "forced shares leave no room for the truth");
  if (truth === D) refuse("forced", "forced shares are all zero: every answer would be revealed");
  if (new Set(weights).size === 1) return { device: Channel.krr(options, Number(weights[0])) };
  if (options > MAX_TABLE) refuse("forced", `more than ${MAX_TABLE} options need equal forced shares`);
  return { device: Channel.matrix(weights.map((_, x) => weights.map((w, z) => Number(x === z ? w + truth : w)))) };
}

function orPoll(given) {
  const [yes, of] = decoyShare(given);
  const device = flip(given);
  return { device, analysis: Channel.fromProbabilities([[of - yes, yes], [0n, of]]).then(device) };
}

function crosswise(given) {
  const [yes, of] = decoyShare(given);
  if (2n * yes === of) refuse("decoy_share", "a decoy share of 1/2 carries no information");
  const device = flip(given);
  return { device, analysis: Channel.fromProbabilities([[yes, of - yes], [of - yes, yes]]).then(device) };
}

function unrelated(given) {
  const [yes, of] = decoyShare(given);
  const [truth, all] = inside(given.truth, "truth");
  let device = Channel.fromProbabilities([[all, 0n], [truth, all - truth], [all - truth, truth], [0n, all]]);
  if (given.epsilon !== undefined) device = device.then(flip(given));
  const mixed = (no, decoy) => no.map((weight, z) => (of - yes) * BigInt(weight) + yes * BigInt(decoy[z]));
  const rows = [mixed(device.row(0), device.row(1)), mixed(device.row(2), device.row(3))];
  return { device, analysis: Channel.fromProbabilities(rows) };
}

// Without an epsilon the device reports the combined answer as it is; with one it flips that bit by warner.
function flip({ epsilon }) {
  return epsilon === undefined ? Channel.identity(2) : krrChannel(2, epsilon);
}

function decoyShare({ decoy_share: share, decoy_counts: counts }) {
  if ((share === undefined) === (counts === undefined)) refuse("decoy_share", "give either decoy_share or decoy_counts");
  if (counts === undefined) return inside(share, "decoy_share");
  const whole = Array.isArray(counts) && counts.length === 2 && counts.every(Number.isInteger);
  if (!whole || !(0 < counts[0] && counts[0] < counts[1] && counts[1] < SCALE)) {
    refuse("decoy_counts", "decoy_counts must be two whole numbers, [yes, of], with 0 < yes < of");
  }
  return counts.map(BigInt);
}

function inside(text, field) {
  const share = readShare(text, field);
  if (share[0] === 0n || share[0] === share[1]) refuse(field, `${field} must lie between 0 and 1, both excluded`);
  return share;
}

// Exact numbers: a rational is a pair of BigInt, [numerator, denominator], in lowest terms.

// Reads a number >= 0 in its one published spelling: the shortest decimal, or a fraction where no decimal ends.
function readNumber(text, field) {
  const match = typeof text === "string" && /^(\d{1,20})(?:\.(\d{1,40})|\/(\d{1,18}))?$/.exec(text);
  if (match) {
    const [, whole, decimals = "", divisor] = match;
    const value = lowest(BigInt(whole + decimals), divisor ? BigInt(divisor) : 10n ** BigInt(decimals.length));
    if (value[1] && spell(value) === text) return value;
  }
  refuse(field, `${field} must be a number in its shortest spelling, such as "0.75" or "1/3"`);
}

/** Read a decimal number exactly. */
export function readDecimal(text, field) {
  const value = readNumber(text, field);
  if (text.includes("/")) refuse(field, `${field} must be a decimal number, such as "1.5"`);
  return value;
}

function readShare(text, field) {
  const share = readNumber(text, field);
  if (share[0] > share[1]) refuse(field, `${field} must lie between 0 and 1, got ${text}`);
  return share;
}

/**
 * Give floor(2^64 e^epsilon), by the series of e^x in fixed point with every step rounded down.
 * Up to epsilon = 100 what is lost stays far below 2^200 in 2^384, so the floor is never in doubt; checked all the same.
 */
export function expBelow([top, bottom]) {
  if (top === 0n) return 1n << 64n;
  if (top > 100n * bottom) refuse("epsilon", "epsilon must be at most 100");
  let [term, sum] = [1n << 384n, 0n];
  for (let k = 1n; term; k++) {
    sum += term;
    term = (term * top) / (bottom * k);
  }
  if (sum >> 320n !== (sum + (1n << 200n)) >> 320n) {
    refuse("epsilon", "epsilon is too close to a rounding edge; change its last digit");
  }
  return sum >> 320n;
}

// Division rounded up.
const ceil = (top, bottom) => (top + bottom - 1n) / bottom;

function lowest(top, bottom) {
  let [a, b] = [top, bottom];
  while (b) [a, b] = [b, a % b];
  return a ? [top / a, bottom / a] : [0n, 0n];
}

function spell([top, bottom]) {
  let places = 0n;
  while (places <= 40n && 10n ** places % bottom) places++;
  if (places > 40n) return `${top}/${bottom}`;
  if (!places) return `${top}`;
  const digits = `${(top * 10n ** places) / bottom}`.padStart(Number(places) + 1, "0");
  return `${digits.slice(0, -Number(places))}.${digits.slice(-Number(places))}`;
}

function refuse(field, message) {
  throw new MechanismError(message, field);
}
