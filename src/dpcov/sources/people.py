"""Whose rows are they: counts by the value of a column, and from these the share of each row.

A first pass counts how many rows, m, each person has; a person is a value of the column, exactly: whole numbers and numbers as
such, text by its bytes. In each later pass every row is given its share ⌊2⁵²/m⌋, and m is counted down, so that a person whose
rows have become more gives nothing beyond them: whatever the data do between two readings, shares of a person sum to at most 1.

A cell that is null, NaN or infinite, or text that says so, is nobody's: its row has no share, and is in no count. Rows without
an owner that were taken for one person's would protect nobody among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dpcov.errors import SchemaError
from dpcov.kernel.rows.aside import SHARE_BITS
from dpcov.sources import cells

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Places = NDArray[np.intp]

RUN = 2**18  # keys that are gathered before they are counted: sorting many at once is cheaper

NOBODY = frozenset((b"", b"nan", b"nat", b"na", b"n/a", b"<na>", b"null", b"none"))
"""Text that stands for a missing identifier, in small letters and without blanks around."""

WHOLE, UNSIGNED, NUMBER, TEXT = "whole numbers", "unsigned whole numbers", "numbers", "text"


def kind_of(name: str, types: Sequence[Any]) -> str:
    """Return what kind of value says whose a row is, by the declared types of all files; refuse others, and several."""
    kinds = {_kind(cells.value_type(kind)) for kind in types}
    if "" in kinds:
        raise SchemaError(
            f"unit must be a column of whole numbers, numbers or text, got {name!r} of another declared type. "
            f"Hint: convert it to text first."
        )
    if len(kinds) > 1:
        raise SchemaError(
            f"unit must be of one kind in each file, got {name!r} as {' and '.join(sorted(kinds))}. Hint: convert it to text."
        )
    return kinds.pop()


def _kind(kind: Any) -> str:
    if pa.types.is_uint64(kind):
        return UNSIGNED
    if pa.types.is_integer(kind):
        return WHOLE
    if pa.types.is_floating(kind):
        return NUMBER
    return TEXT if cells.is_text(kind) else ""


class People:
    """How many rows each person has, and the shares of rows."""

    def __init__(self, kind: str) -> None:
        self._known: _Numbers | _Texts = _Texts() if kind == TEXT else _Numbers()
        self._counts = np.empty(0, dtype=np.int64)
        self._left = np.empty(0, dtype=np.int64)

    @property
    def n(self) -> int:
        """How many people there are, once their rows are counted."""
        return len(self._counts)

    def count(self, column: Any) -> None:
        """Count the rows of a batch."""
        self._known.count(column)

    def counted(self) -> None:
        """End the first pass."""
        self._counts = self._known.counts()

    def start(self) -> None:
        """Begin another pass: nobody's rows were seen in it."""
        self._left = self._counts.copy()

    def shares(self, column: Any) -> Floats:
        """Return the shares of a batch's rows, in 2⁻⁵²; 0 for nobody's, and where a person has more rows than were counted."""
        places = self._known.places(column)
        owned = np.flatnonzero(places >= 0)
        found, whose = np.zeros(len(places)), places[owned]
        np.subtract.at(self._left, whose, 1)
        found[owned] = np.where(self._left[whose] >= 0, 2**SHARE_BITS // self._counts[whose], 0)
        return found


class _Numbers:
    """People whose identifiers are numbers: sorted, 16 bytes each with their counts."""

    def __init__(self) -> None:
        self._keys = self._rows = np.empty(0, dtype=np.int64)
        self._waiting: list[Integers] = []
        self._many = 0

    def count(self, column: Any) -> None:
        words, known = _words(column)
        self._waiting.append(words[known])
        self._many += len(self._waiting[-1])
        if self._many >= max(RUN, len(self._keys) // 2):
            self._merge()

    def _merge(self) -> None:
        fresh, rows = np.unique(np.concatenate([self._keys[:0], *self._waiting]), return_counts=True)
        self._waiting, self._many = [], 0
        place = np.minimum(np.searchsorted(self._keys, fresh), max(len(self._keys) - 1, 0))
        there = self._keys[place] == fresh if len(self._keys) else np.zeros(len(fresh), dtype=np.bool_)
        self._rows[place[there]] += rows[there]
        where = np.searchsorted(self._keys, fresh[~there])
        self._rows = np.insert(self._rows, where, rows[~there])
        self._keys = np.insert(self._keys, where, fresh[~there])

    def counts(self) -> Integers:
        self._merge()
        rows, self._rows = self._rows, self._rows[:0]
        return rows

    def places(self, column: Any) -> Places:
        words, known = _words(column)
        if not len(self._keys):
            return np.full(len(words), -1)
        place = np.minimum(np.searchsorted(self._keys, words), len(self._keys) - 1)
        return np.where(known & (self._keys[place] == words), place, -1)


class _Texts:
    """People whose identifiers are text: a dictionary of bytes."""

    def __init__(self) -> None:
        self._places: dict[bytes, int] = {}
        self._rows = np.zeros(1024, dtype=np.int64)

    def count(self, column: Any) -> None:
        entries, indices = _entries(column)
        rows = np.bincount(indices[indices >= 0], minlength=len(entries))
        found = np.flatnonzero(rows)  # a dictionary may have entries that no cell has: they are nobody
        places = np.array([self._places.setdefault(entries[one], len(self._places)) for one in found], dtype=np.intp)
        if len(self._places) > len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros(len(self._places), dtype=np.int64)])
        self._rows[places] += rows[found]

    def counts(self) -> Integers:
        rows, self._rows = self._rows[: len(self._places)].copy(), self._rows[:0]
        return rows

    def places(self, column: Any) -> Places:
        entries, indices = _entries(column)
        found = np.array([self._places.get(one, -1) for one in entries] + [-1], dtype=np.intp)
        return found[indices]


def _words(column: Any) -> tuple[Integers, NDArray[np.bool_]]:
    """Return a word for each number, alike for equal numbers only, and which cells hold one."""
    if isinstance(column, np.ndarray):
        numbers, known = column, np.ones(len(column), dtype=np.bool_)
    else:
        if pa.types.is_dictionary(column.type):
            words, there = _words(column.dictionary)
            return cells.looked_up(words, column.indices, np.int64(0)), cells.looked_up(there, column.indices, np.False_)
        known = np.asarray(pc.is_valid(column).to_numpy(zero_copy_only=False))
        numbers = np.asarray(pc.fill_null(column, 0).to_numpy(zero_copy_only=False)) if column.null_count else _plain(column)
    if numbers.dtype.kind == "f":
        with np.errstate(all="ignore"):
            floats = numbers.astype(np.float64) + 0.0  # −0 is 0
        known = known & np.isfinite(floats)
        return np.where(known, floats, 0.0).view(np.int64), known
    return numbers.astype(np.uint64 if numbers.dtype.kind == "u" else np.int64).view(np.int64), known


def _plain(column: Any) -> NDArray[Any]:
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _entries(column: Any) -> tuple[list[bytes], Places]:
    """Return the different texts of a batch, and which of them each cell is; −1 where it is nobody's."""
    if not pa.types.is_dictionary(column.type):
        column = column.cast(pa.large_binary()).dictionary_encode()
    texts = column.dictionary.cast(pa.large_binary()).to_pylist()
    kept = [one for one in dict.fromkeys(texts) if one is not None and one.strip().lower() not in NOBODY]
    place = {one: number for number, one in enumerate(kept)}
    of_entry = np.array([place.get(one, -1) for one in texts], dtype=np.intp)
    return kept, cells.looked_up(of_entry, column.indices, np.intp(-1))
