// What the respondent is told: what happens to an answer, in whole numbers out of 100, computed from the verified
// channels and nothing else; and the words and elements that the page is made of. Text only, never HTML.

import { count } from "../client/channel.js";
import { expBelow } from "../client/mechanism.js";

const FEW = 5; // options of a set that are named one by one

export const page = JSON.parse(document.getElementById("page-data").textContent);
export const language = document.documentElement.lang;
const announcer = document.getElementById("announcer");

export function say(key, values = {}) {
  return page.strings[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

/** An element with attributes and children; strings become text, null and false are left out. */
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if ((value ?? false) !== false) element.setAttribute(key, value);
  }
  element.append(...children.filter(Boolean));
  return element;
}

/** Say something to those who do not see the screen. */
export function announce(text) {
  announcer.textContent = text;
}

export const section = (heading, ...children) => el("section", {}, el("h2", {}, say(heading)), ...children);

/** Sentences about one question, the one-sided truth set apart; `brief` is for beside the question. */
export function paragraphs({ how, odds, so, assumes, skip, warnings }, brief = false) {
  const lines = brief ? [how, odds.join(" "), skip] : [how, odds.join(" "), so, assumes, skip];
  return [
    ...lines.filter(Boolean).map((line) => el("p", {}, line)),
    warnings.length && el("p", { class: "warning" }, warnings.join(" ")),
  ];
}

/** Explain one question in sentences, or lists of them (odds, warnings), and say what the icon array shows. */
export function explain(question) {
  const { mechanism, channel, after } = question;
  const labels = rowLabels(question).map(isolated);
  const recorded = channel.listed ? count(channel.outcomes).map((report) => isolated(reportLabel(question, report))) : [];
  // With a decoy, over the share of people who say Yes to it.
  const chance = (x, z) => mechanism.analysis.probability(x, z);
  const about = { mechanism, labels, recorded, chance };
  const two = labels.length === 2 && recorded.length === 2;
  const { sends } = channel;
  const how = sends && say(`sends_${sends.what}`, { n: whole(sends.n), total: whole(channel.options) });
  const odds = anyAnswer(question) ? { odds: [anyAnswer(question)] } : two ? twoOptions(about) : moreOptions(about);
  const skip = after && [say("skip", { skipped: say("skip_label") }), channel.ratio && say("skip_so")].filter(Boolean).join(" ");
  return { how, ...odds, ...decoy(about), skip, warnings: warnings(about) };
}

/** The options as the respondent reads them. */
export function optionLabels({ kind, options }) {
  return kind.fixedWords ? [say("no"), say("yes")] : options;
}

// All true answers that a report may come from.
const rowLabels = (question) => [...optionLabels(question), ...(question.after ? [say("skip_label")] : [])];

/** What a report stands for: an answer, a set of options, a word about two answers, or nothing but itself. */
export function reportLabel(question, report) {
  const { mechanism, channel } = question;
  if (mechanism.reportsAreAnswers) return rowLabels(question)[report];
  const { set, asked, answers, item } = channel.told(report);
  const names = (indices) => list(indices.map((index) => isolated(rowLabels(question)[index])));
  if (set) return say(set.length > FEW ? "told_set" : "told_few", { n: whole(set.length), total: whole(channel.options), list: names(set) });
  if (asked) return say("told_asked", { list: names(asked), ticked: names(asked.filter((_, place) => answers[place])) || "–" });
  if (item !== undefined) return item === null ? say("told_dummy") : names([item]);
  return page.strings[`report_${mechanism.combine}_${report}`] ?? String(report);
}

/** What can be said of a report that stands for nothing but itself. */
export function anyAnswer({ kind, mechanism, channel }) {
  if ((mechanism.reportsAreAnswers && kind.choosesRows) || mechanism.hasDecoy) return null;
  return channel.ratio && say("any_answer", { n: factorAtMost(channel.ratio) });
}

/** A designer's words inside a sentence: set apart where they run the other way. */
export function isolated(text) {
  const rightToLeft = /[\u0590-\u08ff\ufb1d-\ufefc]/.test(text);
  return rightToLeft === (document.documentElement.dir === "rtl") ? text : `\u2068${text}\u2069`;
}

export const isOpen = ({ channel }) => channel.ratio === null;

/** A 10 by 10 array of people, grouped: the kept ones first, since scattered ones look like more. */
export function iconArray(kept) {
  const svg = svgElement("svg", { viewBox: "0 0 100 100", class: "icons", "aria-hidden": "true" });
  for (let i = 0; i < 100; i++) {
    const [cx, cy] = [5 + 10 * (i % 10), 5 + 10 * Math.floor(i / 10)];
    svg.append(svgElement("circle", { cx, cy, r: i < kept ? 3.9 : 3.2, class: i < kept ? "kept" : "other" }));
  }
  return svg;
}

// The sections of the first view

// Questions with the same sentences share one card.
export function oddsCards(survey) {
  const explained = survey.questions.map(explain);
  const cards = new Map();
  explained.forEach((about, index) => {
    const key = JSON.stringify(about);
    if (!cards.has(key)) cards.set(key, { about, numbers: [] });
    cards.get(key).numbers.push(index + 1);
  });
  return [...cards.values()].map(({ about, numbers }) =>
    el(
      "section",
      { class: "card odds" },
      explained.length > 1 && el("h2", { class: "eyebrow" }, numbered(numbers)),
      about.icons && el("figure", {}, iconArray(about.icons.kept), el("figcaption", {}, about.icons.caption)),
      el("div", {}, ...paragraphs(about)),
    ),
  );
}

export function numbered(numbers) {
  return numbers.length === 1 ? say("question", { n: numbers[0] }) : say("questions", { list: list(numbers.map(String)) });
}

export function whoTable(survey) {
  const open = survey.questions.some(isOpen);
  const mixed = open ? "only_mixed_open" : "only_mixed";
  const decoy = survey.questions.some(({ mechanism }) => mechanism.knownDecoyTells);
  const rows = [
    ["who_owner", mixed],
    ["who_thief", mixed],
    ["who_court", mixed],
    ...(decoy ? [["who_decoy", "maybe_own"]] : []),
    ["who_device", "yes_own"],
  ];
  return section("who_heading", table(["who", "what"], rows.map(([who, what]) => [say(who), say(what)])));
}

export function howWeKnow(survey, linked) {
  const { ratio, questions } = survey;
  const open = questions.flatMap((question, index) => (isOpen(question) ? [index + 1] : []));
  const total = open.length === 0 ? "know_epsilon" : open.length < questions.length ? "know_open" : "know_only_open";
  const values = { epsilon: epsilonAtMost(ratio), factor: factorAtMost(ratio), list: list(open.map((n) => numbered([n]))) };
  const rows = questions.map((question, index) => [String(index + 1), question.mechanism.name, epsilonOf(question)]);
  const scripts = [...document.querySelectorAll("[integrity]")];
  return el(
    "details",
    {},
    el("summary", {}, say("know_heading")),
    el("p", {}, say(total, values)),
    table(["question_word", "method", "epsilon"], rows),
    el("p", {}, say("know_hash"), " ", code(survey.hash), " ", say(linked ? "know_link" : "know_no_link")),
    el("p", {}, say("know_scripts")),
    el("ul", { class: "scripts", dir: "ltr" }, ...scripts.map((script) => el("li", {}, name(script), " ", code(digest(script))))),
    el("p", {}, say("know_other")),
    page.paper && el("p", {}, el("a", { href: page.paper }, say("paper"))),
  );
}

const name = (script) => (script.href || script.src).split("/static/")[1];

// In the spelling of sha256sum.
function digest({ integrity }) {
  const bytes = Array.from(atob(integrity.split("-")[1]), (sign) => sign.charCodeAt(0));
  return bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function epsilonOf({ channel, mechanism: { analysis, hasDecoy } }) {
  const epsilon = channel.ratio && epsilonAtMost(channel.ratio);
  const conditional = hasDecoy && analysis.ratio && epsilonAtMost(analysis.ratio);
  if (!conditional) return epsilon ?? say("unbounded");
  return epsilon ? say("conditional_too", { epsilon, conditional }) : say("conditional", { epsilon: conditional });
}

// Bounds: "at most" is rounded up to three digits in exact integers, so that no bound is printed below its value.

export function factorAtMost([top, bottom]) {
  const size = 10n ** BigInt(String(top / bottom).length);
  const digits = (1000n * top + bottom * size - 1n) / (bottom * size);
  return number(Number(digits * size) / 1000);
}

export function epsilonAtMost([top, bottom]) {
  const near = Math.log1p(Number(((top - bottom) << 64n) / bottom) / 2 ** 64);
  const scale = near && 10 ** (2 - Math.floor(Math.log10(near)));
  let digits = Math.ceil(near * scale - 1e-6);
  while (top << 64n > bottom * expBelow([BigInt(digits), BigInt(scale || 1)])) digits++;
  return number(scale && digits / scale);
}

// Odds

function twoOptions({ mechanism, labels, recorded, chance }) {
  // Tell about the report that everybody can give.
  const z = chance(0, 1) > 0 ? 1 : 0;
  const other = 1 - z;
  const odds = [oddsLine(labels[z], recorded[z], chance(z, z)), oddsLine(labels[other], recorded[z], chance(other, z))];
  const so = mechanism.reportsAreAnswers && say("so_not", { option: labels[z] });
  // Where one side is certain, the picture is about the other one.
  const shown = chance(z, z) === 1 ? other : z;
  const kept = percent(chance(shown, z));
  const values = { chosen: labels[shown], n: kept, recorded: recorded[z], rest: 100 - kept, other: recorded[other] };
  return { odds, so, icons: { kept, caption: say("icons", values) } };
}

function moreOptions({ mechanism, labels, chance }) {
  if (mechanism.analysis.evenly) {
    const n = percent(chance(0, 0));
    const odds = [say("odds_any", { n, rest: 100 - n, others: whole(labels.length - 1) })];
    return { odds, so: say("so_any"), icons: { kept: n, caption: say("icons_any", { n, rest: 100 - n }) } };
  }
  const kept = labels.map((_, x) => 100 * chance(x, x));
  const range = say("odds_range", { low: Math.floor(Math.min(...kept)), high: Math.ceil(Math.max(...kept)) });
  const each = labels.map((label, x) => oddsLine(label, label, chance(x, x)));
  return { odds: labels.length <= 5 ? each : [range], so: say("so_any"), icons: null };
}

function decoy({ mechanism: { hasDecoy, combine, parameters }, labels: [no, yes] }) {
  if (!hasDecoy) return {};
  const { truth = "1", decoy_share: share, decoy_counts: counts, epsilon } = parameters;
  const how = say(`how_${combine}`, { yes, no, n: percent(fraction(truth)) }) + (epsilon ? ` ${say("then_mixed")}` : "");
  return { how, assumes: say("decoy_assumes", { n: percent(fraction(share ?? counts.join("/"))), yes }) };
}

// A report that some true answer can never give rules that answer out: the respondent must know.
function warnings({ mechanism, labels, recorded }) {
  const lines = mechanism.facts.flatMap(({ report, leaves, decoy }) => {
    const [option] = leaves.map((x) => labels[x]);
    const own = leaves.length === 1 && recorded[report] === option;
    const values = { recorded: recorded[report], options: any(leaves.map((x) => labels[x])) };
    return [own ? say("reveals", { option }) : say("reveals_other", values), decoy !== null && say("reveals_both", { no: option })];
  });
  return [...lines, mechanism.knownDecoyTells && say("decoy_known")].filter(Boolean);
}

function oddsLine(chosen, recorded, share) {
  const n = Math.round(100 * share);
  const edge = { 0: share === 0 ? "odds_none" : "odds_nearly_none", 100: share === 1 ? "odds_all" : "odds_nearly_all" };
  return say(edge[n] ?? "odds_about", { chosen, recorded, n });
}

// Never 0 or 100 for what is neither.
function percent(share) {
  if (share === 0 || share === 1) return 100 * share;
  return Math.min(99, Math.max(1, Math.round(100 * share)));
}

// "3/4" and "0.75" are the two published spellings of a share.
function fraction(text) {
  const [top, bottom = 1] = text.split("/");
  return top / bottom;
}

const any = (labels) => new Intl.ListFormat(language, { type: "disjunction" }).format(labels);

export const list = (items) => new Intl.ListFormat(language).format(items);

// Western digits everywhere, as in the sentences; the decimal mark is the language's.
const number = (value) => new Intl.NumberFormat(language, { numberingSystem: "latn", maximumSignificantDigits: 3 }).format(value);

export const whole = (value) => new Intl.NumberFormat(language, { numberingSystem: "latn" }).format(value);

const code = (text) => el("code", { dir: "ltr" }, text);

function table(headings, rows) {
  const head = el("tr", {}, ...headings.map((key) => el("th", { scope: "col" }, say(key))));
  const body = rows.map(([first, ...cells]) =>
    el("tr", {}, el("th", { scope: "row" }, first), ...cells.map((cell) => el("td", {}, cell))),
  );
  return el("table", {}, el("thead", {}, head), el("tbody", {}, ...body));
}

function svgElement(name, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}
