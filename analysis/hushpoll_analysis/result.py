"""What results have in common: a tidy frame, JSON values, a picture in one style, and a table in notebooks."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from html import escape
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


def as_json(value: Any) -> Any:
    """Return a value as JSON knows it: arrays as lists, and None for a number that is unbounded or does not exist."""
    if is_dataclass(value):
        return {entry.name: as_json(getattr(value, entry.name)) for entry in fields(value) if entry.repr}
    if isinstance(value, Mapping):
        return {str(key): as_json(entry) for key, entry in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [as_json(entry) for entry in value]
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        return None
    if value is None or isinstance(value, str | int):
        return value
    return str(value)


def rows_as_json(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table as JSON knows them: None for what is missing."""
    complete = frame.astype(object).where(frame.notna(), None)
    return [as_json(row) for row in complete.to_dict(orient="records")]


def flat(row: dict[str, Any]) -> dict[str, Any]:
    """Move the shown values into separate columns."""
    clipped = row.pop("shown", None)
    if isinstance(clipped, dict) or clipped is None:
        values = clipped
    else:
        values = vars(clipped)
    return row | {f"shown_{key}": value for key, value in (values or {}).items()}


def _paragraphs(texts: Sequence[str]) -> list[str]:
    return [f"<p>{escape(text)}</p>" for text in texts if text]


class PlottedResult(Summary):
    """A result that draws itself, as far as it can be shown, and shows itself in a notebook.

    By default it is a dataclass of one row. `plotted_column` is the column of the dots; without limits, no whiskers.
    Nothing is imported before it is used: the designer's slider must not wait for pandas.
    """

    json_keys: ClassVar[Sequence[str]] = ()
    """The fields and properties of the JSON form; by default all fields."""
    plotted_column: ClassVar[str] = "estimate"
    words: ClassVar[str] = "estimate"
    from_zero: ClassVar[bool] = False
    """Whether the picture begins at 0: of what is compared by its size."""
    marks_zero: ClassVar[bool] = False
    """Whether a line marks 0: no effect, no difference."""

    def to_frame(self) -> pd.DataFrame:
        """Return the result as a pandas table of one row."""
        import pandas as pd

        frame = pd.DataFrame([flat(self.row())])
        key = next((name for name in ("option", "name") if name in frame), None)
        if key is None:
            return frame.rename({0: type(self).plotted_column})
        return frame.set_index(key)

    def row(self) -> dict[str, Any]:
        """Return the fields in the order of a table's columns."""
        return {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.repr}  # type: ignore[arg-type]

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON values: None stands for what is unbounded or does not exist."""
        keys = self.json_keys or [entry.name for entry in fields(self) if entry.repr]  # type: ignore[arg-type]
        return {key: as_json(getattr(self, key)) for key in keys}

    def plot(self, axes: Any = None) -> Any:
        """Draw the result with matplotlib and give the axes."""
        from .plotting import draw_whiskers

        frame = self._picture()
        before = ""
        if f"shown_{self.plotted_column}" in frame:
            before = "shown_"
        middle = frame[before + self.plotted_column]
        low, high = (frame.get(before + end, middle) for end in ("low", "high"))
        axes = draw_whiskers(frame.index, middle, low, high, self._words(), axes, zero=self.marks_zero)
        if self.from_zero:
            axes.set_xlim(left=0.0)
        return axes

    def _picture(self) -> pd.DataFrame:
        """Return the rows of the picture, named as they shall be read."""
        return self.to_frame()

    def _caption(self) -> str:
        """Return what a notebook says above the table."""
        return ""

    def _title(self) -> str:
        return self._caption() or super()._title()

    def _words(self) -> str:
        level = getattr(self, "level", None)
        if level is None:
            return self.words
        return f"{self.words}, {level:.0%} interval"

    def _repr_html_(self) -> str:
        table: str = self.to_frame().to_html(float_format=lambda value: f"{value:.4f}", na_rep="")
        return "".join([*_paragraphs([self._caption()]), table, *_paragraphs(self._notebook_notes())])

    def _notebook_notes(self) -> Sequence[str]:
        """Return what a notebook says below the table."""
        return ()
