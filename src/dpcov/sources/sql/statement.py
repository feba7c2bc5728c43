"""One statement for one reading: what is summed and counted over rows, and what its result means.

The result has a row of sums, or one for each group, one for each count that is not 0, and one for each row of the table that
floats could not decide on: whose length is within 10⁻¹⁰ of a public radius. Exact integers decide there, and those are added up
here. Where rows are of people, a row is counted as the part of a person that it stands for (`beside`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dpcov.errors import EngineError, ParameterError
from dpcov.kernel.questions.bins import Bins
from dpcov.kernel.questions.clipped_pair import ClippedPair
from dpcov.kernel.questions.groups import GroupCounts, GroupedMoment
from dpcov.kernel.questions.moments import Count, SecondMoment, Sum
from dpcov.kernel.questions.norms import Norms, Trace
from dpcov.kernel.questions.table import Histograms, LevelCounts
from dpcov.kernel.questions.together import Together
from dpcov.kernel.questions.weights import EDGES, SquaredWeights, Weights
from dpcov.kernel.rows.aside import Aside
from dpcov.kernel.rows.frames import Ball
from dpcov.kernel.rows.lengths import OFFSET, longer_than
from dpcov.kernel.rows.standard import Standard
from dpcov.linalg import pack
from dpcov.sources.sql.arithmetic import added, bounded, bucket, over, squares
from dpcov.sources.sql.beside import ALONE, Beside
from dpcov.sources.sql.chain import Chain
from dpcov.sources.sql.columns import Feature, Meaning
from dpcov.sources.sql.dialects import Dialect
from dpcov.sources.sql.integers import (
    ELSEWHERE,
    Clipped,
    both,
    encoded,
    from_centre,
    in_box,
    squared_length,
    standard,
)
from dpcov.sources.sql.result import BROKEN, Found, Integers, Reading, filled, found_in, together, wrapped

MOST_SUMS = 2**13
"""A second moment of 127 columns: a statement of half a megabyte."""

MOST_COUNTS = 2**22
"""Of all bins of a reading together."""

MOST_TEXT = 2**23
"""Characters of a statement."""

SURE = 2.0**-35
"""Adding squares errs by less than half of it: the rest is for squares that are too small to matter."""

LEAST_ENTRY, MOST_ENTRY = 1e-161, 1e152
"""Of entries whose squares are added: smaller ones are below the rounding of any radius, larger ones beyond all of them."""


@dataclass
class Statement:
    """A statement that is written question by question.

    Parameters
    ----------
    dialect : Dialect
        Of the database.
    rows : str
        The query, as what stands behind FROM.
    meaning : Meaning
        What its columns are.
    statistic : Summable
        What is asked.
    beside : Beside
        What stands beside the features of a row.
    """

    dialect: Dialect
    rows: str
    meaning: Meaning
    statistic: Any
    beside: Beside = ALONE
    mark: ClassVar[str] = "dpcov-sums"
    """What a printed statement begins its result with."""

    _sums: dict[str, int] = field(default_factory=dict)
    _counts: list[tuple[str, int, str]] = field(default_factory=list)
    _undecided: list[tuple[str, list[str]]] = field(default_factory=list)
    _group: str = ""

    def __post_init__(self) -> None:
        self._chain = Chain(self.dialect, self.rows)
        self.dialect = self._chain.dialect
        self._people = self._summed(self.beside.first(self._chain)) if self.beside.named else None
        self.read = self._asked(self.statistic)
        """What makes the integers of the statistic from what was found."""
        counted = self._next_key + (self._groups + 1) * len(self._sums) * bool(self._group)
        if len(self._sums) > MOST_SUMS or counted > MOST_COUNTS or len(self.text) > MOST_TEXT:
            raise ParameterError(
                f"data must have fewer columns, levels or bins for one statement of SQL, got too many. Hint: {ELSEWHERE}."
            )

    @cached_property
    def text(self) -> str:
        """The statement; its columns are a key, a number of rows, sums, and entries of undecided rows."""
        none = self.dialect.nothing
        parts: list[tuple[Sequence[str], str]] = []
        if self._group:
            key = f"{self._next_key} + {self._group}"
            parts.append(((key, "count(*)", self._listed(), none["entries"]), f" GROUP BY {self._group}"))
        elif self._sums or not self._counts:
            parts.append(((none["key"], "count(*)", self._listed(), none["entries"]), ""))
        for one in dict.fromkeys(one for _, _, one in self._counts):
            names = [name for name, _, counted in self._counts if counted == one]
            key = names[0] if len(names) == 1 else f"coalesce({', '.join(names)})"
            sets = names[0] if len(names) == 1 else f"GROUPING SETS ({', '.join(f'({name})' for name in names)})"
            count = self.dialect.total(one) if one else "count(*)"
            parts.append(((key, count, none["sums"], none["entries"]), f" GROUP BY {sets}"))
        for place, (unsure, entries) in enumerate(self._undecided):
            parts.append(((str(-1 - place), "0", none["sums"], self.dialect.listed(entries)), f" WHERE {unsure}"))
        return self._over_rows([f"SELECT {', '.join(columns)} FROM {{}}{tail}" for columns, tail in parts])

    @property
    def sums(self) -> list[str]:
        """What is summed."""
        return list(self._sums)

    @property
    def literals(self) -> list[float]:
        """All doubles that stand in the statement."""
        return list(self._chain.literals)

    @property
    def printed(self) -> str:
        """The statement for somebody else to run: one cell of text, with the number of rows and the sums."""
        if self._counts or self._undecided:
            raise ParameterError(
                "mechanism must ask for sums alone where somebody else runs the statement, got counts by bin. "
                "Hint: docs/engines.md lists those that do."
            )
        where = [f"CASE WHEN {self._group} = {group} THEN {{}} ELSE 0 END" for group in range(self._groups + 1)]
        each = [[case.format(one) for one in ("1", *self._sums)] for case in where] if self._group else []
        numbers = [f"coalesce({self.dialect.total(one)}, 0)" for line in each for one in line]
        if len(numbers) > MOST_SUMS:
            raise ParameterError(
                "groups must have at most 8192 sums together where somebody else runs the statement, got more. "
                "Hint: fewer columns or groups."
            )
        cell = self.dialect.joined(numbers or ["count(*)", *self._totals()])
        return self._over_rows([f"SELECT '{self.mark} ' || {cell} AS sums FROM {{}}"])

    @property
    def width(self) -> int:
        """How many numbers the printed statement returns."""
        return (1 + len(self._sums)) * (self._groups + 1 if self._group else 1)

    def from_printed(self, numbers: Sequence[int]) -> Found:
        """Return what the numbers of the printed statement say."""
        step = 1 + len(self._sums)
        lines = [Found(numbers[start], list(numbers[start + 1 : start + step])) for start in range(0, len(numbers), step)]
        return replace(together(lines), groups=dict(enumerate(lines))) if self._group else lines[0]

    def n(self, found: Found) -> int:
        """Return how many people there are: rows, where each is one."""
        return found.rows if self._people is None else found.sums[self._people]

    def found(self, records: Iterable[Sequence[Any]]) -> Found:
        """Return what the statement returned, or refuse what cannot be that."""
        sizes = [size + 1 for _, size, _ in self._counts]
        found = found_in(records, len(self._sums), sizes, len(self._undecided), self._groups + 1 if self._group else None)
        if self._counts and not self._sums and not self._group:
            found = replace(found, rows=sum(found.counts[0].values()))
        for (_, _, one), counts in zip(self._counts, found.counts, strict=True):
            if sum(counts.values()) != (found.sums[self._sums[one]] if one else found.rows):
                raise EngineError(BROKEN)
        return found

    def _one(self, aside: Aside | None) -> str:
        """Return what a row of people is counted as; empty: as 1."""
        return "" if aside is None else self.beside.counted(self._chain, aside)

    def _all(self, aside: Aside | None) -> Callable[[Found], int]:
        """Ask what all rows are counted as together, and return what tells it."""
        place = None if aside is None else self._summed(self._one(aside))
        return lambda found: found.rows if place is None else found.sums[place]

    @property
    def _groups(self) -> int:
        return 0 if self.beside.by is None else self.beside.by.groups.count

    @property
    def _next_key(self) -> int:
        """What no count has as a key: in the end that of the first group."""
        return sum(size + 1 for _, size, _ in self._counts)

    def _over_rows(self, parts: list[str]) -> str:
        """Return selects over the rows, each of which is computed once."""
        *before, last = self._chain.selects(*parts)
        kept = self.dialect.streamed if len(parts) == 1 else self.dialect.kept
        steps = [*((self.dialect.streamed, one) for one in before), (kept, last)]
        named = ",\n".join(f"s{place} AS {how}({one})" for place, (how, one) in enumerate(steps, start=1))
        return f"WITH {named}\n" + "\nUNION ALL ".join(part.format(f"s{len(steps)}") for part in parts)

    def _totals(self) -> list[str]:
        return [f"coalesce({self.dialect.total(one)}, 0)" for one in self._sums]

    def _listed(self) -> str:
        return self.dialect.listed_integers(self._totals() or ["0"])

    def _summed(self, expression: str) -> int:
        """Ask for a sum over rows, and return where it will be found."""
        return self._sums.setdefault(expression, len(self._sums))

    def _counted(self, key: str, size: int, one: str) -> int:
        """Ask how many rows there are for each key, each as one of these; ``size`` stands for rows that have none."""
        if one:
            self._summed(one)
        self._counts.append((self._chain.let(f"{self._next_key} + {key}"), size, one))
        return len(self._counts) - 1

    def _asked(self, statistic: Any) -> Reading:
        """Ask a question, and return what reads its integers from what was found."""
        if type(statistic) is Together:
            members = [self._asked(member) for member in statistic.members]
            return lambda found: np.concatenate([np.ravel(member(found)) for member in members])
        writers: dict[type, Callable[[Any], Reading]] = {
            Count: self._count,
            Sum: self._sum,
            SecondMoment: self._moment,
            ClippedPair: self._pair,
            Trace: self._trace,
            Norms: self._norms,
            Bins: self._bins,
            Histograms: self._histograms,
            LevelCounts: self._levels,
            GroupedMoment: self._grouped,
            GroupCounts: self._sizes,
            Weights: self._weights,
            SquaredWeights: self._squared,
        }
        return writers[type(statistic)](statistic)

    def _features(self) -> list[Feature]:
        return self.meaning.features(self._chain)

    def _encoded(self, rows: Any) -> Clipped:
        if type(rows) is Standard:
            return standard(self._chain, self.meaning.by_column(self._chain), rows)
        return encoded(self._chain, rows, self._features())

    def _multiplied(self, asked: Any) -> Clipped:
        """Return what is multiplied with each other."""
        return self.beside.multiplied(self._chain, self._encoded(asked.grid), asked.grid.reach, asked.aside)

    def _count(self, asked: Count) -> Reading:
        everyone = self._all(asked.aside) if asked.weighs else self.n
        return lambda found: wrapped([everyone(found)])

    def _sum(self, asked: Sum) -> Reading:
        row, one, everyone = self._encoded(asked.grid), self._one(asked.aside), self._all(asked.aside)
        places = [self._summed(f"{one} * {entry}" if one else entry) for entry in row.entries]
        front = [row.constant] if row.constant else []
        return lambda found: wrapped([*(first * everyone(found) for first in front), *(found.sums[place] for place in places)])

    def _moment(self, asked: SecondMoment) -> Reading:
        return self._gram(self._multiplied(asked))

    def _grouped(self, asked: GroupedMoment) -> Reading:
        """Ask for zᵀz of each group: the sums of a statement are then made group by group."""
        moment = self._gram(self._multiplied(asked))
        return self._by_group(lambda found: pack(moment(found)))

    def _sizes(self, asked: GroupCounts) -> Reading:
        size = self._all(asked.aside)
        sizes = self._by_group(lambda found: wrapped([size(found)]))
        return lambda found: sizes(found)[:, 0]

    def _by_group(self, reading: Reading) -> Reading:
        self._group = self.beside.group(self._chain)
        none = Found(0, [])

        def of_each(found: Found) -> Integers:
            empty = replace(none, sums=[0] * len(self._sums))  # of a group without rows
            return np.stack([reading(found.groups.get(group, empty)) for group in range(self._groups)])

        return of_each

    def _gram(self, row: Clipped) -> Reading:
        """Ask for zᵀz; with a constant in front its line follows from sums and the number of rows."""
        size, front = len(row.entries), int(row.constant > 0)
        pairs = [(i, j) for i in range(size) for j in range(i, size)]
        places = [self._summed(f"{row.entries[i]} * {row.entries[j]}") for i, j in pairs]
        first = [self._summed(entry) for entry in row.entries] if front else []

        def matrix(found: Found) -> Integers:
            total = np.zeros((size + front, size + front), dtype=np.int64)
            for (i, j), one in zip(pairs, wrapped(found.sums[place] for place in places), strict=True):
                total[i + front, j + front] = total[j + front, i + front] = one
            if front:
                line = [row.constant * found.rows, *(found.sums[place] for place in first)]
                total[0] = total[:, 0] = wrapped(row.constant * one for one in line)
            return total

        return matrix

    def _pair(self, asked: ClippedPair) -> Reading:
        inside, beyond = both(self._chain, asked.annulus, self._features())
        reaches = (asked.annulus.inner.reach, asked.annulus.reach)
        rows = [Clipped(0, entries) for entries in (inside, beyond)]
        scaled = [
            self.beside.multiplied(self._chain, row, reach, asked.aside) for row, reach in zip(rows, reaches, strict=True)
        ]
        readings = [self._gram(row) for row in scaled]
        return lambda found: np.stack([reading(found) for reading in readings])

    def _trace(self, asked: Trace) -> Reading:
        row = self._multiplied(asked)
        place = self._summed(squares(row.entries))
        return lambda found: wrapped([found.sums[place] + row.constant**2 * found.rows])

    def _norms(self, asked: Norms) -> Reading:
        radii = asked.radii[:0:-1] * asked.grid.row_norm
        if isinstance(asked.grid, Standard):
            length = squared_length(self._chain, self.meaning.by_column(self._chain), asked.grid.units)
            place = self._counted(f"({bucket(self._chain, length, (radii**2).tolist())})", len(radii), self._one(asked.aside))
            return lambda found: filled(found.counts[place], asked.last + 1)[::-1]
        features = self._features()
        features = from_centre(self._chain, features, asked.grid.centre) if isinstance(asked.grid, Ball) else features
        xs = self._chain.all([x.text for x in features])
        number = self.dialect.number
        near = self._chain.all(
            [
                f"CASE WHEN {x} IS NULL OR abs({x}) < {number(LEAST_ENTRY)} THEN {number(0)} "
                f"WHEN abs({x}) > {number(MOST_ENTRY)} THEN {number(MOST_ENTRY)} ELSE {x} END"
                for x in xs
            ]
        )
        edges = [bound * (1 + side) for bound in (radii**2 * OFFSET).tolist() for side in (-SURE, SURE)]
        leaf = self._chain.let(bucket(self._chain, self._chain.let(added([f"({x} * {x})" for x in near])), edges))
        one = self._one(asked.aside)
        place = self._counted(leaf, len(edges), one)
        unsure = len(self._undecided)
        there = [f"CASE WHEN {x} IS NULL THEN {number(0)} ELSE {x} END" for x in xs]
        self._undecided.append((f"{leaf} % 2 = 1", [f"{one or '1'} * {number(1)}", *there]))

        def bins(found: Found) -> Integers:
            between = filled(found.counts[place], len(edges) + 1)
            counted, rows = np.split(np.array(found.undecided[unsure]).reshape(-1, 1 + len(xs)), [1], axis=1)
            if counted.sum() != between[1::2].sum():
                raise EngineError(BROKEN)
            decided = np.bincount(longer_than(rows, radii, asked.per_octave), counted[:, 0], asked.last + 1)
            return np.asarray((between[::2] + decided)[::-1], dtype=np.int64)

        return bins

    def _bins(self, asked: Bins) -> Reading:
        number, dialect = self.dialect.number, self.dialect
        steps = [
            f"floor(({x} + {number(1)}) * {number(asked.count / 2)})" for x in in_box(self._chain, self._features(), asked.grid)
        ]
        bins = [dialect.whole(bounded(self._chain, one, 0.0, float(asked.count - 1))) for one in steps]
        places = [self._counted(one, asked.count, self._one(asked.aside)) for one in bins]
        return lambda found: np.concatenate([filled(found.counts[place], asked.count) for place in places])

    def _histograms(self, asked: Histograms) -> Reading:
        columns, number = self.meaning.by_column(self._chain), self.dialect.number
        places = []
        for place, reach in asked.columns.numeric:
            x = columns[place]
            cell = self._chain.let(bounded(self._chain, over(self._chain, x, reach), -1.0, 1.0))
            steps = f"floor(({cell} + {number(1)}) * {number(asked.bins / 2)})"
            bin_of = self.dialect.whole(bounded(self._chain, steps, 0.0, float(asked.bins - 1)))
            key = f"CASE WHEN {x} IS NULL THEN {asked.bins} ELSE {bin_of} END"
            places.append(self._counted(key, asked.bins, self._one(asked.aside)))
        return lambda found: np.concatenate([filled(found.counts[place], asked.bins) for place in places])

    def _levels(self, asked: LevelCounts) -> Reading:
        columns = self.meaning.by_column(self._chain)
        places = [
            self._counted(f"CASE WHEN {columns[at]} IS NULL THEN {count} ELSE {columns[at]} END", count, self._one(asked.aside))
            for at, count in asked.columns.levels
        ]
        sizes = [count for _, count in asked.columns.levels]
        return lambda found: np.concatenate([filled(found.counts[place], n) for place, n in zip(places, sizes, strict=True)])

    def _weights(self, asked: Weights) -> Reading:
        assert asked.aside is not None
        theta, one = self.beside.weights(self._chain, asked.aside)
        place = self._counted(f"({bucket(self._chain, theta, EDGES[:0:-1].tolist())})", len(EDGES) - 1, one)
        return lambda found: filled(found.counts[place], len(EDGES))[::-1]

    def _squared(self, asked: SquaredWeights) -> Reading:
        assert asked.aside is not None
        place = self._summed(self.beside.squared(self._chain, asked.aside))
        return lambda found: wrapped([found.sums[place]])
