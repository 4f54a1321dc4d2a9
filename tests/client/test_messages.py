"""Sentences that can be said again in another language."""

from __future__ import annotations

import copy
import json
import pickle

import pytest
from hushpoll_client import Survey, SurveyError
from hushpoll_client.formatting import at_most, epsilon_text
from hushpoll_client.messages import Message, constant, joined, msg, plural, sentence

from tests.client.documents import one_question


def test_a_message_is_its_english_text_by_default() -> None:
    sentence = msg("at most {most:,} options, not {given!r}", most=1000, given="x")
    assert sentence == "at most 1,000 options, not 'x'"
    assert json.dumps(sentence) == "\"at most 1,000 options, not 'x'\""
    assert hash(sentence) == hash(str(sentence))


def test_it_remembers_its_template_and_values_also_in_copies_and_other_processes() -> None:
    inner = msg("question {number}", number=2)
    sentence = msg("{where}: {{}} is empty", where=inner)
    assert sentence == "question 2: {} is empty"
    for message in (
        sentence,
        copy.copy(sentence),
        copy.deepcopy(sentence),
        pickle.loads(pickle.dumps(sentence)),
    ):
        assert isinstance(message, Message)
        assert (message.template, message.values) == ("{where}: {{}} is empty", {"where": inner})
        assert message.values["where"].template == "question {number}"


def test_one_and_many_are_two_whole_sentences() -> None:
    sentences = [
        plural(count, "{count} question in {place}", "{count} questions in {place}", place="A")
        for count in (0, 1, 2)
    ]
    assert sentences == ["0 questions in A", "1 question in A", "2 questions in A"]
    assert sentences[1].template == "{count} question in {place}"


def test_a_message_inside_another_is_translated_too() -> None:
    assert constant("is {missing}") == "is {missing}"
    assert constant("is missing").template == "is missing"
    sentence = msg("question {number}", number=2)
    assert constant(sentence) is sentence


def test_sentences_side_by_side_stay_sentences() -> None:
    both = joined("; ", [msg("new: {names}", names="x"), "plain {text}"])
    assert both == "new: x; plain {text}"
    assert both.template == "{part0}; {part1}"
    assert both.values["part0"].template == "new: {names}"
    assert joined(", ", []) == ""


def test_an_error_and_its_parts_can_be_translated() -> None:
    with pytest.raises(SurveyError) as refused:
        Survey.from_draft(one_question(mechanism={"name": "warner", "epsilon": "-1"}))
    error = refused.value
    assert str(error) == error.sentence == f"{error.where}: {error.problem}; {error.remedy}"
    assert type(str(error)) is str
    for text in (error.sentence, error.where, error.problem):
        assert isinstance(text, Message)
    assert isinstance(error.where, Message)
    assert error.where.values["name"].template == 'question {number} ("{question}")'


def test_a_number_in_words_can_be_written_another_way() -> None:
    for text, written, value in ((at_most(1234.5, 6), "1,234.5", 1234.5), (epsilon_text(0.5), "0.5", 0.5)):
        assert text == written
        assert isinstance(text, Message)
        assert text.values == {"value": value}


def test_a_sentence_begins_with_a_capital_also_in_copies() -> None:
    original = sentence(msg("question {number} costs most", number=2))
    for message in (original, copy.copy(original), pickle.loads(pickle.dumps(original))):
        assert message == "Question 2 costs most."
        assert message.template == "{text}."
        assert message.values["text"] == "question 2 costs most"
