// The kinds of question: one object each, with its keys, its answers and how one is given. The twin of kind/ and of
// document.py, which reads the parts of a document.

import { SurveyError } from "./errors.js";
import { MECHANISMS } from "./mechanism.js";

export const MAX_OPTIONS = 1000;
export const LENGTHS = { title: 200, intro: 4000, text: 1000, option: 200, decoy: 1000 }; // code points
export const PUBLISH_AGAIN = "ask the owner to publish it again";

const KIND = {
  keys: [], // of the question's document, beside those that every question has
  widget: "options", // what the page draws for it
  fixedWords: false, // whether the labels are the page's own words, to be said in the reader's language
  yesOrNo: false, // whether the answers are No and Yes, so that a decoy question can stand beside it

  /** The mechanisms that can carry its answers. */
  get mechanisms() {
    return Object.values(MECHANISMS).filter((one) => this.yesOrNo || !one.hasDecoy);
  },
};

/** Every kind by its name; `read` takes its own keys from a question and gives the labels of the true answers. */
export const KINDS = {
  yes_no: { __proto__: KIND, name: "yes_no", fixedWords: true, yesOrNo: true, read: () => ["No", "Yes"] },

  choice: {
    __proto__: KIND,
    name: "choice",
    keys: ["options"],
    read({ options }, place) {
      const at = [...place, "options"];
      if (!Array.isArray(options) || options.length < 2) {
        throw new SurveyError(at, "needs at least two options", "list two or more different options");
      }
      if (options.length > MAX_OPTIONS) throw new SurveyError(at, "has too many options", `keep at most ${MAX_OPTIONS}`);
      options.forEach((option, number) => readText(option, [...at, number], "option"));
      options.forEach((option, number) => {
        if (options.indexOf(option) < number) {
          throw new SurveyError([...at, number], `${short(option)} stands twice`, "make every option different");
        }
      });
      return options;
    },
  },
};

/** Check an object's keys: the published form has them all and no other. */
export function readFields(value, at, known) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new SurveyError(at, `must be an object, got ${short(value)}`, PUBLISH_AGAIN);
  }
  for (const key of Object.keys(value)) {
    if (!known.includes(key)) throw new SurveyError(at, `unknown key ${short(key)}`, `known here: ${known.join(", ")}`);
  }
  for (const key of known) {
    if (!Object.hasOwn(value, key)) throw new SurveyError([...at, key], "is missing", "add it");
  }
  return value;
}

/** Check a text. Lengths count code points, as Python does; text is never normalised here. */
export function readText(value, at, what) {
  if (typeof value !== "string") throw new SurveyError(at, `must be text, got ${short(value)}`, "write it in quotes");
  const length = [...value].length;
  if (length > LENGTHS[what]) throw new SurveyError(at, `has ${length} characters`, `keep at most ${LENGTHS[what]}`);
  if (/\p{Cc}/u.test(what === "intro" ? value.replaceAll("\n", "") : value)) {
    throw new SurveyError(at, "holds a control character", "remove it");
  }
  if (what !== "intro" && !/\P{Z}/u.test(value)) throw new SurveyError(at, "is empty", "write something");
  return value;
}

/** Show a value of a stranger's document in at most forty printable characters. */
export function short(value) {
  const text = String(JSON.stringify(value)).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "?");
  return text.length <= 40 ? text : `${text.slice(0, 37)}...`;
}
