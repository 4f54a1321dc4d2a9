// The error next to a field, and its line at the top of the page, disappear when the field is corrected.

const parts = (id) => ({
  control: document.getElementById(id),
  said: document.getElementById(`${id}-error`),
  line: document.querySelector(`.error-summary a[href="#${CSS.escape(id)}"]`)?.closest("li"),
});

/** Return the ids of all fields with an error. */
export const flagged = (root) =>
  [...root.querySelectorAll(".field-error")].map((said) => said.id.replace(/-error$/, ""));

/** Remove the error of a field, or show `text`. */
export function tell(id, text = "") {
  const { control, said, line } = parts(id);
  const summary = line?.closest(".error-summary");
  control?.classList.toggle("is-invalid", Boolean(text));
  if (text) control?.setAttribute("aria-invalid", "true");
  else control?.removeAttribute("aria-invalid");
  if (said) said.hidden = !text;
  if (said && text) said.lastChild.textContent = text;
  if (line) line.hidden = !text;
  if (summary) summary.hidden = ![...summary.querySelectorAll("li")].some((one) => !one.hidden);
}

// A field as the server sent it; a password, which it does not send back, may be filled in by the browser.
function served(one) {
  if (one.type === "password") return one.value.trim();
  if (/radio|checkbox/.test(one.type)) return one.defaultChecked;
  return (one.options ? (one.querySelector("[selected]") ?? one.options[0])?.value ?? "" : one.defaultValue).trim();
}

/** In a form that is only checked when it is sent, a changed field that is not empty counts as corrected. */
export function clearWhenChanged(form) {
  for (const id of flagged(form)) {
    const { control } = parts(id);
    const inputs = control?.matches("fieldset") ? [...control.querySelectorAll("input")] : [control].filter(Boolean);
    const now = (one) => (/radio|checkbox/.test(one.type) ? one.checked : one.value.trim());
    const read = (value) => inputs.map(value).join("\n");
    const refused = read(served);
    const said = document.getElementById(`${id}-error`).lastChild.textContent;
    const look = () => tell(id, read(now) === refused || !read(now) ? said : "");
    for (const one of inputs) one.addEventListener("input", look);
    if (read(now) !== refused) look(); // put right before this file had come
  }
}
