// Widgets of kinds that many surveys do without: a scale, a number, ticks. See form.js for what a widget gives.

import { announce, el, language, optionLabels, say } from "./explain.js";
import { control, frame, pickOne, rows } from "./form.js";

export const WIDGETS = { scale, number, ticks };

const SHORT = 3; // characters of labels that fit beside each other

// Points beside each other, or below each other where each has a label of its own that is longer.
function scale({ id, text, question, describedBy, changed }) {
  const { labels, ends } = question.answers;
  const inputs = labels.map((_, index) => control("radio", `${id}-${index}`));
  const { chosen, refresh } = pickOne(inputs, () => {
    made.tell("");
    changed();
  });
  const problem = () => (chosen() === null ? say("open_here") : "");
  const abreast = labels.every((label) => [...label].length <= SHORT);
  const content = abreast ? points(inputs, labels, ends) : rows(id, inputs, labels, refresh);
  const made = frame({ id, text, describedBy }, { problem, answer: chosen, content });
  return made;
}

function points(inputs, labels, ends) {
  const last = labels.length - 1;
  const meaning = (index) => ({ 0: ends[0], [last]: ends[1] })[index];
  const made = inputs.map((input, index) =>
    el(
      "label",
      { class: "point" },
      input,
      el("span", { dir: "auto" }, labels[index]),
      meaning(index) && el("span", { class: "unseen" }, meaning(index)),
    ),
  );
  const names = [0, last].map((index) => el("span", { dir: "auto" }, `${labels[index]} = ${meaning(index)}`));
  return [
    el("div", { class: `scale across-${labels.length}` }, ...made),
    ends.length && el("p", { class: "small ends", "aria-hidden": "true" }, ...names),
  ];
}

// A number as people write it: with a comma or a point, with spaces between thousands, in Arabic digits.
function number({ id, text, question, describedBy, changed }) {
  const { min, max, step, unit, stepsTo } = question.answers;
  const places = Math.max(...[min, step].map((spelled) => spelled.split(".")[1]?.length ?? 0));
  const wholes = step === "1" && places === 0;
  const values = { min: local(min), max: local(max), step: local(step) };
  const hint = el("p", { class: "small", id: `${id}-hint` }, say(wholes ? "number_whole" : "number_steps", values));
  const input = el("input", {
    type: "text",
    id: `${id}-0`,
    // Some phones' number pads have no minus sign.
    inputmode: min.startsWith("-") ? "text" : places ? "decimal" : "numeric",
    autocomplete: "off",
    spellcheck: "false",
    dir: "ltr",
    size: Math.max(min.length, max.length, 4) + places,
    "aria-labelledby": `${id}-legend ${id}-unit`,
    "aria-describedby": `${hint.id} ${describedBy}`,
  });
  const answer = () => {
    const read = readNumber(input.value, places);
    return read && stepsTo(read);
  };
  const problem = () => (answer() === null ? say(wholes ? "number_off_whole" : "number_off_steps", values) : "");
  const named = el("span", { id: `${id}-unit`, dir: "auto" }, unit);
  const content = [el("div", { class: "number" }, input, named)];
  const made = frame({ id, text, describedBy }, { hint, problem, answer, content, described: [input] });
  input.addEventListener("input", () => {
    if (!problem()) made.tell("");
    changed();
  });
  input.addEventListener("change", () => input.value.trim() && made.check());
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault(); // only Send sends
    if (input.value.trim()) made.check();
  });
  return made;
}

/** Read what somebody typed, as [numerator, denominator]; null where it is no number, or could be two. */
export function readNumber(typed, places) {
  const digits = /[\u0660-\u0669\u06f0-\u06f9]/g;
  const plain = typed
    .normalize("NFKC")
    .replace(digits, (digit) => digit.charCodeAt(0) & 15)
    .replace(/[\s\u200e\u200f\u061c]/g, "")
    .replace("\u2212", "-")
    .replace("\u066b", ".");
  const match = /^\+?(-?)(\d{1,20})(?:[.,](\d{1,40}))?$/.exec(plain);
  if (!match) return null;
  const [, sign, whole, decimals = ""] = match;
  // 1,000 is a thousand to some and one to others.
  if (decimals.length === 3 && places < 3) return null;
  return [BigInt(sign + whole + decimals), 10n ** BigInt(decimals.length)];
}

// A published decimal with the language's own mark; a sign stays before its number in every direction.
function local(spelled) {
  const mark = new Intl.NumberFormat(language, { numberingSystem: "latn" }).formatToParts(0.5).find(({ type }) => type === "decimal");
  return `${spelled.startsWith("-") ? "\u200e" : ""}${spelled.replace(".", mark.value)}`;
}

// Any of the options; "none of these" has to be said, so that an empty answer is never an oversight.
function ticks({ id, text, question, describedBy, changed }) {
  const labels = optionLabels(question);
  const { atMost } = question.answers;
  const inputs = labels.map((_, index) => control("checkbox", `${id}-${index}`));
  const none = control("checkbox", `${id}-none`);
  const ticked = () => [...inputs.keys()].filter((index) => inputs[index].checked);
  const answer = () => (ticked().length || none.checked ? ticked() : null);
  const tooMany = () => atMost !== null && ticked().length > atMost;
  const problem = () => {
    if (tooMany()) return say("ticks_over", { n: ticked().length, most: atMost });
    return answer() === null ? say("ticks_open", { none: say("ticks_none") }) : "";
  };
  const few = atMost !== null && atMost < labels.length;
  const hint = el("p", { class: "small", id: `${id}-hint` }, few ? say("ticks_at_most", { n: atMost }) : say("ticks_any"));
  const content = [
    ...rows(id, inputs, labels, () => {}),
    el("label", { class: "option none" }, none, el("span", {}, say("ticks_none"))),
  ];
  const made = frame({ id, text, describedBy }, { hint, problem, answer, content });
  const follow = () => {
    made.tell(tooMany() ? problem() : "");
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
  return made;
}
