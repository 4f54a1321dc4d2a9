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

from .channel import Code, Wire
from .channel.wire import Whole
from .group import FIELD
from .survey import Survey

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
        names, wires = [one.id for one in survey.entries], [one.channel.wire for one in survey.entries]
        if not survey.groups:
            return cls(tuple(names), tuple(wires))
        count = len(survey.groups)
        return cls((FIELD, *names), (Whole(count), *wires), count)

    @property
    def group_width(self) -> int:
        """The first bytes of a record that say its group; none where there are no groups."""
        return Whole(self.groups).width if self.groups else 0

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
        group = rb'"group":(%b),' % patterns.pop(0) if self.groups else b""
        return re.compile(rb'\{%b"id":"([0-9a-f]{32})","reports":\[(%b)\]\} *' % (group, b",".join(patterns)))

    def read_body(
        self, body: bytes, alike: dict[bytes, bytes | None] | None = None
    ) -> tuple[bytes, bytes] | None:
        """Read the id and the record of such bytes; None of all others, which need a closer look.

        Who reads many may hand the same `alike` to each: reports that say the same are then checked once.
        """
        found = self.pattern.fullmatch(body)
        if found is None:
            return None
        if self.groups:
            group, name, reports = found.groups()
            reports = b"%b,%b" % (group, reports)
        else:
            name, reports = found.groups()
        if alike is None:
            record = self._record(reports)
        elif reports in alike:
            record = alike[reports]
        else:
            record = alike[reports] = self._record(reports)
        return None if record is None else (name, record)

    def _record(self, reports: bytes) -> bytes | None:
        values = self.read(reports)
        return None if values is None else self.pack(values)

    @cached_property
    def _limits(self) -> tuple[int, ...] | None:
        """What each report lies below, where all of them are whole numbers: the usual case, and the quick one."""
        limits = tuple(wire.below for wire in self.wires if wire.below is not None)
        return limits if len(limits) == len(self.wires) else None

    def read(self, reports: bytes) -> tuple[Code, ...] | None:
        """Read the values of a body that fits `pattern`; None where one of them is not legal."""
        parts = reports.split(b",")
        if self._limits is not None:
            whole = tuple(map(int, parts))
            return whole if all(map(lt, whole, self._limits)) else None
        values = tuple(wire.read(part) for wire, part in zip(self.wires, parts, strict=True))
        return values if self.holds(values) else None

    def holds(self, reports: Sequence[Code]) -> bool:
        """Tell whether these are one possible report of each question."""
        return len(reports) == len(self.wires) and all(
            wire.legal(report) for wire, report in zip(self.wires, reports, strict=True)
        )

    def fits(self, record: bytes) -> bool:
        """Tell whether a record is one possible report of each question."""
        if len(record) != self.size:
            return False
        if self._limits is not None:
            return all(map(lt, self.struct.unpack(record), self._limits))
        return self.holds(self.unpack(record))

    def pack(self, reports: Sequence[Code]) -> bytes:
        """Write reports that were checked before."""
        if self._limits is not None:
            return self.struct.pack(*reports)
        return self.struct.pack(*(wire.pack(one) for wire, one in zip(self.wires, reports, strict=True)))

    def columns(self, records: bytes) -> list[bytes]:
        """Give for each name the fields of many records, which stand one after the other."""
        found, start, size = [], 0, self.size
        for wire in self.wires:
            width = wire.width
            fields = bytearray(len(records) // size * width)
            for place in range(width):
                fields[place::width] = records[start + place :: size]
            found.append(bytes(fields))
            start += width
        return found

    def unpack(self, record: bytes) -> tuple[Code, ...]:
        """Read a record back."""
        stored = self.struct.unpack(record)
        if self._limits is not None:
            return stored
        return tuple(wire.unpack(one) for wire, one in zip(self.wires, stored, strict=True))
