// Mechanisms. A published channel must be what its mechanism compiles to or, where nothing is compiled, have an exact
// ratio within the stated epsilon. The twin of mechanism/ and exact.py.

import { BrokenPromise, Channel, count, MAX_TABLE, MechanismError, SCALE } from "./channel.js";

export const MAX_EPSILON = 20;
export const D = BigInt(SCALE);

export const MECHANISM = {
  fits: "option", // the answers it takes: one "option" of several, "ordered" ones only, or a "set" of them
  twoAnswers: false, // fits questions with two answers only
  hasDecoy: false, // the device also asks a decoy question, Yes or No
  combine: "none", // what the device does with both answers before it draws
  reportsAnswers: true, // a report says one of the answers
  takesCombined: true, // the combined answer alone will do
  recompiled: true, // the integers are computed anew
  tellsOnly: null, // the only target of its reports on more than two answers

  /** Make it from published parameters and integers; `about` are the question's answers. */
  check(parameters, options, channel, about) {
    const { device, analysis = device } = this.compile(parameters, options, about);
    if (JSON.stringify(device.toJson()) !== JSON.stringify(channel.toJson())) broken("is not the channel of this mechanism");
    return { device, analysis };
  },

  /** Whether reports are the answers. */
  get reportsAreAnswers() {
    return this.reportsAnswers && this.device.listed && this.device.outcomes === this.analysis.options;
  },

  /** What reports reveal for certain: the answers that one `leaves` possible, and the decoy's or null. */
  get facts() {
    const { analysis } = this;
    const answers = count(analysis.options);
    if (analysis.ratio) return [];
    return count(analysis.outcomes)
      .map((report) => {
        const leaves = answers.filter((x) => analysis.row(x)[report]);
        return { report, leaves, decoy: this.revealedDecoy(report) };
      })
      .filter(({ leaves }) => leaves.length && leaves.length < answers.length);
  },

  /** Whether a person who knows the decoy's answer can learn more than the odds allow. */
  get knownDecoyTells() {
    return this.hasDecoy && !this.device.ratio;
  },

  revealedDecoy(report) {
    const fits = (decoy) => [0, 1].some((answer) => this.device.row(this.combined(answer, decoy))[report]);
    const possible = this.hasDecoy ? [0, 1].filter(fits) : [];
    return possible.length === 1 ? possible[0] : null;
  },

  /** What the device's channel randomizes. */
  deviceAnswer: (answer) => answer,
};

export const DECOY = {
  __proto__: MECHANISM,
  declaredParameters: ["decoy_share", "decoy_counts", "epsilon"],
  twoAnswers: true,
  hasDecoy: true,
  takesCombined: false,

  /** The same, of an answer and the decoy's (No is 0, Yes is 1). */
  deviceAnswer(answer, decoy) {
    if (![answer, decoy].every((value) => value === 0 || value === 1)) {
      refuse("decoy", "needs two answers, each 0 or 1");
    }
    return this.combined(answer, decoy);
  },
};

/** Every mechanism that surveys use; extra_channels.js adds some. */
export const MECHANISMS = named({
  warner: {
    __proto__: MECHANISM,
    declaredParameters: ["epsilon", "truth"],
    twoAnswers: true,
    compile({ epsilon, truth }) {
      if ((epsilon === undefined) === (truth === undefined)) refuse("epsilon");
      if (truth === undefined) return { device: krrChannel(2, epsilon) };
      const [top, bottom] = readShare(truth, "truth");
      // Toward 1/2 is toward privacy, on either side of it.
      const weight = 2n * top > bottom ? (top * D) / bottom : ceil(top * D, bottom);
      if (weight === 0n || weight === D || 2n * weight === D) refuse("truth");
      return { device: Channel.krr(2, Number(D - weight)) };
    },
  },

  krr: {
    __proto__: MECHANISM,
    declaredParameters: ["epsilon"],
    compile: ({ epsilon }, options) => ({ device: krrChannel(options, epsilon) }),
  },

  forced: {
    __proto__: MECHANISM,
    declaredParameters: ["forced"],
    compile({ forced: shares }, options) {
      if (!Array.isArray(shares) || shares.length !== options) refuse("forced");
      const weights = shares.map((share) => readShare(share, "forced")).map(([top, bottom]) => ceil(top * D, bottom));
      const truth = D - weights.reduce((a, b) => a + b);
      if (truth < 1n || truth === D) refuse("forced"); // no room for the truth, or for nothing else
      if (new Set(weights).size === 1) return { device: Channel.krr(options, Number(weights[0])) };
      if (options > MAX_TABLE) refuse("forced");
      return { device: Channel.matrix(weights.map((_, x) => weights.map((w, z) => Number(x === z ? w + truth : w)))) };
    },
  },

  or_poll: {
    __proto__: DECOY,
    combine: "or",
    takesCombined: true,
    combined: (answer, decoy) => answer | decoy,
    compile(parameters) {
      const [yes, of] = decoyShareOf(parameters);
      const device = coin(parameters);
      return { device, analysis: Channel.fromProbabilities([[of - yes, yes], [0n, of]]).then(device) };
    },
  },
});

/** Add its name to each object. */
export function named(mechanisms) {
  for (const [name, mechanism] of Object.entries(mechanisms)) Object.assign(mechanism, { name });
  return mechanisms;
}

/**
 * Make the mechanism that a document names, if it fits and `channel` is what it promises: its object in MECHANISMS with
 * `parameters`, `device` (what is drawn from) and `analysis` (from the true answer to the report).
 */
export function resolve(fitting, options, { name, ...parameters }, channel, about = {}) {
  const mechanism = fitting.find((candidate) => candidate.name === name);
  if (!mechanism || (mechanism.twoAnswers && options !== 2)) refuse("name", "is not a mechanism for this question");
  for (const key of Object.keys(parameters)) if (!mechanism.declaredParameters.includes(key)) refuse(key, "is not known here");
  return Object.freeze({ __proto__: mechanism, parameters, ...mechanism.check(parameters, options, channel, about) });
}

// W = ceil(2^53 / (L + K - 1)) with L just below e^epsilon, so that T/W <= L <= e^epsilon exactly.
function krrChannel(options, epsilon) {
  const rest = BigInt(options - 1);
  const weight = ceil(D << 64n, expBelow(positiveEpsilon(epsilon)) + (rest << 64n));
  if (D - rest * weight <= weight) refuse("options");
  return Channel.krr(options, Number(weight));
}

export function positiveEpsilon(epsilon) {
  const exponent = readDecimal(epsilon, "epsilon");
  if (!exponent[0] || exponent[0] > BigInt(MAX_EPSILON) * exponent[1]) refuse("epsilon");
  return exponent;
}

// A coin on the combined bit.
export const coin = ({ epsilon }) => (epsilon === undefined ? Channel.identity(2) : krrChannel(2, epsilon));

export function decoyShareOf({ decoy_share: share, decoy_counts: counts }) {
  if ((share === undefined) === (counts === undefined)) refuse("decoy_share");
  if (counts === undefined) return inside(share, "decoy_share");
  const valid = Array.isArray(counts) && counts.length === 2 && counts.every(Number.isInteger);
  if (!valid || !(0 < counts[0] && counts[0] < counts[1] && counts[1] < SCALE)) refuse("decoy_counts");
  return counts.map(BigInt);
}

export function inside(text, field) {
  const share = readShare(text, field);
  if (share[0] === 0n || share[0] === share[1]) refuse(field);
  return share;
}

// Exact numbers: a rational is a pair of BigInt, [numerator, denominator].

// Reads a number >= 0 in its one published spelling: the shortest decimal, or a reduced fraction where no decimal ends.
function readNumber(text, field) {
  const match = typeof text === "string" && /^(0|[1-9]\d{0,19})(?:\.(\d{0,39}[1-9])|\/([1-9]\d{0,17}))?$/.exec(text);
  if (!match) refuse(field);
  const [, integer, decimals = "", divisor] = match;
  if (!divisor) return [BigInt(integer + decimals), 10n ** BigInt(decimals.length)];
  const [top, bottom] = [BigInt(integer), BigInt(divisor)];
  if (common(top, bottom) > 1n || 10n ** 40n % bottom === 0n) refuse(field);
  return [top, bottom];
}

export function readDecimal(text, field) {
  const value = readNumber(text, field);
  if (text.includes("/")) refuse(field);
  return value;
}

export function readShare(text, field) {
  const share = readNumber(text, field);
  if (share[0] > share[1]) refuse(field);
  return share;
}

/** Return floor(2^64 e^epsilon) by the series of e^x: what rounding loses stays far below 2^200 in 2^384, which is checked. */
export function expBelow([top, bottom]) {
  if (top === 0n) return 1n << 64n;
  if (top > 100n * bottom) refuse("epsilon");
  let [term, sum] = [1n << 384n, 0n];
  for (let k = 1n; term; k++) {
    sum += term;
    term = (term * top) / (bottom * k);
  }
  if (sum >> 320n !== (sum + (1n << 200n)) >> 320n) refuse("epsilon");
  return sum >> 320n;
}

export const ceil = (top, bottom) => (top + bottom - 1n) / bottom;

const common = (a, b) => (b ? common(b, a % b) : a);

export function refuse(field, problem = "is missing or not as it is published") {
  throw new MechanismError(problem, field);
}

export function broken(problem) {
  throw new BrokenPromise(problem);
}
