"""What a report looks like on its way: as JSON, as a field of a stored record, and which values are legal.

A form chooses one of two shapes. Most reports are a whole number below the number of outcomes; a report that is a set
of options is a bitmap in lower-case hexadecimal digits, option 0 the lowest bit of the last digit.
"""

from __future__ import annotations

import re
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from hushpoll_client.messages import msg

__all__ = ["SHAPES", "Bitmap", "Code", "Ranked", "Whole", "Wire"]

Code = int | str
_STRUCT = {1: "B", 2: "H", 4: "I", 8: "Q"}


class Wire(ABC):
    """The shape of one question's reports."""

    words: str
    """What is legal, for an error message: "must be ..."."""
    pattern: bytes
    """A regular expression of the canonical JSON, without groups."""
    code: str
    """The field's code for `struct`, little-endian without padding."""
    dtype: str
    """The same field for `numpy.dtype`."""
    below: int | None
    """What a report lies below where it is a whole number, and is stored as such; None for other shapes."""
    width: int
    """The bytes of the field."""
    longest: Code
    """What is written with as many characters as the longest report; a report itself it need not be."""
    schema: ClassVar[dict[str, object]]
    """Any report of this shape as JSON Schema; which ones a question takes, its survey says."""

    @abstractmethod
    def legal(self, report: object) -> bool:
        """Return whether some answer could have led to this report."""

    @abstractmethod
    def read(self, text: bytes) -> Code:
        """Read a report from JSON that matches `pattern`."""

    @abstractmethod
    def pack(self, report: Code) -> int | bytes:
        """Return what `struct` packs for a legal report."""

    @abstractmethod
    def unpack(self, stored: int | bytes) -> Code:
        """Return the report that was packed."""

    def column(self, fields: bytes) -> Sequence[Any]:
        """Take the fields of many records, one after the other, apart: what `struct` packed of each."""
        if self.width == 1 and self.below is not None:
            return fields  # bytes are whole numbers already
        return tuple(value for (value,) in struct.iter_unpack("<" + self.code, fields))


@dataclass(frozen=True)
class Whole(Wire):
    """A whole number from 0 to outcomes - 1."""

    outcomes: int
    pattern = rb"(?:0|[1-9][0-9]{0,15})"
    schema: ClassVar[dict[str, object]] = {"type": "integer", "minimum": 0}

    @property
    def below(self) -> int:  # type: ignore[override]
        return self.outcomes

    @property
    def longest(self) -> int:  # type: ignore[override]
        return self.outcomes - 1

    @property
    def words(self) -> str:  # type: ignore[override]
        return msg("a whole number from 0 to {last}", last=self.outcomes - 1)

    @property
    def width(self) -> int:  # type: ignore[override]
        """Return the bytes of the narrowest column that holds every outcome."""
        return next(width for width in _STRUCT if self.outcomes <= 256**width)

    @property
    def code(self) -> str:  # type: ignore[override]
        return _STRUCT[self.width]

    @property
    def dtype(self) -> str:  # type: ignore[override]
        return f"<u{self.width}"

    def legal(self, report: object) -> bool:
        return type(report) is int and 0 <= report < self.outcomes

    def read(self, text: bytes) -> Code:
        return int(text)

    def pack(self, report: Code) -> int | bytes:
        return int(report)

    def unpack(self, stored: int | bytes) -> Code:
        return int(stored)


@dataclass(frozen=True)
class Ranked(Whole):
    """A whole number of which some below the largest are not reports either."""

    holds: Callable[[int], bool]

    @property
    def below(self) -> None:  # type: ignore[override]
        return None

    @property
    def words(self) -> str:  # type: ignore[override]
        return msg("a whole number that stands for the questions asked and a joint answer to them")

    def legal(self, report: object) -> bool:
        return super().legal(report) and self.holds(report)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Bitmap(Wire):
    """A set of exactly `size` of `options` options."""

    options: int
    size: int
    below = None
    schema: ClassVar[dict[str, object]] = {"type": "string", "pattern": "^[0-9a-f]+$"}

    @property
    def digits(self) -> int:
        """Return the number of hexadecimal digits."""
        return -(-self.options // 4)

    @property
    def longest(self) -> str:  # type: ignore[override]
        return "0" * self.digits

    @property
    def words(self) -> str:  # type: ignore[override]
        return msg(
            "{digits} lower-case hexadecimal digits with {size} of {options} bits set",
            digits=self.digits,
            size=self.size,
            options=self.options,
        )

    @property
    def pattern(self) -> bytes:  # type: ignore[override]
        return b'"[0-9a-f]{%d}"' % self.digits

    @property
    def width(self) -> int:  # type: ignore[override]
        """Return the bytes of the field: eight options each."""
        return -(-self.options // 8)

    @property
    def code(self) -> str:  # type: ignore[override]
        return f"{self.width}s"

    @property
    def dtype(self) -> str:  # type: ignore[override]
        return f"V{self.width}"

    def legal(self, report: object) -> bool:
        if type(report) is not str or not re.fullmatch(f"[0-9a-f]{{{self.digits}}}", report):
            return False
        bits = int(report, 16)
        return bits >> self.options == 0 and bits.bit_count() == self.size

    def read(self, text: bytes) -> Code:
        return text.strip(b'"').decode("ascii")

    def pack(self, report: Code) -> int | bytes:
        return int(str(report), 16).to_bytes(self.width, "little")

    def unpack(self, stored: int | bytes) -> Code:
        assert isinstance(stored, bytes)
        return f"{int.from_bytes(stored, 'little'):0{self.digits}x}"


SHAPES: tuple[type[Wire], ...] = (Whole, Bitmap)
"""What a report can look like on the wire."""
