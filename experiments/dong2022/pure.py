"""The pure-DP versions of Figure 3 (the paper's Appendix J, which was not at hand): the program's budgets, ε from 0.05 to 6.4.

Its 500 000 rows take 800 MB; the quick version has 50 000.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import dpcov
from benchmarks.datasets import dong
from experiments.dong2022.lines import EM, OURS, PRINTED, ZERO, errors, lines
from experiments.dong2022.synthetic import ERROR
from experiments.frame import Experiment, Lines, Panel, Point

COMMON = ("LaplaceCov", "SeparateCov", "AdaptiveCov", PRINTED, EM, ZERO, OURS)
EPSILONS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4)
FEW, MANY, BY_BINS, BY_COLUMNS = "n = 50 000", "n = 500 000", "ε = 0.8, n = 50 000, bins", "ε = 0.8, n = 50 000, columns"


def run(point: Point, wanted: Lines, seed: int, _: Path | None) -> Mapping[str, float]:
    n, d, bins, epsilon = (point.settings[name] for name in ("n", "d", "bins", "epsilon"))
    return errors(point, wanted, dong(int(n), int(d), int(bins), seed), dpcov.PureDP(f"{epsilon:g}"), seed)


def _points(quick: bool) -> list[Point]:
    runs, usual, names = 3 if quick else 50, {"n": 50_000, "d": 200, "bins": 4, "epsilon": 0.8}, lines(*COMMON, notion="pure")
    epsilons = (0.05, 0.8, 6.4) if quick else EPSILONS
    points = [Point(FEW, epsilon, names, runs, {**usual, "epsilon": epsilon}) for epsilon in epsilons]
    points += [Point(BY_BINS, float(bins), names, runs, {**usual, "bins": bins}) for bins in (1, 4, 32)]
    points += [Point(BY_COLUMNS, float(d), names, runs, {**usual, "d": d}) for d in (10, 50, 200)]
    if not quick:
        points += [Point(MANY, epsilon, names, runs, {**usual, "n": 500_000, "epsilon": epsilon}) for epsilon in epsilons]
    return points


PURE = Experiment(
    "dong2022",
    "pure",
    "Pure DP (the paper's Appendix J): d = 200, N = 4, but for what varies",
    (
        Panel(FEW, "ε", ERROR),
        Panel(BY_BINS, "bins N", ERROR),
        Panel(BY_COLUMNS, "columns d", ERROR),
        Panel(MANY, "ε", ERROR),
    ),
    _points,
    run,
    ours=(OURS,),
)
