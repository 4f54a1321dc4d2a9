// A channel: row x holds the chances, in integers out of 2^53, of each report z when the true answer is x. The twin of
// channel/ and randomize.py: every class below Channel is one published form; everybody else asks the channel.
// Rows are summed and ratios compared with BigInt, since 2^53 + 1 == 2^53 in doubles.

import { ChannelError, RandomnessError } from "./errors.js";

export const SCALE = 2 ** 53;
export const MAX_TABLE = 64; // rows and columns of a published table: larger ones have a structured form or are refused

export class Channel {
  /** K-ary response: `weight` W on every report but the true one, which has the rest, T = 2^53 - (K-1) W. */
  static krr(options, weight) {
    return FORMS.krr.of(options, weight);
  }

  /** A table given weight by weight; every row sums to 2^53. */
  static matrix(rows) {
    return FORMS.matrix.of(rows);
  }

  /** The channel that reports the truth: unbounded epsilon. */
  static identity(options) {
    return Channel.matrix(count(options).map((x) => count(options).map((z) => (x === z ? SCALE : 0))));
  }

  /**
   * Round a table of BigInt weights, normalised per row, toward privacy: the ratio of the result never exceeds the
   * table's own, and zeros stay zeros. Mixing every row with the average row only lowers ratios.
   */
  static fromProbabilities(rows) {
    const totals = rows.map(sum);
    const common = [...new Set(totals)].reduce((a, b) => a * b);
    const exact = rows.map((row, x) => row.map((weight) => (weight * common) / totals[x]));
    const bound = worst(columns(exact));
    const mean = columns(exact).map(sum); // times the number of rows
    for (let power = 54n; power > 9n; power--) {
      // The share of the average row is 2^-power; the first time round it is none.
      const own = power === 54n || !bound ? 1n : BigInt(rows.length) * (2n ** power - 1n);
      const total = own === 1n ? common : BigInt(rows.length) * common << power;
      const table = exact.map((row) => rounded(row.map((w, z) => (own === 1n ? w : own * w + mean[z])), total));
      const kept = table.every((row, x) => row.every((weight, z) => !weight === !exact[x][z]));
      const ratio = worst(columns(table));
      if (kept && (!bound || (ratio && ratio[0] * bound[1] <= bound[0] * ratio[1]))) {
        return Channel.matrix(table.map((row) => row.map(Number)));
      }
    }
    fail("a probability is too small to be written as an integer out of 2^53");
  }

  /** Read a published form; anything unexpected is refused. */
  static fromJson(value) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) fail("a channel is an object with a form");
    const form = Object.hasOwn(FORMS, value.form) && typeof value.form === "string" && FORMS[value.form];
    if (!form || Object.keys(value).sort().join() !== ["form", ...form.keys].sort().join()) {
      fail(`unknown channel form ${JSON.stringify(value.form)}`, `known: ${Object.keys(FORMS).join(", ")}`);
    }
    return form.read(value);
  }

  /** What a report is on the wire: which values are legal, and the words for it after "must be". */
  get wire() {
    const last = this.outcomes - 1;
    return {
      words: `a whole number from 0 to ${last}`,
      legal: (report) => Number.isInteger(report) && report >= 0 && report <= last,
    };
  }

  /** The whole table. */
  get rows() {
    return count(this.options).map((x) => this.row(x));
  }

  /** The chance of report z when the true answer is x, for display. */
  probability(x, z) {
    return this.row(x)[z] / SCALE;
  }

  /** The privacy loss ln(ratio), for display (claims are checked with the exact ratio). */
  get epsilon() {
    if (!this.ratio) return Infinity;
    const [top, bottom] = this.ratio;
    return Math.log1p(Number(top - bottom) / Number(bottom));
  }

  /** The report for a true answer and given draws. */
  report(answer, ...draws) {
    return this.pick(answer, () => whole(draws.shift(), "draw", 0, SCALE - 1));
  }

  /** Send this channel's reports through another one (post-processing: epsilon cannot grow). */
  then(after) {
    const table = columns(after.rows);
    return Channel.fromProbabilities(
      this.rows.map((row) => table.map((column) => sum(row.map((weight, z) => BigInt(weight) * BigInt(column[z]))))),
    );
  }

  // Refuses what is no true answer of this channel.
  check(answer) {
    return whole(answer, "answer", 0, this.options - 1);
  }
}

/** K options; every wrong report has `weight` W, the true one T = 2^53 - (K-1) W. */
class KaryChannel extends Channel {
  static keys = ["options", "weight"];
  evenly = true; // what chance puts in place of the truth is spread over all other options alike

  static of(options, weight) {
    whole(options, "options", 2);
    whole(weight, "weight", 1);
    if (BigInt(options - 1) * BigInt(weight) >= BigInt(SCALE)) {
      fail(`weight ${weight} is too large: ${options} options leave nothing for the true one`);
    }
    const truth = SCALE - (options - 1) * weight;
    return Object.freeze(Object.assign(new KaryChannel(), { options, outcomes: options, weight, truth }));
  }

  static read({ options, weight }) {
    return KaryChannel.of(options, weight);
  }

  row(answer) {
    this.check(answer);
    return count(this.options).map((z) => (z === answer ? this.truth : this.weight));
  }

  probability(x, z) {
    return (x === z ? this.truth : this.weight) / SCALE;
  }

  // One draw r: r < T keeps the answer; the rest is cut in K-1 pieces of W, one for each next option, around the circle.
  pick(answer, next) {
    this.check(answer);
    const r = next();
    const offset = r < this.truth ? 0 : 1 + Math.floor((r - this.truth) / this.weight); // exact below 2^53
    return (answer + offset) % this.options;
  }

  get ratio() {
    return worst([[BigInt(this.truth), BigInt(this.weight)]]);
  }

  toJson() {
    return { form: "krr", options: this.options, weight: this.weight };
  }
}

/** Any channel, weight by weight. */
class TableChannel extends Channel {
  static keys = ["rows"];

  static of(rows) {
    if (rows.length < 2) fail(`a channel has at least two rows, one for each true answer, got ${rows.length}`);
    const width = rows[0].length;
    if (width < 2) fail(`a channel has at least two columns, one for each report, got ${width}`);
    rows.forEach((row, x) => {
      if (row.length !== width) fail(`row ${x + 1} has ${row.length} weights, row 1 has ${width}`);
      for (const weight of row) whole(weight, `weight in row ${x + 1}`, 0);
      const total = sum(row.map(BigInt));
      if (total !== BigInt(SCALE)) fail(`row ${x + 1} sums to ${total}, not to 2^53 = ${SCALE}`);
    });
    const table = Object.freeze(rows.map((row) => Object.freeze([...row])));
    return Object.freeze(Object.assign(new TableChannel(), { options: rows.length, outcomes: width, table }));
  }

  static read({ rows }) {
    if (!Array.isArray(rows) || !rows.every(Array.isArray)) fail("rows must be a list of lists of integers");
    if (rows.length > MAX_TABLE || rows.some((row) => row.length > MAX_TABLE)) {
      fail(`a table has at most ${MAX_TABLE} rows and columns`);
    }
    return TableChannel.of(rows);
  }

  row(answer) {
    return this.table[this.check(answer)];
  }

  // One draw r: the first report whose cumulative weight exceeds r.
  pick(answer, next) {
    const row = this.row(answer);
    const r = next();
    let z = 0;
    for (let above = row[0]; r >= above; above += row[z]) z++;
    return z;
  }

  /** The exact e^epsilon, the largest ratio in a column, as [BigInt, BigInt]; null when a zero meets a non-zero. */
  get ratio() {
    return worst(columns(this.table.map((row) => row.map(BigInt))));
  }

  toJson() {
    return { form: "matrix", rows: this.table };
  }
}

/** Every form by its published name. */
export const FORMS = { krr: KaryChannel, matrix: TableChannel };

/** The whole numbers below n. */
export const count = (n) => [...Array(n).keys()];

const sum = (weights) => weights.reduce((a, b) => a + b, 0n);
const columns = (rows) => rows[0].map((_, z) => rows.map((row) => row[z]));

function worst(table) {
  let [top, bottom] = [1n, 1n];
  for (const column of table) {
    const high = column.reduce((a, b) => (a > b ? a : b));
    const low = column.reduce((a, b) => (a < b ? a : b));
    if (!high) continue; // a report that never happens
    if (!low) return null;
    if (high * bottom > top * low) [top, bottom] = [high, low];
  }
  return [top, bottom];
}

// Integers that sum to 2^53: each rounded down, what is left goes to the largest remainders.
function rounded(row, total) {
  const scaled = row.map((weight) => weight * BigInt(SCALE));
  const down = scaled.map((weight) => weight / total);
  const rest = scaled.map((weight) => weight % total);
  const order = [...row.keys()].sort((a, b) => (rest[a] === rest[b] ? 0 : rest[a] > rest[b] ? -1 : 1));
  const left = Number(BigInt(SCALE) - sum(down));
  for (const z of order.slice(0, left)) down[z] += 1n;
  return down;
}

function whole(value, what, low, high = SCALE) {
  // The message never repeats the value: it may be a true answer.
  if (!Number.isInteger(value) || value < low || value > high) fail(`${what} must be an integer from ${low} to ${high}`);
  return value;
}

function fail(problem, remedy) {
  throw new ChannelError(problem, remedy);
}

// Drawing: as many uniform numbers from the device's generator as the channel asks for, whatever the answer.
// Fails closed: without crypto.getRandomValues nothing is drawn.

/** Fill a typed array from the browser's cryptographic generator. */
export function systemSource(array) {
  try {
    globalThis.crypto.getRandomValues(array);
  } catch {
    throw new RandomnessError("this browser has no safe source of chance; nothing was sent", "use another browser");
  }
}

/** Draw a uniform integer from 0 to 2^53 - 1: 21 bits and 32 bits, no rejection. `source` fills a Uint32Array. */
export function draw(source = systemSource) {
  const words = new Uint32Array(2);
  source(words);
  return (words[0] >>> 11) * 2 ** 32 + words[1];
}

/** Draw the report for a true answer. Run by the respondent's device, once for each answer. */
export function randomize(channel, answer, source = systemSource) {
  return channel.pick(answer, () => draw(source));
}
