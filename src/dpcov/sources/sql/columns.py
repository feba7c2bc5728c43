"""From the cells of a query to numbers: as a source of this process makes them, feature by feature or column by column.

A number is NULL where a cell holds none, or one that is not finite; what it counts as is written then, not left to chance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

from dpcov.errors import ParameterError
from dpcov.schema import Categorical, Derived, Described, Numeric, Observed, Schema
from dpcov.schema.derived import Indicator
from dpcov.sources.sql.arithmetic import bounded, product, times
from dpcov.sources.sql.chain import Chain
from dpcov.sources.sql.dialects import MOST


class Feature(NamedTuple):
    """A number of each row, and what its absolute value is at most; None: any finite double, or NULL."""

    text: str
    most: float | None = None


@dataclass(frozen=True)
class Cells:
    """Where a column of the query stands in it, what kind of cells it has, and how many decimals."""

    text: str
    kind: str
    scale: int = 0


@dataclass(frozen=True)
class Meaning:
    """What the columns of a query are, and what a schema makes of them.

    Attributes
    ----------
    cells : dict
        For each column that is used its cells.
    schema : Schema, optional
        None: each column is a number.
    center : bool
        Whether a schema encodes columns about their midpoints.
    """

    cells: dict[str, Cells]
    schema: Schema | None
    center: bool

    def features(self, chain: Chain) -> list[Feature]:
        """Return a number for each feature: without a schema the cells, NULL where one holds no number."""
        if self.schema is None:
            return [Feature(chain.let(number(chain, cells))) for cells in self.cells.values()]
        found: list[Feature] = []
        for name, (column, offset, scale) in zip(self.schema.used, self.schema.encodings(self.center), strict=True):
            if isinstance(column, Numeric):
                found.append(self._encoded(chain, name, column, offset, scale))
            else:
                place = chain.let(self._position(chain, name, column))
                share, zero = chain.dialect.number(1 / scale), chain.dialect.number(0)
                found += [
                    Feature(f"CASE WHEN {place} = {level} THEN {share} ELSE {zero} END", 1 / scale)
                    for level in range(len(column.levels))
                ]
        return found

    def by_column(self, chain: Chain) -> list[str]:
        """Return for each column of a schema a name of what it holds: an encoded number or a position, NULL where neither."""
        assert self.schema is not None
        found: list[str] = []
        for name, (column, offset, scale) in zip(self.schema.used, self.schema.encodings(self.center), strict=True):
            if isinstance(column, Numeric):
                value = chain.let(self._number(chain, name, column))
                found.append(chain.let(f"CASE WHEN {value} IS NOT NULL THEN {_moved(chain, value, column, offset, scale)} END"))
            else:
                found.append(chain.let(self._position(chain, name, column)))
        return found

    def _encoded(self, chain: Chain, name: str, column: Numeric, offset: float, scale: float) -> Feature:
        value = chain.let(self._number(chain, name, column))
        missing = chain.dialect.number((column.midpoint - offset) * (1 / scale))
        moved = _moved(chain, value, column, offset, scale)
        most = max(abs((end - offset) * (1 / scale)) for end in (column.lower, column.upper))
        return Feature(f"CASE WHEN {value} IS NULL THEN {missing} ELSE {moved} END", most)

    def _number(self, chain: Chain, name: str, column: Numeric) -> str:
        if isinstance(column, Derived):
            factors = [chain.let(self._factor(chain, of, cells)) for of, cells in column.cells(name)]
            return reduce(lambda a, b: product(chain, a, b), factors)  # NULL where one of them is
        ((of, _),) = column.cells(name)
        return number(chain, self.cells[of])

    def _factor(self, chain: Chain, of: str, described: Described) -> str:
        """Return a cell within its bounds, transformed; or whether it is a level."""
        if isinstance(described, Indicator):
            place = chain.let(position(chain, self.cells[of], described))
            one, zero = chain.dialect.number(1), chain.dialect.number(0)
            return f"CASE WHEN {place} IS NOT NULL THEN CASE WHEN {place} = {described.place} THEN {one} ELSE {zero} END END"
        assert isinstance(described, Numeric)
        value = chain.let(number(chain, self.cells[of]))
        inside = chain.let(bounded(chain, value, described.lower, described.upper))
        if described.about is not None:
            inside = chain.let(f"{inside} - {chain.dialect.number(described.about)}")
        if described.transform == "log":
            raise ParameterError(
                "transform must be 'square' or 'sqrt' inside a database, got 'log'. "
                "Hint: export the rows through Arrow: of DuckDB, pass the relation itself."
            )
        return {None: inside, "sqrt": f"sqrt({inside})", "square": product(chain, inside, inside)}[described.transform]

    def _position(self, chain: Chain, name: str, column: Categorical) -> str:
        ((of, described),) = column.cells(name)
        if isinstance(described, Numeric):
            return f"CASE WHEN {chain.let(number(chain, self.cells[of]))} IS NULL THEN 0 ELSE 1 END"
        found = position(chain, self.cells[of], described)
        return f"CASE WHEN {chain.let(found)} IS NULL THEN 0 ELSE 1 END" if isinstance(column, Observed) else found


def number(chain: Chain, cells: Cells) -> str:
    """Return the number that a cell holds, NULL where none, or one that is not finite."""
    chain.dialect.number(MOST if cells.kind == "float" else float(f"1e-{cells.scale}"))  # stands in it: it is read back
    return chain.dialect.numbers[cells.kind](cells.text, cells.scale)


def position(chain: Chain, cells: Cells, column: Categorical) -> str:
    """Return which level a cell is, NULL where none."""
    if cells.kind == "nothing":
        return chain.dialect.nothing["key"]
    if column.kind == "number":
        value = chain.let(number(chain, cells))
        known = [f"{value} = {chain.dialect.number(float(level))}" for level in column.levels]
    elif cells.kind == "boolean":
        known = [f"{cells.text}" if level else f"NOT {cells.text}" for level in column.levels]
    else:
        known = [chain.dialect.text(cells.text, name, column.kind == "boolean") for name in column.names]
    cases = " ".join(f"WHEN {condition} THEN {place}" for place, condition in enumerate(known))
    return f"CASE {cases} END"


def _moved(chain: Chain, value: str, column: Numeric, offset: float, scale: float) -> str:
    inside = bounded(chain, value, column.lower, column.upper)
    moved = f"({inside})" if offset == 0 else f"(({inside}) - {chain.dialect.number(offset)})"
    return times(chain, chain.let(moved) if chain.dialect.strict else moved, 1 / scale)


def by_place(chain: Chain, place: str, values: Sequence[float], none: float) -> str:
    """Return the public number that belongs to a position, and that of none."""
    number = chain.dialect.number
    if len(set(values)) == 1 and values[0] == none and math.isfinite(none):
        return number(none)
    cases = " ".join(f"WHEN {position} THEN {number(value)}" for position, value in enumerate(values))
    return f"CASE {place} {cases} ELSE {number(none)} END"
