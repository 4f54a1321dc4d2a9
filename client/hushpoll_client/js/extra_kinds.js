// Kinds of question outside the base bundle: the twins of scale, number and multiple in kind/.

import { count, MAX_TABLE, MechanismError, SurveyError } from "./channel.js";
import { below, isSet } from "./extra_channels.js";
import { ANSWERS, KIND, KINDS, readDifferent, readOptions, readText } from "./kind.js";
import { named, readDecimal, refuse } from "./mechanism.js";

const MAX_STEPS = 10 ** 6;
const MAX_POINTS = 11;
const MAX_GRID = 21; // points that a number is rounded to before its mean is randomized

// For a mean: rounded at random to the grid point below or above, by a draw that is always made.
const GRID = {
  __proto__: ANSWERS,
  fits: onGrid,
  row(answer, next) {
    const scaled = answer * (this.labels.length - 1);
    return Math.floor(scaled / this.steps) + Number(below(this.steps, next) < scaled % this.steps);
  },
};

// For a distribution.
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

const ADDED = {
  scale: {
    __proto__: KIND,
    keys: ["points"],
    optionalKeys: ["first", "labels"],
    inMechanism: ["target"],
    targets: ["cumulative", "mean", "shares"],
    mechanismFits: ["option", "ordered"],
    widget: "scale",
    read(fields, at) {
      const { points, first = 1, labels: listed = [] } = fields;
      readWhole(points, 2, MAX_POINTS, [...at, "points"]);
      if (Object.hasOwn(fields, "first")) readWhole(first, 0, 0, [...at, "first"]);
      const here = [...at, "labels"];
      if (Object.hasOwn(fields, "labels")) {
        const fits = Array.isArray(listed) && [2, points].includes(listed.length);
        if (!fits) throw new SurveyError(here, "do not match the points");
        readDifferent(listed, here);
      }
      readTarget(this, fields, at);
      const number = (point) => String(point + first);
      const named = listed.length === points ? listed : count(points).map(number);
      return { __proto__: ANSWERS, labels: named, ends: listed.length === points ? [] : listed };
    },
  },

  number: {
    __proto__: KIND,
    keys: ["min", "max", "step"],
    optionalKeys: ["unit"],
    inMechanism: ["target", "bins"],
    targets: ["mean", "distribution"],
    mechanismFits: ["option", "ordered"],
    widget: "number",
    inBlocks: false,
    read(fields, at) {
      const { min, max, step, unit = "", mechanism } = fields;
      const range = readRange(fields, at);
      if (Object.hasOwn(fields, "unit")) readText(unit, [...at, "unit"], "unit");
      const target = readTarget(this, fields, at);
      const shape = { ...range, min, max, step, unit };
      const values = range.steps + 1;
      if (target === "mean") {
        if (Object.hasOwn(mechanism, "bins")) throw new SurveyError([...at, "mechanism", "bins"], "a mean has no bins");
        const last = Math.min(values, MAX_GRID) - 1;
        const labels = count(last + 1).map((point) => range.spell((point * range.steps) / last));
        return { __proto__: GRID, ...shape, labels };
      }
      const bins = readWhole(mechanism.bins, 2, Math.min(MAX_TABLE, values), [...at, "mechanism", "bins"]);
      const start = (bin) => Math.ceil((bin * values) / bins);
      const ends = (bin) => [...new Set([start(bin), start(bin + 1) - 1])];
      return { __proto__: BINS, ...shape, labels: count(bins).map((bin) => ends(bin).map(range.spell).join(" – ")) };
    },
  },

  multiple: {
    __proto__: KIND,
    keys: ["options"],
    optionalKeys: ["at_most"],
    mechanismFits: ["set"],
    several: true,
    inBlocks: false,
    widget: "ticks",
    read(fields, at) {
      const labels = readOptions(fields.options, [...at, "options"]);
      const atMost = fields.at_most ?? null;
      if (atMost !== null) readWhole(atMost, 1, labels.length, [...at, "at_most"]);
      return { __proto__: TICKS, labels, atMost };
    },
  },
};
Object.assign(KINDS, named(ADDED));

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

// `stepsTo` returns the steps from min to a rational [numerator, denominator], or null.
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
      const position = divide(minus(number, low));
      return position === null || position < 0n || position > steps ? null : Number(position);
    },
    spell: (at) => String(Number((value(low) + at * value(step)).toPrecision(12))),
  };
}

function readSigned(text, field) {
  if (typeof text !== "string" || !text.startsWith("-")) return readDecimal(text, field);
  const [top, bottom] = readDecimal(text.slice(1), field);
  if (top === 0n) refuse(field);
  return [-top, bottom];
}
