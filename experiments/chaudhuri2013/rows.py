"""The paper's data sets, and its mechanisms side by side: PPCA, MOD-SULQ, SULQ, a random subspace, and this library's own.

PPCA has all of ε for the subspace, as in the paper: the fortieth that the library keeps for variances comes on top. SULQ as
printed, with noise on each of d² entries, has no real eigenvectors; here the symmetric part is taken. It is simulated.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import dpcov
from experiments.chaudhuri2013.sets import SETS, Principal, Table, second_moment
from experiments.data import folder_with
from experiments.frame import Options

Floats = NDArray[np.float64]
Promise = tuple[str, str]
"""ε, and δ for those that have one."""
FILES = {
    "kddcup": ("kddcup.data_10_percent.gz",),
    "census": ("census-income.data.bz2",),
    "insurance": ("ticdata2000.txt.gz", "ticeval2000.txt.gz"),
    "localization": ("localization_personA.csv.gz", "localization_personB.csv.gz"),
}
TITLES = {"localization": "localization (persons A, B)"}
"""Where the data are not all of the paper's."""
BEST, PPCA, MOD_SULQ, SULQ, RANDOM, OURS = "non-private", "PPCA", "MOD-SULQ", "SULQ (simulated)", "random", "ours (auto)"
WISHART = "ours (wishart)"
LINES = (BEST, PPCA, MOD_SULQ, SULQ, RANDOM, OURS)


@lru_cache(maxsize=1)
def rows_of(name: str, folder: Path | None) -> Principal:
    return SETS[name](folder_with(folder, *FILES[name]))


@lru_cache(maxsize=1)
def whole_moment(name: str, folder: Path | None) -> Floats:
    return second_moment(rows_of(name, folder).rows)


def options_of(line: str, sweeps: int) -> Options:
    if line == PPCA:
        return {"mechanism": "ppca", "approximate": True, "sweeps": sweeps}
    if line == MOD_SULQ:
        return {"mechanism": "mod-sulq"}
    return {} if line == BEST else {"mechanism": "auto"} if line == OURS else {"simulated": line.split()[0]}


def components(
    line: str, options: Options, rows: Table, moment: Floats, k: int, promise: Promise, seed: int, row_norm: float = 1.0
) -> Floats:
    """Return k components in rows; ``moment`` is that of the rows."""
    d, (epsilon, delta) = len(moment), promise
    if line == BEST:
        return largest(moment, k)
    if line == RANDOM:
        return np.asarray(np.linalg.qr(np.random.default_rng((2, seed)).standard_normal((d, k)))[0].T)
    if line == SULQ:
        deviation = row_norm**2 * np.sqrt(8) * d * np.log(d / float(delta)) / (len(rows) * float(epsilon))
        noise = np.random.default_rng((2, seed)).standard_normal((d, d)) * deviation
        return largest(moment + (noise + noise.T) / 2, k)
    budget = dpcov.ApproxDP(epsilon, delta) if line == MOD_SULQ else dpcov.PureDP(epsilon)
    if line == PPCA:
        budget = dpcov.PureDP(Fraction(epsilon) * 40 / 39)
    return dpcov.pca(rows, budget, k, row_norm=row_norm, seed=seed, **options).components


def largest(moment: Floats, k: int) -> Floats:
    return np.asarray(np.linalg.eigh(moment)[1].T[::-1][:k])


def captured(found: Floats, moment: Floats) -> float:
    """Return q_F = tr(V A Vᵀ)."""
    return float(np.sum((found @ moment) * found))
