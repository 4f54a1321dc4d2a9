// The whole explanation: what is sent of each question, who could learn what, what is stored, and how to check that.
// Loaded after the first view is painted, so that it opens offline too.

import { picture } from "./examples.js";
import {
  deletion, el, epsilonAtMost, explain, factorAtMost, isOpen, list, msg, numbered, numbersOf, page, paragraphs, style, warned,
} from "./explain.js";

// Rules that only this module's elements need.
style(`
table {
  width: 100%;
  border-collapse: collapse;
  font-size: 0.95rem;
  margin-block-end: 0.75rem;
}

th,
td {
  text-align: start;
  vertical-align: top;
  padding-block: 0.5rem;
  padding-inline: 0 0.75rem;
  border-block-end: 1px solid var(--hush-line);
  font-weight: 400;
}

thead th {
  font-size: 0.8rem;
  font-weight: 600;
  color: var(--hush-muted);
}

td {
  font-weight: 600;
}

/* Large text on a phone. */
@media (max-width: 18rem) {
  th,
  td {
    hyphens: auto;
    overflow-wrap: anywhere;
    padding-inline-end: 0.35rem;
  }
}

.scripts {
  padding: 0;
  list-style: none;
  font-size: 0.85rem;
}
`);

/** The elements of the whole explanation. */
export function why(survey, inFragment) {
  return [
    ...oddsCards(survey),
    whoTable(survey),
    section(
      "stored_heading",
      el("p", {}, msg("stored")),
      el("p", {}, msg(shows(survey) ? "not_stored_weak" : "not_stored")),
      survey.settings.invitation && el("p", {}, msg("stored_invitation")),
      deletion(),
      el("p", {}, msg("withdraw")),
    ),
    el("p", { class: "small" }, msg(inFragment ? "know_link" : "know_no_link", { start: survey.hash.slice(0, 8) })),
    howWeKnow(survey),
    el("p", {}, el("a", { href: page.help, target: "_blank", rel: "noreferrer" }, msg("help_page"))),
  ];
}

// Whether what is stored can be as good as what was chosen.
const shows = ({ assurance: { tier, oneSided } }) => oneSided || tier === "weak";

const section = (heading, ...children) => el("section", {}, el("h2", {}, msg(heading)), ...children);

// Questions with the same sentences share one card.
function oddsCards(survey) {
  const cards = new Map();
  for (const question of survey.questions) {
    const about = explain(question);
    const key = JSON.stringify([about, !about.sides && question.channel]);
    if (!cards.has(key)) cards.set(key, { about, questions: [] });
    cards.get(key).questions.push(question);
  }
  return [...cards.values()].map(({ about, questions }) =>
    el(
      "section",
      { class: "card" },
      survey.questions.length > 1 && el("h2", { class: "eyebrow" }, numbered(survey, questions)),
      picture(questions[0]),
      el("div", {}, ...paragraphs(about), warned(about)),
    ),
  );
}

function whoTable(survey) {
  const { tier, oneSided } = survey.assurance;
  const mixed = tier === "weak" ? "only_mixed_weak" : oneSided ? "only_mixed_open" : { strong: "only_mixed", fair: "only_mixed_fair" }[tier];
  const decoy = survey.questions.some(({ mechanism }) => mechanism.knownDecoyTells);
  const rows = [
    ["who_owner", mixed],
    ["who_thief", mixed],
    ["who_court", mixed],
    ...(decoy ? [["who_decoy", "maybe_own"]] : []),
    ["who_code", "yes_code"],
    ["who_device", "yes_own"],
    ["who_network", "yes_part"],
  ];
  return section("who_heading", table(["who", "what"], rows.map(([who, what]) => [msg(who), msg(what)])));
}

function howWeKnow(survey) {
  const { ratio, questions, entries } = survey;
  const open = questions.filter(isOpen);
  const total = open.length === 0 ? "know_epsilon" : open.length < questions.length ? "know_open" : "know_only_open";
  const values = { epsilon: epsilonAtMost(ratio), factor: factorAtMost(ratio), list: list(open.map((question) => numbered(survey, [question]))) };
  const rows = entries.map((entry) => [range(numbersOf(survey, [entry])), entry.mechanism.name, epsilonOf(entry)]);
  const scripts = [...document.querySelectorAll("link[integrity]")].filter((link, at, all) => at === all.findIndex(({ href }) => href === link.href));
  return el(
    "details",
    {},
    el("summary", {}, msg("know_heading")),
    el("p", {}, msg(total, values)),
    table(["question_word", "method", "epsilon"], rows),
    el("p", {}, msg("know_hash"), " ", code(survey.hash)),
    el("p", {}, msg("know_scripts")),
    el("ul", { class: "scripts", dir: "ltr" }, ...scripts.map((script) => el("li", {}, name(script), " ", code(digest(script))))),
    el("p", {}, msg("know_other")),
    page.paper && el("p", {}, el("a", { href: page.paper }, msg("paper"))),
  );
}

const range = (numbers) => [...new Set([numbers[0], numbers.at(-1)])].join("–");

const name = ({ href }) => href.split("/").slice(-2).join("/");

// In the spelling of sha256sum.
function digest({ integrity }) {
  const bytes = Array.from(atob(integrity.split("-")[1]), (sign) => sign.charCodeAt(0));
  return bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function epsilonOf({ channel, mechanism: { analysis, hasDecoy } }) {
  const epsilon = channel.ratio && epsilonAtMost(channel.ratio);
  const conditional = hasDecoy && analysis.ratio && epsilonAtMost(analysis.ratio);
  if (!conditional) return epsilon ?? msg("unbounded");
  return epsilon ? msg("conditional_too", { epsilon, conditional }) : msg("conditional", { epsilon: conditional });
}

const code = (text) => el("code", { dir: "ltr" }, text);

function table(headings, rows) {
  const head = el("tr", {}, ...headings.map((key) => el("th", { scope: "col" }, msg(key))));
  const body = rows.map(([first, ...cells]) =>
    el("tr", {}, el("th", { scope: "row" }, first), ...cells.map((cell) => el("td", {}, cell))),
  );
  return el("table", {}, el("thead", {}, head), el("tbody", {}, ...body));
}
