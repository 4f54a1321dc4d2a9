"""Notes about a census, and about weights that add up to another population."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import AnalysisError, compare, crosstab, logit, sum_score, weighted_estimate
from hushpoll_client import mechanisms

COIN = mechanisms.warner(epsilon=2)


def answers(yes: int, n: int = 100) -> pd.DataFrame:
    """A direct question, two towns, and a second item."""
    return pd.DataFrame(
        {"y": np.repeat([0, 1], [n - yes, yes]), "town": ["a", "b"] * (n // 2), "v": [0, 0, 1, 0] * (n // 4)}
    )


@pytest.mark.parametrize("yes", [0, 3, 30, 100])
def test_a_direct_census_knows_its_shares(yes: int) -> None:
    data = answers(yes)
    result = weighted_estimate(data, {"y": None}, "y", population=100)
    for share in result.shares:
        assert (share.se, share.low, share.high) == pytest.approx(
            (0, share.estimate, share.estimate), abs=1e-12
        )
        assert (share.shown.low, share.shown.high) == pytest.approx((share.estimate,) * 2, abs=1e-12)
    (note,) = result.notes
    assert "these are its shares" in note
    assert json.dumps(result.to_dict())
    assert "without any error" in result._repr_html_()


def test_methods_that_can_be_asked_for_give_the_point_too() -> None:
    for how in ("wilson", "t"):
        share = weighted_estimate(answers(30), {"y": None}, "y", population=100, interval=how)[1]
        assert (share.low, share.high) == pytest.approx((0.3, 0.3), abs=1e-12)


@pytest.mark.parametrize("yes", [3, 30])
def test_tables_comparisons_and_scores_of_a_direct_census(yes: int) -> None:
    data = answers(yes)
    cells = crosstab(data, {}, "town", "y", population=100)
    assert np.allclose(cells.low, cells.estimate, atol=1e-9)
    assert np.allclose(cells.high, cells.estimate, atol=1e-9)
    comparison = compare(data.assign(y=data["y"] | (data["town"] == "b")), {}, "y", "town", population=100)
    (gap,) = comparison.differences
    assert (gap.se, gap.low, gap.high) == pytest.approx((0, gap.difference, gap.difference), abs=1e-9)
    assert gap.p_value <= 1e-12
    score = sum_score(data, {}, ["y", "v"], population=100)
    assert (score.se, score.low, score.high) == pytest.approx((0, score.mean, score.mean), abs=1e-9)
    assert "asked" in score.note
    assert "same" not in score.note


def test_a_randomized_census_of_equal_reports_has_a_width() -> None:
    share = weighted_estimate(answers(0), {"y": COIN}, "y", population=100)["Yes"]
    assert share.high - share.low > 0.02


@pytest.mark.parametrize(
    ("weight", "named"), [(1.0, True), (3.7, True), (3.9, False), (4.0, False), (4.1, False), (9.0, True)]
)
def test_weights_of_another_population_are_named(weight: float, named: bool) -> None:
    data = answers(30).assign(w=weight)
    result = weighted_estimate(data, {"y": COIN}, "y", weights="w", population=400)
    notes = [note for note in result.notes if "The weights add up to" in note]
    assert bool(notes) == named
    # As in R: totals are those of the weights, the population only says how much of it was drawn.
    assert sum(share.total for share in result.shares) == pytest.approx(100 * weight)
    alone = weighted_estimate(data, {"y": COIN}, "y", population=400)
    assert result["Yes"].se == pytest.approx(alone["Yes"].se)
    assert not any("add up to" in note for note in alone.notes)


def test_heavy_weights_are_named_wherever_they_carry_a_result() -> None:
    rng = np.random.default_rng(1)
    data = pd.DataFrame({name: rng.integers(0, 2, 60) for name in "yvx"}).assign(w=[1.0] * 59 + [1e5])
    how = {"y": COIN, "v": COIN}
    notes = {
        "compare": compare(data, how, "y", "x", weights="w").notes,
        "crosstab": crosstab(data, how, "x", "y", weights="w").notes,
        "score": (sum_score(data, how, ["y", "v"], weights="w").note,),
        "model": logit("y ~ x", data, {"y": COIN}, weights="w").notes,
    }
    for name, texts in notes.items():
        assert any("60 respondents are worth 1 with equal weights" in note for note in texts), name
    even = data.assign(w=1.0)
    assert not any("heavy" in note for note in crosstab(even, how, "x", "y", weights="w").notes)
    assert not any("heavy" in note for note in logit("y ~ x", even, {"y": COIN}, weights="w").notes)


def test_a_predictor_of_one_category_is_refused_not_left_out() -> None:
    data = answers(30).assign(town="a")
    with pytest.raises(AnalysisError, match="town has the same value in all rows") as refused:
        logit("y ~ town + v", data, {"y": COIN})
    assert "leave it out" in refused.value.remedy
