"""Plans: reference values, round trips, every mechanism, and messages for bad input."""

from __future__ import annotations

import math
import subprocess
import sys
from itertools import pairwise
from statistics import NormalDist

import numpy as np
import pytest
from hushpoll_analysis.channel.view import channel_view
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.planning.margins import SLIDER_STOPS, curve, plan
from hushpoll_analysis.planning.recommendation import recommend
from hushpoll_analysis.planning.variance.spread import spread
from hushpoll_client import mechanisms

Z = NormalDist().inv_cdf(0.975)

DESIGNS = {
    "warner": {"epsilon": 1.0},
    "krr": {"options": 7, "epsilon": 1.0},
    "forced": {"forced": ["1/6", "1/12"]},
    "or_poll": {"decoy_share": "0.412"},
    "or_poll+flip": {"decoy_share": "0.412", "epsilon": 1.5},
    "or_poll+counts": {"decoy_counts": (412, 1000), "epsilon": 1.5},
    "unrelated": {"truth": "0.7", "decoy_share": "0.3"},
    "unrelated+counts": {"truth": "0.7", "decoy_counts": (412, 1000), "epsilon": 2},
    "crosswise": {"decoy_share": "1/4"},
    "crosswise+counts": {"decoy_counts": (250, 1000), "epsilon": 2},
}


@pytest.mark.parametrize(
    ("epsilon", "points", "answers"), [(0.5, 12.7, 6405), (1, 6.7, 1799), (2, 4.1, 663), (4, 3.2, 414)]
)
def test_reference_values(epsilon: float, points: float, answers: int) -> None:
    assert round(100 * plan("warner", epsilon=epsilon, n=1000).margin, 1) == points
    assert plan("warner", epsilon=epsilon, margin=0.05).n == answers
    assert plan("krr", 2, epsilon=epsilon, margin=0.05).n == answers


def test_margins_beside_it() -> None:
    warner_plan = plan("warner", epsilon=1, n=1000)
    assert round(100 * warner_plan.margin_sampling_only, 1) == 3.1
    assert warner_plan.margin_trusted_curator == pytest.approx(
        Z * math.sqrt(0.25 / 1000 + 2 / 1000**2), rel=1e-12
    )
    assert warner_plan.recorded_as_chosen == pytest.approx(math.e / (1 + math.e), abs=1e-9)
    assert warner_plan.odds_factor == pytest.approx(math.e)
    many = plan("krr", 5, epsilon=1, n=1000)
    assert many.margin_trusted_curator == pytest.approx(Z * math.sqrt(0.25 / 1000 + 8 / 1000**2), rel=1e-12)
    assert many.design_effect == pytest.approx((many.margin / many.margin_sampling_only) ** 2)


@pytest.mark.parametrize("label", DESIGNS)
def test_n_and_margin_are_inverse(label: str) -> None:
    name, parameters = label.split("+")[0], DESIGNS[label]
    respondents = plan(name, margin=0.09, **parameters).n
    assert plan(name, n=respondents, **parameters).margin <= 0.09 * (1 + 1e-9)
    assert plan(name, n=respondents - 1, **parameters).margin > 0.09


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("warner", {}),
        ("krr", {"options": 7}),
        ("forced", {"options": 3}),
        ("or_poll", {"decoy_share": "1/4"}),
        ("unrelated", {"truth": "0.7", "decoy_counts": (300, 1000)}),
        ("crosswise", {"decoy_share": "1/4"}),
    ],
)
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_epsilon_comes_back(name: str, parameters: dict[str, object], epsilon: float) -> None:
    there = plan(name, epsilon=epsilon, n=5000, **parameters)
    back = plan(name, n=5000, margin=there.margin, **parameters)
    assert back.epsilon == pytest.approx(epsilon, rel=1e-7)
    assert back.solved == "epsilon"


@pytest.mark.parametrize(
    "mechanism",
    [
        mechanisms.warner(epsilon=1),
        mechanisms.krr(options=5, epsilon=1),
        mechanisms.forced(shares=["1/6", "1/12", "1/4"]),
        mechanisms.or_poll(decoy_share="0.412", epsilon=2),
        mechanisms.unrelated(truth="0.7", decoy_share="0.3"),
        mechanisms.crosswise(decoy_share="1/4"),
        mechanisms.kuk("0.8", "0.3", draws=3),
    ],
    ids=lambda mechanism: mechanism.name,
)
def test_worst_case_is_the_worst(mechanism: mechanisms.Mechanism) -> None:
    """No mixture of true answers has a larger variance than the closed form, and one attains it."""
    view = channel_view(mechanism)
    moments = np.array([view.backward(view.solution(view.unit(k)) ** 2) for k in range(view.options)])
    shares = np.random.default_rng(7).dirichlet(np.full(view.options, 0.3), 20_000)
    worst = (shares @ moments.T - shares**2).max()
    variance = spread(mechanism)
    bound = variance.unit_variance(variance.worst_share())
    assert worst <= bound * (1 + 1e-12)
    assert worst >= 0.99 * bound
    assert plan(mechanism, n=100).margin == pytest.approx(Z * math.sqrt(bound / 100))


def test_or_poll_with_estimated_decoy_follows_the_delta_method() -> None:
    p, q, n, m = 0.2, 0.412, 500, 1000
    z = q + (1 - q) * p
    variance = z * (1 - z) / (n * (1 - q) ** 2) + ((1 - z) / (1 - q) ** 2) ** 2 * q * (1 - q) / m
    decoy_plan = plan("or_poll", n=n, share=p, decoy_counts=(412, 1000))
    assert decoy_plan.margin == pytest.approx(Z * math.sqrt(variance), rel=1e-9)
    assert decoy_plan.epsilon == math.inf
    assert decoy_plan.to_dict()["epsilon"] is None
    assert decoy_plan.to_dict()["odds_factor"] is None


def test_a_weak_decoy_limits_the_margin() -> None:
    with pytest.raises(AnalysisError, match="decoy share, known from 100 answers only"):
        plan("or_poll", margin=0.02, decoy_counts=(41, 100))


def test_a_given_share_is_easier_than_the_worst() -> None:
    assert plan("warner", epsilon=3, n=1000, share=0.1).margin < plan("warner", epsilon=3, n=1000).margin


def test_curve_falls_and_has_ten_logarithmic_stops() -> None:
    points = curve("krr", 4, n=1000)
    assert [point.epsilon for point in points] == list(SLIDER_STOPS)
    assert all(a.margin > b.margin for a, b in pairwise(points))
    steps = np.diff(np.log(SLIDER_STOPS))
    assert len(SLIDER_STOPS) == 10
    assert steps.max() - steps.min() < 0.06


def test_recommendation_gives_reason_and_margins() -> None:
    yes_no = recommend("yes_no", epsilon=1)
    assert yes_no.mechanism == "warner"
    assert yes_no.candidates[0].mechanism == "warner"
    assert yes_no.candidates[0].margin < yes_no.candidates[1].margin
    assert yes_no.reason.endswith(".")
    choice = recommend("choice", 6, 2.0)
    assert choice.mechanism == "krr"
    assert choice.candidates[0].margin == plan("krr", 6, epsilon=2.0, n=1000).margin
    assert choice.to_dict()["candidates"][0]["mechanism"] == "krr"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("warner", {"epsilon": 1}), "two of epsilon, n and margin"),
        (("warner", {"epsilon": 1, "n": 10, "margin": 0.1}), "two of epsilon, n and margin"),
        (("warner", {"n": 100, "margin": 0.01}), "cannot be reached with n = 100"),
        (("warner", {"epsilon": -1, "n": 10}), "epsilon is -1"),
        (("warner", {"epsilon": 1, "n": 0}), "n is 0"),
        (("warner", {"epsilon": 1, "n": 1.5}), "n is 1.5"),
        (("warner", {"epsilon": 1, "margin": 5}), r"margin is 5; .*0.05, not 5"),
        (("warner", {"epsilon": 1, "n": 10, "level": 95}), "level is 95"),
        (("warner", {"epsilon": 1, "n": 10, "share": 2}), "share is 2"),
        (("warner", {"epsilon": 1, "n": 10, "options": 3}), "two options"),
        (("warner", {"epsilon": 1, "n": 10, "decoy_share": 0.2}), "decoy share does not belong to warner"),
        (("krr", {"epsilon": 1, "n": 10, "truth": 0.7}), "truth does not belong to krr"),
        (("krr", {"epsilon": 1, "n": 10, "options": 1}), "options is 1"),
        (("krr", {"epsilon": 1, "n": 10, "forced": [0.1, 0.1]}), "forced"),
        (("forced", {"forced": [0.1, 0.1], "n": 5, "epsilon": 1}), "epsilon fixed"),
        (("forced", {"forced": [0.1, 0.1], "n": 5, "options": 3}), "one share for each of 3 options, has 2"),
        (("or_poll", {"n": 10}), "decoy_share"),
        (("unrelated", {"n": 10, "decoy_share": 0.2}), "needs truth"),
        (("krr", {"epsilon": 1, "n": 10, "options": 10**8}), "at most 1,000"),
        (("krr", {"epsilon": 1, "margin": 1e-300, "options": 1000}), "at least 1e-06"),
        (("warner", {"epsilon": 1, "n": 10**25}), "do not exist"),
        (("warner", {"epsilon": math.nan, "n": 10}), "epsilon is nan"),
        (("warner", {"epsilon": 1, "margin": math.nan}), "margin is nan"),
        (("nonsense", {"epsilon": 1, "n": 10}), "not known"),
    ],
)
def test_bad_requests_are_explained(arguments: tuple[str, dict[str, object]], message: str) -> None:
    with pytest.raises(AnalysisError, match=message):
        plan(arguments[0], **arguments[1])


def test_planning_imports_neither_numpy_nor_pandas() -> None:
    code = (
        "import sys; from hushpoll_analysis.planning.margins import curve; curve('krr', 5, n=1000);"
        "sys.exit(any(name in sys.modules for name in ('numpy', 'scipy', 'pandas')))"
    )
    path = [entry for entry in sys.path if entry]
    done = subprocess.run([sys.executable, "-c", f"import sys; sys.path[:0] = {path!r}; {code}"], check=False)
    assert done.returncode == 0


def test_a_notebook_shows_plans_as_tables() -> None:
    html = plan("or_poll", decoy_share=0.4, n=1000)._repr_html_()
    assert "<td>1000</td>" in html
    assert "margin_trusted_curator" in html
    advice = recommend("choice", options=4, epsilon=1.0, n=1000)
    assert list(advice.to_frame()["mechanism"]) == [candidate.mechanism for candidate in advice.candidates]
    assert advice.to_frame()["mechanism"][0] in advice._repr_html_()


def test_numbers_may_be_written_as_text_and_anything_else_is_explained() -> None:
    assert plan("warner", epsilon="1", n="1000").margin == plan("warner", epsilon=1, n=1000).margin
    for wrong in ({"epsilon": "one"}, {"epsilon": None, "margin": [0.1]}, {"epsilon": {}}, {"epsilon": True}):
        with pytest.raises(AnalysisError, match=r"is .*[;,:]? ?give"):
            plan("warner", n=1000, **wrong)
    with pytest.raises(AnalysisError, match="whole number"):
        plan("warner", epsilon=1, n="12.5")
