"""Table 1: the data sets' sizes, the variance that k components capture, and its part of all.

The table calls that part q_F(V_k)/‖A‖_F. What it prints is q_F over the trace of A; both are here.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from experiments.chaudhuri2013.rows import FILES, captured, largest, rows_of, whole_moment
from experiments.frame import Experiment, Lines, Panel, Point

CAPTURED, RATIO, SIZE = "q_F(V_k)", "q_F(V_k) / ‖A‖_F", "instances and dimensions"
TRACE, NORM = "over the trace", "over ‖A‖_F"
FOUND = {CAPTURED: ("found",), RATIO: (TRACE, NORM), SIZE: ("instances", "dimensions")}


def run(point: Point, wanted: Lines, _seed: int, folder: Path | None) -> Mapping[str, float]:
    name = str(point.x)
    rows, k = rows_of(name, folder)
    if point.panel == SIZE:
        sizes = {"instances": float(len(rows)), "dimensions": float(rows.shape[1])}
        return {line: sizes[line] for line in wanted}
    moment = whole_moment(name, folder)
    value = captured(largest(moment, k), moment)
    values = {"found": value, TRACE: value / float(np.trace(moment)), NORM: value / float(np.linalg.norm(moment))}
    return {line: values[line] for line in wanted}


def _points(_: bool) -> list[Point]:
    return [
        Point(panel, name, {line: {"rows": "as in sets.py"} for line in lines}, 1)
        for name in FILES
        for panel, lines in FOUND.items()
    ]


TABLE1 = Experiment(
    "chaudhuri2013",
    "table1",
    "The data sets",
    (Panel(CAPTURED, yscale="linear"), Panel(RATIO, yscale="linear"), Panel(SIZE)),
    _points,
    run,
)
