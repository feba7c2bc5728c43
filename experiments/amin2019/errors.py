"""Figure 1: ‖Ĉ − C‖_F/n against ε on wine, airfoil and adult, beside pure mechanisms (a) and beside Gaussian noise (b)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np

from experiments.amin2019.lines import (
    AD,
    EPSILONS,
    IT_U,
    KT,
    OURS,
    PRIVATE,
    QUICK_EPSILONS,
    ZERO,
    L,
    moment_of,
    options_of,
    printed,
)
from experiments.amin2019.rows import ALL_NAMES, rows_of
from experiments.frame import Experiment, Lines, Panel, Point

PURE = (AD, IT_U, KT, L, ZERO, OURS)
GAUSSIAN = (printed(16), printed(10), printed(3), PRIVATE, AD, ZERO, OURS)


def run(point: Point, wanted: Lines, seed: int, folder: Path | None) -> Mapping[str, float]:
    rows = rows_of(point.settings["data"], folder)
    truth = rows.T @ rows / len(rows)
    estimates = {line: moment_of(line, dict(point.lines[line]), rows, float(point.x), seed) for line in wanted}
    return {line: float(np.linalg.norm(estimate - truth)) for line, estimate in estimates.items()}


def points(names: tuple[str, ...], quick: bool) -> list[Point]:
    lines = {name: options_of(name) for name in names}
    found = []
    for data in ALL_NAMES:
        slow = data.startswith("adult")  # seconds for a run
        runs = (4 if slow else 20) if quick else (10 if slow else 50)
        found += [Point(data, epsilon, lines, runs, {"data": data}) for epsilon in (QUICK_EPSILONS if quick else EPSILONS)]
    return found


def _figure(name: str, title: str, lines: tuple[str, ...]) -> Experiment:
    panels = tuple(Panel(data, "ε", "‖Ĉ − C‖_F / n") for data in ALL_NAMES)
    return Experiment("amin2019", name, title, panels, partial(points, lines), run, ours=(OURS,))


FIGURE1A = _figure("figure1a", "Pure DP: iterative eigenvector sampling and its rivals", PURE)
FIGURE1B = _figure(
    "figure1b", "Iterative eigenvector sampling and Gaussian noise under (ε, δ), δ = 10⁻¹⁶, 10⁻¹⁰, 10⁻³", GAUSSIAN
)
