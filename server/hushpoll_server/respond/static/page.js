// The respondent's page: before, during, after. Everything is built from the verified document as text, never as HTML.
// Between loading and Send nothing is requested; what was chosen never leaves the form that is on the screen.

import { HushpollError, RandomnessError } from "../client/errors.js";
import { Memory, newReport, reportBytes, Sender } from "../client/report.js";
import { loadSurvey } from "../client/survey.js";
import { sha256 } from "../client/sha256.js";
import {
  announce, anyAnswer, el, howWeKnow, isolated, isOpen, numbered, oddsCards, page, reportLabel, say, section, whoTable,
} from "./explain.js";
import { bring, Form, prepare } from "./form.js";

const main = document.querySelector("main");
const link = readLink(location.hash);

let survey, memory, sender;
let form; // lives in memory only, and only until Send

class Refusal extends HushpollError {}

async function start() {
  addEventListener("hashchange", () => location.reload()); // another link, perhaps with an invitation
  addEventListener("pageshow", (event) => event.persisted && location.reload()); // no half-filled form on a shared device
  addEventListener("popstate", (event) => survey && !memory.recall() && (event.state?.during ? showQuestions() : showStart()));
  addEventListener("online", () => sender?.isWaiting && deliver(true));
  try {
    survey = await load();
  } catch (error) {
    if (!(error instanceof HushpollError)) throw error;
    return showFailure(error instanceof Refusal ? error.message : say("fail_refused", { reason: error.message }));
  }
  memory = new Memory(survey);
  sender = new Sender({ url: page.reports, memory, invitation: invitation(), retry: () => deliver(true) });
  document.title = survey.title;
  history.replaceState(null, "");
  const record = memory.recall();
  if (record) showRecord(record);
  else if (page.closed) showFailure(null, say("closed"));
  else showStart();
}

// "#<hash>" or "#<hash>.<invitation>": the part of a link that no server sees.
function readLink(fragment) {
  const [hash, ...code] = fragment.slice(1).split(".");
  return { hash: hash || null, code: code.length ? code.join(".") : null };
}

async function load() {
  // The hash in the fragment, or else in the address, says which survey is meant; a draft's preview has neither.
  const named = link.hash ?? /\/s\/([0-9a-f]{64})/.exec(location.pathname)?.[1] ?? page.hash;
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
  try {
    read = loadSurvey(bytes, named);
  } catch (error) {
    if (!(error instanceof HushpollError)) throw error;
    await fetched(bring("client/more.js")); // it may ask for something that most surveys do without
    read = loadSurvey(bytes, named);
  }
  await fetched(prepare(read));
  return read;
}

// Before

function showStart(notice) {
  const open = survey.questions.some(isOpen);
  show(
    el(
      "header",
      {},
      el("h1", { dir: "auto" }, survey.title),
      survey.intro && el("p", { class: "intro", dir: "auto" }, survey.intro),
    ),
    ...notices(notice, survey.settings.invitation && !link.code && !page.preview && say("no_code")),
    el("p", { class: "lead" }, say(open ? "lead_open" : "lead")),
    ...oddsCards(survey),
    whoTable(survey),
    section(
      "stored_heading",
      el("p", {}, say("stored")),
      el("p", {}, say("not_stored")),
      survey.settings.invitation && el("p", {}, say("stored_invitation")),
    ),
    howWeKnow(survey, link.hash),
    !page.preview && languages(),
    bar(
      button("start", () => {
        history.pushState({ during: true }, "");
        showQuestions();
      }),
    ),
  );
  if (notice) announce(notice);
}

function notices(...more) {
  const texts = [!isSecureContext && say("insecure"), page.preview && say("preview"), ...more];
  return texts.filter(Boolean).map((text) => el("p", { class: "notice" }, text));
}

function languages() {
  const here = document.documentElement.lang;
  const links = page.languages.map(([lang, name]) =>
    el("a", { href: `?lang=${lang}${location.hash}`, lang, hreflang: lang, "aria-current": lang === here && "true" }, name),
  );
  return el("nav", { class: "languages", "aria-label": say("languages") }, ...links);
}

// During

function showQuestions() {
  form ??= makeForm();
  show(el("header", {}, el("h1", { dir: "auto" }, survey.title)), ...notices(!memory.works && say("no_memory")), form.element);
}

function makeForm() {
  return new Form(
    survey,
    send,
    el("p", { class: "small" }, say("send_note")),
    button("explain_again", () => history.back(), "quiet"),
    bar(el("button", { type: "submit" }, say("send"))),
  );
}

function send(answers) {
  if (page.preview) return announce(say("preview"));
  // Another tab may have drawn already: then that one counts. Drawn once, kept, and only then sent.
  try {
    if (!memory.recall()) memory.keep(newReport(survey, answers));
  } catch (error) {
    if (!(error instanceof RandomnessError)) return form.summarize(say("fail_page"), el("p", {}, say("fail_nothing")));
    form = null;
    return showFailure(say("fail_chance"));
  }
  form.element.reset();
  form = null;
  history.replaceState(null, "");
  return deliver();
}

// After

// Send what is kept, as it is. `quiet` is an attempt that nobody asked for just now: it leaves the screen alone.
async function deliver(quiet = false) {
  if (!memory.recall()) return quiet || showStart();
  if (!quiet) show(el("header", {}, el("h1", {}, say("sending"))));
  const found = await sender.send();
  if (found?.sent) showSent(found.sent);
  else if (found) showWaiting(say(`was_${found.reason}`, { n: found.seconds }), found.again, quiet);
}

const invitation = () => (survey.settings.invitation ? link.code : null);

function showRecord(record) {
  if (record.state === "sent") showSent(record);
  else showWaiting("", true);
}

function showSent(record) {
  const { kiosk } = survey.settings;
  show(
    el("header", { class: "done" }, el("h1", {}, say("sent")), el("p", { class: "lead" }, say("sent_text"))),
    !survey.questions.some(isOpen) && el("p", {}, say("sent_stayed")),
    kiosk && el("p", {}, say("kiosk_text")),
    // On a shared device the next person must not read the last one's report.
    ...(kiosk ? [bar(button("next", () => showStart()))] : [whatWasSent(record), clearing()]),
  );
  announce(`${say("sent")}. ${say("sent_text")}`);
}

function whatWasSent(record) {
  const items = survey.questions.map((question, index) => {
    const recorded = isolated(reportLabel(question, record.reports[index]));
    const any = anyAnswer(question);
    return el("li", {}, `${numbered([index + 1])}. `, say("recorded_as", { recorded }), any && `. ${any}`);
  });
  const sent = new TextDecoder().decode(reportBytes(record, invitation()));
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
    memory.forget();
    showStart(say("cleared"));
  }, "quiet");
  return el("details", {}, el("summary", {}, say("clear")), el("p", {}, say("clear_text")), clear);
}

function showFailure(text, heading = say("fail_heading")) {
  const why = text ? [el("p", { class: "notice" }, text), el("p", {}, say("fail_nothing"))] : [];
  show(el("header", {}, el("h1", {}, heading)), ...why);
  announce(`${heading}. ${text ?? ""}`);
}

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

start().catch(() => showFailure(say("fail_page")));
