"""Blocks: neighbouring questions that share one epsilon, of which each person is asked some."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from hushpoll_client import SurveyError

from hushpoll_server.workspace.drafts.references import QuestionDocument, QuestionReferences, new_id

if TYPE_CHECKING:
    from hushpoll_server.workspace.drafts.draft import Draft


@dataclass(frozen=True)
class Block:
    """The questions of a block, how many of them each person is asked, and their common epsilon."""

    questions: tuple[str, ...]
    ask: Any
    epsilon: Any

    @classmethod
    def read(cls, entry: Mapping[str, Any]) -> Self:
        """Read a block of a survey document."""
        return cls(tuple(entry["questions"]), entry["ask"], entry["epsilon"])

    def as_json(self) -> dict[str, Any]:
        """Return the block as a survey document has it."""
        return {"questions": list(self.questions), "ask": self.ask, "epsilon": self.epsilon}


class Blocks(tuple[Block, ...], QuestionReferences):
    """The blocks of a draft, in the order of their questions."""

    def index_of(self, question_id: str) -> int | None:
        """Return the index of the block that a question is in; None if it is in none."""
        return next((index for index, block in enumerate(self) if question_id in block.questions), None)

    @property
    def epsilons(self) -> dict[str, str]:
        """The epsilon of its block for every question that is in one."""
        return {name: str(block.epsilon) for block in self for name in block.questions}

    def with_block(self, block: Block, order: Sequence[str]) -> Self:
        """Return the blocks with one more, in the order of the questions."""
        return self._in_order((*self, block), order)

    def without(self, index: int) -> Self:
        """Return the blocks without one of them."""
        return type(self)(block for number, block in enumerate(self) if number != index)

    def spending(self, epsilons: Mapping[str, str]) -> Self:
        """Return the blocks with other epsilons, given by question; the smallest if several are given for a block."""
        return type(self)(_spending(block, epsilons) for block in self)

    def index_after_move(self, question_id: str, by: int, order: Sequence[str]) -> int:
        """Return the new index of a question that moves; a block stays together, other questions jump over it."""
        index = order.index(question_id)
        target = min(max(index + by, 0), len(order) - 1)
        block, target_block = self.index_of(question_id), self.index_of(order[target])
        if block == target_block:
            return target
        if block is not None:
            raise SurveyError(
                ("blocks", block, "questions"), "stay together", "change or dissolve the block first"
            )
        assert target_block is not None
        jumped = self[target_block].questions
        if by < 0:
            return order.index(jumped[0])
        return order.index(jumped[-1])

    def rename(self, before: QuestionDocument, after: QuestionDocument) -> Self:
        """Follow the new id of a question."""
        return type(self)(
            replace(block, questions=tuple(new_id(name, before, after) for name in block.questions))
            for block in self
        )

    def move(self, question_id: str, order: Sequence[str], draft: Draft) -> Self:
        """List the questions of every block in the new order."""
        return self._in_order(self, order)

    def copy(self, question_id: str, copy_id: str) -> Self:
        """Add the copy to the question's block, after the question."""
        return type(self)(
            replace(block, questions=tuple(_with_copy(block.questions, question_id, copy_id)))
            for block in self
        )

    def remove(self, question_id: str, draft: Draft) -> Self:
        """Remove the question from its block; a block with one question left is dissolved."""
        blocks = []
        for block in self:
            questions = tuple(name for name in block.questions if name != question_id)
            if len(questions) == len(block.questions):
                blocks.append(block)
            elif len(questions) > 1:
                blocks.append(replace(block, questions=questions, ask=min(block.ask, len(questions))))
        return type(self)(blocks)

    def _in_order(self, blocks: Iterable[Block], order: Sequence[str]) -> Self:
        listed = [
            replace(block, questions=tuple(sorted(block.questions, key=order.index))) for block in blocks
        ]
        return type(self)(
            sorted(listed, key=lambda block: [order.index(name) for name in block.questions[:1]])
        )


def _spending(block: Block, epsilons: Mapping[str, str]) -> Block:
    member_epsilons = [epsilons[name] for name in block.questions if name in epsilons]
    if not member_epsilons:
        return block
    return replace(block, epsilon=min(member_epsilons, key=float))


def _with_copy(names: Iterable[str], question_id: str, copy_id: str) -> Iterator[str]:
    for name in names:
        yield name
        if name == question_id:
            yield copy_id
