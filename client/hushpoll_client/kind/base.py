"""A kind of question: what a document says about it, what its true answers are, and how one is given.

Every file beside this one is one kind. Everybody else asks the kind; nobody asks for its name to decide anything.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from hushpoll_client.document import Place
from hushpoll_client.errors import ReportError
from hushpoll_client.mechanism import MECHANISMS, Mechanism

__all__ = ["Kind"]


class Kind(ABC):
    """One kind of question; there is one object of each."""

    name: ClassVar[str]
    label: ClassVar[str]
    help: ClassVar[str]
    widget: ClassVar[str]
    """What the respondent's page draws for it."""
    keys: ClassVar[tuple[str, ...]] = ()
    """Keys of the question's document beside those that every question has."""
    recommended: ClassVar[str]
    """The mechanism that a document means which gives an epsilon and no name."""
    takes: ClassVar[tuple[str, ...]] = ("option",)
    """The sorts of mechanism that fit it: for one "option", for "ordered" answers, for a "set" of them."""
    fixed_words: ClassVar[bool] = False
    """Whether the answers' labels are the page's own words, to be said in the reader's language."""
    yes_or_no: ClassVar[bool] = False
    """Whether the answers are No and Yes, so that a decoy question can stand beside it."""

    @abstractmethod
    def read(self, fields: Mapping[str, Any], at: Place, published: bool) -> tuple[str, ...]:
        """Read the kind's own keys and give the labels of the true answers."""

    @abstractmethod
    def document(self, options: Sequence[str]) -> dict[str, Any]:
        """Give the kind's own keys of a question with these answers."""

    @property
    def mechanisms(self) -> tuple[type[Mechanism], ...]:
        """The mechanisms that can carry its answers."""
        return tuple(
            one
            for one in MECHANISMS.values()
            if one.in_surveys and one.fits in self.takes and (self.yes_or_no or not one.has_decoy)
        )

    def fitting(self, options: int) -> tuple[type[Mechanism], ...]:
        """Give those of them that take so many answers."""
        return tuple(one for one in self.mechanisms if options == 2 or not one.two_answers)

    def shown(self, options: int) -> tuple[int, ...]:
        """Give the answers whose shares are worth a line of their own."""
        return tuple(range(options))

    def read_answer(self, name: str, options: Sequence[str], given: object) -> int:
        """Turn what somebody chose into a true answer of question `name`."""
        if isinstance(given, str) and given in options:
            return list(options).index(given)
        raise ReportError(f'question "{name}": {given!r} is not one of: {", ".join(options)}')
