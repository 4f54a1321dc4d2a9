"""The parameters of mechanisms: declared once, read alike from documents, command lines and forms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hushpoll_client.errors import MechanismError
from hushpoll_client.messages import msg

__all__ = [
    "ASK",
    "CHANNEL",
    "DECOY_COUNTS",
    "DECOY_SHARE",
    "DRAWS",
    "EPSILON",
    "FORCED",
    "RED",
    "SIGMA",
    "SIZE",
    "Parameter",
    "Shape",
    "flip_epsilon",
    "truth_of",
]


@dataclass(frozen=True)
class Shape:
    """How a parameter's value is written: one number or a list, published as strings or as whole numbers."""

    metavar: str
    listed: bool = False
    integer: bool = False
    length: int | None = None
    example: str = ""

    def from_text(self, text: str) -> Any:
        """Return the document's value for what a person typed; what is not a number is refused later, by its name."""
        items: list[Any] = [text]
        if self.listed:
            items = [item.strip() for item in text.replace(";", ",").split(",")]
        if self.integer:
            items = [_whole_or_text(item) for item in items]
        if self.listed:
            return items
        return items[0]

    def fits(self, value: object) -> bool:
        """Return whether a document's value has this shape; None, a bool and an object never do."""
        if isinstance(value, list) != self.listed:
            return False
        return value is not None and not isinstance(value, dict | bool)

    def is_published(self, value: object) -> bool:
        """Return whether a value is written as published: no number but a whole one, and that only where it counts."""
        items = [value]
        if self.listed and isinstance(value, list):
            items = value
        expected = int if self.integer else str
        return all(type(item) is expected for item in items)


@dataclass(frozen=True)
class Parameter:
    """One parameter: its key in the document, its shape, and one sentence of help.

    A form calls it `label` and says how to write it in `hint`; both are the same for every mechanism that takes it.
    """

    name: str
    shape: Shape
    help: str
    missing: str = ""
    """What to do where it is left out; empty where that is allowed."""
    alone: bool = False
    """Whether a mechanism that was given it has its epsilon fixed."""
    label: str = ""
    hint: str = ""
    chosen: bool = False
    """Whether the best value is found where a draft leaves it out; what is published always states it."""

    def check(self, value: object) -> None:
        """Refuse a value of another shape."""
        if self.shape.fits(value):
            return
        if value is None or isinstance(value, dict | bool):
            raise MechanismError.about(
                self.name, msg("must be a number, got {value!r}", value=value), "write for example 1.0"
            )
        raise MechanismError.about(
            self.name, "has the wrong shape", msg("write it as {metavar}", metavar=self.shape.metavar)
        )


_NUMBER = Shape("E")
_SHARE = Shape("P")
_OWN_EPSILON = msg("Epsilon of this question"), msg("A positive number such as 1.")
_BEST = msg("A whole number; leave it empty for the best one.")

EPSILON = Parameter(
    "epsilon",
    _NUMBER,
    msg("Privacy parameter of one answer."),
    msg("add a number such as 1.0"),
    False,
    *_OWN_EPSILON,
)
FORCED = Parameter(
    "forced",
    Shape("U0,U1,...", listed=True),
    msg("Forced share of each option."),
    alone=True,
    label=msg("Forced share per option"),
    hint=msg("One share per option, in their order (No, Yes), separated by commas: 1/6, 1/6."),
)
DECOY_SHARE = Parameter(
    "decoy_share",
    Shape("Q"),
    msg("Known share of Yes to the decoy question."),
    label=msg("Share"),
    hint=msg("Such as 0.25 or 1/4; treated as known exactly."),
)
DECOY_COUNTS = Parameter(
    "decoy_counts",
    Shape("YES,OF", listed=True, integer=True, length=2, example="412,1000"),
    msg("The decoy share, estimated: Yes answers, of so many."),
)
RED = Parameter(
    "red",
    Shape("P1,P0", listed=True, length=2, example="4/5,1/5"),
    msg("Kuk: share of red cards if the truth is Yes, and if it is No."),
    msg("give the shares of red cards as P1,P0"),
)
DRAWS = Parameter(
    "draws", Shape("R", integer=True), msg("Kuk: cards drawn per respondent (1 unless said otherwise).")
)
SIZE = Parameter(
    "size",
    Shape("D", integer=True),
    msg("Options in a reported set, 2 or more (the best number unless said otherwise)."),
    label=msg("Options in a reported set"),
    hint=_BEST,
    chosen=True,
)
ASK = Parameter(
    "ask",
    Shape("S", integer=True),
    msg("Items that each device reports on (the best number unless said otherwise)."),
    label=msg("Items that each device reports on"),
    hint=_BEST,
    chosen=True,
)
SIGMA = Parameter(
    "sigma",
    Shape("W"),
    msg("Width of Gaussian noise, in steps of the scale."),
    msg("give a number of steps such as 2"),
    alone=True,
)
CHANNEL = Parameter(
    "channel",
    Shape("FILE"),
    'JSON: {"rows": [[...], ...]}, probabilities or integers out of 2^53, row = truth; {"weights": ...}, '
    "which are normalised; or a published channel.",
    "give a file with the table",
)


def flip_epsilon() -> Parameter:
    """Return the optional epsilon of a coin on the device after a decoy."""
    coin = msg("Privacy parameter of a coin on the device after the decoy.")
    return Parameter("epsilon", _NUMBER, coin, "", False, *_OWN_EPSILON)


def truth_of(help: str, missing: str = "", alone: bool = False) -> Parameter:
    """Return the probability of the truth, which means something else in each mechanism."""
    label = msg("Probability of the truth")
    hint = msg("A share or fraction, such as 0.75 or 3/4.")
    return Parameter("truth", _SHARE, help, missing, alone, label, hint)


def _whole_or_text(text: str) -> int | str:
    # Python reads no number of thousands of digits; what stays text is refused with the field's name.
    if text.isascii() and text.isdigit() and len(text) < 19:
        return int(text)
    return text
