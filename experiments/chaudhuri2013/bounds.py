"""Figure 1, what MOD-SULQ cannot exceed (Theorem 15), and the packing of Theorem 8 as printed and as its lemma gives it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from dpcov.bounds import mod_sulq_correlation, packing_gap
from experiments.frame import Experiment, Lines, Panel, Point

DELTA = 0.01
DIMENSIONS = (50, 100, 500, 1000)  # 50 and 1000 are printed, the two between are not
EPSILONS = (0.01, 0.1, 0.5, 1.0, 2.0)
PRINTED, LEMMA = "1 − φ, as printed", "1 − φ, by its lemma"
PACKING = "1 − φ"


def run(point: Point, wanted: Lines, _seed: int, _data: Path | None) -> Mapping[str, float]:
    d = int(point.settings["d"])
    if point.panel == PACKING:
        return {line: packing_gap(d, constants="paper" if line == PRINTED else "tight") for line in wanted}
    return {line: mod_sulq_correlation(int(point.x), d, float(line.removeprefix("ε = ")), DELTA) for line in wanted}


def _theorem15(_: bool) -> list[Point]:
    lines = {f"ε = {epsilon:g}": {"formula": "Theorem 15"} for epsilon in EPSILONS}
    sizes = [float(f"{n:.6g}") for n in np.geomspace(10, 1e6, 21)]
    return [Point(f"d = {d}", float(round(n)), lines, 1, {"d": d}) for d in DIMENSIONS for n in sizes]


def _theorem8(_: bool) -> list[Point]:
    lines = {line: {"formula": "Theorem 8"} for line in (PRINTED, LEMMA)}
    return [Point(PACKING, float(d), lines, 1, {"d": d}) for d in (3, 5, 10, 20, 50, 100, 200, 500, 1000)]


FIGURE1 = Experiment(
    "chaudhuri2013",
    "figure1",
    "Theorem 15: what the correlation of MOD-SULQ does not exceed, δ = 0.01",
    tuple(Panel(f"d = {d}", "rows n", "E|⟨v̂₁, v₁⟩|", yscale="linear", limits=(0.75, 1.01)) for d in DIMENSIONS),
    _theorem15,
    run,
)
THEOREM8 = Experiment(
    "chaudhuri2013",
    "theorem8",
    "Theorem 8: how far apart the packed directions are",
    (Panel(PACKING, "columns d", PACKING),),
    _theorem8,
    run,
)
