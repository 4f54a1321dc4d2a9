"""A tick list as the outcome of a logistic regression: one fit for each option, kept together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from hushpoll_analysis.channel.view import set_view
from hushpoll_analysis.errors import AnalysisError
from hushpoll_analysis.plotting import draw_whiskers
from hushpoll_analysis.sample.columns import Mechanisms
from hushpoll_analysis.sample.option_columns import option_of, options_of
from hushpoll_analysis.tidy import Tidy

from .fit import ModelFit
from .formula import parse_formula


@dataclass(frozen=True, eq=False)
class OptionFits(Tidy):
    """The fits of a tick list's options; `fits[option]`, or the object itself by an option, is one of them.

    Options of one report were randomized together: each fit is right by itself, from those who were asked about the
    option, and their coefficients are not independent of each other.
    """

    formula: str
    outcome: str
    fits: Mapping[str, ModelFit] = field(repr=False)
    remarks: tuple[str, ...] = ()

    def __getitem__(self, option: str) -> ModelFit:
        """Return the fit of one option."""
        if option not in self.fits:
            raise AnalysisError(
                f'"{self.outcome}" has no option "{option}"', f"its options are {', '.join(self.fits)}"
            )
        return self.fits[option]

    def __iter__(self) -> Iterator[str]:
        return iter(self.fits)

    def __len__(self) -> int:
        return len(self.fits)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the standard errors contain, and which fits were held."""
        option_notes = [f"{option}: {note}" for option, fit in self.fits.items() for note in fit.notes]
        return (*option_notes, *self.remarks)

    def _stacked(self, make: Callable[[ModelFit], pd.DataFrame]) -> pd.DataFrame:
        return pd.concat({option: make(fit) for option, fit in self.fits.items()}, names=[self.outcome])

    def to_frame(self, everything: bool = False) -> pd.DataFrame:
        """Return the coefficients of every option below each other, as `ModelFit.to_frame`."""
        return self._stacked(lambda fit: fit.to_frame(everything))

    def _at_level(self, level: float) -> OptionFits:
        return replace(self, fits={option: replace(fit, level=level) for option, fit in self.fits.items()})

    def vcov(self) -> pd.DataFrame:
        """Refuse: the options' coefficients are not independent, and each fit knows only its own."""
        raise AnalysisError(
            "fits of several options have no joint covariance", "take one of them: fits[option].vcov()"
        )

    def odds_ratios(self) -> pd.DataFrame:
        """Return exp(coefficient) with its interval, for the logit link."""
        return self._stacked(ModelFit.odds_ratios)

    def predict(self, data: pd.DataFrame | None = None, level: float | None = None) -> pd.DataFrame:
        """Return the chance that each option is ticked, as `ModelFit.predict`."""
        return self._stacked(lambda fit: fit.predict(data, level))

    def margins(self, **keys: Any) -> pd.DataFrame:
        """Return average marginal effects, as `ModelFit.margins`."""
        return self._stacked(lambda fit: fit.margins(**keys))

    def summary(self) -> str:
        """Write the fits as text, below each other."""
        return "\n\n".join(fit.summary() for fit in self.fits.values())

    def __str__(self) -> str:
        return self.summary()

    def to_dict(self) -> dict[str, Any]:
        """Return the fits as JSON values."""
        fits = {option: fit.to_dict() for option, fit in self.fits.items()}
        return {"formula": self.formula, "outcome": self.outcome, "options": fits, "notes": list(self.notes)}

    def plot(self, axes: Any = None) -> Any:
        """Draw the result with matplotlib and give the axes."""
        frame = self.to_frame()
        limits = (frame["coef"], frame["low"], frame["high"])
        level = next(iter(self.fits.values())).level
        return draw_whiskers(
            list(frame.index), *limits, f"coefficient, {level:.0%} interval", axes, zero=True
        )

    def _repr_html_(self) -> str:
        return self.to_frame(everything=True).to_html(float_format=lambda value: f"{value:.4f}", na_rep="")


def outcome_options(formula: str, channels: Mechanisms) -> tuple[str, ...]:
    """Return the options that reports of the outcome speak of one by one; none where a report is one answer."""
    return options_of(parse_formula(formula)[0], channels)


def option_formula(formula: str, channels: Mechanisms, option: object) -> str:
    """Put one option of the outcome in its place."""
    outcome = parse_formula(formula)[0]
    option_of(f"{outcome}[{option}]", channels)  # refuses one that is not there
    return f"`{outcome}[{option}]` ~{formula.split('~', 1)[1]}"


def fit_options(formula: str, channels: Any, fit: Callable[[str], ModelFit]) -> OptionFits:
    """Fit every option of the outcome by itself; one answer of several needs its answer named."""
    outcome, options = parse_formula(formula)[0], outcome_options(formula, channels)
    if set_view(_mechanism(channels, outcome)) is not None:
        raise AnalysisError(
            f"{outcome} has several answers",
            f"name the one to model with event= ({', '.join(options[:12])}{', ...' * (len(options) > 12)}), or use "
            "multinomial",
        )
    fits = {option: fit(option_formula(formula, channels, option)) for option in options}
    return OptionFits(formula, outcome, fits)


def _mechanism(channels: Any, name: str) -> Any:
    if isinstance(channels, Mapping):
        return channels[name]
    return channels.question(name).mechanism
