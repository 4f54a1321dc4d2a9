// What the respondent is told: what happens to an answer, in whole numbers out of 100, computed from the verified
// channels and nothing else; and the words and elements that the page is made of. Text only, never HTML.

const page = JSON.parse(document.getElementById("page-data").textContent);
const lang = document.documentElement.lang;

/** A sentence in the reader's language, with {places} filled. */
export function say(key, values = {}) {
  return page.strings[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

/** An element with attributes (null, undefined and false are left out) and children; strings become text. */
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false && child !== ""));
  return element;
}

export const section = (heading, ...children) => el("section", {}, el("h2", {}, say(heading)), ...children);

/** Sentences about one question as paragraphs, the one-sided truth set apart; `brief` is for beside the question. */
export function paragraphs({ how, odds, so, assumes, warnings }, { brief = false } = {}) {
  const lines = brief ? [how, odds.join(" ")] : [how, odds.join(" "), so, assumes];
  return [
    ...lines.filter(Boolean).map((line) => el("p", {}, line)),
    warnings.length > 0 && el("p", { class: "warning" }, warnings.join(" ")),
  ];
}

/**
 * Explain one question. Gives { how, odds, so, assumes, warnings, icons }: sentences, lists of them (odds, warnings), and
 * what the icon array shows (or null).
 */
export function explain(question) {
  const labels = optionLabels(question).map(isolated);
  const recorded = reportLabels(question).map(isolated);
  // P(report z | true answer x); with a decoy, over the share of people who say Yes to it.
  const chance = (x, z) => question.analysis.probability(x, z);
  const about = { question, labels, recorded, chance };
  const odds = twoByTwo(question) ? twoOptions(about) : moreOptions(about);
  return { ...odds, ...decoy(about), warnings: warnings(about) };
}

/** The options as the respondent reads them: Yes and No in the page's language, others as the designer wrote them. */
export function optionLabels({ kind, options }) {
  return kind === "yes_no" ? [say("no"), say("yes")] : options;
}

/** What each report stands for. */
export function reportLabels(question) {
  return question.combine === "same" ? [say("different"), say("same")] : optionLabels(question);
}

/** A designer's words inside a sentence of this page: set apart where they run the other way. */
export function isolated(text) {
  const rightToLeft = /[\u0590-\u08ff\ufb1d-\ufefc]/.test(text);
  return rightToLeft === (document.documentElement.dir === "rtl") ? text : `\u2068${text}\u2069`;
}

/** Whether the sent result has no finite epsilon. */
export function isOpen({ channel }) {
  return channel.ratio === null;
}

/** A 10 by 10 array of people, grouped: the kept ones first, since scattered ones look like more. */
export function iconArray(kept) {
  const svg = svgElement("svg", { viewBox: "0 0 100 100", class: "icons", "aria-hidden": "true" });
  for (let i = 0; i < 100; i++) {
    const [cx, cy] = [5 + 10 * (i % 10), 5 + 10 * Math.floor(i / 10)];
    svg.append(svgElement("circle", { cx, cy, r: i < kept ? 3.9 : 3.2, class: i < kept ? "kept" : "other" }));
  }
  return svg;
}

// The sections of the first view --------------------------------------------------------------------------------

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
  const decoy = survey.questions.some((question) => question.combine !== "none" && isOpen(question));
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
  const open = survey.questions.flatMap((question, index) => (isOpen(question) ? [index + 1] : []));
  const finite = survey.questions.filter((question) => !isOpen(question)).reduce((sum, { epsilon }) => sum + epsilon, 0);
  const total = open.length === 0 ? "know_epsilon" : finite ? "know_open" : "know_only_open";
  const values = { epsilon: number(finite), factor: number(Math.exp(finite)), list: list(open.map((n) => numbered([n]))) };
  const rows = survey.questions.map((question, index) => [String(index + 1), question.mechanism.name, epsilonOf(question)]);
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

// The hash that the browser holds the script against, in the spelling of sha256sum.
function digest({ integrity }) {
  const bytes = Array.from(atob(integrity.split("-")[1]), (sign) => sign.charCodeAt(0));
  return bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function epsilonOf({ channel, analysis, combine, epsilon }) {
  const own = number(epsilon);
  const conditional = number(analysis.epsilon);
  if (channel.ratio !== null) return combine === "none" ? own : say("conditional_too", { epsilon: own, conditional });
  return combine === "none" || analysis.ratio === null ? say("unbounded") : say("conditional", { epsilon: conditional });
}

// Odds ------------------------------------------------------------------------------------------------------------

function twoByTwo({ kind, options, channel }) {
  return channel.outcomes === 2 && (kind === "yes_no" || options.length === 2);
}

function twoOptions({ question, labels, recorded, chance }) {
  // Tell about the report that everybody can give; when only one is hidden, that is the one.
  const z = chance(0, 1) > 0 ? 1 : 0;
  const other = 1 - z;
  const odds = [oddsLine(labels[z], recorded[z], chance(z, z)), oddsLine(labels[other], recorded[z], chance(other, z))];
  const so = question.combine === "same" ? "" : say("so_not", { option: labels[z] });
  // Where one side is certain, the picture is about the other one.
  const shown = chance(z, z) === 1 ? other : z;
  const kept = percent(chance(shown, z));
  const values = { chosen: labels[shown], n: kept, recorded: recorded[z], rest: 100 - kept, other: recorded[other] };
  return { odds, so, icons: { kept, caption: say("icons", values) } };
}

function moreOptions({ question, labels, chance }) {
  if (question.channel.form === "krr") {
    const n = percent(chance(0, 0));
    const odds = [say("odds_any", { n, rest: 100 - n, others: labels.length - 1 })];
    return { odds, so: say("so_any"), icons: { kept: n, caption: say("icons_any", { n, rest: 100 - n }) } };
  }
  const kept = labels.map((_, x) => percent(chance(x, x)));
  const range = say("odds_range", { low: Math.min(...kept), high: Math.max(...kept) });
  const each = labels.map((label, x) => oddsLine(label, label, chance(x, x)));
  return { odds: labels.length <= 5 ? each : [range], so: say("so_any"), icons: null };
}

function decoy({ question, labels: [no, yes] }) {
  const { combine, mechanism } = question;
  if (combine === "none") return { how: "", assumes: "" };
  const [top, bottom] = mechanism.decoy_counts ?? fraction(mechanism.decoy_share);
  const first = combine === "pair" && percent(fraction(mechanism.truth).reduce((a, b) => a / b));
  const sentence = { or: "or_how", same: "cross_how", pair: "unrelated_how" }[combine];
  const then = mechanism.epsilon ? ` ${say("then_mixed")}` : "";
  return { how: say(sentence, { yes, no, n: first }) + then, assumes: say("decoy_assumes", { n: percent(top / bottom), yes }) };
}

// A report that some true answer can never give rules that answer out: the respondent must know.
function warnings({ question, labels, recorded, chance }) {
  const lines = [];
  const all = labels.map((_, x) => x);
  const columns = question.analysis.ratio === null ? question.channel.outcomes : 0; // finite: every report can mean anything
  for (let z = 0; z < columns; z++) {
    const possible = all.filter((x) => chance(x, z) > 0);
    if (possible.length === 0 || possible.length === all.length) continue;
    if (possible.length === 1 && recorded[z] === labels[possible[0]]) lines.push(say("reveals", { option: recorded[z] }));
    else lines.push(say("reveals_other", { recorded: recorded[z], options: any(possible.map((x) => labels[x])) }));
    if (question.combine === "or") lines.push(say("or_only", { no: labels[0] }));
  }
  if (question.combine !== "none" && isOpen(question)) lines.push(say("decoy_known"));
  return lines;
}

function oddsLine(chosen, recorded, share) {
  const n = Math.round(100 * share);
  const edge = { 0: share === 0 ? "odds_none" : "odds_nearly_none", 100: share === 1 ? "odds_all" : "odds_nearly_all" };
  return say(edge[n] ?? "odds_about", { chosen, recorded, n });
}

// Never 0 or 100 for what is neither: an icon array must not promise certainty.
function percent(share) {
  if (share === 0 || share === 1) return 100 * share;
  return Math.min(99, Math.max(1, Math.round(100 * share)));
}

// "3/4" and "0.75" are the two published spellings of a share.
function fraction(text) {
  const [top, bottom = 1] = text.split("/").map(Number);
  return [top, bottom];
}

const any = (labels) => new Intl.ListFormat(lang, { type: "disjunction" }).format(labels);

const list = (items) => new Intl.ListFormat(lang).format(items);

// Western digits everywhere, as in the sentences and the fingerprints; the decimal mark is the language's.
const number = (value) => new Intl.NumberFormat(lang, { numberingSystem: "latn", maximumSignificantDigits: 3 }).format(value);

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
