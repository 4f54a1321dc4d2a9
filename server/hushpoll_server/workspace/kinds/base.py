"""A kind of question in the editor: its fields in the form, and the way from them to the document and back.

The fields are named like the keys that the kind declares in the client.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from flask_babel import lazy_gettext as later
from hushpoll_client import Question
from hushpoll_client.kind import Kind
from hushpoll_client.limits import MAX_OPTIONS
from hushpoll_client.mechanism import Mechanism

from hushpoll_server.i18n.translation import gettext as _
from hushpoll_server.i18n.translation import translate

from .inputs import InputRow
from .rehearsing import LISTS, Row, TruthProblem, falling, percent, select, share_rows

PREFER_NOT = "Prefer not to say"
MOST_TYPED = 12  # percentages that a designer is asked for

Fields = dict[str, Any]


def split_lines(text: str) -> list[str]:
    """Return the lines of a text that are not empty."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def enough_options(typed: str) -> str:
    """Return a list that can be shown: each option once, at least two and at most as many as a survey may have."""
    listed = list({option.casefold(): option for option in reversed(split_lines(typed))}.values())[::-1][
        :MAX_OPTIONS
    ]
    names = (_("Option %(n)s", n=number) for number in range(1, 4))
    missing = [name for name in names if name not in listed][: max(0, 2 - len(listed))]
    return "\n".join([*listed, *missing])


def whole_or_text(text: str) -> int | str:
    """Return a whole number; other text is returned unchanged, and the survey's check refuses it."""
    if text.isascii() and text.isdigit() and len(text) < 10:
        return int(text)
    return text


def points(share: float | None) -> str:
    """Return the margin of a share in percentage points, in the reader's language."""
    from hushpoll_analysis.planning.margin_text import points_words

    return translate(points_words(share))


class EditorKind(ABC):
    """One kind of question in the editor."""

    kind: ClassVar[Kind]
    words: ClassVar[str] = ""
    """What a designer calls it, where the client's name for it is not plain enough."""
    begins_complete: ClassVar[bool] = False
    """Whether a question of this kind can be asked as it is begun, with nothing but its text."""
    shapes: ClassVar[Mapping[str, Callable[[str], Any]]] = {}
    """How typed text becomes the document's value, for the keys that are not plain text."""
    reports: ClassVar[Mapping[str, tuple[str, str]]] = {}
    """What designers may report, in their words, with one sentence of help."""
    input_rows: ClassVar[tuple[InputRow, ...]] = ()
    """The fields of the form that describe the answers, row by row."""
    declinable: ClassVar[bool] = False
    """Whether "Prefer not to say" can be one of the answers."""
    answers: ClassVar[int | None] = None
    """How many answers there are before "Prefer not to say"; None where the designer says it."""
    counted: ClassVar[str] = ""
    """The field that says it: a number, or a list."""

    @property
    def fields(self) -> tuple[str, ...]:
        """Fields of the form that only some kinds use."""
        names = (*self.kind.keys, *self.kind.optional_keys, *self.kind.in_mechanism, *self.kind.draft_keys)
        if self.declinable:
            names += ("prefer_not",)
        if self.kind.may_be_skipped:
            names += ("after_question",)
        return names

    @property
    def needed(self) -> tuple[str, ...]:
        """Fields that cannot be left empty."""
        return self.kind.keys

    @property
    def label(self) -> str:
        """What the editor calls it."""
        return translate(self.words or self.kind.label)

    @property
    def help(self) -> str:
        """One sentence next to the name."""
        return translate(self.kind.help)

    @property
    def target_field(self) -> str:
        """The name of the form's field that asks what will be reported."""
        return f"target_{self.kind.name}"

    def write(self, fields: Fields) -> dict[str, Any]:
        """Return the document's keys that the form's fields describe, its kind among them."""
        written: dict[str, Any] = {"kind": self.kind.name}
        for key in (*self.kind.keys, *self.kind.optional_keys):
            value = self._typed(key, fields)
            if value not in ("", []) or key in self.kind.keys:
                written[key] = value
        return written

    def in_mechanism(self, fields: Fields) -> dict[str, Any]:
        """Return the kind's own keys of the mechanism's object."""
        return {}

    def draft_keys(self, fields: Fields) -> dict[str, Any]:
        """Return keys of the mechanism that ask for more than the shares, such as pairs."""
        return {key: True for key in self.kind.draft_keys if fields.get(key)}

    def stand_in(self, field: str, typed: str) -> str | None:
        """Return a value for the preview in place of a wrong one: "" for a field that may be empty.

        None if the kind has no such field.
        """
        if field in (*self.kind.optional_keys, *self.kind.in_mechanism):
            return ""
        return None

    def read(self, question: Mapping[str, Any]) -> Fields | None:
        """Return the form's fields for a question; None if it has another kind."""
        if question["kind"] != self.kind.name:
            return None
        document_values = {
            key: question[key] for key in (*self.kind.keys, *self.kind.optional_keys) if key in question
        }
        document_values |= {
            key: value
            for key, value in question.get("mechanism", {}).items()
            if key in self.kind.in_mechanism
        }
        fields: Fields = {key: _shown(value) for key, value in document_values.items()}
        fields |= {key: True for key in self.kind.draft_keys if question.get("mechanism", {}).get(key)}
        if self.reports:
            fields[self.target_field] = fields.pop("target", self.kind.targets[0])
        return fields

    def fitting(self, answers: int) -> tuple[type[Mechanism], ...]:
        """Return the mechanisms for a question with this number of answers, "Prefer not to say" among them."""
        return self.kind.fitting(answers)

    def unit(self, question: Question) -> str:
        """Return the unit of its margins; "" if there is none."""
        return _("points")

    @property
    def always_reported(self) -> str:
        """What is reported if the kind offers no choice, as a sentence."""
        return _("The share of each answer.")

    def reported(self, question: Question) -> str:
        """Return what will be reported."""
        return _("the share of each answer")

    def reported_of(self, question: Question) -> str:
        """Return what will be reported, and of which people if the question has a skip rule."""
        reported = self.reported(question)
        if question.after is None:
            return reported
        return _("%(reported)s, of everybody", reported=reported)

    def answer_texts(self, question: Question) -> tuple[str, ...]:
        """Return the answers as a list of questions shows them."""
        return () if question.kind.fixed_words else question.options

    # The rehearsal: a made-up truth, and the report's figures beside it. ------------------------------------------

    def truth_fields(self, question: Question) -> dict[str, Any]:
        """Return the fields that ask for a made-up truth: a percentage per answer, or a shape for a long list."""
        options = question.options
        if len(options) > MOST_TYPED:
            return {"shape": select(later("Suppose that"), LISTS)}
        equal_share = round(100 / len(options), 1)
        last = round(100 - equal_share * (len(options) - 1), 1)
        shares = [*[equal_share] * (len(options) - 1), last]
        return {str(index): percent(label, shares[index]) for index, label in enumerate(options)}

    def read_truth(self, question: Question, typed: Mapping[str, Any]) -> Any:
        """Return the truth for a simulation: shares that add up to one."""
        if "shape" in typed:
            return falling(len(question.options), typed["shape"])
        percents = [typed[str(index)] for index in range(len(question.options))]
        total = sum(percents)
        if not total > 0:
            raise TruthProblem(str(len(percents) - 1), _("are all 0: make at least one of them larger"))
        return [percent_typed / total for percent_typed in percents]

    def balanced_percentages(self, question: Question, typed: Mapping[str, Any]) -> dict[str, float]:
        """Return the percentages that add up as they have to, in the proportions that were typed."""
        shares = self.read_truth(question, typed)
        return {
            str(index): round(100 * share, 1) for index, share in enumerate(shares) if str(index) in typed
        }

    def must_add_up(self, question: Question) -> bool:
        """Return whether the percentages of the rehearsal have to make 100 together."""
        return len(self.truth_fields(question)) > 1

    def rows(
        self, question: Question, figures: Mapping[str, Any], truth: Any, share_asked: float
    ) -> list[Row]:
        """Return the figures of a report next to the truth; `share_asked` is the share of people who are asked."""
        shares = [*(share_asked * share for share in truth), 1 - share_asked]
        return share_rows(figures["estimates"], dict(zip(question.labels, shares, strict=False)))

    def rows_among_asked(self, question: Question, figures: Mapping[str, Any], truth: Any) -> list[Row]:
        """Return the shares among those asked next to the truth; none unless the question has a skip rule."""
        return share_rows(figures.get("among_asked", []), dict(zip(question.options, truth, strict=False)))

    def _typed(self, key: str, fields: Fields) -> Any:
        text = str(fields.get(key) or "").strip()
        if key in self.shapes:
            return self.shapes[key](text)
        return text


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return "\n".join(map(str, value))
    return str(value)
