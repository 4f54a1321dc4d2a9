// Blocks: questions of which each person is asked some, drawn by an open coin, and whose answers are sent jointly. The
// twin of survey/block.py.

import { Channel, count, draw, FORMS, HushpollError, ReportError, SCALE, SurveyError, systemSource } from "./channel.js";
import { below, jointSizes } from "./extra_channels.js";
import { KIND, KINDS, readFields, readText } from "./kind.js";
import { ceil, D, expBelow, MECHANISM, positiveEpsilon } from "./mechanism.js";
import { EXTRAS } from "./survey.js";

const SHARED = { name: "block", reportsAnswers: false };

/** One value of the report, in place of the first of its questions; `indices` are theirs in the survey. */
class Block {
  kind = KIND;

  constructor({ number, first }, questions, channel) {
    const indices = questions.map((_, member) => first + member);
    const mechanism = Object.freeze({ ...SHARED, __proto__: MECHANISM, device: channel, analysis: channel });
    Object.assign(this, { number, id: `block${number + 1}`, indices, questions, channel, mechanism });
    Object.freeze(this);
  }

  /** Draw which questions are asked: a rank, for all to see. */
  draw(source = systemSource) {
    return below(this.channel.ranks, () => draw(source));
  }

  holds(rank) {
    return Number.isInteger(rank) && rank >= 0 && rank < this.channel.ranks;
  }

  /** The indices in the survey of the questions asked at a rank. */
  questionsAt(rank) {
    return this.channel.members(rank).map((member) => this.indices[member]);
  }

  /** Check the members' answers before anything is drawn; what was not asked may be null. */
  trueAnswers(answers, ranks) {
    const asked = ranks ? this.questionsAt(ranks[this.number]) : this.indices;
    return this.questions.map(({ id, answers: possible, options }, member) => {
      const answer = answers[this.indices[member]];
      if (!asked.includes(this.indices[member])) return 0;
      if (!possible.fits(answer, options.length)) throw new ReportError(`question "${id}" has no answer`);
      return answer;
    });
  }

  randomize(answers, next, ranks) {
    return this.channel.pickAt(ranks ? ranks[this.number] : below(this.channel.ranks, next), answers, next);
  }

  /** The chances that an answer to a question that is asked is sent: if it is true, and if one other answer is. */
  kept({ id }) {
    const member = this.questions.findIndex((question) => question.id === id);
    const others = this.channel.sizes.filter((_, index) => index !== member);
    const size = this.channel.sizes[member];
    const weights = new Map(this.channel.weights);
    // In how many ways the other questions are drawn, by their number and the product of their sizes.
    const ways = count(this.channel.ask).map((n) => new Map(n ? [] : [[1, 1]]));
    for (const other of others) {
      for (let n = ways.length - 1; n > 0; n--) {
        for (const [product, times] of ways[n - 1]) ways[n].set(product * other, (ways[n].get(product * other) ?? 0) + times);
      }
    }
    const drawn = [...ways.at(-1)];
    const total = drawn.reduce((sum, [, times]) => sum + times, 0);
    const weight = ([product, times]) => (times / total) * product * weights.get(product * size);
    const share = drawn.reduce((sum, way) => sum + weight(way), 0) / SCALE;
    return [1 - (size - 1) * share, share];
  }

  /** The reported answer to each question that was asked, in their order. */
  answerLabels(report, labels) {
    const { members, answers } = this.channel.contents(report);
    return members.map((member, at) => labels(this.questions[member])[answers[at]]);
  }
}

/** All blocks of a survey, as its document outlines them. */
class Blocks {
  blocks = [];

  constructor(value, listed) {
    if (!Array.isArray(value)) throw new SurveyError(["blocks"], "must be a list");
    const ids = listed.map((question) => question?.id);
    this.outlines = [];
    value.forEach((block, number) => {
      const earlier = this.outlines.flatMap(({ names }) => names);
      this.outlines.push(outline(block, number, ids, earlier));
    });
    this.names = this.outlines.flatMap(({ names }) => names);
  }

  /** The questions of the block that begins at a place of the survey; null at the place of a question outside blocks. */
  read(listed, index) {
    const id = listed[index]?.id;
    if (!this.names.includes(id)) return null;
    const outlined = this.outlines.find(({ first }) => first === index);
    if (!outlined) {
      readWording(listed[index], index);
      throw new SurveyError(["questions", index, "id"], "is used twice");
    }
    const wordings = outlined.names.map((_, member) => readWording(listed[index + member], index + member));
    const block = new Block(outlined, wordings, blockChannel(outlined, wordings.map(({ options }) => options.length)));
    this.blocks.push(block);
    const { channel, mechanism } = block;
    return wordings.map((wording) => Object.freeze({ ...wording, mechanism, channel, block }));
  }

  /** What a report has one value for: each question outside blocks, and each block in place of its first question. */
  entries(questions) {
    const clash = questions.findIndex(({ id }) => this.blocks.some((block) => block.id === id));
    if (clash >= 0) throw new SurveyError(["questions", clash, "id"], "is what a block is called");
    const first = questions.filter(({ block }, index) => !block || block.indices[0] === index);
    return first.map((question) => question.block ?? question);
  }

  /** Which questions of each block this device asks: drawn once, and stored unless `keeps` is false. */
  ranks(memory, keeps = true) {
    const key = `${memory.key}:drawn`;
    const stored = memory.ranks ?? attempt(() => JSON.parse(memory.storage().getItem(key)));
    const valid = Array.isArray(stored) && this.blocks.every((block) => block.holds(stored[block.number]));
    memory.ranks = valid ? stored : this.blocks.map((block) => block.draw());
    const lasts = !valid && keeps && !memory.survey.settings.kiosk;
    if (lasts) attempt(() => memory.storage().setItem(key, JSON.stringify(memory.ranks)));
    return memory.ranks;
  }

  /** A function from a question's place to whether it is asked when these ranks were drawn. */
  asks(ranks) {
    const omitted = this.blocks.flatMap((block) => {
      const drawn = block.questionsAt(ranks[block.number]);
      return block.indices.filter((index) => !drawn.includes(index));
    });
    return (index) => !omitted.includes(index);
  }
}

// What a question of a block asks: its mechanism follows from the block, and it has no decoy and no rule of its own.
function readWording(value, index) {
  const at = ["questions", index];
  const name = value.kind;
  const kind = typeof name === "string" && Object.hasOwn(KINDS, name) && KINDS[name];
  if (name !== undefined && !kind) throw new SurveyError([...at, "kind"], "is not known");
  const outside = ["mechanism", "channel", "after"].find((key) => Object.hasOwn(value, key));
  // A true answer must be one of the options that are shown.
  const wrong = outside ?? (kind && !kind.inBlocks && "kind");
  if (wrong) throw new SurveyError([...at, wrong], "is nothing for a question of a block");
  const fields = readFields(value, at, ["id", "kind", "text", ...(kind?.keys ?? [])], kind?.optionalKeys ?? []);
  const { id } = fields;
  if (!/^[A-Za-z][A-Za-z0-9_]{0,63}$/.test(id)) throw new SurveyError([...at, "id"], "is not an id");
  const text = readText(fields.text, [...at, "text"], "text");
  const answers = Object.freeze(kind.read(fields, at));
  const options = Object.freeze(answers.labels);
  return Object.freeze({ id, kind, text, answers, options, after: null, decoy: null });
}

function attempt(work) {
  try {
    return work();
  } catch {
    return null; // a private window may store nothing
  }
}

function outline(value, number, ids, earlier) {
  const at = ["blocks", number];
  const fields = readFields(value, at, ["questions", "ask", "epsilon", "channel"]);
  const { questions: names, ask } = fields;
  const here = [...at, "questions"];
  if (!Array.isArray(names) || names.length < 2) throw new SurveyError(here, "a block needs at least two questions");
  names.forEach((name, index) => {
    const isKnown = typeof name === "string" && ids.includes(name);
    if (!isKnown) throw new SurveyError([...here, index], "is not a question of this survey");
    const clash = [...earlier, ...names.slice(0, index)].includes(name);
    if (clash) throw new SurveyError([...here, index], "stands in a block already");
  });
  const first = ids.indexOf(names[0]);
  const together = names.every((name, index) => ids[first + index] === name);
  if (!together) throw new SurveyError(here, "are not neighbours in the survey");
  if (first < ids.indexOf(earlier.at(-1))) throw new SurveyError(here, "come before those of an earlier block");
  const some = Number.isInteger(ask) && ask >= 1 && ask <= names.length;
  if (!some) throw new SurveyError([...at, "ask"], "is not a number of its questions");
  return { number, names, first, at, fields };
}

function blockChannel({ at, fields: { ask, epsilon, channel } }, sizes) {
  const inField = (field, work) => atPath([...at, field], work);
  const odds = inField("epsilon", () => expBelow(positiveEpsilon(epsilon)));
  const weight = (size) => Number(ceil(D << 64n, odds + (BigInt(size - 1) << 64n)));
  const computed = inField("ask", () => {
    const joint = jointSizes(sizes, ask);
    return FORMS.sampled.of(sizes, ask, joint.map((size) => [size, weight(size)]));
  });
  const published = inField("channel", () => Channel.fromJson(channel));
  if (JSON.stringify(published.toJson()) !== JSON.stringify(computed.toJson())) {
    throw new SurveyError([...at, "channel"], "is not the channel of this block", "do not answer; ask for a fresh link");
  }
  return computed;
}

// Names the place in the document where an error is.
function atPath(at, work) {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof HushpollError)) throw error;
    throw new SurveyError(at, error.problem);
  }
}

EXTRAS.block = { blocks: ({ blocks }, listed) => new Blocks(blocks, listed), check: () => ({}) };
