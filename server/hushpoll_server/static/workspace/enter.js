// Entering sheets by number keys: a complete number moves to the next question. Without this script there is Tab.

const fields = [...document.querySelectorAll("[data-most]")];

for (const [place, field] of fields.entries()) {
  const most = Number(field.dataset.most);
  field.addEventListener("input", () => {
    const typed = Number(field.value);
    // Another digit could follow: 1 may become 12.
    if (typed >= 1 && typed <= most && typed * 10 > most) (fields[place + 1] ?? field.form.querySelector("button")).focus();
  });
}
