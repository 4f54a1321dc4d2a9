// What a survey shows around its questions: who asks, consent, sections, thanks, help, a quick exit, colours, a logo,
// languages.

import { contrast } from "../client/presentation.js";
import { sha256 } from "../client/sha256.js";
import { announce, designer, el, language, page, say, style, translate } from "./explain.js";

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

/** Everything that the page asks about, made of what the verified document says; `texts` are those of one language. */
export async function study(survey) {
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
  const asked = [new URLSearchParams(location.search).get("lang"), ...navigator.languages, language].filter(Boolean);
  const fits = (one) => tags.find((tag) => tag === one) ?? tags.find((tag) => tag.split("-")[0] === one.split("-")[0]);
  return asked.map(fits).find(Boolean) ?? tags[0];
}

function whoAsks({ contact, approval, notice }) {
  const address = notice?.startsWith("https:") ? el("a", { href: notice, rel: "noreferrer" }, notice) : notice;
  const rows = [["contact", contact], ["approval", approval], ["notice", address]].filter(([, told]) => told);
  const lines = rows.flatMap(([key, told]) => [el("dt", {}, say(key)), el("dd", { ...designer }, told)]);
  const withdraw = el("p", {}, say("stop_any_time"));
  return el("details", { class: "asked-by" }, el("summary", {}, say("who_asks")), rows.length > 0 && el("dl", {}, ...lines), withdraw);
}

function consent(text) {
  const box = el("input", { type: "checkbox", id: "consent", autocomplete: "off", "aria-describedby": "consent-error" });
  const error = el("p", { class: "error", id: "consent-error", hidden: "" }, say("consent_open"));
  box.addEventListener("change", () => (error.hidden = box.checked));
  const given = () => {
    error.hidden = box.checked;
    if (!box.checked) box.focus();
    return box.checked;
  };
  return { element: el("div", { class: "consent" }, error, el("label", { class: "option" }, box, el("span", { ...designer }, text))), given };
}

function help(addresses) {
  const links = addresses.map(({ label, url }) => el("li", {}, el("a", { ...designer, href: url, rel: "noreferrer" }, label)));
  return el("section", { class: "help" }, el("h2", {}, say("help_heading")), el("ul", {}, ...links));
}

// Sections, and one question at a time

// A section ends where the next begins. Some of its questions, or all, may be hidden.
function arrange(form, survey, sections, steps) {
  const { questions, presentation } = survey;
  const starts = sections.map((_, place) => questions.findIndex(({ id }) => id === presentation.sections[place].before));
  const heads = sections.map(({ title, text }, place) => {
    const own = form.cards.slice(starts[place], starts[place + 1]).map(({ card }) => card);
    const cards = own.filter((card) => card.parentNode === form.element);
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
  const asked = () => cards.filter(({ card }) => card.parentNode === element && !card.hidden);
  const review = el("section", { class: "card review", tabindex: "-1" });
  const [back, next] = [stepButton("back", "quiet", () => go(at - 1)), stepButton("next_step", "", forward)];
  const steps = el("div", { class: "bar steps" }, back, next);
  const [leave, send] = [later.find((one) => one.matches("button")), later.find((one) => one.matches(".bar"))];
  later[0].before(review);
  element.append(steps);
  let at = 0;

  function go(to, quiet = false) {
    const here = asked();
    at = Math.max(0, Math.min(to, here.length));
    const last = at === here.length;
    for (const { card } of cards) card.classList.toggle("away", card !== here[at]?.card);
    const stands = ({ cards }, place) => cards.includes(here[place]?.card);
    for (const one of heads) one.head.classList.toggle("away", !stands(one, at) || stands(one, at - 1));
    for (const one of [review, ...later]) one.classList.toggle("away", !last);
    steps.classList.toggle("away", last);
    (last ? send : steps).prepend(at === 0 ? leave : back);
    leave.classList.toggle("away", at > 0);
    back.classList.toggle("away", at === 0);
    if (last) fill(here);
    if (quiet) return;
    const shown = last ? review : here[at].card;
    shown.tabIndex = -1;
    shown.focus({ preventScroll: true });
    scrollTo(0, 0);
    announce(last ? say("review") : shown.firstChild.textContent);
  }

  function forward() {
    const open = asked()[at]?.widgets.filter((widget) => widget.check()) ?? [];
    if (open.length) open[0].group.querySelector("input:not([tabindex='-1'])").focus();
    else go(at + 1);
  }

  function fill(here) {
    const rows = here.flatMap(({ widgets }, place) => widgets.map(({ group }) => reviewed(group, () => go(place))));
    review.replaceChildren(el("h2", {}, say("review")), el("dl", {}, ...rows.flat()));
  }

  element.addEventListener(
    "submit",
    (event) => {
      if (at === asked().length) return;
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
  const given = [...group.querySelectorAll("input")].flatMap((input) => {
    if (input.type === "text") return [`${input.value} ${input.nextSibling?.textContent ?? ""}`];
    return input.checked ? [input.closest("label").querySelector("span").textContent] : [];
  });
  const button = stepButton("change", "quiet plain", change);
  button.setAttribute("aria-describedby", legend.id);
  return [el("dt", { dir: legend.dir, lang: legend.lang || false }, legend.textContent), el("dd", { dir: "auto" }, given.join(", "), " ", button)];
}

function stepButton(label, kind, action) {
  const made = el("button", { type: "button", class: kind }, say(label));
  made.addEventListener("click", action);
  return made;
}

// The quick exit replaces the page and its entry in the history.
function addExit() {
  const leave = () => {
    document.body.replaceChildren();
    dispatchEvent(new Event("hushpoll:leave")); // the page forgets what the device keeps
    location.replace(`https://${language}.wikipedia.org/`);
  };
  addEventListener("keydown", (event) => event.key === "Escape" && leave());
  const keys = matchMedia("(hover: hover) and (pointer: fine)").matches;
  const exit = el("button", { type: "button", class: "exit quiet" }, say(keys ? "exit_key" : "exit"));
  exit.addEventListener("click", leave);
  document.body.prepend(exit);
  document.title = say("neutral");
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

function mix(one, other, share) {
  const parts = [1, 3, 5].map((place) => {
    const [from, to] = [one, other].map((colour) => parseInt(colour.slice(place, place + 2), 16));
    return Math.round(from + (to - from) * share).toString(16).padStart(2, "0");
  });
  return `#${parts.join("")}`;
}
