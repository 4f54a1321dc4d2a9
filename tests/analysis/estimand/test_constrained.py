"""Maximum likelihood on the simplex: certified, structural, and quick enough to be used everywhere."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from hushpoll_analysis import AnalysisError, constrained_estimate, estimate, maximise
from hushpoll_analysis.channel.view import channel_view
from hushpoll_client import Channel, mechanisms
from hypothesis import given, settings
from hypothesis import strategies as st

Floats = npt.NDArray[np.float64]


def kronecker(shape: tuple[int, ...], epsilon: float) -> Callable[[Floats], Floats]:
    """The K-ary product channel, applied axis by axis; it is symmetric, so backward is forward."""
    views = [channel_view(mechanisms.krr(options=options, epsilon=epsilon)) for options in shape]

    def apply(values: Floats) -> Floats:
        for axis, view in enumerate(views):
            values = np.moveaxis(view.forward(np.moveaxis(values, axis, -1)), -1, axis)
        return values

    return apply


def sampled_counts(
    shape: tuple[int, ...], epsilon: float, n: int, seed: int
) -> tuple[Floats, Callable[[Floats], Floats]]:
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.full(int(np.prod(shape)), 0.3)).reshape(shape)
    apply = kronecker(shape, epsilon)
    probabilities = apply(truth).ravel()
    return rng.multinomial(n, probabilities / probabilities.sum()).reshape(shape).astype(float), apply


@pytest.mark.parametrize(
    ("shape", "epsilon", "n"), [((5, 5, 5), 1, 2000), ((5, 5, 5), 0.2, 5000), ((8, 8), 2, 500)]
)
def test_kronecker_product_reaches_the_certified_maximum(
    shape: tuple[int, ...], epsilon: float, n: int
) -> None:
    counts, apply = sampled_counts(shape, epsilon, n, seed=1)
    best = maximise(counts, apply, apply, np.full(shape, 1 / np.prod(shape)))
    assert best.converged
    assert best.gap <= 1e-8
    assert best.shares.shape == shape
    assert best.shares.min() >= 0
    assert best.shares.sum() == pytest.approx(1)
    # No other shares do better: not the truth's neighbours, not the corners.
    rng = np.random.default_rng(2)
    for other in rng.dirichlet(np.ones(best.shares.size), size=50).reshape(-1, *shape):
        mixed = 0.9 * best.shares + 0.1 * other
        assert np.sum(counts * np.log(apply(mixed))) <= best.log_likelihood + 1e-8 * n


def test_ten_thousand_cells() -> None:
    counts, apply = sampled_counts((100, 100), 3, 100_000, seed=3)
    best = maximise(counts, apply, apply, np.full((100, 100), 1e-4))
    assert best.converged
    assert best.shares.sum() == pytest.approx(1)


@pytest.mark.long
@pytest.mark.parametrize("shape", [(100, 100), (10, 10, 10, 10)])
def test_ten_thousand_cells_at_small_epsilon(shape: tuple[int, ...]) -> None:
    counts, apply = sampled_counts(shape, 1, 200_000, seed=4)
    best = maximise(counts, apply, apply, np.full(shape, 1e-4), tolerance=1e-6)
    assert best.converged


@given(
    st.lists(st.integers(0, 300), min_size=3, max_size=8).filter(lambda counts: sum(counts) > 0),
    st.floats(0.3, 3),
)
@settings(max_examples=40, deadline=None)
def test_closed_form_of_kary_equals_the_search(counts: list[int], epsilon: float) -> None:
    """The K-ary closed form against the general search on the same table."""
    device = mechanisms.krr(options=len(counts), epsilon=round(epsilon, 3)).device
    closed = constrained_estimate(counts, device)
    view = channel_view(device)
    gradient = view.backward(np.array(counts) / view.forward(closed.shares))
    n = sum(counts)
    assert gradient.max() <= n * (1 + 1e-9)  # the certificate of a maximum
    searched = constrained_estimate(counts, Channel.matrix(device.rows))
    assert searched.kernel == pytest.approx(closed.kernel, abs=1e-7 * n)


def test_interior_estimate_is_the_maximum() -> None:
    mechanism = mechanisms.matrix(weights=[[6, 3, 1], [2, 6, 2], [1, 3, 6]])
    result = estimate([100, 150, 120], mechanism)
    assert result.constrained().shares == pytest.approx(result.shares, abs=1e-9)


def test_thousand_options_need_no_table() -> None:
    mechanism = mechanisms.krr(options=1000, epsilon=2)
    counts = np.random.default_rng(5).integers(0, 40, size=1000)
    best = constrained_estimate(counts, mechanism)
    assert best.shares.sum() == pytest.approx(1)
    result = estimate(counts, mechanism)
    assert result.shares is not None
    assert result.shares.sum() == pytest.approx(1)
    assert len(result.estimates) == 1000


def test_one_sided_device_keeps_impossible_reports_impossible() -> None:
    best = constrained_estimate([700, 300], mechanisms.or_poll(decoy_share=0.4))
    assert best.shares == pytest.approx([1, 0], abs=1e-7)


def test_no_reports_are_refused() -> None:
    with pytest.raises(AnalysisError, match="no reports"):
        maximise(np.zeros(3), lambda h: h, lambda g: g, np.ones(3))
    with pytest.raises(AnalysisError, match="there are no reports"):
        constrained_estimate([0, 0], mechanisms.warner(epsilon=1))
