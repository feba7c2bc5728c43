"""``dpcov compare``: the errors of all mechanisms on public rows, to choose before anything is spent."""

from __future__ import annotations

from typing import Any

import click

from dpcov.cli.options import (
    check_bounds,
    complete_mechanism,
    csv_options,
    json_option,
    neighbors_option,
    people_options,
    read_budgets,
    read_columns,
    read_schema,
)
from dpcov.cli.telling import print_json, tell_written

EXAMPLE = """\b
Example:
  dpcov compare wine.csv --row-norm 1700 --epsilon 0.1,1,4 -o compare.png
  dpcov compare made-up.csv --schema people.toml --rho 0.1,1 --mechanism separate:constants=paper"""
KEPT = "it was drawn or written before"


@click.command(epilog=EXAMPLE, short_help="Measure the errors of all mechanisms on PUBLIC or made-up rows, to choose one.")
@click.argument("data", type=click.Path())
@click.option("--epsilon", metavar="A,B,C", help="Privacy budgets (pure DP): less is more private, and noisier.")
@click.option("--delta", metavar="NUMBER", help="With --epsilon: a tiny probability, well below 1/n (approximate DP).")
@click.option("--rho", metavar="A,B,C", help="Privacy budgets of zero-concentrated DP (zCDP).")
@click.option("--row-norm", type=float, metavar="NUMBER", help="A public bound on the length (Euclidean norm) of rows; or:")
@click.option(
    "--schema", type=click.Path(), metavar="FILE", help="Public bounds and levels of the columns: see `dpcov schema init`."
)
@click.option("--center/--no-center", default=None, help="Compare centred covariances; the default with --schema.")
@click.option(
    "--mechanism",
    "mechanisms",
    multiple=True,
    metavar="NAME",
    shell_complete=complete_mechanism,
    help="A mechanism, as NAME or NAME:OPTION=VALUE,...; can be repeated. By default all of them.",
)
@click.option("--columns", metavar="A,B,C", help="Use these columns only, in this order.")
@csv_options
@neighbors_option
@people_options
@click.option("--runs", type=int, default=20, show_default=True, metavar="NUMBER", help="Releases per mechanism and budget.")
@click.option("--seed", type=int, default=0, show_default=True, metavar="NUMBER", help="Seed of the first run.")
@click.option("--csv", "table", type=click.Path(), metavar="FILE", help="Also write the errors as a table.")
@click.option("--force", is_flag=True, help="Overwrite existing outputs.")
@json_option
@click.option("-o", "--output", type=click.Path(), metavar="FILE", help="Draw a picture: .png, .svg or .pdf.")
def compare(
    data: str,
    epsilon: str | None,
    delta: str | None,
    rho: str | None,
    row_norm: float | None,
    schema: str | None,
    center: bool | None,
    mechanisms: tuple[str, ...],
    columns: str | None,
    neighbors: str,
    runs: int,
    seed: int,
    table: str | None,
    force: bool,
    as_json: bool,
    output: str | None,
    **whose: Any,
) -> None:
    """Measure how far off each mechanism is on the rows in DATA (.csv, .tsv or .parquet), at each budget.

    DATA MUST BE PUBLIC OR MADE UP: this command prints errors against the truth, which are NOT private. Use rows that look like
    the ones to be protected and are nobody's; then spend once, with `dpcov release`.
    """
    from dpcov.cli.files import checked_target, differ, input_files
    from dpcov.cli.progress import progress_bar
    from dpcov.evaluate import compare as measured
    from dpcov.report import record, write
    from dpcov.report.pictures import picture_format
    from dpcov.report.text import console

    check_bounds(row_norm, schema, "--row-norm")
    budgets, inputs = read_budgets(epsilon, delta, rho), input_files(data, schema)
    picture, written = (
        None if file is None else checked_target(file, force=force, kept=KEPT, inputs=inputs) for file in (output, table)
    )
    if picture is not None:
        picture_format(picture, "compare.png")
    differ("--csv", written, "--output", picture)
    settings: dict[str, Any] = {"row_norm": row_norm, "schema": read_schema(schema), "neighbors": neighbors, "center": center}
    settings |= {"columns": read_columns(columns), "runs": runs, "seed": seed, **whose}
    with progress_bar(quiet=False, work="comparing") as progress:
        found = measured(data, budgets, mechanisms or None, progress=progress, **settings)
    if picture is not None:
        found.plot(picture)
    if written is not None:
        found.to_csv(written)
    if as_json:
        print_json(record(found))
        return
    public = ["--row-norm", f"{row_norm:g}"] if schema is None else ["--schema", schema]
    about = ["--center"] if found.center else ["--no-center"] * (schema is not None)
    told = {f"--{name.replace('_', '-')}": value for name, value in whose.items() if value is not None}
    about += [word for flag, value in told.items() for word in (flag, f"{value:g}" if isinstance(value, float) else str(value))]
    flags = about + (["--neighbors", neighbors] if neighbors != "replace" else [])
    write(console(), found, settings=[*public, *flags, *([] if columns is None else ["--columns", columns])])
    tell_written(picture, written)
