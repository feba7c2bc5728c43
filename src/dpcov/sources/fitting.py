"""A schema and a table, before a row is read: a draft from names and declared types, and whether the two fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpcov.errors import SchemaError
from dpcov.schema import Schema
from dpcov.schema.file import BOOLEAN, DATED, NUMERIC, TEXT, UNKNOWN, draft
from dpcov.sources.cells import is_boolean, is_numeric, is_text
from dpcov.sources.dates import is_dated
from dpcov.sources.opening import open_source, open_table


@dataclass(frozen=True)
class Fit:
    """That a table has the columns of a schema: the names of its others, and whether its types are declared at all."""

    unused: tuple[str, ...]
    declared: bool


def drafted(data: Any) -> str:
    """Return a schema to be completed, as text, from the names and declared types of a table's columns; no value is read."""
    table = open_table(data)
    if len(set(table.names)) < len(table.names):
        raise SchemaError(
            "data must have a different name for each column, got two columns of the same name. Hint: rename one."
        )

    def kind(declared: Any) -> str:
        if table.parsed:
            return UNKNOWN  # text in a CSV file tells nothing
        if is_boolean(declared):
            return BOOLEAN
        if is_dated(declared):
            return DATED
        return NUMERIC if is_numeric(declared) else TEXT if is_text(declared) else UNKNOWN

    return draft([(name, kind(declared)) for name, declared in zip(table.names, table.types, strict=True)])


def fitted(schema: Schema, data: Any) -> Fit:
    """Check that a table has the columns of a schema, with fitting types; no row is read."""
    open_source(data, schema=schema)
    table = open_table(data, names_matter=False)
    read = schema.cells()
    return Fit(tuple(name for name in table.names if name not in read), not table.parsed)
