// The privacy and accuracy screen, live: a slider instead of the list of stops, and new figures at every move.
// All numbers come from the server; this script computes only positions in the figure and saves nothing.

const form = document.getElementById("plan-form");
const OWN = "own";
let running = null;
let timer;
const list = form.elements.epsilon;
let showSlider = () => {};
if (list.options) makeSlider();

// Return a number in the page's language.
function written(text) {
  return Number(text).toLocaleString(document.documentElement.lang, { maximumFractionDigits: 6 });
}

// The slider replaces the list: same label, same value when the form is sent.
function makeSlider() {
  const holder = list.closest("[data-stops]");
  const all = [...list.options].map((option) => option.value);
  const stops = all.filter((value) => value !== OWN);
  const slider = document.createElement("input");
  Object.assign(slider, { type: "range", min: 0, max: stops.length - 1, step: 1, className: "form-range", id: "privacy-slider" });
  // If questions have their own epsilons, the slider shows the nearest stop; moving it gives all the same epsilon.
  showSlider = () => {
    const own = list.value === OWN;
    slider.value = stops.indexOf(own ? holder.dataset.middle : list.value);
    slider.setAttribute("aria-valuetext", own ? holder.dataset.own : holder.dataset.one.replace("{epsilon}", written(list.value)));
  };
  document.querySelector(`label[for="${list.id}"]`).htmlFor = slider.id;
  list.before(slider);
  list.hidden = true;
  showSlider();
  slider.addEventListener("input", () => {
    list.value = stops[Number(slider.value)];
    form.elements.fit.value = "";
    showSlider();
    ask();
  });
}

function ask() {
  clearTimeout(timer);
  timer = setTimeout(refresh, 60);
}

async function refresh() {
  running?.abort();
  running = new AbortController();
  const query = new URLSearchParams(new FormData(form));
  for (const name of ["csrf_token", "revision"]) query.delete(name);
  try {
    const response = await fetch(`${form.dataset.plan}?${query}`, { signal: running.signal });
    if (response.status === 422) return say(Object.values((await response.json()).errors));
    if (response.ok) draw(await response.json());
  } catch (error) {
    if (error.name !== "AbortError") say([form.dataset.unreached]);
  }
}

function say(errors) {
  const text = errors.join(" ");
  if (!text) return;
  setText(document, "[data-readout=verdict]", text);
  document.querySelector("[data-readout=verdict]").dataset.met = "no";
}

const setText = (root, selector, text) => {
  for (const node of root.querySelectorAll(selector)) if (node.textContent !== text) node.textContent = text;
};

function draw({ texts, rows, remedies, advice_list: adviceList, curve, total_x: totalX, met, green, rows_met: rowsMet, tier, epsilon, middle_stop: middle }) {
  for (const [key, text] of Object.entries(texts)) setText(document, `[data-readout="${key}"]`, text);
  document.querySelector("[data-readout=verdict]").dataset.met = met ? "yes" : "no";
  document.querySelector("[data-tier]").dataset.tier = tier;
  document.querySelector("[data-warning]").hidden = !texts.warning;
  document.querySelector("[data-over-cap]").hidden = !texts.over_cap;
  // Where the privacy follows the margins, the slider follows too.
  if (form.elements.fit.value && list.options) {
    list.value = [...list.options].some((option) => option.value === epsilon) ? epsilon : OWN;
    list.closest("[data-stops]").dataset.middle = middle;
    showSlider();
  }
  for (const [id, row] of Object.entries(rows)) {
    const line = document.querySelector(`[data-row="${CSS.escape(id)}"]`);
    for (const cell of line?.querySelectorAll("[data-cell]") ?? []) cell.textContent = row[cell.dataset.cell];
    // A margin that is met is never shown as a warning, and not as good either while the total is too high.
    if (line) line.dataset.met = !rowsMet[id] ? "no" : green ? "yes" : "plain";
  }
  document.querySelector("[data-advice-list]").replaceChildren(
    ...adviceList.map((line) => Object.assign(document.createElement("li"), { textContent: line })),
  );
  document.querySelector("[data-remedies]").replaceChildren(...remedies.map(remedyButton));
  const pointer = document.querySelector("[data-total-pointer]");
  pointer.setAttribute("visibility", totalX === null ? "hidden" : "visible");
  if (totalX !== null) pointer.setAttribute("transform", `translate(${totalX} 28)`);
  if (curve) drawCurve(curve);
}

function remedyButton({ name, label, effect, address }) {
  const button = Object.assign(document.createElement(address ? "a" : "button"), { className: "remedy" });
  if (address) button.href = address;
  else Object.assign(button, { name: "apply", value: name });
  const strong = Object.assign(document.createElement("strong"), { textContent: label });
  button.append(strong, " ", Object.assign(document.createElement("span"), { textContent: effect }));
  return button;
}

function drawCurve(curve) {
  const part = (name) => document.querySelector(`[data-curve="${name}"]`);
  if (!part("line")) return;
  part("line").setAttribute("d", curve.line);
  part("curator").setAttribute("d", curve.curator);
  part("description").textContent = curve.description;
  part("y-label").textContent = curve.y_label;
  for (const [name, y] of [["sampling", curve.sampling_y], ["needed", curve.needed_y]]) {
    part(name).setAttribute("visibility", y === null ? "hidden" : "visible");
    for (const end of ["y1", "y2"]) part(name).setAttribute(end, y ?? 0);
  }
  part("point").setAttribute("visibility", curve.point ? "visible" : "hidden");
  if (curve.point) {
    part("point").setAttribute("cx", curve.point[0]);
    part("point").setAttribute("cy", curve.point[1]);
  }
  const texts = part("y-ticks").querySelectorAll("text");
  const lines = part("y-ticks").querySelectorAll("line");
  curve.y_ticks.forEach(([y, text], index) => {
    texts[index].textContent = text;
    texts[index].setAttribute("y", y + 4);
    for (const end of ["y1", "y2"]) lines[index].setAttribute(end, y);
  });
}

for (const field of form.querySelectorAll("input.form-control")) {
  field.addEventListener("input", () => {
    // What is needed decides, until the slider is moved.
    form.elements.fit.value = "yes";
    ask();
  });
}
form.elements.focus.addEventListener("change", ask);

// The form as the server sent it: people may type, or a browser may fill in, before this file has loaded.
const fields = (one) => new URLSearchParams(new FormData(one)).toString();
const served = form.cloneNode(true);
served.reset();
const saved = fields(served);
if (fields(form) !== saved) ask();

// "Next" saves the slider, so that leaving the page does not lose it.
document.querySelector("[data-next]").addEventListener("click", (event) => {
  if (fields(form) === saved) return;
  event.preventDefault();
  const next = Object.assign(document.createElement("input"), { type: "hidden", name: "next", value: "preview" });
  form.append(next);
  form.requestSubmit(form.querySelector("[data-save]"));
});
