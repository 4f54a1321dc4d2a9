"""One report is one fixed-width record: one field per entry of the survey, a question or a block, in its order.

Where the survey has groups, the group stands before them.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import lt

from hushpoll_client.channel import Code, Wire
from hushpoll_client.channel.wire import Whole
from hushpoll_client.survey import Survey
from hushpoll_client.survey.group import FIELD

__all__ = ["RecordFormat"]


@dataclass(frozen=True)
class RecordFormat:
    """How reports of one survey are written as bytes."""

    names: tuple[str, ...]
    wires: tuple[Wire, ...]
    groups: int = 0
    """How many groups there are; their field is the first of the others."""

    @classmethod
    def of(cls, survey: Survey) -> RecordFormat:
        """Take each entry's field from its channel."""
        names, wires = (
            [entry.id for entry in survey.entries],
            [entry.channel.wire for entry in survey.entries],
        )
        if not survey.groups:
            return cls(tuple(names), tuple(wires))
        count = len(survey.groups)
        return cls((FIELD, *names), (Whole(count), *wires), count)

    @property
    def group_width(self) -> int:
        """The first bytes of a record that say its group; none where there are no groups."""
        if self.groups:
            return Whole(self.groups).width
        return 0

    @property
    def dtype(self) -> list[tuple[str, str]]:
        """The argument for `numpy.dtype`, so that `numpy.frombuffer(records, dtype)` gives one row per report."""
        return [(name, wire.dtype) for name, wire in zip(self.names, self.wires, strict=True)]

    @property
    def size(self) -> int:
        """Bytes in a record."""
        return self.struct.size

    @cached_property
    def struct(self) -> struct.Struct:
        """The same, for the standard library."""
        return struct.Struct("<" + "".join(wire.code for wire in self.wires))

    @cached_property
    def pattern(self) -> re.Pattern[bytes]:
        """The bytes that our own clients send where no invitations are: the group, the id, the reports, spaces."""
        patterns = [wire.pattern for wire in self.wires]
        group = b""
        if self.groups:
            group = rb'"group":(%b),' % patterns.pop(0)
        return re.compile(rb'\{%b"id":"([0-9a-f]{32})","reports":\[(%b)\]\} *' % (group, b",".join(patterns)))

    def read_body(
        self, body: bytes, alike: dict[bytes, bytes | None] | None = None
    ) -> tuple[bytes, bytes] | None:
        """Read the id and the record of such bytes; None of all others, which need a closer look.

        Who reads many may hand the same `alike` to each: reports that say the same are then checked once.
        """
        match = self.pattern.fullmatch(body)
        if match is None:
            return None
        if self.groups:
            group, name, reports = match.groups()
            reports = b"%b,%b" % (group, reports)
        else:
            name, reports = match.groups()
        if alike is None:
            record = self._record(reports)
        elif reports in alike:
            record = alike[reports]
        else:
            record = alike[reports] = self._record(reports)
        if record is None:
            return None
        return (name, record)

    def _record(self, reports: bytes) -> bytes | None:
        values = self.read(reports)
        if values is None:
            return None
        return self.pack(values)

    @cached_property
    def _limits(self) -> tuple[int, ...] | None:
        """What each report lies below, where all of them are whole numbers: the usual case, and the quick one."""
        limits = tuple(wire.below for wire in self.wires if wire.below is not None)
        if len(limits) == len(self.wires):
            return limits
        return None

    def read(self, reports: bytes) -> tuple[Code, ...] | None:
        """Read the values of a body that fits `pattern`; None where one of them is not legal."""
        parts = reports.split(b",")
        if self._limits is not None:
            numbers = tuple(map(int, parts))
            if all(map(lt, numbers, self._limits)):
                return numbers
            return None
        values = tuple(wire.read(text) for wire, text in zip(self.wires, parts, strict=True))
        if self.holds(values):
            return values
        return None

    def holds(self, reports: Sequence[Code]) -> bool:
        """Return whether these are one possible report of each question."""
        return len(reports) == len(self.wires) and all(
            wire.legal(report) for wire, report in zip(self.wires, reports, strict=True)
        )

    def fits(self, record: bytes) -> bool:
        """Return whether a record is one possible report of each question."""
        if len(record) != self.size:
            return False
        if self._limits is not None:
            return all(map(lt, self.struct.unpack(record), self._limits))
        return self.holds(self.unpack(record))

    def pack(self, reports: Sequence[Code]) -> bytes:
        """Write reports that were checked before."""
        if self._limits is not None:
            return self.struct.pack(*reports)
        return self.struct.pack(
            *(wire.pack(report) for wire, report in zip(self.wires, reports, strict=True))
        )

    def columns(self, records: bytes) -> list[bytes]:
        """Return for each name the fields of many records, which stand one after the other."""
        columns, start, size = [], 0, self.size
        for wire in self.wires:
            width = wire.width
            fields = bytearray(len(records) // size * width)
            for byte in range(width):
                fields[byte::width] = records[start + byte :: size]
            columns.append(bytes(fields))
            start += width
        return columns

    def unpack(self, record: bytes) -> tuple[Code, ...]:
        """Read a record back."""
        stored = self.struct.unpack(record)
        if self._limits is not None:
            return stored
        return tuple(wire.unpack(value) for wire, value in zip(self.wires, stored, strict=True))
