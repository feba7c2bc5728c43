"""Made-up tables in which people have several rows: neighbours differ in all rows of one person.

A person is some records, how often each stands there, and records beside them that are nobody's: their identifier is missing.
One row against ten thousand, a weight of nothing or beyond its bound, and rows that should not count at all are among them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpcov.errors import ParameterError
from dpcov.schema.whose import Checked
from dpcov.verify.neighbours import Dice, Kind, Row

RECORDS = (1, 1, 1, 1, 2, 2, 3, 5)
"""Different rows of a person."""

TIMES = (1, 1, 1, 1, 1, 1, 1, 2, 3, 17, 10_000)
"""How often each of them stands in the table."""

OF_LARGEST = (1.0, 1.0, 1.0, 0.5, 1 - 2.0**-40, 2.0**-30, 0.0, 5.0, -1.0, math.nan, math.inf, 1e-300)
"""Weights, in parts of the largest."""


class People:
    """Tables whose rows are people's: an identifier stands behind the columns of another kind, and a weight before it."""

    def __init__(self, kind: Kind, whose: Checked) -> None:
        self._kind, self._whose = kind, whose

    def row(self, dice: Dice) -> Row:
        """Return a person: records, how often each is there, and records beside them that are nobody's."""
        usual = self._record(dice)
        alike = dice.below(2) == 0
        records = [usual, *(usual if alike else self._record(dice) for _ in range(dice.one_of(RECORDS) - 1))]
        nobody_s = (self._record(dice),) if dice.below(3) == 0 else ()
        return tuple(records), dice.one_of(TIMES), nobody_s

    def changed(self, row: Row, dice: Dice) -> Row:
        """Return a person with another number of rows, another row, or quite another person."""
        records, times, nobody_s = row
        way, place = dice.below(6), dice.below(len(records))
        if way == 0:
            return self.row(dice)
        if way == 1:
            return records, dice.one_of(TIMES), nobody_s
        if way == 2:
            return (*records, self._record(dice)), times, nobody_s
        if way == 3 and len(records) > 1:
            return records[:place] + records[place + 1 :], times, nobody_s
        if way == 4:
            return records, times, (self._record(dice),) if not nobody_s else ()
        return (*records[:place], self._changed(records[place], dice), *records[place + 1 :]), times, nobody_s

    def data(self, rows: Sequence[Row]) -> Any:
        """Return a table: people in the order in which they are given, and so with the same identifiers in both neighbours."""
        records, repeats, owners = list[Row](), list[int](), list[float]()
        for person, (own, times, nobody_s) in enumerate(rows):
            for kept, often, owner in ((own, times, float(person)), (nobody_s, 1, math.nan)):
                records += kept
                repeats += [often] * len(kept)
                owners += [owner] * len(kept)
        places = np.repeat(np.arange(len(records)), repeats)
        features = self._kind.data([features for features, _ in records])
        beside = {"unit": np.array(owners, dtype=np.float64)[places]}
        if self._whose.weight:
            beside = {"weight": np.array([weight for _, weight in records], dtype=np.float64)[places], **beside}
        if isinstance(features, np.ndarray):
            return np.column_stack([features[places], *beside.values()])
        table = features.take(places)
        for said, column in beside.items():
            table = table.append_column(getattr(self._whose, said), [column])
        return table

    def rows(self, data: Any) -> list[Row]:
        """Return the people of a table that somebody chose; of an array weight and identifier are the last columns."""
        if isinstance(data, np.ndarray) or not hasattr(data, "column_names"):
            array = np.asarray(data, dtype=np.float64)
            width = 2 if self._whose.weight else 1
            if array.ndim != 2 or array.shape[1] <= width:
                raise ParameterError("pairs must be arrays with identifiers behind the features, got others. Hint: width=2.")
            features, *beside = array[:, :-width], *array[:, -width:].T
            weights, owners = (beside[0].tolist() if width == 2 else [None] * len(array)), beside[-1].tolist()
        else:
            missing = [name for name in self._whose.names if name not in data.column_names]
            if missing:
                raise ParameterError(f"pairs must be tables with the column {missing[0]!r}, got others. Hint: it says whose.")
            features, owners = data, data.column(self._whose.unit).to_pylist()
            weights = data.column(self._whose.weight).to_pylist() if self._whose.weight else [None] * len(owners)
        people: dict[Any, list[Row]] = {}
        for record, weight, owner in zip(self._kind.rows(features), weights, owners, strict=True):
            known = owner is not None and owner == owner
            people.setdefault(owner if known else None, []).append((record, weight))
        nobody_s = people.pop(None, [])
        found: list[Row] = [(tuple(own), 1, ()) for own in people.values()]
        return [*found, ((), 1, tuple(nobody_s))] if nobody_s else found

    def _record(self, dice: Dice) -> Row:
        return self._kind.row(dice), self._weight(dice)

    def _changed(self, record: Row, dice: Dice) -> Row:
        features, weight = record
        if self._whose.weight and dice.below(3) == 0:
            return features, self._weight(dice)
        return self._kind.changed(features, dice), weight

    def _weight(self, dice: Dice) -> float | None:
        return dice.one_of(OF_LARGEST) * self._whose.max_weight if self._whose.weight else None
