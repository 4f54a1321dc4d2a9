"""Draw the figure of docs/lecture-notes-range.md: `python docs/tools/uniform.py [--check]`.

Its numbers are what the page's blocks compute, stored in docs/data/uniform.json; a test runs the page and compares.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).parents[1]
PAGE, DATA, FIGURE = (
    DOCS / "lecture-notes-range.md",
    DOCS / "data" / "uniform.json",
    DOCS / "images" / "uniform.svg",
)
# Colour and dash: nobody needs to tell colours apart.
LINES = {
    "plain_maximum": ("plain maximum", "#444444", "2 3"),
    "curator_maximum": ("curator's maximum", "#5b5f97", "8 3"),
    "curator_mean": ("curator's mean", "#5b5f97", ""),
    "noisy_maximum": ("maximum of noisy values", "#b4552d", "8 3"),
    "local_mean": ("local mean", "#17605d", "2 3"),
    "local_threshold": ("local threshold", "#17605d", ""),
    "halving": ("halving", "#8a6d00", "5 2 1 2"),
}
PANELS = (
    ("n", "people, at ε = 1", (1_000, 10_000, 100_000)),
    ("epsilon", "ε, at 10,000 people", (0.5, 1, 2)),
)
LEAST, MOST = -6, 2  # powers of ten of the error
WIDTH, HEIGHT, LEFT, TOP, GAP = 250, 260, 56, 24, 64


def computed() -> dict[str, dict[str, list[float]]]:
    """Run the page's blocks and give its errors."""
    sys.path.insert(0, str(DOCS.parent))
    from tests.docs.blocks import PageRunner, read_blocks

    with tempfile.TemporaryDirectory() as folder:
        runner = PageRunner(Path(folder))
        for block in read_blocks(PAGE):
            runner.run(block)
    errors: dict[str, dict[str, list[float]]] = runner.names["errors"]
    return errors


def rounded(errors: dict[str, dict[str, list[float]]]) -> dict[str, dict[str, list[float]]]:
    """Keep four digits."""
    return {
        way: {key: [float(f"{value:.3e}") for value in values] for key, values in found.items()}
        for way, found in errors.items()
    }


def figure(errors: dict[str, dict[str, list[float]]]) -> str:
    """Two panels with both axes in powers."""
    total = LEFT + 2 * WIDTH + GAP + 220
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total} {HEIGHT + TOP + 48}"',
        'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="#ffffff"/>',
    ]
    for number, (key, words, ticks) in enumerate(PANELS):
        parts += panel(errors, key, words, ticks, LEFT + number * (WIDTH + GAP))
    for row, (label, colour, dash) in enumerate(LINES.values()):
        x, y = LEFT + 2 * WIDTH + GAP + 24, TOP + 14 + 26 * row
        parts.append(f'<path d="M{x} {y}h28" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>')
        parts.append(f'<text x="{x + 36}" y="{y + 4}">{label}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def panel(
    errors: dict[str, dict[str, list[float]]], key: str, words: str, ticks: tuple[float, ...], left: int
) -> list[str]:
    """One panel with its axes."""
    low, high = math.log(ticks[0]), math.log(ticks[-1])
    at_x = [left + WIDTH * (math.log(tick) - low) / (high - low) for tick in ticks]
    parts = []
    for power in range(LEAST, MOST + 1):
        y = height(10.0**power)
        parts.append(f'<path d="M{left} {y:.1f}h{WIDTH}" stroke="#dddddd"/>')
        parts.append(f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{10.0**power:g}</text>')
    for x, tick in zip(at_x, ticks, strict=True):
        parts.append(f'<text x="{x:.1f}" y="{TOP + HEIGHT + 18}" text-anchor="middle">{tick:,g}</text>')
    middle = left + WIDTH / 2
    parts.append(f'<text x="{middle}" y="{TOP + HEIGHT + 38}" text-anchor="middle">{words}</text>')
    parts.append(f'<text x="{left}" y="{TOP - 8}">error (root mean square)</text>')
    for way, (_, colour, dash) in LINES.items():
        points = " ".join(f"{x:.1f},{height(y):.1f}" for x, y in zip(at_x, errors[way][key], strict=True))
        style = f'stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"'
        parts.append(f'<polyline points="{points}" fill="none" {style}/>')
    return parts


def height(error: float) -> float:
    """Where an error lies."""
    return TOP + HEIGHT * (MOST - math.log10(error)) / (MOST - LEAST)


def main() -> int:
    """Write the numbers and the figure, or say whether the figure is that of the numbers."""
    if "--check" in sys.argv[1:]:
        current = figure(json.loads(DATA.read_text("utf-8"))) == FIGURE.read_text("utf-8")
        if not current:
            print("out of date: run python docs/tools/uniform.py", file=sys.stderr)
        return 0 if current else 1
    errors = rounded(computed())
    DATA.write_text(json.dumps(errors, indent=1) + "\n", encoding="utf-8")
    FIGURE.write_text(figure(errors), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
