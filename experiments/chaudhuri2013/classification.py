"""Table 2: linear classification of rows projected onto k private components.

As in the paper half of the rows give the components; of the other half a tenth trains a linear SVM, the rest tests it. The
penalty is 1 and not tuned. kddcup: normal connections or not. Localization: falling or not; of the paper's five persons only
two are here.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.chaudhuri2013.rows import FILES, LINES, OURS, TITLES, components, options_of, rows_of
from experiments.chaudhuri2013.sets import second_moment
from experiments.data import folder_with
from experiments.frame import Experiment, Lines, Panel, Point

EPSILON, DELTA, SWEEPS, FULL_SWEEPS = "0.1", "0.01", 100, 2000
MAJORITY = "majority"
SETS = ("kddcup", "localization")


@lru_cache(maxsize=1)
def labels(name: str, folder: Path | None) -> NDArray[np.bool_]:
    wanted = "normal." if name == "kddcup" else "falling"
    found: list[bool] = []
    for file in FILES[name]:
        with gzip.open(folder_with(folder, file) / file, "rt") as lines:
            cells = [line.rsplit(",", 1)[-1].strip() for line in lines if line.strip()]
        found += [cell.strip('"') == wanted for cell in cells[0 if name == "kddcup" else 1 :]]
    return np.array(found)


def run(point: Point, wanted: Lines, seed: int, folder: Path | None) -> Mapping[str, float]:
    from sklearn.svm import LinearSVC

    name = point.settings["data"]
    rows, k = rows_of(name, folder)
    classes, order = labels(name, folder), np.random.default_rng((1, seed)).permutation(len(rows))
    half = len(rows) // 2
    train, test = np.split(order[half:], [(len(rows) - half) // 10])
    given = rows[order[:half]]
    moment = second_moment(given)
    found = {}
    for line in wanted:
        if line == MAJORITY:
            found[line] = 100 * max(float(np.mean(classes[test])), float(np.mean(~classes[test])))
            continue
        basis = components(line, dict(point.lines[line]), given, moment, k, (EPSILON, DELTA), seed).T
        model = LinearSVC(C=1.0, random_state=seed).fit(rows[train] @ basis, classes[train])
        found[line] = 100 * float(model.score(rows[test] @ basis, classes[test]))
    return found


def _points(quick: bool) -> list[Point]:
    lines = {line: options_of(line, SWEEPS if quick else FULL_SWEEPS) for line in LINES} | {MAJORITY: {}}
    return [Point("accuracy, %", TITLES.get(name, name), lines, 2 if quick else 25, {"data": name}) for name in SETS]


TABLE2 = Experiment(
    "chaudhuri2013",
    "table2",
    "Accuracy of a linear SVM on k private components, ε = 0.1",
    (Panel("accuracy, %", "", "accuracy, %", yscale="linear"),),
    _points,
    run,
    ours=(OURS,),
)
