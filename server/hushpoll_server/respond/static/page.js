// The respondent's page: text of the verified document, never HTML. From loading to Send nothing is requested.

import { HushpollError, RandomnessError } from "../client/channel.js";
import { isGroup, Memory, newReport, reportBytes, Sender } from "../client/report.js";
import { loadSurvey } from "../client/survey.js";
import { sha256 } from "../client/sha256.js";
import {
  announce, anyAnswer, bring, deletion, designer, el, explain, isolated, language, lead, list, locale, numbered, numbersOf, optionLabels, page,
  picture, reportLabel, say, warned,
} from "./explain.js";

const LEDGER = "hushpoll:ledger";
const main = document.querySelector("main");
const link = readLink(location.hash);

let survey, memory, sender, earlier;
let study = null; // what stands around the questions, where the survey has any of it
let texts; // the survey's own, in the respondent's language
let forming; // brings what makes the form
let form; // in memory only, until Send; on a shared device until somebody leaves the questions
let asked = false; // whether this person has seen them
let whole; // gives the whole explanation, once somebody has asked for it

class Refusal extends HushpollError {}

async function start() {
  addEventListener("hashchange", () => location.reload()); // another link, perhaps with an invitation
  addEventListener("pageshow", (event) => event.persisted && location.reload()); // no half-filled form on a shared device
  addEventListener("popstate", (event) => survey && !memory.recall() && showState(event.state ?? {}));
  addEventListener("hushpoll:leave", () => memory?.forget());
  addEventListener("online", () => sender?.isWaiting && deliver(true));
  try {
    survey = await load();
  } catch (error) {
    if (!(error instanceof HushpollError)) throw error;
    return showFailure(error instanceof Refusal ? error.message : say("fail_refused", { reason: error.message }));
  }
  if (survey.groups) Object.assign(link, survey.groupOf(page.preview ? "g0" : link.code));
  if (page.paper) page.paper += link.query;
  texts = study?.texts ?? survey;
  memory = new Memory(survey);
  memory.traceless = study?.quick;
  sender = new Sender({ url: page.reports, memory, invitation: invitation(), retry: () => deliver(true) });
  earlier = await ledger(({ added }) => added(survey));
  if (!study?.quick) document.title = texts.title;
  history.replaceState(null, "");
  const record = memory.recall();
  if (record) showRecord(record);
  else if (page.closed) showClosed();
  else if (page.at_questions) showQuestions(); // the editor shows the question that is being written
  else await begin();
}

// A code that is unknown or spent is told before anything is typed.
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
  if (!isGroup(survey, link.group)) showFailure(say("fail_group"));
  else if (code && (await look().catch(() => 0)) === 403) showFailure(say("code_spent"));
  else showStart(notice);
}

// "#<hash>" or "#<hash>.<more>". A code is sent in bodies only.
function readLink(fragment) {
  const [hash, ...code] = fragment.slice(1).split(".");
  return { hash: hash || null, code: code.length ? code.join(".") : null, query: "" };
}

async function load() {
  // A redirect may bring a fingerprint of its own. Loading again forgets none.
  if (performance.getEntriesByType("navigation")[0]?.redirectCount || history.state?.redirected) {
    history.replaceState({ redirected: true }, "");
    throw new Refusal(say("fail_redirect"));
  }
  // From the fragment, or else the address; a draft's preview has neither.
  const named = link.hash ?? /\/s\/([0-9a-f]{64})/.exec(location.pathname)?.[1] ?? page.hash;
  if (!/^[0-9a-f]{64}$/.test(named)) throw new Refusal(say("fail_cut"));
  if (named !== page.hash) throw new Refusal(say("fail_changed"));
  let bytes;
  try {
    const response = await fetch(page.document);
    if (response.status === 404) throw new Refusal(say("fail_gone"));
    if (!response.ok) throw new Error(String(response.status));
    bytes = new Uint8Array(await response.arrayBuffer());
  } catch (error) {
    throw error instanceof Refusal ? error : new Refusal(say("fail_load"));
  }
  if (sha256(bytes) !== named) throw new Refusal(say("fail_changed"));
  return readSurvey(bytes, named);
}

async function readSurvey(bytes, named) {
  const fetched = (work) => work.catch(() => Promise.reject(new Refusal(say("fail_load"))));
  let read;
  for (const tried = new Set(); !read; ) {
    try {
      read = loadSurvey(bytes, named);
    } catch (error) {
      // Something that most surveys do without.
      const needs = error.needs ?? "extras";
      if (!(error instanceof HushpollError) || tried.has(needs)) throw error;
      tried.add(needs);
      for (const path of page.bundles?.[needs] ?? []) await fetched(bring(path));
    }
  }
  if (read.presentation || read.language) study = await fetched(bring("respond/study.js").then((module) => module.study(read)));
  return read;
}

// Brought where there is a ledger, or a report has arrived.
async function ledger(work, arrived) {
  try {
    if (!survey.settings.kiosk && !study?.quick && (arrived || localStorage.getItem(LEDGER))) return work(await bring("respond/widgets.js"));
  } catch {} // a private window keeps nothing
}

// Before

function showState({ during, why }) {
  if (during) showQuestions();
  else if (why && whole) showWhy();
  else showStart();
}

function showStart(notice) {
  const consent = study?.consent();
  const uninvited = survey.settings.invitation && !link.code && !page.preview;
  if (survey.settings.kiosk) form = null;
  show(
    el(
      "header",
      {},
      study?.head(),
      el("h1", { ...designer }, texts.title),
      texts.intro && el("p", { ...designer, class: "intro" }, texts.intro),
      el("p", { class: "small" }, howLong()),
    ),
    ...notices(notice, uninvited && say("no_code"), earlier),
    promise(),
    survey.groups && el("p", {}, say("counted_with", { group: isolated(survey.groups[link.group]) })),
    ...openTruths(),
    // Once somebody has seen a question, nothing is requested any more.
    (whole || !asked) && button("why", explainAll, "quiet plain"),
    el("p", { class: "small" }, say("fingerprint", { start: survey.hash.slice(0, 8) })),
    deletion(),
    study?.below(),
    !page.preview && languages(),
    consent?.element,
    !uninvited &&
      bar(
        button("start", () => {
          if (consent && !consent.given()) return;
          enter({ during: true });
          showQuestions();
        }),
      ),
  );
  if (notice) announce(notice);
  prepare();
}

// With a quick way out there is one entry in the history, which it replaces.
const enter = (state) => (study?.quick ? history.replaceState(state, "") : history.pushState(state, ""));

function goBack() {
  if (!study?.quick) return history.back();
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
  return say(n === 1 ? "long_one" : "long_many", { n, time });
}

// The lead, and a picture of the question that tells most.
function promise() {
  const telling = (one, other) => (other.channel.epsilon > one.channel.epsilon ? other : one);
  const shown = survey.questions.filter((question) => explain(question).icons);
  const about = shown.length > 0 && explain(shown.reduce(telling));
  return el("div", { class: "promise" }, about && picture(about), el("p", { class: "lead" }, lead(survey)));
}

// Reports that can show an answer for certain come first.
function openTruths() {
  const { questions } = survey;
  const told = questions.map((question) => [explain(question), question]).filter(([about]) => about.warnings.length);
  return told.map(([about, question]) =>
    el("div", {}, questions.length > 1 && el("p", { class: "eyebrow" }, numbered(survey, [question])), warned(about)),
  );
}

async function explainAll() {
  try {
    whole ??= await (await bring("respond/why.js")).why(survey, Boolean(link.hash));
  } catch {
    return main.querySelector(".promise") && showStart(say("fail_load")); // unless a refusal stands there
  }
  enter({ why: true });
  return showWhy();
}

function showWhy() {
  show(el("header", {}, el("h1", {}, say("why"))), ...whole(), bar(button("back", goBack, "quiet")));
}

function notices(...more) {
  const texts = [!isSecureContext && say("insecure"), page.preview && say("preview"), ...more];
  return texts.filter(Boolean).map((text) => el("p", { class: "notice" }, text));
}

function languages() {
  const named = (tag) => [tag, new Intl.DisplayNames(tag, { type: "language" }).of(tag)];
  const here = study?.tags ? study.tag : language;
  const links = (study?.tags?.map(named) ?? page.languages).map(([lang, name]) =>
    el("a", { href: `?lang=${lang}${location.hash}`, lang, hreflang: lang, "aria-current": lang === here && "true" }, name),
  );
  return el("nav", { class: "languages", "aria-label": say("languages") }, ...links);
}

// During

const prepare = () =>
  (forming ??= bring("respond/form.js").then((module) => module.prepare(survey)).catch(() => showFailure(say("fail_load"))));

const showQuestions = () =>
  prepare()
    .then((Form) => {
      if (!Form || !(history.state?.during || page.at_questions)) return; // or went back while it came
      form ??= makeForm(Form);
      asked = true;
      show(el("header", {}, el("h1", { ...designer }, texts.title)), ...notices(!memory.works && say("no_memory")), form.element);
    })
    .catch(failed);

function makeForm(Form) {
  const made = new Form(
    survey,
    send,
    survey.blocks?.asks(drawn()) ?? (() => true),
    el("p", { class: "small" }, say("send_note")),
    button("back", goBack, "quiet"),
    bar(el("button", { type: "submit" }, say("send"))),
  );
  study?.arrange(made);
  return made;
}

const drawn = () => survey.blocks?.ranks(memory, !page.preview);

function send(answers) {
  if (page.preview) return announce(say("preview"));
  // Another tab may have drawn already: then that one counts. Drawn once, kept, and only then sent.
  try {
    if (!memory.recall()) memory.keep(newReport(survey, answers, undefined, drawn(), link.group));
  } catch (error) {
    if (!(error instanceof RandomnessError)) return form.summarize(say("fail_page"), el("p", {}, say("fail_nothing")));
    form = null;
    return showFailure(say("fail_chance"));
  }
  form.element.reset();
  form = null;
  asked = false;
  history.replaceState(null, "");
  return deliver();
}

// After

// Send what is kept, as it is; `quiet` leaves the screen alone.
async function deliver(quiet = false) {
  const record = memory.recall();
  if (!record) return quiet || showStart();
  if (!quiet) show(el("header", {}, el("h1", {}, say("sending"))));
  const found = await sender.send();
  // Not where the device was cleared while that was on its way.
  if (found?.sent && record.state === "waiting") ledger(({ note }) => memory.recall()?.id === record.id && note(survey), true);
  if (found?.sent) showSent(found.sent);
  else if (found) showWaiting(say(`was_${found.reason}`, { n: found.seconds }), found.again, quiet);
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
    el("header", { class: "done" }, el("h1", {}, say("sent")), el("p", { class: "lead" }, say("sent_text"))),
    (kiosk || !(oneSided || tier === "weak")) && el("p", {}, say(kiosk ? "kiosk_text" : "sent_stayed")),
    ...around(),
    // On a shared device the next person must not read the last one's report.
    ...(kiosk ? [bar(button("next", () => showStart()))] : [record.reports && whatWasSent(record), clearing()]),
  );
  announce(`${say("sent")}. ${say("sent_text")}`);
}

const around = () => [...(study?.after() ?? []), page.results && el("p", {}, el("a", { href: page.results }, say("results")))];

function showClosed() {
  show(el("header", {}, el("h1", { ...designer }, texts.title), el("p", { class: "notice" }, say("closed"))), ...around());
  announce(say("closed"));
}

function whatWasSent(record) {
  const items = survey.entries.map((entry, index) => {
    const report = record.reports[index];
    const any = anyAnswer(entry);
    const recorded = list((entry.line?.(report, optionLabels) ?? [reportLabel(entry, report)]).map(isolated));
    return el("li", {}, `${numbered(survey, [entry])}. `, say("recorded_as", { recorded }), any && `. ${any}`);
  });
  const sent = new TextDecoder().decode(reportBytes(survey, record, invitation()));
  const bytes = el("pre", { dir: "ltr", tabindex: "0" }, sent);
  return el("details", {}, el("summary", {}, say("sent_see")), bytes, el("ul", {}, ...items));
}

function showWaiting(text, again, quiet = false) {
  const problem = document.getElementById("problem");
  if (quiet && problem) problem.textContent = text;
  else {
    show(
      el("header", {}, el("h1", {}, say("waiting"))),
      ...notices(memory.isVolatile && say("no_memory")),
      el("p", { class: "notice", id: "problem", hidden: text ? false : "" }, text),
      again && el("p", {}, say("waiting_text")),
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
    earlier = "";
    begin(say("cleared"));
  }, "quiet");
  return el("details", {}, el("summary", {}, say("clear")), el("p", {}, say("clear_text")), clear);
}

function showFailure(text, heading = say("fail_heading")) {
  const why = text ? [el("p", { class: "notice" }, text), el("p", {}, say("fail_nothing"))] : [];
  show(el("header", {}, el("h1", {}, heading)), ...why);
  announce(`${heading}. ${text ?? ""}`);
}

const failed = () => showFailure(say("fail_page"));

// Screen

function show(...children) {
  const first = main.hasAttribute("aria-busy");
  main.removeAttribute("aria-busy");
  main.replaceChildren(...children.filter(Boolean));
  const heading = main.querySelector("h1");
  heading.tabIndex = -1;
  scrollTo(0, 0);
  if (!first) heading.focus({ preventScroll: true }); // a reader hears where they are
}

const bar = (made) => el("div", { class: "bar" }, made);

function button(label, action, kind = "") {
  const made = el("button", { type: "button", class: kind }, say(label));
  made.addEventListener("click", action);
  return made;
}

start().catch(failed);
