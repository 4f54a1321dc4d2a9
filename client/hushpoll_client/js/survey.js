// Reading a published survey. The server is not trusted: the hash is recomputed, every channel compared with its
// mechanism, the total epsilon with this client's cap. The twin of survey/ and strict_json.py.

import { BrokenPromise, Channel, DocumentError, HushpollError, SurveyError } from "./channel.js";
import { KINDS, readFields, readText } from "./kind.js";
import { expBelow, readDecimal, resolve } from "./mechanism.js";
import { sha256 } from "./sha256.js";

export const CAP = "20"; // of the total epsilon
export const VERSION = 1;
export const MAX_QUESTIONS = 100;
export const MAX_BYTES = 1 << 20;
const MAX_DEPTH = 8;
const DO_NOT_ANSWER = "do not answer; ask for a fresh link";

// Keys that few surveys have, by the module that reads them.
const OPTIONAL_KEYS = {
  block: ["blocks"],
  anchor: ["anchor"],
  group: ["groups"],
  series: ["series"],
  presentation: ["language", "translations", "asked_by", "consent", "thanks", "help", "sections", "look"],
};
export const EXTRAS = {};

/**
 * Read and verify the bytes a server served; throws a SurveyError. `ratio` is the exact e^epsilon of all that have one.
 */
export function loadSurvey(bytes, expectedHash = null, { cap = CAP } = {}) {
  const hash = sha256(bytes);
  if (expectedHash !== null && hash !== expectedHash) {
    throw new SurveyError([], "its hash is not the one in the link", DO_NOT_ANSWER);
  }
  if (bytes.length > MAX_BYTES) throw new SurveyError([], `it is larger than ${MAX_BYTES} bytes`);
  const survey = readSurvey(parseDocument(bytes));
  const ratio = finiteRatio(survey.entries);
  if (ratio[0] << 64n > ratio[1] * expBelow(readDecimal(String(cap), "cap"))) {
    throw new SurveyError(["questions"], `the total epsilon of one person is above ${cap}`, DO_NOT_ANSWER);
  }
  const epsilonTotal = survey.entries.reduce((total, { channel }) => total + channel.epsilon, 0);
  return Object.freeze({ ...survey, hash, ratio, epsilonTotal, assurance: assurance(survey, ratio) });
}

// How much a report may show of the answer. The twin of assurance.py, from the same integers.
const TIERS = ["strong", "fair", "weak"];
const passed = ([top, bottom], limits) => limits.filter((limit) => top << 64n > bottom * limit).length;
const ODDS = [3n << 64n, 10n << 64n];

/** The tier of one question, by its ratio; null if that has no limit. */
export const tierOf = (ratio) => ratio && TIERS[passed(ratio, ODDS)];

function assurance({ entries, questions }, total) {
  const limited = entries.filter(({ channel }) => channel.ratio);
  const larger = (first, second) => (first[0] * second[1] > second[0] * first[1] ? first : second);
  const worst = limited.map(({ channel }) => channel.ratio).reduce(larger, [1n, 1n]);
  const same = ({ channel: { ratio } }) => ratio[0] * worst[1] === worst[0] * ratio[1];
  const atFault = limited.filter((entry) => passed(worst, ODDS) > 1 && same(entry));
  const percentages = [...new Set(atFault.map(keptOf100))];
  return {
    tier: TIERS[Math.max(passed(worst, ODDS), passed(total, ["5", "10"].map((epsilon) => expBelow(readDecimal(epsilon)))))],
    oneSided: limited.length < entries.length,
    weakest: atFault.flatMap((entry) => entry.indices?.map((index) => index + 1) ?? [questions.indexOf(entry) + 1]),
    factor: atFault.length ? worst : total,
    kept: percentages.length === 1 ? percentages[0] : null,
  };
}

function keptOf100({ kind, mechanism, channel }) {
  if (!kind.inBlocks || mechanism.hasDecoy || !mechanism.reportsAreAnswers || !channel.evenly) return null;
  const of100 = Number((100n * BigInt(channel.truth)) >> 53n);
  return of100 >= 50 ? of100 : null;
}

function finiteRatio(questions) {
  const ratios = questions.map(({ channel }) => channel.ratio ?? [1n, 1n]);
  return ratios.reduce(([top, bottom], [high, low]) => [top * high, bottom * low]);
}

function readSurvey(value) {
  const required = ["hushpoll", "intro", "questions", "settings", "title"];
  const fields = readFields(value, [], required, Object.values(OPTIONAL_KEYS).flat());
  if (fields.hushpoll !== VERSION) throw new SurveyError(["hushpoll"], "is a version that is not known");
  const settings = readFields(fields.settings, ["settings"], ["invitation", "kiosk"]);
  for (const [key, flag] of Object.entries(settings)) {
    if (typeof flag !== "boolean") throw new SurveyError(["settings", key], "must be true or false");
  }
  const listed = fields.questions;
  if (!Array.isArray(listed) || listed.length === 0 || listed.length > MAX_QUESTIONS) {
    throw new SurveyError(["questions"], `must be a list of 1 to ${MAX_QUESTIONS} questions`);
  }
  const title = readText(fields.title, ["title"], "title");
  const intro = readText(fields.intro, ["intro"], "intro");
  for (const [name, keys] of Object.entries(OPTIONAL_KEYS)) {
    const key = keys.find((field) => fields[field]);
    if (key && !EXTRAS[name]) throw Object.assign(new SurveyError([key], "cannot be read"), { needs: name });
  }
  const blocks = fields.blocks && EXTRAS.block.blocks(fields, listed);
  const questions = [];
  while (questions.length < listed.length) {
    const index = questions.length;
    questions.push(...(blocks?.read(listed, index) ?? [readQuestion(listed[index], questions)]));
  }
  const ids = questions.map(({ id }) => id);
  const twice = ids.findIndex((id, index) => ids.indexOf(id) < index);
  if (twice >= 0) throw new SurveyError(["questions", twice, "id"], "is used twice");
  const entries = blocks?.entries(questions) ?? questions;
  const extras = Object.values(EXTRAS).map(({ check }) => check(fields, questions));
  return Object.assign({ title, intro, questions, entries, blocks, settings }, ...extras);
}

function readQuestion(value, earlier) {
  const at = ["questions", earlier.length];
  const named = value?.kind;
  const kind = typeof named === "string" && Object.hasOwn(KINDS, named) && KINDS[named];
  if (named !== undefined && !kind) throw new SurveyError([...at, "kind"], "is not known");
  const required = ["channel", "id", "kind", "mechanism", "text", ...(kind?.keys ?? [])];
  const fields = readFields(value, at, required, [...(kind?.optionalKeys ?? []), "after"]);
  const { id } = fields;
  if (typeof id !== "string" || !/^[A-Za-z][A-Za-z0-9_]{0,63}$/.test(id)) throw new SurveyError([...at, "id"], "is not an id");
  const text = readText(fields.text, [...at, "text"], "text");
  const answers = Object.freeze(kind.read(fields, at));
  const after = Object.hasOwn(fields, "after") ? readAfter(fields.after, [...at, "after"], kind, earlier) : null;
  const { mechanism, decoy } = readMechanism(fields, at, kind, answers, after);
  const options = Object.freeze(answers.labels);
  return Object.freeze({ id, kind, text, answers, options, after, mechanism, decoy, channel: mechanism.device });
}

// A skip rule points back to a question whose answer the device knows; as indices.
function readAfter(value, at, kind, earlier) {
  if (!kind.mayBeSkipped) throw new SurveyError(at, "a question of this kind is always asked");
  const { question: id, answers } = readFields(value, at, ["question", "answers"]);
  const question = earlier.findIndex((other) => other.id === id);
  const decider = earlier[question];
  if (!decider?.kind.mayBeSkipped || decider.decoy !== null || decider.block) {
    throw new SurveyError([...at, "question"], "is not an earlier question that can decide this");
  }
  const here = [...at, "answers"];
  if (!Array.isArray(answers) || answers.length === 0) throw new SurveyError(here, "must be a list of answers");
  const chosen = answers.map((answer) => decider.options.indexOf(answer));
  const wrong = chosen.indexOf(-1);
  if (wrong >= 0) throw new SurveyError([...here, wrong], "is not an answer of that question");
  if (new Set(chosen).size === decider.options.length && !decider.after) throw new SurveyError(here, "are all answers");
  if (chosen.some((answer, index) => answer <= chosen[index - 1])) throw new SurveyError(here, "must appear once each, in order");
  return Object.freeze({ question, answers: chosen });
}

function readMechanism({ mechanism: value, channel }, at, kind, answers, after) {
  const here = [...at, "mechanism"];
  const { decoy = null, ...parameters } = readFields(value, here, Object.keys(value ?? {}));
  if (decoy !== null || Object.hasOwn(value, "decoy")) readText(decoy, [...here, "decoy"], "decoy");
  for (const key of kind.inMechanism) delete parameters[key];
  const published = atPath(() => Channel.fromJson(channel), at);
  const rows = answers.labels.length + (after ? 1 : 0);
  const mechanism = atPath(() => resolve(kind.mechanisms, rows, parameters, published, answers), at, here);
  if (mechanism.tellsOnly && mechanism.tellsOnly !== value.target && rows > 2) {
    throw new SurveyError([...here, "target"], "is nothing that these reports can show");
  }
  if (mechanism.hasDecoy !== (decoy !== null)) throw new SurveyError([...here, "decoy"], "is missing, or out of place");
  return { mechanism, decoy };
}

// Names the place in the document where an error is.
function atPath(work, at, here = null) {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof HushpollError)) throw error;
    const { problem, field } = error;
    if (!here || error instanceof BrokenPromise) throw new SurveyError([...at, "channel"], problem, DO_NOT_ANSWER);
    throw new SurveyError(field ? [...here, field] : here, problem);
  }
}

// Canonical JSON: sorted keys, no spaces, UTF-8 unescaped, whole numbers only.

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
  // With the u flag this matches unpaired surrogates only.
  if (/[\ud800-\udfff]/u.test(value)) throw new DocumentError("has an unpaired surrogate");
  return JSON.stringify(value); // escapes as Python's json does
}

// Writing what was read must give the same text: that catches duplicate and unsorted keys, spaces, escapes, 1.0, 2^53 + 1.
function parseDocument(bytes) {
  let text, value;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    value = JSON.parse(text);
  } catch {
    throw new SurveyError([], "it is not JSON in UTF-8");
  }
  try {
    if (canonical(value) === text) return value;
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error;
    throw new SurveyError([], error.problem);
  }
  throw new SurveyError([], "its bytes are not the canonical ones");
}
