// The report: all that leaves the device. No field of it could hold a true answer. It is drawn once, stored, then sent,
// always as the same bytes. The twin of report, memory and send in delivery/.

import { draw, RandomnessError, ReportError, systemSource } from "./channel.js";
import { canonical } from "./survey.js";

const TIMEOUT = 30_000;
const WAITS = [5, 10, 20, 40, 60]; // seconds between attempts
const REFUSED = { 403: "uninvited", 404: "unknown", 409: "other", 410: "closed" };

/**
 * Randomize a whole form once. An answer is the index of an option (after the last one: not shown), a number of steps
 * above min, or a list of ticked options; with a decoy {answer, decoy}, or both combined where the mechanism takes that.
 */
export function newReport(survey, answers, source = systemSource, ranks = null, group) {
  if (!Array.isArray(answers) || answers.length !== survey.questions.length) {
    throw new ReportError(`${survey.questions.length} answers are needed`);
  }
  if (!isGroup(survey, group)) throw new ReportError("has no such group");
  const { questions, entries } = survey;
  const trueAnswers = entries.map(
    (entry) => entry.trueAnswers?.(answers, ranks) ?? trueAnswer(entry, answers[questions.indexOf(entry)]),
  );
  const bytes = new Uint8Array(16);
  source(bytes);
  // A generator that leaves its array empty would report the truth each time; by chance this happens once in 2^128.
  if (bytes.every((byte) => byte === 0)) throw new RandomnessError("the source of chance is broken");
  const id = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const next = () => draw(source);
  const reports = entries.map((entry, index) => {
    if (entry.trueAnswers) return entry.randomize(trueAnswers[index], next, ranks);
    return randomizeAnswer(entry, trueAnswers[index], next);
  });
  return { id, reports, group };
}

/** Draw the report of one question, outside blocks, for its true answer; with a decoy for both answers combined. */
export function randomizeAnswer({ answers, mechanism, channel }, trueAnswer, next) {
  const row = answers.row(trueAnswer, next);
  return channel.pick(mechanism.hasDecoy ? row : mechanism.deviceAnswer(row), next);
}

/** Whether this is the index of one of a survey's groups. */
export const isGroup = ({ groups }, group) => (groups ? Number.isInteger(group) && group in groups : group === undefined);

/** Whether a question is shown after these answers to the earlier ones. */
export function isShown({ after }, answers) {
  return !after || after.answers.includes(answers[after.question]);
}

/** The bytes to send, padded with spaces to the length of the survey's longest report. */
export function reportBytes({ groups, entries }, { id, reports, group }, invitation = null) {
  const written = (values, index) =>
    canonical({ id, reports: values, ...(groups && { group: index }), ...(invitation && { invitation }) });
  const longest = written(entries.map(({ channel }) => channel.wire.longest), groups?.length - 1);
  return new TextEncoder().encode(written(reports, group).padEnd(longest.length));
}

// Called for every answer before anything is drawn, so that a refusal reveals nothing.
function trueAnswer({ id, answers, mechanism, channel }, answer) {
  if (mechanism.hasDecoy && typeof answer === "object" && answer !== null) {
    return mechanism.deviceAnswer(answer.answer, answer.decoy);
  }
  if (!mechanism.takesCombined || !answers.fits(answer, channel.options)) {
    throw new ReportError(`question "${id}" has no answer`);
  }
  return answer;
}

/**
 * What this device remembers of a survey: the report until it has arrived; after that its id, and the report itself only
 * until the tab is closed.
 */
export class Memory {
  #volatile = null; // the record, if the browser stores nothing
  ranks = null; // see block.js
  traceless = false; // store nothing once a report has arrived

  constructor(survey, storage = () => localStorage, session = () => sessionStorage) {
    Object.assign(this, { survey, storage, session, key: `hushpoll:${survey.hash}` });
  }

  get works() {
    return this.#attempt((storage) => storage.length >= 0) ?? false;
  }

  get isVolatile() {
    return this.#volatile !== null;
  }

  /** Return {id, reports, group, state: "waiting" or "sent"}, or null; without reports where another tab sent it. */
  recall() {
    const stored = (storage) => JSON.parse(storage.getItem(this.key));
    const { id, reports, group, state } = this.#volatile ?? this.#attempt(stored) ?? {};
    if (!/^[0-9a-f]{32}$/.test(id) || !/^(waiting|sent)$/.test(state)) return null;
    if (this.#isComplete(reports, group)) return { id, reports, group, state };
    if (state === "waiting" || reports !== undefined) return null;
    const here = this.#attempt(stored, this.session);
    return here?.id === id && this.#isComplete(here.reports, here.group) ? { ...here, state } : { id, reports: null, state };
  }

  #isComplete(reports, group) {
    const { entries } = this.survey;
    const fits = ({ channel }, index) => channel.wire.legal(reports[index]);
    return Array.isArray(reports) && reports.length === entries.length && entries.every(fits) && isGroup(this.survey, group);
  }

  /** Keep a report before it is sent, or note that it has arrived. */
  keep({ id, reports, group }, state = "waiting") {
    const record = { id, reports, group, state };
    if (this.traceless && state === "sent") this.forget();
    this.#volatile = record;
    if (this.traceless && state === "sent") return;
    if (state === "sent") this.#attempt((session) => session.setItem(this.key, JSON.stringify(record)), this.session);
    this.#attempt((storage) => {
      storage.setItem(this.key, JSON.stringify(state === "sent" ? { id, state } : record));
      this.#volatile = null;
      if (state === "sent") storage.removeItem(`${this.key}:drawn`);
    });
  }

  forget(...more) {
    this.#volatile = this.ranks = null;
    const clear = (storage) => [this.key, `${this.key}:drawn`, ...more].forEach((key) => storage.removeItem(key));
    for (const area of [this.storage, this.session]) this.#attempt(clear, area);
  }

  #attempt(work, area = this.storage) {
    try {
      return work(area());
    } catch {
      return null; // a private window may store nothing
    }
  }
}

/** Sends the stored report; `retry` is called when it is time for another attempt. */
export class Sender {
  #attempts = 0;
  #flight = null; // the attempt under way
  #timer = null;

  constructor({ url, memory, invitation, retry }) {
    Object.assign(this, { url, memory, invitation, retry });
  }

  get isWaiting() {
    return this.#timer !== null;
  }

  /** Drop all attempts: the device may be another person's now. */
  stop() {
    clearTimeout(this.#timer);
    this.#flight?.abort();
    this.#timer = this.#flight = null;
  }

  /**
   * Make one attempt. Returns {sent: the record}, or {reason, again (trying by hand makes sense), seconds until the next};
   * null if there was nothing to send, or if this device was cleared meanwhile.
   */
  async send() {
    const record = this.memory.recall();
    if (this.#flight || !record) return null;
    if (record.state === "sent") return { sent: record }; // by another tab
    this.stop();
    const attempt = (this.#flight = new AbortController());
    const limit = setTimeout(() => attempt.abort(), TIMEOUT);
    let status = 0; // no answer at all
    let wait = 0;
    try {
      const response = await fetch(this.url, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: reportBytes(this.memory.survey, record, this.invitation),
        credentials: "omit",
        cache: "no-store",
        redirect: "error",
        signal: attempt.signal,
      });
      // A hotel's sign-in page is HTML with status 200: this server answers with none.
      status = response.headers.get("Content-Type")?.startsWith("text/html") ? 0 : response.status;
      wait = Number(response.headers.get("Retry-After")) || 0;
    } catch {
      // The report may have arrived: sending it again is harmless.
    }
    clearTimeout(limit);
    if (this.#flight !== attempt) return null;
    this.#flight = null;
    if (status === 200 || status === 201) return this.#arrived(record);
    return this.memory.recall() && this.#refused(record, status, wait);
  }

  #arrived(record) {
    if (this.memory.survey.settings.kiosk) this.memory.forget();
    else this.memory.keep(record, "sent");
    return { sent: record };
  }

  #refused({ id }, status, wait) {
    if (REFUSED[status]) return { reason: REFUSED[status], again: status < 409 };
    if (status >= 400 && status < 500 && status !== 408 && status !== 429) return { reason: "refused", again: true };
    // The random id spreads a classroom's attempts over time.
    const spread = 1 + parseInt(id.slice(0, 2), 16) / 512;
    const seconds = Math.ceil(Math.max(wait, WAITS[Math.min(this.#attempts++, WAITS.length - 1)]) * spread);
    this.#timer = setTimeout(this.retry, 1000 * seconds);
    return { reason: status ? "busy" : "offline", again: true, seconds };
  }
}
