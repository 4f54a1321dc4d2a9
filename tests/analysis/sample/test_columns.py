"""Column names with dots, which are the rule in data from R."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import AnalysisError, linear, logit
from hushpoll_client import mechanisms

COIN = mechanisms.warner(epsilon=3)


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    n = 600
    return pd.DataFrame(
        {
            "y": rng.integers(0, 2, n),
            "cov.age": rng.normal(size=n),
            "home.town": rng.choice(["a", "b", "c"], n),
            "class.id": rng.integers(0, 12, n),
        }
    )


PLAIN = {"cov.age": "age", "home.town": "town", "class.id": "group", "did.it": "y"}


@pytest.mark.parametrize(
    ("dotted", "plain"),
    [
        ("y ~ `cov.age`", "y ~ age"),
        ("y ~ cov.age", "y ~ age"),
        ("y ~ `cov.age` + C(`home.town`)", "y ~ age + C(town)"),
        ("y ~ cov.age * home.town", "y ~ age * town"),
        ("y ~ scale(`cov.age`) + np.exp(`cov.age`)", "y ~ scale(age) + np.exp(age)"),
        ("y ~ cov.age + (1 | class.id)", "y ~ age + (1 | group)"),
        ("y ~ cov.age + (1 | `class.id`)", "y ~ age + (1 | group)"),
    ],
)
def test_dotted_names_are_columns(people: pd.DataFrame, dotted: str, plain: str) -> None:
    fit = logit(dotted, people, {"y": COIN})
    same = logit(plain, people.rename(columns=PLAIN), {"y": COIN})
    assert fit.coef == pytest.approx(same.coef, abs=1e-9)
    if "|" not in dotted:
        predicted, expected = fit.predict(people.head(3)), same.predict(people.rename(columns=PLAIN).head(3))
        assert predicted["estimate"].to_numpy() == pytest.approx(expected["estimate"].to_numpy(), abs=1e-9)


def test_a_dotted_outcome_and_predictor_may_be_randomized(people: pd.DataFrame) -> None:
    frame = people.rename(columns={"y": "did.it"})
    fit = logit("`did.it` ~ `cov.age`", frame, {"did.it": COIN})
    assert fit.coef == pytest.approx(logit("y ~ `cov.age`", people, {"y": COIN}).coef, abs=1e-9)
    assert linear("cov.age ~ did.it", frame, {"did.it": COIN}).names[1] == "did.it"


def test_a_dotted_name_inside_python_asks_for_backquotes(people: pd.DataFrame) -> None:
    with pytest.raises(AnalysisError, match=r"no column 'cov'.*write `cov\.age` in backquotes"):
        logit("y ~ np.exp(cov.age)", people, {"y": COIN})
