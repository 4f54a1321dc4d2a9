// Every error that the client raises on purpose; the twin of errors.py. Messages are for people: what, where, remedy.

export class HushpollError extends Error {
  get name() {
    return this.constructor.name;
  }
}
/** A table of weights that is no channel, or an answer outside it. */
export class ChannelError extends HushpollError {}
/** A published mechanism that this client does not know, or that its channel does not keep. */
export class MechanismError extends HushpollError {
  constructor(message, field = null) {
    super(message);
    this.field = field;
  }
}
/** Bytes that are not strict JSON. */
export class DocumentError extends HushpollError {}
/** No safe source of chance on this device: nothing is drawn. */
export class RandomnessError extends HushpollError {}
/** A report that does not fit its survey. */
export class ReportError extends HushpollError {}

/** A survey document that breaks a rule; `path` leads to the place, as in ["questions", 1, "channel"]. */
export class SurveyError extends HushpollError {
  constructor(path, problem, remedy, question = null) {
    super(`${spell(path, question)}: ${problem}; ${remedy}`);
    Object.assign(this, { path, problem, remedy, where: spell(path, question) });
  }
}

// Writes a path as people count: question 2 ("reason"), mechanism.epsilon.
function spell(path, question) {
  if (path.length === 0) return "survey";
  if (path[0] !== "questions" || typeof path[1] !== "number") return path.join(".");
  const name = `question ${path[1] + 1}` + (question ? ` ("${question}")` : "");
  let rest = "";
  for (const part of path.slice(2)) {
    rest += typeof part === "number" ? ` ${part + 1}` : (rest ? "." : "") + part;
  }
  return rest ? `${name}, ${rest}` : name;
}
