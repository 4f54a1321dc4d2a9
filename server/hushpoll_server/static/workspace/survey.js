// The page of a published survey: copy the link with one click, where the browser allows it.

for (const button of document.querySelectorAll("[data-copy]")) {
  if (!navigator.clipboard) continue;
  button.hidden = false;
  button.addEventListener("click", async () => {
    const said = button.textContent;
    try {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).value);
      button.textContent = "Copied";
    } catch {
      document.getElementById(button.dataset.copy).select();
    }
    setTimeout(() => { button.textContent = said; }, 2500);
  });
}
