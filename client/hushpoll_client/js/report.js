// The report: everything that leaves the device. The twin of report.py; no field of it could hold a true answer.

import { RandomnessError, ReportError } from "./errors.js";
import { deviceAnswer } from "./mechanisms.js";
import { randomize, systemSource } from "./randomize.js";
import { canonical } from "./survey.js";

/**
 * Randomize a whole form once: a random id and one randomized report for each question, in the survey's order.
 * An answer is the index of an option; for a question with a decoy it is {answer, decoy}, for an OR-poll also the
 * combined answer alone (1 if either is Yes). Keep the result before the first send and send it again as it is.
 */
export function newReport(survey, answers, source = systemSource) {
  if (!Array.isArray(answers) || answers.length !== survey.questions.length) {
    throw new ReportError(`${survey.questions.length} answers are needed`);
  }
  const given = survey.questions.map((question, index) => combined(question, answers[index]));
  const bytes = new Uint8Array(16);
  source(bytes);
  // A generator that leaves its array empty would report the truth each time; by chance this happens once in 2^128.
  if (bytes.every((byte) => byte === 0)) throw new RandomnessError("the source of chance is broken; nothing was sent");
  const id = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const reports = survey.questions.map((question, index) => randomize(question.channel, given[index], source));
  return { id, reports };
}

/** The bytes to send; the same ones each time. */
export function reportBytes({ id, reports }, invitation = null) {
  const value = invitation === null ? { id, reports } : { id, reports, invitation };
  return new TextEncoder().encode(canonical(value));
}

// Checks every answer before anything is drawn, so that a refusal costs no randomness and reveals nothing.
function combined({ id, combine, channel }, given) {
  if (combine !== "none" && typeof given === "object" && given !== null) {
    return deviceAnswer(combine, given.answer, given.decoy);
  }
  if (combine === "same" || combine === "pair") throw new ReportError(`question "${id}" also needs the decoy's answer`);
  if (!Number.isInteger(given) || given < 0 || given >= channel.options) {
    throw new ReportError(`question "${id}" has no answer; every question needs one`);
  }
  return given;
}
