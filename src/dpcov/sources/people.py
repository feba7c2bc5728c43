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
Words = NDArray[np.uint64]

SCATTER = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ by the golden ratio, odd: neighbouring numbers end far from each other

LONGEST = 64  # bytes of a text that is kept in words

RUN = 2**18  # keys that are gathered before they are counted: sorting many at once is cheaper

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
        self._counts = self._quotas = self._parts = self._alone = np.empty(0, dtype=np.int64)
        self._left = np.empty(0, dtype=np.int64)

    @property
    def n(self) -> int:
        """How many people there are, once their rows are counted."""
        return len(self._parts)

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
        self._parts = np.maximum(counts, self._most_rows)
        self._alone = 2**SHARE_BITS // self._parts

    def start(self) -> None:
        """Begin another pass: nobody's rows were seen in it."""
        self._left = self._quotas.copy()

    def shares(self, column: Any) -> Floats:
        """Return the shares of a batch's rows, in 2⁻⁵²; 0 for nobody's, and where a person has more rows than were counted."""
        return self._of_persons(self._alone, column)

    def parts(self, column: Any) -> Floats:
        """Return in how many parts each row of a batch counts, max(m, M); 0 where its share is."""
        return self._of_persons(self._parts, column)

    def _of_persons(self, known: Integers, column: Any) -> Floats:
        places = self._known.places(column)
        owned = places >= 0
        found, whose = np.zeros(len(places)), places if owned.all() else places[owned]
        np.subtract.at(self._left, whose, 1)
        each = known[whose]
        beyond = self._left[whose] < 0
        if beyond.any():  # of a table that has changed since
            each[beyond] = 0
        found[owned] = each
        return found


class _Index:
    """People by words: a scattered one each, in ascending order, and beside it all of the identifier where that says more.

    Scattered words are spread evenly, so the first bits of one tell nearly where it stands: one look in place of twenty. Two
    texts may have one word; the second, and texts that are long, are kept apart, each as it is.
    """

    def __init__(self) -> None:
        self._keys, self._rows = np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64)
        self._exact = np.empty((0, 0), dtype=np.uint64)
        self._rare: dict[bytes, int] = {}
        self._rare_rows: list[int] = []
        self._waiting: list[tuple[Words, Words]] = []
        self._many = 0

    def count(self, column: Any) -> None:
        words, exact, known, long = _identifiers(column)
        for text in long.values():
            self._count_rare(text, 1)
        self._waiting.append((words[known], exact[known]))
        self._many += len(self._waiting[-1][0])
        if self._many >= max(RUN, len(self._keys)):
            self._merge()

    def _merge(self) -> None:
        width = max([self._exact.shape[1], *(exact.shape[1] for _, exact in self._waiting)])
        self._exact = _wide(self._exact, width)
        words = np.concatenate([self._keys[:0], *(words for words, _ in self._waiting)])
        exact = np.concatenate([self._exact[:0], *(_wide(exact, width) for _, exact in self._waiting)])
        self._waiting, self._many = [], 0
        if width:
            fresh, first, whose = np.unique(words, return_index=True, return_inverse=True)
            alike = (exact == exact[first][whose]).all(axis=1)
            for one in np.flatnonzero(~alike).tolist():
                self._count_second(words[one], exact[one])
            exact, rows = exact[first], np.bincount(whose[alike], minlength=len(fresh))
        else:
            fresh, rows = np.unique(words, return_counts=True)
            exact = exact[: len(fresh)]
        place = np.searchsorted(self._keys, fresh)
        there = place < len(self._keys)
        there[there] = self._keys[place[there]] == fresh[there]
        same = there.copy()
        same[there] = (self._exact[place[there]] == exact[there]).all(axis=1)
        for row, count in zip(exact[there & ~same], rows[there & ~same].tolist(), strict=True):
            self._count_rare(_text_of(row), count)
        self._rows[place[same]] += rows[same]
        self._rows = np.insert(self._rows, place[~there], rows[~there])
        self._exact = np.insert(self._exact, place[~there], exact[~there], axis=0)
        self._keys = np.insert(self._keys, place[~there], fresh[~there])

    def _count_second(self, word: np.uint64, row: Words) -> None:
        """Count a row whose word another text of the batch has: it may be that of somebody known, or one kept apart."""
        place = int(np.searchsorted(self._keys, word))
        if place < len(self._keys) and self._keys[place] == word and bool((self._exact[place] == row).all()):
            self._rows[place] += 1
        else:
            self._count_rare(_text_of(row), 1)

    def _count_rare(self, text: bytes, rows: int) -> None:
        number = self._rare.setdefault(text, len(self._rare_rows))
        self._rare_rows += [0] * (number == len(self._rare_rows))
        self._rare_rows[number] += rows

    def counts(self) -> Integers:
        """End the counting, and return how many rows each person has."""
        self._merge()
        bits = max(len(self._keys).bit_length(), 1)
        edges = np.arange(2**bits, dtype=np.uint64) << np.uint64(64 - bits)
        self._first = np.searchsorted(self._keys, edges).astype(np.int32)
        self._shift, self._keys = np.uint64(64 - bits), np.append(self._keys, np.uint64(2**64 - 1))  # no word is beyond it
        self._exact = np.append(self._exact, np.zeros((1, self._exact.shape[1]), dtype=np.uint64), axis=0)
        rows, self._rows = self._rows, self._rows[:0]
        return np.concatenate([rows, np.array(self._rare_rows, dtype=np.int64)])

    def places(self, column: Any) -> Places:
        """Return who each row of a batch is of, −1 where it is nobody's, or of somebody who was not counted."""
        words, exact, known, long = _identifiers(column)
        place = self._first[words >> self._shift].astype(np.intp)
        found, people = self._keys[place], len(self._keys) - 1
        below = np.flatnonzero(found < words)
        while len(below):  # as many times as there are words in the fullest part
            place[below] += 1
            found[below] = self._keys[place[below]]
            below = below[found[below] < words[below]]
        met = known & (found == words) & (place < people)
        if exact.shape[1]:
            width = max(exact.shape[1], self._exact.shape[1])
            same = _wide(self._exact[place], width) == _wide(exact, width)
            met &= same.all(axis=1)
        whose = np.where(met, place, -1)
        if self._rare:
            for row in np.flatnonzero(known & ~met).tolist():
                whose[row] = people + self._rare.get(_text_of(exact[row]), -1 - people)
            for row, text in long.items():
                whose[row] = people + self._rare.get(text, -1 - people)
        return whose


def _wide(exact: Words, width: int) -> Words:
    """Return rows of words with zeros behind them."""
    return exact if exact.shape[1] == width else np.pad(exact, ((0, 0), (0, width - exact.shape[1])))


def _text_of(row: Words) -> bytes:
    """Return the text that a length and its words stand for."""
    return row[1:].tobytes()[: int(row[0])]


def _identifiers(column: Any) -> tuple[Words, Words, NDArray[np.bool_], dict[int, bytes]]:
    """Return a scattered word for each cell, all that it holds where that is more, which name somebody, and long texts."""
    if isinstance(column, np.ndarray) or not cells.is_text(column.type):
        plain, known = _plain_words(column)
        # An odd factor: no two words become one.
        return plain.view(np.uint64) * SCATTER, np.empty((len(plain), 0), dtype=np.uint64), known, {}
    if pa.types.is_dictionary(column.type):
        words, exact, known, long = _of_texts(column.dictionary.cast(pa.large_binary()))
        place = cells.looked_up(np.arange(len(words), dtype=np.intp), column.indices, np.intp(len(words)))
        texts = {row: long[entry] for row, entry in enumerate(place.tolist()) if entry in long} if long else {}
        none = np.zeros((1, exact.shape[1]), dtype=np.uint64)
        return (
            np.append(words, np.uint64(0))[place],
            np.append(exact, none, axis=0)[place],
            np.append(known, False)[place],
            texts,
        )
    return _of_texts(column.cast(pa.large_binary()))


def _of_texts(texts: Any) -> tuple[Words, Words, NDArray[np.bool_], dict[int, bytes]]:
    known = np.asarray(_says_who(texts).to_numpy(zero_copy_only=False), dtype=np.bool_)
    _, starts, characters = texts.buffers()
    ends = np.frombuffer(starts, dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    data = np.frombuffer(characters or b"", dtype=np.uint8)
    lengths: Integers = np.where(known, np.diff(ends), 0)
    long = {row: texts[row].as_py() for row in np.flatnonzero(lengths > LONGEST).tolist()}
    lengths[list(long)] = 0
    known[list(long)] = False
    width = (int(lengths.max(initial=0)) + 7) // 8 * 8
    within = np.arange(width) < lengths[:, None]
    padded = np.append(data, np.uint8(0))[np.where(within, ends[:-1, None] + np.arange(width), len(data))]
    exact = np.column_stack([lengths.astype(np.uint64), padded.reshape(len(texts), width).view(np.uint64)])
    mixed: Words = np.zeros(len(texts), dtype=np.uint64)
    for place, word in enumerate(exact.T):
        turned = (mixed ^ word) * SCATTER
        mixed = np.where(
            8 * place <= lengths + 7, turned ^ (turned >> np.uint64(29)), mixed
        )  # as if there were no zeros behind
    return mixed * SCATTER, exact, known, long


def _says_who(texts: Any) -> Any:
    """Return whether each text names somebody."""
    said = pc.ascii_lower(pc.ascii_trim_whitespace(texts.cast(pa.large_string(), safe=False))).cast(pa.large_binary())
    return pc.and_(pc.is_valid(texts), pc.invert(pc.is_in(said, value_set=pa.array(NOBODY, pa.large_binary()))))


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
