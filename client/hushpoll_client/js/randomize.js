// Drawing a report: one uniform number from the device's generator for each answer, never more, never fewer.
// The twin of randomize.py. Fails closed: without crypto.getRandomValues nothing is drawn.

import { RandomnessError } from "./errors.js";

/** Fill a typed array from the browser's cryptographic generator. */
export function systemSource(array) {
  const { crypto } = globalThis;
  if (typeof crypto?.getRandomValues !== "function") {
    throw new RandomnessError("this browser has no safe source of chance; nothing was sent; use another browser");
  }
  try {
    crypto.getRandomValues(array);
  } catch {
    throw new RandomnessError("this browser's source of chance failed; nothing was sent; try again later");
  }
}

/** Draw a uniform integer from 0 to 2^53 - 1: 21 bits and 32 bits, no rejection. `source` fills a Uint32Array. */
export function draw(source = systemSource) {
  const words = new Uint32Array(2);
  source(words);
  return (words[0] >>> 11) * 2 ** 32 + words[1];
}

/** Draw the report for a true answer. Run by the respondent's device, once for each answer. */
export function randomize(channel, answer, source = systemSource) {
  return channel.report(answer, draw(source));
}
