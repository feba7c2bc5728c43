"""``dpcov schema``: public knowledge about a table, drafted and checked without reading a row."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

import click

from dpcov.cli.options import json_option

if TYPE_CHECKING:
    from dpcov.schema import Column, Schema


@click.group(epilog="\b\nExample:\n  dpcov schema init adult.csv -o adult.toml")
def schema() -> None:
    """Draft or check a schema: public bounds and levels of columns."""


@schema.command(epilog="\b\nExample:\n  dpcov schema init adult.csv -o adult.toml")
@click.argument("data", type=click.Path())
@click.option("-o", "--output", type=click.Path(), metavar="FILE", help="Where to write the draft; stdout by default.")
@click.option("--force", is_flag=True, help="Overwrite an existing output.")
def init(data: str, output: str | None, force: bool) -> None:
    """Draft a schema from the names and declared types of DATA's columns; no value is read.

    Bounds and levels are left open: complete them with public knowledge, never by looking at the data.
    """
    from dpcov.cli.files import checked_target
    from dpcov.paths import write_whole
    from dpcov.schema.file import draft

    kept = "it may have been completed"
    target = None if output is None else checked_target(output, force=force, kept=kept, inputs=(data,))
    text = draft(_kinds(data))
    if target is None:
        click.echo(text, nl=False)
        return
    write_whole(target, text)
    file = shlex.quote(str(output))
    click.echo(f"Written to {file}. Complete it with public knowledge, then: dpcov schema check {file} {shlex.quote(data)}")


@schema.command(epilog="\b\nExample:\n  dpcov schema check adult.toml adult.csv")
@click.argument("file", metavar="SCHEMA", type=click.Path())
@click.argument("data", type=click.Path(), required=False)
@json_option
def check(file: str, data: str | None, as_json: bool) -> None:
    """Check the file SCHEMA and, with DATA, that the table has its columns with fitting types; no row is read."""
    from dpcov.schema.file import read

    checked = read(file)
    unused = None if data is None else _unused(checked, data)
    if as_json:
        record = {"file": file, "d": len(checked.feature_names), "columns": _described(checked), "unused_columns": unused}
        click.echo(json.dumps(record))
        return
    from rich.table import Table

    from dpcov.report.text import console, printable

    table = Table("column", "kind", "bounds or levels", title=file, title_justify="left")
    table.add_column("share of the squared norm", justify="right")
    table.add_column("features", justify="right")
    for name, entry in _described(checked).items():
        table.add_row(printable(name), entry["kind"], entry["range"], f"{entry['share']:.1%}", str(entry["features"]))
    out = console()
    out.print(table)
    out.print(f"d = {len(checked.feature_names)} features in all.")
    if data is not None:
        out.print(f"{printable(data)} fits: {_fit(data)}", soft_wrap=True)
        out.print(f"Columns of the table that the schema does not use: {unused}.")


def _fit(data: str) -> str:
    from dpcov.sources.opening import open_table

    if open_table(data, names_matter=False).parsed:
        return (
            "every column is there. A CSV file declares no types: cells that are no number, or no level, will count as missing."
        )
    return "every column is there, with a fitting type."


def _kinds(data: str) -> list[tuple[str, str]]:
    """Return the columns' names and what their declared types tell; text in a CSV file tells nothing."""
    from dpcov.errors import SchemaError
    from dpcov.schema.file import BOOLEAN, NUMERIC, TEXT, UNKNOWN
    from dpcov.sources.cells import is_boolean, is_numeric, is_text
    from dpcov.sources.opening import open_table

    table = open_table(data)
    if len(set(table.names)) < len(table.names):
        raise SchemaError("data must have columns of different names, got one that stands twice. Hint: rename a column.")

    def kind(declared: Any) -> str:
        if table.parsed:
            return UNKNOWN
        if is_boolean(declared):
            return BOOLEAN
        return NUMERIC if is_numeric(declared) else TEXT if is_text(declared) else UNKNOWN

    return [(name, kind(declared)) for name, declared in zip(table.names, table.types, strict=True)]


def _unused(checked: Schema, data: str) -> int:
    """Check that the schema fits the table and count the columns that it leaves out."""
    from dpcov.sources.files import open_file
    from dpcov.sources.opening import open_source

    open_source(data, schema=checked)
    return len(open_file(data).names) - len(checked.used)


def _described(checked: Schema) -> dict[str, dict[str, Any]]:
    total = sum(column.weight**2 for column in checked.used.values())
    return {name: _entry(column, total) for name, column in checked.columns.items()}


def _entry(column: Column, total: float) -> dict[str, Any]:
    from dpcov.schema import Categorical, Numeric

    if isinstance(column, Numeric):
        bounds = f"{column.lower:g} to {column.upper:g}"
        return {"kind": "numeric", "range": bounds, "share": column.weight**2 / total, "features": 1}
    if isinstance(column, Categorical):
        levels = len(column.levels)
        return {
            "kind": f"categorical ({column.kind})",
            "range": f"{levels} level{'s' * (levels > 1)}",
            "share": column.weight**2 / total,
            "features": levels,
        }
    return {"kind": "ignored", "range": "", "share": 0.0, "features": 0}
