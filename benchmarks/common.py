"""What the tables share: seeded errors, their mean and its standard error, and where results are kept."""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import dpcov
from benchmarks.datasets import Rows
from dpcov.kernel.budget import Budget

RESULTS = Path(__file__).parent / "results"


class Mean(NamedTuple):
    """A mean over runs and its standard error."""

    value: float
    error: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Mean:
        gaps = np.subtract(values, values[0])  # exactly zero where all runs agree
        return cls(float(np.mean(values)), float(np.std(gaps, ddof=1) / np.sqrt(len(values))))

    def over(self, other: Mean) -> Mean:
        """Return the ratio, with the standard error that independent runs give it."""
        ratio = self.value / other.value
        return Mean(ratio, ratio * float(np.hypot(self.error / self.value, other.error / other.value)))

    def __str__(self) -> str:
        return f"{self.value:.3g} ± {self.error:.1g}"


def error(rows: Rows, truth: NDArray[np.float64], budget: Budget, runs: int, row_norm: float = 1, **options: Any) -> Mean:
    """Return the Frobenius error of the second moment, over runs with seeds 0, 1, ..."""
    releases = (dpcov.covariance(rows, budget, row_norm=row_norm, seed=seed, **options) for seed in range(runs))
    return Mean.of([float(np.linalg.norm(release.second_moment - truth)) for release in releases])


def plain(budget: Budget) -> str:
    """Return the mechanism that adds noise to the second moment and does nothing else to the rows, by the notion."""
    return "wishart" if isinstance(budget, dpcov.PureDP) else "gaussian"


def run(parser: argparse.ArgumentParser, what: str, parts: Mapping[str, Callable[[], None]]) -> None:
    """Run one part by its name, or all of them, and say how long each took."""
    if what not in ("all", *parts):
        parser.error(f"what must be one of all, {', '.join(parts)}, pictures")
    for name in parts if what == "all" else [what]:
        start = time.perf_counter()
        parts[name]()
        print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)


def write(name: str, records: Sequence[Mapping[str, object]]) -> None:
    """Write a table to the results."""
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / name).open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(records[0]))
        writer.writeheader()
        writer.writerows(records)
