"""The bounds of Chaudhuri, Sarwate and Sinha: the promised correlations hold, lower bounds stay below upper ones.

Statistical tests accuse correct code with probability 1e-6; most of this is exact, by quadrature or by mpmath.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import integrate, stats

import dpcov
from dpcov import ApproxDP, bounds
from dpcov.errors import ParameterError
from tests.kernel.distribution.test_sphere import accepted

SIZE = 1e-6


class TestTheorem7:
    """Enough rows for `ppca`, k = 1."""

    @pytest.mark.parametrize("d", [1, 2, 3, 10, 100])
    @pytest.mark.parametrize("gap", [0.01, 0.3, 1.0])
    @pytest.mark.parametrize("correlation", [0.1, 0.9, 0.999])
    def test_the_last_line_of_its_proof(self, d: int, gap: float, correlation: float) -> None:
        """nε/4·(1 − ρ²)Δ = log(1/η) + (d − 1)/2·log(8λ₁/((1 − ρ²)Δ)); the printed statement asks for more rows."""
        for epsilon, beta, largest in ((0.1, 0.05, 1.0), (2.0, 1e-6, max(gap, 0.5))):
            n = bounds.ppca_rows(d, gap, epsilon, correlation, largest=largest, beta=beta)
            with mpmath.workdps(30):
                miss = 1 - mpmath.mpf(correlation) ** 2
                right = mpmath.log(1 / mpmath.mpf(beta)) + mpmath.mpf(d - 1) / 2 * mpmath.log(8 * largest / (miss * gap))
                assert float(n * epsilon / 4 * miss * gap / right) == pytest.approx(1, rel=1e-12)
            paper = bounds.ppca_rows(d, gap, epsilon, correlation, largest=largest, beta=beta, constants="paper")
            log = math.log(8 * largest / ((1 - correlation**2) * gap))
            printed = d / (epsilon * gap * (1 - correlation)) * (4 * math.log(1 / beta) / d + 2 * log)
            assert paper == pytest.approx(printed, rel=1e-12)
            assert n <= paper

    @pytest.mark.parametrize("d", [3, 10, 50])
    @pytest.mark.parametrize("correlation", [0.5, 0.9, 0.99])
    @pytest.mark.parametrize("beta", [0.3, 1e-4])
    def test_the_correlation_holds_by_quadrature(self, d: int, correlation: float, beta: float) -> None:
        """For one spike, λ₁ = Δ, the squared correlation has density ∝ exp(κu²)(1 − u²)^{(d−3)/2}, κ = nεΔ/2; no luck in it."""
        kappa = bounds.ppca_rows(d, 0.5, 1.0, correlation, largest=0.5, beta=beta) * 0.25

        def density(angle: float) -> float:
            return float(math.exp(-kappa * math.sin(angle) ** 2) * math.sin(angle) ** (d - 2))

        cut = math.acos(correlation)
        width = math.asin(math.sqrt(min(1.0, d / kappa)))
        points = sorted({0.0, min(width, math.pi / 2), min(4 * width, math.pi / 2), cut, math.pi / 2})
        masses = [(start, integrate.quad(density, start, end, epsabs=0)[0]) for start, end in pairwise(points)]
        missed = sum(mass for start, mass in masses if start >= cut) / sum(mass for _, mass in masses)
        assert missed <= beta

    @pytest.mark.parametrize(("d", "second"), [(2, 0.2), (3, 0.3), (5, 0.1)])
    def test_the_correlation_holds_in_draws(self, d: int, second: float) -> None:
        """Size 1e-6, and the bound is of use: with a tenth of the rows the promise fails, beyond doubt."""
        correlation, beta, epsilon = 0.8, 0.1, 1.0
        spectrum = np.array([0.5, *[second] * (d - 1)])
        enough = bounds.ppca_rows(d, 0.5 - second, epsilon, correlation, largest=0.5, beta=beta)
        for part in (1.0, 0.1):
            found = np.abs(accepted(enough * part * np.diag(spectrum), epsilon / 2, 20_000, 5200 + d)[:, 0])
            fails = int(np.sum(found <= correlation))
            refuted = stats.binomtest(fails, len(found), beta, alternative="greater").pvalue < SIZE
            assert refuted == (part < 1)


class TestTheorem8:
    """Rows that any algorithm needs."""

    @pytest.mark.parametrize("d", [3, 4, 7, 20, 100, 600])
    def test_the_packing_holds_exp_d_directions(self, d: int) -> None:
        """Lemma 11 on the sphere of R^{d−1}: (1/8)(1 − φ²)^{−(d−2)/2} = 1 + e^d. The proof misprints 1 − φ² as 1 − φ."""
        with mpmath.workdps(40):
            miss = mpmath.exp(-2 * (mpmath.log(8) + mpmath.log(1 + mpmath.exp(d))) / (d - 2))  # 1 − φ²
            phi = mpmath.sqrt(1 - miss)
            assert float(mpmath.mpf(1) / 8 * (1 - phi**2) ** (-mpmath.mpf(d - 2) / 2) / (1 + mpmath.exp(d))) == pytest.approx(1)
            assert phi >= 1 / mpmath.sqrt(2 * mpmath.pi * (d - 1))
            scope = bounds.least_rows_scope(d)
            assert 1 - scope == pytest.approx(float((1 - phi) / 16), rel=1e-9)
            assert scope > 1 - float(miss) / 16  # what the misprint would allow
            correlation = 1 - float(1 - phi) / 2000
            value = bounds.least_rows(d, 0.25, 0.5, correlation)
            expected = d / 0.125 * max(1.0, math.sqrt(float(1 - phi) / (80 * (1 - correlation))))
            assert value == pytest.approx(expected, rel=1e-6)
            assert value > d / 0.125

    @pytest.mark.parametrize("d", [3, 4, 7, 20, 100, 600])
    def test_as_printed(self, d: int) -> None:
        """1 − φ = exp(−2(log 8 + log(1 + e^d))/(d − 2)): larger than the lemma's, and with it the bound and its scope."""
        with mpmath.workdps(40):
            printed = float(mpmath.exp(-2 * (mpmath.log(8) + mpmath.log(1 + mpmath.exp(d))) / (d - 2)))
        assert bounds.packing_gap(d, constants="paper") == pytest.approx(printed, rel=1e-12)
        assert bounds.packing_gap(d) < printed
        assert bounds.least_rows_scope(d, constants="paper") == pytest.approx(1 - printed / 16, rel=1e-15)
        correlation = 1 - bounds.packing_gap(d) / 2000
        expected = d / 0.125 * max(1.0, math.sqrt(printed / (80 * (1 - correlation))))
        assert bounds.least_rows(d, 0.25, 0.5, correlation, constants="paper") == pytest.approx(expected, rel=1e-9)
        assert (
            bounds.least_rows(d, 0.25, 2.0 * d, correlation, constants="paper")
            > 0
            == bounds.least_rows(d, 0.25, 2.0 * d, correlation)
        )

    def test_the_numbers_of_the_text(self) -> None:
        """d = 100: above .12 in the paper, .064 by the lemma; d = 3: 3.5e-5."""
        assert bounds.packing_gap(100, constants="paper") == pytest.approx(0.1246, abs=1e-4)
        assert bounds.packing_gap(100) == pytest.approx(0.0644, abs=1e-4)
        assert bounds.packing_gap(3, constants="paper") == pytest.approx(3.5e-5, rel=0.02)
        for bad in (2, 0):
            with pytest.raises(ParameterError, match="d must be"):
                bounds.packing_gap(bad)
        with pytest.raises(ParameterError, match="constants must be"):
            bounds.least_rows_scope(5, constants="printed")

    def test_scope(self) -> None:
        for d in (3, 10, 50):
            scope = bounds.least_rows_scope(d)
            assert bounds.least_rows(d, 0.5, 1.0, scope) == pytest.approx(2 * d)
            assert bounds.least_rows(d, 0.5, 1.0, math.nextafter(scope, 0.0)) == 0
            assert bounds.least_rows(d, 0.51, 1.0, 1 - 1e-9) == 0
        for d in (1, 2):
            assert bounds.least_rows_scope(d) == 1.0
            assert bounds.least_rows(d, 0.1, 1.0, 1 - 1e-12) == 0

    def test_monotone(self) -> None:
        """More columns, a smaller gap, less ε and more correlation need more rows."""

        def need(d: int = 10, gap: float = 0.2, epsilon: float = 1.0, correlation: float = 1 - 1e-5) -> float:
            return bounds.least_rows(d, gap, epsilon, correlation)

        runs: list[list[float]] = [
            [need(d=d) for d in (3, 5, 10, 100, 1000)],
            [need(gap=gap) for gap in (0.5, 0.3, 0.1, 1e-4)],
            [need(epsilon=epsilon) for epsilon in (10.0, 1.0, 0.1, 1e-6)],
            [need(correlation=1 - miss) for miss in (1e-4, 1e-6, 1e-8, 1e-12)],
        ]
        for run in runs:
            assert all(a < b for a, b in pairwise(run)) or run is runs[0]
            assert run == sorted(run)

    def test_below_what_is_enough(self) -> None:
        """No lower bound exceeds an upper one; correlation here is expected, and ρ with probability 1 − β is worth ρ(1 − β)."""
        for d in (3, 10, 100):
            for gap in (0.5, 0.05):
                for miss in (1e-3, 1e-6):
                    correlation = 1 - miss
                    if correlation < bounds.least_rows_scope(d):
                        continue
                    enough = bounds.ppca_rows(d, gap, 1.0, 1 - miss / 2, beta=miss / 2)
                    assert bounds.least_rows(d, gap, 1.0, correlation) < enough


def theorem15(n: int, d: int, epsilon: float, delta: float, phi: float) -> float:
    """Equation (21) at one φ of (22), at 30 digits; 1 for others."""
    with mpmath.workdps(30):
        beta = mpmath.mpf(d + 1) / (n * epsilon) * mpmath.sqrt(
            2 * mpmath.log((d**2 + d) / (delta * 2 * mpmath.sqrt(2 * mpmath.pi)))
        ) + 1 / (n * mpmath.sqrt(mpmath.mpf(epsilon)))
        least = max(
            1 / mpmath.sqrt(2 * mpmath.pi * d),
            mpmath.sqrt(1 - mpmath.exp(-2 * mpmath.log(8 * d) / (d - 1))),
            mpmath.sqrt(1 - mpmath.exp(-(2 / beta**2 + mpmath.log(256)) / (d - 1))),
        )
        if not least <= phi < 1:
            return 1.0
        inner = (1 / beta**2 + mpmath.log(2)) / (
            (d - 1) * mpmath.log(1 / mpmath.sqrt(1 - mpmath.mpf(phi) ** 2)) - mpmath.log(8)
        )
        return float(1 - (1 - phi) / 4 * (1 - inner) ** 2)


class TestTheorem15:
    """What `mod-sulq` cannot do."""

    @pytest.mark.parametrize(
        ("n", "d", "epsilon", "delta"), [(100, 50, 0.1, 0.01), (2000, 50, 0.1, 0.01), (30, 10, 2.0, 0.01), (5, 3, 0.5, 1e-6)]
    )
    def test_against_the_paper_at_every_phi(self, n: int, d: int, epsilon: float, delta: float) -> None:
        """It is the least of the paper's values on a grid of ours, but for how fine the two grids are."""
        found = bounds.mod_sulq_correlation(n, d, epsilon, delta)
        paper = min(theorem15(n, d, epsilon, delta, float(phi)) for phi in 1 - np.geomspace(1e-3, 1.0, 1200))
        assert found < 1
        assert 1 - found == pytest.approx(1 - paper, rel=1e-3)

    @pytest.mark.parametrize(("d", "epsilon"), [(2, 1.0), (10, 0.1), (50, 2.0), (500, 0.1)])
    def test_it_grows_with_n_to_one(self, d: int, epsilon: float) -> None:
        sizes = [1, 3, 10, 100, 10**3, 10**4, 10**5, 10**7, 10**12, 2**53]
        found = [bounds.mod_sulq_correlation(n, d, epsilon, 0.01) for n in sizes]
        assert all(a <= b + 1e-9 for a, b in pairwise(found))
        assert 0.75 <= found[0] <= found[-1] == 1.0

    def test_one_column(self) -> None:
        assert bounds.mod_sulq_correlation(10, 1, 1.0, 0.01) == 1.0
        assert bounds.mod_sulq_rows(1, 1.0, 0.01, 0.9) == 1.0

    @pytest.mark.parametrize("d", [20, 50, 300])
    @pytest.mark.parametrize("epsilon", [0.05, 1.0])
    def test_rows_invert_it(self, d: int, epsilon: float) -> None:
        for correlation in (0.95, 0.99, 0.9999):
            rows = bounds.mod_sulq_rows(d, epsilon, 0.01, correlation)
            assert rows == int(rows)
            assert bounds.mod_sulq_correlation(int(rows), d, epsilon, 0.01) >= correlation
            if rows > 1:
                assert bounds.mod_sulq_correlation(int(rows) - 1, d, epsilon, 0.01) < correlation
        assert bounds.mod_sulq_rows(d, epsilon, 0.01, 0.95) <= bounds.mod_sulq_rows(d, epsilon, 0.01, 0.9999)

    @pytest.mark.parametrize(("d", "n", "epsilon"), [(20, 300, 0.5), (30, 100, 2.0)])
    def test_releases_stay_below_it(self, d: int, n: int, epsilon: float) -> None:
        """n copies of one vector, as in the proof. The correlation is 0.5 or less, ten errors of the mean below the bound."""
        vector = np.ones(d) / math.sqrt(d)
        rows, budget = np.tile(vector, (n, 1)), ApproxDP(str(epsilon), "0.01")
        releases = [dpcov.pca(rows, budget, 1, row_norm=1, mechanism="mod-sulq", seed=seed) for seed in range(25)]
        found = [abs(release.components[0] @ vector) for release in releases]
        bound = bounds.mod_sulq_correlation(n, d, epsilon, 0.01)
        assert bound < 0.999
        assert float(np.mean(found)) <= bound
        assert float(np.mean(found)) < 0.6

    def test_noise_that_is_almost_none_is_no_obstacle(self) -> None:
        """Many rows: the release finds the vector, and the bound says 1."""
        vector = np.ones(4) / 2
        release = dpcov.pca(np.tile(vector, (4000, 1)), ApproxDP(2, "0.01"), 1, row_norm=1, mechanism="mod-sulq", seed=0)
        assert abs(release.components[0] @ vector) > 0.999
        assert bounds.mod_sulq_correlation(4000, 4, 2.0, 0.01) == 1.0


REFUSED: dict[str, Callable[[], Any]] = {
    "no columns": lambda: bounds.ppca_rows(0, 0.1, 1.0, 0.9),
    "half a column": lambda: bounds.ppca_rows(2.5, 0.1, 1.0, 0.9),  # type: ignore[arg-type]
    "true columns": lambda: bounds.least_rows(True, 0.1, 1.0, 0.9),
    "no gap": lambda: bounds.ppca_rows(3, 0.0, 1.0, 0.9),
    "a gap beyond the largest": lambda: bounds.ppca_rows(3, 0.6, 1.0, 0.9, largest=0.5),
    "a gap beyond 1": lambda: bounds.least_rows(3, 1.1, 1.0, 0.9),
    "largest beyond 1": lambda: bounds.ppca_rows(3, 0.6, 1.0, 0.9, largest=1.5),
    "no epsilon": lambda: bounds.ppca_rows(3, 0.1, 0.0, 0.9),
    "endless epsilon": lambda: bounds.least_rows(3, 0.1, math.inf, 0.9),
    "epsilon that is none": lambda: bounds.mod_sulq_beta(3, 3, math.nan, 0.1),
    "correlation 0": lambda: bounds.ppca_rows(3, 0.1, 1.0, 0.0),
    "correlation 1": lambda: bounds.least_rows(3, 0.1, 1.0, 1.0),
    "correlation of 2": lambda: bounds.mod_sulq_rows(3, 0.1, 0.1, 2.0),
    "beta 0": lambda: bounds.ppca_rows(3, 0.1, 1.0, 0.9, beta=0.0),
    "beta 1": lambda: bounds.ppca_rows(3, 0.1, 1.0, 0.9, beta=1.0),
    "loose constants": lambda: bounds.ppca_rows(3, 0.1, 1.0, 0.9, constants="loose"),
    "no rows": lambda: bounds.mod_sulq_beta(0, 3, 1.0, 0.1),
    "delta 0": lambda: bounds.mod_sulq_beta(3, 3, 1.0, 0.0),
    "delta beyond its range": lambda: bounds.mod_sulq_beta(3, 1, 1.0, 0.4),
    "a text": lambda: bounds.mod_sulq_correlation(3, 3, "1", 0.1),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case: str) -> None:
    with pytest.raises(ParameterError, match=r" must .+, got .+\. Hint: .+\."):
        REFUSED[case]()


EXTREME: dict[str, Callable[[], float]] = {
    "a chance of 1e-300": lambda: bounds.ppca_rows(3, 1e-9, 1e-9, 0.9, beta=1e-300),
    "many columns": lambda: bounds.ppca_rows(2**53, 1e-9, 1e-9, 0.9),
    "all but all correlation": lambda: bounds.least_rows(3, 1e-9, 1e-9, 1 - 2.0**-53),
    "a huge epsilon": lambda: bounds.mod_sulq_beta(2**53, 2**20, 1e300, 1e-300),
    "rows at all but all correlation": lambda: bounds.mod_sulq_rows(10, 0.01, 1e-6, 1 - 2.0**-53),
    "the smallest gap": lambda: bounds.ppca_rows(3, 5e-324, 5e-324, 0.9),
    "the smallest gap for any": lambda: bounds.least_rows(10, 5e-324, 1e-300, 1 - 1e-9),
    "a tiny epsilon": lambda: bounds.mod_sulq_correlation(10, 5, 1e-200, 1e-6),
    "no noise": lambda: bounds.mod_sulq_correlation(2**53, 5, 1e308, 1e-6),
}


@pytest.mark.parametrize("case", EXTREME)
def test_extremes_are_numbers(case: str) -> None:
    """What passes the checks has an answer, if need be infinity: no arithmetic error, no warning."""
    assert EXTREME[case]() > 0
