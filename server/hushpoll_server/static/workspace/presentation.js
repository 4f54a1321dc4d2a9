// A colour picker next to the accent's field, and a logo that is made small enough before it is sent. Without this script
// a colour is typed, and the server refuses a picture that is too large.

const WIDEST = 600; // pixels: sharp on every screen at the width at which pages show it
const accent = document.querySelector("input[name=accent]");
const form = document.querySelector("form[data-largest]");
const file = form.elements.logo;
const state = form.querySelector("[data-logo-state]");
const largest = Number(form.dataset.largest);

const picker = Object.assign(document.createElement("input"), { type: "color", className: "form-control form-control-color" });
picker.setAttribute("aria-label", form.dataset.picker);
const isColour = () => /^#[0-9a-f]{6}$/i.test(accent.value);
const follow = () => {
  picker.value = isColour() ? accent.value : picker.dataset.usual;
};
picker.dataset.usual = form.dataset.usual;
accent.after(picker);
accent.parentElement.classList.add("with-picker");
follow();
accent.addEventListener("input", follow);
picker.addEventListener("input", () => {
  accent.value = picker.value;
  accent.dispatchEvent(new Event("input", { bubbles: true }));
});

const toBlob = (canvas, type, quality) => new Promise((resolve) => canvas.toBlob(resolve, type, quality));

// Return the picture at most so many pixels wide and in as few bytes as may be sent, or null.
async function shrunk(picture) {
  const image = await createImageBitmap(picture);
  for (let width = Math.min(image.width, WIDEST); width >= 60; width = Math.floor(width * 0.75)) {
    const canvas = document.createElement("canvas");
    canvas.width = width;
    canvas.height = Math.max(1, Math.round((image.height * width) / image.width));
    const context = canvas.getContext("2d");
    context.imageSmoothingQuality = "high";
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    for (const [type, quality] of [["image/png"], ["image/webp", 0.9], ["image/webp", 0.7]]) {
      const blob = await toBlob(canvas, type, quality);
      if (blob && blob.type === type && blob.size <= largest) return blob;
    }
  }
  return null;
}

file.addEventListener("change", async () => {
  const picture = file.files[0];
  state.textContent = "";
  delete state.dataset.refused;
  if (!picture || picture.size <= largest) return;
  const smaller = await shrunk(picture).catch(() => null);
  if (!smaller) {
    state.textContent = state.dataset.tooLarge;
    state.dataset.refused = "";
    return;
  }
  const files = new DataTransfer();
  files.items.add(new File([smaller], `logo.${smaller.type.split("/")[1]}`, { type: smaller.type }));
  file.files = files.files;
  state.textContent = state.dataset.shrunk;
});
form.addEventListener("submit", (event) => {
  if ((file.files[0]?.size ?? 0) <= largest) return;
  event.preventDefault();
  event.stopPropagation();
  file.focus();
});
