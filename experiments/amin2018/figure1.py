"""Figure 1: Frobenius errors on wine and airfoil (a, b), and ridge regression of every column on the others (c, d).

Errors are divided by n, as in the second paper. The exponential mechanism (E), which the paper leaves out "due to extremely
large errors", is drawn: its errors are like those of Laplace noise.
"""

from __future__ import annotations

from functools import partial

from experiments.amin2019 import errors, regressions
from experiments.amin2019.lines import AD, EPSILONS, OURS, PRIVATE, QUICK_EPSILONS, ZERO, E, L, options_of, printed
from experiments.amin2019.rows import UNIT
from experiments.frame import Experiment, Panel, Point

SETS = {"(a) wine": "wine", "(b) airfoil": "airfoil"}
PANELS = {**SETS, **{name + UNIT: data + UNIT for name, data in SETS.items()}}
LINES = (AD, L, printed(10), PRIVATE, E, ZERO, OURS)
REGRESSED = (regressions.NONE, regressions.NOTHING, AD, L, printed(10), PRIVATE, E, OURS)


def _points(quick: bool) -> list[Point]:
    lines = {name: options_of(name) for name in LINES}
    grid = QUICK_EPSILONS if quick else EPSILONS
    runs = 20 if quick else 100
    return [Point(panel, epsilon, lines, runs, {"data": data}) for panel, data in PANELS.items() for epsilon in grid]


ERRORS = Experiment(
    "amin2018",
    "figure1ab",
    "Frobenius error of the second moment",
    tuple(Panel(name, "ε", "‖Ĉ − C‖_F / n") for name in PANELS),
    _points,
    errors.run,
    ours=(OURS,),
)
REGRESSIONS = Experiment(
    "amin2018",
    "figure1cd",
    "Ridge regression of every column on the others: (c) wine, (d) airfoil",
    tuple(Panel(data, "ε", "mean squared error") for data in regressions.DATA),
    partial(regressions.points, REGRESSED),
    regressions.run,
    ours=(OURS,),
)
