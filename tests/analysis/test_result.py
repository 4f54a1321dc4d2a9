"""Arguments that mean nothing are refused in a sentence, and results are values that JSON can say."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from hushpoll_analysis import report, weighted_estimate
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.sample.tally import Tally
from hushpoll_client import Survey

SURVEY = Survey.from_draft(
    {
        "hushpoll": 1,
        "title": "T",
        "questions": [
            {"id": name, "kind": "yes_no", "text": "?", "mechanism": {"name": "warner", "epsilon": 2}}
            for name in ("a", "b")
        ],
    }
)
DATA = pd.DataFrame({"a_reported": [0] * 60, "b_reported": [0, 1] * 30, "w": [1.0, 2.0] * 30})


def test_counts_that_are_words_are_refused() -> None:
    with pytest.raises(AnalysisError, match="must be whole numbers"):
        Tally.from_counts(SURVEY, {"a": ["x", "y"], "b": [1, 2]})


@pytest.mark.parametrize(
    "keys", [{"questions": ["zzz"]}, {"by": "b", "only": "zzz"}, {"only": "zzz"}], ids=str
)
def test_a_question_that_was_not_asked_is_refused_with_those_that_were(keys: dict[str, object]) -> None:
    with pytest.raises(AnalysisError, match='no question "zzz"; its questions are a, b'):
        report(SURVEY, DATA, **keys)


def test_weighted_shares_of_reports_that_are_all_the_same_are_json() -> None:
    result = weighted_estimate(DATA, SURVEY, "a", weights="w").to_dict()
    assert json.loads(json.dumps(result, allow_nan=False))["shares"][0]["sampling_effect"] is None
