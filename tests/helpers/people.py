"""Tables in which people have several rows, and their exact sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcov.kernel.public import Public
from dpcov.kernel.questions.measure import Question
from dpcov.kernel.questions.remade import remade
from dpcov.kernel.rows.aside import USUAL_PEOPLE, Aside, aside_of
from dpcov.kernel.rows.encoding import Encoding
from dpcov.kernel.rows.grid import DEFAULT_BITS, Grid
from dpcov.kernel.sums import ExactSums
from dpcov.sources.array import ArraySource

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def aside(d: int) -> Aside:
    """Return how people are counted whose identifiers stand behind d columns of an array."""
    return aside_of(f"x{d}", DEFAULT_BITS, USUAL_PEOPLE)


def joined(people: Sequence[Floats]) -> Floats:
    """Return an array of everybody's rows, with an identifier at the end of each."""
    return np.concatenate([np.column_stack([rows, np.full(len(rows), float(who))]) for who, rows in enumerate(people)])


def source_of(people: Sequence[Floats], block_rows: int | None = None) -> ArraySource:
    """Return everybody's rows as a source."""
    data = joined(people)
    return ArraySource(data, block_rows, aside=aside(data.shape[1] - 1))


def encoding_of(source: ArraySource, grid: Grid) -> Encoding:
    """Return the encoding of its rows."""
    return Encoding(source.feature_names, grid.row_norm, grid.bits, grid.center, midpoints=grid.center, aside=source.aside)


def public_of(d: int, grid: Grid, neighbors: str = "replace", n: int | None = None) -> Public:
    """Return what is public of people with d columns."""
    names = tuple(f"x{j}" for j in range(d))
    encoding = Encoding(names, grid.row_norm, grid.bits, grid.center, midpoints=grid.center, aside=aside(d))
    return Public(encoding, neighbors, n)


def asked(question: Any, d: int) -> Any:
    """Return a question as a curator asks it of people."""
    return remade(question, aside(d))


def exact(people: Sequence[Floats], question: Question, grid: Grid, block_rows: int | None = None) -> Integers:
    """Return the exact integers of a question."""
    source = source_of(people, block_rows)
    return ExactSums(source, encoding_of(source, grid), "replace").read(question)
