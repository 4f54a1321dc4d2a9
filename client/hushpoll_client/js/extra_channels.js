// Channel forms and mechanisms outside the base bundle: the twins of those in channel/ and mechanism/.

import { Channel, count, fail, FORMS, largestRatio, MAX_TABLE, readInteger, SCALE, sum, TableChannel } from "./channel.js";
import { MAX_OPTIONS } from "./kind.js";
import {
  broken, ceil, coin, D, DECOY, decoyShareOf, expBelow, inside, MECHANISM, MECHANISMS, named, positiveEpsilon, refuse,
} from "./mechanism.js";

const MAX_JOINT = 100_000; // joint answers of the members asked

/** Report j weighs high[j] for the answers in the mask sets[j], else low[j]; the last one has what remains of each row. */
class ColumnsChannel extends TableChannel {
  static keys = ["options", "sets", "low", "high"];

  static of(options, sets, low, high) {
    readInteger(options, "options", 2, MAX_TABLE);
    const lists = [sets, low, high];
    const fits = (list) => Array.isArray(list) && list.length === sets.length;
    if (!lists.every(fits) || sets.length < 1 || sets.length >= MAX_TABLE) fail("sets, low and high must be alike");
    const masks = sets.map((set) => readBits(set, options));
    for (const weight of [...low, ...high]) readInteger(weight, "weight", 1, SCALE - 1);
    const table = count(options).map((x) => {
      const weights = masks.map((mask, j) => (mask[x] ? high : low)[j]);
      const rest = BigInt(SCALE) - sum(weights.map(BigInt));
      if (rest < 1n) fail(`row ${x + 1} leaves nothing for the last report`);
      return Object.freeze([...weights, Number(rest)]);
    });
    const outcomes = sets.length + 1;
    return Object.freeze(Object.assign(new ColumnsChannel(), { options, outcomes, sets, low, high, table }));
  }
}

/** The report is a set of `size` options, which holds the true one in `weight` of 2^53 cases. */
class SubsetChannel extends Channel {
  static keys = ["options", "size", "weight"];
  listed = false;

  static of(options, size, weight) {
    readInteger(options, "options", 3, MAX_OPTIONS);
    readInteger(size, "size", 2, options - 1);
    readInteger(weight, "weight", 1, SCALE - 1);
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

  contents(report) {
    const held = bits(report, this.options);
    return { set: count(this.options).filter((option) => held[option]) };
  }

  get inclusion() {
    const inside = this.weight / SCALE;
    return [inside, (this.size - inside) / (this.options - 1)];
  }

  // Whether the truth is in, then always `size` of the others; the last one drawn makes room for the truth.
  pick(answer, next) {
    this.checkAnswer(answer);
    const inside = next() < this.weight;
    const others = count(this.options).filter((option) => option !== answer);
    for (let index = 0; index < this.size; index++) {
      const other = index + below(others.length - index, next);
      [others[index], others[other]] = [others[other], others[index]];
    }
    const chosen = [...others.slice(0, this.size - 1), inside ? answer : others[this.size - 1]];
    const digits = Array(Math.ceil(this.options / 4)).fill(0);
    for (const option of chosen) digits[digits.length - 1 - (option >> 2)] |= 1 << option % 4;
    return digits.map((digit) => digit.toString(16)).join("");
  }

  get ratio() {
    const [inside, others] = [BigInt(this.weight), BigInt(this.options - this.size)];
    return largestRatio([[inside * others, (BigInt(SCALE) - inside) * BigInt(this.size)]]);
  }
}

/** `ask` of several members are drawn openly; their joint answer goes through K-ary response with N joint answers. */
class SampledChannel extends Channel {
  static keys = ["sizes", "ask", "weights"];
  several = true;
  listed = false;

  static of(sizes, ask, weights) {
    if (!Array.isArray(sizes) || sizes.length < 2 || sizes.length > MAX_OPTIONS) fail("sizes must be those of 2 members or more");
    for (const size of sizes) readInteger(size, "size", 2, MAX_JOINT);
    readInteger(ask, "ask", 1, sizes.length);
    const joint = jointSizes(sizes, ask);
    if (!Array.isArray(weights) || weights.length !== joint.length) fail("weights must name every joint size");
    weights.forEach((pair, index) => {
      if (!Array.isArray(pair) || pair.length !== 2 || pair[0] !== joint[index]) fail("weights must name every joint size");
      readInteger(pair[1], "weight", 1, SCALE - 1);
      if (BigInt(pair[0]) * BigInt(pair[1]) >= BigInt(SCALE)) fail("a weight leaves too little for the true joint answer");
    });
    const [ranks, largest] = [choose(sizes.length, ask), joint.at(-1)];
    if (ranks * BigInt(largest) > BigInt(SCALE)) fail("there are more possible reports than 2^53");
    const fields = { options: sizes.length, sizes, ask, weights, ranks: Number(ranks), largest };
    return Object.freeze(Object.assign(new SampledChannel(), fields, { outcomes: Number(ranks) * largest }));
  }

  holds(report) {
    return report % this.largest < this.joint(this.members(Math.floor(report / this.largest)))[0];
  }

  /** The members asked at a rank, which is the sum of C(c_i, i) over them in increasing order. */
  members(rank) {
    const members = [];
    let left = BigInt(rank);
    for (let index = this.ask, member = this.sizes.length; index > 0; index--) {
      do member--;
      while (choose(member, index) > left);
      left -= choose(member, index);
      members.unshift(member);
    }
    return members;
  }

  joint(members) {
    const size = members.reduce((product, member) => product * this.sizes[member], 1);
    return this.weights.find(([joint]) => joint === size);
  }

  get sends() {
    return { what: "asked", n: this.ask };
  }

  contents(report) {
    const members = this.members(Math.floor(report / this.largest));
    let rest = report % this.largest;
    const answers = members.map(() => 0);
    for (let index = members.length - 1; index >= 0; index--) {
      answers[index] = rest % this.sizes[members[index]];
      rest = Math.floor(rest / this.sizes[members[index]]);
    }
    return { members, answers };
  }

  // Of ticked options, which have two answers each.
  get inclusion() {
    const [[joint, weight]] = this.weights;
    const other = (joint * weight) / 2 / SCALE;
    return [1 - other, other].map((chance) => (chance * this.ask) / this.options);
  }

  checkAnswer(answer) {
    if (!Array.isArray(answer) || answer.length !== this.sizes.length) fail("one answer of each member is needed");
    this.sizes.forEach((size, member) => readInteger(answer[member], "answer", 0, size - 1));
    return answer;
  }

  pick(answer, next) {
    return this.pickAt(below(this.ranks, next), answer, next);
  }

  /** The same at a rank that was drawn before. */
  pickAt(rank, answer, next) {
    this.checkAnswer(answer);
    const members = this.members(rank);
    const [size, weight] = this.joint(members);
    const [truth, r] = [SCALE - (size - 1) * weight, next()];
    const offset = r < truth ? 0 : 1 + Math.floor((r - truth) / weight);
    const joint = members.reduce((value, member) => value * this.sizes[member] + answer[member], 0);
    return rank * this.largest + ((joint + offset) % size);
  }

  get ratio() {
    return largestRatio(this.weights.map(([size, weight]) => [BigInt(SCALE - (size - 1) * weight), BigInt(weight)]));
  }
}

/** Ticked items, padded with dummies m, m + 1, ... to `at_most`; in `weight` of 2^53 cases one of these is reported. */
class PaddedChannel extends Channel {
  static keys = ["options", "at_most", "weight"];
  several = true;
  listed = false;

  static of(options, atMost, weight) {
    readInteger(options, "options", 2, MAX_OPTIONS);
    readInteger(atMost, "at_most", 1, options);
    readInteger(weight, "weight", 1, SCALE - 1);
    return Object.freeze(Object.assign(new PaddedChannel(), { options, at_most: atMost, weight, outcomes: options + atMost }));
  }

  get sends() {
    return { what: "item", n: 1 };
  }

  contents(report) {
    return { item: report < this.options ? report : null };
  }

  get inclusion() {
    const held = this.weight / SCALE;
    return [held / this.at_most, (1 - held) / this.options];
  }

  checkAnswer(answer) {
    const fits = Array.isArray(answer) && answer.length <= this.at_most;
    if (!fits || !isSet(answer, this.options)) fail("answer must be the ticked items in increasing order");
    return answer;
  }

  pick(answer, next) {
    const dummies = count(this.at_most - this.checkAnswer(answer).length).map((number) => this.options + number);
    const chosen = [...answer, ...dummies];
    const others = count(this.outcomes).filter((item) => !chosen.includes(item));
    const from = next() < this.weight ? chosen : others;
    return from[below(from.length, next)];
  }

  get ratio() {
    const held = BigInt(this.weight);
    return largestRatio([[held * BigInt(this.options), (BigInt(SCALE) - held) * BigInt(this.at_most)]]);
  }
}

Object.assign(FORMS, {
  columns: ColumnsChannel,
  subset: SubsetChannel,
  sampled: SampledChannel,
  padded: PaddedChannel,
});

/** Draw a uniform integer below a limit: again where the last, incomplete round is hit. */
export function below(limit, next) {
  for (;;) {
    const r = next();
    if (r < SCALE - (SCALE % limit)) return r % limit;
  }
}

/** Whether these are different indices below a limit, in increasing order. */
export function isSet(items, limit) {
  return items.every((item, index) => Number.isInteger(item) && item > (items[index - 1] ?? -1) && item < limit);
}

// The bits of a mask in hexadecimal digits, the lowest first; null if it is none.
function bits(text, options) {
  const digits = Math.ceil(options / 4);
  if (typeof text !== "string" || text.length !== digits || !/^[0-9a-f]*$/.test(text)) return null;
  const values = [...text].reverse().flatMap((digit) => [1, 2, 4, 8].map((bit) => (parseInt(digit, 16) & bit) > 0));
  return values.slice(options).some(Boolean) ? null : values.slice(0, options);
}

const readBits = (text, options) => bits(text, options) ?? fail("a set must be lower-case hexadecimal digits");

function choose(n, k) {
  let ways = n < k ? 0n : 1n;
  for (let i = 1; ways && i <= k; i++) ways = (ways * BigInt(n - k + i)) / BigInt(i);
  return ways;
}

/** The distinct products of the sizes of `ask` members, in increasing order. */
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

// Integers that are not computed anew: they must keep the epsilon that is stated.
const CHECKED = {
  __proto__: MECHANISM,
  declaredParameters: ["epsilon"],
  recompiled: false,
  check({ epsilon }, options, channel) {
    const bound = expBelow(positiveEpsilon(epsilon));
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
    declaredParameters: ["truth", ...DECOY.declaredParameters],
    combine: "pair",
    combined: (answer, decoy) => 2 * answer + decoy,
    compile(parameters) {
      const [yes, of] = decoyShareOf(parameters);
      const [truth, all] = inside(parameters.truth, "truth");
      let device = Channel.fromProbabilities([[all, 0n], [truth, all - truth], [all - truth, truth], [0n, all]]);
      if (parameters.epsilon !== undefined) device = device.then(coin(parameters));
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
    compile(parameters) {
      const [yes, of] = decoyShareOf(parameters);
      if (2n * yes === of) refuse("decoy_share");
      const device = coin(parameters);
      return { device, analysis: Channel.fromProbabilities([[yes, of - yes], [of - yes, yes]]).then(device) };
    },
  },

  mangat: {
    __proto__: MECHANISM,
    declaredParameters: ["truth"],
    twoAnswers: true,
    compile({ truth }) {
      const [yes, all] = inside(truth, "truth");
      return { device: Channel.fromProbabilities([[yes, all - yes], [0n, all]]) };
    },
  },

  matrix: { __proto__: CHECKED },
  subset: {
    __proto__: MECHANISM,
    declaredParameters: ["epsilon", "size"],
    reportsAnswers: false,
    compile({ epsilon, size }, options) {
      const odds = expBelow(positiveEpsilon(epsilon));
      if (options < 3) refuse("options");
      if (!Number.isInteger(size) || size < 2 || size >= options) refuse("size");
      return { device: FORMS.subset.of(options, size, heldWeight(odds, size, options - size)) };
    },
  },

  sampled: {
    __proto__: MECHANISM,
    declaredParameters: ["epsilon", "ask"],
    fits: "set",
    reportsAnswers: false,
    compile({ epsilon, ask }, options) {
      const odds = expBelow(positiveEpsilon(epsilon));
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
    declaredParameters: ["epsilon"],
    fits: "set",
    reportsAnswers: false,
    compile({ epsilon }, options, { atMost }) {
      if (atMost === null) refuse("name");
      const odds = expBelow(positiveEpsilon(epsilon));
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

// T = floor(2^53 L held / (rest + L held)), with `odds` 2^64 L just below 2^64 e^epsilon.
function heldWeight(odds, held, rest) {
  const inside = odds * BigInt(held);
  return Number((D * inside) / ((BigInt(rest) << 64n) + inside));
}
