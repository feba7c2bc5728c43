"""Section 3.2: how many proposals the sampler of Kent, Ganeiber and Mardia draws for a direction, over the number of columns.

The paper saw a median below d and a mean of about 2d. Counted are proposals up to the one that is accepted, over all
directions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpcov.kernel.bits import Bits
from dpcov.kernel.noise import sphere
from experiments.amin2019.lines import AD, options_of, release_of
from experiments.amin2019.rows import ALL_NAMES, rows_of
from experiments.frame import Experiment, Lines, Panel, Point

MEDIAN, MEAN = "median over d", "mean over d"
EPSILONS = (0.1, 1.0, 4.0)


@contextmanager
def proposals() -> Iterator[list[int]]:
    """Collect, for each direction, how many proposals were drawn up to the accepted one."""
    counts: list[int] = []
    refused = 0
    original = sphere._propose

    def propose(lower: sphere.Floats, count: int, bits: Bits) -> tuple[sphere.Floats, NDArray[np.bool_], float]:
        nonlocal refused
        vectors, accepted, trace = original(lower, count, bits)
        if accepted.any():
            counts.append(refused + int(accepted.argmax()) + 1)
            refused = 0
        else:
            refused += count
        return vectors, accepted, trace

    sphere._propose = propose
    try:
        yield counts
    finally:
        sphere._propose = original


def run(point: Point, wanted: Lines, seed: int, folder: Path | None) -> Mapping[str, float]:
    rows = rows_of(str(point.x), folder)
    with proposals() as counts:
        release_of(options_of(AD), rows, point.settings["epsilon"], seed)
    found = {MEDIAN: float(np.median(counts)) / rows.shape[1], MEAN: float(np.mean(counts)) / rows.shape[1]}
    return {line: found[line] for line in wanted}


def _points(quick: bool) -> list[Point]:
    lines = {MEDIAN: options_of(AD), MEAN: options_of(AD)}
    found = []
    for epsilon in EPSILONS:
        for name in ALL_NAMES:
            runs = (1 if quick else 10) if name.startswith("adult") else (20 if quick else 100)
            found.append(Point(f"ε = {epsilon:g}", name, lines, runs, {"epsilon": epsilon}))
    return found


REJECTIONS = Experiment(
    "amin2019",
    "rejections",
    "Section 3.2: proposals for one direction, over the number of columns",
    tuple(Panel(f"ε = {epsilon:g}", "", "proposals / d", yscale="linear") for epsilon in EPSILONS),
    _points,
    run,
)
