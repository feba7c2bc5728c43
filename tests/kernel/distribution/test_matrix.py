"""The two matrix noises: their laws, the lattice they end on, and the price of rounding.

Size: each statistical test rejects correct code with probability 1e-6. Power: the controls beside them feed a wrong law
(d degrees of freedom, one Wishart only, another radius, a scale 5 % off) to the same test, and it is rejected.

With s the scale, every entry and the trace of A − B are differences of two Gamma numbers. An entry above the diagonal is a
sum of 2(d+1) products of two normals, each with characteristic function (1 + s²t²)^{−1/2}: in all (1 + s²t²)^{−(d+1)}, that of
s·(Γ − Γ′) of shape d+1. A diagonal entry is 2s·(Γ − Γ′) of shape (d+1)/2, the trace 2s·(Γ − Γ′) of shape d(d+1)/2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, stats

from dpcov.errors import ParameterError
from dpcov.kernel.bits import SeededBits
from dpcov.kernel.budget import PureDP
from dpcov.kernel.noise.matrix import SPARE, TAIL, FrobeniusNoise, WishartDifference, _wishart_terms, covers
from dpcov.kernel.noise.normal import RELATIVE_ERROR
from dpcov.kernel.questions.calibrated import calibrated
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.rows.grid import Grid
from dpcov.linalg import pack, triangle_size, unpack
from dpcov.mechanisms.base import Mechanism
from dpcov.mechanisms.covariance.frobenius import FROBENIUS
from dpcov.mechanisms.covariance.wishart import WISHART
from dpcov.mechanisms.running import released
from dpcov.sources.array import ArraySource
from dpcov.verify.testing import NoSource, opened
from tests.helpers.stats import SIZE, Floats, chi_square, two_sided
from tests.kernel.distribution.test_normal import Recorded, ideal_normals

MISTAKES = [0.95, 1.05]
R2 = 4**16  # one unit of the second moment, in grid steps
Laws = WishartDifference | FrobeniusNoise


def law_of(noise: str, d: int, epsilon: float = 1, neighbors: str = "replace") -> Laws:
    law = calibrated(SecondMoment(Grid(1.0), d), PureDP(epsilon), neighbors, noise)
    assert isinstance(law, WishartDifference | FrobeniusNoise)
    return law


def draws_of(law: Laws, count: int, seed: int) -> Floats:
    """Return noise matrices divided by the scale, packed, one in a row; not yet rounded to the lattice."""
    bits, d = SeededBits(seed), law.d
    return np.stack([law.draw([d, triangle_size(d) - d], bits) for _ in range(count)]) / float(law.scale)


@dataclass(frozen=True)
class Cut:
    """A law cut into cells of equal probability by its distribution function, and Pearson's test of draws against it."""

    cdf: Callable[[Floats], Floats]
    reach: float
    step: float = 0.0
    """Of a lattice to which the draws were rounded: the cells then end half-way between its points."""
    cells: int = 12

    def edges(self) -> Floats:
        grid = np.linspace(-self.reach, self.reach, 20_001)
        edges = np.interp(np.arange(1, self.cells) / self.cells, self.cdf(grid), grid)
        return (np.floor(edges / self.step) + 0.5) * self.step if self.step else edges

    def probabilities(self, mistake: float = 1.0) -> Floats:
        return np.diff(self.cdf(self.edges() / mistake), prepend=0.0, append=1.0)

    def p_value(self, draws: Floats) -> float:
        return chi_square(np.bincount(np.searchsorted(self.edges(), draws), minlength=self.cells), self.probabilities())

    def miss(self, mistake: float, count: int) -> float:
        """Return the probability that so many draws of a scale that is wrong by this factor pass."""
        right, wrong = self.probabilities(), self.probabilities(mistake)
        noncentrality = count * float(((wrong - right) ** 2 / right).sum())
        return float(stats.ncx2.cdf(stats.chi2.isf(SIZE, self.cells - 1), self.cells - 1, noncentrality))


def gamma_difference(shape: int) -> Cut:
    """Cut the law of Γ − Γ′ for whole shapes.

    P(Γ > Γ′ + x) for x ≥ 0: fewer than ``shape`` events of a Poisson process come in [0, x] and in Γ′ more, where the second
    number is negative binomial.
    """

    def above(x: Floats) -> Floats:
        counts = np.arange(shape)
        later = stats.nbinom.pmf(counts, shape, 0.5)
        enough = np.asarray(stats.poisson.cdf(shape - 1 - counts[:, None], x[None, :]))
        return np.asarray(later @ enough)

    def cdf(x: Floats) -> Floats:
        tail = above(np.abs(x))
        return np.where(x < 0, tail, 1 - tail)

    return Cut(cdf, 12.0 * math.sqrt(2 * shape))


def two_wisharts(d: int, degrees: int, count: int, seed: int) -> Floats:
    """Draw A − B with s = 1 by NumPy's generator, packed as here."""
    g = np.random.default_rng(seed).normal(size=(2, count, d, degrees))
    moments = g @ g.swapaxes(2, 3)
    return np.stack([pack(matrix) for matrix in moments[0] - moments[1]])


COUNT = 20_000


@pytest.fixture(scope="module")
def draws() -> Floats:
    """Wishart differences with d = 2: columns are the two diagonal entries and the one above."""
    return draws_of(law_of("wishart", 2), COUNT, 401)


@pytest.fixture(scope="module")
def coordinates() -> Floats:
    """Frobenius noise with d = 2, in isometric coordinates."""
    return draws_of(law_of("frobenius", 2), COUNT, 421) * np.sqrt([1.0, 1.0, 2.0])


class TestWishart:
    def test_one_column_is_laplace(self) -> None:
        """Size 1e-6. One row moves x² by 1 under both relations: Laplace of scale 1/ε; s is half of that."""
        law = law_of("wishart", 1)
        assert law == law_of("wishart", 1, neighbors="add-remove")
        bits = SeededBits(402)
        draws = np.concatenate([law.draw([1, 0], bits) for _ in range(2 * COUNT)])
        cut = Cut(stats.laplace.cdf, 30.0, step=2.0**law.lattice / R2)
        assert cut.p_value(law.settle(draws) / R2) > SIZE
        for mistake in (0.9, 1.1):
            assert cut.miss(mistake, 2 * COUNT) < 1e-6
            assert cut.p_value(law.settle(np.rint(mistake * draws).astype(np.int64)) / R2) < SIZE
        # 2·Σ|x|/b is chi-square with 4n degrees, and 5 % of b are ten standard deviations of it
        total, degrees = 2 * float(np.abs(draws / R2).sum()), 4 * COUNT
        assert two_sided(total, degrees) > SIZE
        assert max(two_sided(total * mistake, degrees) for mistake in MISTAKES) < SIZE

    def test_trace_and_off_diagonal_entry(self, draws: Floats) -> None:
        """Size 1e-6 each. d = 2: shape 3 for both, scales 2s and s."""
        cut = gamma_difference(3)
        assert cut.p_value(draws[:, :2].sum(axis=1) / 2) > SIZE
        assert cut.p_value(draws[:, 2]) > SIZE

    def test_scale_by_both_together(self, draws: Floats) -> None:
        """Size 1e-6. ‖N‖_F has no simple law, so its square is compared with its mean 2·2(d+1)·d·(d+1)/2·s², by the normal law.

        A scale 5 % off moves it by 10 %, eleven standard errors of its own: missed with probability below 1e-6.
        """
        squares = draws[:, 0] ** 2 + draws[:, 1] ** 2 + 2 * draws[:, 2] ** 2
        mean, error = 36.0, squares.std() / math.sqrt(COUNT)
        assert 2 * stats.norm.sf(abs(squares.mean() - mean) / error) > SIZE
        for mistake in MISTAKES:
            assert abs(mistake**2 - 1) * mean / error > 2 * stats.norm.isf(SIZE / 2)
            assert 2 * stats.norm.sf(abs(mistake**2 * squares.mean() - mean) / (mistake**2 * error)) < SIZE

    def test_wrong_laws_would_be_caught(self) -> None:
        """Controls: d degrees of freedom and d + 2, one Wishart, a scale 12 % off, by each of the two tests."""
        cut = gamma_difference(3)
        for degrees in (2, 4):
            wrong = two_wisharts(2, degrees, COUNT, 403)
            assert cut.p_value(wrong[:, :2].sum(axis=1) / 2) < SIZE
            assert cut.p_value(wrong[:, 2]) < SIZE
        g = np.random.default_rng(404).normal(size=(COUNT, 2, 3))
        one = g @ g.swapaxes(1, 2)
        centred = one - 3 * np.eye(2)
        assert cut.p_value(np.trace(centred, axis1=1, axis2=2) / 2) < SIZE
        assert cut.p_value(one[:, 0, 1]) < SIZE
        for mistake in (0.88, 1.12):
            assert cut.miss(mistake, COUNT) < 1e-6
        right = two_wisharts(2, 3, COUNT, 405)  # and the reference itself passes
        assert min(cut.p_value(right[:, 2]), cut.p_value(right[:, :2].sum(axis=1) / 2)) > SIZE

    def test_how_often_it_is_definite(self, draws: Floats) -> None:
        """Size 1e-6. P(N ⪰ 0) = 2^{−d(d+1)/2}, as f(w) = f(0)·exp(−c·tr w) there: 1/8 on either side for d = 2.

        Catches d degrees of freedom, and signs or entries that do not belong together.
        """

        def p_value(packed: Floats) -> float:
            determinant = packed[:, 0] * packed[:, 1] - packed[:, 2] ** 2
            side = np.where(determinant < 0, 1, np.where(packed[:, 0] > 0, 2, 0))
            return chi_square(np.bincount(side, minlength=3), [1 / 8, 3 / 4, 1 / 8])

        assert p_value(draws) > SIZE
        assert p_value(two_wisharts(2, 2, COUNT, 406)) < SIZE
        assert p_value(np.random.default_rng(407).permuted(draws, axis=0)) < SIZE

    def test_moments_in_five_columns(self) -> None:
        """Size 1e-6 for each kind of entry, by the normal law: mean 0, variances 4(d+1)s² and 2(d+1)s²; 5 % in s is caught."""
        law = law_of("wishart", 5)
        draws = draws_of(law, 12_000, 408)
        rounding = 4.0**law.lattice / 12  # of the lattice
        assert law.spread().diagonal_variance == pytest.approx(24 * float(law.scale) ** 2 + rounding, rel=1e-14)
        assert law.spread().off_diagonal_variance == pytest.approx(12 * float(law.scale) ** 2 + rounding, rel=1e-14)
        for entries, variance in ((draws[:, :5], 24.0), (draws[:, 5:], 12.0)):
            assert 2 * stats.norm.sf(abs(entries.mean()) / math.sqrt(variance / entries.size)) > SIZE / 2
            squares = (entries**2).mean(axis=1)  # entries of one matrix depend on each other, matrices do not
            error = float(squares.std()) / math.sqrt(len(squares))
            assert 2 * stats.norm.sf(abs(squares.mean() - variance) / error) > SIZE / 2
            assert 0.0975 * variance / error > stats.norm.isf(SIZE / 4) + stats.norm.isf(1e-6)

    def test_draws_are_those_of_the_bits(self) -> None:
        """The float matrix is within the error the excess is computed from, against 60 digits from the same words."""
        law = law_of("wishart", 3)
        bits, scale = Recorded(409), float(law.scale)
        drawn = law.draw([3, 3], bits)
        with mpmath.workdps(60):
            plus, minus = (mpmath.matrix(3, 4), mpmath.matrix(3, 4))
            for index, value in enumerate(ideal_normals(24, bits.log)):
                (plus if index < 12 else minus)[index % 12 // 4, index % 4] = value
            ideal = (plus * plus.T - minus * minus.T) * scale
            errors = [abs(int(drawn[k]) - ideal[i, j]) for k, (i, j) in enumerate(UPPER_3)]
        assert max(errors) <= rounding_error(law)
        assert max(errors) < 0.5 + 1e-3


UPPER_3 = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)]


def log_density(w: NDArray[np.float64], c: float = 1.0) -> float:
    """Return log of f(w) = ∫ exp(−c·tr(w + B))·exp(−c·tr B) dB over B ⪰ 0 with w + B ⪰ 0, for d = 2, by quadrature.

    f depends on the eigenvalues only. With B = ((x, z), (z, y)) the integral over z is 2·min(√(xy), √((x+a)(y+b))). For
    eigenvalues a ≥ 0 ≥ −b put y = b + v: the two roots are equal on the ray x·b = a·v, so with x = r·p, v = r·(1−p) the two
    sides of p = a/(a+b) are smooth; p and 1 − p are squares of the nodes, and r has the weight r^{3/2}·exp(−2cr).
    """
    low, high = np.linalg.eigvalsh(w)
    if low >= 0 or high <= 0:
        a = b = 0.0
    else:
        a, b = float(high), float(-low)
    nodes, weights = np.polynomial.legendre.leggauss(60)
    nodes, weights = (nodes + 1) / 2, weights / 2
    radii, radial = GENERALIZED_LAGUERRE
    r = radii[:, None] / (2 * c)
    split = a / (a + b) if a + b > 0 else 0.5
    total = 0.0
    for reach, far in ((split, b), (1 - split, a)):
        p = reach * nodes**2  # dp = 2·reach·u du and √p = √reach·u
        integrand = np.sqrt(r * (1 - p) + far) * 2 * reach**1.5 * nodes**2
        total += float(radial @ integrand @ weights) * (2 * c) ** -2.5
    return -c * float(np.abs([low, high]).sum()) + math.log(2 * total)


def _generalized_laguerre() -> tuple[Floats, Floats]:
    from scipy.special import roots_genlaguerre

    nodes, weights = roots_genlaguerre(80, 1.5)
    return np.asarray(nodes), np.asarray(weights)


GENERALIZED_LAGUERRE = _generalized_laguerre()


class TestDensity:
    """f(w) ∝ exp(−c·tr w)·P(W ⪰ −w), W ~ Wishart₂(3, I/(4c)): the law behind the proof, for d = 2."""

    def test_at_zero_and_for_definite_matrices(self) -> None:
        """∫ exp(−2c·tr B) dB = Γ₂(3/2)/(2c)³, Γ₂(3/2) = π/2; and f(w) = f(0)·exp(−c·‖w‖_*)."""
        for c in (0.5, 1.0, 3.0):
            assert log_density(np.zeros((2, 2)), c) == pytest.approx(math.log(math.pi / 2 / (2 * c) ** 3), abs=1e-4)
            for sign in (1, -1):
                w = sign * np.array([[2.0, 0.5], [0.5, 0.4]])
                assert log_density(w, c) == pytest.approx(log_density(0 * w, c) - 2.4 * c, abs=1e-12)

    @pytest.mark.parametrize("diagonal", [(1.0, -1.0), (0.3, -2.0), (4.0, -0.1)])
    def test_the_quadrature_against_wishart_draws(self, diagonal: tuple[float, float]) -> None:
        """Size 1e-6: f(w)/f(0)·exp(c·tr w) is P(W ⪰ −w), by 400 000 draws; three correct digits are needed to pass."""
        g = np.random.default_rng(411).normal(size=(400_000, 2, 3)) / 2  # c = 1
        moved = g @ g.swapaxes(1, 2) + np.diag(diagonal)
        hits = int(np.sum((np.linalg.det(moved) >= 0) & (moved[:, 0, 0] >= 0)))
        share = math.exp(log_density(np.diag(diagonal)) - log_density(np.zeros((2, 2))) + sum(diagonal))
        assert stats.binomtest(hits, len(moved), share).pvalue > SIZE

    @pytest.mark.parametrize("trace", [0.0, 0.7, 2.5, -4.0])
    def test_its_trace_is_a_difference_of_gammas(self, trace: float) -> None:
        """∫ f over matrices of one trace, against shape 3 and scale 1/c: no draws."""

        def along(gap: float) -> float:
            return gap * math.exp(log_density(np.diag([(trace + gap) / 2, (trace - gap) / 2])))

        ends = (0.0, abs(trace)), (abs(trace), 40.0)  # definite matrices, then indefinite ones
        found = sum(integrate.quad(along, start, end, epsabs=1e-9, limit=200)[0] for start, end in ends)
        step = 1e-4
        below, above = gamma_difference(3).cdf(np.array([trace - step, trace + step]))
        # dW = |λ₁ − λ₂| dλ₁ dλ₂ dθ over θ < π, and half of it for the gap; ∫ g = Γ₂(3/2) = π/2 for each of the two
        assert found * (math.pi / 2) / (math.pi / 2) ** 2 == pytest.approx(float(above - below) / (2 * step), rel=2e-4)

    def test_its_logarithm_is_lipschitz_in_the_nuclear_norm(self) -> None:
        """The claim behind ε: |log f(w+E) − log f(w)| ≤ c·‖E‖_*, reached where w and E are definite; not so for c/1.05."""
        random = np.random.default_rng(412)
        worst = 0.0
        for _ in range(400):
            w, e = (random.normal(size=(2, 2)) * random.choice([0.1, 1, 4]) for _ in range(2))
            w, e = w + w.T, e + e.T
            change = abs(log_density(w + e) - log_density(w))
            worst = max(worst, change / float(np.abs(np.linalg.eigvalsh(e)).sum()))
        assert 0.99 < worst <= 1 + 1e-3


class TestFrobenius:
    def test_the_radius_is_gamma(self, coordinates: Floats) -> None:
        """Size 1e-6. Gamma(D), D = 3; Gamma(D−1) and Gamma(D+1) are rejected, and a scale 8 % off."""
        cut = Cut(lambda x: np.asarray(stats.gamma.cdf(x, 3)), 40.0)
        radius = np.linalg.norm(coordinates, axis=1)
        assert cut.p_value(radius) > SIZE
        random = np.random.default_rng(422)
        for shape in (2, 4):
            assert cut.p_value(random.gamma(shape, size=COUNT)) < SIZE
        for mistake in (0.92, 1.08):
            assert cut.miss(mistake, COUNT) < 1e-6
            assert cut.p_value(mistake * radius) < SIZE

    def test_the_radius_adds_up(self, coordinates: Floats) -> None:
        """Size 1e-6. Σ‖N‖ is Gamma(3n), so twice it is chi-square with 6n degrees; a scale 5 % off is caught with 1 − 1e-6."""
        total, degrees = 2 * float(np.linalg.norm(coordinates, axis=1).sum()), 6 * COUNT
        assert two_sided(total, degrees) > SIZE
        for mistake in MISTAKES:
            assert abs(mistake - 1) * degrees / math.sqrt(2 * degrees) > stats.norm.isf(SIZE / 2) + stats.norm.isf(1e-6)
            assert two_sided(total * mistake, degrees) < SIZE

    def test_the_direction_is_uniform(self, coordinates: Floats) -> None:
        """Size 1e-6 each. On the sphere in three dimensions each coordinate is uniform (Archimedes), and octants are alike.

        Catches a √2 forgotten above the diagonal, and a radius that depends on the direction.
        """

        def p_values(points: Floats) -> list[float]:
            radius = np.linalg.norm(points, axis=1)
            height = points / radius[:, None]
            bands = [np.floor((column + 1) * 10).astype(np.int64).clip(0, 19) for column in height.T]
            octant = (points > 0) @ np.array([1, 2, 4]) + 8 * (radius > stats.gamma.median(3))
            return [
                *(chi_square(np.bincount(band, minlength=20), np.full(20, 1 / 20)) for band in bands),
                chi_square(np.bincount(octant, minlength=16), np.full(16, 1 / 16)),
            ]

        assert min(p_values(coordinates)) > SIZE
        assert min(p_values(coordinates * np.sqrt([1.0, 1.0, 0.5]))) < SIZE

    def test_second_moments_in_five_columns(self) -> None:
        """Size 1e-6. ‖N‖ is Gamma(15) and the diagonal holds a third of its square; `spread` says the same."""
        law = law_of("frobenius", 5)
        draws = draws_of(law, 5000, 423)
        norms = np.sqrt((draws[:, :5] ** 2).sum(axis=1) + 2 * (draws[:, 5:] ** 2).sum(axis=1))
        assert stats.kstest(norms, stats.gamma(15).cdf).pvalue > SIZE
        shares = (draws[:, :5] ** 2).sum(axis=1) / norms**2
        assert stats.kstest(shares, stats.beta(5 / 2, 10 / 2).cdf).pvalue > SIZE
        rounding = 4.0**law.lattice / 12
        assert law.spread().diagonal_variance == pytest.approx(16 * float(law.scale) ** 2 + rounding, rel=1e-14)
        assert law.spread().off_diagonal_variance == pytest.approx(8 * float(law.scale) ** 2 + rounding, rel=1e-14)


KINDS: dict[str, type[Laws]] = {"wishart": WishartDifference, "frobenius": FrobeniusNoise}


class TestLattice:
    @pytest.mark.parametrize("kind", KINDS.values())
    @pytest.mark.parametrize("lattice", [0, 1, 7, 31, 61])
    def test_settle_rounds_in_exact_integers(self, kind: type[Laws], lattice: int) -> None:
        """To the nearest multiple, a half upwards, for negative totals as well and beyond 2⁵³, where floats lose units."""
        law = kind(2, Fraction(1), lattice, Fraction(1), Fraction(1))
        step = 2**lattice
        near = [k * step + shift for k in (-3, -2, -1, 0, 1, 2) for shift in (-step // 2, -1, 0, 1, step // 2 - 1, step // 2)]
        totals = [t for t in (*near, 2**53 + 1, -(2**53) - 1, 2**61 + 2**30 + 1, -(2**61) + 1) if abs(t) < 2**62]
        settled = law.settle(np.array(totals, dtype=np.int64)).tolist()
        assert settled == [(total + step // 2) // step * step for total in totals]
        assert all(-step // 2 <= total - answer <= (step - 1) // 2 for total, answer in zip(totals, settled, strict=True))

    @pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
    @pytest.mark.parametrize("noise", KINDS)
    def test_the_sum_is_rounded_not_the_noise(self, noise: str, neighbors: str) -> None:
        """For any rows the answers are multiples of the step; noise rounded alone would show the sum modulo the step."""
        rows = np.random.default_rng(431).uniform(-0.5, 0.5, size=(7, 3))
        source, grid = ArraySource(rows), Grid(1.0)
        statistic = SecondMoment(grid, 3)
        seen = set()
        for seed in range(20):
            asked = opened(source, grid, PureDP(1), neighbors, SeededBits(seed))
            answer = asked.noisy(statistic, PureDP(1), noise=noise)
            law = answer.law
            assert isinstance(law, KINDS[noise])
            step = 2**law.lattice
            assert step >= 2**28
            assert np.any(source.total(statistic) % step)
            assert not np.any(answer.integers % step)
            drawn = law.draw([3, 3], SeededBits(seed))
            assert np.array_equal(answer.integers, law.settle(source.total(statistic) + drawn))
            seen.update((answer.integers // step).tolist())
        assert len(seen) > 30

    @pytest.mark.parametrize(("lattice", "d"), [(-1, 2), (62, 2), (3, 0)])
    @pytest.mark.parametrize("kind", KINDS.values())
    def test_what_does_not_fit_is_refused(self, kind: type[Laws], lattice: int, d: int) -> None:
        with pytest.raises(ParameterError, match="noise must fit into 64-bit integers"):
            kind(d, Fraction(1), lattice, Fraction(1), Fraction(1))


def gamma_bound(shape: float) -> float:
    """Exceeded by a Gamma(shape) number with probability exp(−80) at most: found from its law, not from an inequality."""
    return float(mpmath.findroot(lambda x: mpmath.log(mpmath.gammainc(shape, x, regularized=True)) + TAIL, shape + 2 * TAIL))


def rounding_error(law: Laws) -> float:
    """Return e, in grid steps: what an entry of the noise can differ from its ideal value, but for the tail."""
    d, scale = law.d, float(law.scale)
    if isinstance(law, WishartDifference):
        return 0.5 + scale * 2 * 2 * gamma_bound((d + 1) / 2) * (2 * RELATIVE_ERROR + (d + 5) * 2.0**-53)
    # a coordinate, the norm and the radius err by RELATIVE_ERROR each; sums and products round ten times in all
    return 0.5 + scale * gamma_bound(triangle_size(d)) * (3 * RELATIVE_ERROR + 10 * 2.0**-53)


def needed_excess(law: Laws, sensitivity: float, epsilon: float) -> float:
    """MATHS: D·log((γ+2e)/(γ−2e)) + L·(shift by 2e in each entry), L the Lipschitz constant of log f."""
    d, step, e = law.d, 2.0**law.lattice, rounding_error(law)
    shift = 2 * e * (d**1.5 if isinstance(law, WishartDifference) else d)
    return triangle_size(d) * math.log((step + 2 * e) / (step - 2 * e)) + shift * epsilon / sensitivity


SENSITIVITIES = {
    ("wishart", "replace"): 2.0 * R2,
    ("wishart", "add-remove"): 1.0 * R2,
    ("frobenius", "replace"): math.sqrt(2) * R2,
    ("frobenius", "add-remove"): 1.0 * R2,
}


@pytest.mark.parametrize("d", [1, 2, 13, 784])
def test_an_entry_errs_by_no_more_than_is_counted(d: int) -> None:
    """Both factors of a product err by RELATIVE_ERROR, and d + 5 roundings come on top: 5 % less would not cover it."""
    terms = _wishart_terms(d, 2 * R2)
    relative = (1 + Fraction(RELATIVE_ERROR)) ** 2 * (1 + Fraction(1, 2**53)) ** (d + 5) - 1
    assert Fraction(95, 100) * Fraction(terms.error) < 2 * Fraction(terms.largest) * relative <= Fraction(terms.error)


@pytest.mark.parametrize(("share", "kept"), [(Fraction(4, 10), False), (Fraction(6, 10), True)])
def test_half_of_what_is_spare_must_be_left(share: Fraction, kept: bool) -> None:
    """Another machine's logarithm may differ in its last digits: a law without even that much more than it needs is none."""
    law = law_of("wishart", 5)
    terms = _wishart_terms(5, 2 * R2)
    bare = terms.excess(5, math.nextafter(float(law.scale), math.inf) * terms.error + 0.5, law.lattice, 1.0)
    spared = replace(law, excess=Fraction(bare) * (1 + share * Fraction(SPARE)))
    assert covers(spared, Fraction(2 * R2), Fraction(1)) == kept


class TestExcess:
    @pytest.mark.parametrize("epsilon", [1e-3, 1, 30, 1e6])
    @pytest.mark.parametrize("d", [2, 5, 13, 50])
    @pytest.mark.parametrize(("noise", "neighbors"), SENSITIVITIES)
    def test_it_pays_for_the_rounding(self, noise: str, neighbors: str, d: int, epsilon: float) -> None:
        """Recomputed here with exact tails: the recorded excess is enough, and not more than four times what is needed."""
        law, sensitivity = law_of(noise, d, epsilon, neighbors), SENSITIVITIES[noise, neighbors]
        assert float(law.scale) <= 1.5 * sensitivity / epsilon or epsilon > 1e3
        assert needed_excess(law, sensitivity, epsilon) <= float(law.excess) <= 4 * needed_excess(law, sensitivity, epsilon)

    @pytest.mark.parametrize("epsilon", ["1/1000", "1", "30", "1000000"])
    @pytest.mark.parametrize("d", [1, 2, 5, 13, 50])
    @pytest.mark.parametrize(("noise", "neighbors"), SENSITIVITIES)
    def test_it_is_spent_in_advance(self, noise: str, neighbors: str, d: int, epsilon: str) -> None:
        """In fractions: sensitivity/scale + excess ≤ ε; a scale calibrated at ε itself fails."""
        exact = Fraction(epsilon)
        law = calibrated(SecondMoment(Grid(1.0), d), PureDP(exact), neighbors, noise)
        assert isinstance(law, WishartDifference | FrobeniusNoise)
        squared = Fraction(SecondMoment(Grid(1.0), d).sensitivity_squared(neighbors))  # of Δ_F, or of Δ_*/2 = Δ_F²/(2R²)
        smallest = law.scale * (exact - law.excess)
        if noise == "wishart":
            assert smallest >= squared / (2 * R2)
        else:
            assert smallest**2 >= squared
        assert 0 < law.excess < exact / 2

    @pytest.mark.parametrize("noise", KINDS)
    @pytest.mark.parametrize(("d", "most"), [(13, 1e-6), (108, 1e-5), (784, 1e-3)])
    def test_it_is_small(self, noise: str, d: int, most: float) -> None:
        law = law_of(noise, d)
        assert float(law.excess) < most
        assert float(law.tail) < 2.0**-100

    @pytest.mark.parametrize("noise", KINDS)
    @pytest.mark.parametrize("d", [1, 2, 13, 60])
    def test_the_lattice_does_not_cost_accuracy(self, noise: str, d: int) -> None:
        """At most an eighth of an entry's standard deviation, and more than a sixteenth, where ε is ordinary."""
        law = law_of(noise, d)
        deviation = math.sqrt(law.spread().off_diagonal_variance)
        assert deviation / 16 < 2.0**law.lattice <= deviation / 8 * (1 + 1e-6)

    @pytest.mark.parametrize(
        ("mechanism", "d", "epsilon"),
        [
            pytest.param(WISHART, 784, 1e-6, id="wishart-784-1e-06"),
            pytest.param(FROBENIUS, 784, 1e-4, id="frobenius-784-0.0001"),
            pytest.param(FROBENIUS, 50, 1e-8, id="frobenius-50-1e-08"),
        ],
    )
    def test_too_small_an_epsilon_is_refused_before_reading(self, mechanism: Mechanism, d: int, epsilon: float) -> None:
        for neighbors in ("replace", "add-remove"):
            asked = opened(NoSource(10, d), Grid(1.0), PureDP(epsilon), neighbors, SeededBits(0))
            with pytest.raises(ParameterError, match=r"epsilon must leave room .* Hint: "):
                released(mechanism, asked, PureDP(epsilon))
            assert asked.answers == ()

    def test_packing_is_that_of_the_statistic(self) -> None:
        """The diagonal first: entries have twice the variance there; the band is 15 standard errors, size below 1e-6."""
        law = law_of("wishart", 3)
        draws = draws_of(law, 4000, 441)
        ratio = (draws[:, :3] ** 2).mean() / (draws[:, 3:] ** 2).mean()
        assert 1.6 < ratio < 2.4
        assert unpack(draws[0], 3)[0, 1] == draws[0, 3]
