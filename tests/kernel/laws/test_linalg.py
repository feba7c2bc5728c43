"""Laws of packed triangles and of the projections that post-processing is made of."""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from dpcov.kernel.noise.laws import Spread
from dpcov.linalg import from_spectrum, pack, project_simplex, triangle_size, unpack
from dpcov.spectra import POSTPROCESS, clip, none, project

Floats = NDArray[np.float64]
repeatable = settings(derandomize=True, deadline=None, max_examples=100)
vectors = arrays(np.float64, st.integers(1, 6), elements=st.floats(-1e3, 1e3))
NOISE = Spread(2.0, 1.0)  # what project and clip do not look at
ROUNDING = 1e-12  # relative: a few hundred float64 roundings, for matrices this small


def symmetric(seed: int, d: int, spread: float = 1.0) -> Floats:
    matrix = np.random.default_rng(seed).standard_normal((d, d)) * spread
    return np.asarray((matrix + matrix.T) / 2)


def feasible(generator: np.random.Generator, d: int, bound: float) -> Floats:
    """Draw a positive semidefinite matrix with trace at most ``bound``, of any rank."""
    factor = generator.standard_normal((d, generator.integers(1, d + 1)))
    matrix = factor @ factor.T
    return np.asarray(matrix * (bound * generator.random() / np.trace(matrix)))


class TestTriangle:
    def test_storage_order_is_diagonal_then_upper_rows(self) -> None:
        matrix = np.array([[1.0, 4.0, 5.0], [4.0, 2.0, 6.0], [5.0, 6.0, 3.0]])
        assert pack(matrix).tolist() == [1, 2, 3, 4, 5, 6]

    @given(data=st.data(), d=st.integers(1, 7))
    @repeatable
    def test_pack_and_unpack_are_inverse(self, data: st.DataObject, d: int) -> None:
        integers = data.draw(arrays(np.int64, triangle_size(d)))
        floats = data.draw(arrays(np.float64, triangle_size(d), elements=st.floats(allow_nan=False)))
        for matrix in (unpack(integers, d), unpack(floats, d)):
            assert np.array_equal(matrix, matrix.T)
        assert np.array_equal(pack(unpack(integers, d)), integers)
        assert np.array_equal(pack(unpack(floats, d)), floats)
        matrix = unpack(integers, d)
        assert np.array_equal(unpack(pack(matrix), d), matrix)
        assert matrix.dtype == np.int64


class TestFromSpectrum:
    @pytest.mark.parametrize("d", [1, 2, 5, 33, 100])
    def test_it_rebuilds_the_matrix_exactly_symmetric(self, d: int) -> None:
        eigenvalues, basis = np.linalg.eigh(symmetric(31, d))
        eigenvalues = np.maximum(eigenvalues, 0.0)
        matrix = from_spectrum(eigenvalues, basis)
        assert np.array_equal(matrix, matrix.T)
        assert np.allclose(matrix, basis @ np.diag(eigenvalues) @ basis.T, rtol=0, atol=ROUNDING * d)

    def test_no_positive_eigenvalue_gives_zero(self) -> None:
        assert np.array_equal(from_spectrum(np.zeros(3), np.eye(3)), np.zeros((3, 3)))


def nearest_by_enumeration(values: Floats, total: float) -> Floats:
    """Try every support, with the sum bound tight or not, and keep the nearest feasible point."""
    supports = chain.from_iterable(combinations(range(len(values)), k) for k in range(len(values) + 1))
    candidates = [np.zeros(len(values))]
    for support in map(list, supports):
        if support:
            free, tight = np.zeros(len(values)), np.zeros(len(values))
            free[support] = values[support]
            tight[support] = values[support] - (values[support].sum() - total) / len(support)
            candidates += [free, tight]
    slack = ROUNDING * (np.abs(values).max() + total)
    allowed = [c for c in candidates if c.min() >= -slack and c.sum() <= total + len(values) * slack]
    return min(allowed, key=lambda candidate: float(np.sum((candidate - values) ** 2)))


class TestProjectSimplex:
    @given(values=vectors, total=st.floats(1e-3, 1e3))
    @example(values=np.array([1.0, 1.0, 1.0]), total=1.0)
    @example(values=np.array([0.9, 0.4, -0.3]), total=1.0)
    @example(values=np.array([-1.0, -2.0]), total=1.0)
    @repeatable
    def test_it_is_the_nearest_feasible_point(self, values: Floats, total: float) -> None:
        nearest = project_simplex(values, total)
        scale = np.abs(values).max() + total
        assert nearest.min() >= 0
        assert nearest.sum() <= total + 1e-12 * scale
        # Squared distances agree to rounding; the minimum is unique, so the points then agree to its square root.
        reference = nearest_by_enumeration(values, total)
        assert np.sum((nearest - values) ** 2) <= np.sum((reference - values) ** 2) + 1e-10 * scale**2
        assert np.allclose(nearest, reference, rtol=0, atol=1e-5 * scale)

    @given(values=vectors, total=st.floats(1e-3, 1e3))
    @repeatable
    def test_projecting_twice_changes_nothing(self, values: Floats, total: float) -> None:
        once = project_simplex(values, total)
        assert np.allclose(project_simplex(once, total), once, rtol=0, atol=1e-12 * (np.abs(values).max() + total))

    @given(values=vectors, total=st.floats(1e-3, 1e3), seed=st.integers(0, 99))
    @repeatable
    def test_order_does_not_matter(self, values: Floats, total: float, seed: int) -> None:
        order = np.random.default_rng(seed).permutation(len(values))
        assert np.array_equal(project_simplex(values[order], total), project_simplex(values, total)[order])

    def test_values_that_swallow_the_total_in_rounding_are_projected_too(self) -> None:
        # 1e20 − 1 is 1e20 in float64: the sum bound must hold all the same, up to the rounding of the values.
        nearest = project_simplex(np.array([1e20, -1e20]), 1.0)
        assert nearest.min() >= 0
        assert nearest.sum() <= 1.0 + ROUNDING * 1e20


@pytest.mark.parametrize("d", [1, 2, 5, 20])
@pytest.mark.parametrize("spread", [0.05, 1.0, 50.0], ids=["inside mostly", "near", "far outside"])
class TestPostprocess:
    BOUND = 1.5

    def test_project_meets_its_constraints(self, d: int, spread: float) -> None:
        result = project(symmetric(32, d, spread), self.BOUND, NOISE)
        slack = ROUNDING * d * max(spread, 1.0)
        assert np.array_equal(result, result.T)
        assert np.linalg.eigvalsh(result).min() >= -slack
        assert np.trace(result) <= self.BOUND + slack

    def test_clip_meets_its_constraints(self, d: int, spread: float) -> None:
        eigenvalues = np.linalg.eigvalsh(clip(symmetric(33, d, spread), self.BOUND, NOISE))
        slack = ROUNDING * d * max(spread, 1.0)
        assert eigenvalues.min() >= -slack
        assert eigenvalues.max() <= self.BOUND + slack

    def test_project_is_the_nearest_point(self, d: int, spread: float) -> None:
        noisy = symmetric(34, d, spread)
        result = project(noisy, self.BOUND, NOISE)
        pull = noisy - result
        # Nearest exactly when no feasible Q has ⟨pull, Q − result⟩ > 0; the best Q is 0 or bound·vvᵀ.
        best = max(0.0, self.BOUND * np.linalg.eigvalsh(pull).max())
        assert best <= np.sum(pull * result) + 1e-11 * d * spread**2 + ROUNDING
        generator = np.random.default_rng(34)
        distance = np.linalg.norm(pull)
        for _ in range(200):
            assert distance <= np.linalg.norm(noisy - feasible(generator, d, self.BOUND)) + ROUNDING * d * spread

    def test_clip_is_the_nearest_point_with_eigenvalues_in_range(self, d: int, spread: float) -> None:
        noisy = symmetric(35, d, spread)
        result = clip(noisy, self.BOUND, NOISE)
        pull = noisy - result
        # The best Q with 0 ⪯ Q ⪯ bound takes bound in each direction that pull favours.
        best = self.BOUND * np.maximum(np.linalg.eigvalsh(pull), 0.0).sum()
        assert best <= np.sum(pull * result) + 1e-11 * d * spread**2 + ROUNDING

    @pytest.mark.parametrize("name", ["project", "clip"])
    def test_once_is_enough(self, d: int, spread: float, name: str) -> None:
        once = POSTPROCESS[name](symmetric(36, d, spread), self.BOUND, NOISE)
        assert np.allclose(POSTPROCESS[name](once, self.BOUND, NOISE), once, rtol=0, atol=ROUNDING * d * max(spread, 1.0))

    @pytest.mark.parametrize("name", ["project", "clip"])
    def test_it_never_moves_away_from_a_feasible_truth(self, d: int, spread: float, name: str) -> None:
        generator = np.random.default_rng(37)
        for seed in range(50):
            truth = feasible(generator, d, self.BOUND)
            noisy = truth + symmetric(seed, d, spread)
            error = np.linalg.norm(POSTPROCESS[name](noisy, self.BOUND, NOISE) - truth)
            assert error <= np.linalg.norm(noisy - truth) * (1 + ROUNDING * d)

    def test_none_returns_the_raw_matrix(self, d: int, spread: float) -> None:
        noisy = symmetric(38, d, spread)
        assert none(noisy, self.BOUND, NOISE).tobytes() == noisy.tobytes()
