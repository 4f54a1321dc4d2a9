"""What every result with intervals has: limits at a level, the joint covariance, a table as R's broom gives it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, TypeVar

from hushpoll_analysis.counts import check_level
from hushpoll_analysis.errors import AnalysisError

if TYPE_CHECKING:
    import pandas as pd

Result = TypeVar("Result")
_ESTIMATES = ("estimate", "coef", "difference", "effect", "r", "mean", "p_value")
"""Columns that hold what is estimated, in this order of preference."""
_AGAIN = "_again"


def term_of(label: Any) -> str:
    """Return the name of a row: the levels of a MultiIndex joined by a slash."""
    if isinstance(label, tuple):
        return " / ".join(str(level) for level in label)
    return str(label)


class Tidy:
    """A result whose `to_frame()` has the columns `low` and `high`."""

    def conf_int(self, level: float | None = None) -> pd.DataFrame:
        """Return the limits of every row, by the result's own method; `level` is by default that of the result."""
        frame: pd.DataFrame = self._at(level).to_frame()
        return frame[["low", "high"]]

    def vcov(self) -> pd.DataFrame:
        """Return the joint covariance of the estimates; raise AnalysisError if there is none."""
        raise AnalysisError(
            f"a {type(self).__name__} has no joint covariance", "use the standard errors of to_frame()"
        )

    def tidy(self, *, conf_level: float | None = None) -> pd.DataFrame:
        """Return one row per estimate with the columns of R's broom.

        These are term, estimate, std.error, conf.low, conf.high, and p.value if the result has one.
        """
        import pandas as pd

        frame: pd.DataFrame = self._at(conf_level).to_frame()
        name = next(name for name in _ESTIMATES if name in frame.columns)
        columns: dict[str, Any] = {
            "term": [term_of(label) for label in frame.index],
            "estimate": frame[name].to_numpy(),
            "std.error": frame["se"].to_numpy() if "se" in frame.columns else float("nan"),
            "conf.low": frame["low"].to_numpy(),
            "conf.high": frame["high"].to_numpy(),
        }
        if "p_value" in frame.columns:
            columns["p.value"] = frame["p_value"].to_numpy()
        return pd.DataFrame(columns)

    def _at(self, level: float | None) -> Any:
        if level is None:
            return self
        return self._at_level(check_level(level))

    def _at_level(self, level: float) -> Any:
        """Return the same result with limits at another level."""
        again: Callable[[float], Any] | None = getattr(self, _AGAIN, None)
        if again is None:
            raise AnalysisError(
                f"this {type(self).__name__} cannot compute its limits at another level",
                "make it again with level=",
            )
        return again(level)


def keeps_call(function: Callable[..., Result]) -> Callable[..., Result]:
    """Let the results of a function compute their limits at another level, by the same call with that level.

    Results of data that can be read only once do not: calling again would find nothing.
    """
    signature = inspect.signature(function)

    @wraps(function)
    def call(*args: Any, **keywords: Any) -> Result:
        result = function(*args, **keywords)
        bound = signature.bind(*args, **keywords)
        if not any(isinstance(value, Iterator) for value in bound.arguments.values()):
            # Results are frozen; this is no field, so that neither equality nor to_dict() sees it.
            object.__setattr__(result, _AGAIN, partial(_call_at, call, bound))
        return result

    call.__signature__ = signature  # type: ignore[attr-defined]
    return call


def _call_at(function: Callable[..., Any], bound: inspect.BoundArguments, level: float) -> Any:
    again = inspect.BoundArguments(bound.signature, bound.arguments | {"level": level})
    return function(*again.args, **again.kwargs)
