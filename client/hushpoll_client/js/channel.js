// A channel: row x holds the chances, in integers out of 2^53, of each report when x is true. The twin of channel/ and
// randomize.py. BigInt where doubles cannot tell 2^53 + 1 from 2^53.

export const SCALE = 2 ** 53;
export const MAX_TABLE = 64; // rows and columns of a published table

export class Channel {
  several = false; // an answer is a list: ticked items, or one answer of each member
  listed = true; // it can be written as a table, one column for each report

  static krr(options, weight) {
    return FORMS.krr.of(options, weight);
  }

  static matrix(rows) {
    return FORMS.matrix.of(rows);
  }

  /** The channel that reports the truth. */
  static identity(options) {
    return Channel.matrix(count(options).map((x) => count(options).map((z) => (x === z ? SCALE : 0))));
  }

  // Rounds BigInt weights, normalised per row. So that the ratio never grows, rows are mixed with the average row.
  static fromProbabilities(rows) {
    const totals = rows.map(sum);
    const common = [...new Set(totals)].reduce((a, b) => a * b);
    const exact = rows.map((row, x) => row.map((weight) => (weight * common) / totals[x]));
    const bound = largestRatio(columns(exact));
    const mean = columns(exact).map(sum); // times the number of rows
    for (let power = 54n; power > 9n; power--) {
      // The share of the average row is 2^-power; at first it is 0.
      const share = power === 54n || !bound ? 1n : BigInt(rows.length) * (2n ** power - 1n);
      const total = share === 1n ? common : BigInt(rows.length) * common << power;
      const table = exact.map((row) => rounded(row.map((w, z) => (share === 1n ? w : share * w + mean[z])), total));
      const sameZeros = table.every((row, x) => row.every((weight, z) => !weight === !exact[x][z]));
      const ratio = largestRatio(columns(table));
      if (sameZeros && (!bound || (ratio && ratio[0] * bound[1] <= bound[0] * ratio[1]))) {
        return Channel.matrix(table.map((row) => row.map(Number)));
      }
    }
    fail("a probability is too small");
  }

  /** Read a published form. */
  static fromJson(value) {
    const name = value?.form;
    const form = typeof name === "string" && Object.hasOwn(FORMS, name) && FORMS[name];
    if (!form || Object.keys(value).sort().join() !== ["form", ...form.keys].sort().join()) fail("is of no known form");
    return form.of(...form.keys.map((key) => value[key]));
  }

  /** The published form. */
  toJson() {
    const form = Object.keys(FORMS).find((name) => FORMS[name] === this.constructor);
    return { form, ...Object.fromEntries(this.constructor.keys.map((key) => [key, this[key]])) };
  }

  /** A report on the wire: a whole number, of which a form may rule out some; `longest` has the most digits. */
  get wire() {
    return {
      legal: (report) => Number.isInteger(report) && report >= 0 && report < this.outcomes && this.holds(report),
      longest: this.outcomes - 1,
    };
  }

  holds() {
    return true;
  }

  /** What is sent if it is no answer, and about how many of the options. */
  get sends() {
    return null;
  }

  /** What a report consists of if it is no single answer: a set, an item, or answers of some members. */
  contents() {
    return {};
  }

  /** Of a report that holds several options: the chances that one is in it, if it was chosen and if it was not. */
  get inclusion() {
    return null;
  }

  get rows() {
    return count(this.options).map((x) => this.row(x));
  }

  /** For display, as is epsilon. */
  probability(x, z) {
    return this.row(x)[z] / SCALE;
  }

  get epsilon() {
    if (!this.ratio) return Infinity;
    const [top, bottom] = this.ratio;
    return Math.log1p(Number(top - bottom) / Number(bottom));
  }

  /** The report for a true answer and given draws. */
  report(answer, ...draws) {
    return this.pick(answer, () => readInteger(draws.shift(), "draw", 0, SCALE - 1));
  }

  /** Send this channel's reports through another one. */
  then(after) {
    const table = columns(after.rows);
    return Channel.fromProbabilities(
      this.rows.map((row) => table.map((column) => sum(row.map((weight, z) => BigInt(weight) * BigInt(column[z]))))),
    );
  }

  checkAnswer(answer) {
    return readInteger(answer, "answer", 0, this.options - 1);
  }
}

/** K options; every wrong report has the weight W, the true one T = 2^53 - (K-1) W. */
class KaryChannel extends Channel {
  static keys = ["options", "weight"]; // as `of` takes them
  evenly = true; // all options are treated alike

  static of(options, weight) {
    readInteger(options, "options", 2);
    readInteger(weight, "weight", 1);
    if (BigInt(options - 1) * BigInt(weight) >= BigInt(SCALE)) fail("weight leaves nothing for the true option");
    const truth = SCALE - (options - 1) * weight;
    return Object.freeze(Object.assign(new KaryChannel(), { options, outcomes: options, weight, truth }));
  }

  row(answer) {
    this.checkAnswer(answer);
    return count(this.options).map((z) => (z === answer ? this.truth : this.weight));
  }

  probability(x, z) {
    return (x === z ? this.truth : this.weight) / SCALE;
  }

  // r < T keeps the answer; each next option, around the circle, has a piece of W.
  pick(answer, next) {
    this.checkAnswer(answer);
    const r = next();
    const offset = r < this.truth ? 0 : 1 + Math.floor((r - this.truth) / this.weight); // exact below 2^53
    return (answer + offset) % this.options;
  }

  get ratio() {
    return largestRatio([[BigInt(this.truth), BigInt(this.weight)]]);
  }
}

/** Any channel, weight by weight. */
export class TableChannel extends Channel {
  static keys = ["rows"];

  static of(rows) {
    const fits = (list) => Array.isArray(list) && list.length > 1 && list.length <= MAX_TABLE;
    if (!fits(rows) || !rows.every((row) => fits(row) && row.length === rows[0].length)) {
      fail(`rows must be a table of 2 to ${MAX_TABLE} rows and columns`);
    }
    const width = rows[0].length;
    rows.forEach((row, x) => {
      for (const weight of row) readInteger(weight, `weight in row ${x + 1}`, 0);
      if (sum(row.map(BigInt)) !== BigInt(SCALE)) fail(`row ${x + 1} does not sum to 2^53`);
    });
    const table = Object.freeze(rows.map((row) => Object.freeze([...row])));
    return Object.freeze(Object.assign(new TableChannel(), { options: rows.length, outcomes: width, table }));
  }

  row(answer) {
    return this.table[this.checkAnswer(answer)];
  }

  // The first report whose cumulative weight exceeds r.
  pick(answer, next) {
    const row = this.row(answer);
    const r = next();
    let z = 0;
    for (let above = row[0]; r >= above; above += row[z]) z++;
    return z;
  }

  /** The exact e^epsilon, the largest ratio in a column, as [BigInt, BigInt]; null when a zero meets a non-zero. */
  get ratio() {
    return largestRatio(columns(this.table.map((row) => row.map(BigInt))));
  }
}

/** Every form; extra_channels.js adds some. */
export const FORMS = { krr: KaryChannel, matrix: TableChannel };

export const count = (n) => [...Array(n).keys()];

export const sum = (weights) => weights.reduce((a, b) => a + b, 0n);
const columns = (rows) => rows[0].map((_, z) => rows.map((row) => row[z]));

export function largestRatio(table) {
  let [top, bottom] = [1n, 1n];
  for (const column of table) {
    const high = column.reduce((a, b) => (a > b ? a : b));
    const low = column.reduce((a, b) => (a < b ? a : b));
    if (!high) continue; // never reported
    if (!low) return null;
    if (high * bottom > top * low) [top, bottom] = [high, low];
  }
  return [top, bottom];
}

// Each weight is rounded down; what is left of 2^53 goes to the largest remainders.
function rounded(row, total) {
  const scaled = row.map((weight) => weight * BigInt(SCALE));
  const down = scaled.map((weight) => weight / total);
  const rest = scaled.map((weight) => weight % total);
  const order = [...row.keys()].sort((a, b) => (rest[a] === rest[b] ? 0 : rest[a] > rest[b] ? -1 : 1));
  const left = Number(BigInt(SCALE) - sum(down));
  for (const z of order.slice(0, left)) down[z] += 1n;
  return down;
}

export function readInteger(value, what, low, high = SCALE) {
  // The message never repeats the value: it may be a true answer.
  if (!Number.isInteger(value) || value < low || value > high) fail(`${what} must be an integer from ${low} to ${high}`);
  return value;
}

export function fail(problem) {
  throw new ChannelError(problem);
}

// Drawing. The number of draws never depends on the answer; there is none without a safe generator.

export function systemSource(array) {
  try {
    globalThis.crypto.getRandomValues(array);
  } catch {
    throw new RandomnessError("this browser has no safe source of chance");
  }
}

/** Draw a uniform integer from 0 to 2^53 - 1: 21 bits and 32 bits. */
export function draw(source = systemSource) {
  const words = new Uint32Array(2);
  source(words);
  return (words[0] >>> 11) * 2 ** 32 + words[1];
}

export function randomize(channel, answer, source = systemSource) {
  return channel.pick(answer, () => draw(source));
}

// Errors, the twin of errors.py: here, because a module costs a request.

export class HushpollError extends Error {
  constructor(problem, remedy = "", where = "") {
    super((where && `${where}: `) + problem + (remedy && `; ${remedy}`));
    Object.assign(this, { problem, remedy });
  }

  get name() {
    return this.constructor.name;
  }
}
export class ChannelError extends HushpollError {}
/** Integers that are not what their mechanism promises. */
export class BrokenPromise extends ChannelError {}
/** A mechanism that this client cannot honour; `field` is the parameter at fault. */
export class MechanismError extends HushpollError {
  constructor(problem, field) {
    super(problem);
    this.field = field;
  }
}
export class DocumentError extends HushpollError {}
/** No safe source of chance: nothing is drawn. */
export class RandomnessError extends HushpollError {}
export class ReportError extends HushpollError {}

/** A survey document that breaks a rule at `path`, such as ["questions", 1, "channel"]. */
export class SurveyError extends HushpollError {
  constructor(path, problem, remedy = "ask the owner to publish it again") {
    super(problem, remedy, spell(path));
    this.path = path;
  }
}

// Writes a path as people count: question 2, mechanism.epsilon.
function spell(path) {
  const [first, index, ...rest] = path;
  if (first !== "questions" || typeof index !== "number") return path.join(".") || "survey";
  const inside = rest.map((key) => (typeof key === "number" ? key + 1 : key)).join(".");
  return `question ${index + 1}` + (inside && `, ${inside}`);
}
