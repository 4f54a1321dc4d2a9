"""Random intercepts: the interval of a standard deviation near 0, and coefficients between few groups."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hushpoll_analysis import logit
from hushpoll_analysis.regression.random_intercept import RandomIntercept
from hushpoll_client import mechanisms
from scipy import optimize, special, stats

COIN = mechanisms.warner(epsilon=3)
KEPT = math.exp(3) / (1 + math.exp(3))


def people(groups: int, size: int, sd: float, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(groups), size)
    z, shift, x = rng.normal(size=groups), sd * rng.normal(size=groups), rng.normal(size=groups * size)
    truth = rng.random(len(x)) < special.expit(-0.3 + 0.5 * x + 0.4 * z[group] + shift[group])
    reports = np.where(rng.random(len(x)) < KEPT, truth, ~truth).astype(int)
    return pd.DataFrame({"y": reports, "x": x, "z": z[group], "g": group})


def test_a_standard_deviation_of_0_has_an_interval() -> None:
    fit = logit("y ~ x + (1 | g)", people(20, 15, 0.0, 1), {"y": COIN}, points=9)
    assert fit.sd == 0.0
    low, high = fit.to_frame(everything=True).loc["sd(g)", ["low", "high"]]
    assert low == 0.0
    assert 0.1 < high < 1.5
    assert "sd(g)" in fit.summary()
    assert json.loads(json.dumps(fit.to_dict(), allow_nan=False))["coefficients"][-1][
        "high"
    ] == pytest.approx(high)


def test_a_standard_deviation_near_0_has_a_possible_interval() -> None:
    fit = logit("y ~ x + (1 | g)", people(20, 15, 0.1, 4), {"y": COIN}, points=9)
    assert 0.0 < fit.sd < 0.4
    low, high = fit.conf_int(everything=True).loc["sd(g)"]
    assert low == 0.0, "groups that may not differ at all"
    assert fit.sd < high < 1.5
    narrow = fit.conf_int(0.5, everything=True).loc["sd(g)"]
    assert narrow["high"] < high


def test_the_ends_are_where_the_profile_has_fallen() -> None:
    fit = logit("y ~ x + (1 | g)", people(15, 30, 0.8, 2), {"y": COIN}, points=9)
    drop = stats.chi2.isf(0.05, 1) / 2
    low, high = fit.sd_interval()
    assert 0.0 < low < fit.sd < high
    top = max(fit.adjusted_profile(math.log(sd)) for sd in np.linspace(0.5 * fit.sd, 2 * fit.sd, 100))
    for end in (low, high):
        assert top - fit.adjusted_profile(math.log(end)) == pytest.approx(drop, abs=1e-2)


def test_the_interval_takes_few_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each point of a profile is a fit to all rows: 100,000 people in 200 groups waited 70 seconds for 30 of them."""
    fit = logit("y ~ x + z + (1 | g)", people(50, 20, 0.5, 1), {"y": COIN}, points=9)
    fits, maximum = [], RandomIntercept.maximum

    def counted(self: RandomIntercept, *arguments: Any) -> Any:
        fits.append(arguments)
        return maximum(self, *arguments)

    monkeypatch.setattr(RandomIntercept, "maximum", counted)
    low, high = fit.sd_interval()
    assert 0.0 < low < fit.sd < high
    assert len(fits) <= 18


def test_the_profile_allows_for_coefficients_between_few_groups() -> None:
    """Of groups with many people the shifts are known nearly: the interval is that of a normal sample's variance."""
    fit = logit("y ~ x + z + (1 | g)", people(6, 2000, 0.7, 5), {}, points=9)
    shift = fit.random_effects()["shift"]
    squares, freedom, drop = float(np.sum((shift - shift.mean()) ** 2)), 4, stats.chi2.isf(0.05, 1) / 2

    def fall(log_sd: float) -> float:
        ratio = squares / freedom / math.exp(2 * log_sd)
        return freedom / 2 * (ratio - 1 - math.log(ratio)) - drop

    middle = math.log(squares / freedom) / 2
    expected = [
        math.exp(optimize.brentq(fall, *ends)) for ends in ((middle - 3, middle), (middle, middle + 3))
    ]
    assert fit.sd_interval() == pytest.approx(expected, rel=0.05)


def test_coefficients_between_few_groups_allow_for_how_few_they_are() -> None:
    fit = logit("y ~ x + z + (1 | g)", people(6, 60, 0.7, 3), {"y": COIN}, points=9)
    frame = fit.to_frame()
    half = (frame["high"] - frame["low"]) / 2
    assert half["x"] == pytest.approx(stats.norm.isf(0.025) * frame.loc["x", "se"])
    for name in ("Intercept", "z"):
        assert half[name] == pytest.approx(stats.t.isf(0.025, 4) * math.sqrt(6 / 4) * frame.loc[name, "se"])
    assert any("6 groups only" in note for note in fit.notes)


@pytest.mark.long
@pytest.mark.parametrize(("groups", "size"), [(6, 60), (12, 40), (8, 30), (20, 20)])
def test_coefficients_between_few_groups_cover(groups: int, size: int) -> None:
    held = []
    for seed in range(2000):
        fit = logit("y ~ x + z + (1 | g)", people(groups, size, 0.7, seed), {"y": COIN}, points=9)
        low, high = fit.conf_int().loc["z"]
        held.append(low <= 0.4 <= high)
    assert np.mean(held) >= 0.93


@pytest.mark.long
@pytest.mark.parametrize(("groups", "size", "sd"), [(6, 60, 0.7), (12, 40, 0.7), (20, 15, 0.3)])
def test_standard_deviations_of_few_groups_are_covered(groups: int, size: int, sd: float) -> None:
    held = []
    for seed in range(500):
        low, high = logit(
            "y ~ x + z + (1 | g)", people(groups, size, sd, seed), {"y": COIN}, points=9
        ).sd_interval()
        held.append(low <= sd <= high)
    assert np.mean(held) >= 0.92
