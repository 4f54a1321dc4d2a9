// Every error that the client raises on purpose; the twin of errors.py. A message is the problem and the remedy.

export class HushpollError extends Error {
  constructor(problem, remedy = "", where = "") {
    super((where && `${where}: `) + problem + (remedy && `; ${remedy}`));
    Object.assign(this, { problem, remedy });
  }

  get name() {
    return this.constructor.name;
  }
}
/** A table of weights that is not a channel, or an answer outside it. */
export class ChannelError extends HushpollError {}
/** Integers that are not what their mechanism promises. */
export class BrokenPromise extends ChannelError {}
/** A mechanism that this client cannot honour; `field` is the parameter at fault. */
export class MechanismError extends HushpollError {
  constructor(problem, field) {
    super(problem);
    this.field = field;
  }
}
/** Bytes that are not strict JSON. */
export class DocumentError extends HushpollError {}
/** No safe source of chance: nothing is drawn. */
export class RandomnessError extends HushpollError {}
/** A report that does not fit its survey. */
export class ReportError extends HushpollError {}

/** A survey document that breaks a rule at `path`, such as ["questions", 1, "channel"]. */
export class SurveyError extends HushpollError {
  constructor(path, problem, remedy = "ask the owner to publish it again") {
    super(problem, remedy, spell(path));
    this.path = path;
  }
}

// Writes a path as people count: question 2, mechanism.epsilon.
function spell(path) {
  const [first, index, ...rest] = path;
  if (first !== "questions" || typeof index !== "number") return path.join(".") || "survey";
  const place = rest.map((part) => (typeof part === "number" ? part + 1 : part)).join(".");
  return `question ${index + 1}` + (place && `, ${place}`);
}
