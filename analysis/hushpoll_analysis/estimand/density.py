"""Densities of a binned number: histogram, cosine series and kernel, each linear in the shares and with a band."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from hushpoll_analysis.arguments import chosen
from hushpoll_analysis.channel.base import Floats
from hushpoll_analysis.counts import check_level, finite_numbers
from hushpoll_analysis.errors import AnalysisError, NotIdentifiedError
from hushpoll_analysis.estimand.bands import critical_value, level_of
from hushpoll_analysis.interval import AUTO, Resampling, intervals, method_for
from hushpoll_analysis.result import PlottedResult
from hushpoll_analysis.sample.sample import Sample, read_sample
from hushpoll_analysis.tidy import Tidy, keeps_call

if TYPE_CHECKING:
    import pandas as pd
    from hushpoll_client import Channel
    from hushpoll_client.mechanism import Mechanism

GRID = 101  # points at which a smooth curve is drawn


@dataclass(frozen=True, eq=False)
class Density(Tidy, PlottedResult):
    """An estimated density; made by `density`.

    Attributes
    ----------
    shape : str
        "histogram", "cosine" or "kernel".
    smoothing : float
        Terms of the cosine series, bandwidth of the kernel, or 0.
    x : ndarray
        Where the curve is given: the middles of the bins, or evenly spread points.
    estimate, se, low, high : ndarray
        The unbiased estimate of the (smoothed) density with its standard error and interval, point by point.
    band_low, band_high : ndarray
        Limits that hold for all points together.
    picture : ndarray
        The same curve of the likeliest shares, which are never negative: for the eye, not for intervals.
    """

    words = "density"

    shape: str
    smoothing: float
    level: float
    interval: str
    critical: float
    edges: Floats
    x: Floats
    estimate: Floats
    se: Floats
    low: Floats
    high: Floats
    band_low: Floats
    band_high: Floats
    picture: Floats
    targets: Floats = field(repr=False)

    def to_frame(self) -> pd.DataFrame:
        """One row per point, as a pandas table."""
        import pandas as pd

        names = ("estimate", "se", "low", "high", "band_low", "band_high", "picture")
        return pd.DataFrame({name: getattr(self, name) for name in names}, index=pd.Index(self.x, name="x"))


def density(
    counts: npt.ArrayLike | Mapping[Any, int],
    mechanism: Channel | Mechanism,
    edges: npt.ArrayLike,
    shape: str = "histogram",
    smoothing: float | None = None,
    level: float = 0.95,
    interval: str = AUTO,
) -> Density:
    r"""Estimate the density of a number that was cut into bins.

    Every height is linear in the bins' shares h, so it has an unbiased estimate, a standard error and an interval:

    - histogram: h_k / w_k in a bin of width w_k;
    - cosine series on u in [0, 1]: 1 + sum_{j <= m} beta_j psi_j(u), psi_j(u) = sqrt(2) cos(pi j u), where beta_j is
      the mean of psi_j, spread evenly within bins;
    - kernel: sum_k h_k times the mean over bin k of the normal kernel, reflected at both ends.

    Parameters
    ----------
    counts, mechanism, level, interval
        As for `estimate`; bins in their order.
    edges : array_like
        Edges of the bins, one more than there are bins.
    shape : {"histogram", "cosine", "kernel"}
    smoothing : float, optional
        Number of terms m, or bandwidth. By default the one with the least estimated risk,
        |(S - I) h|^2 + tr(S Cov S') estimated without bias (Mallows).

    Returns
    -------
    Density

    Notes
    -----
    The band is for the curve that the estimate has on average: the density itself for a histogram's bins, the smoothed
    density for the other two. It has c standard errors, the quantile of max |Z| of the joint covariance.

    References
    ----------
    Wasserman, Zhou (2010), JASA 105, 375-389 (histogram and series under privacy); Mallows (1973), Technometrics 15.
    """
    return density_of(read_sample(counts, mechanism), edges, shape, smoothing, level, interval)


@keeps_call
def density_of(
    sample: Sample,
    edges: npt.ArrayLike,
    shape: str = "histogram",
    smoothing: float | None = None,
    level: float = 0.95,
    interval: str = AUTO,
) -> Density:
    """Estimate the density from reports that have been read."""
    check_level(level)
    ends = _edges(edges, sample.view.options)
    chosen(shape, "shape", tuple(SHAPES))
    try:
        covariance = sample.covariance(np.eye(sample.view.options))
    except NotIdentifiedError as error:
        raise NotIdentifiedError(
            f"density: {error.problem}", "choose a mechanism made for a distribution"
        ) from None
    x, targets, used = SHAPES[shape](sample, ends, covariance, smoothing)
    quantities = [sample.quantity(target) for target in targets]
    interval = sample.method_name(interval)
    method = method_for(quantities, interval)
    critical = critical_value(targets @ covariance @ targets.T, level)
    intervals_alone = intervals(quantities, method, level, Resampling())
    together = intervals(quantities, method_for(quantities, interval, True), level_of(critical), Resampling())
    return Density(
        shape=shape,
        smoothing=used,
        level=level,
        interval=method.name,
        critical=critical,
        edges=ends,
        x=x,
        estimate=np.array([quantity.estimate for quantity in quantities]),
        se=np.array([quantity.standard_error for quantity in quantities]),
        low=np.array([interval_alone.low for interval_alone in intervals_alone]),
        high=np.array([interval_alone.high for interval_alone in intervals_alone]),
        band_low=np.array([interval_together.low for interval_together in together]),
        band_high=np.array([interval_together.high for interval_together in together]),
        picture=targets @ sample.likeliest,
        targets=targets,
    )


Shape = tuple[Floats, Floats, float]


def _histogram(sample: Sample, edges: Floats, covariance: Floats, smoothing: float | None) -> Shape:
    if smoothing is not None:
        raise AnalysisError("smoothing: a histogram has none", "leave it out, or choose cosine or kernel")
    width = np.diff(edges)
    return (edges[:-1] + edges[1:]) / 2.0, np.diag(1.0 / width), 0.0


def _cosine(sample: Sample, edges: Floats, covariance: Floats, smoothing: float | None) -> Shape:
    bins = len(edges) - 1
    if smoothing is not None and (smoothing != int(smoothing) or not 0 <= smoothing < bins):
        raise AnalysisError(f"smoothing: {smoothing!r} is not a number of terms", f"give 0 to {bins - 1}")
    candidates = range(bins) if smoothing is None else (int(smoothing),)
    at, terms = _smoothest(sample, edges, covariance, _series, candidates)
    return *at, float(terms)


def _kernel(sample: Sample, edges: Floats, covariance: Floats, smoothing: float | None) -> Shape:
    width = float(edges[-1] - edges[0])
    if smoothing is not None and not 0.0 < smoothing <= width:
        raise AnalysisError(
            f"smoothing: {smoothing!r} is not a bandwidth", f"give more than 0 and up to {width:g}"
        )
    relative_bandwidth = None
    if smoothing is not None:
        relative_bandwidth = smoothing / width
    if relative_bandwidth is None:
        candidates = np.geomspace(0.5 / (len(edges) - 1), 0.5, 16).tolist()
    else:
        candidates = (relative_bandwidth,)
    at, bandwidth = _smoothest(sample, edges, covariance, _bumps, candidates)
    return *at, float(bandwidth * width)


SHAPES: dict[str, Callable[[Sample, Floats, Floats, float | None], Shape]] = {
    "histogram": _histogram,
    "cosine": _cosine,
    "kernel": _kernel,
}


def _series(at: Floats, edges: Floats, terms: float) -> Floats:
    """Heights at u of the series with this many terms, per share of each bin; u and edges run from 0 to 1."""
    order = np.arange(1, int(terms) + 1)[:, None]
    wave = np.sin(np.pi * order * edges) / (np.pi * order)
    mean = np.sqrt(2.0) * np.diff(wave, axis=1) / np.diff(edges)
    result: Floats = 1.0 + (np.sqrt(2.0) * np.cos(np.pi * order * at)).T @ mean
    return result


def _bumps(at: Floats, edges: Floats, bandwidth: float) -> Floats:
    """Heights at u of the normal kernel, spread over each bin and reflected at 0 and 1."""
    total = np.zeros((len(at), len(edges) - 1))
    for image in (at, -at, 2.0 - at):
        total += -np.diff(ndtr((image[:, None] - edges) / bandwidth), axis=1)
    result: Floats = total / np.diff(edges)
    return result


def _smoothest(
    sample: Sample,
    edges: Floats,
    covariance: Floats,
    heights: Callable[[Floats, Floats, float], Floats],
    candidates: Any,
) -> tuple[tuple[Floats, Floats], float]:
    """Return the smoother of least estimated risk, as heights per share on a fine grid."""
    start, width = float(edges[0]), float(edges[-1] - edges[0])
    inner = (edges - start) / width
    if len(candidates) == 1:
        best = candidates[0]
    else:
        best = _least_risk(sample, inner, covariance, heights, candidates)
    grid = np.linspace(0.0, 1.0, GRID)
    return (start + width * grid, heights(grid, inner, best) / width), best


def _least_risk(
    sample: Sample,
    edges: Floats,
    covariance: Floats,
    heights: Callable[[Floats, Floats, float], Floats],
    candidates: Any,
) -> float:
    """Compare smoothers by what they do to the bins' heights: bias squared plus variance, estimated without bias."""
    width = np.diff(edges)
    plain = np.diag(1.0 / width)
    shares = sample.shares
    assert shares is not None
    middles = (edges[:-1] + edges[1:]) / 2.0

    def risk(smoothing: float) -> float:
        smooth = heights(middles, edges, smoothing)
        gap = smooth - plain
        bias = width @ (gap @ shares) ** 2 - width @ np.diag(gap @ covariance @ gap.T)
        return float(bias + width @ np.diag(smooth @ covariance @ smooth.T))

    return float(min(candidates, key=risk))


def _edges(values: npt.ArrayLike, bins: int) -> Floats:
    edges = finite_numbers(values, "edges")
    if edges.size != bins + 1 or np.any(np.diff(edges) <= 0.0):
        raise AnalysisError(
            f"edges: {edges.size} given for {bins} bins", f"give {bins + 1} increasing numbers"
        )
    return edges
