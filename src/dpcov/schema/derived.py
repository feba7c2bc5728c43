"""Columns that are computed from cells: a transform of one column, or the product of two.

What is computed is one number for each row, from cells of that row alone, each of them clipped first: so it lies between
bounds that follow from public ones, and where a cell is missing, so is the number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpcov.errors import ParameterError, did_you_mean, shown
from dpcov.schema.columns import Categorical, Floats, Level, Numeric, Observed, checked_weight

FACTORS = 2  # of a product


@dataclass(frozen=True)
class Indicator(Categorical):
    """Whether a cell is one ``level`` of its column: 1 or 0, and missing where it is none of the levels."""

    level: Level = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not any(type(self.level) is type(level) and self.level == level for level in self.levels):
            raise ParameterError(f"level must be one of the levels, got {shown(self.level)}. Hint: see levels.")

    @property
    def place(self) -> int:
        """The position of the level among all."""
        return list(self.levels).index(self.level)


Factor = Numeric | Indicator


@dataclass(frozen=True)
class Product:
    """A column that is the product of two others: an interaction, for regressions.

    Parameters
    ----------
    factors : two of str
        Names of columns of the same schema: of one of numbers (its logarithm, where it is released as that), of a level
        (``"sex=Male"``), or of a column of two levels, which stands for its second one.
    weight : float
        As in `Numeric`.

    Examples
    --------
    >>> Product(["age", "sex=Male"]).factors
    ('age', 'sex=Male')
    """

    factors: Sequence[str | Factor]
    weight: float = 1.0

    def __post_init__(self) -> None:
        given = self.factors
        if isinstance(given, str | bytes) or not isinstance(given, Sequence) or len(given) != FACTORS:
            found = f"{len(given)} of them" if isinstance(given, list | tuple) else shown(given)
            raise ParameterError(f"product must be two names of columns, got {found}. Hint: product = ['age', 'sex=Male'].")
        for factor in given:
            if not isinstance(factor, str | Numeric | Indicator) or isinstance(factor, Derived):
                raise ParameterError(f"product must be two names of columns, got {shown(factor)}. Hint: quote the names.")
        if given[0] == given[1]:
            raise ParameterError('product must be of two different columns, got one twice. Hint: transform = "square".')
        object.__setattr__(self, "factors", tuple(given))
        object.__setattr__(self, "weight", checked_weight(self.weight))


@dataclass(frozen=True)
class Derived(Numeric):
    """A number that is computed from cells: the product of its ``factors``, or the transform of a single one.

    ``lower`` and ``upper`` bound that number; factors have the bounds of their own cells.
    """

    factors: tuple[Factor, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= len(self.factors) <= FACTORS:
            raise ParameterError(f"factors must be one or two, got {len(self.factors)}. Hint: Product(['age', 'sex=Male']).")

    @property
    def before(self) -> Numeric | None:
        """What a transform is made of; of a product None."""
        return self.factors[0] if len(self.factors) == 1 and isinstance(self.factors[0], Numeric) else None

    def cells(self, name: str) -> tuple[tuple[str, Numeric | Categorical], ...]:
        """Return the columns of the table that it is made of, each with what its cells are."""
        return tuple((factor.of or name, factor) for factor in self.factors)

    def features(self, name: str) -> tuple[str, ...]:
        """Return its name; one that a column of the table has, too, says what was done to that."""
        return (name,) if self.before is None or self.before.of != name else (_recipe(self.before),)

    @property
    def recipe(self) -> str:
        """How it is made, for people."""
        return " × ".join(_recipe(factor) for factor in self.factors)


def transformed(name: str, column: Numeric) -> Derived:
    """Return the transform of a column of numbers, with the bounds of what comes out of it."""
    lower, upper = column.image()
    cells = replace(column, of=column.of or name, weight=1.0, missing=None)
    return Derived(lower, upper, column.weight, column.nullable, column.missing, factors=(cells,))


def multiplied(product: Product, columns: Mapping[str, Any]) -> Derived:
    """Return a product whose factors are looked up among the other columns of its schema."""
    factors = tuple(_found(factor, columns) if isinstance(factor, str) else _bare(factor) for factor in product.factors)
    if any(isinstance(factor, Numeric) and factor.dates is not None for factor in factors):
        raise ParameterError("product must be of numbers or levels, got dates. Hint: days have no natural zero.")
    if factors[0] == factors[1]:
        raise ParameterError('product must be of two different columns, got one twice. Hint: transform = "square".')
    ends = np.multiply.outer(*(np.array((0.0, 1.0) if isinstance(factor, Indicator) else factor.image()) for factor in factors))
    nullable = any(factor.nullable for factor in factors)
    return Derived(float(ends.min()), float(ends.max()), product.weight, nullable, factors=factors)


def multiply(parts: Iterable[Floats]) -> Floats:
    """Return the product of factors, in order: NaN where one of them is."""
    first, *others = parts
    with np.errstate(all="ignore"):
        for other in others:
            first = first * other
    return first


def _found(name: str, columns: Mapping[str, Any]) -> Factor:
    """Return the factor that is called so: a column, or one of its features."""
    known: dict[str, Factor] = {}
    for entry, column in columns.items():
        if isinstance(column, Numeric):
            cells = column.before if isinstance(column, Derived) else column
            if cells is not None:  # else a product, which is no factor
                known[column.features(entry)[0]] = known[entry] = _bare(replace(cells, of=cells.of or entry))
        elif isinstance(column, Categorical) and not isinstance(column, Observed):
            levels = [_indicator(entry, column, level) for level in column.levels]
            known |= dict(zip(column.features(entry), levels, strict=True))
            if len(levels) == 2:
                known[entry] = levels[1]
    if name not in known:
        column, hint = columns.get(name), f"{did_you_mean(name, known)}Describe it as a column of its own"
        if isinstance(column, Categorical):
            hint = f"name one of its levels, such as {column.features(name)[0]!r}"
        raise ParameterError(
            f"product must be of columns of numbers, or of single levels, that the schema describes, got {shown(name)}. "
            f"Hint: {hint}."
        )
    return known[name]


def _indicator(entry: str, column: Categorical, level: Level) -> Indicator:
    return Indicator(column.levels, nullable=column.nullable, of=column.of or entry, level=level)


def _bare(factor: Factor) -> Factor:
    """Return a factor without what only matters for a column of its own."""
    return replace(factor, weight=1.0, missing=None)


def _recipe(factor: Factor) -> str:
    if isinstance(factor, Indicator):
        return factor.features(factor.of or "")[factor.place]
    shift = "" if factor.about is None else f" {'-' if factor.about >= 0 else '+'} {abs(factor.about):.12g}"
    return f"{factor.of}{shift}" if factor.transform is None else f"{factor.transform}({factor.of}{shift})"
