"""Every mechanism of this library tells how large its noise is: what is not told is not known, and never 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dpcov
from dpcov.errors import ParameterError
from dpcov.kernel.budget import Budget
from dpcov.mechanisms import ALL
from dpcov.mechanisms.base import Named

ROWS = np.random.default_rng(711).normal(size=(600, 3)) * [0.4, 0.3, 0.1]
BUDGETS: list[Budget] = [dpcov.PureDP(20), dpcov.ZCDP(20), dpcov.ApproxDP(20, "1e-6")]
ASKED: dict[str, dict[str, Any]] = {"ppca": {"approximate": True, "sweeps": 20}}
MATRICES = [named for named in ALL if named.target in ("covariance", "pca")]


def released(named: Named, budget: Budget, neighbors: str, center: bool) -> dpcov.Release:
    options = {"row_norm": 2.0, "mechanism": named, "neighbors": neighbors, "seed": 712, **ASKED.get(named.name, {})}
    if named.target == "pca":
        return dpcov.pca(ROWS, budget, k=2, **options)
    if named.bound == "schema":
        options["row_norm"], options["schema"] = (
            None,
            dpcov.Schema({f"x{j}": dpcov.Numeric(-2, 2) for j in range(ROWS.shape[1])}),
        )
    return dpcov.covariance(ROWS, budget, center=center, **options)


@pytest.mark.parametrize("named", MATRICES, ids=lambda named: f"{named.target}-{named.name}")
def test_a_covariance_that_is_not_0_has_its_noise(named: Named) -> None:
    seen = 0
    for budget in BUDGETS:
        for neighbors in ("replace", "add-remove"):
            for center in (False, True):
                try:
                    found = released(named, budget, neighbors, center and named.target == "covariance").estimate
                except ParameterError:
                    continue
                if found.covariance is not None and found.covariance.any():
                    assert found.noise is not None
                if found.components is not None or (found.covariance is not None and found.covariance.any()):
                    assert found.raw is not None or found.seen is not None
                    seen += 1
    assert seen > 0
