"""Means of levels are shares, whatever the mechanism: nonnegative, and at most 1 together in their column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dpcov
from tests.uses.test_correlation import MIXED, mixed_table

Floats = NDArray[np.float64]
COLOUR, FLAG = (MIXED.places()[name] for name in ("colour", "flag"))
TINY, OF_RHO = dpcov.PureDP("0.05"), dpcov.ZCDP("0.0005")  # of 60 rows: shares are nothing but noise
BUDGETS: dict[str, Any] = {
    "laplace": TINY,
    "frobenius": TINY,
    "wishart": TINY,
    "gaussian": OF_RHO,
    "separate": OF_RHO,
    "adaptive": OF_RHO,
    "eigenvectors": TINY,
    "standardized": TINY,
}


def released(name: str, seed: int, **options: Any) -> dpcov.Release:
    table, budget = mixed_table(60), BUDGETS[name]
    return dpcov.covariance(table, budget, schema=MIXED, center=True, mechanism=name, seed=seed, **options)


def in_their_bounds(release: dpcov.Release) -> Floats:
    """Return means one by one inside their bounds, as far as the mechanism itself goes."""
    assert release.estimate.mean is not None
    return np.clip(release.offsets + release.units * release.estimate.mean, *MIXED.bounds())


@pytest.mark.parametrize("name", BUDGETS)
def test_shares_of_a_column_are_at_most_1_together(name: str) -> None:
    for seed in range(6):
        mean = released(name, seed).mean
        for place in (COLOUR, FLAG):
            assert (mean[place] >= 0).all()
            assert mean[place].sum() <= 1 + 1e-12


def test_one_by_one_they_would_be_more() -> None:
    """Else the test above would prove nothing; shares that are at most 1 together stay as they are, and so do numbers."""
    sums = []
    for seed in range(6):
        release = released("wishart", seed)
        plain, mean = in_their_bounds(release), release.mean
        for place in (COLOUR, FLAG):
            sums.append(plain[place].sum())
            if sums[-1] <= 1:
                assert (mean[place] == plain[place]).all()
            else:
                lowered = plain[place] - mean[place]  # the nearest shares: each is lowered by as much, down to 0
                assert np.ptp(lowered[mean[place] > 0]) < 1e-12
                assert mean[place].sum() == pytest.approx(1)
        numbers = [0, MIXED.places()["other"].start]
        assert (mean[numbers] == plain[numbers]).all()
    assert max(sums) > 1.1
    assert min(sums) <= 1


def test_means_alone_have_shares_too() -> None:
    found = [dpcov.mean(mixed_table(60), TINY, schema=MIXED, seed=seed).mean for seed in range(6)]
    assert all(mean[place].sum() <= 1 + 1e-12 and (mean[place] >= 0).all() for mean in found for place in (COLOUR, FLAG))


def test_what_is_left_raw_is_raw() -> None:
    release = released("wishart", 0, postprocess="none")
    assert release.estimate.mean is not None
    np.testing.assert_array_equal(release.mean, release.offsets + release.units * release.estimate.mean)
