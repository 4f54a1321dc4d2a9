// The kinds of question: one object each. The twin of kind/ and of document.py, which reads the parts of a document.

import { SurveyError } from "./channel.js";
import { MECHANISMS, named } from "./mechanism.js";

export const MAX_OPTIONS = 1000;
export const LENGTHS = { title: 200, intro: 4000, text: 1000, option: 200, decoy: 1000, unit: 40 }; // code points

export const KIND = {
  keys: [], // in addition to those of every question
  optionalKeys: [], // never with an empty value
  inMechanism: [], // keys of the mechanism's object that the kind reads
  targets: [], // what designers may choose to report
  mechanismFits: ["option"], // what its mechanisms take, see MECHANISM.fits
  widget: "options", // the control on the page
  fixedWords: false, // the page words the labels
  yesOrNo: false, // it may have a decoy question
  mayBeSkipped: false, // may be asked after certain answers only, and decide whether a later one is
  several: false, // an answer is a set of options
  inBlocks: true, // an answer is a row of the channel; a block may hold it

  /** The mechanisms that can carry its answers. */
  get mechanisms() {
    const fits = ({ fits, hasDecoy }) => this.mechanismFits.includes(fits) && (this.yesOrNo || !hasDecoy);
    return Object.values(MECHANISMS).filter(fits);
  },
};

// The true answers of one question: `labels` are what the channel's rows are called.
export const ANSWERS = {
  atMost: null,

  /** Whether this is a true answer of a question whose channel has `rows` rows. */
  fits: (answer, rows) => Number.isInteger(answer) && answer >= 0 && answer < rows,

  /** What the mechanism takes for a true answer; the number of draws never depends on it. */
  row: (answer) => answer,
};

/** Every kind, of which extra_kinds.js adds some; `read` returns a question's answers. */
export const KINDS = named({
  yes_no: {
    __proto__: KIND,
    fixedWords: true,
    yesOrNo: true,
    mayBeSkipped: true,
    read: () => ({ __proto__: ANSWERS, labels: ["No", "Yes"] }),
  },

  choice: {
    __proto__: KIND,
    keys: ["options"],
    mayBeSkipped: true,
    read: ({ options }, at) => ({ __proto__: ANSWERS, labels: readOptions(options, [...at, "options"]) }),
  },
});

export function readOptions(options, at) {
  if (!Array.isArray(options) || options.length < 2 || options.length > MAX_OPTIONS) {
    throw new SurveyError(at, `must be a list of 2 to ${MAX_OPTIONS} options`);
  }
  return readDifferent(options, at);
}

export function readDifferent(texts, at) {
  texts.forEach((text, index) => readText(text, [...at, index], "option"));
  const first = new Map();
  texts.forEach((text, index) => {
    if (first.has(text)) throw new SurveyError([...at, index], "appears twice");
    first.set(text, index);
  });
  return texts;
}

/** Check an object's keys: all that are required, no other; the `omittable` ones never with an empty value. */
export function readFields(value, at, required, omittable = []) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new SurveyError(at, "must be an object");
  }
  for (const [key, item] of Object.entries(value)) {
    if (![...required, ...omittable].includes(key)) throw new SurveyError(at, "has an unknown key");
    if (omittable.includes(key) && isEmpty(item)) throw new SurveyError([...at, key], "is empty");
  }
  for (const key of [...required].sort()) {
    if (!Object.hasOwn(value, key)) throw new SurveyError([...at, key], "is missing");
  }
  return value;
}

const isEmpty = (value) => (!value && value !== 0) || (typeof value === "object" && Object.keys(value).length === 0);

/** Check a text; its length is in code points. */
export function readText(value, at, what) {
  if (typeof value !== "string") throw new SurveyError(at, "must be text");
  if ([...value].length > LENGTHS[what]) throw new SurveyError(at, `has more than ${LENGTHS[what]} characters`);
  const control = what === "intro" ? /(?!\n)\p{Cc}/u : /\p{Cc}/u;
  if (control.test(value)) throw new SurveyError(at, "holds a control character");
  if (what !== "intro" && !/\P{Z}/u.test(value)) throw new SurveyError(at, "is empty");
  return value;
}
