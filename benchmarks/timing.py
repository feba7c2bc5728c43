"""How many bits an attacker with a stopwatch gets: of one secret bit, from the processor time of one call.

    python -m benchmarks.timing            measure, and put the table into docs/known-limitations.md
    python -m benchmarks.timing --print    print it only

Two inputs, A and B, are told apart by nothing but how long a call takes. A fair coin says which of them is used, `CALLS`
times, and the processor time of each call is noted: no waiting for a disk or for another process is in it, so that an
attacker who sees the clock on the wall sees less. The bits are the mutual information of coin and time, by the histogram over
`BINS` equally frequent times. Such an estimate is too large by (BINS − 1)/(2·CALLS·log 2) on average where time tells nothing
(Miller and Madow), which is subtracted. What chance alone reaches is found by tossing the coins anew: a figure below the
largest of `TOSSES` such ones is no evidence of anything, and is printed as such. "Guessed" is how often a rule that was
learnt from half of the calls names the input of a call of the other half.
"""

from __future__ import annotations

import argparse
import gc
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import dpcov
from dpcov.kernel.bits import SystemBits
from dpcov.kernel.noise.choice import SparseVector, choose, choose_among_many, first_above
from dpcov.kernel.noise.discrete import discrete_gaussian, discrete_laplace
from dpcov.kernel.noise.sphere import bingham, decomposed, eigenvalues
from dpcov.kernel.noise.subspace import matrix_bingham
from dpcov.kernel.questions.calibrated import calibrated
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.rows.grid import Grid
from dpcov.sources.opening import open_source

PAGE = Path(__file__).parents[1] / "docs" / "known-limitations.md"
BEGIN, END = "<!-- Made by benchmarks/timing.py -->", "<!-- end of what is made -->"
CALLS, BINS, TOSSES, WARM = 4000, 16, 200, 50
FEW = 1000
"""Calls of what takes milliseconds."""
BITS = SystemBits()

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Case:
    """Two calls that differ in a secret."""

    of: str
    secret: str
    first: Callable[[], Any]
    second: Callable[[], Any]
    calls: int = CALLS


@dataclass(frozen=True)
class Told:
    """What processor time told of the secret."""

    case: Case
    microseconds: float
    bits: float
    by_chance: float
    guessed: float

    @property
    def cells(self) -> list[str]:
        """Return the line of the table."""
        bits = f"{self.bits:.3f}" if self.bits > self.by_chance else f"none seen (chance reaches {max(self.by_chance, 0):.3f})"
        return [self.case.of, self.case.secret, f"{self.microseconds:.0f}", bits, f"{100 * self.guessed:.0f} %"]


def information(times: Integers, coins: NDArray[np.bool_]) -> float:
    """Return the mutual information of a coin and a time in bits, less its bias."""
    edges = np.unique(np.quantile(times, np.linspace(0, 1, BINS + 1)[1:-1]))
    places = np.searchsorted(edges, times, side="right")
    table = np.array([np.bincount(places[coins == side], minlength=len(edges) + 1) for side in (False, True)], dtype=float)
    joint = table / table.sum()
    apart = joint.sum(axis=0) * joint.sum(axis=1, keepdims=True)
    there = joint > 0
    found = float((joint[there] * np.log2(joint[there] / apart[there])).sum())
    return found - (int(np.count_nonzero(apart.any(axis=0))) - 1) / (2 * len(times) * math.log(2))


def guessed(times: Integers, coins: NDArray[np.bool_]) -> float:
    """Return how often the more frequent input of a time's bin is right, in the half that it was not learnt from."""
    half = len(times) // 2
    edges = np.quantile(times[:half], np.linspace(0, 1, BINS + 1)[1:-1])
    places = np.searchsorted(edges, times, side="right")
    sides = np.array([np.bincount(places[:half][coins[:half] == side], minlength=BINS) for side in (False, True)])
    return float(np.mean((sides[1] > sides[0])[places[half:]] == coins[half:]))


def measured(case: Case, seed: int = 1) -> Told:
    """Toss coins, and time the calls."""
    draw = np.random.default_rng(seed)
    coins = draw.random(case.calls) < 0.5
    calls = (case.first, case.second)
    for number in range(WARM):
        calls[number % 2]()
    times = np.empty(case.calls, dtype=np.int64)
    gc.disable()
    try:
        for place, coin in enumerate(coins):
            call = calls[int(coin)]
            before = time.thread_time_ns()
            call()
            times[place] = time.thread_time_ns() - before
    finally:
        gc.enable()
    by_chance = max(information(times, draw.permutation(coins)) for _ in range(TOSSES))
    return Told(case, float(np.median(times)) / 1000, information(times, coins), by_chance, guessed(times, coins))


def noise(kind: str, budget: Any) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Return draws of noise for two sums that are far apart."""
    question = SecondMoment(Grid(1.0), 10)
    law = calibrated(question, budget, "replace", kind, None)
    sizes = [part.size for part in question.parts]
    low, high = (np.full(sum(sizes), value, dtype=np.int64) for value in (0, 2**45 + 12345))
    return lambda: law.settle(low + law.draw(sizes, BITS)), lambda: law.settle(high + law.draw(sizes, BITS))


def drawn() -> list[Case]:
    """Return the primitives that draw: what they are given differs as much as it may, not in one row only."""
    even, peaked = np.zeros(64, dtype=np.int64), np.zeros(64, dtype=np.int64)
    peaked[7] = 1000
    weights, rate = np.ones(64, dtype=np.int64), Fraction(1, 2)
    many, one = np.zeros(2**14, dtype=np.int64), np.zeros(2**14, dtype=np.int64)
    one[77] = 1000
    law = SparseVector(Fraction(8), Fraction(8))
    flat, steep = np.eye(12) * 50.0, np.diag([600.0] + [0.0] * 11)
    values = eigenvalues(flat), eigenvalues(steep)
    spectra = decomposed(flat)[0], decomposed(steep)[0]
    places = np.arange(40) * 5, np.arange(40)[::-1] * 500
    moved, nearly = peaked.copy(), one.copy()
    moved[7] -= 1
    nearly[77] -= 1
    near = steep - np.diag([1.0] + [0.0] * 10 + [-1.0])
    near_spectrum = decomposed(near)[0]
    return [
        Case("Laplace noise, 55 numbers", "the sum is 0, or 2⁴⁵", *noise("laplace", dpcov.PureDP(1))),
        Case("Gaussian noise, 55 numbers", "the sum is 0, or 2⁴⁵", *noise("gaussian", dpcov.ZCDP("1/2"))),
        Case("Wishart noise, 10 columns", "the sum is 0, or 2⁴⁵", *noise("wishart", dpcov.PureDP(1))),
        Case("Frobenius noise, 10 columns", "the sum is 0, or 2⁴⁵", *noise("frobenius", dpcov.PureDP(1))),
        Case(
            "Laplace, one number",
            "it is 0, or 2⁴⁵",
            lambda: 0 + int(discrete_laplace(Fraction(9), 1, BITS)[0]),
            lambda: 2**45 + int(discrete_laplace(Fraction(9), 1, BITS)[0]),
        ),
        Case(
            "Gaussian, one number",
            "it is 0, or 2⁴⁵",
            lambda: 0 + int(discrete_gaussian(Fraction(81), 1, BITS)[0]),
            lambda: 2**45 + int(discrete_gaussian(Fraction(81), 1, BITS)[0]),
        ),
        Case(
            "choice among 64",
            "all alike, or one far ahead",
            lambda: choose(even, weights, rate, BITS),
            lambda: choose(peaked, weights, rate, BITS),
        ),
        Case(
            "choice among 64",
            "one row is another",
            lambda: choose(peaked, weights, rate, BITS),
            lambda: choose(moved, weights, rate, BITS),
        ),
        Case(
            "choice among 16 384",
            "all alike, or one far ahead",
            lambda: choose_among_many(many, rate, BITS),
            lambda: choose_among_many(one, rate, BITS),
            FEW,
        ),
        Case(
            "choice among 16 384",
            "one row is another",
            lambda: choose_among_many(one, rate, BITS),
            lambda: choose_among_many(nearly, rate, BITS),
            FEW,
        ),
        Case(
            "search among 40",
            "the last is found, or the first",
            lambda: first_above(places[0], 190, law, BITS),
            lambda: first_above(places[1], 190, law, BITS),
        ),
        Case(
            "direction, 12 columns",
            "no direction, or one",
            lambda: bingham(flat, 1.0, values[0], BITS),
            lambda: bingham(steep, 1.0, values[1], BITS),
            FEW,
        ),
        Case(
            "direction, 12 columns",
            "one row is another",
            lambda: bingham(steep, 1.0, values[1], BITS),
            lambda: bingham(near, 1.0, values[1], BITS),
            FEW,
        ),
        Case(
            'direction, `timing="fixed"`',
            "no direction, or one",
            lambda: bingham(flat, 1.0, values[0], BITS, fixed=True),
            lambda: bingham(steep, 1.0, values[1], BITS, fixed=True),
            FEW,
        ),
        Case(
            "subspace, 12 columns, 5 sweeps",
            "no direction, or one",
            lambda: a_subspace(spectra[0]),
            lambda: a_subspace(spectra[1]),
            FEW // 2,
        ),
        Case(
            "subspace, 12 columns, 5 sweeps",
            "one row is another",
            lambda: a_subspace(spectra[1]),
            lambda: a_subspace(near_spectrum),
            FEW // 2,
        ),
    ]


def a_subspace(spectrum: Floats) -> Any:
    """Draw a subspace of two directions."""
    return matrix_bingham(spectrum, 2, 1.0, 5, BITS, None)


def sums(data: Any, **asked: Any) -> Callable[[], Any]:
    """Return a reading of the second moment."""

    def read() -> Any:
        source = open_source(data, **asked)
        return source.total(SecondMoment(Grid(1.0), source.d))

    return read


def changed(rows: Floats, row: Any) -> Floats:
    """Return rows of which one is another."""
    other = rows.copy()
    other[len(rows) // 2] = row
    return other


def read() -> list[Case]:
    """Return readings of 2000 rows that differ in one row, or in all of them."""
    rows = np.random.default_rng(3).normal(size=(2000, 10))
    rows *= 0.9 / np.linalg.norm(rows, axis=1, keepdims=True)
    usual = sums(rows)
    ages = np.linspace(0.0, 90.0, 2000)
    schema = dpcov.Schema({"age": dpcov.Numeric(0, 100, nullable=True), "job": dpcov.Categorical(["clerk", "nurse"])})

    def table(cell: Any, job: str = "clerk") -> Callable[[], Any]:
        cells: list[Any] = ages.tolist()
        cells[1000] = cell
        jobs = ["clerk"] * 2000
        jobs[1000] = job
        return sums(pa.table({"age": pa.array(cells, pa.float64()), "job": jobs}), schema=schema)

    def text(cell: str) -> Callable[[], Any]:
        cells = [f"{age:.3f}" for age in ages]
        cells[1000] = cell
        path = Path(FOLDER) / f"{abs(hash(cell))}.csv"
        path.write_text("age\n" + "\n".join(cells) + "\n", encoding="utf-8")
        return sums(path, columns=["age"])

    short = table(50.0)
    number = text("50.000")
    return [
        Case("2000 rows of 10 numbers", "one row is twice as long as the radius", usual, sums(changed(rows, rows[0] * 2.2))),
        Case("2000 rows of 10 numbers", "all rows are", usual, sums(rows * 2.2)),
        Case("2000 rows of 10 numbers", "one number is NaN", usual, sums(changed(rows, [np.nan] + [0.1] * 9))),
        Case("2000 rows of 10 numbers", "one number is 10³⁰⁸", usual, sums(changed(rows, [1e308] + [0.1] * 9))),
        Case("2000 rows of 10 numbers", "all are denormal", usual, sums(np.full((2000, 10), 5e-324))),
        Case("2000 rows, or 2001", "the number of rows", usual, sums(np.vstack([rows, rows[:1]]))),
        Case("a table with a schema", "a number is missing", short, table(None), FEW),
        Case("a table with a schema", "a number is beyond its bounds", short, table(1e9), FEW),
        Case("a table with a schema", "a level is unknown", short, table(50.0, "baker"), FEW),
        Case("a CSV file", "a cell is no number", number, text("abcdef"), FEW),
        Case("a CSV file", "a cell has 400 digits", number, text("9" * 400), FEW),
    ]


WHOLE: tuple[tuple[str, Any], ...] = (("gaussian", dpcov.ZCDP("1/2")), ("rescaled", dpcov.PureDP(1)))


def whole() -> list[Case]:
    """Return releases of 2000 rows that differ in one row."""
    rows = np.random.default_rng(3).normal(size=(2000, 10))
    rows *= 0.9 / np.linalg.norm(rows, axis=1, keepdims=True)
    other = changed(rows, rows[0] * 2.2)
    found = []
    for mechanism, budget in WHOLE:
        asked = partial(dpcov.covariance, budget=budget, row_norm=1, mechanism=mechanism)
        secret = "one row is twice as long as the radius"
        found.append(Case(f"a release, `{mechanism}`", secret, partial(asked, rows), partial(asked, other), FEW // 2))
    return found


HEADING = ["call", "the secret", "µs", "bits of 1", "guessed"]


def table_of(lines: list[list[str]]) -> str:
    """Return the table in Markdown."""
    rows = [HEADING, ["---", "---", "--:", "---", "--:"], *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


FOLDER = ""


def main() -> None:
    import tempfile

    global FOLDER
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--print", action="store_true", help="leave the page as it is")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        FOLDER = folder
        lines = []
        for case in (*drawn(), *read(), *whole()):
            lines.append(measured(case).cells)
            print(" | ".join(lines[-1]), flush=True)
    made = table_of(lines)
    if not asked.print:
        page = PAGE.read_text(encoding="utf-8")
        before, after = page.partition(BEGIN)[0], page.partition(END)[2]
        PAGE.write_text(f"{before}{BEGIN}\n{made}{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
