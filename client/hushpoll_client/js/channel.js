// A channel: row x holds the chances, in integers out of 2^53, of each report z when the true answer is x.
// The twin of channel.py. Rows are summed and ratios compared with BigInt, since 2^53 + 1 == 2^53 in doubles.

import { ChannelError } from "./errors.js";

export const SCALE = 2 ** 53;
export const MAX_TABLE = 64; // rows and columns of a published table: larger ones have a structured form or are refused

export class Channel {
  #rows; // matrix form only

  constructor(form, options, outcomes, weight, rows = null) {
    Object.assign(this, { form, options, outcomes, weight });
    this.#rows = rows;
    Object.freeze(this);
  }

  /** K-ary response: `weight` W on every report but the true one, which has the rest, T = 2^53 - (K-1) W. */
  static krr(options, weight) {
    whole(options, "options", 2);
    whole(weight, "weight", 1);
    if (BigInt(options - 1) * BigInt(weight) >= BigInt(SCALE)) {
      fail(`weight ${weight} is too large: ${options} options leave nothing for the true one`);
    }
    return new Channel("krr", options, options, weight);
  }

  /** A table given weight by weight; every row sums to 2^53. */
  static matrix(rows) {
    if (rows.length < 2) fail(`a channel has at least two rows, one for each true answer, got ${rows.length}`);
    const width = rows[0].length;
    if (width < 2) fail(`a channel has at least two columns, one for each report, got ${width}`);
    rows.forEach((row, x) => {
      if (row.length !== width) fail(`row ${x + 1} has ${row.length} weights, row 1 has ${width}`);
      for (const weight of row) whole(weight, `weight in row ${x + 1}`, 0);
      const total = sum(row.map(BigInt));
      if (total !== BigInt(SCALE)) fail(`row ${x + 1} sums to ${total}, not to 2^53 = ${SCALE}`);
    });
    return new Channel("matrix", rows.length, width, null, rows.map((row) => Object.freeze([...row])));
  }

  /** The channel that reports the truth: unbounded epsilon. */
  static identity(options) {
    const each = [...Array(options).keys()];
    return Channel.matrix(each.map((x) => each.map((z) => (x === z ? SCALE : 0))));
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

  /** Send this channel's reports through another one (post-processing: epsilon cannot grow). */
  then(after) {
    const table = columns(after.rows);
    return Channel.fromProbabilities(
      this.rows.map((row) => table.map((column) => sum(row.map((weight, z) => BigInt(weight) * BigInt(column[z]))))),
    );
  }

  /** Read a published form; anything unexpected is refused. */
  static fromJson(value) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) fail("a channel is an object with a form");
    const keys = Object.keys(value).sort().join();
    if (value.form === "krr" && keys === "form,options,weight") return Channel.krr(value.options, value.weight);
    if (value.form !== "matrix" || keys !== "form,rows") {
      fail(`unknown channel form ${JSON.stringify(value.form)} with keys ${keys}; known: "krr", "matrix"`);
    }
    const { rows } = value;
    if (!Array.isArray(rows) || !rows.every(Array.isArray)) fail("rows must be a list of lists of integers");
    if (rows.length > MAX_TABLE || rows.some((row) => row.length > MAX_TABLE)) {
      fail(`a table has at most ${MAX_TABLE} rows and columns`);
    }
    return Channel.matrix(rows);
  }

  /** The weights of all reports when `answer` is true. */
  row(answer) {
    whole(answer, "answer", 0, this.options - 1);
    if (this.#rows) return this.#rows[answer];
    return Array.from({ length: this.options }, (_, z) => (z === answer ? this.truthWeight : this.weight));
  }

  /** The whole table; for a K-ary channel it is made on the spot, K by K. */
  get rows() {
    return Array.from({ length: this.options }, (_, x) => this.row(x));
  }

  /** The weight on the true report of a K-ary channel. */
  get truthWeight() {
    return SCALE - (this.options - 1) * this.weight;
  }

  /** The chance of report z when the true answer is x, for display. */
  probability(x, z) {
    const weight = this.#rows ? this.#rows[x][z] : x === z ? this.truthWeight : this.weight;
    return weight / SCALE;
  }

  /**
   * The report that the draw r, uniform on 0 .. 2^53 - 1, picks.
   * krr: r < T keeps the answer; the rest is cut in K-1 pieces of W, one for each next option, around the circle.
   * matrix: the first report whose cumulative weight exceeds r.
   */
  report(answer, r) {
    whole(answer, "answer", 0, this.options - 1);
    whole(r, "draw", 0, SCALE - 1);
    if (!this.#rows) {
      const truth = this.truthWeight;
      const offset = r < truth ? 0 : 1 + Math.floor((r - truth) / this.weight); // exact below 2^53
      return (answer + offset) % this.options;
    }
    let z = 0;
    for (let above = this.#rows[answer][0]; r >= above; above += this.#rows[answer][z]) z++;
    return z;
  }

  /** The exact e^epsilon, the largest ratio in a column, as [BigInt, BigInt]; null when a zero meets a non-zero. */
  get ratio() {
    const table = this.#rows ? columns(this.#rows) : [[this.truthWeight, this.weight]];
    return worst(table.map((column) => column.map(BigInt)));
  }

  /** The privacy loss ln(ratio), for display (claims are checked with the exact ratio). */
  get epsilon() {
    if (!this.ratio) return Infinity;
    const [top, bottom] = this.ratio;
    return Math.log1p(Number(top - bottom) / Number(bottom));
  }

  toJson() {
    return this.#rows ? { form: "matrix", rows: this.#rows } : { form: "krr", options: this.options, weight: this.weight };
  }
}

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
  if (!Number.isInteger(value)) fail(`${what} must be an integer, got ${JSON.stringify(value)}`);
  if (value < low || value > high) fail(`${what} must be from ${low} to ${high}, got ${value}`);
}

function fail(message) {
  throw new ChannelError(message);
}
