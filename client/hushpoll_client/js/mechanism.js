// The mechanisms: one object each, with what it takes, where it fits and what it gives away. The twin of mechanism/ and
// exact.py. A published channel counts only when it is, weight for weight, what its mechanism compiles to, or, where a
// mechanism is not recompiled, when its exact ratio keeps the epsilon that is stated.

import { BrokenPromise, MechanismError } from "./errors.js";
import { Channel, count, MAX_TABLE, SCALE } from "./channel.js";

export const MAX_EPSILON = 20; // no client sends answers above this total
const D = BigInt(SCALE);

const MECHANISM = {
  twoAnswers: false, // whether it fits questions with two answers only
  hasDecoy: false, // whether the device also asks a decoy question, Yes or No
  combine: "none", // the published word for what the device does with both answers before it draws
  reportsAnswers: true, // whether a report says one of the answers
  takesCombined: true, // whether the device can be given the combined answer alone
  recompiled: true, // whether the integers are computed anew; otherwise they are held against the epsilon

  // Give the published channel its mechanism back, or refuse it.
  check(given, options, channel) {
    const { device, analysis = device } = this.compile(given, options);
    if (JSON.stringify(device.toJson()) !== JSON.stringify(channel.toJson())) broken(`is not the channel of this ${this.name}`);
    return { device, analysis };
  },

  /** Whether the list of reports is the list of answers. */
  get reportsAreAnswers() {
    return this.reportsAnswers && this.device.outcomes === this.analysis.options;
  },

  /** What reports give away for certain: {report, leaves: the answers still possible, decoy: its answer or null}. */
  get facts() {
    const { analysis } = this;
    const answers = count(analysis.options);
    if (analysis.ratio) return [];
    return count(analysis.outcomes)
      .map((report) => {
        const leaves = answers.filter((x) => analysis.row(x)[report]);
        return { report, leaves, decoy: this.decoyTold(report) };
      })
      .filter(({ leaves }) => leaves.length && leaves.length < answers.length);
  },

  /** Whether somebody who knows a person's decoy answer can learn more than the odds allow. */
  get knownDecoyTells() {
    return this.hasDecoy && !this.device.ratio;
  },

  decoyTold(report) {
    const fits = (decoy) => [0, 1].some((answer) => this.device.row(this.combined(answer, decoy))[report]);
    const told = this.hasDecoy ? [0, 1].filter(fits) : [];
    return told.length === 1 ? told[0] : null;
  },

  /** Combine an answer with the decoy's (No is 0, Yes is 1); the result is what the device's channel randomizes. */
  deviceAnswer(answer, decoy) {
    if (![answer, decoy].every((value) => value === 0 || value === 1)) {
      refuse("decoy", "two answers are needed, to the question and to the decoy, each No (0) or Yes (1)");
    }
    return this.combined(answer, decoy);
  },
};

const DECOY = {
  __proto__: MECHANISM,
  takes: ["decoy_share", "decoy_counts", "epsilon"],
  twoAnswers: true,
  hasDecoy: true,
  takesCombined: false,
};

/** Every mechanism that surveys use, in the order in which they are offered. */
export const MECHANISMS = named({
  warner: {
    __proto__: MECHANISM,
    takes: ["epsilon", "truth"],
    twoAnswers: true,
    compile({ epsilon, truth }) {
      if ((epsilon === undefined) === (truth === undefined)) refuse("epsilon", "warner takes either epsilon or truth");
      if (truth === undefined) return { device: krrChannel(2, epsilon) };
      const [top, bottom] = readShare(truth, "truth");
      // Toward 1/2 is toward privacy, on either side of it.
      const kept = 2n * top > bottom ? (top * D) / bottom : ceil(top * D, bottom);
      if (kept === 0n || kept === D || 2n * kept === D) refuse("truth", "truth is too close to 0, 1/2 or 1");
      return { device: Channel.krr(2, Number(D - kept)) };
    },
  },

  krr: {
    __proto__: MECHANISM,
    takes: ["epsilon"],
    compile: ({ epsilon }, options) => ({ device: krrChannel(options, epsilon) }),
  },

  forced: {
    __proto__: MECHANISM,
    takes: ["forced"],
    compile({ forced: shares }, options) {
      if (!Array.isArray(shares) || shares.length !== options) refuse("forced", "forced needs one share for each option");
      const weights = shares.map((share) => readShare(share, "forced")).map(([top, bottom]) => ceil(top * D, bottom));
      const truth = D - weights.reduce((a, b) => a + b);
      if (truth < 1n) refuse("forced", "forced shares leave no room for the truth");
      if (truth === D) refuse("forced", "forced shares are all zero: every answer would be revealed");
      if (new Set(weights).size === 1) return { device: Channel.krr(options, Number(weights[0])) };
      if (options > MAX_TABLE) refuse("forced", `more than ${MAX_TABLE} options need equal forced shares`);
      return { device: Channel.matrix(weights.map((_, x) => weights.map((w, z) => Number(x === z ? w + truth : w)))) };
    },
  },

  or_poll: {
    __proto__: DECOY,
    combine: "or",
    takesCombined: true,
    combined: (answer, decoy) => answer | decoy,
    compile(given) {
      const [yes, of] = decoyShare(given);
      const device = flip(given);
      return { device, analysis: Channel.fromProbabilities([[of - yes, yes], [0n, of]]).then(device) };
    },
  },

  unrelated: {
    __proto__: DECOY,
    takes: ["truth", ...DECOY.takes],
    combine: "pair",
    combined: (answer, decoy) => 2 * answer + decoy,
    compile(given) {
      const [yes, of] = decoyShare(given);
      const [truth, all] = inside(given.truth, "truth");
      let device = Channel.fromProbabilities([[all, 0n], [truth, all - truth], [all - truth, truth], [0n, all]]);
      if (given.epsilon !== undefined) device = device.then(flip(given));
      const mixed = (no, decoy) => no.map((weight, z) => (of - yes) * BigInt(weight) + yes * BigInt(decoy[z]));
      const rows = [mixed(device.row(0), device.row(1)), mixed(device.row(2), device.row(3))];
      return { device, analysis: Channel.fromProbabilities(rows) };
    },
  },

  crosswise: {
    __proto__: DECOY,
    combine: "same",
    reportsAnswers: false,
    combined: (answer, decoy) => Number(answer === decoy),
    compile(given) {
      const [yes, of] = decoyShare(given);
      if (2n * yes === of) refuse("decoy_share", "a decoy share of 1/2 carries no information");
      const device = flip(given);
      return { device, analysis: Channel.fromProbabilities([[yes, of - yes], [of - yes, yes]]).then(device) };
    },
  },

  matrix: {
    __proto__: MECHANISM,
    takes: ["epsilon"],
    recompiled: false,
    check({ epsilon }, options, channel) {
      const bound = expBelow(positive(epsilon));
      if (channel.options !== options) broken(`has ${channel.options} rows for ${options} answers`);
      const { ratio } = channel;
      if (!ratio || ratio[0] << 64n > ratio[1] * bound) broken(`has a larger epsilon than the ${epsilon} that is stated`);
      return { device: channel, analysis: channel };
    },
  },
});

function named(mechanisms) {
  for (const [name, one] of Object.entries(mechanisms)) Object.assign(one, { name });
  return mechanisms;
}

/**
 * Make the mechanism that a document names, if it is among the fitting ones and keeps what `channel` publishes.
 * What is made has everything that its object in MECHANISMS has, and `parameters`, `device` (what is drawn from) and
 * `analysis` (from the true answer to the report; differs where there is a decoy).
 */
export function resolve(fitting, described, options, { name, ...parameters }, channel) {
  const found = fitting.find((one) => one.name === name);
  if (!found) refuse("name", `${JSON.stringify(name)} is not a mechanism for ${described}`);
  if (found.twoAnswers && options !== 2) refuse("name", `${name} takes exactly two options`);
  for (const key of Object.keys(parameters)) {
    if (!found.takes.includes(key)) refuse(key, "unknown key", `${name} takes: ${found.takes.join(", ")}`);
  }
  return Object.freeze({ __proto__: found, parameters, ...found.check(parameters, options, channel) });
}

// W = ceil(2^53 / (L + K - 1)) with L just below e^epsilon, so that T/W <= L <= e^epsilon exactly.
function krrChannel(options, epsilon) {
  const others = BigInt(options - 1);
  const weight = ceil(D << 64n, expBelow(positive(epsilon)) + (others << 64n));
  if (D - others * weight <= weight) refuse("options", `${options} options at epsilon ${epsilon} are too many`);
  return Channel.krr(options, Number(weight));
}

function positive(epsilon) {
  const exponent = readDecimal(epsilon, "epsilon");
  if (!exponent[0] || exponent[0] > BigInt(MAX_EPSILON) * exponent[1]) {
    refuse("epsilon", `epsilon must be greater than 0 and at most ${MAX_EPSILON}`);
  }
  return exponent;
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
    refuse("epsilon", "epsilon is too close to a rounding edge", "change its last digit");
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

function refuse(field, problem, remedy) {
  throw new MechanismError(problem, remedy, field);
}

function broken(problem) {
  throw new BrokenPromise(problem);
}
