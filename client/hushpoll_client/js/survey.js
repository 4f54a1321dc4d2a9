// Reading a published survey: the twin of survey.py and strict_json.py. Nothing that the server states is believed:
// the hash is recomputed, every channel is compiled again, and the total epsilon is held against this client's own cap.

import { Channel } from "./channel.js";
import { DocumentError, HushpollError, SurveyError } from "./errors.js";
import { compileMechanism, expBelow, KINDS, readDecimal } from "./mechanisms.js";
import { sha256 } from "./sha256.js";

export const CAP = "20"; // the largest total epsilon that this client sends answers for, whatever the survey says
const VERSION = 1;
const MAX_QUESTIONS = 100;
const MAX_OPTIONS = 1000;
const MAX_BYTES = 1 << 20;
const MAX_DEPTH = 8;
const LENGTHS = { title: 200, intro: 4000, text: 1000, option: 200, decoy: 1000 };
const DO_NOT_ANSWER = "do not answer; ask for a fresh link";
const PUBLISH_AGAIN = "ask the owner to publish it again";

/**
 * Read and verify the bytes a server served, before a question is shown; throws a SurveyError.
 * Gives {title, intro, settings, hash, epsilonTotal, questions}; each question {id, kind, text, options, mechanism,
 * decoy, combine, channel, analysis, epsilon}.
 */
export function loadSurvey(bytes, expectedHash = null, { cap = CAP } = {}) {
  const hash = sha256(bytes);
  if (expectedHash !== null && hash !== expectedHash) {
    throw new SurveyError([], "its hash is not the one in the link", DO_NOT_ANSWER);
  }
  if (bytes.length > MAX_BYTES) throw new SurveyError([], `the document is larger than ${MAX_BYTES} bytes`, PUBLISH_AGAIN);
  const survey = readSurvey(parseDocument(bytes));
  checkCap(survey.questions, String(cap));
  const epsilonTotal = survey.questions.reduce((total, question) => total + question.epsilon, 0);
  return Object.freeze({ ...survey, hash, epsilonTotal });
}

// The product of the finite ratios, in exact integers, against floor(2^64 e^cap) / 2^64.
function checkCap(questions, cap) {
  let [top, bottom] = [1n, 1n];
  for (const { channel } of questions) {
    const [high, low] = channel.ratio ?? [1n, 1n];
    [top, bottom] = [top * high, bottom * low];
  }
  if (top << 64n > bottom * expBelow(readDecimal(cap, "cap"))) {
    throw new SurveyError(["questions"], `the total epsilon of one person is above ${cap}`, DO_NOT_ANSWER);
  }
}

function readSurvey(value) {
  const fields = checkFields(value, [], ["hushpoll", "intro", "questions", "settings", "title"]);
  if (fields.hushpoll !== VERSION) {
    throw new SurveyError(["hushpoll"], `version ${short(fields.hushpoll)} is not known`, `write "hushpoll": ${VERSION}`);
  }
  const settings = checkFields(fields.settings, ["settings"], ["invitation", "kiosk"]);
  for (const [key, flag] of Object.entries(settings)) {
    if (typeof flag !== "boolean") throw new SurveyError(["settings", key], "must be true or false", PUBLISH_AGAIN);
  }
  const listed = fields.questions;
  if (!Array.isArray(listed) || listed.length === 0) {
    throw new SurveyError(["questions"], "must be a list of at least one question", "add a question");
  }
  if (listed.length > MAX_QUESTIONS) {
    throw new SurveyError(["questions"], `has ${listed.length} questions`, `keep at most ${MAX_QUESTIONS}`);
  }
  const title = checkText(fields.title, ["title"], "title");
  const intro = checkText(fields.intro, ["intro"], "intro");
  const questions = listed.map(readQuestion);
  questions.forEach(({ id }, index) => {
    if (questions.findIndex((other) => other.id === id) < index) {
      throw new SurveyError(["questions", index, "id"], `"${id}" is used twice`, "give every question its own id");
    }
  });
  return { title, intro, questions, settings };
}

function readQuestion(value, index) {
  const id = typeof value?.id === "string" && /^[A-Za-z][A-Za-z0-9_]{0,63}$/.test(value.id) ? value.id : null;
  try {
    return Object.freeze(checkQuestion(value, ["questions", index], id));
  } catch (error) {
    if (!(error instanceof SurveyError)) throw error;
    throw new SurveyError(error.path, error.problem, error.remedy, id);
  }
}

function checkQuestion(value, at, id) {
  if (!isObject(value)) throw new SurveyError(at, `must be an object, got ${short(value)}`, PUBLISH_AGAIN);
  const { kind } = value;
  if (kind === undefined) throw new SurveyError([...at, "kind"], "is missing", "add it");
  if (typeof kind !== "string" || !Object.hasOwn(KINDS, kind)) {
    throw new SurveyError([...at, "kind"], `${short(kind)} is not a known kind`, `use one of: ${Object.keys(KINDS).join(", ")}`);
  }
  const keys = ["channel", "id", "kind", "mechanism", "text"];
  const fields = checkFields(value, at, kind === "choice" ? [...keys, "options"] : keys);
  if (id === null) {
    throw new SurveyError([...at, "id"], `${short(fields.id)} is no id`, "use letters, digits and _, a letter first, at most 64");
  }
  const text = checkText(fields.text, [...at, "text"], "text");
  const options = Object.freeze(kind === "choice" ? checkOptions(fields.options, [...at, "options"]) : ["No", "Yes"]);
  const { mechanism } = fields;
  const { device, analysis, combine } = checkMechanism(mechanism, [...at, "mechanism"], kind, options.length);
  const channel = checkChannel(fields.channel, [...at, "channel"], device, mechanism.name);
  const decoy = mechanism.decoy ?? null;
  return { id, kind, text, options, mechanism, decoy, combine, channel, analysis, epsilon: channel.epsilon };
}

function checkOptions(value, at) {
  if (!Array.isArray(value) || value.length < 2) {
    throw new SurveyError(at, `needs at least two options, has ${value?.length ?? 0}`, "list two or more different options");
  }
  if (value.length > MAX_OPTIONS) throw new SurveyError(at, `has ${value.length} options`, `keep at most ${MAX_OPTIONS}`);
  value.forEach((option, number) => checkText(option, [...at, number], "option"));
  const seen = new Set();
  value.forEach((option, number) => {
    if (seen.has(option)) throw new SurveyError([...at, number], `${short(option)} stands twice`, "make every option different");
    seen.add(option);
  });
  return value;
}

function checkMechanism(value, at, kind, options) {
  if (!isObject(value)) throw new SurveyError(at, "must be an object", PUBLISH_AGAIN);
  if (value.decoy !== undefined) checkText(value.decoy, [...at, "decoy"], "decoy");
  let compiled;
  try {
    compiled = compileMechanism(kind, options, value);
  } catch (error) {
    if (!(error instanceof HushpollError)) throw error;
    throw new SurveyError(error.field ? [...at, error.field] : at, error.message, PUBLISH_AGAIN);
  }
  if (compiled.combine !== "none" && value.decoy === undefined) {
    throw new SurveyError([...at, "decoy"], "is missing", "write the decoy question's text");
  }
  return compiled;
}

function checkChannel(value, at, device, name) {
  let channel;
  try {
    channel = Channel.fromJson(value);
  } catch (error) {
    if (!(error instanceof HushpollError)) throw error;
    throw new SurveyError(at, error.message, DO_NOT_ANSWER);
  }
  if (canonical(channel.toJson()) !== canonical(device.toJson())) {
    throw new SurveyError(at, `is not the channel of this ${name}`, DO_NOT_ANSWER);
  }
  return channel;
}

// Checks an object's keys: the published form has them all and no other.
function checkFields(value, at, known) {
  if (!isObject(value)) throw new SurveyError(at, `must be an object, got ${short(value)}`, PUBLISH_AGAIN);
  for (const key of Object.keys(value)) {
    if (!known.includes(key)) throw new SurveyError(at, `unknown key ${short(key)}`, `known here: ${known.join(", ")}`);
  }
  for (const key of known) {
    if (!Object.hasOwn(value, key)) throw new SurveyError([...at, key], "is missing", "add it");
  }
  return value;
}

// Lengths count code points, as Python does; text is never normalised here.
function checkText(value, at, what) {
  if (typeof value !== "string") throw new SurveyError(at, `must be text, got ${short(value)}`, "write it in quotes");
  const length = [...value].length;
  if (length > LENGTHS[what]) throw new SurveyError(at, `has ${length} characters`, `keep at most ${LENGTHS[what]}`);
  if (/\p{Cc}/u.test(what === "intro" ? value.replaceAll("\n", "") : value)) {
    throw new SurveyError(at, "holds a control character", "remove it");
  }
  if (what !== "intro" && !/\P{Z}/u.test(value)) throw new SurveyError(at, "is empty", "write something");
  return value;
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

function short(value) {
  const text = String(JSON.stringify(value)).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "?");
  return text.length <= 40 ? text : `${text.slice(0, 37)}...`;
}

// Canonical JSON: sorted keys, no spaces, UTF-8 unescaped, whole numbers only.

/** Write a value as canonical JSON text. */
export function canonical(value, depth = MAX_DEPTH) {
  if (typeof value === "boolean" || value === null) return String(value);
  if (typeof value === "string") return canonicalText(value);
  if (typeof value === "number") {
    // 2^53 itself is a weight of the identity; above it, doubles skip integers.
    if (!Number.isInteger(value) || Math.abs(value) > 2 ** 53) throw new DocumentError("holds a number that is not whole");
    return String(value);
  }
  if (depth === 0) throw new DocumentError("nested too deeply");
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, depth - 1)).join(",")}]`;
  const keys = Object.keys(value).sort();
  return `{${keys.map((key) => `${canonicalText(key)}:${canonical(value[key], depth - 1)}`).join(",")}}`;
}

function canonicalText(value) {
  // Under the u flag the class matches only halves of a surrogate pair that stand alone.
  if (/[\ud800-\udfff]/u.test(value)) throw new DocumentError("holds half of a character (a lone surrogate)");
  return JSON.stringify(value); // escapes only the quote, the backslash and controls, as Python's json does
}

/**
 * Read canonical JSON: what was read is written again and must give the same text. That one rule catches duplicate
 * keys, spaces, unsorted keys, needless escapes, 1.0 for 1, and 2^53 + 1 (which reads as 2^53).
 */
function parseDocument(bytes) {
  let text, value;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    value = JSON.parse(text);
  } catch {
    throw new SurveyError([], "it is not JSON in UTF-8", PUBLISH_AGAIN);
  }
  try {
    if (canonical(value) === text) return value;
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error;
    throw new SurveyError([], error.message, PUBLISH_AGAIN);
  }
  throw new SurveyError([], "its bytes are not the canonical ones", PUBLISH_AGAIN);
}
