// The questions, one card each. Answers exist only in these elements; no input has a name, so that no form can send it.

import { isShown } from "../client/report.js";
import { picture, tryIt } from "./examples.js";
import { announce, designer, el, explain, folded, list, loadModule, msg, optionLabels, page, textOf } from "./explain.js";

/** The control of a kind: {group, problem(), answer()}, where the answer is null while there is none. */
const WIDGETS = { options };
let search = null; // for long lists

/** Load what the questions need; return the class of the form. */
export async function prepare({ questions }) {
  if (questions.some(({ kind }) => !WIDGETS[kind.widget])) Object.assign(WIDGETS, (await loadModule("respond/widgets.js")).WIDGETS);
  if (questions.some(({ options }) => options.length > page.long)) search = await loadModule("respond/search.js");
  return Form;
}

/** The form of a survey; `send` is called with the true answers once there are all of them. */
class Form {
  constructor(survey, send, isAsked, ...below) {
    this.questions = survey.questions;
    Object.assign(this, { send, isAsked });
    // A question that a rule hides keeps its number, so that no number depends on an answer.
    const numbered = this.questions.filter((_, index) => isAsked(index));
    this.numbers = this.questions.map((question) => ({ n: numbered.indexOf(question) + 1, total: numbered.length }));
    this.cards = survey.questions.map((question, index) => this.#card(question, index));
    this.summary = el("div", { class: "summary", tabindex: "-1", hidden: "" });
    const cards = this.cards.map(({ card }) => card).filter((_, index) => isAsked(index));
    this.element = el("form", { novalidate: "", autocomplete: "off" }, this.summary, ...cards, ...below);
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit();
    });
    this.dropped = new AbortController(); // ends what listens outside of the form, and would keep its answers in memory
    this.#follow();
  }

  /** Forget the answers, also where somebody still holds an element. */
  drop() {
    this.dropped.abort();
    this.element.reset();
  }

  #card(question, index) {
    const describedBy = `odds-${index}`;
    const draw = (id, text) =>
      WIDGETS[question.kind.widget]({ id, text, question, describedBy, changed: () => this.#follow(true) });
    const first = draw(`q${index}`, textOf(question, "text"));
    const second = question.decoy && draw(`q${index}-second`, textOf(question, "decoy"));
    const card = el(
      "section",
      { class: "card" },
      el("p", { class: "eyebrow" }, msg("question_of", this.numbers[index])),
      first.group,
      second && el("p", { class: "eyebrow" }, msg("second")),
      second && second.group,
      folded(explain(question), describedBy, picture(question), tryIt(question)),
    );
    const answer = () => (second ? { answer: first.answer(), decoy: second.answer() } : first.answer());
    return { card, widgets: second ? [first, second] : [first], answer };
  }

  /** The true answers; a question that is not shown does not apply, which is the index after its last option. */
  #answers() {
    const answers = [];
    this.questions.forEach((question, index) => {
      const answer = isShown(question, answers) ? this.cards[index].answer() : question.options.length;
      answers.push(this.isAsked(index) ? answer : null);
    });
    return answers;
  }

  // Show what the skip rules ask for. A rule points back, so what changes is below the focus.
  #follow(aloud = false) {
    const answers = this.#answers();
    const moved = { skip_more: [], skip_less: [] };
    this.questions.forEach((question, index) => {
      const { card } = this.cards[index];
      const hidden = !this.isAsked(index) || !isShown(question, answers);
      if (card.hidden !== hidden) moved[hidden ? "skip_less" : "skip_more"].push(msg("question", this.numbers[index]));
      card.hidden = hidden;
    });
    const changes = Object.entries(moved).filter(([, cards]) => cards.length);
    if (aloud && changes.length) announce(changes.map(([key, cards]) => msg(key, { list: list(cards) })).join(" "));
  }

  #submit() {
    const widgets = this.cards.filter(({ card }) => !card.hidden).flatMap(({ widgets }) => widgets);
    const open = widgets.filter((widget) => widget.check());
    if (open.length) return this.#showOpen(open);
    return this.send(this.#answers());
  }

  #showOpen(open) {
    const title = open.length === 1 ? msg("open_one") : msg("open_many", { n: open.length });
    const items = open.map(({ group }) => {
      const jump = el("a", { href: `#${group.id}` }, group.querySelector("legend").textContent);
      jump.addEventListener("click", (event) => {
        event.preventDefault(); // the fragment holds the survey's hash
        group.querySelector("input:not([tabindex='-1'])").focus();
      });
      return el("li", { dir: "auto" }, jump);
    });
    this.summarize(title, el("ul", {}, ...items));
  }

  summarize(title, more) {
    this.summary.replaceChildren(el("h2", {}, title), more);
    this.summary.hidden = false;
    this.summary.setAttribute("role", "alert");
    this.summary.focus();
  }
}

/**
 * What all widgets share: a group with its question as legend, an error that `showError` shows or, with "", hides, and
 * `check`, which shows the `problem` if there is one. The error describes the elements in `described`.
 */
export function frame({ id, text, describedBy }, { hint, problem, answer, content, described = [] }) {
  const error = el("p", { class: "error", id: `${id}-error`, hidden: "" });
  const about = [hint?.id, describedBy].filter(Boolean).join(" ");
  const legend = el("legend", { ...designer, id: `${id}-legend` }, text);
  const group = el("fieldset", { id, "aria-describedby": about }, legend, hint, error, ...content);
  const showError = (message) => {
    error.textContent = message;
    error.hidden = !message;
    for (const element of [group, ...described]) element.setAttribute("aria-describedby", message ? `${error.id} ${about}` : about);
    for (const element of described) element.setAttribute("aria-invalid", String(Boolean(message)));
  };
  const check = () => {
    showError(problem());
    return Boolean(problem());
  };
  return { group, showError, check, answer };
}

/** A radio button or checkbox. */
export const control = (type, id) => el("input", { type, id, autocomplete: "off" });

/** A control with its label, as a row. */
export function row(input, text) {
  const ours = ["yes", "no", "prefer_not"].some((key) => msg(key) === text);
  return el("label", { class: "option" }, input, el("span", ours ? {} : { ...designer }, text));
}

/** Rows in a box; where they are many, with a search. `refresh` is called when some of them were hidden or shown. */
export function rows(id, inputs, labels, refresh) {
  const labelled = inputs.map((input, index) => row(input, labels[index]));
  return labels.length > page.long ? search.searchable(id, labelled, labels, refresh) : labelled;
}

/**
 * Make inputs without a name work as radio buttons: arrow keys, one tab stop, "2 of 4".
 * Returns `chosen`, the index or null, and `refresh` for when some were hidden or shown.
 */
function pickOne(inputs, picked) {
  const visible = () => inputs.filter((input) => !input.closest("[hidden]"));
  const refresh = () => {
    const here = visible();
    const stop = here.find((input) => input.checked) ?? here[0];
    here.forEach((input, index) => {
      input.tabIndex = input === stop ? 0 : -1;
      input.setAttribute("aria-posinset", index + 1);
      input.setAttribute("aria-setsize", here.length);
    });
  };
  const pick = (chosen) => {
    for (const input of inputs) input.checked = input === chosen;
    refresh();
    picked();
  };
  for (const input of inputs) {
    input.addEventListener("change", () => pick(input));
    input.addEventListener("keydown", (event) => {
      const forward = getComputedStyle(input).direction === "rtl" ? "ArrowLeft" : "ArrowRight";
      const step = { ArrowDown: 1, ArrowUp: -1, ArrowRight: -1, ArrowLeft: -1, [forward]: 1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const here = visible();
      const next = here[(here.indexOf(input) + step + here.length) % here.length];
      next.checked = true;
      next.focus();
      next.dispatchEvent(new Event("change", { bubbles: true }));
    });
  }
  refresh();
  return { refresh, chosen: () => (inputs.some((input) => input.checked) ? inputs.findIndex((input) => input.checked) : null) };
}

/** One of the options, in rows or laid out otherwise. */
export function options({ id, text, question, describedBy, changed }, layOut = rows) {
  const labels = optionLabels(question);
  const inputs = labels.map((_, index) => control("radio", `${id}-${index}`));
  const { chosen, refresh } = pickOne(inputs, () => {
    widget.showError("");
    changed();
  });
  const problem = () => (chosen() === null ? msg("open_here") : "");
  const widget = frame({ id, text, describedBy }, { problem, answer: chosen, content: layOut(id, inputs, labels, refresh) });
  return widget;
}
