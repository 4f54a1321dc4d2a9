// The page of a published survey: copy the link with one click, and show only the fields that closing needs.

for (const button of document.querySelectorAll("[data-copy]")) {
  if (!navigator.clipboard) continue;
  button.hidden = false;
  button.addEventListener("click", async () => {
    const said = button.textContent;
    try {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).value);
      button.textContent = button.dataset.copied;
    } catch {
      document.getElementById(button.dataset.copy).select();
    }
    setTimeout(() => { button.textContent = said; }, 2500);
  });
}

// Codes come as a download, which does not change this page: fetch the new count. A reload could end the download.
for (const form of document.querySelectorAll("form[data-download]")) form.addEventListener("submit", () => {
  const refresh = async () => {
    const text = await fetch(form.dataset.download).then((response) => response.text()).catch(() => "");
    const fresh = new DOMParser().parseFromString(text, "text/html").getElementById("codes-count");
    if (fresh) document.getElementById("codes-count").textContent = fresh.textContent;
  };
  for (const seconds of [1, 3, 10]) setTimeout(refresh, 1000 * seconds);
});

const choices = document.querySelectorAll("input[name=when]");
const showFields = () => {
  const chosen = [...choices].find((choice) => choice.checked)?.value;
  for (const part of document.querySelectorAll("[data-when]")) part.hidden = part.dataset.when !== chosen;
};
for (const choice of choices) choice.addEventListener("change", showFields);
showFields();
