"""``dpcov schema``: public knowledge about a table, drafted and checked without reading a row."""

from __future__ import annotations

import shlex

import click

from dpcov.cli.groups import DidYouMean
from dpcov.cli.options import csv_options, json_option
from dpcov.cli.telling import print_json


@click.group(cls=DidYouMean, epilog="\b\nExample:\n  dpcov schema init adult.csv -o adult.toml")
def schema() -> None:
    """Draft or check a schema: public bounds and levels of columns."""


@schema.command(
    epilog="\b\nExample:\n  dpcov schema init adult.csv -o adult.toml\n  dpcov schema init --from codebook.csv -o people.toml",
    short_help="Draft a schema from names and types, or from a codebook.",
)
@click.argument("data", type=click.Path(), required=False)
@csv_options
@click.option(
    "--from",
    "codebook",
    type=click.Path(),
    metavar="CODEBOOK",
    help="A CSV file with a line for each column: name, type, min, max, levels (with ; between them), unit, missing.",
)
@click.option("-o", "--output", type=click.Path(), metavar="FILE", help="Where to write the draft; stdout by default.")
@click.option("--force", is_flag=True, help="Overwrite an existing output.")
def init(data: str | None, codebook: str | None, output: str | None, force: bool) -> None:
    """Draft a schema from the names and declared types of DATA's columns, from a codebook, or both; no value is read.

    What nobody said is left open: complete it with public knowledge, never by looking at the data. Comments say what is
    publicly known of usual fields, such as an age, and why. With both, DATA says which columns there are, and the codebook what
    they hold.
    """
    from dpcov.cli.files import checked_target
    from dpcov.paths import write_whole
    from dpcov.sources.fitting import drafted

    if data is None and codebook is None:
        raise click.UsageError("give DATA, --from CODEBOOK, or both")
    given = [str(file) for file in (data, codebook) if file is not None]
    kept = "it may have been completed"
    target = None if output is None else checked_target(output, force=force, kept=kept, inputs=tuple(given))
    text = drafted(data, codebook)
    if target is None:
        click.echo(text, nl=False)
        return
    write_whole(target, text)
    file, table = shlex.quote(str(output)), "DATA" if data is None else shlex.quote(str(data))
    click.echo(f"Written to {file}. Complete it with public knowledge, then: dpcov schema check {file} {table}")


@schema.command(
    epilog="\b\nExample:\n  dpcov schema check adult.toml adult.csv\n  dpcov schema check adult.toml adult.csv --look",
    short_help="Check a schema, alone or against a table.",
)
@click.argument("file", metavar="SCHEMA", type=click.Path())
@click.argument("data", type=click.Path(), required=False)
@csv_options
@click.option(
    "--look",
    is_flag=True,
    help="Read all rows and count missing, unmatched and clipped cells, exactly: NOT private, for the custodian's eyes only.",
)
@json_option
def check(file: str, data: str | None, look: bool, as_json: bool) -> None:
    """Check the file SCHEMA and, with DATA, that the table has its columns with fitting types; no row is read.

    Only --look reads rows. What it prints is NOT private: it is there to find a wrong file, unit or spelling before a budget
    is spent on it. Publish none of it, and choose no bound or level by it.
    """
    from dpcov.report.schemas import record, write, write_look
    from dpcov.report.text import console
    from dpcov.schema.file import read
    from dpcov.sources.fitting import fitted

    if look and data is None:
        raise click.UsageError("--look is about DATA: give that, too")
    checked = read(file)
    fit = None if data is None else fitted(checked, data)
    found = None
    if look:
        from dpcov.evaluate.looking import look as counted

        found = counted(data, checked)
    if as_json:
        print_json({"file": file, **record(checked, fit), **({} if found is None else {"look": found.to_dict()})})
        return
    write(console(), checked, file, None if data is None else str(data), fit)
    if found is not None:
        write_look(console(), found)
