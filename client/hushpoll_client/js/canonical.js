// Canonical JSON: sorted keys, no spaces, UTF-8 unescaped, integers only. The twin of strict_json.py.
//
// parse() writes again what it read and refuses unless the text is the same. That one rule catches duplicate keys,
// spaces, unsorted keys, needless escapes, 1.0 for 1, and 2^53 + 1 (which reads as 2^53).

import { DocumentError } from "./errors.js";

const MAX_DEPTH = 8; // a survey's deepest value is questions > question > channel > rows > row > weight
const MAX_INTEGER = 2 ** 53; // every smaller integer has exactly one double

/** Write a value as canonical JSON text. */
export function canonical(value, depth = MAX_DEPTH) {
  if (value === true || value === false) return String(value);
  if (typeof value === "number") return integer(value);
  if (typeof value === "string") return text(value);
  if (typeof value !== "object" || value === null) throw new DocumentError("the document holds null; leave it out");
  if (depth === 0) throw new DocumentError(`the document is nested deeper than ${MAX_DEPTH} levels; flatten it`);
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, depth - 1)).join(",")}]`;
  const keys = Object.keys(value).sort();
  return `{${keys.map((key) => `${text(key)}:${canonical(value[key], depth - 1)}`).join(",")}}`;
}

/** Read canonical JSON from a Uint8Array; refuse bytes that are not canonical. */
export function parse(bytes) {
  let source, value;
  try {
    source = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new DocumentError("the document is not UTF-8; save it as UTF-8");
  }
  try {
    value = JSON.parse(source);
  } catch {
    throw new DocumentError("the document is not JSON; check its end and its commas");
  }
  if (canonical(value) !== source) {
    throw new DocumentError("the bytes are not canonical JSON; ask for the survey as it was published");
  }
  return value;
}

function integer(value) {
  if (!Number.isInteger(value) || Math.abs(value) > MAX_INTEGER) {
    throw new DocumentError("the document holds a number that is no integer up to 2^53; write it as text");
  }
  return String(value);
}

function text(value) {
  // Under the u flag this class matches only halves of a surrogate pair that stand alone.
  if (/[\ud800-\udfff]/u.test(value)) throw new DocumentError("the document holds half a character; remove it");
  return JSON.stringify(value); // escapes only quote, backslash and controls, as Python's json does
}
