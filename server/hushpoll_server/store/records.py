"""One report is one fixed-width record: a small unsigned number per question, in the survey's order."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import lt

from hushpoll_client import Survey

_CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}


@dataclass(frozen=True)
class RecordFormat:
    """How reports of one survey are written as bytes."""

    names: tuple[str, ...]
    outcomes: tuple[int, ...]
    widths: tuple[int, ...]

    @classmethod
    def of(cls, survey: Survey) -> RecordFormat:
        """Give each question the narrowest column that holds its channel's outcomes."""
        outcomes = tuple(question.channel.outcomes for question in survey.questions)
        return cls(
            tuple(question.id for question in survey.questions), outcomes, tuple(map(_width, outcomes))
        )

    @property
    def dtype(self) -> list[tuple[str, str]]:
        """The argument for `numpy.dtype`, so that `numpy.frombuffer(records, dtype)` gives one row per report."""
        return [(name, f"<u{width}") for name, width in zip(self.names, self.widths, strict=True)]

    @property
    def size(self) -> int:
        """Bytes in a record."""
        return sum(self.widths)

    @cached_property
    def struct(self) -> struct.Struct:
        """The same, for the standard library."""
        return struct.Struct("<" + "".join(_CODES[width] for width in self.widths))

    def holds(self, reports: Sequence[int]) -> bool:
        """Whether these whole numbers from 0 on are one possible report of each question."""
        return len(reports) == len(self.outcomes) and all(map(lt, reports, self.outcomes))

    def pack(self, reports: Sequence[int]) -> bytes:
        """Write reports that were checked before."""
        return self.struct.pack(*reports)

    def unpack(self, record: bytes) -> tuple[int, ...]:
        """Read a record back."""
        return self.struct.unpack(record)


def _width(outcomes: int) -> int:
    return next(width for width in (1, 2, 4, 8) if outcomes <= 256**width)
