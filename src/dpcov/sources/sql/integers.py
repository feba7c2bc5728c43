"""A row's integers inside a database: operation by operation those of `kernel/rows/`, which says why they bound a row.

Where this file says that something is left out, its result is known without it: a product that rounds to 0, or a row that is
longer than sums are exact for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from dpcov.errors import ParameterError
from dpcov.kernel.rows.annulus import Annulus
from dpcov.kernel.rows.frames import STEPS, Ball, Box, Ellipsoid
from dpcov.kernel.rows.grid import SHRINK, WILD, Grid
from dpcov.kernel.rows.standard import Standard, Units
from dpcov.sources.sql.arithmetic import (
    added,
    bounded,
    largest,
    largest_factor,
    over,
    square,
    squares,
    times,
)
from dpcov.sources.sql.chain import Chain
from dpcov.sources.sql.columns import Feature, by_place

BEYOND = 2.0**27
"""What stands for entries so large that their row is longer than sums are exact for: its square alone is."""

NEARLY_NOTHING = 0.25
"""Products below it round to 0."""

LEAST_SHRINKAGE = 1e-250
"""Of a radius, squared: quotients by norms of integers are then ordinary numbers."""

ELSEWHERE = "export the rows through Arrow: of DuckDB, pass the relation itself"


class Rounded(NamedTuple):
    """The integers of a row before it is clipped, their squared norm, and whether the row is so far out that it was scaled."""

    entries: list[str]
    norm: str
    far: str | None


class Clipped(NamedTuple):
    """The integers of a row: a constant in front, 0 where there is none, and the others as integers of 64 bits."""

    constant: int
    entries: list[str]


def encoded(chain: Chain, rows: object, features: Sequence[Feature]) -> Clipped:
    """Return the integers that these rows have, for any kind of rows but those by column."""
    if type(rows) is Grid:
        found = rounded(chain, features, rows)
        return Clipped(rows.constant, clipped(chain, found, rows.radius_squared))
    if type(rows) is Ball:
        return encoded(chain, Grid(rows.radius), from_centre(chain, features, rows.centre))
    if type(rows) is Box:
        dialect = chain.dialect
        inside = in_box(chain, features, rows)
        return Clipped(0, chain.all([dialect.whole(dialect.nearest(times(chain, x, float(rows.one)))) for x in inside]))
    if type(rows) is Ellipsoid:
        return _in_ellipsoid(chain, features, rows)
    if type(rows) is Annulus:
        return Clipped(0, both(chain, rows, features)[1])
    raise ParameterError(f"rows must be of a shape that has statements, got another. Hint: {ELSEWHERE}.")


def rounded(chain: Chain, features: Sequence[Feature], grid: Grid) -> Rounded:
    """Return rows as multiples of the grid's step, far ones scaled to the radius, as `Grid._round` and `Grid._tamed` do."""
    number, dialect = chain.dialect.number, chain.dialect
    radius = math.sqrt(grid.radius_squared)
    scale = radius / grid.row_norm
    near = all(x.most is not None for x in features)
    if near and sum((x.most * scale * 1.001 + 1) ** 2 for x in features if x.most is not None) < WILD:  # no row is far
        xs = chain.all([x.text for x in features]) if dialect.strict else [x.text for x in features]
        entries = chain.all([dialect.nearest(times(chain, x, scale)) for x in xs])
        return Rounded(entries, chain.let(squares(entries)), None)
    zero, xs = number(0), chain.all([x.text for x in features])
    first = [
        f"CASE WHEN {x} IS NULL OR abs({x}) < {number(NEARLY_NOTHING / scale)} THEN {zero} "
        f"WHEN abs({x}) >= {number(2 * BEYOND / scale)} THEN {number(BEYOND)} "
        f"ELSE {dialect.nearest(f'({x} * {number(scale)})')} END"
        for x in xs
    ]
    first = chain.all(first)
    far = chain.let(f"{squares(first)} >= {number(WILD)}")
    there = [f"CASE WHEN {x} IS NULL THEN {zero} ELSE abs({x}) END" for x in xs]
    top = chain.let(f"CASE WHEN {far} THEN {largest(there)} ELSE {number(1)} END")
    least, factor = chain.let(f"{top} * {number(2.0**-40)}"), chain.let(f"{number(radius)} / {top}")
    entries = [
        f"CASE WHEN NOT {far} THEN {z} WHEN {x} IS NULL OR abs({x}) < {least} THEN {zero} "
        f"ELSE {dialect.nearest(f'({x} * {factor})')} END"
        for x, z in zip(xs, first, strict=True)
    ]
    entries = chain.all(entries)
    return Rounded(entries, chain.let(squares(entries)), far)


def clipped(chain: Chain, row: Rounded, radius_squared: int) -> list[str]:
    """Return rounded rows as integers of at most this squared norm, as `grid.shrunk` does."""
    number = chain.dialect.number
    most = number(float(radius_squared))
    shorter = f"{number(math.sqrt(radius_squared))} / sqrt({row.norm}) * {number(SHRINK)}"
    factor = chain.let(f"CASE WHEN {row.norm} > {most} THEN {shorter} ELSE {number(1)} END")
    return scaled(chain, row.entries, factor, radius_squared)


def scaled(chain: Chain, entries: Sequence[str], factor: str, radius_squared: int) -> list[str]:
    """Return integers times a factor, cut towards zero, and nothing of a row that is still too long: `grid.scaled`."""
    dialect = chain.dialect
    cut = chain.all([dialect.toward_zero(f"({z} * {factor})") for z in entries])
    number = dialect.number
    inside = f"{squares(cut)} <= {number(float(radius_squared))}"
    kept = chain.let(f"CASE WHEN {inside} THEN {number(1)} ELSE {number(0)} END")
    return chain.all([dialect.whole(f"({z} * {kept})") for z in cut])


def both(chain: Chain, annulus: Annulus, features: Sequence[Feature]) -> tuple[list[str], list[str]]:
    """Return rows clipped at the inner radius, and what that took from them, as `Annulus.encode_both` does."""
    number, inner = chain.dialect.number, annulus.inner
    shrinkage = (inner.row_norm / annulus.outer.row_norm) ** 2
    if shrinkage < LEAST_SHRINKAGE:
        raise ParameterError(f"clip must be at least 1e-125 of row_norm inside a database, got less. Hint: {ELSEWHERE}.")
    row = rounded(chain, features, inner)
    radius = float(annulus.one**2)
    length = f"least({row.norm} * {number(shrinkage)}, {number(radius)})"
    length = length if row.far is None else f"CASE WHEN {row.far} THEN {number(radius)} ELSE {length} END"
    left = chain.let(f"({length}) - {number(radius * shrinkage)}")
    outside = f"{row.norm} > {number(float(inner.radius_squared))}"
    outside = outside if row.far is None else f"({outside} OR {row.far})"
    root = f"sqrt({left} / greatest({row.norm}, {number(1)})) * {number(SHRINK)}"
    factor = chain.let(f"CASE WHEN {outside} AND {left} > {number(0)} THEN {root} ELSE {number(0)} END")
    beyond = scaled(chain, row.entries, factor, annulus.reach)
    return clipped(chain, row, inner.radius_squared), beyond


def from_centre(chain: Chain, features: Sequence[Feature], centre: Sequence[float]) -> list[Feature]:
    """Return rows as seen from a public centre; what is missing stays so."""
    number = chain.dialect.number
    return [
        Feature(f"({x.text} - {number(c)})", None if x.most is None else x.most + abs(c))
        for x, c in zip(features, centre, strict=True)
    ]


def in_box(chain: Chain, features: Sequence[Feature], box: Box) -> list[str]:
    """Return rows in half widths of a box, between −1 and 1, 0 where a cell is missing."""
    number = chain.dialect.number
    moved = chain.all([x.text for x in from_centre(chain, features, box.centre)])
    found = [
        f"CASE WHEN {x} IS NULL THEN {number(0)} WHEN {x} >= {number(half)} THEN {number(1)} "
        f"WHEN {x} <= {number(-half)} THEN {number(-1)} ELSE {over(chain, x, half)} END"
        for x, half in zip(moved, box.halves, strict=True)
    ]
    return chain.all(found)


def _in_ellipsoid(chain: Chain, features: Sequence[Feature], rows: Ellipsoid) -> Clipped:
    """Return rows in an ellipsoid: on a fine grid, times a matrix of integers, on the plain grid."""
    dialect, number = chain.dialect, chain.dialect.number
    moved = chain.all([x.text for x in from_centre(chain, features, rows.centre)])
    fits = [largest_factor(scale) for scale in rows._scales.tolist()]
    placed = [
        f"CASE WHEN {x} IS NULL OR abs({x}) > {number(min(most, 1.7976931348623157e308))} THEN {number(0)} "
        f"ELSE {times(chain, x, scale)} END"
        for x, scale, most in zip(moved, rows._scales.tolist(), fits, strict=True)
    ]
    fine = rows._fine
    z = clipped(chain, rounded(chain, [Feature(x) for x in placed], fine), fine.radius_squared)
    unit = math.ldexp(1.0, -rows._exponent)  # an ordinary number: what would make it another is refused as singular
    y = [
        dialect.nearest(f"({added([f'{one} * {number(entry)}' for one, entry in zip(z, line, strict=True)])} * {number(unit)})")
        for line in rows._matrix.tolist()
    ]
    return encoded(chain, STEPS, [Feature(one) for one in y])


def in_units(chain: Chain, columns: Sequence[str], units: Units) -> tuple[list[Feature], list[Feature]]:
    """Return rows in private units: the coordinates of numbers, and those of levels."""
    numeric: list[Feature] = []
    for (place, _), unit in zip(units.columns.numeric, units.numeric, strict=True):
        if unit.deviation > 0:
            x, number = columns[place], chain.dialect.number
            moved = chain.let(f"({bounded(chain, x, unit.low, unit.high)}) - {number(unit.centre)}")
            placed = times(chain, moved, 1 / unit.deviation)
            far = max(unit.high - unit.centre, unit.centre - unit.low)
            numeric.append(Feature(f"CASE WHEN {x} IS NULL THEN {number(0)} ELSE {placed} END", 1.001 * far / unit.deviation))
    levels: list[Feature] = []
    for (place, _), of_levels in zip(units.columns.levels, units.levels, strict=True):
        for values in of_levels.vectors.T.tolist() if of_levels.size else []:
            levels.append(Feature(by_place(chain, columns[place], values[:-1], values[-1]), max(map(abs, values))))
    return numeric, levels


def standard(chain: Chain, columns: Sequence[str], rows: Standard) -> Clipped:
    """Return the integers of rows in private units."""
    numeric, levels = in_units(chain, columns, rows.units)
    front = [Feature(chain.dialect.number(rows.corner), rows.corner)] if rows.corner > 0 else []
    return encoded(chain, Grid(rows.row_norm, rows.bits), [*front, *numeric, *levels])


def squared_length(chain: Chain, columns: Sequence[str], units: Units) -> str:
    """Return ‖z‖² of rows in private units: added cell by cell in one order, since it is rounded each time."""
    numeric, _ = in_units(chain, columns, units)
    terms = [square(chain, chain.let(x.text)) for x in numeric]
    for (place, _), of_levels in zip(units.columns.levels, units.levels, strict=True):
        if of_levels.size:
            lengths = of_levels.lengths.tolist()
            terms.append(by_place(chain, columns[place], lengths[:-1], lengths[-1]))
    total = chain.dialect.number(0)
    for term in terms:
        total = f"({total} + {term})"
    return chain.let(total)
