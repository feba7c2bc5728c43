"""A chain of subspaces at the ends of its range: gaps that float64 hardly resolves, and what it says while it runs."""

from __future__ import annotations

import numpy as np
import pytest

from dpcov.kernel.bits import SeededBits
from dpcov.kernel.noise.subspace import _Column, matrix_bingham


@pytest.mark.parametrize("gap", [1e16, 3e16, 1e17])
def test_gaps_for_which_no_scale_is_near(gap: float) -> None:
    """The first coordinate is taken; of the others the one with the smallest gap has all but 1/gap of the density."""
    taken = np.eye(4)[:, :1]
    vector = _Column(np.array([0.0, gap, 2 * gap, 3 * gap]), 2, SeededBits(0)).redrawn(taken, 0)
    assert abs(float(vector @ taken[:, 0])) < 1e-12
    assert abs(float(vector @ vector) - 1) < 1e-12
    assert abs(float(vector[1])) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("gap", [3e16, 1e17, 1e18])
def test_a_scale_that_rounds_to_nothing(gap: float) -> None:
    """Gaps that are all as large: κ cancels them to 0, and is raised until there is a factor."""
    column = _Column(np.full(4, gap), 2, SeededBits(0))
    taken = np.eye(4)[:, :1]
    assert column._factor(taken, -gap) is None
    factor = column._tuned(taken, 0)
    assert np.isfinite(factor.trace)
    assert factor.trace > 0


@pytest.mark.parametrize(("sweeps", "told"), [(1, [0.0]), (128, [0.0]), (300, [0.0, 128 / 300, 256 / 300])])
def test_progress_is_that_of_the_sweeps(sweeps: int, told: list[float]) -> None:
    seen: list[float | None] = []
    spectrum = np.array([3.0, 2.0, 1.0, 0.0])
    state = matrix_bingham(spectrum, 2, 0.5, sweeps, SeededBits(1), seen.append)
    assert seen == told
    np.testing.assert_array_equal(state, matrix_bingham(spectrum, 2, 0.5, sweeps, SeededBits(1)))
