"""Appendix C, errors against the number of columns (the appendix was not at hand): rows Z·U of norm 1, ε = 1, n = 10 000."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from benchmarks.datasets import dong
from experiments.amin2019.lines import AD, IT_U, KT, OURS, ZERO, L, moment_of, options_of
from experiments.frame import Experiment, Lines, Panel, Point

N = 10_000
LINES = (AD, IT_U, KT, L, ZERO, OURS)
EPSILONS = (1.0, 0.1)


def run(point: Point, wanted: Lines, seed: int, _: Path | None) -> Mapping[str, float]:
    rows = dong(N, int(point.x), 1, seed)
    truth = rows.T @ rows / len(rows)
    epsilon = point.settings["epsilon"]
    estimates = {line: moment_of(line, dict(point.lines[line]), rows, epsilon, seed) for line in wanted}
    return {line: float(np.linalg.norm(estimate - truth)) for line, estimate in estimates.items()}


def _points(quick: bool) -> list[Point]:
    lines = {name: options_of(name) for name in LINES}
    dimensions = (4, 16, 64) if quick else (2, 4, 8, 16, 32, 64, 128)
    return [
        Point(f"ε = {epsilon:g}", float(d), lines, 5 if quick else 50, {"epsilon": epsilon})
        for epsilon in EPSILONS
        for d in dimensions
    ]


DIMENSION = Experiment(
    "amin2019",
    "appendix-c-dimension",
    "Synthetic rows Z·U of norm 1, n = 10 000, against the number of columns",
    tuple(Panel(f"ε = {epsilon:g}", "columns d", "‖Ĉ − C‖_F / n") for epsilon in EPSILONS),
    _points,
    run,
    ours=(OURS,),
)
