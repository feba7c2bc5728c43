"""Rows in a NumPy array."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError, first_repeated, shown
from dpcov.kernel.questions.measure import Summable
from dpcov.kernel.questions.moments import Count
from dpcov.kernel.rows.aside import Aside, thetas
from dpcov.kernel.rows.grid import MAX_FEATURES
from dpcov.sources.base import Progress, add_up, default_block_rows, in_percent
from dpcov.sources.divided import PeopleOfPart, Quota, Tally, tally_of
from dpcov.sources.people import People
from dpcov.sources.split import PartSums

NUMERIC = "biuf"  # numpy's kinds: boolean, integer, unsigned, floating
RULE = "data must be a two-dimensional numeric numpy array with a row per person"
PART_ELEMENTS = 2**21  # of a part: 16 MB of float64


class RowsElsewhere(Protocol):
    """Rows that become an array only a few at a time: of a file, or of a sparse matrix."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __len__(self) -> int:
        """Return the number of rows."""
        ...

    def __getitem__(self, rows: slice) -> NDArray[np.generic]:
        """Return some rows as an array."""
        ...

    def part(self, start: int, rows: int) -> RowsElsewhere:
        """Return some rows as they are; they can be pickled."""
        ...


class ArraySource:
    """A two-dimensional numeric array, read block by block and never written to. Its columns are called x0, x1 and so on."""

    schema = None
    rereadable = ordered = True

    def __init__(
        self,
        data: object,
        block_rows: int | None = None,
        columns: Sequence[str | int] | None = None,
        progress: Progress | None = None,
        aside: Aside | None = None,
        quota: Quota | None = None,
    ) -> None:
        self._array, self.aside = checked_rows(data), aside
        names = [f"x{j}" for j in range(self._array.shape[1])]
        self._people: People | None = None
        if aside is not None:
            if aside.unit:
                self._whose = place_beside("unit", aside.unit, names, self._array.dtype)
                self._people = People(aside.most_rows) if quota is None else PeopleOfPart(quota, aside.most_rows)
            self._heavy = place_beside("weight", aside.weight, names, self._array.dtype) if aside.weight else None
            columns = [name for name in names if name not in aside.names] if columns is None else columns
        self._places = None if columns is None else [_place(column, names) for column in columns]
        self.feature_names = tuple(names if self._places is None else (names[j] for j in self._places))
        if len(set(self.feature_names)) < self.d:
            raise ParameterError(
                f"columns must differ, got {first_repeated(self.feature_names)} twice. Hint: remove one of them."
            )
        of_both = [name for name in (() if aside is None else aside.names) if name in self.feature_names]
        if of_both or not self.feature_names:
            raise ParameterError(
                f"unit and weight must be columns that are no features, got {shown(of_both[0] if of_both else 'all')}. "
                f"Hint: leave them out of columns=, and keep another."
            )
        self._block_rows = block_rows or default_block_rows(self.d)
        self._progress = in_percent(progress)
        self._n: int | None = len(self._array) if self._people is None else None if quota is None else self._people.n

    @property
    def n(self) -> int:
        """The number of rows, or people, by a pass over the one column that says whose they are."""
        if self._n is None:
            assert self._people is not None
            for column in self._owners():
                self._people.count(column)
            self._people.counted()
            self._n = self._people.n
        return self._n

    @property
    def known_n(self) -> int | None:
        """The number of rows; of people once they are counted."""
        return self._n

    @property
    def d(self) -> int:
        """The number of columns."""
        return len(self.feature_names)

    def total(self, statistic: Summable) -> NDArray[np.int64]:
        """Add the statistic over blocks of rows."""
        if self._people is not None:
            if isinstance(statistic, Count) and not statistic.weighs:
                return np.array([self.n], dtype=np.int64)
            _ = self.n  # people are counted first
            self._people.start()
        return add_up(statistic, self._blocks(min(self._block_rows, statistic.max_block)))

    def _blocks(self, rows: int) -> Iterator[NDArray[np.float64]]:
        done, total = 0, len(self._array)
        for read in self._runs(rows):
            with np.errstate(all="ignore"):  # a long double beyond float64 becomes infinite, silently
                part = read if self._places is None else read[:, self._places]
                block = part.astype(np.float64, order="C", copy=False)
            if self.aside is not None:
                block = np.column_stack([block, *self._beside(partial(_column, np.asarray(read)))])
            yield block
            done += len(read)
            self._progress(done / max(total, 1) if total else 1.0, done)

    def _beside(self, column: Callable[[int], NDArray[np.generic]]) -> list[NDArray[np.float64]]:
        """Return what stands beside the features: what each row weighs, and in how many parts, or its share.

        A column of the rows is asked for by its place.
        """
        if self._heavy is None or self.aside is None:
            assert self._people is not None
            return [self._people.shares(column(self._whose))]
        weights = thetas(column(self._heavy).astype(np.float64), self.aside.max_weight)
        return [weights] if self._people is None else [weights, self._people.parts(column(self._whose))]

    def _owners(self) -> Iterator[NDArray[np.generic]]:
        """Yield the column that says whose the rows are."""
        return (np.asarray(rows[:, self._whose]) for rows in self._runs(default_block_rows(1)))

    def tally(self) -> Tally:
        """Return how many rows each person has."""
        return tally_of(self._owners())

    def _runs(self, rows: int) -> Iterator[NDArray[np.generic]]:
        """Yield the rows of the array, so many at a time; at least one run, of an array without rows as well."""
        for start in range(0, max(len(self._array), 1), rows):
            yield self._array[start : start + rows]

    def parts(self) -> Iterator[ArrayPart]:
        """Yield runs of rows: their numbers where the array is in memory, where they stand in a file otherwise."""
        return (ArrayPart(rows, self._places, share, self.aside) for rows, share in runs(self._array))


def runs(array: NDArray[np.generic] | RowsElsewhere) -> Iterator[tuple[NDArray[np.generic] | RowsElsewhere, float]]:
    """Yield runs of rows for other processes, each with its share; at least one, of an array without rows as well."""
    step = max(PART_ELEMENTS // array.shape[1], 1)
    for start in range(0, max(len(array), 1), step):
        rows = array[start : start + step] if isinstance(array, np.ndarray) else array.part(start, step)
        yield rows, len(rows) / max(len(array), 1)


@dataclass(frozen=True)
class ArrayPart:
    """Some rows of an array."""

    rows: NDArray[np.generic] | RowsElsewhere
    places: list[int] | None
    share: float
    aside: Aside | None = None
    quota: Quota | None = None

    @property
    def is_here(self) -> bool:
        """Whether this process has the rows already."""
        return isinstance(self.rows, np.ndarray)

    def sums(self, statistic: Summable) -> PartSums:
        """Read these rows as an array of their own."""
        return PartSums(self._opened().total(statistic), len(self.rows), self.share)

    def tally(self) -> Tally:
        """Return how many of these rows each person has."""
        return self._opened().tally()

    def within(self, quota: Quota) -> ArrayPart:
        """Return the part with what each person may have in it."""
        return replace(self, quota=quota)

    def _opened(self) -> ArraySource:
        return ArraySource(self.rows, columns=self.places, aside=self.aside, quota=self.quota)


def _column(rows: NDArray[np.generic], place: int) -> NDArray[np.generic]:
    return rows[:, place]


def place_beside(said: str, name: str, names: list[str], dtype: np.dtype[Any]) -> int:
    """Return the position of the column that says whose a row is, or how much it counts."""
    if name not in names:
        raise ParameterError(f"{said} must be a column of the array, x0..{names[-1]}, got {shown(name)}. Hint: count from 0.")
    if dtype.kind == "b" or dtype.itemsize > 8:
        raise ParameterError(
            f"{said} must be a column of whole numbers or of numbers of 64 bits, got {dtype.name}. Hint: astype(float)."
        )
    return names.index(name)


def _place(column: object, names: list[str]) -> int:
    """Turn a name or a position into a position."""
    if isinstance(column, str) and column in names:
        return names.index(column)
    if isinstance(column, numbers.Integral) and not isinstance(column, bool) and 0 <= int(column) < len(names):
        return int(column)
    raise ParameterError(
        f"columns must be in x0..{names[-1]}, or 0..{len(names) - 1}, got {shown(column)}. Hint: count from 0."
    )


def checked_array(data: object) -> NDArray[np.generic]:
    """Refuse what is not a plain numeric table; looks at type, shape and dtype, never at values."""
    if not isinstance(data, np.ndarray) or isinstance(data, np.ma.MaskedArray):
        raise ParameterError(f"{RULE}, got {type(data).__name__}. Hint: numpy.asarray(data, dtype=float).")
    check_shape(data)
    return np.asarray(data)


def checked_rows(data: Any) -> NDArray[np.generic] | RowsElsewhere:
    """Do the same with rows that are no array yet."""
    if not hasattr(data, "part"):
        return checked_array(data)
    check_shape(data)
    elsewhere: RowsElsewhere = data
    return elsewhere


def check_shape(data: Any) -> None:
    """Refuse an array of other dimensions, of no numbers, or of too many columns."""
    if len(data.shape) != 2:
        raise ParameterError(f"{RULE}, got {len(data.shape)} dimension(s). Hint: one column is data.reshape(-1, 1).")
    if data.dtype.kind not in NUMERIC:
        raise ParameterError(f"{RULE}, got {data.dtype.type.__name__}. Hint: numpy.asarray(data, dtype=float).")
    if not 1 <= data.shape[1] <= MAX_FEATURES:
        raise ParameterError(f"{RULE}, between 1 and 2**15 columns, got {data.shape[1]}. Hint: select columns first.")
