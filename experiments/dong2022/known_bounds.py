"""Figure 1: worst-case error bounds against d, for fixed n: orders of magnitude as in the paper, and with their constants.

The lower bound is √d/n, and d/n up to √n columns; the Gaussian mechanism has d/n, SeparateCov d^¼/√n. With constants: Theorem 2
and the Gaussian mechanism's norm, ρ = 0.1, but for a probability of 0.05.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from dpcov.bounds import clipped_gaussian_noise, worst_case_error
from experiments.frame import Experiment, Lines, Panel, Point

N, RHO, BETA = 16_000, 0.1, 0.05
ORDERS, CONSTANTS = "orders of magnitude", "with constants, ρ = 0.1"
TRIVIAL = "zero matrix"


def run(point: Point, wanted: Lines, _seed: int, _data: Path | None) -> Mapping[str, float]:
    d = float(point.x)
    if point.panel == CONSTANTS:
        values = {
            "upper: Gaussian mechanism": clipped_gaussian_noise(1.0, N, int(d), RHO, BETA),
            "upper: SeparateCov": worst_case_error(N, int(d), RHO, BETA),
            "upper: SeparateCov, our noise": worst_case_error(N, int(d), RHO, BETA, noise="isometric"),
            TRIVIAL: 1.0,
        }
    else:
        values = {
            "lower bound": d / N if d < N**0.5 else max(d**0.5 / N, N**-0.5),
            "upper: Gaussian mechanism": d / N,
            "upper: SeparateCov": d**0.25 / N**0.5,
            TRIVIAL: 1.0,
        }
    return {line: values[line] for line in wanted}


def _points(_: bool) -> list[Point]:
    orders = ("lower bound", "upper: Gaussian mechanism", "upper: SeparateCov", TRIVIAL)
    formula = {"formula": "orders"}
    points = [Point(ORDERS, float(d), dict.fromkeys(orders, formula), 1) for d in np.unique(np.geomspace(1, N**2, 25).round())]
    bounds = ("upper: Gaussian mechanism", "upper: SeparateCov", "upper: SeparateCov, our noise", TRIVIAL)
    formula = {"formula": "Theorem 2"}
    return points + [
        Point(CONSTANTS, float(d), dict.fromkeys(bounds, formula), 1) for d in np.unique(np.geomspace(2, 1e6, 20).round())
    ]


FIGURE1 = Experiment(
    "dong2022",
    "figure1",
    f"Known worst-case bounds of the Frobenius error, n = {N:,}".replace(",", " "),
    (Panel(ORDERS, "columns d", "error"), Panel(CONSTANTS, "columns d", "error")),
    _points,
    run,
    ours=("upper: SeparateCov, our noise",),
)
