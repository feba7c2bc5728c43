"""A source in parts, whose sums are made somewhere else and added here: in other processes, or on other machines.

Sums are integers, and integers add up in any order. So a source that knows how to take itself apart, an engine that runs
`sums` of each part wherever it likes, and one loop that adds are all there is to it. What an engine is given and returns:

- a *part* can be pickled, knows where its rows are, and reads them where it is unpickled;
- an *engine* yields the sums of parts, in any order, each part once, or raises an `EngineError`.

Questions and noise stay in the process that asks: a part is given a question and returns exact integers, as a source does.

A person may have rows in several parts. Where an engine does not bring them together, each part counts its own people first,
this process adds the counts up, and in each reading every part is told how many rows of a person it gives shares to: what all
parts are told adds up to the rows that the person has (docs/mechanisms/people.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import EngineError
from dpcov.kernel.questions.measure import Summable
from dpcov.kernel.questions.moments import Count
from dpcov.kernel.rows.aside import Aside
from dpcov.kernel.rows.groups import Groups
from dpcov.schema import Schema
from dpcov.sources.base import Progress, Source, in_percent
from dpcov.sources.divided import DividedPeople, Quota, Tally

Integers = NDArray[np.int64]

CHANGED = (
    "data must be the same each time they are read, and are not. "
    "Hint: write a stream that can be read only once to a file first."
)


class Tallies:
    """Whose the rows of parts are, by the numbers of these. They add up as sums do: engines need not tell them apart."""

    def __init__(self, of_parts: dict[int, Tally]) -> None:
        self.of_parts = of_parts

    def __add__(self, other: Tallies) -> Tallies:
        return Tallies(self.of_parts | other.of_parts)


class PartSums(NamedTuple):
    """What an engine yields: sums over rows, unless they come later with those of other parts, and how many rows they are of.

    Of parts that have all rows of their people they are of so many people. ``share`` is that of the whole, for the progress;
    None where it is unknown.
    """

    integers: Integers | Any
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


class DividedPart(Part, Protocol):
    """Some rows of a source, of people who may have others elsewhere."""

    @property
    def is_here(self) -> bool:
        """Whether this process has the rows already, so that it counts them itself."""
        ...

    def tally(self) -> Tally:
        """Return how many of these rows each person has."""
        ...

    def within(self, quota: Quota) -> Self:
        """Return the part with what each person may have in it."""
        ...


@dataclass(frozen=True)
class Counting:
    """A part whose people are to be counted, whatever is asked."""

    part: DividedPart
    number: int

    @property
    def share(self) -> float | None:
        """How much of the whole it is."""
        return self.part.share

    def sums(self, statistic: Summable) -> PartSums:  # noqa: ARG002
        """Return what tells whose the rows are."""
        tally = self.part.tally()
        return PartSums(Tallies({self.number: tally}), tally.read, self.share)


class Divisible(Source, Protocol):
    """A source that can be taken apart."""

    def parts(self) -> Iterator[Part]:
        """Yield parts that hold each row once, at least one; lazily, so that some are summed while others are still cut.

        Those that are not here are the same each time, and come in the same order.
        """
        ...


class Engine(Protocol):
    """Where the sums of parts are made.

    One whose parts have all rows of their people, and count these themselves, says so: ``joins_people = True``.
    """

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
        self._n = self._rows = source.known_n
        divided = self.aside is not None and bool(self.aside.unit) and not getattr(engine, "joins_people", False)
        self._people = DividedPeople(self.aside.most_rows) if self.aside is not None and divided else None
        self._tallies: dict[int, Tally] = {}

    @property
    def n(self) -> int:
        """The number of rows, or people, by a pass over them where it is not known yet."""
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
        if self._people is not None and self._n is None:
            self._count(self._people)
        if isinstance(statistic, Count) and not statistic.weighs and self._n is not None:
            return np.array([self._n], dtype=np.int64)
        parts: Iterable[Part] = self._source.parts() if self._people is None else self._with_quotas(self._people)
        total: Integers | None = self._added(statistic, parts)
        assert total is not None  # there is always a part
        self._n = self._rows if self._people is None else self._n
        return total

    def _added(self, statistic: Summable, parts: Iterable[Part]) -> Any:
        """Add up what an engine yields; refuse other rows than at the last time."""
        total, rows, done = None, 0, 0.0
        for found in self._engine.run(statistic, parts):
            if found.integers is not None:
                total = found.integers if total is None else total + found.integers
            rows += found.rows
            done = done + found.share if found.share is not None else np.nan
            self._progress(None if np.isnan(done) else done, rows)
        if self._rows not in (None, rows):
            raise EngineError(CHANGED)
        self._rows = rows
        return total

    def _count(self, people: DividedPeople) -> None:
        """Count the rows of each person, part by part: here where the rows are here, else where they are read."""
        here: list[Tally] = []

        def elsewhere() -> Iterator[Part]:
            for number, part in enumerate(self._divided_parts()):
                if part.is_here:
                    here.append(part.tally())
                else:
                    yield Counting(part, number)

        found = self._added(Count(), elsewhere())
        self._tallies = {} if found is None else found.of_parts
        people.counted_apart([*self._tallies.values(), *here])
        self._rows = sum(tally.read for tally in (*self._tallies.values(), *here))
        self._n = people.n

    def _with_quotas(self, people: DividedPeople) -> Iterator[Part]:
        """Yield the parts, each with how many rows of a person have a share there."""
        people.start()
        for number, part in enumerate(self._divided_parts()):
            tally = part.tally() if part.is_here else self._tallies.get(number)
            if tally is None:
                raise EngineError(CHANGED)
            yield part.within(people.quota(tally))

    def _divided_parts(self) -> Iterator[DividedPart]:
        """Yield the parts of a source whose rows have owners."""
        parts: Any = self._source.parts()
        yield from parts

    def close(self) -> None:
        """Leave no process behind."""
        self._engine.close()
