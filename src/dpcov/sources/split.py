"""A source in parts, whose sums are made somewhere else and added here: in other processes, or on other machines.

Sums are integers, and integers add up in any order. So a source that knows how to take itself apart, an engine that runs
`sums` of each part wherever it likes, and one loop that adds are all there is to it. What an engine is given and returns:

- a *part* can be pickled, knows where its rows are, and reads them where it is unpickled;
- an *engine* yields the sums of parts, in any order, each part once, or raises an `EngineError`.

Questions and noise stay in the process that asks: a part is given a question and returns exact integers, as a source does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import EngineError
from dpcov.kernel.questions.measure import Summable
from dpcov.kernel.questions.moments import Count
from dpcov.kernel.rows.aside import Aside
from dpcov.kernel.rows.groups import Groups
from dpcov.schema import Schema
from dpcov.sources.base import Progress, Source, in_percent

Integers = NDArray[np.int64]

CHANGED = (
    "data must be the same each time they are read, and are not. "
    "Hint: write a stream that can be read only once to a file first."
)


class PartSums(NamedTuple):
    """What an engine yields: sums over rows, unless they come later with those of other parts, and how many rows they are of.

    ``share`` is that of the whole, for the progress; None where it is unknown.
    """

    integers: Integers | None
    rows: int
    share: float | None = 0.0


class Part(Protocol):
    """Some rows of a source."""

    @property
    def share(self) -> float | None:
        """How much of the whole they are, if that is known."""
        ...

    def sums(self, statistic: Summable) -> PartSums:
        """Return the sum of a statistic over these rows."""
        ...


class Divisible(Source, Protocol):
    """A source that can be taken apart."""

    def parts(self) -> Iterator[Part]:
        """Yield parts that hold each row once, at least one; lazily, so that some are summed while others are still cut."""
        ...


class Engine(Protocol):
    """Where the sums of parts are made."""

    def run(self, statistic: Summable, parts: Iterable[Part]) -> Iterator[PartSums]:
        """Yield the sums of all parts."""
        ...

    def close(self) -> None:
        """Leave nothing behind."""
        ...


class Here:
    """The engine that is none: one part after the other, in this process."""

    def run(self, statistic: Summable, parts: Iterable[Part]) -> Iterator[PartSums]:
        """Sum part by part."""
        return (part.sums(statistic) for part in parts)

    def close(self) -> None:
        """Do nothing."""


class SplitSource:
    """The rows of another source, summed part by part by an engine. Parts have no order, so their rows make no pairs."""

    ordered = False

    def __init__(self, source: Divisible, engine: Engine, progress: Progress | None = None) -> None:
        self._source, self._engine, self._progress = source, engine, in_percent(progress)
        self._n = source.known_n

    @property
    def n(self) -> int:
        """The number of rows, by a pass over them where it is not known yet."""
        if self._n is None:
            self.total(Count())
        assert self._n is not None
        return self._n

    @property
    def known_n(self) -> int | None:
        """The number of rows, from the source or from an earlier pass."""
        return self._n

    @property
    def d(self) -> int:
        """The number of features."""
        return self._source.d

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features."""
        return self._source.feature_names

    @property
    def schema(self) -> Schema | None:
        """What the columns mean."""
        return self._source.schema

    @property
    def groups(self) -> Groups | None:
        """The groups into which rows fall."""
        return getattr(self._source, "groups", None)

    @property
    def aside(self) -> Aside | None:
        """Whose rows they are, and what each counts."""
        return getattr(self._source, "aside", None)

    @property
    def rereadable(self) -> bool:
        """Whether the rows can be read again."""
        return self._source.rereadable

    def total(self, statistic: Summable) -> Integers:
        """Add the sums of all parts, modulo 2⁶⁴ as everywhere."""
        if isinstance(statistic, Count) and not statistic.weighs and self._n is not None:
            return np.array([self._n], dtype=np.int64)
        total: Integers | None = None
        rows, done = 0, 0.0
        for found in self._engine.run(statistic, self._source.parts()):
            if found.integers is not None:
                total = found.integers if total is None else total + found.integers
            rows += found.rows
            done = done + found.share if found.share is not None else np.nan
            self._progress(None if np.isnan(done) else done, rows)
        assert total is not None  # there is always a part
        if self._n not in (None, rows):
            raise EngineError(CHANGED)
        self._n = rows
        return total

    def close(self) -> None:
        """Leave no process behind."""
        self._engine.close()
