// The kinds of question: one object each. The twin of kind/ and of document.py, which reads the parts of a document.

import { SurveyError } from "./errors.js";
import { MECHANISMS } from "./mechanism.js";

export const MAX_OPTIONS = 1000;
export const LENGTHS = { title: 200, intro: 4000, text: 1000, option: 200, decoy: 1000 }; // code points

const KIND = {
  keys: [], // beside those that every question has
  widget: "options", // what the page draws for it
  fixedWords: false, // the labels are the page's own words
  yesOrNo: false, // a decoy question can stand beside it

  /** The mechanisms that can carry its answers. */
  get mechanisms() {
    return Object.values(MECHANISMS).filter((one) => this.yesOrNo || !one.hasDecoy);
  },
};

/** Every kind; `read` gives the labels of a question's answers. */
export const KINDS = {
  yes_no: { __proto__: KIND, name: "yes_no", fixedWords: true, yesOrNo: true, read: () => ["No", "Yes"] },

  choice: {
    __proto__: KIND,
    name: "choice",
    keys: ["options"],
    read({ options }, place) {
      const at = [...place, "options"];
      if (!Array.isArray(options) || options.length < 2 || options.length > MAX_OPTIONS) {
        throw new SurveyError(at, `must be a list of 2 to ${MAX_OPTIONS} options`);
      }
      options.forEach((option, number) => readText(option, [...at, number], "option"));
      const twice = options.findIndex((option, number) => options.indexOf(option) < number);
      if (twice >= 0) throw new SurveyError([...at, twice], "stands twice");
      return options;
    },
  },
};

/** Check an object's keys: all of them, and no other. */
export function readFields(value, at, known) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new SurveyError(at, "must be an object");
  }
  for (const key of Object.keys(value)) {
    if (!known.includes(key)) throw new SurveyError(at, "has an unknown key");
  }
  for (const key of known) {
    if (!Object.hasOwn(value, key)) throw new SurveyError([...at, key], "is missing");
  }
  return value;
}

/** Check a text; its length is in code points. */
export function readText(value, at, what) {
  if (typeof value !== "string") throw new SurveyError(at, "must be text");
  if ([...value].length > LENGTHS[what]) throw new SurveyError(at, `has more than ${LENGTHS[what]} characters`);
  const control = what === "intro" ? /(?!\n)\p{Cc}/u : /\p{Cc}/u;
  if (control.test(value)) throw new SurveyError(at, "holds a control character");
  if (what !== "intro" && !/\P{Z}/u.test(value)) throw new SurveyError(at, "is empty");
  return value;
}
