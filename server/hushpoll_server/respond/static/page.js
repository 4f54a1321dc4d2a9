// The respondent's page: text of the verified document, never HTML. From loading to Send nothing is requested.

import { HushpollError, RandomnessError } from "../client/channel.js";
import { isGroup, Memory, newReport, reportBytes, Sender } from "../client/report.js";
import { loadSurvey } from "../client/survey.js";
import { sha256 } from "../client/sha256.js";
import {
  addMessages, announce, anyAnswer, deletion, designer, el, explain, isolated, label, language, list, loadModule, locale, msg,
  numbered, numbersOf, optionLabels, page, pair, reportLabel, warned,
} from "./explain.js";

const LEDGER = "hushpoll:ledger";
const main = document.querySelector("main");
const link = readLink(location.hash);

let survey, memory, sender, earlier;
let presentation = null; // what surrounds the questions, if the survey says it
let texts; // of the survey, in the respondent's language
let later; // a promise of the modules that nothing before Start needs, once they are being loaded
let form; // in memory only, until Send; on a shared device until the questions are left

class Refusal extends HushpollError {}

async function start() {
  addEventListener("hashchange", () => location.reload());
  addEventListener("pageshow", (event) => event.persisted && location.reload()); // no half-filled form on a shared device
  addEventListener("popstate", (event) => survey && !memory.recall() && showState(event.state ?? {}));
  addEventListener("hushpoll:leave", () => memory?.forget());
  addEventListener("online", () => sender?.isWaiting && deliver(true));
  try {
    survey = await load();
  } catch (error) {
    if (!(error instanceof HushpollError)) throw error;
    return showFailure(error instanceof Refusal ? error.message : msg("fail_refused", { reason: error.message }));
  }
  if (survey.groups) Object.assign(link, survey.groupOf(page.preview ? "g0" : link.code));
  if (page.paper) page.paper += link.query;
  texts = presentation?.texts ?? survey;
  memory = new Memory(survey);
  memory.traceless = presentation?.quick;
  sender = new Sender({ url: page.reports, memory, invitation: invitation(), retry: () => deliver(true) });
  earlier = await ledger(({ added }) => added(survey));
  if (!presentation?.quick) document.title = texts.title;
  history.replaceState(null, "");
  const record = memory.recall();
  if (record) showRecord(record);
  else if (page.closed) showClosed();
  else if (page.at_questions) showQuestions(); // the editor shows the question that is being written
  else await begin();
}

// An unknown or used code is refused before anything is typed.
async function begin(notice) {
  const code = !page.preview && invitation();
  const look = async () => {
    const answer = await fetch(`${page.document}/invitations/check`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ invitation: code, group: link.group }),
      credentials: "omit",
      cache: "no-store",
      signal: AbortSignal.timeout(5000),
    });
    await answer.text();
    return answer.status;
  };
  if (!isGroup(survey, link.group)) showFailure(msg("fail_group"));
  else if (code && (await look().catch(() => 0)) === 403) showFailure(msg(code.length < 20 ? "fail_cut" : "code_spent"));
  else showStart(notice);
}

// "#<hash>" or "#<hash>.<more>". A code is sent in bodies only.
function readLink(fragment) {
  const [hash, ...code] = fragment.slice(1).split(".");
  return { hash: hash || null, code: code.length ? code.join(".") : null, query: "" };
}

async function load() {
  // A redirect may add another fingerprint, which loading again keeps.
  if (performance.getEntriesByType("navigation")[0]?.redirectCount || history.state?.redirected) {
    history.replaceState({ redirected: true }, "");
    throw new Refusal(msg("fail_redirect"));
  }
  // From the fragment or the address; a draft's preview has neither.
  const named = link.hash ?? /\/s\/([0-9a-f]{64})/.exec(location.pathname)?.[1] ?? page.hash;
  if (!/^[0-9a-f]{64}$/.test(named)) throw new Refusal(msg("fail_cut"));
  if (named !== page.hash) throw new Refusal(msg("fail_changed"));
  let bytes;
  try {
    const response = await fetch(page.document);
    if (response.status === 404) throw new Refusal(msg("fail_gone"));
    if (!response.ok) throw new Error(String(response.status));
    bytes = new Uint8Array(await response.arrayBuffer());
  } catch (error) {
    throw error instanceof Refusal ? error : new Refusal(msg("fail_load"));
  }
  if (sha256(bytes) !== named) throw new Refusal(msg("fail_changed"));
  return readSurvey(bytes, named);
}

async function readSurvey(bytes, named) {
  const fetched = (work) => work.catch(() => Promise.reject(new Refusal(msg("fail_load"))));
  let survey;
  for (const tried = new Set(); !survey; ) {
    try {
      survey = loadSurvey(bytes, named);
    } catch (error) {
      // Most surveys do not need it.
      const needs = error.needs ?? "extras";
      if (!(error instanceof HushpollError) || tried.has(needs)) throw error;
      tried.add(needs);
      for (const path of page.bundles?.[needs] ?? []) await fetched(loadModule(path));
    }
  }
  if (hasSurroundings(survey)) {
    presentation = await fetched(loadModule("respond/presentation.js").then((module) => module.present(survey)));
  }
  return survey;
}

// Whether anything stands around the questions; how these are laid out is another matter.
function hasSurroundings({ language, presentation: { look = {}, ...around } = {} }) {
  return Boolean(language) || Object.keys(around).length > 0 || Object.keys(look).some((key) => key !== "layout");
}

// Loaded if there is a ledger, or a report has arrived.
async function ledger(work, arrived) {
  try {
    if (survey.settings.kiosk || presentation?.quick || !(arrived || localStorage.getItem(LEDGER))) return;
    return work(await loadModule("respond/ledger.js"));
  } catch {} // a private window stores nothing
}

// Before

function showState({ during, why }) {
  if (during) showQuestions();
  else if (why) showWhy();
  else showStart();
}

function showStart(notice) {
  const consent = presentation?.consent();
  const uninvited = survey.settings.invitation && !link.code && !page.preview;
  if (survey.settings.kiosk) dropForm();
  show(
    el(
      "header",
      {},
      presentation?.head(),
      el("h1", { ...designer }, texts.title),
      texts.intro && el("p", { ...designer, class: "intro" }, texts.intro),
      el("p", { class: "small" }, howLong()),
    ),
    ...notices(notice, uninvited && msg("no_code"), earlier?.isMuch && earlier.text),
    label(survey),
    promise(),
    earlier && !earlier.isMuch && el("p", { class: "small earlier" }, earlier.text),
    survey.groups && el("p", {}, msg("counted_with", { group: isolated(survey.groups[link.group]) })),
    ...openTruths(),
    button("why", () => showWhy(true), "quiet plain"),
    el("p", { class: "small" }, msg("fingerprint", { start: survey.hash.slice(0, 8) })),
    deletion(),
    presentation?.below(),
    !page.preview && languages(),
    consent?.element,
    !uninvited &&
      bar(
        button("start", () => {
          if (consent && !consent.isGiven()) return;
          enter({ during: true });
          showQuestions();
        }),
      ),
  );
  if (notice) announce(notice);
  requestAnimationFrame(() => setTimeout(() => prepare().then(illustrate, () => {}))); // after the first paint
}

// The quick exit replaces the only entry in the history.
const enter = (state) => (presentation?.quick ? history.replaceState(state, "") : history.pushState(state, ""));

function goBack() {
  if (!presentation?.quick) return history.back();
  history.replaceState(null, "");
  return showStart();
}

// Reading, and a moment for each answer.
function howLong() {
  const { intro, questions } = survey;
  const n = numbersOf(survey, questions).length;
  const texts = [intro, ...questions.flatMap(({ text, options }) => [text, ...options.slice(0, 10)])];
  const reading = (texts.join(" ").split(/\s+/).length / 3) * (n / questions.length);
  const minutes = Math.ceil((reading + 8 * n) / 60);
  const time = minutes.toLocaleString(locale, { style: "unit", unit: "minute", unitDisplay: "long" });
  return msg(n === 1 ? "long_one" : "long_many", { n, time });
}

// A picture of the question that reveals most, of those whose picture needs no more modules.
function promise() {
  return el("div", { class: "promise" }, pictured() && pair(explain(pictured()).sides));
}

function pictured() {
  const larger = (first, second) => (second.channel.epsilon > first.channel.epsilon ? second : first);
  const simple = survey.questions.filter((question) => explain(question).sides);
  return simple.length > 0 && simple.reduce(larger);
}

// Add what comes after the first paint: the picture of another kind, and "Try it".
function illustrate({ examples }) {
  const box = main.querySelector(".promise:not(.complete)");
  if (!box) return;
  const question = pictured() || survey.questions[0];
  box.classList.add("complete");
  box.append(...(pictured() ? [] : [examples.picture(question)]), examples.tryIt(question, true));
}

// Reports that can show an answer for certain come first.
function openTruths() {
  const { questions } = survey;
  const warnings = questions.map((question) => [explain(question), question]).filter(([about]) => about.warnings.length);
  return warnings.map(([about, question]) =>
    el("div", {}, questions.length > 1 && el("p", { class: "eyebrow" }, numbered(survey, [question])), warned(about)),
  );
}

async function showWhy(entering = false) {
  try {
    const { why } = await prepare();
    if (entering) enter({ why: true });
    show(el("header", {}, el("h1", {}, msg("why"))), ...why.why(survey, Boolean(link.hash)), bar(button("back", goBack, "quiet")));
  } catch {
    showNotLoaded();
  }
}

function notices(...more) {
  const texts = [!isSecureContext && msg("insecure"), page.preview && msg("preview"), ...more];
  return texts.filter(Boolean).map((text) => el("p", { class: "notice" }, text));
}

function languages() {
  const named = (tag) => [tag, new Intl.DisplayNames(tag, { type: "language" }).of(tag)];
  const here = presentation?.tags ? presentation.tag : language;
  const links = (presentation?.tags?.map(named) ?? page.languages).map(([lang, name]) =>
    el("a", { href: `?lang=${lang}${location.hash}`, lang, hreflang: lang, "aria-current": lang === here && "true" }, name),
  );
  const current = links.find((link) => link.hasAttribute("aria-current")) ?? links[0];
  return el(
    "details",
    { class: "languages" },
    el("summary", { lang: current.lang }, current.textContent),
    el("nav", { "aria-label": msg("languages") }, ...links),
  );
}

// During

// Load all that nothing before Start needs; once a question is shown, nothing is requested until Send.
function prepare() {
  later ??= loadLater().catch((error) => {
    later = null;
    throw error;
  });
  return later;
}

async function loadLater() {
  const names = page.later.map((path) => path.match(/(\w+)\.js$/)[1]);
  const [words, ...modules] = await Promise.all([fetch(page.words), ...page.later.map(loadModule)]);
  if (!words.ok) throw new Error(String(words.status));
  addMessages("why", await words.text());
  const loaded = Object.fromEntries(names.map((name, at) => [name, modules[at]]));
  return { ...loaded, Form: await loaded.form.prepare(survey) };
}

// Unless a refusal stands there.
function showNotLoaded() {
  history.replaceState(null, "");
  if (main.querySelector(".promise") || page.at_questions) showStart(msg("fail_load"));
}

async function showQuestions() {
  let loaded;
  try {
    loaded = await prepare();
  } catch {
    return showNotLoaded();
  }
  if (!(history.state?.during || page.at_questions)) return; // went back while it came
  try {
    form ??= makeForm(loaded);
    show(el("header", {}, el("h1", { ...designer }, texts.title)), ...notices(!memory.works && msg("no_memory")), form.element);
  } catch {
    failed();
  }
}

function makeForm({ Form, steps }) {
  const newForm = new Form(
    survey,
    send,
    survey.blocks?.asks(ranks()) ?? (() => true),
    el("p", { class: "small" }, msg("send_note")),
    button("back", goBack, "quiet"),
    bar(el("button", { type: "submit" }, msg("send"))),
  );
  const sections = presentation?.arrange(newForm);
  steps?.inSteps(newForm, sections ?? []);
  return newForm;
}

function dropForm() {
  form?.drop();
  form = null;
}

const ranks = () => survey.blocks?.ranks(memory, !page.preview);

function send(answers) {
  if (page.preview) return announce(msg("preview"));
  // Drawn once, stored, and only then sent. If another tab has drawn, its report counts.
  try {
    if (!memory.recall()) memory.keep(newReport(survey, answers, undefined, ranks(), link.group));
  } catch (error) {
    if (!(error instanceof RandomnessError)) return form.summarize(msg("fail_page"), el("p", {}, msg("fail_nothing")));
    dropForm();
    return showFailure(msg("fail_chance"));
  }
  dropForm();
  history.replaceState(null, "");
  return deliver();
}

// After

// Send the stored report; `quiet` leaves the screen alone.
async function deliver(quiet = false) {
  const record = memory.recall();
  if (!record) return quiet || showStart();
  if (!quiet) show(el("header", {}, el("h1", {}, msg("sending"))));
  const outcome = await sender.send();
  // Not if the device was cleared meanwhile.
  if (outcome?.sent && record.state === "waiting") ledger(({ note }) => memory.recall()?.id === record.id && note(survey), true);
  if (outcome?.sent) showSent(outcome.sent);
  else if (outcome) showWaiting(msg(`was_${outcome.reason}`, { n: outcome.seconds }), outcome.again, quiet);
}

const invitation = () => (survey.settings.invitation ? link.code : null);

function showRecord(record) {
  if (record.state === "waiting") return showWaiting("", true);
  if (record.reports) memory.keep(record, "sent"); // older releases kept the report
  return showSent(record);
}

function showSent(record) {
  const { kiosk } = survey.settings;
  const { oneSided, tier } = survey.assurance;
  show(
    el("header", { class: "done" }, el("h1", {}, msg("sent")), el("p", { class: "lead" }, msg("sent_text"))),
    (kiosk || !(oneSided || tier === "weak")) && el("p", {}, msg(kiosk ? "kiosk_text" : "sent_stayed")),
    ...afterwards(),
    // On a shared device the next person must not read the last one's report.
    ...(kiosk ? [bar(button("next", () => showStart()))] : [record.reports && whatWasSent(record), clearing()]),
  );
  announce(`${msg("sent")}. ${msg("sent_text")}`);
}

const afterwards = () => [...(presentation?.after() ?? []), page.results && el("p", {}, el("a", { href: page.results }, msg("results")))];

function showClosed() {
  show(el("header", {}, el("h1", { ...designer }, texts.title), el("p", { class: "notice" }, msg("closed"))), ...afterwards());
  announce(msg("closed"));
}

function whatWasSent(record) {
  const items = survey.entries.map((entry, index) => {
    const report = record.reports[index];
    const any = anyAnswer(entry);
    const recorded = list((entry.answerLabels?.(report, optionLabels) ?? [reportLabel(entry, report)]).map(isolated));
    return el("li", {}, `${numbered(survey, [entry])}. `, msg("recorded_as", { recorded }), any && `. ${any}`);
  });
  const sent = new TextDecoder().decode(reportBytes(survey, record, invitation()));
  const bytes = el("pre", { dir: "ltr", tabindex: "0" }, sent);
  return el("details", {}, el("summary", {}, msg("sent_see")), bytes, el("ul", {}, ...items));
}

function showWaiting(text, again, quiet = false) {
  const problem = document.getElementById("problem");
  if (quiet && problem) problem.textContent = text;
  else {
    show(
      el("header", {}, el("h1", {}, msg("waiting"))),
      ...notices(memory.isVolatile && msg("no_memory")),
      el("p", { class: "notice", id: "problem", hidden: text ? false : "" }, text),
      again && el("p", {}, msg("waiting_text")),
      clearing(),
      again && bar(button("resend", () => deliver())),
    );
  }
  if (text) announce(text);
}

function clearing() {
  const clear = button("clear", () => {
    sender.stop();
    memory.forget(LEDGER);
    earlier = null;
    begin(msg("cleared"));
  }, "quiet");
  return el("details", {}, el("summary", {}, msg("clear")), el("p", {}, msg("clear_text")), clear);
}

function showFailure(text, heading = msg("fail_heading")) {
  const why = text ? [el("p", { class: "notice" }, text), el("p", {}, msg("fail_nothing"))] : [];
  show(el("header", {}, el("h1", {}, heading)), ...why);
  announce(`${heading}. ${text ?? ""}`);
}

const failed = () => showFailure(msg("fail_page"));

// Screen

function show(...children) {
  const first = main.hasAttribute("aria-busy");
  main.removeAttribute("aria-busy");
  main.replaceChildren(...children.filter(Boolean));
  const heading = main.querySelector("h1");
  heading.tabIndex = -1;
  scrollTo(0, 0);
  if (!first) heading.focus({ preventScroll: true }); // read aloud
}

const bar = (button) => el("div", { class: "bar" }, button);

function button(label, action, kind = "") {
  const element = el("button", { type: "button", class: kind }, msg(label));
  element.addEventListener("click", action);
  return element;
}

start().catch(failed);
