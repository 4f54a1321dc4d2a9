// Forms, mechanisms and kinds that many surveys do without: the page loads this module only for a survey that asks for
// one of them. Twins of the files of the same names in channel/, mechanism/ and kind/, and listed in the same order.

import { Channel, count, fail, FORMS, MAX_TABLE, SCALE, sum, TableChannel, whole, worst } from "./channel.js";
import { MechanismError, SurveyError } from "./errors.js";
import { ANSWERS, KIND, KINDS, MAX_OPTIONS, readDifferent, readOptions, readText } from "./kind.js";
import {
  broken, ceil, D, DECOY, decoyShare, expBelow, flip, inside, MECHANISM, MECHANISMS, named, positive, readDecimal, refuse,
} from "./mechanism.js";

const MAX_JOINT = 100_000; // joint answers of the members asked
const MAX_STEPS = 10 ** 6;
const MAX_POINTS = 11;
const MAX_GRID = 21; // points that a number is rounded to before its mean is randomized

// Forms

/** Report j weighs high[j] for the answers in the mask sets[j], else low[j]; the last one has what remains of each row. */
class ColumnsChannel extends TableChannel {
  static keys = ["options", "sets", "low", "high"];

  static of(options, sets, low, high) {
    whole(options, "options", 2, MAX_TABLE);
    const lists = [sets, low, high];
    const fits = (list) => Array.isArray(list) && list.length === sets.length;
    if (!lists.every(fits) || sets.length < 1 || sets.length >= MAX_TABLE) fail("sets, low and high must be alike");
    const masks = sets.map((set) => readBits(set, options));
    for (const weight of [...low, ...high]) whole(weight, "weight", 1, SCALE - 1);
    const table = count(options).map((x) => {
      const given = masks.map((mask, j) => (mask[x] ? high : low)[j]);
      const rest = BigInt(SCALE) - sum(given.map(BigInt));
      if (rest < 1n) fail(`row ${x + 1} leaves nothing for the last report`);
      return Object.freeze([...given, Number(rest)]);
    });
    const outcomes = sets.length + 1;
    return Object.freeze(Object.assign(new ColumnsChannel(), { options, outcomes, sets, low, high, table }));
  }

  toJson() {
    const { options, sets, low, high } = this;
    return { form: "columns", options, sets, low, high };
  }
}

/** The report is a set of `size` options, which holds the true one in `weight` of 2^53 cases. */
class SubsetChannel extends Channel {
  static keys = ["options", "size", "weight"];
  listed = false;

  static of(options, size, weight) {
    whole(options, "options", 3, MAX_OPTIONS);
    whole(size, "size", 2, options - 1);
    whole(weight, "weight", 1, SCALE - 1);
    const outcomes = Number(choose(options, size)); // for display only
    return Object.freeze(Object.assign(new SubsetChannel(), { options, size, weight, outcomes }));
  }

  /** A bitmap in hexadecimal digits, option 0 the lowest bit of the last one. */
  get wire() {
    return {
      legal: (report) => bits(report, this.options)?.filter(Boolean).length === this.size,
      longest: "0".repeat(Math.ceil(this.options / 4)),
    };
  }

  get sends() {
    return { what: "set", n: this.size };
  }

  told(report) {
    const held = bits(report, this.options);
    return { set: count(this.options).filter((option) => held[option]) };
  }

  // Whether the truth is in, then always `size` of the others; the last one drawn makes room for the truth.
  pick(answer, next) {
    this.check(answer);
    const inside = next() < this.weight;
    const others = count(this.options).filter((option) => option !== answer);
    for (let place = 0; place < this.size; place++) {
      const other = place + below(others.length - place, next);
      [others[place], others[other]] = [others[other], others[place]];
    }
    const chosen = [...others.slice(0, this.size - 1), inside ? answer : others[this.size - 1]];
    const digits = Array(Math.ceil(this.options / 4)).fill(0);
    for (const option of chosen) digits[digits.length - 1 - (option >> 2)] |= 1 << option % 4;
    return digits.map((digit) => digit.toString(16)).join("");
  }

  get ratio() {
    const [inside, others] = [BigInt(this.weight), BigInt(this.options - this.size)];
    return worst([[inside * others, (BigInt(SCALE) - inside) * BigInt(this.size)]]);
  }

  toJson() {
    return { form: "subset", options: this.options, size: this.size, weight: this.weight };
  }
}

/** `ask` of several members are drawn openly; their joint answer goes through K-ary response with N joint answers. */
class SampledChannel extends Channel {
  static keys = ["sizes", "ask", "weights"];
  several = true;
  listed = false;

  static of(sizes, ask, weights) {
    if (!Array.isArray(sizes) || sizes.length < 2 || sizes.length > MAX_OPTIONS) fail("sizes must be those of 2 members or more");
    for (const size of sizes) whole(size, "size", 2, MAX_JOINT);
    whole(ask, "ask", 1, sizes.length);
    const joint = jointSizes(sizes, ask);
    if (!Array.isArray(weights) || weights.length !== joint.length) fail("weights must name every joint size");
    weights.forEach((pair, place) => {
      if (!Array.isArray(pair) || pair.length !== 2 || pair[0] !== joint[place]) fail("weights must name every joint size");
      whole(pair[1], "weight", 1, SCALE - 1);
      if (BigInt(pair[0]) * BigInt(pair[1]) >= BigInt(SCALE)) fail("a weight leaves too little for the true joint answer");
    });
    const [ranks, largest] = [choose(sizes.length, ask), joint.at(-1)];
    if (ranks * BigInt(largest) > BigInt(SCALE)) fail("there are more possible reports than 2^53");
    const made = { options: sizes.length, sizes, ask, weights, ranks: Number(ranks), largest };
    return Object.freeze(Object.assign(new SampledChannel(), made, { outcomes: Number(ranks) * largest }));
  }

  holds(report) {
    return report % this.largest < this.joint(this.members(Math.floor(report / this.largest)))[0];
  }

  /** The members asked at a rank, which is the sum of C(c_i, i) over them in increasing order. */
  members(rank) {
    const found = [];
    let left = BigInt(rank);
    for (let place = this.ask, one = this.sizes.length; place > 0; place--) {
      do one--;
      while (choose(one, place) > left);
      left -= choose(one, place);
      found.unshift(one);
    }
    return found;
  }

  /** Joint size and weight of some members. */
  joint(members) {
    const size = members.reduce((product, one) => product * this.sizes[one], 1);
    return this.weights.find(([joint]) => joint === size);
  }

  get sends() {
    return { what: "asked", n: this.ask };
  }

  told(report) {
    const asked = this.members(Math.floor(report / this.largest));
    let rest = report % this.largest;
    const answers = asked.map(() => 0);
    for (let place = asked.length - 1; place >= 0; place--) {
      answers[place] = rest % this.sizes[asked[place]];
      rest = Math.floor(rest / this.sizes[asked[place]]);
    }
    return { asked, answers };
  }

  check(answer) {
    if (!Array.isArray(answer) || answer.length !== this.sizes.length) fail("one answer of each member is needed");
    this.sizes.forEach((size, one) => whole(answer[one], "answer", 0, size - 1));
    return answer;
  }

  pick(answer, next) {
    return this.pickAt(below(this.ranks, next), answer, next);
  }

  /** Draw the joint answer of the members at a rank that was drawn before. */
  pickAt(rank, answer, next) {
    this.check(answer);
    const members = this.members(rank);
    const [size, weight] = this.joint(members);
    const [truth, r] = [SCALE - (size - 1) * weight, next()];
    const offset = r < truth ? 0 : 1 + Math.floor((r - truth) / weight);
    const joint = members.reduce((value, one) => value * this.sizes[one] + answer[one], 0);
    return rank * this.largest + ((joint + offset) % size);
  }

  get ratio() {
    return worst(this.weights.map(([size, weight]) => [BigInt(SCALE - (size - 1) * weight), BigInt(weight)]));
  }

  toJson() {
    return { form: "sampled", sizes: this.sizes, ask: this.ask, weights: this.weights };
  }
}

/** Ticked items, padded with dummies m, m + 1, ... to `at_most`; in `weight` of 2^53 cases one of these is reported. */
class PaddedChannel extends Channel {
  static keys = ["options", "at_most", "weight"];
  several = true;
  listed = false;

  static of(options, atMost, weight) {
    whole(options, "options", 2, MAX_OPTIONS);
    whole(atMost, "at_most", 1, options);
    whole(weight, "weight", 1, SCALE - 1);
    return Object.freeze(Object.assign(new PaddedChannel(), { options, atMost, weight, outcomes: options + atMost }));
  }

  get sends() {
    return { what: "item", n: 1 };
  }

  told(report) {
    return { item: report < this.options ? report : null };
  }

  check(answer) {
    const fits = Array.isArray(answer) && answer.length <= this.atMost;
    if (!fits || !isSet(answer, this.options)) fail("answer must be the ticked items in increasing order");
    return answer;
  }

  pick(answer, next) {
    const dummies = count(this.atMost - this.check(answer).length).map((one) => this.options + one);
    const chosen = [...answer, ...dummies];
    const others = count(this.outcomes).filter((item) => !chosen.includes(item));
    const from = next() < this.weight ? chosen : others;
    return from[below(from.length, next)];
  }

  get ratio() {
    const held = BigInt(this.weight);
    return worst([[held * BigInt(this.options), (BigInt(SCALE) - held) * BigInt(this.atMost)]]);
  }

  toJson() {
    return { form: "padded", options: this.options, at_most: this.atMost, weight: this.weight };
  }
}

Object.assign(FORMS, {
  columns: ColumnsChannel,
  subset: SubsetChannel,
  sampled: SampledChannel,
  padded: PaddedChannel,
});

/** Draw a uniform integer below a limit: drawn again where the last, incomplete round of 2^53 is hit. */
export function below(limit, next) {
  for (;;) {
    const r = next();
    if (r < SCALE - (SCALE % limit)) return r % limit;
  }
}

/** Whether these are different indices below a limit, in increasing order. */
function isSet(items, limit) {
  return items.every((item, place) => Number.isInteger(item) && item > (items[place - 1] ?? -1) && item < limit);
}

// The bits of a mask in lower-case hexadecimal digits, the lowest first; null where it is none for so many options.
function bits(text, options) {
  const digits = Math.ceil(options / 4);
  if (typeof text !== "string" || text.length !== digits || !/^[0-9a-f]*$/.test(text)) return null;
  const found = [...text].reverse().flatMap((digit) => [1, 2, 4, 8].map((bit) => (parseInt(digit, 16) & bit) > 0));
  return found.slice(options).some(Boolean) ? null : found.slice(0, options);
}

const readBits = (text, options) => bits(text, options) ?? fail("a set must be lower-case hexadecimal digits");

// The binomial coefficient, exact.
function choose(n, k) {
  let ways = n < k ? 0n : 1n;
  for (let i = 1; ways && i <= k; i++) ways = (ways * BigInt(n - k + i)) / BigInt(i);
  return ways;
}

// The distinct products of the sizes of `ask` members, in increasing order.
export function jointSizes(sizes, ask) {
  const largest = [...sizes].sort((a, b) => b - a).slice(0, ask).reduce((a, b) => Math.min(a * b, SCALE), 1);
  if (largest > MAX_JOINT) fail("the members asked together have too many joint answers");
  const products = [new Set([1]), ...count(ask).map(() => new Set())];
  for (const size of sizes) {
    for (let chosen = ask; chosen > 0; chosen--) {
      for (const product of products[chosen - 1]) products[chosen].add(product * size);
    }
  }
  return [...products[ask]].sort((a, b) => a - b);
}

// Mechanisms

// Integers that are not computed anew: they are taken as they are, unless they break the epsilon that is stated.
const CHECKED = {
  __proto__: MECHANISM,
  takes: ["epsilon"],
  recompiled: false,
  check({ epsilon }, options, channel) {
    const bound = expBelow(positive(epsilon));
    if (channel.several) broken("takes several answers at once");
    if (channel.options !== options) broken("has another number of answers");
    const { ratio } = channel;
    if (!ratio || ratio[0] << 64n > ratio[1] * bound) broken("has a larger epsilon than is stated");
    return { device: channel, analysis: channel };
  },
};

const ADDED = {
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
      if (2n * yes === of) refuse("decoy_share");
      const device = flip(given);
      return { device, analysis: Channel.fromProbabilities([[yes, of - yes], [of - yes, yes]]).then(device) };
    },
  },

  mangat: {
    __proto__: MECHANISM,
    takes: ["truth"],
    twoAnswers: true,
    compile({ truth }) {
      const [kept, all] = inside(truth, "truth");
      return { device: Channel.fromProbabilities([[kept, all - kept], [0n, all]]) };
    },
  },

  matrix: { __proto__: CHECKED },
  subset: {
    __proto__: MECHANISM,
    takes: ["epsilon", "size"],
    reportsAnswers: false,
    compile({ epsilon, size }, options) {
      const odds = expBelow(positive(epsilon));
      if (options < 3) refuse("options");
      if (!Number.isInteger(size) || size < 2 || size >= options) refuse("size");
      return { device: FORMS.subset.of(options, size, heldWeight(odds, size, options - size)) };
    },
  },

  sampled: {
    __proto__: MECHANISM,
    takes: ["epsilon", "ask"],
    fits: "set",
    reportsAnswers: false,
    compile({ epsilon, ask }, options) {
      const odds = expBelow(positive(epsilon));
      if (!Number.isInteger(ask) || ask < 1 || ask > options) refuse("ask");
      const joint = 2 ** Math.min(ask, 52);
      const weight = Number(ceil(D << 64n, odds + (BigInt(joint - 1) << 64n)));
      try {
        return { device: FORMS.sampled.of(Array(options).fill(2), ask, [[joint, weight]]) };
      } catch {
        return refuse("ask");
      }
    },
    deviceAnswer(ticked) {
      return count(this.device.options).map((item) => Number(ticked.includes(item)));
    },
  },

  padded: {
    __proto__: MECHANISM,
    takes: ["epsilon"],
    fits: "set",
    reportsAnswers: false,
    compile({ epsilon }, options, { atMost }) {
      if (atMost === null) refuse("name");
      const odds = expBelow(positive(epsilon));
      return { device: FORMS.padded.of(options, atMost, heldWeight(odds, atMost, options)) };
    },
  },

  designed: { __proto__: CHECKED, fits: "ordered", reportsAnswers: false },
  geometric: { __proto__: CHECKED, fits: "ordered" },
  exponential: { __proto__: CHECKED, fits: "ordered" },
  one_bit: { __proto__: CHECKED, fits: "ordered", reportsAnswers: false, tellsOnly: "mean" },
  square_wave: { __proto__: CHECKED, fits: "ordered", reportsAnswers: false },
};
Object.assign(MECHANISMS, named(ADDED));

// T = floor(2^53 L held / (others + L held)), with `odds` 2^64 L just below 2^64 e^epsilon.
function heldWeight(odds, held, others) {
  const inside = odds * BigInt(held);
  return Number((D * inside) / ((BigInt(others) << 64n) + inside));
}

// Kinds

// For a mean: rounded at random to the grid point below or above, by a draw that is always made.
const GRID = {
  __proto__: ANSWERS,
  fits: onGrid,
  row(answer, next) {
    const scaled = answer * (this.labels.length - 1);
    return Math.floor(scaled / this.steps) + Number(below(this.steps, next) < scaled % this.steps);
  },
};

// For a distribution: cut into bins whose widths differ by one value at most.
const BINS = {
  __proto__: ANSWERS,
  fits: onGrid,
  row(answer) {
    return Math.floor((answer * this.labels.length) / (this.steps + 1));
  },
};

const TICKS = {
  __proto__: ANSWERS,
  fits(answer) {
    const few = Array.isArray(answer) && answer.length <= (this.atMost ?? this.labels.length);
    return few && isSet(answer, this.labels.length);
  },
};

function onGrid(answer) {
  return Number.isInteger(answer) && answer >= 0 && answer <= this.steps;
}

const ASKED = {
  scale: {
    __proto__: KIND,
    keys: ["points"],
    later: ["labels"],
    inMechanism: ["target"],
    targets: ["cumulative", "mean", "shares"],
    takes: ["option", "ordered"],
    widget: "scale",
    read(fields, at) {
      const { points, labels: given = [] } = fields;
      readWhole(points, 2, MAX_POINTS, [...at, "points"]);
      const here = [...at, "labels"];
      if (Object.hasOwn(fields, "labels")) {
        if (!Array.isArray(given) || ![2, points].includes(given.length)) throw new SurveyError(here, "do not match the points");
        readDifferent(given, here);
      }
      readTarget(this, fields, at);
      const number = (point) => String(point + 1);
      const named = given.length === points ? given : count(points).map(number);
      return { __proto__: ANSWERS, labels: named, ends: given.length === points ? [] : given };
    },
  },

  number: {
    __proto__: KIND,
    keys: ["min", "max", "step"],
    later: ["unit"],
    inMechanism: ["target", "bins"],
    targets: ["mean", "distribution"],
    takes: ["option", "ordered"],
    widget: "number",
    choosesRows: false,
    read(fields, at) {
      const { min, max, step, unit = "", mechanism } = fields;
      const range = readRange(fields, at);
      if (Object.hasOwn(fields, "unit")) readText(unit, [...at, "unit"], "unit");
      const target = readTarget(this, fields, at);
      const made = { ...range, min, max, step, unit };
      const values = range.steps + 1;
      if (target === "mean") {
        if (Object.hasOwn(mechanism, "bins")) throw new SurveyError([...at, "mechanism", "bins"], "a mean has no bins");
        const last = Math.min(values, MAX_GRID) - 1;
        const labels = count(last + 1).map((point) => range.spell((point * range.steps) / last));
        return { __proto__: GRID, ...made, labels };
      }
      const bins = readWhole(mechanism.bins, 2, Math.min(MAX_TABLE, values), [...at, "mechanism", "bins"]);
      const start = (bin) => Math.ceil((bin * values) / bins);
      const ends = (bin) => [...new Set([start(bin), start(bin + 1) - 1])];
      return { __proto__: BINS, ...made, labels: count(bins).map((bin) => ends(bin).map(range.spell).join(" – ")) };
    },
  },

  multiple: {
    __proto__: KIND,
    keys: ["options"],
    later: ["at_most"],
    takes: ["set"],
    several: true,
    widget: "ticks",
    read(fields, at) {
      const labels = readOptions(fields.options, [...at, "options"]);
      const atMost = fields.at_most ?? null;
      if (atMost !== null) readWhole(atMost, 1, labels.length, [...at, "at_most"]);
      return { __proto__: TICKS, labels, atMost };
    },
  },
};
Object.assign(KINDS, named(ASKED));

function readWhole(value, low, high, at) {
  if (!Number.isInteger(value) || value < low || value > high) {
    throw new SurveyError(at, `must be a whole number from ${low} to ${high}`);
  }
  return value;
}

function readTarget({ targets }, fields, at) {
  if (!Object.hasOwn(fields, "mechanism")) return targets[0]; // a question of a block
  const target = fields.mechanism?.target;
  if (!targets.includes(target)) throw new SurveyError([...at, "mechanism", "target"], "is nothing that can be reported");
  return target;
}

// The number of steps from min to max; `stepsTo` gives those to a number written as [numerator, denominator], or null.
function readRange(fields, at) {
  const [low, high, step] = ["min", "max", "step"].map((key) => {
    try {
      return readSigned(fields[key], key);
    } catch (error) {
      if (!(error instanceof MechanismError)) throw error;
      throw new SurveyError([...at, key], "is not a number in its published spelling");
    }
  });
  const minus = ([a, b], [c, d]) => [a * d - c * b, b * d];
  const span = minus(high, low);
  if (span[0] <= 0n) throw new SurveyError([...at, "min"], "is not below max");
  if (step[0] <= 0n) throw new SurveyError([...at, "step"], "must be greater than 0");
  const divide = ([a, b]) => ((a * step[1]) % (b * step[0]) ? null : (a * step[1]) / (b * step[0]));
  const steps = divide(span);
  if (steps === null) throw new SurveyError([...at, "step"], "does not divide the range from min to max");
  if (steps > BigInt(MAX_STEPS)) throw new SurveyError([...at, "step"], `makes more than ${MAX_STEPS} steps`);
  const value = ([a, b]) => Number(a) / Number(b);
  return {
    steps: Number(steps),
    stepsTo(number) {
      const found = divide(minus(number, low));
      return found === null || found < 0n || found > steps ? null : Number(found);
    },
    spell: (at) => String(Number((value(low) + at * value(step)).toPrecision(12))),
  };
}

/** The same, with a sign where it is below zero. */
function readSigned(text, field) {
  if (typeof text !== "string" || !text.startsWith("-")) return readDecimal(text, field);
  const [top, bottom] = readDecimal(text.slice(1), field);
  if (top === 0n) refuse(field);
  return [-top, bottom];
}

