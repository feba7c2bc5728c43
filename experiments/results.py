"""What is kept: each run as it ends, so that an interrupted experiment goes on; and a tidy summary of all runs of a point."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.frame import Experiment, Point, place

RUNS = Path(__file__).parent / "runs"
RUN_COLUMNS = ("panel", "x", "line", "form", "seed", "value", "seconds")
COLUMNS = ("panel", "x", "line", "form", "runs", "value", "error")
COSTS = ("experiment", "size", "runs", "cpu_seconds")
TRIM = 0.1  # from either side, as in the CoinPress paper

Key = tuple[str, str, str, str, int]
"""Panel, place, line, form and seed."""


class Record(NamedTuple):
    """A line at a place: what its runs come to, and the standard error of that."""

    panel: str
    x: str
    line: str
    form: str
    runs: int
    value: float
    error: float


class Store:
    """The runs of one experiment in a file that grows by whole jobs."""

    def __init__(self, folder: Path, experiment: Experiment) -> None:
        self.path = folder / f"{experiment.paper}-{experiment.name}.csv"
        self.values: dict[Key, float] = {}
        self.seconds: dict[Key, float] = {}

    def load(self) -> None:
        """Read what is there; a line that was cut off when its process was killed is left out, and written over."""
        if self.path.exists():
            with self.path.open(newline="", encoding="utf-8") as file:
                for row in csv.reader(file):
                    self._keep(row)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(self._row(key) for key in self.values)

    def add(self, point: Point, seed: int, found: Mapping[str, float], seconds: float) -> None:
        keys = []
        for line, value in found.items():
            key = (point.panel, place(point.x), line, point.form(line), seed)
            self.values[key], self.seconds[key] = value, seconds / len(found)
            keys.append(key)
        with self.path.open("a", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(self._row(key) for key in keys)

    def missing(self, point: Point, seed: int) -> tuple[str, ...]:
        """Return the lines of a point that this seed was not run with."""
        at = point.panel, place(point.x)
        return tuple(line for line in point.lines if (*at, line, point.form(line), seed) not in self.values)

    def records(self, points: Iterable[Point], summary: str) -> list[Record]:
        found = []
        for point in points:
            for line in point.lines:
                at = (point.panel, place(point.x), line, point.form(line))
                values = [self.values[key] for seed in range(point.runs) if (key := (*at, seed)) in self.values]
                if values:
                    found.append(Record(*at, len(values), *SUMMARIES[summary](np.array(values))))
        return found

    def cost(self, points: Iterable[Point]) -> tuple[int, float]:
        """Return how many runs of lines the points have, and their CPU seconds."""
        keys = [
            key
            for point in points
            for line in point.lines
            for seed in range(point.runs)
            if (key := (point.panel, place(point.x), line, point.form(line), seed)) in self.values
        ]
        return len(keys), sum(self.seconds[key] for key in keys)

    def _keep(self, row: Sequence[str]) -> None:
        try:
            panel, x, line, form, seed, value, seconds = row
            key = (panel, x, line, form, int(seed))
            self.values[key], self.seconds[key] = float(value), float(seconds)
        except ValueError:
            return

    def _row(self, key: Key) -> tuple[object, ...]:
        return (*key, f"{self.values[key]:.9g}", f"{self.seconds[key]:.4g}")


def mean(values: NDArray[np.float64]) -> tuple[float, float]:
    error = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
    return float(np.mean(values)), error


def trimmed(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the mean without a tenth of the runs at either end, and the standard error of the jackknife."""
    count = len(values)
    if count < 3:
        return mean(values)
    left_out = [_middle(np.delete(values, run)) for run in range(count)]
    return _middle(values), float(np.std(left_out) * np.sqrt(count - 1))


def _middle(values: NDArray[np.float64]) -> float:
    cut = int(TRIM * len(values) + 0.5)
    return float(np.sort(values)[cut : len(values) - cut].mean())


def median(values: NDArray[np.float64]) -> tuple[float, float]:
    return float(np.median(values)), 1.25 * mean(values)[1]  # the factor is that of Gaussian values


SUMMARIES = {"mean": mean, "trimmed": trimmed, "median": median}


def results_path(out: Path | None, experiment: Experiment) -> Path:
    folder = experiment.folder if out is None else out / experiment.paper
    return folder / "results" / f"{experiment.name}.csv"


def read_records(path: Path) -> list[Record]:
    """Return the records of a summary, none where there is no file."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [
            Record(r["panel"], r["x"], r["line"], r["form"], int(r["runs"]), float(r["value"]), float(r["error"]))
            for r in csv.DictReader(file)
        ]


def write_records(path: Path, records: Sequence[Record], points: Iterable[Point]) -> None:
    """Write a summary; what could not be run now, for want of data, keeps what it had."""
    lost = {(point.panel, place(point.x), line) for point in points for line in point.lines} - {r[:3] for r in records}
    rows = [*records, *(old for old in read_records(path) if old[:3] in lost)]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows((*r[:5], f"{r.value:.5g}", f"{r.error:.2g}") for r in rows)


def write_cost(path: Path, experiment: Experiment, size: str, runs: int, seconds: float) -> None:
    """Note the CPU seconds of an experiment beside its results."""
    rows: list[dict[str, str]] = []
    if path.exists():
        with path.open(newline="", encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file) if (row["experiment"], row["size"]) != (experiment.name, size)]
    rows.append({"experiment": experiment.name, "size": size, "runs": str(runs), "cpu_seconds": f"{seconds:.3g}"})
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=COSTS)
        writer.writeheader()
        writer.writerows(sorted(rows, key=lambda row: (row["experiment"], row["size"])))
