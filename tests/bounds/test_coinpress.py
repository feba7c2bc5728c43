"""Bounds of Biswas, Dong, Kamath and Ullman (2020) hold with their probability, and are tight where they should be.

As in `test_revisited`: each simulation asks whether a bound fails more often than beta, by a binomial test that rejects
correct code with probability 1e-6 at most. Slack, the bound over the quantile 1 − beta of what was observed, is asserted as
seen, rounded up; where it is at most 1.05, 0.95 times the bound must fail. What is loose is pinned by exact values instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from scipy import linalg, stats
from threadpoolctl import threadpool_limits

from dpcov import bounds
from dpcov.errors import ParameterError
from tests.bounds.test_revisited import BETA, DRAWS, Floats, check, fails, matrices


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    with threadpool_limits(limits=1):
        yield


@pytest.mark.parametrize("beta", [0.9, 0.5, 0.05, 1e-9])
@pytest.mark.parametrize("d", [1, 2, 10, 1000])
def test_norms_of_normal_vectors_exactly(d: int, beta: float) -> None:
    """By the quantiles of χ, to 5 % where there are many coordinates, and as printed by Laurent and Massart."""
    bound = bounds.gaussian_norm(d, beta)
    assert stats.chi.sf(bound, d) <= beta
    if d == 1000 and beta > 1e-9:
        assert stats.chi.sf(0.95 * bound, d) > beta
    assert bound**2 == pytest.approx(d + 2 * math.sqrt(-d * math.log(beta)) - 2 * math.log(beta))


def means(n: int, d: int, deviation: float, rng: np.random.Generator) -> Floats:
    """Return the errors of noisy means of standard normal rows."""
    sums = np.zeros((DRAWS, d))
    for _ in range(n):
        sums += rng.standard_normal((DRAWS, d))
    return np.asarray(np.linalg.norm(sums / n + deviation * rng.standard_normal((DRAWS, d)), axis=1))


@pytest.mark.parametrize(("n", "deviation"), [(10, 0.0), (10, 1.0), (40, 0.16)], ids=["sampling", "noise", "both"])
@pytest.mark.parametrize(("d", "slack"), [(1, 1.7), (5, 1.35), (1000, 1.04)])
def test_means(n: int, deviation: float, d: int, slack: float) -> None:
    """Sampling alone, noise alone, and as much of either: none of the two terms may be missing, or 10 % smaller."""
    observed = means(n, d, deviation, np.random.default_rng(11))
    check(observed, bounds.mean_radius(n, d, deviation, BETA), slack)
    exact = bounds.gaussian_norm(d, BETA) * math.sqrt(1 / n + deviation**2)
    assert bounds.mean_radius(n, d, deviation, BETA) == pytest.approx(exact)


def test_a_mean_of_nothing_is_bounded_by_nothing() -> None:
    assert bounds.mean_radius(2**50, 3, 0.0, BETA) < 1e-6
    assert bounds.mean_radius(7, 3, 1e9, BETA) == pytest.approx(1e9 * bounds.gaussian_norm(3, BETA))


@pytest.mark.parametrize(("n", "d", "slack"), [(20, 1, 2.8), (50, 5, 1.9), (400, 20, 1.65), (400, 100, 1.35)])
def test_samples(n: int, d: int, slack: float) -> None:
    """Both the largest and the smallest singular value of normal rows, by drawing them."""
    rng, draws = np.random.default_rng(12), DRAWS if n * d < 1000 else 300
    values = np.array([np.linalg.svd(rng.standard_normal((n, d)), compute_uv=False)[[0, -1]] for _ in range(draws)])
    observed = np.maximum(values[:, 0] / math.sqrt(n) - 1, 1 - values[:, 1] / math.sqrt(n))
    check(np.asarray(observed), bounds.sampling_gap(n, d, BETA), slack)


def test_samples_to_five_percent() -> None:
    """Many columns, by the bidiagonal form of normal rows (Silverstein 1985): each side alone reaches 0.95 of the gap."""
    n, d, rng = 40_000, 10_000, np.random.default_rng(13)
    above: list[float] = []
    below: list[float] = []
    for _ in range(60):
        diagonal, beside = rng.chisquare(np.arange(n, n - d, -1)), rng.chisquare(np.arange(d - 1, 0, -1))
        squares = diagonal + np.concatenate([[0.0], beside])
        products = np.sqrt(diagonal[:-1] * beside)
        for kept, place in ((above, d - 1), (below, 0)):
            kept.append(linalg.eigvalsh_tridiagonal(squares, products, select="i", select_range=(place, place))[0] / n)
    bound = bounds.sampling_gap(n, d, BETA)
    check(np.sqrt(above) - 1, bound, 1.04)
    check(1 - np.sqrt(below), bound, 1.04)
    assert bound == pytest.approx(0.5 + math.sqrt(2 * math.log(40) / n))


def margins(n: int, d: int, deviation: float, beta: float) -> Floats:
    """Return by how much each half of the sandwich holds, in coordinates in which Σ is 1: that loses nothing."""
    rng = np.random.default_rng(14)
    hidden, low, high = bounds.covariance_bounds(n, d, deviation, beta)
    noise = deviation * matrices(d, DRAWS, rng, "isometric")
    margin = []
    for draw in range(DRAWS):
        rows = rng.standard_normal((n, d))
        values = np.linalg.eigvalsh(rows.T @ rows / n + noise[draw])
        margin.append((1 - (values[-1] - hidden) / high, (values[0] + hidden) / low - 1))
    return np.asarray(margin)


@pytest.mark.parametrize(("n", "d", "deviation"), [(100, 1, 0.05), (100, 3, 0.3), (300, 10, 0.02), (2000, 10, 1.0)])
def test_covariances(n: int, d: int, deviation: float) -> None:
    """Inner ⪯ Σ ⪯ outer but for 2·beta. Two bounds are added up, which is loose: exact values pin what they are made of."""
    both = margins(n, d, deviation, BETA).min(axis=1)
    assert not fails(-both, 0.0, 2 * BETA)
    hidden, low, high = bounds.covariance_bounds(n, d, deviation, BETA)
    gap = bounds.sampling_gap(n, d, BETA)
    assert hidden == pytest.approx(deviation * bounds.isometric_operator_norm(d, BETA))
    assert (low, high) == pytest.approx(((1 - gap) ** 2, (1 + gap) ** 2))


def test_both_halves_of_a_covariance_are_needed() -> None:
    """Where noise is all there is, the bound on it is reached to within 1.45, and a third less fails on both sides."""
    n, d, deviation = 2**40, 30, 0.01
    hidden, low, high = bounds.covariance_bounds(n, d, deviation, BETA)
    assert high - low < 1e-4
    noise = np.linalg.eigvalsh(deviation * matrices(d, DRAWS, np.random.default_rng(15), "isometric"))
    check(np.abs(noise[:, [0, -1]]).max(axis=1), hidden, 1.45)
    for side in (noise[:, -1], -noise[:, 0]):
        assert fails(np.asarray(side, np.float64), 0.66 * hidden, BETA)


@pytest.mark.parametrize(("n", "d"), [(1, 1), (5, 5), (10, 100)])
def test_too_few_rows_bound_from_one_side_only(n: int, d: int) -> None:
    assert bounds.sampling_gap(n, d, BETA) >= 1
    _, low, high = bounds.covariance_bounds(n, d, 0.1, BETA)
    assert low == 0
    assert high == pytest.approx((1 + bounds.sampling_gap(n, d, BETA)) ** 2)


@pytest.mark.parametrize("events", [2, 3])
@pytest.mark.parametrize("rounds", [1, 2, 3, 10])
def test_all_rounds_together_fail_with_beta(rounds: int, events: int) -> None:
    """Half of it before the last round and half in it; a single round uses half of what it may."""
    parts = [bounds.round_beta(BETA, number, rounds, events) for number in range(1, rounds + 1)]
    assert events * sum(parts) == pytest.approx(BETA if rounds > 1 else BETA / 2)
    assert events * parts[-1] == pytest.approx(BETA / 2)
    assert len(set(parts[:-1])) <= 1


def test_more_rows_or_larger_beta_never_loosen() -> None:
    for less, more in ((0.01, 0.02), (0.2, 0.9)):
        assert bounds.gaussian_norm(7, less) > bounds.gaussian_norm(7, more)
        assert bounds.sampling_gap(100, 7, less) > bounds.sampling_gap(100, 7, more)
    assert bounds.sampling_gap(100, 7, BETA) == pytest.approx(10 * bounds.sampling_gap(10_000, 7, BETA))
    assert bounds.mean_radius(10, 7, 0.0, BETA) == pytest.approx(10 * bounds.mean_radius(1000, 7, 0.0, BETA))


@pytest.mark.parametrize(
    "call",
    [
        lambda: bounds.gaussian_norm(0, 0.1),
        lambda: bounds.gaussian_norm(2.5, 0.1),  # type: ignore[arg-type]
        lambda: bounds.gaussian_norm(2, 0.0),
        lambda: bounds.gaussian_norm(2, 1.0),
        lambda: bounds.gaussian_norm(2, math.nan),
        lambda: bounds.mean_radius(0, 2, 0.1, 0.1),
        lambda: bounds.mean_radius(5, -1, 0.1, 0.1),
        lambda: bounds.sampling_gap(0, 2, 0.1),
        lambda: bounds.sampling_gap(5, 0, 0.1),
        lambda: bounds.sampling_gap(5, 2, 1.5),
        lambda: bounds.covariance_bounds(0, 2, 0.1, 0.1),
        lambda: bounds.covariance_bounds(5, 2, 0.1, 0.0),
        lambda: bounds.round_beta(0.0, 1, 2, 3),
    ],
)
def test_refusals(call: Callable[[], object]) -> None:
    with pytest.raises(ParameterError, match=r"^\w+ must be .*, got .*\. Hint: .*\.$"):
        call()
