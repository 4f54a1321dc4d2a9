// The respondent's page: before, during, after. Everything is built from the verified document as text, never as HTML.
// Between loading and Send nothing is requested; what was chosen never leaves the form that is on the screen.

import { HushpollError, RandomnessError } from "../client/errors.js";
import { Memory, newReport, reportBytes, Sender } from "../client/report.js";
import { loadSurvey } from "../client/survey.js";
import { sha256 } from "../client/sha256.js";
import {
  anyAnswer, el, explain, howWeKnow, isolated, isOpen, numbered, oddsCards, optionLabels, paragraphs, reportLabel, say, section,
  whoTable,
} from "./explain.js";

const page = JSON.parse(document.getElementById("page-data").textContent);
const main = document.querySelector("main");
const announcer = document.getElementById("announcer");
const link = readLink(location.hash);
const WIDGETS = { options: choice }; // by what a kind asks for

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
  return loadSurvey(bytes, named);
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
  show(el("header", {}, el("h1", { dir: "auto" }, survey.title)), ...notices(!memory.works && say("no_memory")), form);
}

function makeForm() {
  const total = survey.questions.length;
  const cards = survey.questions.map((question, index) => {
    const draw = WIDGETS[question.kind.widget];
    const odds = el("div", { class: "small", id: `odds-${index}` }, ...paragraphs(explain(question), true));
    return el(
      "section",
      { class: "card" },
      el("p", { class: "eyebrow" }, say("question_of", { n: index + 1, total })),
      draw(`q${index}`, question.text, question, `odds-${index}`),
      question.decoy && el("p", { class: "eyebrow" }, say("second")),
      question.decoy && draw(`q${index}-second`, question.decoy, question, `odds-${index}`),
      odds,
    );
  });
  const summary = el("div", { class: "summary", tabindex: "-1", hidden: "" });
  const made = el(
    "form",
    { novalidate: "", autocomplete: "off" },
    summary,
    ...cards,
    el("p", { class: "small" }, say("send_note")),
    button("explain_again", () => history.back(), "quiet"),
    bar(el("button", { type: "submit" }, say("send"))),
  );
  made.addEventListener("submit", (event) => {
    event.preventDefault();
    send(summary);
  });
  return made;
}

// One group of options. The inputs have no name, so that no form could ever carry them; what a name does for radio
// buttons (arrow keys, one tab stop, "2 of 4") is done here.
function choice(id, text, question, describedBy) {
  const labels = optionLabels(question);
  const inputs = labels.map((_, index) =>
    el("input", {
      type: "radio",
      id: `${id}-${index}`,
      autocomplete: "off",
      tabindex: index && "-1",
      "aria-posinset": index + 1,
      "aria-setsize": labels.length,
    }),
  );
  const pick = (chosen) => {
    for (const input of inputs) {
      input.checked = input === chosen;
      input.tabIndex = input === chosen ? 0 : -1;
    }
    const group = chosen.closest("fieldset");
    group.querySelector(".error").hidden = true;
    group.setAttribute("aria-describedby", describedBy);
  };
  inputs.forEach((input, index) => {
    input.addEventListener("change", () => pick(input));
    input.addEventListener("keydown", (event) => {
      const forward = getComputedStyle(input).direction === "rtl" ? "ArrowLeft" : "ArrowRight";
      const step = { ArrowDown: 1, ArrowUp: -1, ArrowRight: -1, ArrowLeft: -1, [forward]: 1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const next = inputs[(index + step + inputs.length) % inputs.length];
      pick(next);
      next.focus();
    });
  });
  return el(
    "fieldset",
    { id, "aria-describedby": describedBy, "data-odds": describedBy },
    el("legend", { dir: "auto" }, text),
    el("p", { class: "error", id: `${id}-error`, hidden: "" }, say("open_here")),
    ...inputs.map((input, index) => el("label", { class: "option" }, input, el("span", { dir: "auto" }, labels[index]))),
  );
}

const chosen = (group) => [...group.querySelectorAll("input")].findIndex((input) => input.checked);

function send(summary) {
  const groups = [...form.querySelectorAll("fieldset")];
  const missing = groups.filter((group) => chosen(group) < 0);
  if (missing.length) return showMissing(summary, missing);
  if (page.preview) return announce(say("preview"));
  const group = (id) => chosen(groups.find((each) => each.id === id));
  const answers = survey.questions.map((question, index) =>
    question.decoy ? { answer: group(`q${index}`), decoy: group(`q${index}-second`) } : group(`q${index}`),
  );
  // Another tab may have drawn already: then that one counts. Drawn once, kept, and only then sent.
  try {
    if (!memory.recall()) memory.keep(newReport(survey, answers));
  } catch (error) {
    if (!(error instanceof RandomnessError)) return summarize(summary, say("fail_page"), el("p", {}, say("fail_nothing")));
    form = null;
    return showFailure(say("fail_chance"));
  }
  form.reset();
  form = null;
  history.replaceState(null, "");
  deliver();
}

function showMissing(summary, missing) {
  for (const group of missing) {
    const error = group.querySelector(".error");
    error.hidden = false;
    group.setAttribute("aria-describedby", `${error.id} ${group.dataset.odds}`);
  }
  const title = missing.length === 1 ? say("open_one") : say("open_many", { n: missing.length });
  const items = missing.map((group) => {
    const jump = el("a", { href: `#${group.id}` }, group.querySelector("legend").textContent);
    jump.addEventListener("click", (event) => {
      event.preventDefault(); // the fragment holds the survey's hash
      group.querySelector("input").focus();
    });
    return el("li", { dir: "auto" }, jump);
  });
  summarize(summary, title, el("ul", {}, ...items));
}

function summarize(summary, title, more) {
  summary.replaceChildren(el("h2", {}, title), more);
  summary.hidden = false;
  summary.setAttribute("role", "alert");
  summary.focus();
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

function announce(text) {
  announcer.textContent = text;
}

const bar = (made) => el("div", { class: "bar" }, made);

function button(label, action, kind = "") {
  const made = el("button", { type: "button", class: kind }, say(label));
  made.addEventListener("click", action);
  return made;
}

start().catch(() => showFailure(say("fail_page")));
