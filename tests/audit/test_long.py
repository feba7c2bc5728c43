"""Slower evidence, for `make audit`: the black box with many trials, so that smaller violations would show."""

from __future__ import annotations

import numpy as np
import pytest

from dpcov import PureDP
from dpcov.kernel.budget import ZCDP, Budget
from dpcov.verify.audit import audit_covariance

BASE = np.array([[0.5, 0.5], [0.3, -0.1]])
PAIRS = {"e1 by e2": (np.eye(2)[:1], np.eye(2)[1:]), "e1 by 0": (np.eye(2)[:1], np.zeros((1, 2)))}


@pytest.mark.audit
@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize(
    ("mechanism", "budget"),
    [("gaussian", ZCDP("0.5")), ("laplace", PureDP(1)), ("wishart", PureDP(1)), ("frobenius", PureDP(1))],
)
def test_many_releases_stay_under_the_promise(mechanism: str, budget: Budget, pair: str) -> None:
    """Rejects correct code with probability below 4e-6. Half the Gaussian noise, or a third of a pure one, would be proved."""
    one, other = (np.vstack([BASE, row]) for row in PAIRS[pair])
    findings = audit_covariance(one, other, budget, trials=30_000, mechanism=mechanism)
    for finding in findings:
        print(f"{mechanism}, {pair}: at delta = {finding.delta:g} promised {finding.promised:.3f}, proved {finding.proved:.3f}")
    assert not any(finding.violated for finding in findings)
