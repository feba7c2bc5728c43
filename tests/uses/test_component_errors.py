"""Errors of parts of the variance: a part and the rest of it add up to 1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dpcov

ROWS = np.random.default_rng(0).normal(size=(300, 4)) * (0.3, 0.1, 0.2, 0.05)
MADE: dict[str, tuple[dpcov.PureDP | dpcov.ZCDP, dict[str, Any]]] = {
    "gaussian": (dpcov.ZCDP("0.05"), {"center": True}),
    "wishart": (dpcov.PureDP(1), {"center": True}),
    "frobenius": (dpcov.PureDP(100), {}),
    "eigenvectors": (dpcov.ZCDP(5), {}),
}


@pytest.mark.parametrize("name", MADE)
def test_a_part_and_the_rest_are_equally_uncertain(name: str) -> None:
    """Of two columns p and 1 − p have one error; of four, so have the first three together and the last."""
    budget, given = MADE[name]
    for d in (2, 4):
        release = dpcov.covariance(ROWS[:, :d], budget, row_norm=1, mechanism=name, seed=1, **given)
        errors = release.pca(d).errors
        assert np.isfinite(errors.ratio).all()
        assert errors.cumulative[-1] == 0
        assert errors.cumulative[-2] == pytest.approx(errors.ratio[-1], rel=1e-9)
        assert errors.cumulative[0] == errors.ratio[0] > 0


def test_they_are_as_large_as_parts_are_off() -> None:
    """Where denoising moved the total: over 100 literal seeds, between the r.m.s. error and one and a half times that."""
    true = np.sort(np.linalg.eigvalsh(np.cov(ROWS[:, :2].T)))[::-1]
    found = [
        dpcov.covariance(ROWS[:, :2], dpcov.ZCDP("0.05"), row_norm=1, center=True, mechanism="gaussian", seed=seed).pca(2)
        for seed in range(100)
    ]
    off = np.sqrt(np.mean([(one.ratio - true / true.sum()) ** 2 for one in found], axis=0))
    said = np.median([one.errors.ratio for one in found], axis=0)
    assert (off * 0.8 < said).all()
    assert (said < off * 1.5).all()
