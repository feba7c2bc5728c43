"""Whose rows are they: counts by the value of a column, and from these the share of each row.

A first pass counts how many rows, m, each person has; a person is a value of the column, exactly: whole numbers and numbers as
such, text by its bytes. In each later pass every row is given its share ⌊2⁵²/m⌋, and m is counted down, so that a person whose
rows have become more gives nothing beyond them: whatever the data do between two readings, shares of a person sum to at most 1.

A cell that is null, NaN or infinite, or text that says so, is nobody's: its row has no share, and is in no count. Rows without
an owner that were taken for one person's would protect nobody among them.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dpcov.errors import ParameterError, SchemaError, check_choice, check_real, shown
from dpcov.kernel.rows.aside import LARGEST_WEIGHT, MOST_PEOPLE, MOST_ROWS_EACH, SHARE_BITS, USUAL_PEOPLE, Aside, aside_of
from dpcov.schema import is_broken
from dpcov.sources import cells

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Places = NDArray[np.intp]
Words = NDArray[np.uint64]

SCATTER = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ by the golden ratio, odd: neighbouring numbers end far from each other

RUN = 2**18  # keys that are gathered before they are counted: sorting many at once is cheaper

NOBODY = [b"", b"nan", b"nat", b"na", b"n/a", b"<na>", b"null", b"none"]
"""Text that stands for a missing identifier, in small letters and without blanks around."""

WEIGHTINGS = ("person", "rows")

WHOLE, UNSIGNED, NUMBER, TEXT = "whole numbers", "unsigned whole numbers", "numbers", "text"


def checked_aside(
    bits: int,
    max_rows: int | None,
    unit: object,
    weighting: object,
    most_rows: object,
    weight: object,
    max_weight: object,
) -> Aside | None:
    """Return who a person is and how much a row counts, or None where each row is a person and counts alike."""
    check_choice("weighting", weighting, WEIGHTINGS, "'person' counts each person once, 'rows' each row up to most_rows")
    if unit is None and weighting != "person":
        raise ParameterError("weighting must be 'person' without unit=, got 'rows'. Hint: each row is a person already.")
    if (most_rows is None) != (weighting == "person"):
        raise ParameterError(
            f"most_rows must be given with weighting='rows' and only then, got {shown(most_rows)}. "
            f"Hint: a public number, such as 10: rows of a person with more of them count less."
        )
    most = 0
    if most_rows is not None:
        if (
            not isinstance(most_rows, numbers.Integral)
            or isinstance(most_rows, bool)
            or not 1 <= int(most_rows) <= MOST_ROWS_EACH
        ):
            raise ParameterError(
                f"most_rows must be a whole number from 1 to 2**31, got {shown(most_rows)}. Hint: 10 is a good start."
            )
        most = int(most_rows)
    if (weight is None) != (max_weight is None):
        missing, hint = (
            ("max_weight", "the largest weight that there can be, known without looking") if weight else ("weight", "")
        )
        raise ParameterError(f"{missing} must be given with the other one, got none. Hint: {hint or 'the column of weights'}.")
    largest = 0.0
    if max_weight is not None:
        rule = "a finite number above 0 and at most 1e150"
        largest = check_real(
            "max_weight", max_weight, rule, 1 / LARGEST_WEIGHT, LARGEST_WEIGHT, "a public bound on the weights"
        )
    if unit is None and weight is None:
        return None
    people = USUAL_PEOPLE if max_rows is None else int(max_rows)
    if people > MOST_PEOPLE:
        raise ParameterError(f"max_rows must be at most 2**34 people with unit=, got {shown(max_rows)}. Hint: fewer do.")
    names = [_column(said, column) for said, column in (("unit", unit), ("weight", weight))]
    return aside_of(names[0], bits, people, most, names[1], largest)


def _column(said: str, column: object) -> str:
    """Return the name of a column that stands beside the features; of an array its position may be given."""
    position = isinstance(column, numbers.Integral) and not isinstance(column, bool) and int(column) >= 0
    name = f"x{column}" if position else "" if column is None else column
    if not isinstance(name, str) or (column is not None and not name) or is_broken(name):
        raise ParameterError(
            f"{said} must be the name of a column, or of an array its position, got {shown(column)}. Hint: unit='patient_id'."
        )
    return name


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

    def __init__(self, kind: str, most_rows: int = 0) -> None:
        self._known: _Numbers | _Texts = _Texts() if kind == TEXT else _Numbers()
        self._most_rows = most_rows
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

    def shares(self, column: Any, whole: Integers | int = 2**SHARE_BITS) -> Floats:
        """Return the shares of a batch's rows, in 2⁻⁵²; 0 for nobody's, and where a person has more rows than were counted.

        ``whole`` is what each row would count alone, at most 2⁵².
        """
        places = self._known.places(column)
        owned = places >= 0
        every = bool(owned.all())
        found, whose = np.zeros(len(places)), places if every else places[owned]
        np.subtract.at(self._left, whose, 1)
        alone = whole if every or isinstance(whole, int) else whole[owned]
        found[owned] = np.where(self._left[whose] >= 0, alone // np.maximum(self._counts[whose], self._most_rows), 0)
        return found


class _Numbers:
    """People whose identifiers are numbers: a word each, scattered by `_words`, in ascending order.

    Scattered words are spread evenly, so the first bits of one tell nearly where it stands: one look in place of twenty.
    """

    def __init__(self) -> None:
        self._keys, self._rows = np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64)
        self._waiting: list[Words] = []
        self._many = 0

    def count(self, column: Any) -> None:
        words, known = _words(column)
        self._waiting.append(words[known])
        self._many += len(self._waiting[-1])
        if self._many >= max(RUN, len(self._keys)):
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
        bits = max(len(self._keys).bit_length(), 1)
        edges = np.arange(2**bits, dtype=np.uint64) << np.uint64(64 - bits)
        self._first = np.searchsorted(self._keys, edges).astype(np.int32)
        self._shift, self._keys = np.uint64(64 - bits), np.append(self._keys, np.uint64(2**64 - 1))  # no word is beyond it
        rows, self._rows = self._rows, self._rows[:0]
        return rows

    def places(self, column: Any) -> Places:
        words, known = _words(column)
        place = self._first[words >> self._shift].astype(np.intp)
        found = self._keys[place]
        below = np.flatnonzero(found < words)
        while len(below):  # as many times as there are words in the fullest part
            place[below] += 1
            found[below] = self._keys[place[below]]
            below = below[found[below] < words[below]]
        return np.where(known & (found == words) & (place < len(self._keys) - 1), place, -1)


class _Texts:
    """People whose identifiers are text: a dictionary of bytes."""

    def __init__(self) -> None:
        self._places: dict[bytes | None, int] = {}
        self._rows = np.zeros(1024, dtype=np.int64)

    def count(self, column: Any) -> None:
        texts, known, indices = _entries(column)
        rows = np.bincount(indices[indices >= 0], minlength=len(texts))
        found = np.flatnonzero((rows > 0) & known)  # a dictionary may have entries that no cell has: they are nobody
        places = np.array([self._places.setdefault(texts[one], len(self._places)) for one in found.tolist()], dtype=np.intp)
        if len(self._places) > len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros(len(self._places), dtype=np.int64)])
        np.add.at(self._rows, places, rows[found])

    def counts(self) -> Integers:
        rows, self._rows = self._rows[: len(self._places)].copy(), self._rows[:0]
        return rows

    def places(self, column: Any) -> Places:
        texts, known, indices = _entries(column)
        found = np.array([*(self._places.get(one, -1) for one in texts), -1], dtype=np.intp)
        found[:-1][~known] = -1
        return found[indices]


def _words(column: Any) -> tuple[Words, NDArray[np.bool_]]:
    """Return a word for each number, alike for equal numbers only, and which cells hold one."""
    words, known = _plain_words(column)
    return words.view(np.uint64) * SCATTER, known  # an odd factor: no two words become one


def _plain_words(column: Any) -> tuple[Integers, NDArray[np.bool_]]:
    if isinstance(column, np.ndarray):
        numbers, known = column, np.ones(len(column), dtype=np.bool_)
    else:
        if pa.types.is_dictionary(column.type):
            words, there = _plain_words(column.dictionary)
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


def _entries(column: Any) -> tuple[list[bytes | None], NDArray[np.bool_], Places]:
    """Return the texts of a batch, which of them say whose a row is, and which of them each cell is; −1 where it is none."""
    if not pa.types.is_dictionary(column.type):
        column = column.cast(pa.large_binary()).dictionary_encode()
    entries = column.dictionary.cast(pa.large_binary())
    said = pc.ascii_lower(pc.ascii_trim_whitespace(entries.cast(pa.large_string(), safe=False))).cast(pa.large_binary())
    known = pc.and_(pc.is_valid(entries), pc.invert(pc.is_in(said, value_set=pa.array(NOBODY, pa.large_binary()))))
    numbered = np.arange(len(entries), dtype=np.intp)
    known = np.asarray(known.to_numpy(zero_copy_only=False), dtype=np.bool_)
    return entries.to_pylist(), known, cells.looked_up(numbered, column.indices, np.intp(-1))
