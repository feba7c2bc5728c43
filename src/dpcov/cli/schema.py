"""``dpcov schema``: public knowledge about a table, drafted and checked without reading a row."""

from __future__ import annotations

import shlex

import click

from dpcov.cli.options import json_option
from dpcov.cli.telling import print_json
from dpcov.cli.words import DidYouMean


@click.group(cls=DidYouMean, epilog="\b\nExample:\n  dpcov schema init adult.csv -o adult.toml")
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
    from dpcov.sources.fitting import drafted

    kept = "it may have been completed"
    target = None if output is None else checked_target(output, force=force, kept=kept, inputs=(data,))
    text = drafted(data)
    if target is None:
        click.echo(text, nl=False)
        return
    write_whole(target, text)
    file = shlex.quote(str(output))
    click.echo(f"Written to {file}. Complete it with public knowledge, then: dpcov schema check {file} {shlex.quote(data)}")


@schema.command(
    epilog="\b\nExample:\n  dpcov schema check adult.toml adult.csv", short_help="Check a schema, alone or against a table."
)
@click.argument("file", metavar="SCHEMA", type=click.Path())
@click.argument("data", type=click.Path(), required=False)
@json_option
def check(file: str, data: str | None, as_json: bool) -> None:
    """Check the file SCHEMA and, with DATA, that the table has its columns with fitting types; no row is read."""
    from dpcov.report.schemas import record, write
    from dpcov.report.text import console
    from dpcov.schema.file import read
    from dpcov.sources.fitting import fitted

    checked = read(file)
    fit = None if data is None else fitted(checked, data)
    if as_json:
        print_json({"file": file, **record(checked, fit)})
    else:
        write(console(), checked, file, data, fit)
