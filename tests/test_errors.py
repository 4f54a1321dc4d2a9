"""Errors carry what is wrong and what to do as two fields, never as one text that is split again."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from hushpoll_client import HushpollError, MechanismError, SubmitError, Survey, SurveyError
from hushpoll_client.delivery.link import Link
from hushpoll_server.people.errors import AccountError
from hushpoll_server.people.passwords import check_password

from tests.client.documents import one_question

ROOT = Path(__file__).parent.parent


def family(base: type = HushpollError) -> Iterator[str]:
    yield base.__name__
    for subclass in base.__subclasses__():
        yield from family(subclass)


def in_one_text(text: str) -> list[int]:
    """The lines where an error of ours is made whose problem holds the remedy too."""
    ours, lines = set(family()), []
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        values = [constant.value for constant in ast.walk(node.args[0]) if isinstance(constant, ast.Constant)]
        if name in ours and any(isinstance(value, str) and "; " in value for value in values):
            lines.append(node.lineno)
    return lines


@pytest.mark.parametrize("room", ["client", "analysis", "server"])
def test_problem_and_remedy_are_two_fields(room: str) -> None:
    import hushpoll_analysis  # noqa: F401 - so that its errors are known

    violations = [
        f"{file.relative_to(ROOT)}:{line}"
        for file in sorted((ROOT / room).rglob("*.py"))
        for line in in_one_text(file.read_text("utf-8"))
    ]
    assert not violations, "\n".join(violations)


def test_a_text_with_both_is_detected() -> None:
    assert in_one_text('raise SubmitError(f"{url} is not an address; copy the link")') == [1]
    assert in_one_text('raise SubmitError(f"{url} is not an address", "copy the link; then open it")') == []


def test_the_message_is_the_two_together() -> None:
    with pytest.raises(SubmitError) as refused:
        Link.parse("ftp://example.org")
    assert (refused.value.problem, refused.value.remedy) == (
        "'ftp://example.org' is not an http or https address",
        "copy the whole link",
    )
    assert str(refused.value) == "'ftp://example.org' is not an http or https address; copy the whole link"


def test_an_account_s_error_points_at_its_field() -> None:
    with pytest.raises(AccountError) as refused:
        check_password("short")
    assert (refused.value.field, refused.value.remedy) == ("password", "")
    error = AccountError("the name is taken", "choose another")
    assert (error.field, str(error)) == ("name", "the name is taken; choose another")


def test_a_field_and_its_fault_are_named_once() -> None:
    error = MechanismError.about("epsilon", "must be greater than 0", "try 1.0")
    assert (error.field, error.predicate) == ("epsilon", "must be greater than 0")
    assert str(error) == "epsilon must be greater than 0; try 1.0"
    with pytest.raises(SurveyError) as refused:
        Survey.from_draft(one_question(mechanism={"epsilon": 0}))
    assert refused.value.path == ("questions", 0, "mechanism", "epsilon")
    assert refused.value.problem == "must be greater than 0, got 0"
    assert str(refused.value).endswith("mechanism.epsilon: must be greater than 0, got 0; try 1.0")
