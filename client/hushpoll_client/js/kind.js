// The kinds of question: one object each. The twin of kind/ and of document.py, which reads the parts of a document.

import { SurveyError } from "./channel.js";
import { MECHANISMS, named } from "./mechanism.js";

export const MAX_OPTIONS = 1000;
export const LENGTHS = { title: 200, intro: 4000, text: 1000, option: 200, decoy: 1000, unit: 40 }; // code points

export const KIND = {
  keys: [], // beside those that every question has
  optionalKeys: [], // keys that stand only where they say something
  inMechanism: [], // keys of the mechanism's object that are the kind's own
  targets: [], // what designers may choose to report
  mechanismFits: ["option"], // the sorts of mechanism that fit it
  widget: "options", // what the page draws for it
  fixedWords: false, // the labels are the page's own words
  yesOrNo: false, // a decoy question can stand beside it
  maySkip: false, // may be asked only after certain answers, and decide whether a later one is
  several: false, // an answer is a set of options
  choosesRows: true, // what people choose is what the channel's rows stand for

  /** The mechanisms that can carry its answers. */
  get mechanisms() {
    const fits = ({ fits, hasDecoy }) => this.mechanismFits.includes(fits) && (this.yesOrNo || !hasDecoy);
    return Object.values(MECHANISMS).filter(fits);
  },
};

// The true answers of one question: `labels` are what the channel's rows are called.
export const ANSWERS = {
  atMost: null,

  /** Whether this is a true answer, of a question whose channel has so many rows. */
  fits: (answer, rows) => Number.isInteger(answer) && answer >= 0 && answer < rows,

  /** What the mechanism takes for a true answer; how many draws that needs never depends on it. */
  row: (answer) => answer,
};

/** Every kind, of which extra_kinds.js adds some; `read` gives a question's answers. */
export const KINDS = named({
  yes_no: {
    __proto__: KIND,
    fixedWords: true,
    yesOrNo: true,
    maySkip: true,
    read: () => ({ __proto__: ANSWERS, labels: ["No", "Yes"] }),
  },

  choice: {
    __proto__: KIND,
    keys: ["options"],
    maySkip: true,
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

/** Check an object's keys: all of them, and no other; those of `omittable` only where they say something. */
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

const isEmpty = (value) => !value || (typeof value === "object" && Object.keys(value).length === 0);

/** Check a text; its length is in code points. */
export function readText(value, at, what) {
  if (typeof value !== "string") throw new SurveyError(at, "must be text");
  if ([...value].length > LENGTHS[what]) throw new SurveyError(at, `has more than ${LENGTHS[what]} characters`);
  const control = what === "intro" ? /(?!\n)\p{Cc}/u : /\p{Cc}/u;
  if (control.test(value)) throw new SurveyError(at, "holds a control character");
  if (what !== "intro" && !/\P{Z}/u.test(value)) throw new SurveyError(at, "is empty");
  return value;
}
