// The question editor: show only the fields that the chosen kind and mechanism use. Without this they are all there.

const form = document.querySelector("form.editor");
const chosen = (name) => form.elements[name]?.value ?? "";

const MECHANISMS_OF = { yes_no: null, choice: ["", "krr", "forced"] }; // null: all of them

function show() {
  const kind = chosen("kind");
  const declinable = form.elements.prefer_not.checked;
  // "Prefer not to say" is a third answer: from then on only mechanisms for several options fit.
  const fitting = kind === "yes_no" && !declinable ? MECHANISMS_OF.yes_no : MECHANISMS_OF.choice;
  for (const radio of form.querySelectorAll("input[name=mechanism]")) {
    const fits = fitting === null || fitting.includes(radio.value);
    radio.closest(".form-check").hidden = !fits;
    if (!fits && radio.checked) form.querySelector("input[name=mechanism][value='']").checked = true;
  }
  const mechanism = chosen("mechanism");
  for (const part of form.querySelectorAll("[data-kinds]")) part.hidden = part.dataset.kinds !== kind;
  for (const part of form.querySelectorAll("[data-mechanisms]")) {
    part.hidden = !part.dataset.mechanisms.split(/\s+/).filter(Boolean).includes(mechanism);
  }
  for (const part of form.querySelectorAll("[data-decoy]")) part.hidden = part.dataset.decoy !== chosen("decoy_from");
}

form.addEventListener("change", show);
show();
