// Pictures of what is sent for every kind of question, and "Try it": reports of example answers, drawn for show. Nothing
// here reads what a person has chosen, stores anything or sends anything. Loaded after the first view is painted.

import { count, draw } from "../client/channel.js";
import { randomizeAnswer } from "../client/report.js";
import {
  anyAnswer, designer, el, explain, formatted, isolated, list, msg, oddsLine, optionLabels, pair, percent, reportLabel, style,
  svgElement, textOf,
} from "./explain.js";

// Rules that only this module's elements need.
style(`
.bars {
  display: block;
  width: 100%;
}

.bars rect {
  fill: var(--hush-accent);
}

.bars text {
  font: 7px var(--hush-sans);
  fill: var(--hush-muted);
  text-anchor: middle;
}

.trial {
  margin-block: 0.5rem 1rem;
  padding: 0.9rem;
  border: 1px dashed var(--hush-field-line);
  border-radius: 0.55rem;
  color: var(--hush-ink);
}

.trial > :last-child {
  margin-block-end: 0;
}

.examples,
.draws {
  display: flex;
  flex-wrap: wrap;
  gap: 0.4rem;
  margin: 0 0 0.75rem;
  padding: 0;
  list-style: none;
}

.examples button {
  padding: 0.4rem 1rem;
  overflow-wrap: anywhere;
}

.examples [aria-pressed="true"] {
  background: var(--hush-accent-soft);
  border-color: var(--hush-accent);
  box-shadow: inset 0 0 0 1px var(--hush-accent);
}

.draws li {
  padding: 0.15rem 0.6rem;
  border: 1px solid var(--hush-warm);
  border-radius: 0.55rem;
  overflow-wrap: anywhere;
}

.draws .same {
  background: var(--hush-accent);
  border-color: var(--hush-accent);
  color: var(--hush-on-accent);
}

@media (prefers-reduced-motion: no-preference) {
  .draws li {
    animation: arrive 0.25s backwards;
    animation-delay: calc(0.12s * var(--turn));
  }

  @keyframes arrive {
    from {
      opacity: 0;
      translate: 0 -0.4rem;
    }
  }
}
`);

const DRAWS = 10;
const FEW_BARS = 12; // each has a label
const GROUPS = 5; // of codes
const MOST_EXAMPLES = 11;

/** The picture of a question: what is sent by two groups of 100 people who choose different answers. */
export function picture(question) {
  const { channel, block } = question;
  const { sides } = explain(question);
  if (sides) return pair(sides);
  if (block) return keptInBlock(question);
  if (!channel.inclusion) return histograms(question);
  return pair(channel.inclusion.map((chance, at) => [percent(chance), msg(at ? "in_other" : "in_chosen", { n: percent(chance) })]));
}

// Once the question is asked.
function keptInBlock(question) {
  const [first, second] = optionLabels(question).map(isolated);
  const chances = question.block.kept(question);
  return pair([first, second].map((chosen, at) => [percent(chances[at]), oddsLine(chosen, first, chances[at])]));
}

// What is sent for the lowest and for the highest answer.
function histograms(question) {
  const { channel, mechanism } = question;
  const names = optionLabels(question).map(isolated);
  const ends = [names[0], names.at(-1)];
  const reports = count(channel.outcomes);
  const chances = [0, names.length - 1].map((answer) => reports.map((report) => 100 * channel.probability(answer, report)));
  const codes = mechanism.reportsAreAnswers ? names : [];
  const rows = codes.length ? chances : leaning(chances);
  const top = Math.max(...rows.flat());
  const figures = rows.map((row, at) => {
    const label = list(row.map((n, report) => `${codes[report] ?? ""} ${formatted(Math.round(n))}`.trim()));
    return el("figure", {}, bars(row, codes, top, label), el("figcaption", {}, msg("bars", { chosen: ends[at] })));
  });
  const legend = !codes.length && el("p", { class: "small" }, msg("bars_codes", { low: ends[0], high: ends[1] }));
  return el("div", {}, el("div", { class: "pair" }, ...figures), legend);
}

// Codes have no order of their own: in groups, from those that the first answer sends more often to those of the last one.
function leaning([low, high]) {
  const codes = count(low.length).filter((code) => low[code] + high[code] > 0);
  const share = (code) => high[code] / (low[code] + high[code]);
  const [least, most] = [Math.min(...codes.map(share)), Math.max(...codes.map(share))];
  const groups = count(GROUPS).map(() => []);
  for (const code of codes) groups[Math.min(GROUPS - 1, Math.floor((GROUPS * (share(code) - least)) / (most - least)))].push(code);
  const filled = groups.filter((group) => group.length);
  return [low, high].map((row) => filled.map((group) => group.reduce((sum, code) => sum + row[code], 0)));
}

function bars(row, codes, top, label) {
  const width = 120 / row.length;
  const svg = svgElement("svg", { viewBox: "0 0 120 70", class: "bars", role: "img", "aria-label": label });
  const write = (text, x, y) => (svg.appendChild(svgElement("text", { x, y })).textContent = text);
  row.forEach((n, report) => {
    const height = (48 * n) / top;
    const x = report * width;
    svg.append(svgElement("rect", { x: x + width / 10, y: 58 - height, width: 0.8 * width, height, rx: 1 }));
    const isEnd = report === 0 || report === row.length - 1;
    if (row.length <= FEW_BARS) write(String(Math.round(n)), x + width / 2, 56 - height);
    if ((row.length <= FEW_BARS || isEnd) && codes[report]?.length <= 4) write(codes[report], x + width / 2, 67);
  });
  return svg;
}

/** "Try it": a button that opens example answers, of which ten reports are drawn for show. */
export function tryIt(question, named = false) {
  const panel = el("div", { class: "trial", hidden: "" });
  const opener = el("button", { type: "button", class: "quiet plain", "aria-expanded": "false" }, msg("try"));
  opener.addEventListener("click", () => {
    if (panel.hidden) panel.replaceChildren(...trial(question, named));
    panel.hidden = !panel.hidden;
    opener.setAttribute("aria-expanded", String(!panel.hidden));
  });
  return el("div", {}, opener, panel);
}

function trial(question, named) {
  const drawn = el("div", { role: "status" });
  const buttons = examplesOf(question).map(({ label, send }) => {
    const button = el("button", { type: "button", class: "quiet", "aria-pressed": "false" }, label);
    button.addEventListener("click", () => {
      for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
      drawn.replaceChildren(...tenOf(question, label, send));
    });
    return button;
  });
  return [
    el("p", {}, msg("try_note")),
    named && el("p", { ...designer }, textOf(question, "text")),
    el("p", {}, msg("try_choose")),
    el("div", { class: "examples" }, ...buttons),
    drawn,
  ].filter(Boolean);
}

function tenOf(question, label, send) {
  const codes = !question.block && question.channel.listed && anyAnswer(question);
  const chips = count(DRAWS).map((turn) => {
    const text = send();
    const chip = el("li", { dir: "auto", class: !codes && text === label && "same" }, text);
    chip.style.setProperty("--turn", turn);
    return chip;
  });
  return [el("p", {}, msg(codes ? "try_codes" : "try_sent")), el("ol", { class: "draws" }, ...chips)];
}

// Example answers: a label, and a function that draws a report and returns what it says.
function examplesOf(question) {
  const { answers, block, channel, mechanism } = question;
  const labels = optionLabels(question);
  const next = () => draw();
  const told = (report) => (channel.listed && anyAnswer(question) ? String(report) : plain(reportLabel(question, report)));
  const example = (label, trueAnswer) => ({ label, send: () => told(randomizeAnswer(question, trueAnswer, next)) });
  if (block) return labels.map((label, answer) => ({ label, send: () => labels[fromBlock(question, answer, next)] }));
  if (mechanism.hasDecoy) {
    const [no, yes] = labels;
    return [[1, 1], [1, 0], [0, 1], [0, 0]].map((pair) => {
      const [first, second] = pair.map((answer) => (answer ? yes : no));
      return example(msg("try_both", { first, second }), mechanism.deviceAnswer(...pair));
    });
  }
  if (question.kind.several) {
    const sets = [[], [0], [0, 1]].filter((set) => set.length <= (answers.atMost ?? labels.length));
    return sets.map((set) => example(set.length ? plain(list(set.map((index) => labels[index]))) : msg("ticks_none"), set));
  }
  if (answers.spell) return [0, Math.floor(answers.steps / 2), answers.steps].map((steps) => example(answers.spell(steps), steps));
  return labels.slice(0, MOST_EXAMPLES).map((label, answer) => example(label, answer));
}

const plain = (text) => text.replace(/[\u2068\u2069]/g, "");

// What is sent of one question of a block; its other questions have their first answer.
function fromBlock({ block, id }, answer, next) {
  const member = block.questions.findIndex((question) => question.id === id);
  const answers = block.questions.map((_, index) => (index === member ? answer : 0));
  for (;;) {
    const { members, answers: sent } = block.channel.contents(block.channel.pick(answers, next));
    if (members.includes(member)) return sent[members.indexOf(member)];
  }
}
