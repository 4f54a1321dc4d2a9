// One question at a time: a bar of progress, Back and Next, and all answers once more before Send.

import { announce, el, msg, style } from "./explain.js";

// Rules that only this module's elements need.
style(`
.away {
  display: none;
}

.progress {
  display: block;
  width: 100%;
  height: 0.5rem;
  margin-block-end: 1.25rem;
  accent-color: var(--hush-accent);
}

.steps-form .option {
  min-height: 3.5rem;
}
`);

const PAUSE = 250; // milliseconds to see what was chosen

/** Show the cards of a form one after the other; `heads` are its sections. */
export function inSteps({ element, cards, dropped }, heads) {
  const later = [...element.children].slice([...element.children].indexOf(cards.findLast(({ card }) => card.parentNode === element).card) + 1);
  const visible = () => cards.filter(({ card }) => card.parentNode === element && !card.hidden);
  const review = el("section", { class: "card review", tabindex: "-1" });
  const [back, next] = [stepButton("back", "quiet", () => go(at - 1)), stepButton("next_step", "", forward)];
  const steps = el("div", { class: "bar steps" }, back, next);
  const [leave, send] = [later.find((element) => element.matches("button")), later.find((element) => element.matches(".bar"))];
  const progress = el("progress", { class: "progress", "aria-hidden": "true" }); // each card says its number
  element.classList.add("steps-form");
  element.prepend(progress);
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
    Object.assign(progress, { max: here.length + 1, value: at + 1 });
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

  // After a tap or click on a single choice; never after a key.
  element.addEventListener("click", ({ detail, target }) => {
    const card = visible()[at];
    const isChoice = detail > 0 && target.closest(".option")?.querySelector("[type=radio]");
    if (!isChoice || !card?.card.contains(target)) return;
    setTimeout(() => {
      const isComplete = card.widgets.every((widget) => widget.answer() !== null);
      if (isComplete && visible()[at] === card) go(at + 1);
    }, PAUSE);
  });
  // Also while the page's heading has the focus, as it has at first.
  const keys = (event) => {
    if (!element.isConnected || event.target.closest(".trial")) return; // an example is no answer
    if (event.key === "Enter" && event.target.matches("[type=text]")) forward(); // a number checks itself, and submits nothing
    if (!/^[0-9]$/.test(event.key) || event.ctrlKey || event.altKey || event.metaKey) return;
    const focused = document.activeElement;
    if (focused.matches("[type=text], [type=search]")) return;
    const inputs = choices(visible()[at], focused);
    const named = inputs.findIndex((input) => labelOf(input) === event.key);
    const chosen = inputs[named >= 0 ? named : (Number(event.key) || 10) - 1];
    if (!chosen) return;
    chosen.focus();
    if (chosen.type === "checkbox") chosen.click();
    else if (!chosen.checked) {
      chosen.checked = true;
      chosen.dispatchEvent(new Event("change", { bubbles: true }));
    }
  };
  document.addEventListener("keydown", keys, { signal: dropped.signal });
  dropped.signal.addEventListener("abort", () => review.replaceChildren());
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

// The options of the group that has the focus, else of the first one.
function choices(card, focused) {
  const groups = card?.widgets.map(({ group }) => group) ?? [];
  const group = groups.find((group) => group.contains(focused)) ?? groups[0];
  const inputs = [...(group?.querySelectorAll("[type=radio], [type=checkbox]") ?? [])];
  return inputs.filter((input) => !input.closest("[hidden]"));
}

const labelOf = (input) => input.closest("label").querySelector("span").textContent;

function reviewed(group, change) {
  const legend = group.querySelector("legend");
  const answers = [...group.querySelectorAll("input")].flatMap((input) => {
    if (input.type === "text") return [`${input.value} ${input.nextSibling?.textContent ?? ""}`];
    return input.checked ? [labelOf(input)] : [];
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
