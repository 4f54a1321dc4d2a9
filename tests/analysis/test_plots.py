"""Every result draws itself in one style, shows itself in a notebook, and has a tidy frame."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import (
    anchored,
    cheating_detection,
    compare,
    constrained_estimate,
    correlate,
    crosstab,
    cumulative,
    density,
    estimate,
    impute,
    logit,
    mean,
    mean_difference,
    power,
    quantiles,
    sensitivity,
    sum_score,
    trend,
    weighted_estimate,
)
from hushpoll_analysis.data.whiskers import COLOUR
from hushpoll_client import mechanisms

COIN = mechanisms.warner(epsilon=2)
FOUR = mechanisms.krr(options=4, epsilon=2)
COUNTS = [600, 500, 400, 300]


@pytest.fixture(scope="module")
def results() -> dict[str, object]:
    rng = np.random.default_rng(1)
    data = pd.DataFrame({name: rng.integers(0, 2, 900) for name in ("y", "a", "g")}).assign(
        x=rng.normal(size=900)
    )
    how = {"y": COIN, "a": COIN}
    fit = logit("y ~ x", data, {"y": COIN}, penalty="log-f")
    one = estimate([600, 300], COIN)
    return {
        "weighted": weighted_estimate(data, how, "y"),
        "crosstab": crosstab(data, how, "g", "y"),
        "compare": compare(data, how, "y", "g"),
        "correlate": correlate(data, how, ["x", "y"]),
        "fit": fit,
        "pooled": impute(fit, 3, seed=1).combine(lambda t: ([t["y"].mean()], [0.01])),
        "anchored": anchored(data, how, "y", "a", 0),
        "score": sum_score(data, how, ["y", "a"]),
        "groups": cheating_detection([(300, 200), (110, 390)], forced_yes=(0.25, 0.75)),
        "trend": trend({"$1": one, "two": one}),
        "sensitivity": sensitivity(one),
        "estimate": one,
        "parts": estimate([400, 300, 300, 300, 500], mechanisms.subset(5, 2, size=2)),
        "cumulative": cumulative(COUNTS, FOUR),
        "density": density(COUNTS, FOUR, [0, 1, 2, 3, 4]),
        "quantiles": quantiles(COUNTS, FOUR, values=[1, 2, 3, 4]),
        "mean": mean(COUNTS, FOUR, [1, 2, 3, 4]),
        "mean_difference": mean_difference(*(mean(COUNTS, FOUR, [1, 2, 3, 4]) for _ in "ab")),
        "ratio": estimate(COUNTS, FOUR).ratio(["1"], ["1", "2"]),
        "constrained": constrained_estimate(COUNTS, FOUR),
        "power": power(COIN, 500, 0.2),
    }


NAMES = [
    "weighted",
    "crosstab",
    "compare",
    "correlate",
    "fit",
    "pooled",
    "anchored",
    "score",
    "groups",
    "trend",
    "estimate",
    "parts",
    "cumulative",
    "density",
    "quantiles",
    "mean",
    "mean_difference",
    "ratio",
    "constrained",
    "power",
]
INTERVAL = ["estimate", "se", "low", "high"]
SHOWN = ["shown_estimate", "shown_low", "shown_high"]
ENTRY = ["reported", *INTERVAL, "se_privacy", "interval", "misfit", "weight", "design_effect", "n_effective"]
COLUMNS = {
    "estimate": [*ENTRY, *SHOWN],
    "parts": [*ENTRY, *SHOWN, "asked"],
    "mean": [*ENTRY, *SHOWN],
    "cumulative": [*INTERVAL, "band_low", "band_high", "curve"],
    "density": [*INTERVAL, "band_low", "band_high", "picture"],
    "quantiles": ["estimate", "low", "high"],
    "mean_difference": ["difference", "se", "low", "high", "interval"],
    "ratio": ["of", "among", *INTERVAL, "level"],
    "constrained": ["share"],
    "power": ["mechanism", "n", "share", "null", "alpha", "two_sided", "power"],
    "groups": [*INTERVAL, "constrained", *SHOWN],
}
"""Names that other programs rely on."""


@pytest.mark.parametrize("name", list(COLUMNS))
def test_columns_keep_their_names(results: dict[str, object], name: str) -> None:
    frame = results[name].to_frame()
    assert list(frame.columns) == COLUMNS[name]
    assert all(frame[column].dtype != object for column in SHOWN if column in frame)


@pytest.mark.parametrize("name", [*NAMES, "sensitivity"])
def test_every_result_draws_and_shows_itself(results: dict[str, object], name: str) -> None:
    result = results[name]
    axes = result.plot()
    assert any(line.get_color() == COLOUR for line in axes.get_lines())
    axes.figure.savefig("/dev/null", format="svg")
    assert result.plot(axes) is axes
    assert "<table" in result._repr_html_()
    frame = result.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert len(frame)
    assert all(isinstance(column, str) and column == column.lower() for column in frame.columns)
