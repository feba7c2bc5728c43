r"""Public knowledge about a table: which columns count, between which bounds, with which levels.

A schema turns a record into a row of norm at most 1, and estimates about such rows back into the user's units. Nothing in
it may come from the data: a bound or a level that was looked up there is a leak that no noise repairs.

============  =================================================================================================
column        becomes
============  =================================================================================================
`Numeric`     one coordinate, weight·(x − offset)/reach, x clipped to the bounds; null, NaN and ±∞ are the midpoint
`Categorical` a coordinate per level, weight where the cell is that level, else 0; null and unknown cells are all 0
`Ignored`     nothing: it is never read
============  =================================================================================================

The squares of the weights add up to 1, so a row's norm is at most 1: but for the last digit of the grid, only values outside
their bounds are clipped.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError, SchemaError, check_real, did_you_mean, first_repeated, shown

Floats = NDArray[np.float64]
Level = str | int | float | bool

LARGEST = 1e130  # of bounds: with any weights, the square of what one encoded unit stands for is then finite
SMALLEST = 1e-130  # of ranges: that square is then not 0
LEVEL_TYPES: dict[str, tuple[type, ...]] = {"text": (str,), "boolean": (bool,), "number": (int, float)}


@dataclass(frozen=True)
class Numeric:
    """A column of numbers with public bounds: values outside are clipped; missing ones are left out, or count as the midpoint.

    Parameters
    ----------
    lower, upper : float
        The bounds, from public knowledge: never look them up in the data.
    weight : float
        A larger weight gives the column more of the accuracy, at the expense of the others.
    nullable : bool
        True says that cells may be missing: the share that is there is then released (docs/tables.md).
    missing : {"flag"}, optional
        "flag" adds a column that says which cells are there.

    Examples
    --------
    >>> Numeric(0, 100).midpoint
    50.0
    """

    lower: float
    upper: float
    weight: float = 1.0
    nullable: bool = False
    missing: str | None = None

    def __post_init__(self) -> None:
        hint = "write a public bound; one read from the data would leak"
        rule = f"a finite number between {-LARGEST:g} and {LARGEST:g}"
        for name in ("lower", "upper"):
            object.__setattr__(self, name, check_real(name, getattr(self, name), rule, -LARGEST, LARGEST, hint))
        if not self.upper - self.lower >= SMALLEST:
            found = f"{self.lower!r} and {self.upper!r}"
            raise ParameterError(f"lower must be below upper by at least {SMALLEST:g}, got {found}. Hint: are they swapped?")
        object.__setattr__(self, "weight", _checked_weight(self.weight))
        _check_missing(self.nullable, self.missing)

    @property
    def midpoint(self) -> float:
        """What missing values count as, where a table is not measured in private units."""
        return self.lower / 2 + self.upper / 2

    def offset(self, center: bool) -> float:
        """Return the value that is encoded as 0: the midpoint; 0 where the second moment about 0 is wanted."""
        return self.midpoint if center else 0.0

    def reach(self, center: bool) -> float:
        """Return the largest distance from the offset that the bounds allow."""
        return self.upper / 2 - self.lower / 2 if center else max(abs(self.lower), abs(self.upper))


@dataclass(frozen=True)
class Categorical:
    """A column of categories with public levels: all text, all numbers, or true and false.

    Parameters
    ----------
    levels : list
        All categories that there can be, from public knowledge; a cell that is none of them counts as missing.
    weight, nullable, missing
        As in `Numeric`.

    Examples
    --------
    >>> Categorical(["Female", "Male"]).names
    ('Female', 'Male')
    """

    levels: Sequence[Level]
    weight: float = 1.0
    nullable: bool = False
    missing: str | None = None

    def __post_init__(self) -> None:
        levels = self.levels
        if isinstance(levels, str | bytes) or not isinstance(levels, Sequence):
            raise ParameterError(f"levels must be a list, got {shown(levels)}. Hint: levels = ['no', 'yes'].")
        plain = (level.item() if isinstance(level, np.generic) else level for level in levels)
        object.__setattr__(self, "levels", tuple(plain))
        object.__setattr__(self, "weight", _checked_weight(self.weight))
        _check_missing(self.nullable, self.missing)
        if not self.levels:
            raise ParameterError(
                "levels must hold at least one level, got none. Hint: list public values, not those found in the data."
            )
        kinds = {next((kind for kind, types in LEVEL_TYPES.items() if type(level) in types), "other") for level in self.levels}
        if len(kinds) > 1 or "other" in kinds:
            raise ParameterError(
                f"levels must be all text, all numbers or all true and false, got {sorted(kinds)}. Hint: quote all of them."
            )
        if not all(_is_exact(level) for level in self.levels if not isinstance(level, str)):
            hint = "leave out a level for missing cells; write long identifiers as text"
            raise ParameterError(f"levels must be finite, and integers at most 2**53, got a number that is not. Hint: {hint}.")
        if len(set(self.levels)) < len(self.levels):
            raise ParameterError(f"levels must differ, got {first_repeated(self.levels)} twice. Hint: remove one of them.")

    @property
    def kind(self) -> str:
        """One of "text", "number" and "boolean": how cells are compared with the levels."""
        return next(kind for kind, types in LEVEL_TYPES.items() if type(self.levels[0]) in types)

    @property
    def names(self) -> tuple[str, ...]:
        """The levels as text."""
        return tuple(str(level).lower() if isinstance(level, bool) else str(level) for level in self.levels)


@dataclass(frozen=True)
class Observed(Categorical):
    """Whether the cells of a column ``of`` the table are there: what ``missing="flag"`` adds to that column."""

    levels: Sequence[Level] = (False, True)
    of: str = ""


@dataclass(frozen=True)
class Ignored:
    """A column that is never read."""


Column = Numeric | Categorical | Ignored


@dataclass(frozen=True, eq=False)
class Schema:
    """The columns of a table that count, in order, with public bounds and levels.

    Columns of the table that the schema does not name are not read.

    Parameters
    ----------
    columns : mapping from names to Numeric, Categorical or Ignored
        In the order in which features are to stand.

    Examples
    --------
    >>> schema = Schema({"age": Numeric(17, 90), "sex": Categorical(["Female", "Male"])})
    >>> schema.feature_names
    ('age', 'sex=Female', 'sex=Male')
    """

    columns: Mapping[str, Column]

    def __post_init__(self) -> None:
        if not isinstance(self.columns, Mapping):
            raise SchemaError(
                f"columns must be a mapping, got {shown(self.columns)}. Hint: Schema({{'age': Numeric(0, 120)}})."
            )
        for name, column in self.columns.items():
            if not isinstance(name, str) or not name or is_broken(name):
                raise SchemaError(f"column names must be text, got {shown(name)}. Hint: quote the name.")
            if not isinstance(column, Numeric | Categorical | Ignored):
                hint = "write Numeric(lower, upper), Categorical(levels) or Ignored()"
                raise SchemaError(f"column {name!r} must be described, got {shown(column)}. Hint: {hint}.")
            if isinstance(column, Categorical) and any(is_broken(level) for level in column.names):
                raise SchemaError(f"levels of column {name!r} must be valid text, got a lone surrogate. Hint: use UTF-8.")
        object.__setattr__(self, "columns", MappingProxyType(dict(self.columns)))
        if not self.used:
            raise SchemaError("schema must use at least one column, got none. Hint: give a column bounds or levels.")
        if any(observed_name(n) in self.columns for n, c in self.columns.items() if getattr(c, "missing", None) == "flag"):
            raise SchemaError(
                "column names must differ from the 'NAME observed' of columns with missing='flag', got one that does not. "
                "Hint: rename that column."
            )
        if len(set(self.feature_names)) < len(self.feature_names):
            raise SchemaError(
                f"feature names must differ, got {first_repeated(self.feature_names)} twice. Hint: rename one column."
            )

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Schema:
        """Read a TOML file such as `dpcov schema init` drafts."""
        from dpcov.schema.file import read

        return read(path)

    @property
    def used(self) -> dict[str, Numeric | Categorical]:
        """The columns that are not ignored, in order; behind a flagged one, whether its cells are there."""
        found: dict[str, Numeric | Categorical] = {}
        for name, column in self.columns.items():
            if not isinstance(column, Ignored):
                found[name] = column
                if column.missing == "flag":
                    found[observed_name(name)] = Observed(weight=column.weight, of=name)
        return found

    @property
    def feature_names(self) -> tuple[str, ...]:
        """A name per coordinate: the column's, or ``column=level``."""
        return tuple(
            f"{name}={level}" if level is not None else name
            for name, column in self.used.items()
            for level in (column.names if isinstance(column, Categorical) else (None,))
        )

    def select(self, names: Sequence[str]) -> Schema:
        """Return the schema of these columns only, in this order."""
        used = {name: column for name, column in self.used.items() if not isinstance(column, Observed)}
        for name in names:
            if name not in used:
                hint = (
                    f"{did_you_mean(name, used)}Describe it there"  # the schema's names; those of a file may be a person's row
                )
                raise SchemaError(f"columns must have bounds or levels in the schema, got {shown(name)}. Hint: {hint}.")
        if len(set(names)) < len(names):
            raise SchemaError(f"columns must differ, got {first_repeated(names)} twice. Hint: remove one of them.")
        return Schema({name: used[name] for name in names})

    def table_columns(self, names: Iterable[str]) -> list[str]:
        """Return the columns of the table that these used ones are made of, each once."""
        used = self.used
        found = ((used[name], name) for name in names)
        return list(dict.fromkeys(column.of if isinstance(column, Observed) else name for column, name in found))

    def encodings(self, center: bool) -> Iterator[tuple[Numeric | Categorical, float, float]]:
        """Yield for each used column its description, its offset, and how many user's units one encoded unit is."""
        total = math.hypot(*(column.weight for column in self.used.values()))
        for column in self.used.values():
            offset, reach = (column.offset(center), column.reach(center)) if isinstance(column, Numeric) else (0.0, 1.0)
            yield column, offset, reach * (total / column.weight)

    def offsets(self, center: bool) -> Floats:
        """Return for each feature the value, in the user's units, that is encoded as 0."""
        return np.repeat([offset for _, offset, _ in self.encodings(center)], self.widths())

    def scales(self, center: bool) -> Floats:
        """Return for each feature how many user's units one encoded unit is."""
        return np.repeat([scale for *_, scale in self.encodings(center)], self.widths())

    def bounds(self) -> tuple[Floats, Floats]:
        """Return the least and the largest value of each feature, in the user's units."""
        pairs = [(c.lower, c.upper) if isinstance(c, Numeric) else (0.0, 1.0) for c in self.used.values()]
        low, high = np.repeat(np.array(pairs), self.widths(), axis=0).T
        return low, high

    def widths(self) -> list[int]:
        """Return how many features each used column has: one, or one per level."""
        return [len(c.levels) if isinstance(c, Categorical) else 1 for c in self.used.values()]

    def places(self) -> dict[str, slice]:
        """Return where the features of each used column stand: a column with levels has several."""
        found, start = {}, 0
        for name, width in zip(self.used, self.widths(), strict=True):
            found[name] = slice(start, start + width)
            start += width
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and list(self.columns.items()) == list(other.columns.items())  # order counts

    def __hash__(self) -> int:
        return hash(tuple(self.columns))

    def __reduce__(self) -> tuple[type[Schema], tuple[dict[str, Column]]]:
        return Schema, (dict(self.columns),)  # a read-only mapping can be neither copied nor pickled


def observed_name(column: str) -> str:
    """Return what whether a column's cells are there is called."""
    return f"{column} observed"


def _checked_weight(weight: object) -> float:
    return check_real("weight", weight, "between 1e-6 and 1e6", 1e-6, 1e6, "1 is the default; weights are relative")


def _check_missing(nullable: object, missing: object) -> None:
    if type(nullable) is not bool:
        raise ParameterError(f"nullable must be True or False, got {shown(nullable)}. Hint: True if cells may be missing.")
    if missing is not None and (missing != "flag" or not nullable):
        raise ParameterError(
            f"missing must be 'flag' for a nullable column, or left out, got {shown(missing)}. Hint: leave it out."
        )


def _is_exact(level: float) -> bool:
    """Whether float64, to which cells are converted, holds the level."""
    return abs(level) <= 2**53 if isinstance(level, int) else math.isfinite(level)


def is_broken(text: str) -> bool:
    """Whether the text holds half of a surrogate pair, which no file can store."""
    return any("\ud800" <= character <= "\udfff" for character in text)
