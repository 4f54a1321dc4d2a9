"""Results as text: what they are, their table, and their notes."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import pandas as pd

WIDTH = 100


class Summary:
    """A result that can be printed: `summary()` is its table with what belongs to it, and `print` shows the same."""

    summary_columns: ClassVar[tuple[str, ...]] = ()
    """The columns of the table that the text has; all of them by default."""

    def summary(self) -> str:
        """Return the result as text: what it is, its table without cuts, and its notes."""
        frame = self.to_frame()  # type: ignore[attr-defined]
        columns = [name for name in self.summary_columns if name in frame.columns]
        blocks = [self._title(), table_text(frame[columns] if columns else frame)]
        notes = [str(note) for note in getattr(self, "notes", ()) or ()]
        if notes:
            listed = ["  - " + textwrap.fill(note, WIDTH - 4, subsequent_indent="    ") for note in notes]
            blocks.append("\n".join(["Notes:", *listed]))
        return "\n\n".join(blocks)

    def __str__(self) -> str:
        return self.summary()

    def _title(self) -> str:
        """Return the first line: the kind of result, the number of reports, the level."""
        facts = []
        n, level = getattr(self, "n", None), getattr(self, "level", None)
        if isinstance(n, int):
            facts.append(f"n = {n:,}")
        if isinstance(level, float):
            facts.append(f"{100 * level:g} % intervals")
        name = type(self).__name__
        if facts:
            return f"{name}: {', '.join(facts)}"
        return name


def table_text(frame: pd.DataFrame) -> str:
    """Return a table as text; one wider than a terminal is broken into blocks, and no column is left out."""
    text: str = frame.to_string(float_format=_number, na_rep="", line_width=WIDTH)
    return "\n".join(line.rstrip() for line in text.splitlines())


def _number(value: Any) -> str:
    if abs(value) < 1e5:
        return f"{value:.4f}"
    return f"{value:.6g}"
