"""Figures 2 and 3: rows Z·U with norms by Zipf's law, against d, n, the number of bins N and ρ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import dpcov
from benchmarks.datasets import dong
from experiments.dong2022.lines import EM, EM_PURE, OURS, PRINTED, RAW, ZERO, errors, lines
from experiments.frame import Experiment, Lines, Options, Panel, Point

RHO = 0.1
DEFAULTS: Options = {"d": 200, "n": 50_000, "bins": 4, "rho": RHO}
COMMON = ("GaussCov", "SeparateCov", "AdaptiveCov", PRINTED, ZERO, OURS)
MOST_FOR_EM = 200  # columns: d draws take long
DIMENSIONS, QUICK_DIMENSIONS = (10, 20, 50, 100, 200, 400, 600, 800), (10, 100, 200, 800)
BUDGETS = (1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0)
ERROR = "Frobenius error"


def run(point: Point, wanted: Lines, seed: int, _: Path | None) -> Mapping[str, float]:
    n, d, bins, rho = (point.settings[name] for name in ("n", "d", "bins", "rho"))
    return errors(point, wanted, dong(int(n), int(d), int(bins), seed), dpcov.ZCDP(f"{rho:g}"), seed)


def _figure2(quick: bool) -> list[Point]:
    points = []
    for n in (1000, 4000, 16_000):
        for d in QUICK_DIMENSIONS if quick else DIMENSIONS:
            names = (*COMMON, RAW, *([EM, EM_PURE] if d <= MOST_FOR_EM else []))
            points.append(
                Point(f"n = {n}", float(d), lines(*names), 3 if quick else 50, {**DEFAULTS, "n": n, "d": d, "bins": 1})
            )
    return points


def _figure3(quick: bool) -> list[Point]:
    def across(panel: str, name: str, places: Sequence[float]) -> list[Point]:
        found = []
        for x in places:
            settings = {**DEFAULTS, name: x}
            names = (*COMMON, *([EM] if settings["d"] <= MOST_FOR_EM and settings["n"] <= DEFAULTS["n"] else []))
            found.append(Point(panel, x, lines(*names), 3 if quick else 50, settings))
        return found

    return [
        *across("(a) bins N", "bins", (1, 4, 32) if quick else (1, 2, 4, 8, 16, 32)),
        *across("(b) columns d", "d", QUICK_DIMENSIONS if quick else DIMENSIONS),
        *across("(c) rows n", "n", (1000, 10_000, 200_000) if quick else (1000, 4000, 10_000, 50_000, 100_000, 200_000)),
        *across("(d) budget ρ", "rho", (1e-4, 1e-2, 10.0) if quick else BUDGETS),
    ]


FIGURE2 = Experiment(
    "dong2022",
    "figure2",
    "Rows of norm 1, ρ = 0.1, against the number of columns",
    tuple(Panel(f"n = {n}", "columns d", ERROR) for n in (1000, 4000, 16_000)),
    _figure2,
    run,
    ours=(OURS,),
)
FIGURE3 = Experiment(
    "dong2022",
    "figure3",
    "Zipf norms: d = 200, n = 50 000, N = 4, ρ = 0.1, but for what varies",
    tuple(
        Panel(name, label, ERROR)
        for name, label in (("(a) bins N", "N"), ("(b) columns d", "d"), ("(c) rows n", "n"), ("(d) budget ρ", "ρ"))
    ),
    _figure3,
    run,
    ours=(OURS,),
)
