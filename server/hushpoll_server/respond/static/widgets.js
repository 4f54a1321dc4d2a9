// Widgets of a scale, a number and ticks; form.js says what a widget returns.

import { announce, designer, el, locale, msg, optionLabels, style, textOf } from "./explain.js";
import { control, frame, options, rows } from "./form.js";

// Rules that only this module's elements need.
style(`
.none {
  border-style: dashed;
}

.across {
  container-type: inline-size;
}

.scale {
  display: grid;
  grid-template-columns: repeat(auto-fit, minmax(2.5rem, 1fr));
  gap: 0.25rem;
  margin-block-end: 0.5rem;
}

.point {
  flex-direction: column;
  gap: 0.3rem;
  justify-content: center;
  min-height: 4rem;
  margin: 0;
  padding: 0;
}

.point span {
  flex: none;
  overflow-wrap: normal;
}

.ends {
  display: flex;
  gap: 1rem;
  justify-content: space-between;
}

.ends > :last-child {
  text-align: end;
}

.number {
  display: flex;
  flex-wrap: wrap;
  gap: 0.75rem;
  align-items: baseline;
}

/* All points in a row where there is room; on phones in two rows of about the same length. */
@container (min-width: 28rem) {
  .scale {
    grid-auto-flow: column;
    grid-template-columns: none;
    grid-auto-columns: 1fr;
  }
}

@container (min-width: 15rem) and (max-width: 28rem) {
  .across-11 {
    grid-template-columns: repeat(6, 1fr);
  }

  .across-8 {
    grid-template-columns: repeat(4, 1fr);
  }

  .across-9,
  .across-10 {
    grid-template-columns: repeat(5, 1fr);
  }
}
`);

export const WIDGETS = { scale, number, ticks };

const SHORT = 3; // characters of labels that fit side by side

// Points in a row, or in a column where each has a longer label.
function scale(widget) {
  const { question } = widget;
  const ends = question.answers.ends.length ? textOf({ ...question, labels: question.answers.ends }, "labels") : [];
  const abreast = optionLabels(question).every((label) => [...label].length <= SHORT);
  return options(widget, abreast ? (id, inputs, labels) => points(inputs, labels, ends) : rows);
}

function points(inputs, labels, ends) {
  const last = labels.length - 1;
  const meaning = (index) => ({ 0: ends[0], [last]: ends[1] })[index];
  const labelled = inputs.map((input, index) =>
    el(
      "label",
      { class: "option point" },
      input,
      el("span", { ...designer }, labels[index]),
      meaning(index) && el("span", { class: "unseen" }, meaning(index)),
    ),
  );
  const names = [0, last].map((index) => el("span", { ...designer }, `${labels[index]} = ${meaning(index)}`));
  return [
    el("div", { class: "across" }, el("div", { class: `scale across-${labels.length}` }, ...labelled)),
    ends.length && el("p", { class: "small ends", "aria-hidden": "true" }, ...names),
  ];
}

// A number with a comma or a point, spaces between thousands, or Arabic digits.
function number({ id, text, question, describedBy, changed }) {
  const { min, max, step, unit, stepsTo } = question.answers;
  const decimals = Math.max(...[min, step].map((spelled) => spelled.split(".")[1]?.length ?? 0));
  const isInteger = step === "1" && decimals === 0;
  const values = { min: localized(min), max: localized(max), step: localized(step) };
  const hint = el("p", { class: "small", id: `${id}-hint` }, msg(isInteger ? "number_whole" : "number_steps", values));
  const input = el("input", {
    type: "text",
    id: `${id}-0`,
    // Some phones' number pads have no minus sign.
    inputmode: min.startsWith("-") ? "text" : decimals ? "decimal" : "numeric",
    autocomplete: "off",
    spellcheck: "false",
    dir: "ltr",
    size: Math.max(min.length, max.length, 4) + decimals,
    "aria-labelledby": `${id}-legend ${id}-unit`,
    "aria-describedby": `${hint.id} ${describedBy}`,
  });
  const answer = () => {
    const value = readNumber(input.value, decimals);
    return value && stepsTo(value);
  };
  const problem = () => (answer() === null ? msg(isInteger ? "number_off_whole" : "number_off_steps", values) : "");
  const named = el("span", { ...designer, id: `${id}-unit` }, textOf({ ...question, unit }, "unit"));
  const content = [el("div", { class: "number" }, input, named)];
  const widget = frame({ id, text, describedBy }, { hint, problem, answer, content, described: [input] });
  input.addEventListener("input", () => {
    if (!problem()) widget.showError("");
    changed();
  });
  input.addEventListener("change", () => input.value.trim() && widget.check());
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault(); // only Send sends
    if (input.value.trim()) widget.check();
  });
  return widget;
}

/** Read typed text as [numerator, denominator]; null if it is not a number, or ambiguous. */
export function readNumber(typed, decimals) {
  const digits = /[\u0660-\u0669\u06f0-\u06f9]/g;
  const plain = typed
    .normalize("NFKC")
    .replace(digits, (digit) => digit.charCodeAt(0) & 15)
    .replace(/[\s\u200e\u200f\u061c]/g, "")
    .replace("\u2212", "-")
    .replace("\u066b", ".");
  const match = /^\+?(-?)(\d{1,20})(?:[.,](\d{1,40}))?$/.exec(plain);
  if (!match) return null;
  const [, sign, integer, fraction = ""] = match;
  // 1,000 is a thousand to some and one to others.
  if (fraction.length === 3 && decimals < 3) return null;
  return [BigInt(sign + integer + fraction), 10n ** BigInt(fraction.length)];
}

// A published decimal with the language's mark; the sign stays before the number.
function localized(spelled) {
  const mark = (0.5).toLocaleString(locale)[1];
  return `${spelled.startsWith("-") ? "\u200e" : ""}${spelled.replace(".", mark)}`;
}

// Any of the options; "none of these" has to be chosen, so that an empty answer is no oversight.
function ticks({ id, text, question, describedBy, changed }) {
  const labels = optionLabels(question);
  const { atMost } = question.answers;
  const inputs = labels.map((_, index) => control("checkbox", `${id}-${index}`));
  const none = control("checkbox", `${id}-none`);
  const ticked = () => [...inputs.keys()].filter((index) => inputs[index].checked);
  const answer = () => (ticked().length || none.checked ? ticked() : null);
  const tooMany = () => atMost !== null && ticked().length > atMost;
  const problem = () => {
    if (tooMany()) return msg("ticks_over", { n: ticked().length, most: atMost });
    return answer() === null ? msg("ticks_open", { none: msg("ticks_none") }) : "";
  };
  const few = atMost !== null && atMost < labels.length;
  const hint = el("p", { class: "small", id: `${id}-hint` }, few ? msg("ticks_at_most", { n: atMost }) : msg("ticks_any"));
  const content = [
    ...rows(id, inputs, labels, () => {}),
    el("label", { class: "option none" }, none, el("span", {}, msg("ticks_none"))),
  ];
  const widget = frame({ id, text, describedBy }, { hint, problem, answer, content });
  const follow = () => {
    widget.showError(tooMany() ? problem() : "");
    if (tooMany()) announce(problem());
    changed();
  };
  for (const input of inputs) {
    input.addEventListener("change", () => {
      if (input.checked) none.checked = false;
      follow();
    });
  }
  none.addEventListener("change", () => {
    for (const input of inputs.filter(({ checked }) => checked)) {
      input.checked = false;
      input.dispatchEvent(new Event("change", { bubbles: true }));
    }
    follow();
  });
  return widget;
}
