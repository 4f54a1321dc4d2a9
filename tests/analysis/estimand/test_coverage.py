"""Coverage and error of means, cumulative shares, quantiles and ranges, by simulation over channels and truths.

Reports are drawn from the multinomial of C'h, thousands of surveys at once. The limits of all surveys are computed by
the package's own array functions; `test_many_surveys_at_once_are_what_one_is` holds them against the public door.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import pytest
from hushpoll_analysis import cumulative, mean, quantiles
from hushpoll_analysis.channel.view import ChannelView, channel_view, sampler
from hushpoll_analysis.estimand.bands import critical_value, level_of
from hushpoll_analysis.estimand.cumulative import rising_curve
from hushpoll_analysis.estimand.quantiles import crossings, shared_levels
from hushpoll_analysis.interval import ENOUGH, Interval
from hushpoll_analysis.interval.adaptive import frequency_limits
from hushpoll_analysis.interval.blaker import Blaker
from hushpoll_analysis.interval.listed import listed_interval
from hushpoll_analysis.interval.quantity import line_of
from hushpoll_analysis.interval.score import linear_score_limits
from hushpoll_analysis.planning.optimal import designed, worst_case_mean
from hushpoll_analysis.sample.sample import CountedSample
from hushpoll_client import Channel, mechanisms
from scipy.special import ndtri
from scipy.stats import beta, norm

Floats = npt.NDArray[np.float64]
Limits = tuple[Floats, Floats]

LOW, HIGH = 0.930, 0.975
SIZES, EPSILONS = (200, 1000, 5000), (0.5, 1.0, 2.0, 4.0)
SHAPES = ("uniform", "skewed", "bimodal", "first", "middle")
FEW = 250  # surveys for interquartile ranges, which need nine times the work
COVERED: dict[str, list[float]] = {}  # what was found, for the line at the end
THIN = 10  # reports expected more rarely than this leave coverage its lower bound only


@pytest.fixture(scope="module", autouse=True)
def extremes(request: pytest.FixtureRequest) -> Iterator[None]:
    """Print the range of coverage of each method after a long run; docs/validity.md has the figures."""
    yield
    if not request.config.getoption("--long"):
        return
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        for what, coverages in COVERED.items():
            ends = f"{100 * min(coverages):.2f} to {100 * max(coverages):.2f} %"
            print(
                f"\n{what}: {len(coverages):,} coverages, {ends}, {100 * np.mean(coverages):.2f} % on average"
            )


def kary(points: int, epsilon: float) -> Channel:
    return mechanisms.krr(options=points, epsilon=epsilon).device


def thresholds(points: int, epsilon: float) -> Channel:
    """Whether the answer lies above a random threshold, by Warner's coin: two-valued columns."""
    above = np.tril(np.ones((points, points)), -1)[:, : points - 1] > 0
    columns = np.concatenate(
        [np.where(above, math.exp(epsilon), 1.0), np.where(above, 1.0, math.exp(epsilon))], axis=1
    )
    return Channel.from_probabilities((columns / columns.sum(axis=1, keepdims=True)).tolist())


def one_bit(points: int, epsilon: float) -> Channel:
    yes = 0.5 + math.tanh(epsilon / 2) / 2 * np.linspace(-1, 1, points)
    return Channel.from_probabilities(np.stack([1 - yes, yes], axis=1).tolist())


def cumulative_design(points: int, epsilon: float) -> Channel:
    return designed(points, str(epsilon), "cumulative")


def mean_design(points: int, epsilon: float) -> Channel:
    return designed(points, str(epsilon), "mean")


def worst_case(points: int, epsilon: float) -> Channel:
    return worst_case_mean(points, str(epsilon))


CHANNELS: dict[str, Callable[[int, float], Channel]] = {
    "kary": kary,
    "thresholds": thresholds,
    "designed": cumulative_design,
}
FOR_MEANS = CHANNELS | {"designed for the mean": mean_design, "worst case": worst_case, "one bit": one_bit}


def truths(points: int) -> dict[str, Floats]:
    """Uniform, skewed, bimodal, and all people at the first point or in the middle."""
    edges = np.linspace(0, 1, points + 1)
    middle = np.zeros(points)
    middle[points // 2] = 1.0
    two = 0.5 * norm.cdf(edges, 0.25, 0.08) + 0.5 * norm.cdf(edges, 0.7, 0.1)
    bimodal = np.diff(two) / (two[-1] - two[0])
    return {
        "uniform": np.full(points, 1 / points),
        "skewed": np.diff(beta.cdf(edges, 1.2, 8)),
        "bimodal": bimodal,
        "first": np.eye(points)[0],
        "middle": middle,
    }


def limits_of(
    view: ChannelView, counts: Floats, weights: Floats, level: float, together: bool = False
) -> Limits:
    """Limits of b.p in every survey (row of counts), by the method that `auto` chooses there."""
    binomial = Blaker().of if together else frequency_limits
    n = int(counts[0].sum())
    line = line_of(weights, counts[0], view)
    if line is not None:
        upper = np.abs(weights - weights.max()) <= 1e-9 * np.abs(weights).max()
        yes, inverse = np.unique(counts[:, upper].sum(axis=1), return_inverse=True)
        ends = np.array([binomial(float(k), float(n), level) for k in yes])[inverse]
        mapped = line.intercept + line.slope * ends
        return mapped[:, 0], mapped[:, 1]
    frequencies = counts / n
    estimate = frequencies @ weights
    half = -float(ndtri((1 - level) / 2)) * np.sqrt(
        np.maximum(frequencies @ weights**2 - estimate**2, 0) / (n - 1)
    )
    low, high = estimate - half, estimate + half
    rare = np.flatnonzero(counts.min(axis=1) < ENOUGH)
    if rare.size:
        rows = np.broadcast_to(weights, (rare.size, len(weights)))
        low[rare], high[rare] = linear_score_limits(rows, frequencies[rare], n, level)
    return low, high


def cumulative_limits(view: ChannelView, counts: Floats, level: float, together: bool = False) -> Limits:
    """The same for all cumulative shares; the last is 1."""
    targets = np.tril(np.ones((view.options, view.options)))[:-1]
    target_limits = [limits_of(view, counts, view.solution(target), level, together) for target in targets]
    ones = np.ones(len(counts))
    low, high = (np.stack([*(pair[end] for pair in target_limits), ones], axis=1) for end in (0, 1))
    return low, high


def surveys(view: ChannelView, truth: Floats, n: int, repetitions: int, seed: int) -> Floats:
    probabilities = view.forward(truth)
    counts = np.random.default_rng(seed).multinomial(n, probabilities / probabilities.sum(), size=repetitions)
    return counts.astype(np.float64)


def check(
    coverage: float, view: ChannelView, truth: Floats, n: int, repetitions: int, what: object, of: str
) -> None:
    """Within the band, widened by four standard errors of the simulation; thin reports have no upper bound."""
    slack = 4 * math.sqrt(0.05 * 0.95 / repetitions)
    thin = n * view.forward(truth).min() < THIN
    COVERED.setdefault(f"{of}, thin" if thin else of, []).append(coverage)
    assert coverage >= LOW - slack, (what, coverage)
    if not thin:
        assert coverage <= HIGH + slack, (what, coverage)


def at_least(coverage: float, repetitions: int, what: object, of: str) -> None:
    """At least the lower bound, less four standard errors of the simulation."""
    COVERED.setdefault(of, []).append(coverage)
    assert coverage >= LOW - 4 * math.sqrt(0.05 * 0.95 / repetitions), (what, coverage)


def check_means(name: str, points: int, epsilon: float, n: int, repetitions: int) -> None:
    view = channel_view(FOR_MEANS[name](points, epsilon))
    values = np.arange(1.0, points + 1)
    for seed, (shape, truth) in enumerate(truths(points).items()):
        counts = surveys(view, truth, n, repetitions, seed)
        low, high = limits_of(view, counts, view.solution(values), 0.95)
        inside = float(np.mean((low <= values @ truth) & (values @ truth <= high)))
        check(inside, view, truth, n, repetitions, (name, points, epsilon, n, shape), "means")


def check_cumulative(
    name: str, points: int, epsilon: float, n: int, repetitions: int, shapes: tuple[str, ...] = SHAPES
) -> None:
    """Cumulative shares one by one; median, quartiles and their range, which hold at least as often."""
    view = channel_view(CHANNELS[name](points, epsilon))
    for shape in shapes:
        truth, seed = truths(points)[shape], SHAPES.index(shape)
        what = (name, points, epsilon, n, shape)
        counts = surveys(view, truth, n, repetitions, seed)
        low, high = cumulative_limits(view, counts, 0.95)
        running = np.cumsum(truth)
        inside = ((low <= running + 1e-9) & (running - 1e-9 <= high)).mean(axis=0)
        for coverage in inside[:-1].tolist():
            check(coverage, view, truth, n, repetitions, what, "cumulative shares")
        for p in (0.25, 0.5, 0.75):
            true = int(np.argmax(running >= p - 1e-12))
            first, last = crossings(low, high, p)
            at_least(float(np.mean((first <= true) & (true <= last))), repetitions, (*what, p), "quantiles")
        few = counts[:FEW]
        at_least(range_coverage(view, few, running), len(few), what, "interquartile ranges")


def range_coverage(view: ChannelView, counts: Floats, running: Floats) -> float:
    """How often the interval of the interquartile range (in points) holds the true one."""
    true = int(np.argmax(running >= 0.75 - 1e-12)) - int(np.argmax(running >= 0.25 - 1e-12))
    limits = [cumulative_limits(view, counts, level) for level in shared_levels(0.95)]
    low, high = np.full(len(counts), np.inf), np.full(len(counts), -np.inf)
    for ends, other in zip(limits, reversed(limits), strict=True):
        (first1, last1), (first3, last3) = crossings(*ends, 0.25), crossings(*other, 0.75)
        low, high = np.minimum(low, first3 - last1), np.maximum(high, last3 - first1)
    return float(np.mean((np.maximum(low, 0) <= true) & (true <= high)))


@pytest.mark.parametrize("name", FOR_MEANS)
@pytest.mark.parametrize(("points", "epsilon", "n"), [(5, 0.5, 200), (5, 4.0, 200), (11, 1.0, 1000)])
def test_means_cover(name: str, points: int, epsilon: float, n: int) -> None:
    check_means(name, points, epsilon, n, 2000)


@pytest.mark.long
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("points", [5, 11])
@pytest.mark.parametrize("name", FOR_MEANS)
def test_means_cover_everywhere(name: str, points: int, epsilon: float, n: int) -> None:
    check_means(name, points, epsilon, n, 10_000)


@pytest.mark.parametrize("name", CHANNELS)
@pytest.mark.parametrize(
    ("points", "epsilon", "n"), [(5, 4.0, 200), pytest.param(5, 0.5, 200, marks=pytest.mark.long)]
)
def test_cumulative_shares_and_quantiles_cover(name: str, points: int, epsilon: float, n: int) -> None:
    check_cumulative(name, points, epsilon, n, 500)


@pytest.mark.long
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("points", [5, 11, 20])
@pytest.mark.parametrize("name", CHANNELS)
def test_cumulative_shares_and_quantiles_cover_everywhere(
    name: str, points: int, epsilon: float, n: int, shape: str
) -> None:
    check_cumulative(name, points, epsilon, n, 2000 if points < 20 else 1000, (shape,))


@pytest.mark.long
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("points", [5, 11, 20])
@pytest.mark.parametrize("name", CHANNELS)
def test_cumulative_shares_lie_within_the_band_itself(name: str, points: int, epsilon: float) -> None:
    """Where no report is rare, with enough surveys to ignore the simulation error."""
    view = channel_view(CHANNELS[name](points, epsilon))
    for n, (index, (shape, truth)) in itertools.product(SIZES, enumerate(truths(points).items())):
        if n * view.forward(truth).min() < THIN:
            continue
        low, high = cumulative_limits(view, surveys(view, truth, n, 10_000, 99 + index), 0.95)
        running = np.cumsum(truth)
        inside = ((low <= running + 1e-9) & (running - 1e-9 <= high)).mean(axis=0)[:-1]
        COVERED.setdefault("cumulative shares, 10,000 surveys", []).extend(inside.tolist())
        assert inside.min() >= LOW, (name, points, epsilon, n, shape, inside.min())
        assert inside.max() <= HIGH, (name, points, epsilon, n, shape, inside.max())


def test_many_surveys_at_once_are_what_one_is() -> None:
    """The arrays above and the public functions give the same limits."""
    for name, points, epsilon, n in (
        ("kary", 5, 4.0, 200),
        ("kary", 7, 1.0, 500),
        ("thresholds", 5, 2.0, 200),
    ):
        channel = CHANNELS[name](points, epsilon)
        view = channel_view(channel)
        values = np.arange(1.0, points + 1)
        counts = surveys(view, truths(points)["skewed"], n, 4, 5)
        means = limits_of(view, counts, view.solution(values), 0.95)
        low, high = cumulative_limits(view, counts, 0.95)
        for index, row in enumerate(counts.astype(int)):
            average, all_ = mean(row, channel, values), cumulative(row, channel)
            assert (average.low, average.high) == pytest.approx((means[0][index], means[1][index]), abs=1e-9)
            # A table of cumulative shares has one method, exact where any of them needs it: Wilson's is close to that.
            assert low[index] == pytest.approx([entry.low for entry in all_.estimates], abs=0.01)
            assert high[index] == pytest.approx([entry.high for entry in all_.estimates], abs=0.01)
            band = cumulative_limits(view, counts[index : index + 1], level_of(all_.critical), together=True)
            assert [entry.low for entry in all_.band] == pytest.approx(band[0][0].tolist(), abs=1e-9)
            assert [entry.high for entry in all_.band] == pytest.approx(band[1][0].tolist(), abs=1e-9)
            median = quantiles(row, channel).median
            first, last = crossings(low[index], high[index], 0.5)
            assert (median.low <= first + 1) & (last + 1 <= median.high)


def check_bands(
    name: str, points: int, epsilon: float, n: int, repetitions: int, shapes: tuple[str, ...] = SHAPES
) -> None:
    """All cumulative shares within the band, whose width is here that of the truth's own covariance."""
    view = channel_view(CHANNELS[name](points, epsilon))
    targets = np.tril(np.ones((points, points)))[:-1]
    for shape in shapes:
        truth, seed = truths(points)[shape], SHAPES.index(shape)
        sample = CountedSample(view, np.ones(view.outcomes, dtype=np.int64))
        vars(sample)["likeliest"] = truth
        level = level_of(critical_value(sample.covariance(targets), 0.95))
        counts = surveys(view, truth, n, repetitions, seed)
        low, high = cumulative_limits(view, counts, level, together=True)
        running = np.cumsum(truth)
        inside = np.all((low <= running + 1e-9) & (running - 1e-9 <= high), axis=1).mean()
        at_least(float(inside), repetitions, (name, points, epsilon, n, shape), "bands")


@pytest.mark.parametrize("name", CHANNELS)
def test_bands_cover(name: str) -> None:
    check_bands(name, 5, 4.0, 200, 1000)


@pytest.mark.long
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("points", [5, 11, 20])
@pytest.mark.parametrize("name", CHANNELS)
def test_bands_cover_everywhere(name: str, points: int, epsilon: float, n: int, shape: str) -> None:
    check_bands(name, points, epsilon, n, 4000, (shape,))


def designs(epsilon: float) -> dict[str, tuple[Channel, list[Floats]]]:
    """Channels of seven points and what each can estimate: shares, cumulative shares and mean, or the mean."""
    points = 7
    ordered = [*np.eye(points), *np.tril(np.ones((points, points)))[:-1], np.linspace(-1, 1, points)]
    only_mean = [np.linspace(-1, 1, points)]
    return {
        name: (make(points, epsilon), ordered if name in CHANNELS else only_mean)
        for name, make in FOR_MEANS.items()
    }


def check_errors(epsilon: float, repetitions: int) -> None:
    """Mean squared error over theory: (sum_x h_x sum_z C[x, z] b_z^2 - (a.h)^2) / n, and no bias."""
    n = 1000
    for name, (channel, targets) in designs(epsilon).items():
        view = channel_view(channel)
        for seed, (shape, truth) in enumerate(truths(view.options).items()):
            frequencies = surveys(view, truth, n, repetitions, seed) / n
            for target in targets:
                weights = view.solution(target)
                theory = float(truth @ view.backward(weights**2) - (target @ truth) ** 2) / n
                error = frequencies @ weights - target @ truth
                ratio = float(np.mean(error**2)) / theory
                slack = 0.05 + 4 * math.sqrt(2 / repetitions)
                assert abs(ratio - 1) <= (0.05 if repetitions >= 20_000 else slack), (
                    name,
                    epsilon,
                    shape,
                    ratio,
                )
                assert abs(error.mean()) <= 4.5 * math.sqrt(theory / repetitions), (name, epsilon, shape)


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_errors_are_as_the_theory_says(epsilon: float) -> None:
    check_errors(epsilon, 4000)


@pytest.mark.long
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_errors_are_as_the_theory_says_everywhere(epsilon: float) -> None:
    check_errors(epsilon, 20_000)


def test_random_rounding_is_part_of_the_error() -> None:
    """The mean of numbers 0..80, rounded at random to 21 points, is unbiased, and its error holds the rounding."""
    numbers = np.array([1, 2, 3, 30, 31, 33, 50, 79])
    points = np.arange(0, 81, 4.0)
    # The truth of the rows: each number goes to the point below or above, in proportion.
    truth = np.mean(
        [np.interp(points, [v // 4 * 4, v // 4 * 4 + 4], [1 - v % 4 / 4, v % 4 / 4], 0, 0) for v in numbers],
        axis=0,
    )
    assert truth.sum() == pytest.approx(1)
    assert points @ truth == pytest.approx(numbers.mean())
    view = channel_view(one_bit(21, 4.0))
    counts = surveys(view, truth, 500, 4000, 3)
    weights = view.solution(points)
    error = counts / 500 @ weights - numbers.mean()
    theory = float(truth @ view.backward(weights**2) - numbers.mean() ** 2) / 500
    assert np.mean(error**2) / theory == pytest.approx(1, abs=0.1)
    low, high = limits_of(view, counts, weights, 0.95)
    inside = float(np.mean((low <= numbers.mean()) & (numbers.mean() <= high)))
    check(inside, view, truth, 500, 4000, "rounded", "means")


def two_humps(at: Floats) -> Floats:
    mixture = 0.5 * norm.cdf(at, 0.25, 0.08) + 0.5 * norm.cdf(at, 0.7, 0.1)
    ends = 0.5 * norm.cdf([0.0, 1.0], 0.25, 0.08) + 0.5 * norm.cdf([0.0, 1.0], 0.7, 0.1)
    return np.asarray((mixture - ends[0]) / (ends[1] - ends[0]), dtype=np.float64)


def distance(epsilon: float, repetitions: int) -> float:
    """Wasserstein-1 between the estimated curve of 20 bins and the truth, n = 10,000, mean over three densities."""
    n, edges, fine = 10_000, np.linspace(0, 1, 21), np.linspace(0, 1, 2001)
    view = channel_view(cumulative_design(20, epsilon))
    weights = np.stack([view.solution(target) for target in np.tril(np.ones((20, 20)))[:-1]])
    distances = []
    for seed, truth in enumerate((beta(5, 2).cdf, beta(1.2, 8).cdf, two_humps)):
        for frequencies in surveys(view, np.diff(truth(edges)), n, repetitions, seed) / n:
            raw = weights @ frequencies
            curve = rising_curve(raw, np.sqrt((weights**2 @ frequencies - raw**2) / (n - 1)))
            between = np.interp(fine, edges, np.concatenate([[0.0], curve]))
            distances.append(np.trapezoid(np.abs(between - truth(fine)), fine))
    return float(np.mean(distances))


LARGEST = {0.5: 0.028, 1.0: 0.0155, 2.0: 0.0078, 4.0: 0.0047}


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_estimated_distribution_is_near(epsilon: float) -> None:
    assert distance(epsilon, 60) <= LARGEST[epsilon]


@pytest.mark.long
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_estimated_distribution_is_near_by_many_surveys(epsilon: float) -> None:
    assert distance(epsilon, 2000) <= LARGEST[epsilon]


def top_coverage(options: int, epsilon: float, n: int, truth: Floats, repetitions: int) -> float:
    """How often all of the ten largest of a long list hold their true shares."""
    mechanism = mechanisms.subset(options, epsilon)
    report_sampler = sampler(mechanism.device)
    rng, held = np.random.default_rng(7), 0
    for repetition in range(repetitions):
        source = np.random.default_rng([options, repetition]).bytes
        counts = report_sampler.tally(report_sampler.draw(rng.choice(options, size=n, p=truth), source))
        names = np.argsort(-counts[1::2], kind="stable")[:10]
        for option in names:
            limits = top_limits(report_sampler.parts[0].channel, counts[2 * option : 2 * option + 2], options)
            if not limits.low <= truth[option] <= limits.high:
                break
        else:
            held += 1
    return held / repetitions


def top_limits(channel: Channel, counts: Floats, options: int) -> Interval:
    view = channel_view(channel)
    return listed_interval(CountedSample(view, counts).quantity([0.0, 1.0]), options, 10, 0.95)


def check_top(options: int, epsilon: float, n: int, repetitions: int) -> None:
    falling = 1 / np.arange(1, options + 1)
    shapes = {
        "uniform": np.full(options, 1 / options),
        "skewed": falling / falling.sum(),
        "two": np.repeat([0.5, 0.0], [2, options - 2]),
        "one": np.eye(options)[0],
    }
    for shape, truth in shapes.items():
        coverage = top_coverage(options, epsilon, n, truth, repetitions)
        at_least(coverage, repetitions, (options, epsilon, n, shape), f"top ten of {options}")


def test_the_largest_of_a_long_list_hold_together() -> None:
    check_top(40, 2.0, 200, 60)


@pytest.mark.long
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("options", [40, 200, 1000])
def test_the_largest_of_a_long_list_hold_together_everywhere(options: int, epsilon: float, n: int) -> None:
    check_top(options, epsilon, n, 400 if n < 5000 else 100)
