"""Directions have the Bingham law, density ∝ exp(c·uᵀCu) on the sphere, whatever is guessed about the spectrum.

Size: each statistical test rejects correct code with probability 1e-6, divided evenly where it looks at several numbers.
Power is stated beside each test; the inverted sign of the acceptance step is far outside all of them.

Reference: with eigenvalues aᵢ of c·C the normalising constant is ∝ ∫ exp(t)·Π(t − aᵢ)^{−1/2} dt along any contour round all aᵢ,
and E[(vᵢᵀu)²] = ∂ log/∂aᵢ, the mean of 1/(2(t − aᵢ)) under that integrand. It is exact in every dimension and knows nothing of
proposals, κ or acceptance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, optimize, stats

from dpcov.kernel.bits import Bits, SeededBits
from dpcov.kernel.noise import sphere
from dpcov.kernel.noise.sphere import _factor, _propose, best_kappa, bingham
from tests.helpers.stats import SIZE, Floats, chi_square, two_samples

Z = float(stats.norm.isf(SIZE / 2))  # 4.89
Proposed = tuple[Floats, NDArray[np.bool_], float]
CAUGHT = Z + float(stats.norm.isf(1e-6))  # a shift of so many standard errors is missed with probability below 1e-6


def exact_squares(exponents: Floats, bend: float = 0.5) -> Floats:
    """Return E[(vᵢᵀu)²] for density ∝ exp(Σ exponentᵢ·(vᵢᵀu)²), by the contour integral through its saddle point."""
    top = float(exponents.max())

    def slope(b: float) -> float:
        return float(np.sum(0.5 / (b + top - exponents))) - 1

    saddle = float(optimize.brentq(slope, 0.4, len(exponents), xtol=1e-14))
    x = np.linspace(-12, 12, 8001)
    width = 1 / math.sqrt(float(np.sum(0.5 / (saddle + top - exponents) ** 2)))
    t = saddle - bend * x**2 + 1j * width * x  # a parabola that ends in the left half plane, relative to the top
    velocity = -2 * bend * x + 1j * width
    gaps = t[:, None] + (top - exponents)[None, :]
    log = t - 0.5 * np.log(gaps).sum(axis=1)
    weights = np.exp(log - log[4000]) * velocity
    return np.asarray(((weights[:, None] / (2 * gaps)).sum(axis=0) / weights.sum()).real)


def one_spike(d: int, c: float, weight: Callable[[float], float] = lambda _: 1.0) -> float:
    """Return E[u₁²] for density ∝ weight(u₁²)·exp(c·u₁²) on the sphere in d ≥ 3 dimensions, by quadrature."""

    def density(x: float) -> float:
        return float(math.exp(c * (x * x - 1)) * (1 - x * x) ** ((d - 3) / 2) * weight(x * x))

    above = integrate.quad(lambda x: x * x * density(x), 0, 1, epsabs=0, epsrel=1e-11)[0]
    return float(above / integrate.quad(density, 0, 1, epsabs=0, epsrel=1e-11)[0])


def spike(d: int) -> Floats:
    matrix = np.zeros((d, d))
    matrix[0, 0] = 1.0
    return matrix


def spectrum(matrix: Floats) -> Floats:
    return np.asarray(np.linalg.eigvalsh(matrix)[::-1])


def accepted(matrix: Floats, c: float, proposals: int, seed: int) -> Floats:
    """Return all accepted ones of many proposals, in rows: the kernel's own factor and acceptance step, without the loop."""
    bits, lower = SeededBits(seed), _factor(matrix, c, best_kappa(spectrum(matrix), c))[0]
    size = max(1, 2_000_000 // len(matrix))
    rounds = [_propose(lower, min(size, proposals - start), bits) for start in range(0, proposals, size)]
    return np.concatenate([vectors[:, taken].T for vectors, taken, _ in rounds])


def drawn(matrix: Floats, c: float, guess: Floats, count: int, seed: int, *, fixed: bool = False) -> Floats:
    bits = SeededBits(seed)
    return np.stack([bingham(matrix, c, guess, bits, fixed=fixed) for _ in range(count)])


def rotated(spectrum: Floats, seed: int) -> tuple[Floats, Floats]:
    """Return a symmetric matrix with this spectrum and its eigenvectors in columns."""
    vectors = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(spectrum), len(spectrum))))[0]
    matrix = (vectors * spectrum) @ vectors.T
    return (matrix + matrix.T) / 2, vectors


def deviations(squares: Floats, means: Floats) -> Floats:
    """Return, for each column, how many standard errors its mean is off."""
    return np.asarray((squares.mean(axis=0) - means) / (squares.std(axis=0) / math.sqrt(len(squares))))


class TestReference:
    """The contour integral against quadrature, another contour, and brute force."""

    @pytest.mark.parametrize(("d", "c"), [(3, 5.0), (5, 10.0), (3, 0.1), (20, 30.0), (100, 200.0)])
    def test_against_quadrature(self, d: int, c: float) -> None:
        exponents = c * spectrum(spike(d))
        squares = exact_squares(exponents)
        assert squares[0] == pytest.approx(one_spike(d, c), rel=1e-9)
        assert np.allclose(squares[1:], (1 - squares[0]) / (d - 1), rtol=1e-9, atol=0)
        assert np.allclose(squares, exact_squares(exponents, bend=0.3), rtol=1e-9, atol=0)

    def test_against_brute_force(self) -> None:
        """Size 1e-6. Uniform points on the sphere in 6 dimensions, weighted by exp(uᵀAu); the error by the delta method."""
        exponents = np.array([3.0, 2.5, 1.0, 0.5, 0.0, -1.0])
        normal = np.random.default_rng(801).normal(size=(400_000, 6))
        squares = normal**2 / (normal**2).sum(axis=1, keepdims=True)
        weights = np.exp(squares @ exponents)
        means = weights @ squares / weights.sum()
        errors = np.sqrt((weights**2) @ (squares - means) ** 2) / weights.sum()
        assert np.abs((means - exact_squares(exponents)) / errors).max() < stats.norm.isf(SIZE / 12)


class TestCheckValues:
    """Density ∝ exp(5u₁²) on S² and ∝ exp(10u₁²) on S⁴."""

    @pytest.mark.parametrize(("d", "c", "mean", "wrong"), [(3, 5.0, 0.76427, 0.944), (5, 10.0, 0.78221, 0.962)])
    def test_mean_square(self, d: int, c: float, mean: float, wrong: float) -> None:
        """Size 1e-6. A concentration 5 % off is missed with probability below 1e-6; the inverted sign is 200 errors off.

        With a minus before the logarithm the law drawn is ∝ exp(−s/2)·s^{−d}, s = κ − 2c·u₁².
        """
        assert one_spike(d, c) == pytest.approx(mean, abs=5e-6)
        kappa = best_kappa(c * spectrum(spike(d)), 1.0)
        assert one_spike(d, c, lambda square: (kappa - 2 * c * square) ** -d) == pytest.approx(wrong, abs=3e-3)
        squares = accepted(spike(d), c, 500_000, 810 + d)[:, :1] ** 2
        error = float(squares.std()) / math.sqrt(len(squares))
        assert abs(deviations(squares, np.array([one_spike(d, c)]))[0]) < Z
        for mistake in (0.95, 1.05):
            assert abs(one_spike(d, mistake * c) - one_spike(d, c)) > CAUGHT * error
            assert abs(squares.mean() - one_spike(d, mistake * c)) > Z * error
        assert (wrong - mean) / error > 200

    @pytest.mark.parametrize(("d", "c"), [(3, 5.0), (5, 10.0)])
    def test_through_the_loop(self, d: int, c: float) -> None:
        """Size 1e-6. What `bingham` returns: the inverted sign is 30 standard errors off, a halved concentration 20."""
        squares = drawn(spike(d), c, spectrum(spike(d)), 3000, 820 + d)[:, :1] ** 2
        assert abs(deviations(squares, np.array([one_spike(d, c)]))[0]) < Z
        error = float(squares.std()) / math.sqrt(len(squares))
        assert abs(one_spike(d, c / 2) - one_spike(d, c)) > 2 * CAUGHT * error

    def test_the_whole_law(self) -> None:
        """Size 1e-6. |u₁| on S² in twenty cells of equal probability: catches a law that has only the mean square right."""
        grid = np.linspace(0, 1, 20_001)
        mass = np.concatenate([[0.0], np.cumsum(np.exp(5 * ((grid[1:] + grid[:-1]) / 2) ** 2))])
        edges = np.interp(np.arange(1, 20) / 20, mass / mass[-1], grid)
        draws = np.abs(accepted(spike(3), 5.0, 200_000, 830)[:, 0])
        assert chi_square(np.bincount(np.searchsorted(edges, draws), minlength=20), np.full(20, 1 / 20)) > SIZE
        wrong = np.abs(accepted(spike(3), 5.5, 200_000, 831)[:, 0])
        assert chi_square(np.bincount(np.searchsorted(edges, wrong), minlength=20), np.full(20, 1 / 20)) < SIZE


SPECTRA = {  # what matters is c·(λ₁ − λᵢ): the law is spread over several directions in all of them
    3: np.array([4.0, 2.0, -1.0]),
    6: np.array([6.0, 5.5, 3.0, 1.0, 0.0, -2.0]),
    20: np.concatenate([[25.0, 20.0, 14.0], np.linspace(10.0, 0.0, 17)]),
    100: np.concatenate([[90.0, 70.0, 55.0, 52.0], np.linspace(45.0, 0.0, 96)]),
}


@pytest.mark.parametrize("d", [pytest.param(d, marks=pytest.mark.audit if d == 100 else ()) for d in SPECTRA])
class TestRotated:
    def test_every_eigenvector_has_its_share(self, d: int) -> None:
        """Size 1e-6, a d-th of it for each. Power: the leading share of a concentration 10 % off is caught (5 % for d ≤ 20)."""
        matrix, vectors = rotated(SPECTRA[d], 840 + d)
        squares = (accepted(matrix, 1.0, 2_000_000 // d + 100_000, 850 + d) @ vectors) ** 2
        exact = exact_squares(SPECTRA[d])
        assert np.abs(deviations(squares, exact)).max() < stats.norm.isf(SIZE / 2 / d)
        mistake = 1.05 if d <= 20 else 1.1
        assert np.abs(deviations(squares, exact_squares(mistake * SPECTRA[d]))).max() > CAUGHT

    def test_through_the_loop(self, d: int) -> None:
        """Size 1e-6. c·uᵀCu and the coordinates' means (the law is symmetric) over what `bingham` returns.

        Its mean moves by 20 % of c in 10 standard errors or more; transposing the factor would leave neither in place.
        """
        matrix, vectors = rotated(SPECTRA[d], 840 + d)
        u = drawn(matrix / 4, 4.0, SPECTRA[d] / 4, 1500, 860 + d) @ vectors
        exact = exact_squares(SPECTRA[d])
        forms = (u**2 @ SPECTRA[d])[:, None]
        assert abs(deviations(forms, np.array([exact @ SPECTRA[d]]))[0]) < stats.norm.isf(SIZE / 4)
        wrong = exact_squares(1.25 * SPECTRA[d]) @ SPECTRA[d]
        assert abs(deviations(forms, np.array([wrong]))[0]) > Z
        assert np.abs(deviations(u, np.zeros(d))).max() < stats.norm.isf(SIZE / 4 / d)


def counts(guess: Floats, seed: int, *, fixed: bool = False) -> NDArray[np.int64]:
    """Cut (v₁ᵀu)² of 2500 draws into ten cells."""
    matrix, vectors = rotated(np.array([6.0, 4.0, 3.0, 1.0, 0.0]), 870)
    squares = (drawn(matrix, 1.0, guess, 2500, seed, fixed=fixed) @ vectors[:, 0]) ** 2
    return np.bincount(np.minimum((10 * squares).astype(np.int64), 9), minlength=10)


@pytest.fixture(scope="module")
def right() -> NDArray[np.int64]:
    """What a right guess gives."""
    return counts(np.array([6.0, 4.0, 3.0, 1.0, 0.0]), 871)


class TestGuess:
    @pytest.mark.parametrize(
        "guess",
        [
            pytest.param([0.0] * 5, id="zero"),
            pytest.param([-50.0] * 5, id="far below", marks=pytest.mark.audit),
            pytest.param([40.0, 0.0, 0.0, 0.0, 0.0], id="far above"),
            pytest.param([6.0] * 5, id="flat", marks=pytest.mark.audit),
            pytest.param([9.0, 1.0, 1.0, 1.0, 1.0], id="wrong", marks=pytest.mark.audit),
        ],
    )
    def test_a_wrong_guess_does_not_change_the_law(self, guess: list[float], right: NDArray[np.int64]) -> None:
        """Size 1e-6, two samples. Power: draws at 1.5 times the concentration are told apart (the control below)."""
        assert two_samples(right, counts(np.array(guess), 872)) > SIZE

    def test_a_fixed_number_of_proposals_has_the_same_law(self, right: NDArray[np.int64]) -> None:
        """Size 1e-6, two samples."""
        assert two_samples(right, counts(np.zeros(5), 873, fixed=True)) > SIZE

    def test_another_concentration_would_be_seen(self, right: NDArray[np.int64]) -> None:
        """The control."""
        matrix, vectors = rotated(np.array([9.0, 6.0, 4.5, 1.5, 0.0]), 870)
        squares = (drawn(matrix, 1.0, np.array([9.0, 6.0, 4.5, 1.5, 0.0]), 2500, 874) @ vectors[:, 0]) ** 2
        assert two_samples(right, np.bincount(np.minimum((10 * squares).astype(np.int64), 9), minlength=10)) < SIZE


class TestFirstAccepted:
    """The best of several accepted proposals, or the last, would be a more concentrated law."""

    @pytest.mark.parametrize("trace", [1.0, 100.0])
    @pytest.mark.parametrize(
        ("batches", "expected"),
        [([[0, 1, 1]], 1), ([[1, 1, 1]], 0), ([[0, 0, 1]], 2), ([[0, 0, 0], [0, 1, 1]], 1), ([[0] * 3] * 20 + [[1, 0, 1]], 0)],
    )
    def test_it_is_taken(self, monkeypatch: pytest.MonkeyPatch, batches: list[list[int]], expected: int, trace: float) -> None:
        """Column j is eⱼ, and eᵀCe grows with j; whether κ is kept or moved after a batch without success."""
        script = iter(batches)

        def propose(lower: Floats, count: int, bits: Bits) -> Proposed:  # noqa: ARG001
            return np.eye(3), np.array(next(script), dtype=np.bool_), trace

        monkeypatch.setattr(sphere, "_propose", propose)
        vector = bingham(np.diag([1.0, 2.0, 3.0]), 1.0, np.array([3.0, 2.0, 1.0]), SeededBits(0))
        assert vector.tolist() == np.eye(3)[expected].tolist()
        assert next(script, None) is None

    def test_a_fixed_number_is_one_batch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        counts: list[int] = []
        original = _propose

        def propose(lower: Floats, count: int, bits: Bits) -> Proposed:
            counts.append(count)
            return original(lower, count, bits)

        monkeypatch.setattr(sphere, "_propose", propose)
        for seed in range(50):
            bingham(np.diag(np.arange(7.0)), 2.0, np.zeros(7), SeededBits(seed), fixed=True)
        assert counts == [math.ceil(52 * math.sqrt(7))] * 50


@pytest.mark.parametrize("d", [2, 5, 10, 50, 200])
def test_acceptance(d: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Size 1e-6 for each mean. At least 1/(1.5√d) of proposals is accepted; the floor is 0.858/√d, five errors above."""
    shares: list[float] = []
    original = _propose

    def propose(lower: Floats, count: int, bits: Bits) -> Proposed:  # noqa: ARG001
        found = original(lower, 8000, bits)
        shares.append(float(found[1].mean()))
        return found

    monkeypatch.setattr(sphere, "_propose", propose)
    spectra = [spectrum(spike(d)), np.linspace(1.0, 0.0, d), np.sort(np.random.default_rng(880).exponential(size=d))[::-1]]
    cases = [(spectra[0], 1000.0), (spectra[0], float(d)), (spectra[1], 10.0 * d), (spectra[2], 1e6), (spectra[2], 0.01)]
    for number, (values, c) in enumerate(cases):
        bingham(rotated(values, 881)[0], c, values, SeededBits(890 + number))
    assert len(shares) == len(cases)
    assert min(shares) > 1 / (1.5 * math.sqrt(d))


SHAPES: dict[str, Callable[[int], Any]] = {
    "spread": lambda d: np.linspace(1.0, 0.0, d),
    "one": lambda d: np.eye(d)[0],
    "repeated": lambda d: np.repeat([1.0, 0.0], [(d + 1) // 2, d // 2]),
    "equal": np.ones,
    "zero": np.zeros,
    "negative": lambda d: -np.linspace(0.5, 1.0, d),
    "both signs": lambda d: np.linspace(1.0, -1.0, d),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("d", [1, 2, 3, 12])
def test_any_concentration_gives_a_unit_vector(d: int, shape: str) -> None:
    """From 0 to 1e9 times up to 1e6 rows, with right and wrong guesses."""
    bits = SeededBits(899)
    for rows in (1.0, 1e6):
        values = rows * SHAPES[shape](d)
        matrix, vectors = rotated(values, 898)
        for c in (0.0, 1e-12, 1e-3, 1.0, 1e3, 1e6, 1e9):
            for guess, fixed in ((values, False), (np.zeros(d), False), (values, True)):
                u = bingham(matrix, c, guess, bits, fixed=fixed)
                assert u.shape == (d,)
                assert abs(float(u @ u) - 1) < 1e-12
        if shape == "one":  # the last draw was at 1e15 times the gap
            assert abs(float(u @ vectors[:, 0])) > 1 - 1e-6
