"""Skip rules: "ask this question only after certain answers to an earlier one"."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from hushpoll_client import Question, Survey, SurveyError
from hushpoll_client.messages import msg

from hushpoll_server.workspace.drafts.references import QuestionDocument, QuestionReferences, new_id

if TYPE_CHECKING:
    from hushpoll_server.workspace.drafts.draft import Draft


@dataclass(frozen=True)
class SkipRule:
    """The question that decides, and its answers after which the other question is asked."""

    question: str
    answers: tuple[str, ...]

    @classmethod
    def read(cls, entry: Mapping[str, Any]) -> Self:
        """Read the key `after` of a question."""
        return cls(entry["question"], tuple(entry["answers"]))

    def as_json(self) -> dict[str, Any]:
        """Return the value of the key `after`."""
        return {"question": self.question, "answers": list(self.answers)}


@dataclass(frozen=True)
class SkipRules(QuestionReferences):
    """The skip rules of a draft, by the id of the question that is skipped."""

    rules: Mapping[str, SkipRule] = field(default_factory=dict)

    def of(self, question_id: str) -> SkipRule | None:
        """Return the rule of a question; None if it is always asked."""
        return self.rules.get(question_id)

    def with_rule(self, question_id: str, rule: SkipRule | None) -> Self:
        """Return the rules with another rule for one question; None asks it always."""
        rules = {name: entry for name, entry in self.rules.items() if name != question_id}
        if rule is not None:
            rules[question_id] = rule
        return replace(self, rules=rules)

    def decided_by(self, question_id: str, order: Iterable[str]) -> list[int]:
        """Return the numbers, counted from 1, of the questions that a question decides about."""
        return [
            number
            for number, name in enumerate(order, 1)
            if name in self.rules and self.rules[name].question == question_id
        ]

    def rename(self, before: QuestionDocument, after: QuestionDocument) -> Self:
        """Follow the new id of the question, and the new words of its options."""
        renamed = {}
        for name, rule in self.rules.items():
            if rule.question == before["id"]:
                rule = SkipRule(after["id"], _renamed_answers(rule.answers, before, after))
            renamed[new_id(name, before, after)] = rule
        return replace(self, rules=renamed)

    def move(self, question_id: str, order: Sequence[str], draft: Draft) -> Self:
        """Raise SurveyError if a question would be asked before the one that decides about it."""
        self._check_order(order)
        return self

    def copy(self, question_id: str, copy_id: str) -> Self:
        """Ask the copy under the same condition."""
        return self.with_rule(copy_id, self.of(question_id))

    def remove(self, question_id: str, draft: Draft) -> Self:
        """Drop the question's rule; raise SurveyError if another rule needs the question."""
        left = self.with_rule(question_id, None)
        left._check_order([name for name in draft.order if name != question_id])
        return left

    def _check_order(self, order: Sequence[str]) -> None:
        for index, name in enumerate(order):
            rule = self.rules.get(name)
            if rule is not None and rule.question not in order[:index]:
                raise SurveyError(
                    ("questions", index),
                    msg(
                        'it is asked only after certain answers to "{question}", which has to come before it',
                        question=rule.question,
                    ),
                    "change or remove that rule first",
                    name,
                )


def _renamed_answers(
    answers: Iterable[str], before: QuestionDocument, after: QuestionDocument
) -> tuple[str, ...]:
    """Return the answers of a rule in their new words; as they are if the number of options changed."""
    old, new = before.get("options", ()), after.get("options", ())
    if len(old) != len(new):
        return tuple(answers)
    words = dict(zip(old, new, strict=True))
    return tuple(words.get(answer, answer) for answer in answers)


# The rule in the editor's form ------------------------------------------------------------------------------------


def deciders(survey: Survey | None, before: str | None) -> list[Question]:
    """Return the questions before another (None: all) that can decide whether it is asked."""
    if survey is None:
        return []
    questions = []
    for question in survey.questions:
        if question.id == before:
            break
        if question.kind.may_be_skipped and not question.mechanism.has_decoy and question.block is None:
            questions.append(question)
    return questions


def rule_from_form(decider_id: str, ticked: Iterable[str], earlier: Sequence[Question]) -> SkipRule | None:
    """Return the rule that the form describes; None if the question is always asked.

    Ticks are written "question:index", so that ticks under another question do not count.
    """
    if not decider_id:
        return None
    options = _options_of(decider_id, earlier)
    chosen = set(ticked)
    return SkipRule(
        decider_id,
        tuple(option for index, option in enumerate(options) if f"{decider_id}:{index}" in chosen),
    )


def form_fields(rule: SkipRule | None, earlier: Sequence[Question]) -> dict[str, Any]:
    """Return the form's fields for a rule."""
    if rule is None:
        return {}
    options = _options_of(rule.question, earlier)
    ticked = [f"{rule.question}:{index}" for index, option in enumerate(options) if option in rule.answers]
    return {"after_question": rule.question, "after_answers": ticked}


def _options_of(question_id: str, earlier: Sequence[Question]) -> Sequence[str]:
    return next((question.options for question in earlier if question.id == question_id), ())
