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
    arrange: (form) => arrange(form, survey, texts.sections ?? []),
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

// A section ends where the next begins. Some of its questions, or all, may be hidden.
function arrange(form, survey, sections) {
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
  return heads;
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
