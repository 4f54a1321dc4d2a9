// Warn of a logo that is too large before it is sent. Without this script the server refuses it.

const form = document.querySelector("form[data-largest]");
const file = form.elements.logo;
const said = form.querySelector("[data-too-large]");
const largest = Number(form.dataset.largest);
const tooLarge = () => (file.files[0]?.size ?? 0) > largest;

file.addEventListener("change", () => {
  said.textContent = tooLarge() ? said.dataset.said : "";
});
form.addEventListener("submit", (event) => {
  if (!tooLarge()) return;
  event.preventDefault();
  event.stopPropagation();
  file.focus();
});
