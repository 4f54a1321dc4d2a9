// The question editor: show only the fields that the chosen kind and mechanism use. Without this script all are shown.

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
  // "Prefer not to say" and "does not apply" add one answer each; with three answers only mechanisms for several fit.
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
  const said = form.querySelector("[data-mechanism-said]");
  said.textContent = mechanism ? said.dataset.chosen.replace("{mechanism}", label) : said.dataset.recommended;
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
  const bins = form.querySelector('[data-inputs="bins"]');
  const targets = [...form.querySelectorAll(`input[name=target_${chosen("kind")}]`)];
  bins.hidden ||= !targets.at(-1)?.checked;
}

for (const part of form.querySelectorAll("[data-no-script]")) part.hidden = true;
form.addEventListener("change", show);
show();

// A live preview of the question as typed, complete or not: the respondents' page, opened at this question.
const aside = document.getElementById("live-preview");
const frame = aside.querySelector("iframe");
let timer;
let shown = "";
aside.hidden = false;

// The form is posted, because a URL cannot hold a list of a thousand options.
function typed() {
  const fields = new URLSearchParams(new FormData(form));
  fields.set("instead_of", form.dataset.insteadOf);
  return fields;
}

function preview() {
  const fields = typed();
  if (String(fields) === shown) return;
  shown = String(fields);
  showIn(frame, fields);
}

function showIn(frame, fields) {
  const sent = Object.assign(document.createElement("form"), { method: "post", action: form.dataset.preview, target: frame.name, hidden: true });
  for (const [name, value] of fields) sent.append(Object.assign(document.createElement("textarea"), { name, value }));
  document.body.append(sent);
  sent.submit();
  sent.remove();
}

// Show the server's figures of the question: its margin, the recommendation, the answers that other mechanisms need.
form.addEventListener("autosaved", ({ detail: { answer } }) => {
  form.querySelector("[data-margin]").textContent = answer.margin;
  if (answer.revision) follow(answer.id);
  advise(answer);
});

// After the first save the URL is that of the question in the draft, so that reloading shows the same.
function follow(id) {
  if (form.dataset.insteadOf === id) return;
  form.dataset.insteadOf = id;
  form.action = form.dataset.questions.replace(/[^/]*$/, encodeURIComponent(id));
  history.replaceState(null, "", form.action);
}

function advise({ reason, proof, criterion, rows }) {
  const part = form.querySelector("[data-advice]");
  part.hidden = !reason;
  part.querySelector("[data-reason]").textContent = reason;
  part.querySelector("[data-proof]").textContent = proof;
  part.querySelector("[data-criterion]").textContent = criterion;
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
