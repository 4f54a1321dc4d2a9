// Blocks: questions of which each person is asked some, drawn by an open coin, and whose answers are sent jointly. The
// twin of block.py; loaded only for a survey that has blocks, an anchor, groups or a series, which are checked here too.

import { Channel, draw, FORMS, systemSource } from "./channel.js";
import { HushpollError, ReportError, SurveyError } from "./errors.js";
import { KIND, KINDS, readFields, readText } from "./kind.js";
import { ceil, D, expBelow, MECHANISM, positive, readShare } from "./mechanism.js";
import { below, jointSizes } from "./more.js";
import { EXTRAS } from "./survey.js";

const SHARED = { name: "block", reportsAnswers: false };
export const MOST_GROUPS = 100;

/** One value of the report, in place of the first of its questions; `places` are theirs in the survey. */
class Block {
  kind = KIND;

  constructor({ number, first }, questions, channel) {
    const places = questions.map((_, member) => first + member);
    const mechanism = Object.freeze({ ...SHARED, __proto__: MECHANISM, device: channel, analysis: channel });
    Object.assign(this, { number, id: `block${number + 1}`, places, questions, channel, mechanism });
    Object.freeze(this);
  }

  /** Draw which questions are asked: a rank, for all to see. */
  draw(source = systemSource) {
    return below(this.channel.ranks, () => draw(source));
  }

  holds(rank) {
    return Number.isInteger(rank) && rank >= 0 && rank < this.channel.ranks;
  }

  /** The places in the survey of the questions asked at a rank. */
  asked(rank) {
    return this.channel.members(rank).map((member) => this.places[member]);
  }

  /** Check the members' answers before anything is drawn; what was not asked may be null. */
  take(answers, ranks) {
    const asked = ranks ? this.asked(ranks[this.number]) : this.places;
    return this.questions.map(({ id, answers: known, options }, member) => {
      const answer = answers[this.places[member]];
      if (!asked.includes(this.places[member])) return 0;
      if (!known.fits(answer, options.length)) throw new ReportError(`question "${id}" has no answer`);
      return answer;
    });
  }

  pick(given, next, ranks) {
    return this.channel.pickAt(ranks ? ranks[this.number] : below(this.channel.ranks, next), given, next);
  }

  /** What a report says of each of the questions that were asked, in their order. */
  line(report, labels) {
    const { asked, answers } = this.channel.told(report);
    return asked.map((member, at) => labels(this.questions[member])[answers[at]]);
  }
}

/** All blocks of a survey, as its document outlines them. */
class Blocks {
  constructor({ blocks: value, anchor }, listed) {
    this.anchor = anchor;
    if (!Array.isArray(value)) throw new SurveyError(["blocks"], "must be a list");
    const ids = listed.map((one) => one?.id);
    this.outlines = [];
    value.forEach((one, number) => {
      const earlier = this.outlines.flatMap(({ names }) => names);
      this.outlines.push(outline(one, number, ids, earlier));
    });
    this.names = this.outlines.flatMap(({ names }) => names);
  }

  /** Read a question that stands in a block; null of another one. It has no mechanism, no decoy and no rule of its own. */
  member(value, place) {
    if (!this.names.includes(value?.id)) return null;
    const at = ["questions", place];
    const named = value.kind;
    const kind = typeof named === "string" && Object.hasOwn(KINDS, named) && KINDS[named];
    if (named !== undefined && !kind) throw new SurveyError([...at, "kind"], "is not known");
    const own = ["mechanism", "channel", "after"].find((key) => Object.hasOwn(value, key));
    // A true answer must be one of the options that are shown.
    const wrong = own ?? (kind && (kind.several || !kind.choosesRows) && "kind");
    if (wrong) throw new SurveyError([...at, wrong], "is nothing for a question of a block");
    const fields = readFields(value, at, ["id", "kind", "text", ...(kind?.keys ?? [])], kind?.later ?? []);
    const { id } = fields;
    if (!/^[A-Za-z][A-Za-z0-9_]{0,63}$/.test(id)) throw new SurveyError([...at, "id"], "is not an id");
    const text = readText(fields.text, [...at, "text"], "text");
    const answers = Object.freeze(kind.read(fields, at));
    // Until all are read there is no word about a decoy, so that no rule takes a question that only some are asked.
    return { id, kind, text, answers, options: Object.freeze(answers.labels), after: null, decoy: undefined };
  }

  /** Give what a report has one value for; the members' channel is the block's, which must be what the epsilon gives. */
  compile(questions) {
    if (this.names.includes(this.anchor?.question)) throw new SurveyError(["anchor", "question"], "is not for all");
    this.blocks = this.outlines.map((one) => {
      const members = questions.slice(one.first, one.first + one.names.length);
      const block = new Block(one, members, blockChannel(one, members.map(({ options }) => options.length)));
      const { channel, mechanism } = block;
      members.forEach((member, place) => {
        questions[one.first + place] = Object.freeze({ ...member, decoy: null, mechanism, channel, block });
      });
      const taken = questions.findIndex(({ id }) => id === block.id);
      if (taken >= 0) throw new SurveyError(["questions", taken, "id"], "is what a block is called");
      return block;
    });
    const entries = questions.filter(({ block }, place) => !block || block.places[0] === place);
    return entries.map((one) => one.block ?? one);
  }

  /** Which questions of each block this device asks: drawn once, and kept by a memory unless told otherwise. */
  ranks(memory, keeps = true) {
    const key = `${memory.key}:drawn`;
    const kept = memory.drawn ?? attempt(() => JSON.parse(memory.storage().getItem(key)));
    const whole = Array.isArray(kept) && this.blocks.every((block) => block.holds(kept[block.number]));
    memory.drawn = whole ? kept : this.blocks.map((block) => block.draw());
    const lasts = !whole && keeps && !memory.survey.settings.kiosk;
    if (lasts) attempt(() => memory.storage().setItem(key, JSON.stringify(memory.drawn)));
    return memory.drawn;
  }

  /** Tell of every question, by its place, whether it is asked where these ranks were drawn. */
  asks(ranks) {
    const left = this.blocks.flatMap((block) => {
      const asked = block.asked(ranks[block.number]);
      return block.places.filter((place) => !asked.includes(place));
    });
    return (place) => !left.includes(place);
  }
}

function attempt(work) {
  try {
    return work();
  } catch {
    return null; // a private window may keep nothing
  }
}

function outline(value, number, ids, earlier) {
  const at = ["blocks", number];
  const fields = readFields(value, at, ["questions", "ask", "epsilon", "channel"]);
  const { questions: names, ask } = fields;
  const here = [...at, "questions"];
  if (!Array.isArray(names) || names.length < 2) throw new SurveyError(here, "a block needs at least two questions");
  names.forEach((name, place) => {
    const known = typeof name === "string" && ids.includes(name);
    if (!known) throw new SurveyError([...here, place], "is not a question of this survey");
    const taken = [...earlier, ...names.slice(0, place)].includes(name);
    if (taken) throw new SurveyError([...here, place], "stands in a block already");
  });
  const first = ids.indexOf(names[0]);
  const together = names.every((name, place) => ids[first + place] === name);
  if (!together) throw new SurveyError(here, "are not neighbours in the survey");
  if (first < ids.indexOf(earlier.at(-1))) throw new SurveyError(here, "come before those of an earlier block");
  const some = Number.isInteger(ask) && ask >= 1 && ask <= names.length;
  if (!some) throw new SurveyError([...at, "ask"], "is not a number of its questions");
  return { number, names, first, at, fields };
}

function blockChannel({ at, fields: { ask, epsilon, channel } }, sizes) {
  const part = (field, work) => named([...at, field], work);
  const odds = part("epsilon", () => expBelow(positive(epsilon)));
  const weight = (size) => Number(ceil(D << 64n, odds + (BigInt(size - 1) << 64n)));
  const made = part("ask", () => {
    const joint = jointSizes(sizes, ask);
    return FORMS.sampled.of(sizes, ask, joint.map((size) => [size, weight(size)]));
  });
  const published = part("channel", () => Channel.fromJson(channel));
  if (JSON.stringify(published.toJson()) !== JSON.stringify(made.toJson())) {
    throw new SurveyError([...at, "channel"], "is not the channel of this block", "do not answer; ask for a fresh link");
  }
  return made;
}

// An answer of a known share, Yes where none is named, for the analysis alone.
function checkAnchor(anchor, questions) {
  const at = ["anchor"];
  const { question, share, answer } = readFields(anchor, at, ["question", "share"], ["answer"]);
  const { kind, after, channel, options } = questions.find(({ id }) => id === question) ?? {};
  const fits = kind?.choosesRows && !kind.several && !after && channel.listed;
  if (!fits || !(kind.yesOrNo || answer)) throw new SurveyError([...at, "question"], "is not for all");
  const sound = kind.yesOrNo ? answer === undefined : options.includes(answer);
  if (!sound) throw new SurveyError([...at, "answer"], "is not an answer to name");
  const [top, bottom] = named([...at, "share"], () => readShare(share, "share"));
  if (BigInt(options.length) * top === bottom) throw new SurveyError([...at, "share"], "tells nothing");
}

// Names of groups, no two alike when read aloud; the twin of group.py. What small ones are put together under is taken.
function checkGroups(groups, questions) {
  const at = ["groups"];
  if (!Array.isArray(groups) || groups.length < 2 || groups.length > MOST_GROUPS) {
    throw new SurveyError(at, `must be a list of 2 to ${MOST_GROUPS} names`);
  }
  const met = new Set(["other"]);
  groups.forEach((name, place) => readText(name, [...at, place], "option"));
  groups.forEach((name, place) => {
    const spoken = name.normalize("NFC").toLowerCase().replace(/[\s\ufeff]+/g, "");
    if (met.has(spoken)) throw new SurveyError([...at, place], "appears twice, or is taken");
    met.add(spoken);
  });
  const taken = questions.findIndex(({ id }) => id === "group");
  if (taken >= 0) throw new SurveyError(["questions", taken, "id"], "is what the groups are called");
}

// What a link says after the hash: "g<group>", perhaps with ".<invitation>" behind, and the group for a query.
function groupOf(tail) {
  const [, group, code = null] = /^g(0|[1-9]\d?)(?:\.(.+)?)?$/.exec(tail) ?? [];
  return { group: group && Number(group), code, query: `?group=${group ?? ""}` };
}

// Which wave this is of what, for the analysis alone.
function checkSeries(series) {
  const at = ["series"];
  const { name, wave, previous } = readFields(series, at, ["name", "previous", "wave"]);
  readText(name, [...at, "name"], "title");
  if (!Number.isInteger(wave) || wave < 2 || wave > 1000) throw new SurveyError([...at, "wave"], "must be 2 to 1000");
  const named = typeof previous === "string" && /^[0-9a-f]{64}$/.test(previous);
  if (!named) throw new SurveyError([...at, "previous"], "is not a hash");
}

// Says where in the document an error is.
function named(at, work) {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof HushpollError)) throw error;
    throw new SurveyError(at, error.problem);
  }
}

function check({ anchor, groups, series }, questions) {
  if (anchor !== undefined) checkAnchor(anchor, questions);
  if (series !== undefined) checkSeries(series);
  if (groups === undefined) return {};
  checkGroups(groups, questions);
  return { groups, groupOf };
}

EXTRAS.block = { blocks: (fields, listed) => new Blocks(fields, listed), check };
