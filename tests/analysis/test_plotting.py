"""Every result draws itself in one style, shows itself in a notebook, and has a tidy frame and JSON values."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator
from typing import Any, get_args, get_origin, get_type_hints

import hushpoll_analysis
import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import (
    anchored,
    budget,
    cheating_detection,
    clusters,
    compare,
    constrained_estimate,
    correlate,
    crosstab,
    cumulative,
    density,
    design,
    estimate,
    impute,
    linear,
    logit,
    maximise,
    mean,
    mean_difference,
    plan,
    plan_block,
    power,
    quantiles,
    queries,
    recommend,
    report,
    sensitivity,
    shuffled_epsilon,
    sum_score,
    synthesize,
    trend,
    weighted_estimate,
)
from hushpoll_analysis.plotting import COLOUR, draw_whiskers
from hushpoll_analysis.result import rows_as_json
from hushpoll_client import Survey, mechanisms

COIN = mechanisms.warner(epsilon=2)
FOUR = mechanisms.krr(options=4, epsilon=2)
TICKS = mechanisms.padded(3, 4, 2)
COUNTS = [600, 500, 400, 300]


ASKED = Survey.from_draft(
    {
        "hushpoll": 1,
        "title": "T",
        "questions": [
            {"id": "y", "kind": "yes_no", "text": "?", "mechanism": {"name": "warner", "epsilon": 2}},
            {
                "id": "often",
                "kind": "scale",
                "text": "How often?",
                "points": 4,
                "mechanism": {"name": "krr", "epsilon": 2},
            },
        ],
    }
)


def made() -> dict[str, Any]:
    """One of every result that the public functions give."""
    rng = np.random.default_rng(1)
    data = pd.DataFrame({name: rng.integers(0, 2, 900) for name in ("y", "a", "g")}).assign(
        x=rng.normal(size=900)
    )
    ticked = data.assign(used=rng.integers(0, TICKS.device.outcomes, 900))
    how = {"y": COIN, "a": COIN}
    just = {"y": COIN}
    fit = logit("y ~ x", data, just, penalty="log-f")
    imputed = impute(fit, 3, seed=1)
    shares = estimate([600, 300], COIN)
    groups = cheating_detection([(300, 200), (110, 390)], forced_yes=(0.25, 0.75))
    rounds = queries(rng.random(60_000), epsilon=2, tolerance=0.2, rounds=4, seed=1)
    survey_results = report(ASKED, {"y_reported": data["y"], "often_reported": rng.integers(0, 4, 900)})
    return {
        "weighted": weighted_estimate(data, how, "y"),
        "crosstab": crosstab(data, how, "g", "y"),
        "options": crosstab(ticked, {"used": TICKS}, "g", "used"),
        "option fits": logit("used ~ x", ticked, {"used": TICKS}, penalty="log-f"),
        "compare": compare(data, how, "y", "g"),
        "correlate": correlate(data, how, ["x", "y"]),
        "fit": fit,
        "mixed": logit("y ~ (1 | g)", data, just),
        "moments": linear("x ~ y", data, just, errors="any"),
        "nested": logit("y ~ x", data, just).likelihood_ratio_test(logit("y ~ 1", data, just)),
        "imputations": imputed,
        "pooled": imputed.combine(lambda t: ([t["y"].mean()], [0.01])),
        "anchored": anchored(data, how, "y", "a", 0),
        "score": sum_score(data, how, ["y", "a"]),
        "groups": groups,
        "parameter": groups["share"],
        "trend": trend({"$1": shares, "two": shares}),
        "sensitivity": sensitivity(shares),
        "estimate": shares,
        "parts": estimate([400, 300, 300, 300, 500], mechanisms.subset(5, 2, size=2)),
        "cumulative": cumulative(COUNTS, FOUR),
        "density": density(COUNTS, FOUR, [0, 1, 2, 3, 4]),
        "quantiles": quantiles(COUNTS, FOUR, values=[1, 2, 3, 4]),
        "quantile": quantiles(COUNTS, FOUR, values=[1, 2, 3, 4]).median,
        "iqr": quantiles(COUNTS, FOUR, values=[1, 2, 3, 4]).iqr,
        "mean": mean(COUNTS, FOUR, [1, 2, 3, 4]),
        "mean_difference": mean_difference(*(mean(COUNTS, FOUR, [1, 2, 3, 4]) for _ in "ab")),
        "ratio": estimate(COUNTS, FOUR).ratio(["1"], ["1", "2"]),
        "constrained": constrained_estimate(COUNTS, FOUR),
        "maximum": maximise([600, 300], lambda h: h, lambda r: r, [0.5, 0.5]),
        "power": power(COIN, 500, 0.2),
        "plan": plan("warner", epsilon=1, margin=0.05),
        "design": design(options=4, epsilon=1),
        "recommendation": recommend("choice", 6, 1.0),
        "budget": budget(ASKED, n=2000),
        "block": plan_block([2] * 4, 2),
        "shuffled": shuffled_epsilon(1.0, n=1000),
        "answer": rounds.ask(lambda x: x, (0.0, 1.0)),
        "bisection": rounds.median(0.0, 1.0),
        "queries": rounds,
        "clusters": clusters(data, how, ["y", "a"], 2, runs=20, seed=1),
        "synthetic": synthesize(data, how, ["y", "a"], 100, seed=1),
        "question": survey_results["often"],
        "report": survey_results,
    }


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    return made()


NO_RESULTS = {
    "PartlyKnown": "a design, given to a model",
    "ChannelView": "a channel as matrices, for other estimators",
    "Finding": "a sentence; its question is the result",
    "Pair": "four entries of a list, each a result",
}
"""What functions give that is not a result."""


def given_by(function: Callable[..., Any]) -> Iterator[type]:
    """Classes of this package that a function says it gives, alone or in a collection."""
    written = inspect.signature(function).return_annotation
    if not isinstance(written, str) or "pd." in written:  # a table is a table
        return
    # The result alone: the names of arguments may be there for the type checker only.
    alone = type("Alone", (), {"__annotations__": {"given": written}})
    waiting = [get_type_hints(alone, vars(inspect.getmodule(inspect.unwrap(function))))["given"]]
    while waiting:
        annotation = waiting.pop()
        waiting += [inner for inner in (get_origin(annotation), *get_args(annotation)) if inner is not None]
        if inspect.isclass(annotation) and annotation.__module__.startswith("hushpoll_analysis."):
            yield annotation


def public_methods(owner: type) -> Iterator[Callable[..., Any]]:
    """What is called on a result, or looked up in it; what is read from it is a part."""
    for name in dir(owner):
        if name == "__getitem__" or not name.startswith("_"):
            attribute = inspect.getattr_static(owner, name)
            if inspect.isfunction(attribute):
                yield attribute


def result_classes() -> set[type]:
    """Every class that the public functions give, and the methods of what they give."""
    names = [getattr(hushpoll_analysis, name) for name in hushpoll_analysis.__all__]
    waiting: list[Callable[..., Any]] = [export for export in names if inspect.isfunction(export)]
    assert len(waiting) > 40
    classes: set[type] = set()
    while waiting:
        for result_class in given_by(waiting.pop()):
            if result_class not in classes and result_class.__name__ not in NO_RESULTS:
                classes.add(result_class)
                waiting += public_methods(result_class)
    return classes


def test_every_public_result_is_among_those_tried_here(results: dict[str, Any]) -> None:
    classes = result_classes()
    assert len(classes) > 35
    tried = tuple(type(result) for result in results.values())
    assert {
        result_class.__name__
        for result_class in classes
        if not any(issubclass(result, result_class) for result in tried)
    } == set()


@pytest.mark.parametrize("way", ["plot", "_repr_html_", "to_frame", "to_dict"])
def test_every_public_result_has_a_picture_a_table_a_frame_and_json_values(way: str) -> None:
    assert {
        result_class.__name__
        for result_class in result_classes()
        if not callable(getattr(result_class, way, None))
    } == set()


INTERVAL = ["estimate", "se", "low", "high"]
SHOWN = ["shown_estimate", "shown_low", "shown_high"]
ENTRY = ["reported", *INTERVAL, "se_privacy", "interval", "misfit", "weight", "design_effect", "n_effective"]
REPORT = [
    *("question", "option", "reported", "estimate", "se", "se_privacy", "low", "high", *SHOWN),
    *("simultaneous_low", "simultaneous_high", "constrained", "design_effect", "n_effective"),
    *("dishonest_weight", "dishonest_shift", "n", "level", "interval", "mechanism", "epsilon", "quantity"),
]
COLUMNS = {
    "estimate": [*ENTRY, *SHOWN],
    "parts": [*ENTRY, *SHOWN, "asked"],
    "mean": [*ENTRY, *SHOWN],
    "cumulative": [*INTERVAL, "band_low", "band_high", "curve"],
    "density": [*INTERVAL, "band_low", "band_high", "picture"],
    "quantiles": ["estimate", "low", "high"],
    "mean_difference": ["difference", "se", "low", "high", "interval"],
    "ratio": ["of", "among", *INTERVAL, "level", "misfit", *SHOWN],
    "constrained": ["share"],
    "power": ["mechanism", "n", "share", "null", "alpha", "two_sided", "power"],
    "groups": [*INTERVAL, "constrained", "interval", *SHOWN],
    "parameter": [*INTERVAL, "constrained", "interval", *SHOWN],
    "weighted": [
        *INTERVAL,
        *("se_privacy", "misfit", "total", "total_se", "design_effect", "sampling_effect"),
        *SHOWN,
    ],
    "crosstab": ["reported", *INTERVAL, "constrained", *SHOWN],
    "options": ["reported", *INTERVAL, "constrained", *SHOWN],
    "option fits": ["coef", "se", "z", "p_value", "low", "high"],
    "compare": [
        *("share", "share_reference", "difference", "se", "low", "high", "p_value"),
        *("ratio", "ratio_low", "ratio_high", "interval", "note"),
    ],
    "correlate": ["r", "se", "low", "high", "p_value", "shown_r", "shown_low", "shown_high"],
    "fit": ["coef", "se", "z", "p_value", "low", "high"],
    "mixed": ["coef", "se", "z", "p_value", "low", "high"],
    "moments": ["coef", "se", "z", "p_value", "low", "high"],
    "nested": ["chi2", "df", "p_value", "distribution"],
    "imputations": ["x", "y", "imputation", "row"],
    "pooled": ["estimate", "se", "df", "low", "high", "fraction_missing"],
    "anchored": ["uncorrected", "uncorrected_se", *INTERVAL, *SHOWN],
    "score": ["n", "level", "mean", "se", "low", "high", "sd", "reliability"],
    "trend": [
        *("time", "n", *INTERVAL, "change", "change_se", "change_low", "change_high", "p_value"),
        *SHOWN,
    ],
    "sensitivity": [
        "careless",
        "protective",
        "estimate",
        "most",
        "se",
        "low",
        "high",
        "shown_estimate",
        "shown_most",
    ],
    "quantile": ["p", "estimate", "low", "high"],
    "iqr": ["estimate", "low", "high"],
    "maximum": ["share"],
    "plan": [
        *("options", "n", "epsilon", "margin", "margin_sampling_only", "margin_trusted_curator"),
        *("recorded_as_chosen", "odds_factor", "level", "share", "planned_share", "design_effect"),
        *("dishonest_weight", "epsilon_note", "solved", "target"),
    ],
    "design": ["n_variance", "respondents"],
    "recommendation": ["mechanism", "respondents", "parameters", "margin", "recorded_as_chosen", "note"],
    "budget": ["id", "epsilon", "margin", "needed", "locked", "mechanism", "block"],
    "block": ["ask", "n_variance", "respondents"],
    "shuffled": ["epsilon", "delta", "n", "local_epsilon", "method", "note"],
    "answer": [*INTERVAL, "tolerance", "n"],
    "queries": [*INTERVAL, "tolerance", "n"],
    "bisection": ["asked", "share"],
    "clusters": ["estimate", "low", "high"],
    "synthetic": ["y_synthetic", "a_synthetic"],
    "question": [name for name in REPORT if name not in ("question", "option", "level")],
    "report": REPORT,
}
"""Names that other programs rely on."""


def test_every_result_tried_here_has_its_columns_written_down(results: dict[str, Any]) -> None:
    assert set(results) == set(COLUMNS)


@pytest.mark.parametrize("name", list(COLUMNS))
def test_columns_keep_their_names(results: dict[str, Any], name: str) -> None:
    frame = results[name].to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert len(frame)
    assert list(frame.columns) == COLUMNS[name]
    assert all(column == column.lower() for column in frame.columns)
    assert all(frame[column].dtype != object for column in SHOWN if column in frame)


@pytest.mark.parametrize("name", list(COLUMNS))
def test_every_result_is_json(results: dict[str, Any], name: str) -> None:
    value = results[name].to_dict()
    assert isinstance(value, list if name == "cumulative" else dict)
    assert json.loads(json.dumps(value, allow_nan=False))


def test_made_up_and_completed_tables_are_json_row_by_row(results: dict[str, Any]) -> None:
    made_up, imputations, pairs = (
        results[name].to_dict() for name in ("synthetic", "imputations", "correlate")
    )
    assert made_up["rows"] == results["synthetic"].to_frame().to_dict(orient="records")
    assert [len(table) for table in imputations["tables"]] == [900] * 3
    assert imputations["tables"][1][7] == results["imputations"][1].iloc[7].to_dict()
    (pair,) = pairs["pairs"]
    assert (pair["first"], pair["second"]) == ("x", "y")
    assert pair["r"] == results["correlate"].matrix().loc["x", "y"]


def test_what_json_cannot_say_is_null() -> None:
    days = pd.DataFrame({"day": pd.to_datetime(["2026-01-02", None]), "x": [np.nan, np.inf]})
    assert rows_as_json(days) == [{"day": "2026-01-02 00:00:00", "x": None}, {"day": None, "x": None}]
    assert shuffled_epsilon(1.0, n=2).to_dict()["epsilon"] is None


@pytest.mark.parametrize("name", list(COLUMNS))
def test_every_result_draws_and_shows_itself(results: dict[str, Any], name: str) -> None:
    result = results[name]
    picture = result.plot()
    axes = picture.axes[0] if name == "report" else picture  # a report has a picture for each question
    assert any(line.get_color() == COLOUR for line in axes.get_lines())
    axes.figure.savefig("/dev/null", format="svg")
    assert name == "report" or result.plot(axes) is axes
    assert "<table" in result._repr_html_()


def test_what_is_unbounded_is_drawn_and_shown_too() -> None:
    open_decoy = plan("or_poll", n=500, decoy_share="1/4")
    assert open_decoy.to_frame()["epsilon"].iloc[0] == np.inf
    assert len(open_decoy.plot().get_yticks()) == 3
    assert "inf" in open_decoy._repr_html_()


def written(labels: list[Any]) -> list[str]:
    """Draw rows with these labels and read them from the picture."""
    zeros = [0.0] * len(labels)
    return [label.get_text() for label in draw_whiskers(labels, zeros, zeros, zeros, "x").get_yticklabels()]


def test_rows_of_a_picture_have_names_of_their_own() -> None:
    """Row and column were joined and cut, so that a long row hid which column it was."""
    long, other = (
        "A reason that is told in very many words, here",
        "Another that is told in just as many words",
    )
    cells = [(row, column) for row in (long, other) for column in (other, "No", "Cost $5 and $6, and more")]
    got = written(cells)
    assert len(set(got)) == len(cells)
    assert got[1] == "A reason that is to… / No"
    assert got[2].endswith(r" / Cost \$5 and \$6, and…")
    assert written([long]) == ["A reason that is told in very many word…"]
    alike = [f"{long}: {group}" for group in "ab"]
    assert written(alike) == alike, "labels that differ behind the cut stay whole"


@pytest.mark.parametrize("share", [0.2, 0.9])
def test_power_is_drawn_from_0_to_1(share: float) -> None:
    assert power(COIN, 500, share).plot().get_xlim() == (0.0, 1.0)
