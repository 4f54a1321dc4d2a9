"""A point on a scale."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hushpoll_client.errors import ReportError, SurveyError
from hushpoll_client.exact import is_whole
from hushpoll_client.fields import Place, read_text, short
from hushpoll_client.mechanism.subset import recommended_subset
from hushpoll_client.messages import msg

from .base import Answers, Kind, read_target
from .choice import refuse_alike

__all__ = ["MAX_POINTS", "Scale", "ScaleAnswers"]

MAX_POINTS = 11
FIRST = 1
"""The number of the first point, unless the document says 0."""


@dataclass(frozen=True)
class ScaleAnswers(Answers):
    """Points from the first upwards; `end_labels` are the document's labels, for the ends or for every point."""

    end_labels: tuple[str, ...]
    reported: str
    first: int = FIRST

    @property
    def values(self) -> tuple[Fraction, ...]:
        """The points."""
        return tuple(Fraction(self.first + index) for index in range(len(self.labels)))

    @property
    def ordered(self) -> bool:
        """A scale rises."""
        return True

    @property
    def upward(self) -> bool:
        """Whether the designer chose shares from each point upwards."""
        return self.reported == "cumulative"

    @property
    def target(self) -> str:
        """What will be reported."""
        return self.reported

    @property
    def optimum(self) -> tuple[str, bool]:
        """What will be reported, at the uniform truth."""
        return self.reported, False

    def document(self) -> dict[str, Any]:
        """Return the number of points, the first where it is 0, and the labels where there are some."""
        value: dict[str, Any] = {"points": len(self.labels)}
        if self.first != FIRST:
            value["first"] = self.first
        if self.end_labels:
            value["labels"] = list(self.end_labels)
        return value

    def in_mechanism(self) -> dict[str, Any]:
        """Return the target."""
        return {"target": self.reported}

    def read(self, name: str, value: object) -> int:
        """Read the point, as a number or as its label."""
        if isinstance(value, str) and value in self.labels:
            return self.labels.index(value)
        text = value
        if isinstance(value, str):
            text = value.strip()
        point = text
        if isinstance(text, str) and text.isascii() and text.isdigit():
            point = int(text)
        last = self.first + len(self.labels) - 1
        if is_whole(point) and self.first <= point <= last:  # type: ignore[operator]
            return int(point) - self.first  # type: ignore[call-overload,no-any-return]
        raise ReportError(
            msg('question "{name}": {given} is not a point of the scale', name=name, given=short(value)),
            msg("give a whole number from {first} to {last}", first=self.first, last=last),
        )


class Scale(Kind):
    """Points in their order, one of them chosen."""

    name = "scale"
    label = msg("A point on a scale")
    help = msg("2 to 11 points in their order, such as never to always, 1 to 10 or 0 to 10.")
    widget = "scale"
    keys = ("points",)
    optional_keys = ("first", "labels")
    in_mechanism = ("target",)
    targets = ("cumulative", "mean", "shares")
    mechanism_fits = ("option", "ordered")
    in_blocks = True

    def read(self, fields: Mapping[str, Any], at: Place, published: bool) -> Answers:
        """Read the number of points and their labels."""
        points = fields["points"]
        if not is_whole(points) or not 2 <= points <= MAX_POINTS:
            raise SurveyError(
                (*at, "points"),
                msg("{points} is not a number of points", points=short(points)),
                msg("write 2 to {most}", most=MAX_POINTS),
            )
        labels = _labels(fields.get("labels"), (*at, "labels"), int(points), published)
        first = fields.get("first", FIRST)
        if "first" in fields and (not is_whole(first) or first != 0):
            raise SurveyError(
                (*at, "first"),
                msg("{first} is not where a scale can start", first=short(first)),
                "write 0, or leave it out for 1",
            )
        target = read_target(self, fields, at, published)
        return ScaleAnswers(_named(int(first), int(points), labels), labels, target, int(first))

    def recommend(self, answers: Answers, rows: int, epsilon: Any) -> dict[str, Any]:
        """Recommend the best for all shares where these are wanted; other targets have a channel of their own."""
        if answers.target == "shares":
            mechanism = recommended_subset(rows, epsilon)
            return {"name": mechanism.name, **mechanism.parameters}
        return {"name": "designed", "epsilon": epsilon}


def _labels(value: object, at: Place, points: int, published: bool) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or len(value) not in (2, points):
        raise SurveyError(
            at,
            msg("do not match the {points} points", points=points),
            msg("give two labels, for the ends, or {points}", points=points),
        )
    labels = tuple(read_text(label, (*at, index), "option", published) for index, label in enumerate(value))
    for index, label in enumerate(labels):
        if label in labels[:index]:
            raise SurveyError(
                (*at, index), msg('"{option}" appears twice', option=label), "make every label different"
            )
    # Published surveys keep their hash, whatever their labels are.
    if not published:
        refuse_alike(labels, at)
    return labels


def _named(first: int, points: int, labels: tuple[str, ...]) -> tuple[str, ...]:
    """Name every point: by its own label, or by its number with the label of an end."""
    if len(labels) == points:
        return labels
    numbers = [str(first + index) for index in range(points)]
    if labels:
        numbers[0], numbers[-1] = f"{numbers[0]} ({labels[0]})", f"{numbers[-1]} ({labels[1]})"
    return tuple(numbers)
