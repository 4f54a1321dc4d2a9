// The question editor: show only the fields that the chosen kind and mechanism use. Without this they are all there.

const form = document.querySelector("form.editor");
const chosen = (name) => form.elements[name]?.value ?? "";

// kind of question -> how many answers it has (null: as the field `counted` says), the mechanisms for two and for more
const fitting = JSON.parse(form.dataset.fitting);
const listed = (text) => (/^\s*\d+\s*$/.test(text) ? Number(text) : text.split("\n").filter((line) => line.trim()).length);
const usable = (name) => !form.elements[name]?.closest("[hidden]");
const among = (list, name) => list.split(/\s+/).filter(Boolean).includes(name);

function show() {
  const kind = chosen("kind");
  for (const part of form.querySelectorAll("[data-kinds]")) part.hidden = !among(part.dataset.kinds, kind);
  showRule();
  const { answers, counted, two, more } = fitting[kind];
  // "Prefer not to say" and "does not apply" are one answer more each: from three on only mechanisms for several fit.
  const declined = form.elements.prefer_not.checked && usable("prefer_not");
  const skipped = chosen("after_question") !== "" && usable("after_question");
  const count = (answers ?? listed(chosen(counted))) + Number(declined) + Number(skipped);
  const names = count > 2 ? more : two;
  for (const radio of form.querySelectorAll("input[name=mechanism]")) {
    const fits = !radio.value || names.includes(radio.value);
    radio.closest(".form-check").hidden = !fits;
    if (!fits && radio.checked) form.querySelector("input[name=mechanism][value='']").checked = true;
  }
  const mechanism = chosen("mechanism");
  const label = form.querySelector("input[name=mechanism]:checked")?.labels[0]?.firstChild.textContent.trim();
  form.querySelector("[data-mechanism-said]").textContent = mechanism ? `Your choice: ${label}` : "Recommended";
  for (const part of form.querySelectorAll("[data-mechanisms]")) {
    part.hidden = !among(part.dataset.mechanisms, mechanism);
  }
  const linked = form.elements.linked.checked;
  for (const part of form.querySelectorAll("[data-unless-linked]")) part.hidden ||= linked && among(part.dataset.unlessLinked, mechanism);
  for (const part of form.querySelectorAll("[data-decoy]")) part.hidden = part.dataset.decoy !== chosen("decoy_from");
}

// The answers of the question that decides; bins belong to a distribution, the last of a number's targets.
function showRule() {
  const decider = chosen("after_question");
  for (const part of form.querySelectorAll("[data-rule]")) part.hidden = !decider;
  for (const part of form.querySelectorAll("[data-decider]")) part.hidden = part.dataset.decider !== decider;
  const bins = form.querySelector("[data-bins]");
  const targets = [...form.querySelectorAll(`input[name=target_${chosen("kind")}]`)];
  bins.hidden ||= !targets.at(-1)?.checked;
}

for (const part of form.querySelectorAll("[data-no-script]")) part.hidden = true;
form.addEventListener("change", show);
show();

// A live preview of what is typed, unsaved: the respondents' own page, asked for when the question is complete.
const aside = document.getElementById("live-preview");
const frame = aside.querySelector("iframe");
const state = aside.querySelector("[data-preview-state]");
const LONGEST = 3500; // characters of an address that any server takes
let timer;
let shown = "";
aside.hidden = false;

function address() {
  const query = new URLSearchParams(new FormData(form));
  for (const name of ["csrf_token", "revision"]) query.delete(name);
  query.set("instead_of", form.dataset.insteadOf);
  return query.toString();
}

async function preview() {
  const query = address();
  advise(query);
  if (query === shown || !chosen("text").trim()) return; // nothing typed yet: nothing to ask for
  if (query.length > LONGEST) {
    state.textContent = "This question is too long for a preview before it is saved.";
    return;
  }
  const response = await fetch(`${form.dataset.preview}.json?${query}`).catch(() => null);
  await response?.body?.cancel(); // only whether it is complete is of interest here
  if (!response?.ok) {
    state.textContent = "The preview follows when the question is complete.";
    return;
  }
  shown = query;
  frame.parentElement.hidden = false;
  frame.src = `${form.dataset.preview}?${query}`;
  state.textContent = "As typed now. Nothing is saved, sent or kept.";
}

// The recommendation for what is typed now, and how many answers every other way would need.
let advised = "";
async function advise(query) {
  if (query === advised || query.length > LONGEST) return;
  advised = query;
  const response = await fetch(`${form.dataset.adviceAt}?${query}`).catch(() => null);
  if (!response?.ok) return;
  const { reason, proof, rows } = await response.json();
  const part = form.querySelector("[data-advice]");
  part.hidden = !reason;
  part.querySelector("[data-reason]").textContent = reason;
  part.querySelector("[data-proof]").textContent = proof;
  part.querySelector("[data-compared]").replaceChildren(...rows.map(([label, needed]) => {
    const row = document.createElement("tr");
    const head = Object.assign(document.createElement("th"), { scope: "row", textContent: label });
    row.append(head, Object.assign(document.createElement("td"), { className: "number", textContent: needed }));
    return row;
  }));
}

form.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(preview, 600);
});
preview();
