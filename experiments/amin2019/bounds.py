"""Section 3.1 as curves: how much variance is needed for a relative error, and errors beside those of Gaussian noise.

Orders of magnitude are as printed, without constants and logarithms where the paper has none. "With constants" is what is
proved.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from dpcov.bounds import enough_variance
from experiments.frame import Experiment, Lines, Panel, Point

EPSILON, GAMMA, D = 1.0, 0.5, 13
VARIANCE, ERROR = "λ₁ needed for ‖Ĉ − C‖ ≤ λ₁/2, ε = 1", "order of the error, d = 13, ε = 1"
SAMPLING, RIVAL, PROVED, OURS = (
    "Corollary 2: 2d³/(εγ²)",
    "Kapralov and Talwar: d⁴/(εγ⁶)",
    "Corollary 2, with constants",
    "ours, with constants",
)
THEOREM = "Theorem 2: √(d³·λ₁·log(λ₁)/ε) + d/ε"
DELTAS = {f"Gaussian, δ = 10⁻{name}: d^1.5·√log(1/δ)/ε": delta for name, delta in (("¹⁶", 1e-16), ("¹⁰", 1e-10), ("³", 1e-3))}


def run(point: Point, wanted: Lines, _seed: int, _data: Path | None) -> Mapping[str, float]:
    x = float(point.x)
    if point.panel == VARIANCE:
        values = {
            SAMPLING: 2 * x**3 / (EPSILON * GAMMA**2),
            RIVAL: x**4 / (EPSILON * GAMMA**6),
            PROVED: enough_variance(int(x), EPSILON, GAMMA, constants="paper", values="spectrum"),
            OURS: enough_variance(int(x), EPSILON, GAMMA),
        }
    else:
        values = {THEOREM: np.sqrt(D**3 * x * max(np.log(x), 1) / EPSILON) + D / EPSILON}
        values |= {name: D**1.5 * np.sqrt(-np.log(delta)) / EPSILON for name, delta in DELTAS.items()}
    return {line: float(values[line]) for line in wanted}


def _points(_: bool) -> list[Point]:
    needed = {line: {"formula": "section 3.1"} for line in (SAMPLING, RIVAL, PROVED, OURS)}
    points = [Point(VARIANCE, float(d), needed, 1) for d in (2, 4, 8, 13, 16, 32, 64, 108, 256)]
    orders = {line: {"formula": "section 3.1"} for line in (THEOREM, *DELTAS)}
    return points + [Point(ERROR, float(f"{x:.6g}"), orders, 1) for x in np.geomspace(1, 1e5, 16)]


BOUNDS = Experiment(
    "amin2019",
    "bounds",
    "Section 3.1: bounds of the paper beside its rivals'",
    (Panel(VARIANCE, "columns d", "λ₁"), Panel(ERROR, "λ₁", "‖Ĉ − C‖_F")),
    _points,
    run,
    ours=(OURS,),
)
