"""Figures 6 and 7: covariances by rounds, against the number of rows, the public bound and the budget; and the supplement's.

In the paper's form whiteners are undone as they were applied; the authors' program mixes two conventions, which costs nothing
on isotropic rows with few rounds, and much on skewed ones from three rounds on. As there, negative eigenvalues of the last
matrix are taken with their signs changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import dpcov
from experiments.biswas2020.means import BUDGETS, OURS, QUICK_BUDGETS, ROWS
from experiments.biswas2020.rows import Floats, gaussian, kept, mahalanobis, random_of, spectrum
from experiments.frame import Experiment, Lines, Options, Panel, Point

RHO, D = 0.5, 10
SIZES = [float(round(n)) for n in np.linspace(3000, 8000, 12)]
BOUNDS = [float(f"{bound:.6g}") for bound in np.geomspace(10**0.5, 1e4 * 10**0.5, 10)]
ROUNDS = (1, 2, 3, 5)
ERROR, BOUND = "Mahalanobis error", "public bound K"


def rounds(count: int) -> Options:
    """Return the paper's form with so many rounds."""
    plain = {"mechanism": "coinpress", "rounds": count, "postprocess": "none", "eigenvalues": "absolute"}
    return {**plain, "constants": "paper"}


def estimated(rows: Floats, rho: str, options: Options, seed: int, upper: float) -> Floats:
    """Return the covariance by these options."""
    given = dict(options)
    absolute = given.pop("eigenvalues", None) == "absolute"
    moment = dpcov.covariance(rows, dpcov.ZCDP(rho), upper=upper, seed=seed, **given).second_moment
    if absolute:
        values, vectors = np.linalg.eigh(moment)
        moment = (vectors * np.abs(values)) @ vectors.T
    return moment


def lines(counts: Sequence[int] = ROUNDS) -> dict[str, Options]:
    paper = {f"t = {count}": rounds(count) for count in counts}
    return {"non-private": {}, **paper, OURS: {"mechanism": "coinpress"}}


def run(point: Point, wanted: Lines, seed: int, _: Path | None) -> Mapping[str, float]:
    n, d, rho, bound = (point.settings[name] for name in ("n", "d", "rho", "bound"))
    rows, truth = gaussian(int(n), spectrum(point.settings["spectrum"], d, bound), random_of(seed))
    found = {}
    for line in wanted:
        options = dict(point.lines[line])
        estimate = rows.T @ rows / len(rows)
        if options:
            estimate = estimated(rows, str(rho), options, seed, float(bound))
        found[line] = mahalanobis(estimate, truth)
    return found


def _points(
    panel: str, across: str, places: Sequence[float], runs: int, counts: Sequence[int] = ROUNDS, **settings: Any
) -> list[Point]:
    return [Point(panel, x, lines(counts), runs, {**settings, across: x}) for x in places]


def _figure6(quick: bool) -> list[Point]:
    runs = 20 if quick else 100
    usual: Options = {"d": D, "rho": RHO}
    sizes = kept(quick, SIZES, (0, 5, 11))
    points: list[Point] = []
    for name in ("isotropic", "skewed"):
        points += _points(name, "n", sizes, runs, bound=10 * D**0.5, spectrum=name, **usual)
    return points + _points("n = 7000", "bound", kept(quick, BOUNDS, (0, 4, 9)), runs, n=7000, spectrum="isotropic", **usual)


def _figure7(quick: bool) -> list[Point]:
    settings: Options = {"n": 8000, "d": D, "bound": 10 * D**0.5, "spectrum": "isotropic"}
    return _points("n = 8000", "rho", kept(quick, BUDGETS, QUICK_BUDGETS), 20 if quick else 100, (1, 2, 3), **settings)


def _supplement(quick: bool) -> list[Point]:
    runs = 20 if quick else 100
    points = _points("skewed, n = 7000", "bound", kept(quick, BOUNDS, (0, 4, 9)), runs, n=7000, d=D, rho=RHO, spectrum="skewed")
    skewed: Options = {"n": 8000, "d": D, "bound": 10 * D**0.5, "spectrum": "skewed"}
    points += _points("skewed, n = 8000", "rho", kept(quick, BUDGETS, QUICK_BUDGETS), runs, **skewed)
    few: Options = {"d": 2, "rho": RHO, "bound": 10 * 2**0.5, "spectrum": "isotropic"}
    points += _points("d = 2", "n", kept(quick, SIZES, (0, 5, 11)), 100 if quick else 400, **few)
    many: Options = {"d": 100, "rho": RHO, "bound": 100.0, "spectrum": "isotropic"}
    return points + _points("d = 100", "n", (20_000.0, 50_000.0, 100_000.0), 3 if quick else 20, **many)


FIGURE6 = Experiment(
    "biswas2020",
    "figure6",
    "Covariances, d = 10, ρ = 0.5: isotropic and skewed rows (K = 10√d), and against the public bound",
    (Panel("isotropic", ROWS, ERROR), Panel("skewed", ROWS, ERROR), Panel("n = 7000", BOUND, ERROR)),
    _figure6,
    run,
    "trimmed",
    ours=(OURS,),
)
FIGURE7 = Experiment(
    "biswas2020",
    "figure7",
    "Covariances, d = 10, n = 8000, K = 10√d, isotropic, against the budget",
    (Panel("n = 8000", "ρ", ERROR),),
    _figure7,
    run,
    "trimmed",
    ours=(OURS,),
)
SUPPLEMENT_COVARIANCES = Experiment(
    "biswas2020",
    "supplement-covariances",
    "Covariances: skewed rows against bound and budget; two and a hundred columns",
    (
        Panel("skewed, n = 7000", BOUND, ERROR),
        Panel("skewed, n = 8000", "ρ", ERROR),
        Panel("d = 2", ROWS, ERROR),
        Panel("d = 100", ROWS, ERROR),
    ),
    _supplement,
    run,
    "trimmed",
    ours=(OURS,),
)
