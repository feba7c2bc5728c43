"""Schemas as files: TOML for people, JSON inside a release, and a draft to fill in.

::

    [columns]
    age = { lower = 17, upper = 90 }
    sex = { levels = ["Female", "Male"], weight = 0.5 }
    name = { ignore = true }
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dpcov.errors import EngineError, ParameterError, SchemaError, shown
from dpcov.schema import Categorical, Column, Ignored, Numeric, Schema

OPTIONAL = {"weight", "nullable", "missing"}
NUMERIC, BOOLEAN, TEXT, UNKNOWN = "numeric", "boolean", "text", "unknown"
"""What the declared type of a column tells a draft."""

HEADER = """\
# A draft from names and types alone. Complete it with public knowledge: never look a bound or a level up in the data.
#   { lower = 0, upper = 120 }         numbers; values outside are clipped
#   { levels = ["no", "yes"] }         categories; missing and unknown cells count as none of them
#   { ignore = true }                  not read
# nullable = true where cells may be missing: their share is then released, and numbers are about what was observed;
# with missing = "flag" as well, a column of its own says whether a cell is there, with its correlations.
# An optional weight (default 1) gives a column a larger share of the accuracy.

[columns]
"""
DRAFTS = {
    NUMERIC: "{ lower = nan, upper = nan }",
    BOOLEAN: "{ levels = [false, true] }",
    TEXT: "{ levels = [] }",
    UNKNOWN: "{ }  # lower and upper, or levels, or ignore = true",
}


def read(path: str | os.PathLike[str]) -> Schema:
    """Read a schema from a TOML file.

    Raises
    ------
    SchemaError
        The file is no schema, or not complete.
    EngineError
        The file cannot be opened.
    """
    if not isinstance(path, str | os.PathLike):
        raise ParameterError(f"path must be text or a Path, got {shown(path)}. Hint: Schema.read('schema.toml').")
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise EngineError(
            f"schema must be a file that can be read, got {str(path)!r} ({error.strerror}). Hint: check the path."
        ) from None
    except (UnicodeDecodeError, ValueError):
        raise SchemaError("schema must be a text file in UTF-8, got other bytes. Hint: save it as UTF-8.") from None
    return parse(text)


def parse(text: str) -> Schema:
    """Turn the text of a TOML file into a schema."""
    try:
        record = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SchemaError(
            f"schema must be valid TOML, got an error ({error}). Hint: put names with spaces in quotes."
        ) from None
    except (ValueError, RecursionError):
        raise SchemaError(
            "schema must be plain TOML, got too many digits or nested brackets. Hint: see `dpcov schema init`."
        ) from None
    if set(record) != {"columns"} or not isinstance(record["columns"], dict):
        raise SchemaError(
            "schema must have the table [columns] and nothing else, got something else. Hint: see `dpcov schema init`."
        )
    return from_record(record["columns"])


def from_record(columns: Mapping[str, Any]) -> Schema:
    """Build a schema from names and their entries."""
    return Schema({name: _column(name, entry) for name, entry in columns.items()})


def to_record(schema: Schema) -> dict[str, dict[str, Any]]:
    """Return what a release stores: the used columns."""
    return {name: _record(column) for name, column in schema.columns.items() if not isinstance(column, Ignored)}


def _record(column: Numeric | Categorical) -> dict[str, Any]:
    what = {"lower": column.lower, "upper": column.upper} if isinstance(column, Numeric) else {"levels": list(column.levels)}
    flag = {} if column.missing is None else {"missing": column.missing}
    return {**what, "weight": column.weight, "nullable": column.nullable, **flag}


def draft(columns: Iterable[tuple[str, str]]) -> str:
    """Draft a schema from names and declared types: bounds and levels are for a person."""
    return HEADER + "".join(f"{_quoted(name)} = {DRAFTS[kind]}\n" for name, kind in columns)


def _column(name: str, entry: object) -> Column:
    hint = "write { lower = 0, upper = 120 }, { levels = ['no', 'yes'] } or { ignore = true }"
    if not isinstance(entry, dict):
        raise SchemaError(f"column {name!r} must be a table, got {shown(entry)}. Hint: {hint}.")
    keys = set(entry)
    try:
        if keys - OPTIONAL == {"lower", "upper"}:
            return Numeric(**entry)
        if keys - OPTIONAL == {"levels"}:
            return Categorical(**entry)
    except ParameterError as error:
        raise SchemaError(f"column {name!r}: {error}") from None
    if keys == {"ignore"} and entry["ignore"] is True:
        return Ignored()
    found = ", ".join(sorted(keys)) or "nothing"
    raise SchemaError(f"column {name!r} must have lower and upper, or levels, or ignore = true, got {found}. Hint: {hint}.")


def _quoted(name: str) -> str:
    """Write a TOML key; JSON's escapes are TOML's, but for DEL."""
    return json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")
