// Reading a published survey: the twin of survey.py and strict_json.py. Nothing that the server states is believed:
// the hash is recomputed, every channel is held against its mechanism, the total epsilon against this client's own cap.

import { Channel } from "./channel.js";
import { BrokenPromise, DocumentError, HushpollError, SurveyError } from "./errors.js";
import { KINDS, PUBLISH_AGAIN, readFields, readText, short } from "./kind.js";
import { expBelow, readDecimal, resolve } from "./mechanism.js";
import { sha256 } from "./sha256.js";

export const CAP = "20"; // the largest total epsilon that this client sends answers for, whatever the survey says
export const VERSION = 1;
export const MAX_QUESTIONS = 100;
export const MAX_BYTES = 1 << 20;
const MAX_DEPTH = 8;
const DO_NOT_ANSWER = "do not answer; ask for a fresh link";

/**
 * Read and verify the bytes a server served, before a question is shown; throws a SurveyError.
 * Gives {title, intro, settings, hash, ratio, epsilonTotal, questions}; `ratio` is the exact e^epsilon of all questions
 * that have one. Each question is {id, kind, text, options, mechanism, decoy, channel, epsilon}, its kind and its
 * mechanism objects.
 */
export function loadSurvey(bytes, expectedHash = null, { cap = CAP } = {}) {
  const hash = sha256(bytes);
  if (expectedHash !== null && hash !== expectedHash) {
    throw new SurveyError([], "its hash is not the one in the link", DO_NOT_ANSWER);
  }
  if (bytes.length > MAX_BYTES) throw new SurveyError([], `it is larger than ${MAX_BYTES} bytes`, PUBLISH_AGAIN);
  const survey = readSurvey(parseDocument(bytes));
  const ratio = finiteRatio(survey.questions);
  if (ratio[0] << 64n > ratio[1] * expBelow(readDecimal(String(cap), "cap"))) {
    throw new SurveyError(["questions"], `the total epsilon of one person is above ${cap}`, DO_NOT_ANSWER);
  }
  const epsilonTotal = survey.questions.reduce((total, question) => total + question.epsilon, 0);
  return Object.freeze({ ...survey, hash, ratio, epsilonTotal });
}

// The product of the finite ratios, in exact integers.
function finiteRatio(questions) {
  const ratios = questions.map(({ channel }) => channel.ratio ?? [1n, 1n]);
  return ratios.reduce(([top, bottom], [high, low]) => [top * high, bottom * low]);
}

function readSurvey(value) {
  const fields = readFields(value, [], ["hushpoll", "intro", "questions", "settings", "title"]);
  if (fields.hushpoll !== VERSION) {
    throw new SurveyError(["hushpoll"], `version ${short(fields.hushpoll)} is not known`, `write "hushpoll": ${VERSION}`);
  }
  const settings = readFields(fields.settings, ["settings"], ["invitation", "kiosk"]);
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
  const title = readText(fields.title, ["title"], "title");
  const intro = readText(fields.intro, ["intro"], "intro");
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
  const named = value?.kind;
  const kind = typeof named === "string" && Object.hasOwn(KINDS, named) && KINDS[named];
  if (named !== undefined && !kind) {
    throw new SurveyError([...at, "kind"], `${short(named)} is not a known kind`, `use one of: ${Object.keys(KINDS).join(", ")}`);
  }
  const fields = readFields(value, at, ["channel", "id", "kind", "mechanism", "text", ...(kind?.keys ?? [])]);
  if (id === null) {
    throw new SurveyError([...at, "id"], `${short(fields.id)} is no id`, "use letters, digits and _, a letter first, at most 64");
  }
  const text = readText(fields.text, [...at, "text"], "text");
  const options = Object.freeze(kind.read(fields, at));
  const { mechanism, decoy } = readMechanism(fields, at, kind, options.length);
  const channel = mechanism.device;
  return { id, kind, text, options, mechanism, decoy, channel, epsilon: channel.epsilon };
}

function readMechanism({ mechanism: value, channel }, at, kind, options) {
  const here = [...at, "mechanism"];
  const { decoy = null, ...given } = readFields(value, here, Object.keys(value ?? {}));
  if (decoy !== null || Object.hasOwn(value, "decoy")) readText(decoy, [...here, "decoy"], "decoy");
  const published = placed(() => Channel.fromJson(channel), at);
  const mechanism = placed(() => resolve(kind.mechanisms, `a ${kind.name} question`, options, given, published), at, here);
  if (mechanism.hasDecoy && decoy === null) throw new SurveyError([...here, "decoy"], "is missing", PUBLISH_AGAIN);
  if (decoy !== null && !mechanism.hasDecoy) {
    throw new SurveyError([...here, "decoy"], `${mechanism.name} asks no decoy question`, PUBLISH_AGAIN);
  }
  return { mechanism, decoy };
}

// Says where in the document an error is: at the parameter, or at the integers that are not what they promise.
function placed(work, at, here = null) {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof HushpollError)) throw error;
    const { problem, remedy, field } = error;
    if (!here || error instanceof BrokenPromise) throw new SurveyError([...at, "channel"], problem, DO_NOT_ANSWER);
    throw new SurveyError(field ? [...here, field] : here, problem, remedy || PUBLISH_AGAIN);
  }
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
    throw new SurveyError([], error.problem, PUBLISH_AGAIN);
  }
  throw new SurveyError([], "its bytes are not the canonical ones", PUBLISH_AGAIN);
}
