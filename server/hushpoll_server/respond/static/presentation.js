// What a survey shows around its questions: who asks, consent, sections, thanks, help, a quick exit, colours, a logo,
// languages.

import { contrast } from "../client/presentation.js";
import { sha256 } from "../client/sha256.js";
import { announce, designer, el, language, msg, page, style, translate } from "./explain.js";

// Rules that only this module's elements need.
style(`
.logo {
  display: block;
  max-width: 12rem;
  max-height: 4rem;
  margin-block-end: 0.75rem;
}

dt {
  font-weight: 600;
}

dd {
  margin: 0 0 0.75rem;
  overflow-wrap: anywhere;
}

.away {
  display: none;
}

.exit {
  position: sticky;
  top: 0.5rem;
  z-index: 1;
  align-self: flex-end;
  margin: 0.5rem 1rem 0;
}

button.exit {
  background: var(--hush-surface);
}
`);

const RIGHT_TO_LEFT = /^(ar|arc|ckb|dv|fa|he|ks|ku-Arab|ps|sd|ug|ur|yi)\b/;
const DARK = { paper: "#192326", ink: "#0b1416" };

/** What the verified document says around its questions; `texts` are those of one language. */
export async function present(survey) {
  const { presentation = {}, translations = {} } = survey;
  const { look = {}, asked_by: askedBy } = presentation;
  const tags = survey.language && [survey.language, ...Object.keys(translations)];
  const tag = tags && chosen(tags);
  const texts = { ...survey, ...presentation, ...translations[tag] };
  if (tag) Object.assign(designer, { lang: tag, dir: RIGHT_TO_LEFT.test(tag) ? "rtl" : "ltr" });
  translate(translations[tag]?.questions ?? {});
  if (look.accent) paint(look.accent);
  const logo = look.logo && (await picture(look.logo));
  if (look.quick_exit) addExit();
  return {
    texts,
    tags: survey.translations && tags,
    tag,
    quick: look.quick_exit ?? false,
    head: () => askedBy && el("p", { ...designer, class: "asked-by eyebrow" }, logo && logo.cloneNode(), askedBy.name),
    below: () => askedBy && whoAsks(askedBy),
    consent: () => (texts.consent ? consent(texts.consent) : null),
    after: () => [texts.thanks && el("p", { ...designer, class: "intro thanks" }, texts.thanks), texts.help && help(texts.help)],
    arrange: (form) => arrange(form, survey, texts.sections ?? [], look.layout === "steps"),
  };
}

// The language from the address, the browser, the page, or the survey.
function chosen(tags) {
  const preferences = [new URLSearchParams(location.search).get("lang"), ...navigator.languages, language].filter(Boolean);
  const fits = (preferred) => tags.find((tag) => tag === preferred) ?? tags.find((tag) => tag.split("-")[0] === preferred.split("-")[0]);
  return preferences.map(fits).find(Boolean) ?? tags[0];
}

function whoAsks({ contact, approval, notice }) {
  const address = notice?.startsWith("https:") ? el("a", { href: notice, rel: "noreferrer" }, notice) : notice;
  const rows = [["contact", contact], ["approval", approval], ["notice", address]].filter(([, text]) => text);
  const lines = rows.flatMap(([key, text]) => [el("dt", {}, msg(key)), el("dd", { ...designer }, text)]);
  const withdraw = el("p", {}, msg("stop_any_time"));
  return el("details", { class: "asked-by" }, el("summary", {}, msg("who_asks")), rows.length > 0 && el("dl", {}, ...lines), withdraw);
}

function consent(text) {
  const box = el("input", { type: "checkbox", id: "consent", autocomplete: "off", "aria-describedby": "consent-error" });
  const error = el("p", { class: "error", id: "consent-error", hidden: "" }, msg("consent_open"));
  box.addEventListener("change", () => (error.hidden = box.checked));
  const isGiven = () => {
    error.hidden = box.checked;
    if (!box.checked) box.focus();
    return box.checked;
  };
  return { element: el("div", { class: "consent" }, error, el("label", { class: "option" }, box, el("span", { ...designer }, text))), isGiven };
}

function help(addresses) {
  const links = addresses.map(({ label, url }) => el("li", {}, el("a", { ...designer, href: url, rel: "noreferrer" }, label)));
  return el("section", { class: "help" }, el("h2", {}, msg("help_heading")), el("ul", {}, ...links));
}

// Sections, and one question at a time

// A section ends where the next begins. Some of its questions, or all, may be hidden.
function arrange(form, survey, sections, steps) {
  const { questions, presentation } = survey;
  const starts = sections.map((_, index) => questions.findIndex(({ id }) => id === presentation.sections[index].before));
  const heads = sections.map(({ title, text }, index) => {
    const all = form.cards.slice(starts[index], starts[index + 1]).map(({ card }) => card);
    const cards = all.filter((card) => card.parentNode === form.element);
    const head = el("div", { class: "section" }, el("h2", { ...designer }, title), text && el("p", { ...designer, class: "intro" }, text));
    cards[0]?.before(head);
    return { head, cards };
  });
  const follow = () => heads.forEach(({ head, cards }) => (head.hidden = cards.every(({ hidden }) => hidden)));
  form.element.addEventListener("change", follow);
  follow();
  if (steps) inSteps(form, heads);
}

function inSteps({ element, cards }, heads) {
  const later = [...element.children].slice([...element.children].indexOf(cards.findLast(({ card }) => card.parentNode === element).card) + 1);
  const visible = () => cards.filter(({ card }) => card.parentNode === element && !card.hidden);
  const review = el("section", { class: "card review", tabindex: "-1" });
  const [back, next] = [stepButton("back", "quiet", () => go(at - 1)), stepButton("next_step", "", forward)];
  const steps = el("div", { class: "bar steps" }, back, next);
  const [leave, send] = [later.find((element) => element.matches("button")), later.find((element) => element.matches(".bar"))];
  later[0].before(review);
  element.append(steps);
  let at = 0;

  function go(to, quiet = false) {
    const here = visible();
    at = Math.max(0, Math.min(to, here.length));
    const last = at === here.length;
    for (const { card } of cards) card.classList.toggle("away", card !== here[at]?.card);
    const holds = ({ cards }, index) => cards.includes(here[index]?.card);
    for (const section of heads) section.head.classList.toggle("away", !holds(section, at) || holds(section, at - 1));
    for (const element of [review, ...later]) element.classList.toggle("away", !last);
    steps.classList.toggle("away", last);
    (last ? send : steps).prepend(at === 0 ? leave : back);
    leave.classList.toggle("away", at > 0);
    back.classList.toggle("away", at === 0);
    if (last) fill(here);
    if (quiet) return;
    const step = last ? review : here[at].card;
    step.tabIndex = -1;
    step.focus({ preventScroll: true });
    scrollTo(0, 0);
    announce(last ? msg("review") : step.firstChild.textContent);
  }

  function forward() {
    const open = visible()[at]?.widgets.filter((widget) => widget.check()) ?? [];
    if (open.length) open[0].group.querySelector("input:not([tabindex='-1'])").focus();
    else go(at + 1);
  }

  function fill(here) {
    const rows = here.flatMap(({ widgets }, index) => widgets.map(({ group }) => reviewed(group, () => go(index))));
    review.replaceChildren(el("h2", {}, msg("review")), el("dl", {}, ...rows.flat()));
  }

  element.addEventListener(
    "submit",
    (event) => {
      if (at === visible().length) return;
      event.preventDefault(); // Enter in a field is the next step, not the end
      event.stopImmediatePropagation();
      forward();
    },
    true,
  );
  go(0, true);
}

function reviewed(group, change) {
  const legend = group.querySelector("legend");
  const answers = [...group.querySelectorAll("input")].flatMap((input) => {
    if (input.type === "text") return [`${input.value} ${input.nextSibling?.textContent ?? ""}`];
    return input.checked ? [input.closest("label").querySelector("span").textContent] : [];
  });
  const button = stepButton("change", "quiet plain", change);
  button.setAttribute("aria-describedby", legend.id);
  return [el("dt", { dir: legend.dir, lang: legend.lang || false }, legend.textContent), el("dd", { dir: "auto" }, answers.join(", "), " ", button)];
}

function stepButton(label, kind, action) {
  const element = el("button", { type: "button", class: kind }, msg(label));
  element.addEventListener("click", action);
  return element;
}

// The quick exit replaces the page and its entry in the history.
function addExit() {
  const leave = () => {
    document.body.replaceChildren();
    dispatchEvent(new Event("hushpoll:leave")); // the page forgets what the device stores
    location.replace(`https://${language}.wikipedia.org/`);
  };
  addEventListener("keydown", (event) => event.key === "Escape" && leave());
  const keys = matchMedia("(hover: hover) and (pointer: fine)").matches;
  const exit = el("button", { type: "button", class: "exit quiet" }, msg(keys ? "exit_key" : "exit"));
  exit.addEventListener("click", leave);
  document.body.prepend(exit);
  document.title = msg("neutral");
}

// The picture whose SHA-256 the document states, or none.
async function picture(hash) {
  try {
    const response = await fetch(page.logo); // on its way since the page began
    const bytes = new Uint8Array(await response.arrayBuffer());
    if (!response.ok || sha256(bytes) !== hash) return null;
    const type = response.headers.get("Content-Type");
    return el("img", { class: "logo", alt: "", src: `data:${type};base64,${btoa(String.fromCharCode(...bytes))}` });
  } catch {
    return null;
  }
}

// The designer's colour; on a dark background lightened until it has the same contrast.
function paint(accent) {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    let colour = accent;
    for (let share = 0; dark.matches && contrast(colour, DARK.paper) < 4.5; share += 0.05) colour = mix(accent, "#ffffff", share);
    const strong = mix(colour, dark.matches ? "#ffffff" : "#000000", 0.25);
    const soft = mix(colour, dark.matches ? DARK.paper : "#fffdf9", 0.88);
    const colours = { accent: colour, "accent-strong": strong, "accent-soft": soft, "on-accent": dark.matches ? DARK.ink : "#ffffff" };
    for (const [name, value] of Object.entries(colours)) document.documentElement.style.setProperty(`--hush-${name}`, value);
  };
  dark.addEventListener("change", apply);
  apply();
}

function mix(first, second, share) {
  const channels = [1, 3, 5].map((index) => {
    const [from, to] = [first, second].map((colour) => parseInt(colour.slice(index, index + 2), 16));
    return Math.round(from + (to - from) * share).toString(16).padStart(2, "0");
  });
  return `#${channels.join("")}`;
}
