// Long lists: a field that narrows the rows down to those that match. It runs on the device; nothing is requested.

import { el, isolated, list, say, whole } from "./explain.js";

/** Put a search above rows; gives the elements. `refresh` is called when rows were hidden or shown. */
export function searchable(id, rows, labels, refresh) {
  const texts = labels.map(folded);
  const field = el("input", {
    type: "search",
    id: `${id}-search`,
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
    enterkeyhint: "search",
    "aria-controls": `${id}-rows`,
  });
  const found = el("p", { class: "small found", role: "status" });
  const chosen = el("p", { class: "chosen", hidden: "" });
  const box = el("div", { class: "rows", id: `${id}-rows` }, ...rows);
  const inputs = rows.map((row) => row.querySelector("input"));
  const shown = () => rows.filter((row) => !row.hidden);

  const narrow = () => {
    const words = folded(field.value).split(" ").filter(Boolean);
    rows.forEach((row, index) => (row.hidden = !words.every((word) => texts[index].includes(word))));
    box.hidden = shown().length === 0;
    box.scrollTop = 0;
    const values = { n: whole(shown().length), total: whole(rows.length) };
    found.textContent = say(shown().length ? "search_found" : "search_nothing", values);
    refresh();
  };
  field.addEventListener("input", narrow);
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== "ArrowDown") return;
    event.preventDefault(); // only Send sends
    const [first] = shown();
    if (!first) return;
    const input = (shown().find((row) => row.querySelector(":checked")) ?? first).querySelector("input");
    if (event.key === "Enter" && shown().length === 1 && !input.checked) input.click();
    input.focus();
  });
  // What is chosen may be out of sight.
  const follow = () => {
    const labelled = inputs.flatMap((input, index) => (input.checked ? [isolated(labels[index])] : []));
    chosen.hidden = labelled.length === 0;
    chosen.textContent = say("search_chosen", { list: list(labelled) });
  };
  box.addEventListener("change", follow);
  narrow();
  return [
    el("label", { class: "search", for: field.id }, say("search_label", { total: whole(rows.length) })),
    field,
    found,
    box,
    chosen,
  ];
}

// Without case and accents, so that "cote" finds "Côte d'Ivoire".
function folded(text) {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replace(/\s+/g, " ").trim();
}
