// Every error that the client raises on purpose; the twin of errors.py. Each carries what is wrong (`problem`) and what
// to do (`remedy`) as fields; its message is the two together.

export class HushpollError extends Error {
  constructor(problem, remedy = "", where = "") {
    super((where && `${where}: `) + problem + (remedy && `; ${remedy}`));
    Object.assign(this, { problem, remedy });
  }

  get name() {
    return this.constructor.name;
  }
}
/** A table of weights that is no channel, or an answer outside it. */
export class ChannelError extends HushpollError {}
/** Published integers that are not what their mechanism promises. */
export class BrokenPromise extends ChannelError {}
/** A published mechanism that this client cannot honour; `field` names the parameter at fault. */
export class MechanismError extends HushpollError {
  constructor(problem, remedy, field) {
    super(problem, remedy);
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
    const where = spell(path, question);
    super(problem, remedy, where);
    Object.assign(this, { path, where });
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
