r"""Public knowledge about a table: which columns count, between which bounds, with which levels.

A schema turns a record into a row of norm at most 1, and estimates about such rows back into the user's units. Nothing in
it may come from the data: a bound or a level that was looked up there is a leak that no noise repairs.

============  =================================================================================================
column        becomes
============  =================================================================================================
`Numeric`     one coordinate, weight·(x − offset)/reach, x clipped to the bounds; null, NaN and ±∞ are the midpoint
`Categorical` a coordinate per level, weight where the cell is that level, else 0; null and unknown cells are all 0
`Ignored`     nothing: it is never read
`Derived`     one coordinate, as a number: a transform of a column, or a product of two, clipped before that
============  =================================================================================================

The squares of the weights add up to 1, so a row's norm is at most 1: but for the last digit of the grid, only values outside
their bounds are clipped.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError, SchemaError, did_you_mean, first_repeated, printable, shown
from dpcov.schema.columns import (
    LARGEST,
    SMALLEST,
    Categorical,
    Described,
    Ignored,
    Level,
    Numeric,
    Observed,
    check_center,
    is_broken,
)
from dpcov.schema.derived import Derived, Product, multiplied, transformed
from dpcov.schema.whose import ROWS_THEMSELVES, Whose

__all__ = [
    "IGNORE",
    "LARGEST",
    "SAID",
    "SMALLEST",
    "Categorical",
    "Column",
    "Derived",
    "Described",
    "Ignored",
    "Level",
    "Numeric",
    "Observed",
    "Product",
    "Schema",
    "check_others",
    "is_broken",
    "observed_name",
]

Floats = NDArray[np.float64]

MOST_NAMES = 3  # of columns, in a repr
IGNORE = "ignore"  # what `others` of a schema can be
SAID = ("others", "unit", "weighting", "most_rows", "weight", "max_weight")
"""What a schema says above its columns: the names are those of its file."""
PLAIN = {int, float, str, bool, tuple, type(None)}  # nothing of such a type can be set: tuples are of others of them

Column = Numeric | Categorical | Product | Ignored


@dataclass(frozen=True, eq=False)
class Schema:
    """The columns of a table that count, in order, with public bounds and levels.

    Columns of the table that the schema does not name are not read.

    Parameters
    ----------
    columns : mapping from names to Numeric, Categorical, Product or Ignored
        In the order in which features are to stand. Transforms and products are kept as what is computed, with its bounds.
    others : {"ignore"}, optional
        "ignore" says that columns of the table without an entry were left out on purpose: `dpcov schema check` then does not
        ask about them, and a file may leave entries as they were drafted.
    unit, weighting, most_rows, weight, max_weight : optional
        Whose a row is, and how much it counts, as in `covariance`: every release with this schema is then about people. These
        columns are no features, and need no entry.

    Examples
    --------
    >>> schema = Schema({"age": Numeric(17, 90), "sex": Categorical(["Female", "Male"])})
    >>> schema.feature_names
    ('age', 'sex=Female', 'sex=Male')
    """

    columns: Mapping[str, Column]
    others: str | None = None
    unit: str | None = None
    weighting: str | None = None
    most_rows: int | None = None
    weight: str | None = None
    max_weight: float | None = None

    def __post_init__(self) -> None:
        check_others(self.others)
        if not isinstance(self.columns, Mapping):
            raise SchemaError(
                f"columns must be a mapping, got {shown(self.columns)}. Hint: Schema({{'age': Numeric(0, 120)}})."
            )
        for name, column in self.columns.items():
            if not isinstance(name, str) or not name or is_broken(name):
                raise SchemaError(f"column names must be text, got {shown(name)}. Hint: quote the name.")
            if not isinstance(column, Numeric | Categorical | Product | Ignored):
                hint = "write Numeric(lower, upper), Categorical(levels), Product(names) or Ignored()"
                raise SchemaError(f"column {name!r} must be described, got {shown(column)}. Hint: {hint}.")
            if isinstance(column, Categorical) and any(is_broken(level) for level in column.names):
                raise SchemaError(f"levels of column {name!r} must be valid text, got a lone surrogate. Hint: use UTF-8.")
        object.__setattr__(self, "columns", MappingProxyType(_computed(self.columns)))
        if not self.used:
            raise SchemaError("schema must use at least one column, got none. Hint: give a column bounds or levels.")
        for name in self.table_columns(self.used):
            if isinstance(self.columns.get(name), Ignored):
                raise SchemaError(
                    f"column {name!r} must not be ignored, got a column that is made of it. Hint: remove its ignore = true."
                )
        self._check_whose()
        if any(observed_name(n) in self.columns for n, c in self.columns.items() if getattr(c, "missing", None) == "flag"):
            raise SchemaError(
                "column names must differ from the 'NAME observed' of columns with missing='flag', got one that does not. "
                "Hint: rename that column."
            )
        if len(set(self.feature_names)) < len(self.feature_names):
            raise SchemaError(
                f"feature names must differ, got {first_repeated(self.feature_names)} twice. Hint: rename one column."
            )

    def __repr__(self) -> str:
        names = ", ".join(printable(name, 20) for name in list(self.columns)[:MOST_NAMES])
        more = ", ..." * (len(self.columns) > MOST_NAMES)
        people = "" if self.unit is None else f", people by {printable(self.unit, 20)}"
        return f"<Schema of {len(self.columns)} columns, {len(self.feature_names)} features{people}: {names}{more}>"

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Schema:
        """Read a TOML file such as `dpcov schema init` drafts."""
        from dpcov.schema.file import read

        return read(path)

    @property
    def whose(self) -> Whose:
        """What it says of rows beside their features."""
        return Whose(self.unit, self.weighting, self.most_rows, self.weight, self.max_weight)

    def of_features(self) -> Schema:
        """Return the schema of the features alone: whose a row is then stands beside it, as in the file of a release."""
        alone = {"unit": None, "weighting": None, "most_rows": None, "weight": None, "max_weight": None}
        return self if self.whose == ROWS_THEMSELVES else replace(self, **alone)  # type: ignore[arg-type]

    def _check_whose(self) -> None:
        """Refuse what does not say whose a row is, or says it by a column that is a feature."""
        try:
            self.whose.checked()
        except ParameterError as error:
            raise SchemaError(str(error)) from None
        features = {*self.used, *self.table_columns(self.used)}
        for said, name in (("unit", self.unit), ("weight", self.weight)):
            if name is not None and (not isinstance(name, str) or name in features):
                raise SchemaError(
                    f"{said} must be the name of a column that is no feature, got {shown(name)}. Hint: it needs no entry."
                )

    @property
    def used(self) -> dict[str, Numeric | Categorical]:
        """The columns that are not ignored, in order; behind a flagged one, whether its cells are there."""
        found: dict[str, Numeric | Categorical] = {}
        for name, column in self.columns.items():
            if isinstance(column, Described):
                found[name] = column
                if column.missing == "flag":
                    ((table, cells),) = column.cells(name)
                    found[observed_name(name)] = Observed(weight=column.weight, of=table, column=cells)
        return found

    @property
    def feature_names(self) -> tuple[str, ...]:
        """A name per coordinate: the column's, ``column=level``, or ``log(column)``."""
        return tuple(feature for name, column in self.used.items() for feature in column.features(name))

    def select(self, names: Sequence[str]) -> Schema:
        """Return the schema of these columns only, in this order."""
        if isinstance(names, str | bytes) or not isinstance(names, Sequence):
            raise ParameterError(f"columns must be a list of names, got {shown(names)}. Hint: columns=['age'].")
        used = {name: column for name, column in self.used.items() if not isinstance(column, Observed)}
        for name in names:
            if name not in used:
                near = did_you_mean(name, used)  # the schema's names; those of a file may be a person's row
                hint = f"{near}Describe it there" if near else "describe it there"
                raise SchemaError(f"columns must have bounds or levels in the schema, got {shown(name)}. Hint: {hint}.")
        if len(set(names)) < len(names):
            raise SchemaError(f"columns must differ, got {first_repeated(names)} twice. Hint: remove one of them.")
        return replace(self, columns={name: used[name] for name in names}, others=None)

    def table_columns(self, names: Iterable[str]) -> list[str]:
        """Return the columns of the table that these used ones are made of, each once."""
        used = self.used
        return list(dict.fromkeys(table for name in names for table, _ in used[name].cells(name)))

    def array_columns(self) -> list[str]:
        """Return the columns of the table in the order of their first mention, ignored ones too: those of an array."""
        return list(
            dict.fromkeys(
                table
                for name, column in self.columns.items()
                for table in ([name] if not isinstance(column, Described) else [table for table, _ in column.cells(name)])
            )
        )

    def cells(self) -> dict[str, Numeric | Categorical]:
        """Return for each column of the table that is read what its cells are: as a column of its own describes them, if any.

        Others are computed from them, by `Derived`.
        """
        found: dict[str, Numeric | Categorical] = {}
        for plain in (True, False):
            for name, column in self.used.items():
                for table, cells in column.cells(name):
                    if (cells is column) == plain:
                        found.setdefault(table, cells)
        return {table: found[table] for table in self.table_columns(self.used)}

    def entries(self, names: Iterable[str]) -> list[str]:
        """Return the columns that these used ones come from, each once: what `select` takes."""
        flags = {observed_name(name): name for name in self.columns}
        return list(dict.fromkeys(name if name in self.columns else flags[name] for name in names))

    def values(self) -> dict[str, set[str]]:
        """Return for each used column the columns of the table whose values it is made of; a flag of itself alone."""
        return {
            name: {name} if isinstance(column, Observed) else {table for table, _ in column.cells(name)}
            for name, column in self.used.items()
        }

    def encodings(self, center: bool) -> Iterator[tuple[Numeric | Categorical, float, float]]:
        """Yield for each used column its description, its offset, and how many user's units one encoded unit is."""
        check_center(center)
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

    def dates(self) -> list[str | None]:
        """Return for each feature whether it is a date, "date" or "datetime" by its bounds, and counts in days."""
        kinds = [column.dates if isinstance(column, Numeric) else None for column in self.used.values()]
        return [kind for kind, width in zip(kinds, self.widths(), strict=True) for _ in range(width)]

    def places(self) -> dict[str, slice]:
        """Return where the features of each used column stand: a column with levels has several."""
        found, start = {}, 0
        for name, width in zip(self.used, self.widths(), strict=True):
            found[name] = slice(start, start + width)
            start += width
        return found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schema) or self.whose != other.whose:
            return False
        return list(self.columns.items()) == list(other.columns.items())  # order counts

    def __hash__(self) -> int:
        return hash(tuple(self.columns))

    def __deepcopy__(self, memo: dict[int, Any]) -> Schema:
        """Return an equal schema, of which nothing is shared that could be set; it was checked when it was made."""
        made = object.__new__(Schema)
        columns = {deepcopy(name, memo): _twin(column) for name, column in self.columns.items()}
        object.__setattr__(made, "columns", MappingProxyType(columns))
        for name in SAID:
            object.__setattr__(made, name, getattr(self, name))
        return made

    def __reduce__(self) -> tuple[type[Schema], tuple[Any, ...]]:
        said = (getattr(self, name) for name in SAID)
        return Schema, (dict(self.columns), *said)  # a read-only mapping can be neither copied nor pickled


def _twin(column: Column) -> Column:
    """Return an equal column: a deep copy, made at once where all that is in it is plain, as there can be thousands."""
    parts = [*vars(column).values(), *getattr(column, "levels", ())]
    if type(column) not in (Numeric, Categorical, Ignored) or not {type(part) for part in parts} <= PLAIN:
        return deepcopy(column)
    twin = object.__new__(type(column))
    vars(twin).update(vars(column))
    return twin


def _computed(columns: Mapping[str, Column]) -> dict[str, Column]:
    """Return the columns, transforms and products as what is computed."""
    found: dict[str, Column] = dict(columns)
    for kind in (Numeric, Product):  # a product may be one of transforms
        for name, column in found.items():
            try:
                if isinstance(column, Product) and kind is Product:
                    found[name] = multiplied(column, found)
                elif isinstance(column, Numeric) and column.computes:
                    found[name] = transformed(name, column)
            except ParameterError as error:
                raise SchemaError(f"column {name!r}: {error}") from None
    return found


def observed_name(column: str) -> str:
    """Return what whether a column's cells are there is called."""
    return f"{column} observed"


def check_others(others: Any) -> str | None:
    """Return what a schema says of the columns that it does not name, or refuse it."""
    if others is not None and (not isinstance(others, str) or others != IGNORE):
        raise SchemaError(f"others must be 'ignore' or left out, got {shown(others)}. Hint: others = \"ignore\".")
    return others
