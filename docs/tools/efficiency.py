"""Write the comparison's table and figure from docs/data/efficiency.json: `python docs/tools/efficiency.py [--check]`.

The figures are measured by bench/efficiency.py; this only shows them.
"""

from __future__ import annotations

import json
import sys
from html import escape
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1]
DATA, PAGE, FIGURE = (
    DOCS / "data" / "efficiency.json",
    DOCS / "designs.md",
    DOCS / "images" / "efficiency.svg",
)
BEGIN, END = "<!-- efficiency: begin -->", "<!-- efficiency: end -->"
# Colour and shape, for readers who cannot tell colours apart.
MARKS = {
    "pure-ldp": ("#17605d", "circle"),
    "multi-freq-ldpy": ("#b4552d", "square"),
    "OpenDP": ("#5b5f97", "point"),
}
LABELS, PANEL, GAP, TOP, ROW = 236, 138, 16, 64, 34


def table(rows: list[dict[str, Any]]) -> str:
    """The respondents that we need for 100 of each package's, one line for each question."""
    epsilons = sorted({row["epsilon"] for row in rows})
    lines = [
        "| question, what is reported | " + " | ".join(f"ε = {epsilon:g}" for epsilon in epsilons) + " |",
        "|---|" + "---|" * len(epsilons),
    ]
    for question in dict.fromkeys(row["question"] for row in rows):
        cells = [question]
        for row in rows:
            if row["question"] == question:
                cells.append(" / ".join(f"{100 * peer['ratio']:.0f}" for peer in row["peers"]))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def mark(peer: str, x: float, y: float) -> str:
    """One measured ratio."""
    colour, shape = MARKS[peer]
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{colour}"/>'
    if shape == "square":
        return f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" fill="{colour}"/>'
    return f'<path d="M{x:.1f} {y - 5.5:.1f}l5 9h-10z" fill="{colour}"/>'


def figure(rows: list[dict[str, Any]]) -> str:
    """One panel for each epsilon, one line for each question, one mark for each package."""
    questions = list(dict.fromkeys(row["question"] for row in rows))
    epsilons = sorted({row["epsilon"] for row in rows})
    width = LABELS + len(epsilons) * (PANEL + GAP) + 14
    bottom = TOP + ROW * len(questions)
    font = 'font-family="system-ui, sans-serif" font-size="12" fill="#1f2a2a"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {bottom + 48}" role="img" {font}>',
        "<title>Respondents that hushpoll needs for 100 of another package's, for the same margin</title>",
        f'<rect width="{width}" height="{bottom + 48}" fill="#ffffff"/>',
        *_legend(),
        *(_label(question, TOP + ROW * place) for place, question in enumerate(questions)),
    ]
    for number, epsilon in enumerate(epsilons):
        left = LABELS + number * (PANEL + GAP)
        parts += _axis(left, bottom, epsilon)
        for row in rows:
            if row["epsilon"] == epsilon:
                parts += _line(row, left, TOP + ROW * questions.index(row["question"]))
    words = "respondents that hushpoll needs for 100 of the other package's"
    parts.append(
        f'<text x="{(LABELS + width) / 2:.0f}" y="{bottom + 38}" text-anchor="middle">{words}</text>'
    )
    return "\n".join([*parts, "</svg>", ""])


def _legend() -> list[str]:
    parts = []
    for place, peer in enumerate(MARKS):
        x = LABELS + 8 + 150 * place
        parts += [mark(peer, x, 16), f'<text x="{x + 12}" y="20">{escape(peer)}</text>']
    return parts


def _label(question: str, top: int) -> str:
    what, _, report = question.partition(", ")
    return (
        f'<text x="8" y="{top + 15}" font-weight="600">{escape(what)}</text>'
        f'<text x="8" y="{top + 29}" fill="#566">{escape(report)}</text>'
    )


def _axis(left: int, bottom: int, epsilon: float) -> list[str]:
    parts = [f'<text x="{left + PANEL / 2:.0f}" y="{TOP - 14}" text-anchor="middle">ε = {epsilon:g}</text>']
    for value in (0, 50, 100):
        x = left + PANEL * value / 110
        line = "#17605d" if value == 100 else "#d5dcdc"
        parts.append(f'<path d="M{x:.1f} {TOP - 6}V{bottom}" stroke="{line}"/>')
        parts.append(
            f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle" font-size="11">{value}</text>'
        )
    return parts


def _line(row: dict[str, Any], left: int, top: int) -> list[str]:
    parts = []
    for place, one in enumerate(row["peers"]):
        x, y = left + PANEL * min(one["ratio"], 1.1) / 1.1, top + 7 + 10 * place
        half = 3 * PANEL * one["ratio_se"] / 1.1
        colour = MARKS[one["peer"]][0]
        parts.append(f'<path d="M{x - half:.1f} {y}H{x + half:.1f}" stroke="{colour}" stroke-opacity=".5"/>')
        parts.append(mark(one["peer"], x, y))
    return parts


def written() -> dict[Path, str]:
    """What each file should hold."""
    rows = json.loads(DATA.read_text("utf-8"))["rows"]
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    return {PAGE: f"{before}{BEGIN}\n\n{table(rows)}\n\n{END}{after}", FIGURE: figure(rows)}


def main() -> None:
    """Write both, or say whether they are current."""
    for path, text in written().items():
        if "--check" not in sys.argv:
            path.write_text(text, "utf-8")
        elif not path.exists() or path.read_text("utf-8") != text:
            sys.exit(
                f"{path.name} does not show docs/data/efficiency.json; run: python docs/tools/efficiency.py"
            )


if __name__ == "__main__":
    main()
