// Percentages that add up to 100: when one is changed, the others are scaled.

for (const set of document.querySelectorAll("[data-balance]")) {
  const fields = [...set.querySelectorAll("input")];
  const read = (field) => Math.min(100, Math.max(0, Number(field.value.replace(",", ".")) || 0));
  for (const field of fields) {
    field.addEventListener("change", () => {
      const others = fields.filter((one) => one !== field);
      const rest = 100 - read(field);
      const total = others.reduce((sum, one) => sum + read(one), 0);
      const shares = others.map((one) => (total ? (read(one) * rest) / total : rest / others.length));
      const rounded = shares.map((share) => Math.round(share * 10) / 10);
      // The largest takes the rounding difference.
      const largest = rounded.indexOf(Math.max(...rounded));
      rounded[largest] = Math.round((rounded[largest] + rest - rounded.reduce((sum, one) => sum + one, 0)) * 10) / 10;
      others.forEach((one, place) => { one.value = rounded[place].toLocaleString(document.documentElement.lang, { useGrouping: false }); });
    });
  }
}
