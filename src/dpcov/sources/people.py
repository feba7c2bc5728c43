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
from dpcov.kernel.rows.aside import SHARE_BITS, Weighed
from dpcov.sources import cells

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Places = NDArray[np.intp]
Words = NDArray[np.uint64]

SCATTER = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ by the golden ratio, odd: neighbouring numbers end far from each other

HALF = np.uint64(32)

FREE = -1  # in place of the number of a person

LONGEST = 64  # bytes of a text that is kept in words

KEPT = np.array([2 ** (8 * count) - 1 for count in range(9)], dtype=np.uint64)
"""Masks for the first bytes of a word, so many."""

PIECE = 2**16  # people that are moved at a time

NOBODY = [b"", b"nan", b"nat", b"na", b"n/a", b"<na>", b"null", b"none"]
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

    def __init__(self, most_rows: int = 0) -> None:
        self._known = _Index()
        self._most_rows = most_rows
        self._counts = self._quotas = self._parts = self._left = np.zeros(1, dtype=np.int64)

    @property
    def n(self) -> int:
        """How many people there are, once their rows are counted."""
        return int(np.count_nonzero(self._counts))

    def count(self, column: Any) -> None:
        """Count the rows of a batch."""
        self._known.count(column)

    def counted(self) -> None:
        """End the first pass."""
        counts = self._known.counts()
        self._set(counts, counts)

    def _set(self, counts: Integers, quotas: Integers) -> None:
        """Say how many rows each person has, and how many of them have shares in one pass."""
        self._counts, self._quotas = counts, quotas
        both = np.stack([np.maximum(counts, self._most_rows), quotas], axis=1)  # memory is looked up once for both
        self._parts, self._left = both.T

    def start(self) -> None:
        """Begin another pass: nobody's rows were seen in it."""
        self._left[:] = self._quotas

    def shares(self, column: Any) -> Floats:
        """Return the shares of a batch's rows, in 2⁻⁵²; 0 for nobody's, and where a person has more rows than were counted."""
        return Weighed(np.full(len(column), 2.0**SHARE_BITS), self.parts(column)).shares

    def parts(self, column: Any) -> Floats:
        """Return in how many parts each row of a batch counts, max(m, M); 0 where its share is."""
        whose = self._known.people(column)
        np.subtract.at(self._left, whose, 1)
        return np.where(self._left[whose] >= 0, self._parts[whose], 0).astype(np.float64)


class _Index:
    """People by number, with the words and the rows of each; whoever is nobody has number 0.

    Numbers stand in a table of twice as many places or more, each at or soon after the place that the words are scattered to. A
    search ends at the same words, all of them compared, or at a free place.
    """

    def __init__(self) -> None:
        self._people, self._rows, self._words = 1, np.zeros(1, dtype=np.int64), [np.zeros(1, dtype=np.uint64)]
        self._table = np.zeros(1, dtype=np.int32)
        self._long: dict[bytes, int] = {}
        self._text = False

    def count(self, column: Any) -> None:
        """Count the rows of a batch."""
        self._text = not isinstance(column, np.ndarray) and cells.is_text(column.type)
        words, known = _identifiers(column, self._long)
        if 2 * (self._people + len(known)) > len(self._table):
            self._grow(self._people + len(known))
        np.add.at(self._rows, self._found(words, known, add=True), 1)

    def _grow(self, people: int) -> None:
        """Make room for so many people, and half as many more."""
        room = people + people // 2
        size = 2 * room
        self._table = np.full(size + 1, FREE, dtype=np.int32 if room < 2**31 else np.int64)
        self._table[size] = 0  # the place of nobody
        for start in range(1, self._people, PIECE):
            rest = np.arange(start, min(start + PIECE, self._people))
            at = _scattered([word[rest] for word in self._words], size)
            while len(rest):
                free = self._table[at] == FREE
                self._table[at[free]] = rest[free]  # of several that come to one, some one has it
                on = self._table[at] != rest
                at, rest = (at[on] + 1) % size, rest[on]
        self._rows = _longer(self._rows, room)
        for place in range(len(self._words)):  # one by one, so that only one stands in memory twice
            self._words[place] = _longer(self._words[place], room)

    def counts(self) -> Integers:
        """Return how many rows each person has; none has whoever is nobody, or a text that says so."""
        rows, self._rows = self._rows[: self._people], self._rows[:0]
        rows[0] = 0
        for start in range(1, self._people if self._text else 0, PIECE):
            part = slice(start, min(start + PIECE, self._people))
            rows[part][_say_nobody([word[part] for word in self._words])] = 0
        return rows

    def people(self, column: Any) -> Places:
        """Return who each row of a batch is of: 0 where it is nobody's, or of somebody who was not counted."""
        return np.maximum(self._found(*_identifiers(column, self._long), add=False), 0)

    def _found(self, words: list[Words], known: NDArray[np.bool_], add: bool) -> Places:
        """Return the number of each identifier; one that is new is given the next, or none."""
        self._words += [np.zeros_like(self._words[0]) for _ in words[len(self._words) :]]
        words = words + [np.zeros_like(words[0]) for _ in self._words[len(words) :]]
        size, person = len(self._table) - 1, np.empty(len(known), dtype=np.intp)
        at, rest = np.where(known, _scattered(words, size), size), np.arange(len(known))
        while len(rest):
            if add:
                self._take(at, words)
            found = self._table[at].astype(np.intp)
            person[rest] = found
            other = self._words[0][found] != words[0]
            for mine, word in zip(self._words[1:], words[1:], strict=True):
                other |= mine[found] != word
            on = np.flatnonzero(other & (found != FREE))
            at, rest, words = (at[on] + 1) % size, rest[on], [word[on] for word in words]
        return person

    def _take(self, at: Places, words: list[Words]) -> None:
        """Give free places to new people; of several rows that came to one, some one."""
        free = np.flatnonzero(self._table[at] == FREE)
        self._table[at[free]] = free
        first = free[self._table[at[free]] == free]
        new = slice(self._people, self._people + len(first))
        self._people = new.stop
        self._table[at[first]] = np.arange(new.start, new.stop)
        for mine, word in zip(self._words, words, strict=True):
            mine[new] = word[first]


def _longer(of: NDArray[Any], room: int) -> NDArray[Any]:
    """Return an array with zeros behind it."""
    found = np.zeros(room, dtype=of.dtype)
    found[: len(of)] = of
    return found


def _scattered(words: list[Words], size: int) -> Places:
    """Return a place below ``size`` for each identifier: 0 for the number 0, and the same whether zeros stand behind or not."""
    return np.asarray(((_mixed(words) >> HALF) * np.uint64(size)) >> HALF).view(np.intp)


def _mixed(words: list[Words]) -> Words:
    mixed: Any = np.uint64(0)
    for word in reversed(words):
        mixed = ((word ^ (word >> HALF)) + mixed) * SCATTER
    return np.asarray(mixed)


def _identifiers(column: Any, long: dict[bytes, int]) -> tuple[list[Words], NDArray[np.bool_]]:
    """Return all that each cell holds in words, one or several, and which are somebody's; words of others are 0."""
    if isinstance(column, np.ndarray):
        return _of_numbers(column, np.ones(len(column), dtype=np.bool_))
    if pa.types.is_dictionary(column.type):
        words, known = _identifiers(column.dictionary, long)
        return [cells.looked_up(word, column.indices, np.uint64(0)) for word in words], cells.looked_up(
            known, column.indices, np.False_
        )
    known = _plain(column.is_valid()) if column.null_count else np.ones(len(column), dtype=np.bool_)
    if cells.is_text(column.type):
        return _of_texts(column.cast(pa.large_binary()), known, long)
    return _of_numbers(_plain(column.fill_null(0) if column.null_count else column), known)


def _of_numbers(numbers: NDArray[Any], known: NDArray[np.bool_]) -> tuple[list[Words], NDArray[np.bool_]]:
    if numbers.dtype.kind == "f":
        with np.errstate(all="ignore"):
            floats = numbers.astype(np.float64) + 0.0  # −0 is 0
        known = known & np.isfinite(floats)
        return [np.where(known, floats, 0.0).view(np.uint64)], known
    return [numbers.astype(np.uint64 if numbers.dtype.kind == "u" else np.int64).view(np.uint64)], known


def _of_texts(texts: Any, known: NDArray[np.bool_], long: dict[bytes, int]) -> tuple[list[Words], NDArray[np.bool_]]:
    """Return a byte for the length and then the text, in words; long texts are numbered, each as it is."""
    _, offsets, characters = texts.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    lengths: Integers = np.where(known, np.diff(ends), 0)
    longer = np.flatnonzero(lengths > LONGEST).tolist()
    lengths[longer] = 0
    width = int(lengths.max(initial=0)) // 8 + 1
    data = np.zeros(8 * (width + 1) + int(ends[-1] - ends[0]), dtype=np.uint8)
    data[8 : 8 + ends[-1] - ends[0]] = np.frombuffer(characters or b"", dtype=np.uint8)[ends[0] : ends[-1]]
    anywhere = np.ndarray(len(data) - 7, dtype="<u8", buffer=data, strides=(1,))  # a word from each byte on
    before = ends[:-1] - ends[0] + 7
    words = [anywhere[before + 8 * place] & KEPT[np.clip(lengths + 1 - 8 * place, 0, 8)] for place in range(width)]
    words[0] = (words[0] & ~np.uint64(255)) | lengths.view(np.uint64)
    for row in longer:
        text = texts[row].as_py()
        known[row] = text.strip().lower() not in NOBODY
        words[0][row] = known[row] * (256 * long.setdefault(text, len(long)) + 255)
    return words, known


def _say_nobody(words: list[Words]) -> NDArray[np.bool_]:
    """Return which texts stand for a missing identifier; long ones are none."""
    found = np.column_stack(words).view(np.uint8)
    inside = np.arange(found.shape[1] - 1) < found[:, :1]
    ends = np.append(0, np.cumsum(inside.sum(axis=1)))
    data = pa.py_buffer(found[:, 1:][inside])
    texts = pa.Array.from_buffers(pa.large_binary(), len(found), [None, pa.py_buffer(ends), data])
    return ~_plain(_says_who(texts))


def _says_who(texts: Any) -> Any:
    """Return whether each text names somebody."""
    said = pc.ascii_lower(pc.ascii_trim_whitespace(texts.cast(pa.large_string(), safe=False))).cast(pa.large_binary())
    return pc.and_(pc.is_valid(texts), pc.invert(pc.is_in(said, value_set=pa.array(NOBODY, pa.large_binary()))))


def _plain(column: Any) -> NDArray[Any]:
    return np.asarray(column.to_numpy(zero_copy_only=False))
