"""The mechanisms of Dong, Liang and Yi side by side: Frobenius errors of the second moment of rows of norm at most 1.

Their text clips no eigenvalues, their program does: all lines are clipped at 0 but for "GaussCov, not clipped". AdaptiveCov has
the form of the paper's section 6 and of the program, which differs from what is printed: that is a line of its own.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

import dpcov
from dpcov.kernel.budget import Budget
from experiments.forms import first_known
from experiments.frame import Lines, Options, Point

Floats = NDArray[np.float64]
OURS, ZERO, EM, EM_PURE = "ours (auto)", "zero matrix", "EMCov", "EMCov, ε = √(2ρ)"
PRINTED, RAW = "AdaptiveCov as printed", "GaussCov, not clipped"


def lines(*names: str, notion: str = "zcdp") -> dict[str, Options]:
    return {name: options_of(name, notion) for name in names}


def options_of(name: str, notion: str) -> Options:
    if name == ZERO:
        return {}
    if name == OURS:
        return {"mechanism": "auto"}
    clipped, paper = {"postprocess": "clip"}, {"constants": "paper"}
    if name == RAW:
        return {"mechanism": "gaussian", **paper, "postprocess": "none"}
    if name == EM_PURE:  # how a promise of ε is turned into one of ρ, where the paper composes under zCDP
        return {"promise": "pure", **options_of(EM, "pure")}
    if name == EM:
        spectrum = {"mechanism": "eigenvectors", "values": "spectrum", **paper}
        return first_known("covariance", notion, {**spectrum, **clipped}, {"mechanism": "eigenvectors", **paper, **clipped})
    if name == "AdaptiveCov":
        program = {"mechanism": "adaptive", "constants": "program"}
        return first_known("covariance", notion, {**program, **clipped}, {"mechanism": "adaptive", **paper, **clipped})
    mechanism = {"GaussCov": "gaussian", "LaplaceCov": "laplace", "SeparateCov": "separate", PRINTED: "adaptive"}[name]
    return {"mechanism": mechanism, **paper, **clipped}


def errors(point: Point, wanted: Lines, rows: Floats, budget: Budget, seed: int) -> Mapping[str, float]:
    """Return ‖Σ̃ − Σ‖_F for each line; of the zero matrix it is ‖Σ‖_F."""
    truth = rows.T @ rows / len(rows)
    found = {}
    for line in wanted:
        options = dict(point.lines[line])
        estimate = np.zeros_like(truth)
        if options:
            promised = budget
            if options.pop("promise", None):
                assert isinstance(budget, dpcov.ZCDP)
                promised = dpcov.PureDP(f"{(2 * float(budget.rho)) ** 0.5:.6g}")
            estimate = dpcov.covariance(rows, promised, row_norm=1, seed=seed, **options).second_moment
        found[line] = float(np.linalg.norm(estimate - truth))
    return found
