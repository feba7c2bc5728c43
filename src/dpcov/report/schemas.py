"""A schema: what each column counts, and whether a table fits it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcov.evaluate.looking import WARNING, Look
from dpcov.report.text import new_table, printable
from dpcov.report.units import bounds
from dpcov.schema import IGNORE, SAID, Categorical, Column, Derived, Numeric, Schema

if TYPE_CHECKING:
    from rich.console import Console

    from dpcov.sources.fitting import Fit

MOST_UNUSED = 20  # columns that are named one by one
UNTYPED = "every column is there. A CSV file declares no types: cells that are no number, or no level, will count as missing."


def write(out: Console, schema: Schema, file: str, data: str | None = None, fit: Fit | None = None) -> None:
    """Print the columns of a schema, and what a table has of them."""
    table = new_table(file)
    for heading in ("column", "kind", "bounds or levels"):
        table.add_column(heading)
    table.add_column("share of the squared norm", justify="right")
    table.add_column("features", justify="right")
    for name, entry in described(schema).items():
        table.add_row(printable(name), entry["kind"], entry["range"], f"{entry['share']:.1%}", str(entry["features"]))
    out.print(table)
    out.print(f"d = {len(schema.feature_names)} features in all.")
    out.print(person(schema), soft_wrap=True)
    if data is not None and fit is not None:
        how = "every column is there, with a fitting type." if fit.declared else UNTYPED
        out.print(f"{printable(data)} fits: {how}", soft_wrap=True)
        out.print(_unused_line(schema, fit), soft_wrap=True)


def write_look(out: Console, found: Look) -> None:
    """Print exact counts, loudly."""
    out.print(f"\n{WARNING}", style="bold red", soft_wrap=True)
    table = new_table(f"cells of {found.rows} rows: NOT PRIVATE")
    table.add_column("column")
    for heading in ("missing", "no number or level", "to be clipped"):
        table.add_column(heading, justify="right")
    for name, counts in found.columns.items():
        table.add_row(printable(name), str(counts.missing), str(counts.unmatched), str(counts.clipped))
    out.print(table)


def record(schema: Schema, fit: Fit | None = None) -> dict[str, Any]:
    """Return a schema for machines."""
    unused = None if fit is None else list(fit.unused)
    whose = {name: getattr(schema, name) for name in SAID if name != "others"}
    return {"d": len(schema.feature_names), **whose, "columns": described(schema), "unused_columns": unused}


def person(schema: Schema) -> str:
    """Say who a person is, and how much a row counts."""
    whose = schema.whose.checked()
    weighed = f" Rows count by '{printable(whose.weight)}', {whose.max_weight:g} at most." if whose.weight else ""
    if not whose.unit:
        return f"A row is a person: where people have several, the schema must say whose a row is, as unit.{weighed}"
    counts = f"each row of somebody with at most {whose.most_rows} counts alike" if whose.most_rows else "each counts once"
    return f"A person is a value of '{printable(whose.unit)}', with all rows that have it: {counts}.{weighed}"


def _unused_line(schema: Schema, fit: Fit) -> str:
    """Name the columns of a table that are not read: a schema that forgot one is found here or nowhere."""
    if not fit.unused:
        return "Every column of the table is used."
    on_purpose = set(fit.unused) if schema.others == IGNORE else set(schema.columns)
    named = [f"{printable(name)} ({'ignored' if name in on_purpose else 'not mentioned'})" for name in fit.unused]
    hidden = len(named) - MOST_UNUSED
    more = f", ... and {hidden} more (--json has all)" * (hidden > 0)
    return f"Columns of the table that the schema does not use: {', '.join(named[:MOST_UNUSED])}{more}."


def described(schema: Schema) -> dict[str, dict[str, Any]]:
    """Return what each column counts."""
    total = sum(column.weight**2 for column in schema.used.values())
    return {name: _entry(column, total) for name, column in schema.columns.items()}


def _entry(column: Column, total: float) -> dict[str, Any]:
    if isinstance(column, Numeric):
        ends = bounds(column.dates, column.lower, column.upper, 12)
        kind = "numeric" if column.dates is None else "dates"
        kind = "numeric (whole)" if column.integer else kind
        kind = column.recipe if isinstance(column, Derived) else kind
        return {"kind": kind, "range": ends, "share": column.weight**2 / total, "features": 1}
    if isinstance(column, Categorical):
        levels = len(column.levels)
        return {
            "kind": f"categorical ({column.kind})",
            "range": f"{levels} level{'s' * (levels > 1)}",
            "share": column.weight**2 / total,
            "features": levels,
        }
    return {"kind": "ignored", "range": "", "share": 0.0, "features": 0}
