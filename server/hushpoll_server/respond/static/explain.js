// Sentences about the verified channels; messages and elements of the page. Never HTML.

import { count } from "../client/channel.js";
import { expBelow } from "../client/mechanism.js";
import { sha256 } from "../client/sha256.js";
import { tierOf } from "../client/survey.js";

const FEW = 5; // options of a set that are named

export const page = JSON.parse(document.getElementById("page-data").textContent);
export const language = document.documentElement.lang;
/** Western digits everywhere, as in the sentences; the decimal mark is the language's. */
export const locale = `${language}-u-nu-latn`;
const announcer = document.getElementById("announcer");

// SHA-256 of the sentences in each language. Written by pin_sentences.py.
const PINNED = {
  ar: "dde684014ba64718e32b3b8585aed354f9949d92c0d3606f31a771f2211680f3",
  de: "768c9a0db691bcc8f037c9547c2228a6a6f4ed6b99470e6f407d4c75dbf16a0f",
  en: "240c97612674b11830ad8a1b686d2459a489fa89ac8ecc524ef30b12cc56937e",
  es: "eb0fbb1d15c74519afec9c2b586abc7fbde4dc117323c64089e8657fc79e3115",
  fr: "28e831fcf253a223ae3841903a04eec7d38ef24cb74be10e46d83f8063aeeebb",
};
const messages = readMessages(document.getElementById("words").textContent, PINNED[language]);
// Sentences that some surveys need.
for (const script of document.querySelectorAll("[data-words]")) addMessages(script.dataset.words, script.textContent);

// Return sentences if their SHA-256 is the pinned one.
function readMessages(text, pinned) {
  if (sha256(new TextEncoder().encode(text)) === pinned) return JSON.parse(text);
  const why = "The sentences of this page are not those of its scripts. Do not answer here; tell the person who sent you the link.";
  document.querySelector("main").replaceChildren(el("h1", {}, why));
  throw new Error(why);
}

const modules = {}; // promises

/** Load a module once, if it has its published SHA-256; one that did not come may be tried again. */
export function loadModule(path) {
  modules[path] ??= load(path).catch((error) => {
    delete modules[path];
    throw error;
  });
  return modules[path];
}

async function load(path) {
  if (!page.more[path]) throw new Error(path);
  const { href } = new URL(`../${path}`, import.meta.url);
  const link = el("link", { rel: "modulepreload", href, integrity: page.more[path] });
  const checked = new Promise((resolve, reject) => Object.assign(link, { onload: resolve, onerror: reject }));
  document.head.append(link);
  if (link.relList.supports("modulepreload")) await checked;
  return import(href);
}

export function addMessages(group, text) {
  Object.assign(messages, readMessages(text, messages.pins[group]));
}

export function msg(key, values = {}) {
  return messages[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
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

/** Attributes of the designer's own texts: presentation.js adds their language. */
export const designer = { dir: "auto" };
let translated = {}; // texts of questions in another language, by the question's id
export const translate = (questions) => (translated = questions);

/** A text of a question as the respondent reads it. */
export const textOf = (question, key) => translated[question.id]?.[key] ?? question[key] ?? question.answers[key];

/** Add rules of a module that only some surveys need. */
export function style(rules) {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(rules);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
}

/** Have a screen reader say a text. */
export function announce(text) {
  announcer.textContent = text;
}

/** The day when all reports are deleted, where there is one. */
export function deletion() {
  const date = page.delete_on && new Date(page.delete_on).toLocaleDateString(locale, { dateStyle: "long", timeZone: "UTC" });
  return date && el("p", { class: "small" }, msg("deletion", { date }));
}

/** The label of the first view: who can learn an answer, what is stored, what cannot be undone. */
export function label(survey) {
  const lines = [["label_who", lead(survey)], ["label_stored", msg("stored_short")], ["label_undo", msg("undo_short")]];
  return el("dl", { class: "label" }, ...lines.flatMap(([key, text]) => [el("dt", {}, msg(key)), el("dd", {}, text)]));
}

/** Who can learn an answer, as strong as the odds allow. */
export function lead(survey) {
  const { assurance: { tier, oneSided, weakest, factor, kept }, questions } = survey;
  const where = weakest.length && questions.length > 1 ? `${numbered(survey, weakest.map((n) => questions[n - 1]))}. ` : "";
  const n = kept ?? factorAtMost(factor);
  const weak = where + msg(kept ? "weak_kept" : weakest.length ? "weak_any" : "weak_total", { n });
  if (oneSided) return tier === "weak" ? `${msg("lead_open")} ${weak}` : msg("lead_open");
  return { strong: msg("lead"), fair: msg("lead_fair"), weak }[tier];
}

/** A picture and sentences about one question, folded to one line; `below` and warnings are never folded. */
export function folded(about, id, picture, below) {
  const more = el("div", { id: `${id}-more`, hidden: "" }, picture, ...paragraphs(about, about.line));
  const line = el("button", { type: "button", class: "quiet plain fold", id, "aria-expanded": "false", "aria-controls": more.id }, about.line);
  line.addEventListener("click", () => {
    more.hidden = !more.hidden;
    line.setAttribute("aria-expanded", String(!more.hidden));
  });
  return el("div", { class: "small odds-of" }, line, more, below, warned(about));
}

/** Pictures of two groups of 100 people side by side: [how many stand out, caption] of each. */
export function pair(sides) {
  const figures = sides.map(([filled, caption]) => el("figure", {}, iconArray(filled), el("figcaption", {}, caption)));
  return el("div", { class: "pair" }, ...figures);
}

export const warned = ({ warnings }) => warnings.length > 0 && el("p", { class: "warning" }, warnings.join(" "));

export const paragraphs = ({ how, odds, so, assumes, skip }, omitted) =>
  [how, odds.join(" "), so, assumes, skip].filter((line) => line && line !== omitted).map((line) => el("p", {}, line));

/** The sentences about one question, and the two `sides` of its picture if that shows two answers and one report. */
export function explain(question) {
  const { kind, mechanism, channel, after, block } = question;
  const labels = rowLabels(question).map(isolated);
  const recorded = channel.listed ? count(channel.outcomes).map((report) => isolated(reportLabel(question, report))) : [];
  // With a decoy, over the share of people who say Yes to it.
  const chance = (x, z) => mechanism.analysis.probability(x, z);
  const ordered = kind.mechanismFits.includes("ordered"); // its picture is of a low and a high answer
  const about = { mechanism, labels, recorded, chance, ordered };
  const two = labels.length === 2 && recorded.length === 2;
  const { sends } = channel;
  const how = sends && msg(block ? "block_how" : `sends_${sends.what}`, { n: formatted(sends.n), total: formatted(channel.options) });
  const any = anyAnswer(question);
  const odds = any ? { odds: [any], line: any } : two ? twoOptions(about) : moreOptions(about);
  if (mechanism.reportsAreAnswers && !any) odds.so = soSentence(tierOf(channel.ratio), channel.ratio, odds.so);
  const skip = after && [msg("skip", { skipped: msg("skip_label") }), channel.ratio && msg("skip_so")].filter(Boolean).join(" ");
  return { how, ...odds, ...decoy(about), skip, warnings: warnings(about) };
}

function soSentence(tier, ratio, strong) {
  if (tier === "weak") return msg("so_weak", { n: factorAtMost(ratio) });
  return tier === "fair" ? msg("so_fair") : strong;
}

/** The options as the respondent reads them. */
export function optionLabels({ id, kind, options, answers }) {
  if (kind.fixedWords) return [msg("no"), msg("yes")];
  const { options: names, labels } = translated[id] ?? {};
  const texts = names ?? (answers.ends?.length ? null : labels) ?? options;
  const decline = "Prefer not to say";
  const ours = texts.join() === `No,Yes,${decline}`;
  return texts.map((text, at) => (text === decline ? msg("prefer_not") : ours ? msg(at ? "yes" : "no") : text));
}

// All true answers that a report may come from.
const rowLabels = (question) => [...optionLabels(question), ...(question.after ? [msg("skip_label")] : [])];

/** What a report stands for: an answer, options, a word about two answers, or only a code. */
export function reportLabel(question, report) {
  const { mechanism, channel } = question;
  if (mechanism.reportsAreAnswers) return rowLabels(question)[report];
  const { set, members, answers, item } = channel.contents(report);
  const names = (indices) => list(indices.map((index) => isolated(rowLabels(question)[index])));
  if (set) return msg(set.length > FEW ? "told_set" : "told_few", { n: formatted(set.length), total: formatted(channel.options), list: names(set) });
  if (members) return msg("told_asked", { list: names(members), ticked: names(members.filter((_, index) => answers[index])) || "–" });
  if (item !== undefined) return item === null ? msg("told_dummy") : names([item]);
  const code = anyAnswer(question) ? msg("told_code", { n: report }) : String(report);
  return messages[`report_${mechanism.combine}_${report}`] ?? code;
}

/** The sentence about a report that is only a code. */
export function anyAnswer({ kind, mechanism, channel }) {
  if ((mechanism.reportsAreAnswers && kind.inBlocks) || mechanism.hasDecoy) return null;
  return channel.ratio && msg("any_answer", { n: factorAtMost(channel.ratio) });
}

/** A designer's words inside a sentence, isolated if they run the other way. */
export function isolated(text) {
  const rightToLeft = /[\u0590-\u08ff\ufb1d-\ufefc]/.test(text);
  return rightToLeft === (document.documentElement.dir === "rtl") ? text : `\u2068${text}\u2069`;
}

export const isOpen = ({ channel }) => channel.ratio === null;

// A 10 by 10 array of people; the first `filled` stand out.
function iconArray(filled) {
  const svg = svgElement("svg", { viewBox: "0 0 100 100", class: "icons", "aria-hidden": "true" });
  for (let i = 0; i < 100; i++) {
    const [cx, cy] = [5 + 10 * (i % 10), 5 + 10 * Math.floor(i / 10)];
    svg.append(svgElement("circle", { cx, cy, r: i < filled ? 3.9 : 3.2, class: i < filled ? "kept" : "other" }));
  }
  return svg;
}

/** The numbers of questions as they are asked: a block has as many as it asks. */
export function numbersOf({ entries }, questions) {
  const selected = questions.map((question) => question.block ?? question);
  let n = 0;
  return entries.flatMap((entry) => {
    const numbers = count(entry.indices ? entry.channel.sends.n : 1).map(() => String(++n));
    return selected.includes(entry) ? numbers : [];
  });
}

export function numbered(survey, questions) {
  const numbers = numbersOf(survey, questions);
  return numbers[1] ? msg("questions", { list: list(numbers) }) : msg("question", { n: numbers[0] });
}

// "At most" is rounded up to three digits in exact integers.

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
  // The odds of the report that every answer can lead to.
  const z = chance(0, 1) > 0 ? 1 : 0;
  const sides = [z, 1 - z].map((x) => side(labels[x], recorded[z], chance(x, z)));
  const so = mechanism.reportsAreAnswers && msg("so_not", { option: labels[z] });
  const line = mechanism.analysis.evenly ? msg("line_kept", { n: percent(chance(0, 0)) }) : msg("line_how");
  return { line, odds: [], so, sides };
}

function moreOptions({ mechanism, labels, chance, ordered }) {
  const sides = ordered ? null : [0, 1].map((x) => side(labels[x], labels[0], chance(x, 0)));
  if (mechanism.analysis.evenly) return { line: msg("line_kept", { n: percent(chance(0, 0)) }), odds: [], so: msg("so_any"), sides };
  const percentages = labels.map((_, x) => 100 * chance(x, x));
  const range = msg("odds_range", { low: Math.floor(Math.min(...percentages)), high: Math.ceil(Math.max(...percentages)) });
  const lines = labels.map((label, x) => oddsLine(label, label, chance(x, x)));
  return { line: msg("line_how"), odds: labels.length <= 5 ? lines.slice(sides ? 1 : 0) : [range], so: msg("so_any"), sides };
}

// Of 100 people who choose an answer, how many send a report; as a number and in words.
const side = (chosen, recorded, share) => [percent(share), oddsLine(chosen, recorded, share)];

function decoy({ mechanism: { hasDecoy, combine, parameters }, labels: [no, yes] }) {
  if (!hasDecoy) return {};
  const { truth = "1", decoy_share: share, decoy_counts: counts, epsilon } = parameters;
  const how = msg(`how_${combine}`, { yes, no, n: percent(fraction(truth)) }) + (epsilon ? ` ${msg("then_mixed")}` : "");
  return { how, assumes: msg("decoy_assumes", { n: percent(fraction(share ?? counts.join("/"))), yes }) };
}

// A report that some answer can never give rules that answer out.
function warnings({ mechanism, labels, recorded }) {
  const lines = mechanism.facts.flatMap(({ report, leaves, decoy }) => {
    const [option] = leaves.map((x) => labels[x]);
    const named = leaves.length === 1 && recorded[report] === option;
    const values = { recorded: recorded[report], options: any(leaves.map((x) => labels[x])) };
    return [named ? msg("reveals", { option }) : msg("reveals_other", values), decoy !== null && msg("reveals_both", { no: option })];
  });
  return [...lines, mechanism.knownDecoyTells && msg("decoy_known")].filter(Boolean);
}

export function oddsLine(chosen, recorded, share) {
  const n = Math.round(100 * share);
  const edge = { 0: share === 0 ? "odds_none" : "odds_nearly_none", 100: share === 1 ? "odds_all" : "odds_nearly_all" };
  return msg(edge[n] ?? "odds_about", { chosen, recorded, n });
}

/** Of 100; 0 and 100 only where they are exact. */
export function percent(share) {
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

const number = (value) => value.toLocaleString(locale, { maximumSignificantDigits: 3 });

export const formatted = (value) => value.toLocaleString(locale);

/** An element of a picture. */
export function svgElement(name, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}
