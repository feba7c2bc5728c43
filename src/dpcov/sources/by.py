"""The column of groups: which one, and which of its values are groups, all of it public."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError, did_you_mean, shown
from dpcov.kernel.rows.groups import Groups, check_count
from dpcov.schema import Categorical, Schema
from dpcov.sources.described import positions
from dpcov.sources.tables import Batch, Table


@dataclass(frozen=True)
class By:
    """A column of the table that says in which group a row is; it is no feature.

    Attributes
    ----------
    name : str
        What the groups are called, and unless ``column`` is of another one the column of the table.
    column : Categorical
        Its levels are the groups.
    described : Schema, optional
        All columns of the table, this one among them, in the order in which an array has them.
    """

    name: str
    column: Categorical
    described: Schema | None = None

    @property
    def of(self) -> str:
        """The column of the table that is read."""
        ((table, _),) = self.column.cells(self.name)
        return table

    @property
    def groups(self) -> Groups:
        """What is public of it."""
        return Groups(self.name, self.column.names)

    @property
    def features(self) -> Schema | None:
        """The schema without the column of groups: what is the same for all rows of a group tells nothing there."""
        if self.described is None:
            return None
        kept = {name: one for name, one in self.described.columns.items() if name != self.name}
        return replace(self.described, columns=kept)

    def positions(self, batch: Batch, table: Table) -> NDArray[np.float64]:
        """Return the position of each row's group, NaN where it is in none."""
        found = positions(batch, self.name, self.column, table).astype(np.float64)
        np.copyto(found, np.nan, where=found < 0)
        return found


def checked_by(by: object, schema: Schema | None) -> By:
    """Return the column of groups, with the levels that a schema has for it, or that are given; refuse what is neither."""
    if schema is not None and not isinstance(schema, Schema):
        raise ParameterError(f"schema must be a Schema, got {shown(schema)}. Hint: dpcov.Schema.read('schema.toml').")
    if isinstance(by, Mapping) and len(by) == 1:
        ((name, levels),) = by.items()
        column = Categorical(levels if isinstance(levels, Sequence) else [levels])
    elif isinstance(by, str):
        name = by
        column = _levels_of(by, schema)
    else:
        raise ParameterError(f"by must be a column, or a column and its groups, got {shown(by)}. Hint: by='region'.")
    if not isinstance(name, str):
        raise ParameterError(f"by must be the name of a column, got {shown(name)}. Hint: columns of arrays are x0, x1, ...")
    if schema is not None and name in schema.columns and schema.columns[name] is not column:
        raise ParameterError(f"groups must be those of the schema, got others for {name!r}. Hint: by={name!r}.")
    check_count(len(column.levels))
    if len(set(column.names)) < len(column.levels):
        raise ParameterError("groups must differ as text, got two that do not. Hint: rename a level.")
    column = replace(column, weight=1.0, nullable=False, missing=None)
    if schema is not None and name not in schema.columns:
        schema = replace(schema, columns={**schema.columns, name: column})
    return By(name, column, schema)


def _levels_of(by: str, schema: Schema | None) -> Categorical:
    """Return a column of a schema that has levels."""
    if schema is None:
        raise ParameterError(
            f"by must come with its groups where there is no schema, got {shown(by)}. Hint: by={{{by!r}: ['north', 'south']}}."
        )
    column = schema.columns.get(by)
    if type(column) is not Categorical:
        hint = did_you_mean(by, [name for name, one in schema.columns.items() if type(one) is Categorical])
        raise ParameterError(
            f"by must be a column with levels in the schema, got {shown(by)}. Hint: {hint}levels = [...] says its groups."
        )
    return column
