// A form with data-autosave is sent a moment after the last key, and saved if it is valid. "Undo" reverts, in one step,
// everything that this page has saved since it was opened. Without this script there is the button.

import { flagged, tell } from "./errors.js";

const PAUSE = 800;
const UNWATCHED = ["csrf_token", "revision", "opened"];
const state = document.querySelector("[data-saved-state]");
const undo = document.querySelector("[data-undo]");
let last = state?.textContent; // what was said of what was sent last

// A page that moves while a button is pressed loses the click, so changes wait until it is released.
let pressed = false;
addEventListener("pointerdown", () => { pressed = true; }, true);
for (const end of ["pointerup", "pointercancel", "blur"]) addEventListener(end, () => { pressed = false; });

async function released() {
  for (let times = 0; pressed && times < 60; times += 1) await new Promise((resolve) => setTimeout(resolve, 50));
}

for (const form of document.querySelectorAll("form[data-autosave]")) watch(form);

function values(form) {
  const fields = new URLSearchParams(new FormData(form));
  for (const name of UNWATCHED) fields.delete(name);
  return String(fields);
}

// The form as the server sent it: people may type, or a browser may fill in, before this file has loaded.
function served(form) {
  const copy = form.cloneNode(true);
  copy.reset();
  return values(copy);
}

function watch(form) {
  const refused = flagged(form);
  const live = form.dataset.autosave;
  let kept = served(form);
  let timer = null;
  let running = null;
  form.elements.opened.value ||= form.elements.revision.value;

  const send = async () => {
    const sent = values(form);
    const fields = new URLSearchParams(new FormData(form));
    fields.set("autosave", "yes");
    if (live) fields.set("instead_of", form.dataset.insteadOf);
    if (sent !== kept) say("saving");
    const answer = await fetch(live || form.action, { method: "POST", body: fields })
      .then((response) => (response.ok && !response.redirected ? response.json() : null)).catch(() => null);
    await released();
    if (!answer) return say("unreached");
    for (const id of refused) tell(id, answer.errors[id] ?? "");
    if (answer.revision) {
      if (sent !== kept) {
        undo.hidden = false;
        for (const frame of document.querySelectorAll("iframe[data-follows]")) frame.contentWindow.location.reload();
      }
      if (sent !== kept || !undo.hidden) say("saved");
      kept = sent;
      renumber(answer.revision);
    } else if (sent !== kept) say("refused", answer.stale);
    if (timer) say("saving"); // something was typed meanwhile
    form.dispatchEvent(new CustomEvent("autosaved", { detail: { answer, kept } }));
  };

  const save = async () => {
    clearTimeout(timer);
    timer = null;
    while (running) await running;
    if (form.dataset.sending) return;
    if (values(form) === kept) return say("as before", last);
    running = send().finally(() => { running = null; });
    return running;
  };

  // From the first key on, the page no longer says that all changes are saved.
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(save, PAUSE);
    if (running || values(form) !== kept) say("saving");
    else say("as before", last);
  };
  form.addEventListener("input", later);
  form.addEventListener("change", later);
  // Two requests at once would look like two tabs.
  form.addEventListener("submit", async (event) => {
    clearTimeout(timer);
    if (!running) return;
    event.preventDefault();
    event.stopPropagation();
    const by = event.submitter;
    await running;
    form.requestSubmit(by);
  });
  if (live) running = send().finally(() => { running = null; });
  else if (values(form) !== kept) later();
}

// The page has the sentences in its language.
function say(key, text = state?.dataset[key]) {
  if (key !== "saving") last = text;
  if (state && state.textContent !== text) state.textContent = text;
}

function renumber(revision) {
  for (const field of document.querySelectorAll("input[name=revision]")) field.value = revision;
}
