// Long lists: a field that narrows the rows down to those that match. It runs on the device; nothing is requested.

import { el, formatted, isolated, list, msg, style } from "./explain.js";

// Rules that only this module's elements need.
style(`
.search {
  display: block;
  margin-block-end: 0.3rem;
}

[type="search"] {
  width: 100%;
}

.counted {
  margin-block: 0.4rem;
}

.rows {
  max-height: 19rem;
  overflow-y: auto;
  overscroll-behavior: contain;
  border: 1px solid var(--hush-line);
  border-radius: 0.55rem;
  padding: 0.5rem 0.5rem 0;
}

.chosen {
  margin-block-start: 0.6rem;
  font-weight: 600;
  overflow-wrap: anywhere;
}
`);

const OTHER = { ł: "l", ø: "o", đ: "d", ß: "ss", æ: "ae", œ: "oe", ı: "i" }; // letters that do not come apart

/** Rows below a search field. `refresh` is called when rows were hidden or shown. */
export function searchable(id, rows, labels, refresh) {
  const texts = labels.map((label) => ` ${folded(label)}`);
  const field = el("input", {
    type: "search",
    id: `${id}-search`,
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
    enterkeyhint: "search",
    "aria-controls": `${id}-rows`,
  });
  const counted = el("p", { class: "small counted", role: "status" });
  const chosen = el("p", { class: "chosen", hidden: "" });
  const box = el("div", { class: "rows", id: `${id}-rows` }, ...rows);
  const inputs = rows.map((row) => row.querySelector("input"));
  const visible = () => rows.filter((row) => !row.hidden);

  const narrow = () => {
    const words = folded(field.value).split(" ");
    const matching = (before) => texts.map((text) => words.every((word) => text.includes(before + word)));
    const wordStarts = matching(" ");
    // Inside of words only where no words begin so: "s" is for South rather than for West.
    const matches = wordStarts.includes(true) ? wordStarts : matching("");
    rows.forEach((row, index) => (row.hidden = !matches[index]));
    box.hidden = visible().length === 0;
    box.scrollTop = 0;
    const values = { n: formatted(visible().length), total: formatted(rows.length) };
    counted.textContent = msg(visible().length ? "search_found" : "search_nothing", values);
    refresh();
  };
  field.addEventListener("input", narrow);
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== "ArrowDown") return;
    event.preventDefault(); // only Send sends
    const [first] = visible();
    if (!first) return;
    const input = (visible().find((row) => row.querySelector(":checked")) ?? first).querySelector("input");
    if (event.key === "Enter" && visible().length === 1 && !input.checked) input.click();
    input.focus();
  });
  // What is chosen may be out of sight.
  const follow = () => {
    const labelled = inputs.flatMap((input, index) => (input.checked ? [isolated(labels[index])] : []));
    chosen.hidden = labelled.length === 0;
    chosen.textContent = msg("search_chosen", { list: list(labelled) });
  };
  box.addEventListener("change", follow);
  narrow();
  return [
    el("label", { class: "search", for: field.id }, msg("search_label", { total: formatted(rows.length) })),
    field,
    counted,
    box,
    chosen,
  ];
}

// Without case, accents and signs, so that "cote" finds "Côte d’Ivoire" and "lodz" finds "Łódź".
function folded(text) {
  const plain = text.toLowerCase().normalize("NFKD").replace(/\p{M}/gu, "");
  return plain.replace(/[łøđßæœı]/g, (letter) => OTHER[letter]).replace(/[^\p{L}\p{N}]+/gu, " ").trim();
}
