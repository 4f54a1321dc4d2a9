"""Long reports in pages: as many questions at a time as a browser shows without delay."""

from __future__ import annotations

from dataclasses import dataclass

from flask import request
from hushpoll_client import Survey

from hushpoll_server.problems import Problem

__all__ = ["MOST_ROWS", "PageOfQuestions", "questions_on_page"]

MOST_ROWS = 1_000
"""Rows of tables on one page; a row weighs about a kilobyte. A question is never cut."""


@dataclass(frozen=True)
class PageOfQuestions:
    """The questions of one page of a report."""

    page: int
    pages: tuple[tuple[str, ...], ...]

    @property
    def ids(self) -> tuple[str, ...] | None:
        """Their ids; None where one page shows the whole survey."""
        if len(self.pages) > 1:
            return self.pages[self.page - 1]
        return None

    @property
    def first(self) -> int:
        """The number of its first question."""
        return 1 + sum(map(len, self.pages[: self.page - 1]))

    @property
    def last(self) -> int:
        """The number of its last question."""
        return sum(map(len, self.pages[: self.page]))

    @property
    def total(self) -> int:
        """How many questions there are."""
        return sum(map(len, self.pages))


def questions_on_page(survey: Survey) -> PageOfQuestions:
    """Find the page that the request asks for by `page`, the first one by default."""
    pages = _pages(survey)
    text = request.values.get("page") or "1"
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:6]) <= len(pages):
        raise Problem(422, f"page: {text[:20]!r} is not one of 1 to {len(pages)}; choose one of these")
    return PageOfQuestions(int(text), pages)


def _pages(survey: Survey) -> tuple[tuple[str, ...], ...]:
    pages: list[list[str]] = []
    rows = 0
    for question in survey.questions:
        size = len(question.options)
        if not pages or rows + size > MOST_ROWS:
            pages.append([])
            rows = 0
        pages[-1].append(question.id)
        rows += size
    return tuple(map(tuple, pages))
