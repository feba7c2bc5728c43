"""Appendix C, ridge regression (the appendix was not at hand): every column from all others, α = 0.001, against ε.

Mean squared errors on the rows, averaged over targets, raw units over the largest norm squared; no intercept. The paper's
penalty 2α is α here. Output perturbation of Chaudhuri et al. pays for each regression: with all of ε for one of them, and
with ε/d.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

import dpcov
from benchmarks.ridge_runs import Truth, model_error, others
from dpcov.uses.solving import solved
from experiments.amin2019.lines import AD, AS_PRINTED, KT, OURS, PRIVATE, Floats, L, options_of, printed, release_of, simulated
from experiments.amin2019.rows import rows_of
from experiments.frame import Experiment, Lines, Options, Panel, Point

ALPHA = 0.001
NONE, NOTHING, OUTPUT, OUTPUT_EACH = (
    "non-private",
    "zero model",
    "output perturbation, one target",
    "output perturbation, all targets",
)
EPSILONS, QUICK_EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 4.0), (0.1, 1.0, 4.0)
DATA = ("wine", "airfoil")


def line_options(line: str) -> Options:
    if line in (NONE, NOTHING):
        return {}
    if line in (OUTPUT, OUTPUT_EACH):
        return {"mechanism": "output-perturbation", "alpha": ALPHA}
    return {**options_of(line), "alpha": "auto" if line == OURS else ALPHA}


def run(point: Point, wanted: Lines, seed: int, folder: Path | None) -> Mapping[str, float]:
    rows, epsilon = rows_of(point.settings["data"], folder), float(point.x)
    truth = Truth.of(rows)
    return {line: float(np.mean(errors(line, dict(point.lines[line]), rows, truth, epsilon, seed))) for line in wanted}


def errors(line: str, options: Options, rows: Floats, truth: Truth, epsilon: float, seed: int) -> Sequence[float]:
    """Return the mean squared error for each target."""
    d = rows.shape[1]
    targets, alpha = range(d), options.pop("alpha", ALPHA)
    if line == NOTHING:
        return [float(truth.about(False)[j, j]) for j in targets]
    if line in (OUTPUT, OUTPUT_EACH):
        budget = dpcov.PureDP(f"{epsilon:g}")
        if line == OUTPUT_EACH:
            budget = dpcov.PureDP(budget.epsilon / d)
        releases = [dpcov.ridge(rows, budget, j, alpha=ALPHA, row_norm=1, seed=seed) for j in targets]
        return [model_error(truth, release, release.ridge()) for release in releases]
    if line == NONE or line.endswith(AS_PRINTED):
        moment = truth.about(False) if line == NONE else simulated(line, rows, epsilon, seed)
        weights = [solved(moment[np.ix_(x, x)], moment[x, j], ALPHA) for j in targets for x in [others(d, j)]]
        return [truth.error(j, others(d, j), weights[j]) for j in targets]
    release = release_of(options, rows, epsilon, seed)
    return [model_error(truth, release, release.ridge(j, alpha=alpha)) for j in targets]


def points(names: tuple[str, ...], quick: bool) -> list[Point]:
    lines = {name: line_options(name) for name in names}
    grid = QUICK_EPSILONS if quick else EPSILONS
    return [Point(data, epsilon, lines, 20 if quick else 100, {"data": data}) for data in DATA for epsilon in grid]


LINES = (NONE, NOTHING, AD, KT, L, printed(10), PRIVATE, OUTPUT, OUTPUT_EACH, OURS)
RIDGE = Experiment(
    "amin2019",
    "appendix-c-ridge",
    "Ridge regression of every column on the others, α = 0.001",
    tuple(Panel(data, "ε", "mean squared error") for data in DATA),
    partial(points, LINES),
    run,
    ours=(OURS,),
)
