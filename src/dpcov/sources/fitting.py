"""A schema and a table, before a row is read: a draft from names and declared types, and whether the two fit."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from dpcov.errors import ParameterError, SchemaError
from dpcov.kernel.rows.aside import aside_for
from dpcov.kernel.rows.grid import DEFAULT_BITS
from dpcov.schema import Schema
from dpcov.schema.codebook import chosen
from dpcov.schema.codebook import drafted as drafted_from
from dpcov.schema.codebook import read as read_codebook
from dpcov.schema.drafts import BOOLEAN, DATED, NUMERIC, TEXT, UNKNOWN, draft
from dpcov.sources.cells import is_boolean, is_numeric, is_text
from dpcov.sources.dates import is_dated
from dpcov.sources.opening import open_source, open_table


@dataclass(frozen=True)
class Fit:
    """That a table has the columns of a schema: the names of its others, and whether its types are declared at all."""

    unused: tuple[str, ...]
    declared: bool


def drafted(data: Any = None, codebook: str | os.PathLike[str] | None = None) -> str:
    """Return a schema to be completed, as text: from names and declared types of a table's columns, a codebook, or both.

    No value of the table is read. With both, the table says which columns there are, and the codebook what they hold.
    """
    known = None if codebook is None else read_codebook(codebook)
    if data is None:
        if known is None:
            raise ParameterError("data or codebook must be given, got neither. Hint: a table, or a CSV file that describes it.")
        return drafted_from(known)
    table = open_table(data)
    if len(set(table.names)) < len(table.names):
        raise SchemaError(
            "data must have a different name for each column, got two columns of the same name. Hint: rename one."
        )
    kinds = {name: _kind(declared, table.parsed) for name, declared in zip(table.names, table.types, strict=True)}
    if known is None:
        return draft(kinds.items())
    return drafted_from(chosen(known, table.names, kinds), [name for name in known if name not in kinds])


def _kind(declared: Any, parsed: bool) -> str:
    """Return what a declared type tells; text in a CSV file tells nothing."""
    if parsed:
        return UNKNOWN
    if is_boolean(declared):
        return BOOLEAN
    if is_dated(declared):
        return DATED
    return NUMERIC if is_numeric(declared) else TEXT if is_text(declared) else UNKNOWN


def fitted(schema: Schema, data: Any) -> Fit:
    """Check that a table has the columns of a schema, with fitting types; no row is read."""
    whose = schema.whose.checked()
    open_source(data, schema=schema, aside=aside_for(whose, DEFAULT_BITS, None))
    table = open_table(data, names_matter=False)
    read = {*schema.cells(), *whose.names}
    return Fit(tuple(name for name in table.names if name not in read), not table.parsed)
