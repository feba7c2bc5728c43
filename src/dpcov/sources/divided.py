"""People whose rows stand in several parts: what each part counts, and how many rows of a person it gives shares to.

Each part counts its own rows (`tally_of`). The counts are added up (`DividedPeople`), and in every reading each part gets a
`Quota`: how many rows of whom it may count, and of how many in all. Quotas of all parts add up to the rows that a person has,
so the shares of all rows of a person add up to at most 1, whatever the parts hold by then (docs/mechanisms/people.md, part 6).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dpcov.sources import cells, people
from dpcov.sources.people import HALF, LONGEST, SCATTER, Integers, People, Words

RUN = 2**18
"""Identifiers that are gathered before they are counted."""


class Tally(NamedTuple):
    """How many rows each person has in a part of the table; ``keys`` are as `named` has them, each once, and no null."""

    keys: Any
    rows: Integers
    read: int
    """How many rows the part has, nobody's among them."""


class Quota(NamedTuple):
    """What a part may give shares to: so many ``rows`` of each person, who has ``whole`` in all parts."""

    keys: Any
    rows: Integers
    whole: Integers


class DividedPeople(People):
    """How many rows each person has in all parts."""

    def counted_apart(self, tallies: Iterable[Tally]) -> None:
        """End a first pass in which each part was counted by itself."""
        kept = [tally for tally in tallies if len(tally.keys)]
        for tally in kept:
            self._known.count(tally.keys)
        counts = np.zeros(len(self._known.counts()), dtype=np.int64)
        for tally in kept:
            np.add.at(counts, self._known.people(tally.keys), tally.rows)
        self._set(counts, counts)

    def quota(self, tally: Tally) -> Quota:
        """Return what a part gives shares to in this pass: as many rows as it has, and as the parts before it have left."""
        whose = self._known.people(tally.keys)
        known = whose > 0
        whose = whose[known]
        granted = np.minimum(tally.rows[known], self._left[whose])
        np.subtract.at(self._left, whose, granted)
        return Quota(tally.keys.filter(pa.array(known)), granted, self._counts[whose])


class PeopleOfPart(People):
    """Those of one part: a row of anybody else has no share there."""

    def __init__(self, quota: Quota, most_rows: int) -> None:
        super().__init__(most_rows)
        self._known.count(quota.keys)
        counts = self._known.counts()
        places = self._known.people(quota.keys)
        rows = np.zeros_like(counts)
        counts[places], rows[places] = quota.whole, quota.rows
        self._set(counts, rows)


def tally_of(columns: Iterable[Any]) -> Tally:
    """Count the rows of a part, from the batches of the column that says whose they are."""
    waiting, many, known, read = list[Any](), 0, 0, 0
    for column in columns:
        read += len(column)
        waiting.append(_alike(named(column).drop_null()))
        many += len(waiting[-1])
        if many >= max(RUN, 2 * known):
            waiting = [_merged(waiting)]
            many = known = len(waiting[0])
    if not waiting:
        return Tally(pa.array([], pa.int64()), np.empty(0, dtype=np.int64), 0)
    keys, rows = _merged(waiting).columns
    return Tally(keys.combine_chunks(), rows.to_numpy().astype(np.int64), read)


def _alike(keys: Any) -> Any:
    found = keys.value_counts()
    return pa.table({"key": found.field("values"), "rows": found.field("counts")})


def _merged(counted: list[Any]) -> Any:
    found = pa.concat_tables(counted).group_by("key", use_threads=False).aggregate([("rows", "sum")])
    return pa.table({"key": found["key"], "rows": found["rows_sum"]})


def named(column: Any) -> Any:
    """Return what tells people apart: of each cell the bits of a number or the bytes of a text, null where it is nobody's."""
    if isinstance(column, np.ndarray) or not cells.is_text(column.type):
        [words], known = people._identifiers(column, {})
        return pa.array(words.view(np.int64), mask=~known)
    if pa.types.is_dictionary(column.type):
        entries = named(column.dictionary)
        places = cells.looked_up(np.arange(len(entries)), column.indices, np.int64(-1))
        return entries.take(pa.array(places, mask=places < 0))
    texts = column.cast(pa.large_binary())
    return pc.if_else(people._says_who(texts), texts, pa.scalar(None, pa.large_binary()))


def spread(column: Any) -> Words:
    """Return a word for each cell, the same wherever an identifier is met: who it is of decides it, and nothing else."""
    keys = named(column)
    if cells.is_text(keys.type):  # long ones go one way: they are numbered as they come
        keys = pc.if_else(pc.greater(pc.binary_length(keys), LONGEST), pa.scalar(b"", pa.large_binary()), keys)
    words = people._mixed(people._identifiers(keys, {})[0])
    return ((words ^ (words >> HALF)) * SCATTER) >> np.uint64(24)
