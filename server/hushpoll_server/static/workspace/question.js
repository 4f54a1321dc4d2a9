// The question editor: show only the fields that the chosen kind and mechanism use. Without this they are all there.

const form = document.querySelector("form.editor");
const chosen = (name) => form.elements[name]?.value ?? "";

// kind of question -> how many answers it has (null: as many as are listed), and the mechanisms for two and for more
const fitting = JSON.parse(form.dataset.fitting);
const listed = (text) => text.split("\n").filter((line) => line.trim()).length;
const among = (list, name) => list.split(/\s+/).filter(Boolean).includes(name);

function show() {
  const kind = chosen("kind");
  const { answers, two, more } = fitting[kind];
  // "Prefer not to say" is one answer more: from three on only mechanisms for several options fit.
  const count = (answers ?? listed(chosen("options"))) + Number(form.elements.prefer_not.checked);
  const names = count > 2 ? more : two;
  for (const radio of form.querySelectorAll("input[name=mechanism]")) {
    const fits = !radio.value || names.includes(radio.value);
    radio.closest(".form-check").hidden = !fits;
    if (!fits && radio.checked) form.querySelector("input[name=mechanism][value='']").checked = true;
  }
  const mechanism = chosen("mechanism");
  const label = form.querySelector("input[name=mechanism]:checked")?.labels[0]?.firstChild.textContent.trim();
  form.querySelector("[data-mechanism-said]").textContent = mechanism ? `Your choice: ${label}` : "Recommended";
  for (const part of form.querySelectorAll("[data-kinds]")) part.hidden = !among(part.dataset.kinds, kind);
  for (const part of form.querySelectorAll("[data-mechanisms]")) {
    part.hidden = !among(part.dataset.mechanisms, mechanism);
  }
  const linked = form.elements.linked.checked;
  for (const part of form.querySelectorAll("[data-unless-linked]")) part.hidden ||= linked && among(part.dataset.unlessLinked, mechanism);
  for (const part of form.querySelectorAll("[data-decoy]")) part.hidden = part.dataset.decoy !== chosen("decoy_from");
}

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

form.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(preview, 600);
});
preview();
