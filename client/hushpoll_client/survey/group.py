"""Groups by link: those who invite know them anyway, so a report names its group openly, without a question."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from hushpoll_client.errors import ReportError, SurveyError
from hushpoll_client.fields import read_text, short
from hushpoll_client.messages import msg

__all__ = [
    "FIELD",
    "LARGEST_GROUP",
    "MAX_GROUPS",
    "OTHER",
    "check_group",
    "check_sizes",
    "named_group",
    "read_groups",
    "refuse_field_id",
]

MAX_GROUPS = 100
LARGEST_GROUP = 10_000_000_000  # people: more than there are
FIELD = "group"
"""What the group is called in a report, a record and an export."""
OTHER = "other"
"""What groups are put together under that are too small to be shown on their own."""


def read_groups(value: object, published: bool) -> tuple[str, ...]:
    """Read the names of a survey's groups: two or more, all different, also when read aloud."""
    at = ("groups",)
    if not isinstance(value, list):
        raise SurveyError(
            at, msg("must be a list of names, got {value}", value=short(value)), 'write ["Science", "Arts"]'
        )
    if len(value) < 2:
        raise SurveyError(at, "there is only one group", "name two or more, or leave groups out")
    if len(value) > MAX_GROUPS:
        raise SurveyError(
            at,
            msg("there are {count} groups", count=len(value)),
            msg("keep at most {most}", most=MAX_GROUPS),
        )
    names = tuple(read_text(name, (*at, index), "option", published) for index, name in enumerate(value))
    met: dict[str, str] = {_spoken(OTHER): ""}
    for index, name in enumerate(names):
        first = met.get(_spoken(name))
        if first == "":
            raise SurveyError(
                (*at, index),
                msg('"{other}" is what small groups are put together under', other=OTHER),
                'say which, as in "Other faculties"',
            )
        if first is not None:
            raise SurveyError(
                (*at, index), msg("{name} appears twice", name=short(name)), "give every group its own name"
            )
        met[_spoken(name)] = name
    return names


def _spoken(name: str) -> str:
    """Return what two names share that sound the same: neither case nor spaces nor how accents are encoded count."""
    return re.sub(r"[\s\ufeff]+", "", unicodedata.normalize("NFC", name).casefold())


def refuse_field_id(questions: Sequence[Any]) -> None:
    """Refuse a question whose column would be taken for that of the groups."""
    for index, question in enumerate(questions):
        if question.id == FIELD:
            raise SurveyError(
                ("questions", index, "id"),
                msg('"{field}" is what the groups are called', field=FIELD),
                "use another id",
            )


def check_group(groups: Sequence[str], group: object) -> int | None:
    """Check the group that a report names: a place in the list where the survey has groups, else nothing."""
    if not groups:
        if group is not None:
            raise ReportError("this survey has no groups", "leave it out", FIELD)
        return None
    if group is None:
        raise ReportError(
            "is missing", msg("give the number in the link, from 0 to {last}", last=len(groups) - 1), FIELD
        )
    if type(group) is not int or not 0 <= group < len(groups):
        raise ReportError(msg("must be a whole number from 0 to {last}", last=len(groups) - 1), item=FIELD)
    return group


def named_group(groups: Sequence[str], name: str | None) -> int | None:
    """Find a group by its name; None where the survey has none and none is asked for."""
    if not groups and name is None:
        return None
    if not groups:
        raise SurveyError(("groups",), "this survey has none", "leave the group out")
    listed = ", ".join(groups)
    if name is None:
        raise SurveyError(("groups",), "which group is not said", msg("name one of {known}", known=listed))
    if name not in groups:
        raise SurveyError(
            ("groups",),
            msg("{name} is none of them", name=short(name)),
            msg("name one of {known}", known=listed),
        )
    return groups.index(name)


def check_sizes(groups: Sequence[str], sizes: Mapping[str, object]) -> list[int]:
    """Check how many people each group has; return the numbers in the order of the groups."""
    if not groups:
        raise SurveyError(("groups",), "this survey has none", "leave the sizes out")
    unknown = [name for name in sizes if name not in groups]
    if unknown:
        raise SurveyError(
            ("groups",),
            msg("{name} is none of them", name=short(unknown[0])),
            msg("name {groups}", groups=", ".join(groups)),
        )
    for name in groups:
        size = sizes.get(name)
        if type(size) is not int or not 1 <= size <= LARGEST_GROUP:
            fault = msg("has no size") if size is None else msg("cannot have {size} people", size=short(size))
            raise SurveyError(
                ("groups",),
                msg("{name} {fault}", name=short(name), fault=fault),
                msg("give a whole number from 1 to {most:,}", most=LARGEST_GROUP),
            )
    return [int(str(sizes[name])) for name in groups]
