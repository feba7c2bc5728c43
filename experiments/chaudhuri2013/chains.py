"""Figure 2: how the Gibbs sampler forgets its start, F_k(T) of chains that know the true eigenvalues: no release."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import numpy as np

from dpcov.uses.convergence import traces
from experiments.chaudhuri2013.rows import Floats, rows_of, whole_moment
from experiments.frame import Experiment, Lines, Panel, Point

EPSILON, K, LENGTH = 0.1, 4, 20_000
CHAIN, INDEPENDENT = "chain", "independent states: 1/√T"
SETS = ("kddcup", "insurance")


@lru_cache(maxsize=16)
def _trace(name: str, chain: int, folder: Path | None) -> Floats:
    spectrum = np.linalg.eigvalsh(whole_moment(name, folder))[::-1] * len(rows_of(name, folder).rows)
    return np.asarray(traces(np.maximum(spectrum, 0.0), K, EPSILON / 2, LENGTH, [chain])[0])


def run(point: Point, wanted: Lines, _: int, folder: Path | None) -> Mapping[str, float]:
    sweeps = int(point.x)
    return {
        line: sweeps**-0.5 if line == INDEPENDENT else float(_trace(point.panel, int(line.split()[1]), folder)[sweeps - 1])
        for line in wanted
    }


def _points(quick: bool) -> list[Point]:
    lines = {f"{CHAIN} {number}": {"sampler": "ppca's"} for number in range(1 if quick else 5)} | {INDEPENDENT: {}}
    at = np.unique(np.geomspace(1, LENGTH, 25).round())
    return [Point(name, float(sweeps), lines, 1) for name in SETS for sweeps in at]


FIGURE2 = Experiment(
    "chaudhuri2013",
    "figure2",
    "F_k(T) of chains, k = 4, ε = 0.1",
    tuple(Panel(name, "sweeps T", "F_k(T)") for name in SETS),
    _points,
    run,
)
