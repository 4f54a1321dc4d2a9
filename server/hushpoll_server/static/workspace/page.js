// Small conveniences of every workspace page, which works without them.

// Bootstrap takes its scheme from an attribute; follow the system's setting, also when it changes.
const dark = matchMedia("(prefers-color-scheme: dark)");
const followScheme = () => {
  document.documentElement.dataset.bsTheme = dark.matches ? "dark" : "light";
};
followScheme();
dark.addEventListener("change", followScheme);

// After a refused form, focus the list of errors.
document.querySelector("[data-focus]")?.focus();

// Ignore a second click on a button that is already sending.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.dataset.sending) {
    event.preventDefault();
    return;
  }
  if (form.method === "post" && !form.hasAttribute("data-download")) {
    form.dataset.sending = "yes";
    setTimeout(() => delete form.dataset.sending, 4000);
  }
});

// Forms that save by themselves, and errors that go when they are corrected.
if (document.querySelector("form[data-autosave]")) import("./autosave.js");
if (document.querySelector(".field-error")) {
  const { clearWhenChanged } = await import("./errors.js");
  for (const form of document.querySelectorAll("form:not([data-autosave])")) clearWhenChanged(form);
}

// Let the browser ask before leaving a page with unsaved changes.
for (const form of document.querySelectorAll("form[data-unsaved]")) {
  const typed = () => {
    const fields = new URLSearchParams(new FormData(form));
    for (const name of ["csrf_token", "revision", "opened"]) fields.delete(name);
    return fields.toString();
  };
  let before = typed();
  form.addEventListener("autosaved", ({ detail }) => { before = detail.kept; });
  addEventListener("beforeunload", (event) => {
    if (!form.dataset.sending && typed() !== before) event.preventDefault();
  });
}

// A button that prints, where there is a script to do it.
for (const button of document.querySelectorAll("[data-print]")) {
  button.hidden = false;
  button.addEventListener("click", () => print());
}
