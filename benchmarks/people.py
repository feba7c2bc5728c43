"""People with several rows: what releases about people cost in time, memory and accuracy.

``python -m benchmarks.people`` prints tables for docs/people.md, those of `benchmarks.weights` last. Times are of processor
time in a process of their own for each pass; memory is the most that such a process had beyond the same without ``unit``.
``--rows`` makes it smaller.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import dpcov
from benchmarks import weights
from dpcov.kernel.rows.aside import USUAL_PEOPLE, Aside, aside_of
from dpcov.kernel.rows.encoding import Encoding
from dpcov.kernel.rows.grid import DEFAULT_BITS
from dpcov.kernel.sums import ExactSums, check_exact_blas
from dpcov.sources.opening import open_source

COLUMNS, EACH = 10, 10
RUNS_OF_WEIGHTS = 24
PASSES = 5


def write_visits(path: Path, rows: int, people: int, text: bool) -> None:
    """Write rows of people in any order, with an identifier that is a number or text of 12 letters."""
    draw = np.random.default_rng(7500)
    writer = None
    for start in range(0, rows, 2**20):
        count = min(2**20, rows - start)
        who = draw.integers(0, people, count) * 7919 + 10**9
        cells = {f"c{j}": draw.normal(size=count) * 0.2 for j in range(COLUMNS)}
        batch = pa.table({"who": [f"P{one:011d}" for one in who] if text else who, **cells})
        writer = writer or pq.ParquetWriter(path, batch.schema)
        writer.write_table(batch, row_group_size=2**17)
    assert writer is not None
    writer.close()


def one_pass(path: str, unit: str) -> None:
    """Read a second moment, and print the processor's seconds and the megabytes of this process."""
    aside: Aside | None = aside_of(unit, DEFAULT_BITS, USUAL_PEOPLE) if unit else None
    names = [f"c{j}" for j in range(COLUMNS)]
    pa.array([1.0]).to_numpy(), pa.array(["a"]).is_valid().to_numpy(zero_copy_only=False)  # pyarrow imports pandas for these
    source = open_source(path, columns=names, aside=aside)
    sums = ExactSums(source, Encoding(source.feature_names, 1.0, aside=aside), "replace")
    check_exact_blas()
    Path("/proc/self/clear_refs").write_text("5")  # from now on the peak is that of this pass
    before, began = status("VmRSS"), time.process_time()
    sums.read(sums.public.second_moment())
    print(json.dumps([time.process_time() - began, status("VmHWM") - before, source.n]))


def status(field: str) -> float:
    """Return megabytes of this process, as Linux counts them."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) / 1024


def measured(path: Path, units: tuple[str, ...]) -> list[list[float]]:
    """Return the median time and memory, and n, of passes by each unit in turn, each in a process of its own."""
    found: list[list[Any]] = [[] for _ in units]
    for _ in range(PASSES):
        for unit, passes in zip(units, found, strict=True):
            command = [sys.executable, "-m", "benchmarks.people", "--pass", str(path), "--unit", unit]
            passes.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    return [np.median(passes, axis=0).tolist() for passes in found]


def speed(rows: int) -> None:
    """Compare passes over a Parquet file with and without people, beside each other."""
    people = rows // EACH
    print(f"\n{rows:,} rows of {COLUMNS} columns, {people:,} people, Parquet, one process\n")
    print("| identifier | plain pass | by person, both passes | ratio | bytes a person |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("number", False), ("text of 12 letters", True)):
            path = Path(folder) / "visits.parquet"
            write_visits(path, rows, people, text)
            (plain, little, _), (grouped, more, n) = measured(path, ("", "who"))
            each = (more - little) * 2**20 / n
            print(f"| {name} | {plain:.2f} s | {grouped:.2f} s | {grouped / plain:.2f} | {each:.0f} |")


def error(rows: Any, truth: Any, budget: dpcov.ZCDP, runs: int, **given: Any) -> float:
    """Return the r.m.s. Frobenius error of a release over some runs."""
    squares = []
    for _ in range(runs):
        made = dpcov.covariance(rows, budget, row_norm=1, mechanism="gaussian", postprocess="none", **given)
        squares.append(float(((made.second_moment - truth) ** 2).sum()))
    return float(np.sqrt(np.mean(squares)))


def accuracy(people: int = 2000, runs: int = 200) -> None:
    """Ten rows a person that are alike, and ten that are independent, against one row a person."""
    draw, budget = np.random.default_rng(7501), dpcov.ZCDP("1/10")
    spread = np.diag([0.3, 0.2, 0.1, 0.1, 0.05])

    def clipped(count: int) -> Any:
        rows = draw.normal(size=(count, 5)) @ spread
        return rows / np.maximum(np.linalg.norm(rows, axis=1), 1.0)[:, None]

    many = clipped(10**6)
    truth = many.T @ many / len(many)
    who = np.repeat(np.arange(people), EACH)
    single, independent = clipped(people), clipped(people * EACH)
    alike = np.column_stack([np.repeat(single, EACH, axis=0), who])
    several = np.column_stack([independent, who])
    own = single.T @ single / people
    mean = independent.T @ independent / len(independent)
    print(f"\n{people:,} people, rho = 1/10, gaussian, raw; Frobenius errors, {runs} runs\n")
    print("| rows a person | noise | of the data |")
    print("|---|---|---|")
    print(f"| 1 | {error(single, own, budget, runs):.5f} | {np.linalg.norm(own - truth):.5f} |")
    print(f"| 10 alike | {error(alike, own, budget, runs, unit=5):.5f} | {np.linalg.norm(own - truth):.5f} |")
    print(f"| 10 independent | {error(several, mean, budget, runs, unit=5):.5f} | {np.linalg.norm(mean - truth):.5f} |")


def main() -> None:
    """Print all tables, or one pass."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=5_000_000)
    options.add_argument("--data", type=Path, help="folder with adult.data, adult.test and census-income.data")
    options.add_argument("--pass", dest="path", help=argparse.SUPPRESS)
    options.add_argument("--unit", default="", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.path:
        one_pass(given.path, given.unit)
        return
    speed(given.rows)
    accuracy()
    weights.hajek()
    weights.accuracy(given.data, RUNS_OF_WEIGHTS)
    weights.coverage(10 * RUNS_OF_WEIGHTS)


if __name__ == "__main__":
    main()
