"""Rows made up from a schema alone: as public as the schema is, and as many as one likes.

What a release of real rows will be like depends on the rows. These stand in for them before anything is known: each column by
itself, numbers skewed and spread over a part of their bounds, levels equally frequent.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dpcov.kernel.bits import SeededBits
from dpcov.kernel.noise.normal import normals
from dpcov.kernel.questions.measure import Summable
from dpcov.kernel.rows.aside import Aside
from dpcov.schema import Numeric, Schema
from dpcov.sources.base import Source
from dpcov.sources.dates import dates

SKEW = 0.6  # standard deviation of the logarithm of a number above its lower bound: a moderately long tail
GONE = 0.1  # of the cells of a nullable column
FIRST_SEED = 2**40  # of rows: apart from the seeds of the noise that is added to them
MOST_ROWS = 4000  # are made up; of more rows each stands for several


def made_up(schema: Schema, n: int, spread: float, seed: int, aside: Aside | None = None) -> pa.Table:
    """Return n rows: deviations are ``spread`` times the width of a column's bounds, but for what lies beyond them.

    Each is a person's who has no other, and counts once.
    """
    bits = SeededBits(FIRST_SEED + seed)
    unit = math.sqrt(math.expm1(SKEW**2) * math.exp(SKEW**2))  # the deviation of exp(SKEW·z), z normal
    cells = {}
    for name, column in schema.cells().items():
        gone = bits.words(n) < GONE * 2.0**64 if column.nullable else None
        if isinstance(column, Numeric):
            reach = 2 * column.reach(center=True)
            drawn = column.lower + reach * (spread / unit) * np.exp(SKEW * normals(n, bits))
            drawn = np.minimum(drawn, column.upper)
            cells[name] = pa.array(drawn, mask=gone) if column.dates is None else dates(drawn, column.dates, mask=gone)
        else:
            places = np.argsort(bits.words(n), kind="stable") % len(column.levels)
            cells[name] = pa.array(list(column.levels)).take(pa.array(places, mask=gone))
    if aside is not None and aside.unit:
        cells[aside.unit] = pa.array(np.arange(n))
    if aside is not None and aside.weight:
        cells[aside.weight] = pa.array(np.full(n, aside.max_weight))
    return pa.table(cells)


def alone(aside: Aside, schema: Schema) -> Aside:
    """Return what costs as much where each person has one row, and counts once: weights stand for rows that count alike."""
    if aside.most_rows <= 1 or aside.weight:
        return replace(aside, most_rows=0)
    free = next(name for name in ("weight" + "_" * tries for tries in itertools.count()) if name not in schema.columns)
    return replace(aside, most_rows=0, weight=free, max_weight=1.0)


class Repeated:
    """A source whose rows count several times each: a large table at the price of a small one."""

    rereadable = ordered = True

    def __init__(self, source: Source, times: int) -> None:
        self._source, self._times = source, times
        self.feature_names: tuple[str, ...] = source.feature_names
        self.schema: Schema | None = source.schema
        self.aside: Aside | None = getattr(source, "aside", None)

    @property
    def n(self) -> int:
        """The number of rows."""
        return self._source.n * self._times

    @property
    def known_n(self) -> int:
        """The number of rows."""
        return self.n

    @property
    def d(self) -> int:
        """The number of features."""
        return self._source.d

    def total(self, statistic: Summable) -> NDArray[np.int64]:
        """Return the sum of a statistic over all rows."""
        return np.asarray(self._source.total(statistic) * self._times)
