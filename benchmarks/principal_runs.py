"""What the tables of principal components share: mechanisms side by side on the same rows, and the variance that they capture.

q_F(V) = tr(V A Vᵀ), where A is the second moment of the rows as they are, before anything is clipped.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import dpcov
from benchmarks.common import RESULTS, Mean
from dpcov.kernel.budget import Budget
from experiments.chaudhuri2013.sets import Floats, Table, second_moment

EPSILON = dpcov.PureDP("0.1")
SWEEPS = 200
BEST = "non-private"
Line = tuple[Budget, dict[str, Any]]
"""A budget, and options of `dpcov.pca`."""
Maker = Callable[[np.random.Generator], Table]


def subspace(epsilon: Fraction, sweeps: int = SWEEPS) -> Line:
    """Return `ppca` with all of epsilon for the subspace, as in the paper; the fortieth for variances comes on top."""
    return dpcov.PureDP(epsilon * 40 / 39), {"mechanism": "ppca", "approximate": True, "sweeps": sweeps}


LINES: dict[str, Line] = {
    "auto": (EPSILON, {}),
    "ppca": subspace(EPSILON.epsilon),
    "wishart": (EPSILON, {"mechanism": "wishart"}),
    "eigenvectors": (EPSILON, {"mechanism": "eigenvectors"}),
    "mod-sulq": (dpcov.ApproxDP("0.1", "0.01"), {"mechanism": "mod-sulq"}),
    "random": (EPSILON, {"mechanism": "random"}),
}
STYLES = {  # colours that the colour-blind can tell apart (Okabe and Ito), and markers
    BEST: ("#000000", ""),
    "auto": ("#d55e00", "o"),
    "ppca": ("#0072b2", "s"),
    "wishart": ("#009e73", "v"),
    "eigenvectors": ("#e69f00", "d"),
    "mod-sulq": ("#cc79a7", "^"),
    "random": ("#999999", "x"),
}


def captured(components: Floats, moment: Floats) -> float:
    return float(np.sum((components @ moment) * components))


def compare(make: Maker, runs: int, k: int, lines: Mapping[str, Line], row_norm: float = 1.0) -> dict[str, Mean]:
    """Return the variance captured, without privacy first and by the lines, on the same rows, for seeds 0, 1, ..."""
    found: dict[str, list[float]] = {name: [] for name in (BEST, *lines)}
    for seed in range(runs):
        rows = make(np.random.default_rng((1, seed)))  # default_rng(seed) would give the bits that the release draws noise from
        moment = second_moment(rows)
        found[BEST].append(float(np.linalg.eigvalsh(moment)[-k:].sum()))
        for name, (budget, options) in lines.items():
            release = dpcov.pca(rows, budget, k, row_norm=row_norm, seed=seed, **options)
            found[name].append(captured(release.components, moment))
    return {name: Mean.of(values) for name, values in found.items()}


def records_of(found: Mapping[str, Mean], **where: object) -> list[dict[str, object]]:
    return [{**where, "line": name, "captured": mean.value, "s.e.": mean.error} for name, mean in found.items()]


def read(name: str) -> list[dict[str, str]]:
    """Return the records of a table in the results, none where there is no table."""
    path = RESULTS / name
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def cells(found: Mapping[str, Mean]) -> list[str]:
    return [f"{mean.value:.4f} ± {mean.error:.4f}" for mean in found.values()]


def panels(count: int, width: float, height: float) -> tuple[Figure, Sequence[Any]]:
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = list(np.atleast_1d(figure.subplots(1, count)))
    for one in axes:
        one.spines[["top", "right"]].set_visible(False)
    return figure, axes


def draw(axes: Any, records: Sequence[Mapping[str, str]], across: str) -> None:
    """Draw the variance captured against a column, with two standard errors to either side."""
    for name, (color, marker) in STYLES.items():
        points = np.array([[float(r[key]) for key in (across, "captured", "s.e.")] for r in records if r["line"] == name])
        if len(points):
            x, y, error = points.T
            axes.errorbar(x, y, 2 * error, color=color, marker=marker, label=name, markersize=4, linewidth=1.4)
    axes.set(xscale="log", ylim=(0, None))
