"""A point on a scale."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hushpoll_client.document import Place, read_text, short
from hushpoll_client.errors import ReportError, SurveyError
from hushpoll_client.exact import is_whole
from hushpoll_client.mechanism.subset import recommended_subset
from hushpoll_client.said import said

from .base import Answers, Kind, read_target

__all__ = ["MAX_POINTS", "Scale", "ScaleAnswers"]

MAX_POINTS = 11


@dataclass(frozen=True)
class ScaleAnswers(Answers):
    """Points from 1 upwards; `given` are the document's labels, for the ends or for every point."""

    given: tuple[str, ...]
    reported: str

    @property
    def values(self) -> tuple[Fraction, ...]:
        """The points."""
        return tuple(Fraction(point) for point in range(1, len(self.labels) + 1))

    @property
    def ordered(self) -> bool:
        """A scale rises."""
        return True

    @property
    def target(self) -> str:
        """What will be reported."""
        return self.reported

    @property
    def optimum(self) -> tuple[str, bool]:
        """What will be reported, at the uniform truth."""
        return self.reported, False

    def document(self) -> dict[str, Any]:
        """Give the number of points, and the labels where there are some."""
        return {"points": len(self.labels)} | ({"labels": list(self.given)} if self.given else {})

    def in_mechanism(self) -> dict[str, Any]:
        """Give the target."""
        return {"target": self.reported}

    def read(self, name: str, given: object) -> int:
        """Read the point, as a number or as its label."""
        if isinstance(given, str) and given in self.labels:
            return self.labels.index(given)
        text = given.strip() if isinstance(given, str) else given
        point = int(text) if isinstance(text, str) and text.isascii() and text.isdigit() else text
        if is_whole(point) and 1 <= point <= len(self.labels):  # type: ignore[operator]
            return int(point) - 1  # type: ignore[call-overload,no-any-return]
        raise ReportError(
            said('question "{name}": {given} is not a point of the scale', name=name, given=short(given)),
            said("give a whole number from 1 to {points}", points=len(self.labels)),
        )


class Scale(Kind):
    """Points in their order, one of them chosen."""

    name = "scale"
    label = "A point on a scale"
    help = "2 to 11 points in their order, such as never to always or 0 to 10."
    widget = "scale"
    keys = ("points",)
    later = ("labels",)
    in_mechanism = ("target",)
    targets = ("cumulative", "mean", "shares")
    takes = ("option", "ordered")
    in_blocks = True

    def read(self, fields: Mapping[str, Any], at: Place, published: bool) -> Answers:
        """Read the number of points and their labels."""
        points = fields["points"]
        if not is_whole(points) or not 2 <= points <= MAX_POINTS:
            raise SurveyError(
                (*at, "points"),
                said("{points} is not a number of points", points=short(points)),
                said("write 2 to {most}", most=MAX_POINTS),
            )
        given = _labels(fields.get("labels"), (*at, "labels"), int(points), published)
        return ScaleAnswers(_named(int(points), given), given, read_target(self, fields, at, published))

    def recommend(self, answers: Answers, rows: int, epsilon: Any) -> dict[str, Any]:
        """Recommend the best for all shares where these are wanted; other targets have a channel of their own."""
        if answers.target == "shares":
            made = recommended_subset(rows, epsilon)
            return {"name": made.name, **made.parameters}
        return {"name": "designed", "epsilon": epsilon}


def _labels(value: object, at: Place, points: int, published: bool) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or len(value) not in (2, points):
        raise SurveyError(
            at,
            said("do not match the {points} points", points=points),
            said("give two labels, for the ends, or {points}", points=points),
        )
    labels = tuple(read_text(one, (*at, place), "option", published) for place, one in enumerate(value))
    for place, one in enumerate(labels):
        if one in labels[:place]:
            raise SurveyError(
                (*at, place), said('"{option}" appears twice', option=one), "make every label different"
            )
    return labels


def _named(points: int, given: tuple[str, ...]) -> tuple[str, ...]:
    """Name every point: by its own label, or by its number with the label of an end."""
    if len(given) == points:
        return given
    numbers = [str(point) for point in range(1, points + 1)]
    if given:
        numbers[0], numbers[-1] = f"1 ({given[0]})", f"{points} ({given[1]})"
    return tuple(numbers)
