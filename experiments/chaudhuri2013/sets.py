"""The data sets of Chaudhuri, Sarwate, Sinha (2013), from copies in a folder, and the second moment of any part of them.

A column with discrete values becomes one column for each of them; then every column is divided by its largest entry, and all by
the largest norm of a row. Rows are not centred. The paper does not list which columns it takes for discrete; these choices give
its numbers of columns, and the variance along its k components within 2 % (its Table 1: .6587, .7321, .5118). Scaling looks at
the data: right for experiments, never for a private release. Rows are float32: census has 819 MB in float64.
"""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks import datasets

Floats = NDArray[np.float64]
Table = NDArray[np.float32] | Floats

BLOCK = 50_000  # rows at a time are turned into float64


class Principal(NamedTuple):
    """Rows with norm at most 1, and how many components the paper takes."""

    rows: Table
    k: int


def kddcup(folder: Path) -> Principal:
    """Network connections, the tenth: 3 text columns with 80 levels, 36 numeric ones that are not all zero; no label."""
    with gzip.open(folder / "kddcup.data_10_percent.gz", "rt") as lines:
        columns = _columns(lines, ",")[:41]
    return Principal(_encoded(columns, discrete={1, 2, 3}), 4)


def census(folder: Path) -> Principal:
    """Census-income: 8 numeric columns, the instance weight among them; 33 others and the label with 505 levels."""
    with bz2.open(folder / "census-income.data.bz2", "rt") as lines:
        columns = _columns(lines, ",")
    return Principal(_encoded(columns, discrete=set(range(42)) - {0, 5, 16, 17, 18, 24, 30, 39}), 8)


def insurance(folder: Path) -> Principal:
    """CoIL 2000, both parts: 5 columns of types with 70 levels, 80 numeric ones; no label."""
    lines: list[str] = []
    for name in ("ticdata2000.txt.gz", "ticeval2000.txt.gz"):
        with gzip.open(folder / name, "rt") as file:
            lines += ["\t".join(line.split("\t")[:85]) for line in file]
    return Principal(_encoded(_columns(lines, "\t"), discrete={0, 3, 4, 5, 43}), 11)


def localization(folder: Path) -> Principal:
    """Positions of body tags, persons A and B only, a third of the paper's rows: 25 levels of 3 columns, time, x, y, z."""
    lines: list[str] = []
    for person in "AB":
        with gzip.open(folder / f"localization_person{person}.csv.gz", "rt") as file:
            lines += list(file)[1:]
    _, sequence, tag, stamp, _, x, y, z, activity = _columns(lines, ",")
    return Principal(_encoded([sequence, tag, activity, stamp, x, y, z], discrete={0, 1, 2}), 10)


def mnist(folder: Path) -> Principal:
    """Handwritten digits: not in the paper."""
    return Principal(datasets.mnist(folder).astype(np.float32), 10)


SETS: dict[str, Callable[[Path], Principal]] = {
    "insurance": insurance,
    "kddcup": kddcup,
    "census": census,
    "localization": localization,
    "mnist": mnist,
}
CHOSEN_ON = ("insurance", "kddcup", "census")
"""The constants of `screened` were chosen on these; the others here had no part in it."""


def at_hand(names: Iterable[str], folder: Path | None) -> Iterator[tuple[str, Principal]]:
    """Yield the named data sets; of those that are not there, say so."""
    for name in names:
        try:
            if folder is None:
                raise FileNotFoundError("--data DIR names the folder with the copies")
            found = SETS[name](folder)
        except FileNotFoundError as reason:
            print(f"{name}: skipped ({reason})")
            continue
        yield name, found


def subset(rows: Table, n: int, random: np.random.Generator) -> Table:
    """Return n rows, drawn without replacement."""
    return rows if n == len(rows) else rows[random.permutation(len(rows))[:n]]


def second_moment(rows: Table) -> Floats:
    """Return the mean of xxᵀ in float64."""
    total = np.zeros((rows.shape[1], rows.shape[1]))
    for start in range(0, len(rows), BLOCK):
        block = rows[start : start + BLOCK].astype(np.float64)
        total += block.T @ block
    return total / len(rows)


def _columns(lines: Iterable[str], separator: str) -> list[tuple[str, ...]]:
    cells = ([cell.strip() for cell in line.split(separator)] for line in lines if line.strip())
    return list(zip(*cells, strict=True))


def _encoded(columns: list[tuple[str, ...]], discrete: set[int]) -> Table:
    parts = [_levels(cells) if place in discrete else _numbers(cells) for place, cells in enumerate(columns)]
    rows = np.hstack([part for part in parts if part.any()])
    rows /= np.abs(rows).max(axis=0)
    rows /= np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64).max()) * (1 + 1e-6)  # float32 rounds up, too
    return rows


def _levels(cells: tuple[str, ...]) -> NDArray[np.float32]:
    levels, codes = np.unique(np.array(cells), return_inverse=True)
    return np.asarray(codes[:, None] == np.arange(len(levels)), dtype=np.float32)


def _numbers(cells: tuple[str, ...]) -> NDArray[np.float32]:
    return np.array(cells, dtype=np.float64).astype(np.float32)[:, None]
