// The list of questions: move them by dragging, keys or buttons without losing the place. Without this script the
// buttons load the page again.

const section = document.getElementById("questions");
const list = () => section.querySelector(".question-list");
const cards = () => [...list().children];

function prepare() {
  const several = list() && cards().length > 1;
  for (const handle of section.querySelectorAll("[data-drag]")) handle.hidden = !several;
}
prepare();

// The server moves the question and answers with the new page.
async function move(card, by, control) {
  const { question } = card.dataset;
  const form = card.querySelector("form[action$='/move']");
  const fields = new URLSearchParams(new FormData(form));
  fields.set("direction", by < 0 ? "up" : "down");
  fields.set("places", Math.abs(by));
  const before = card.getBoundingClientRect().top;
  const text = await fetch(form.action, { method: "POST", body: fields }).then((one) => one.text()).catch(() => "");
  const fresh = new DOMParser().parseFromString(text, "text/html");
  if (!fresh.getElementById("questions")) return location.reload();
  section.replaceChildren(...fresh.getElementById("questions").childNodes);
  prepare();
  const { value } = fresh.querySelector("input[name=revision]");
  for (const field of document.querySelectorAll("input[name=revision]")) field.value = value;
  document.querySelector("[data-undo]").hidden = false;
  const frame = document.querySelector(".preview-aside iframe");
  if (frame) frame.contentWindow.location.reload();
  const moved = document.getElementById(`question-${question}`);
  // At once: a scroll that can be seen would look as if the page jumped.
  scrollBy({ top: moved.getBoundingClientRect().top - before, behavior: "instant" });
  (moved.querySelector(control) ?? moved.querySelector("[data-drag]")).focus({ preventScroll: true });
  const place = cards().indexOf(moved) + 1;
  const refused = fresh.querySelector("main > .notice-problem")?.textContent;
  const said = section.querySelector("[data-moved]");
  said.textContent = refused ?? said.dataset.said.replace("{n}", place).replace("{all}", cards().length);
  said.classList.toggle("visually-hidden", !refused);
}

section.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.action.endsWith("/move")) return;
  event.preventDefault();
  event.stopPropagation();
  const up = form.elements.direction.value === "up";
  move(form.closest("[data-question]"), up ? -1 : 1, `form:has(input[value=${up ? "up" : "down"}]) button`);
});

// A question becomes a form, or a form for a new one comes, where it stands. Without this script the page is loaded again.
section.addEventListener("click", async (event) => {
  const link = event.target.closest("[data-swap]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const text = await fetch(link.href).then((answer) => answer.text()).catch(() => "");
  const fresh = new DOMParser().parseFromString(text, "text/html").getElementById("questions");
  if (!fresh) return location.assign(link.href);
  section.replaceChildren(...fresh.childNodes);
  prepare();
  section.querySelector(".quick-edit textarea, .quick-add textarea").focus();
});

section.addEventListener("keydown", (event) => {
  const card = event.target.closest("[data-drag]")?.closest("[data-question]");
  if (!card) return;
  const place = cards().indexOf(card);
  const to = { ArrowUp: place - 1, ArrowDown: place + 1, Home: 0, End: cards().length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  if (to >= 0 && to < cards().length && to !== place) move(card, to - place, "[data-drag]");
});

// While a card is dragged the others make room; it is moved when it is dropped.
section.addEventListener("pointerdown", (event) => {
  const handle = event.target.closest("[data-drag]");
  if (!handle || event.button) return;
  const card = handle.closest("[data-question]");
  const from = cards().indexOf(card);
  const order = cards();
  handle.setPointerCapture(event.pointerId);
  card.classList.add("dragged");
  const follow = ({ clientY }) => {
    const place = cards().indexOf(card);
    const above = cards()[place - 1]?.getBoundingClientRect();
    const below = cards()[place + 1]?.getBoundingClientRect();
    if (above && clientY < above.top + above.height / 2) card.after(cards()[place - 1]);
    else if (below && clientY > below.top + below.height / 2) card.before(cards()[place + 1]);
  };
  const end = ({ type }) => {
    handle.removeEventListener("pointermove", follow);
    for (const name of ["pointerup", "pointercancel"]) handle.removeEventListener(name, end);
    card.classList.remove("dragged");
    const by = cards().indexOf(card) - from;
    if (type === "pointerup" && by) move(card, by, "[data-drag]");
    else if (by) list().replaceChildren(...order);
  };
  handle.addEventListener("pointermove", follow);
  for (const name of ["pointerup", "pointercancel"]) handle.addEventListener(name, end);
});

// The heading follows the title.
document.querySelector("form[data-autosave]").addEventListener("autosaved", ({ target, detail }) => {
  if (detail.answer.revision) document.querySelector(".draft-head h1").textContent = target.elements.title.value;
});
