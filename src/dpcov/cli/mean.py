"""``dpcov mean``: the private mean of a file's rows."""

from __future__ import annotations

from typing import Any

import click

from dpcov.cli.made import checked_output, save, tell_dry_run, tell_made
from dpcov.cli.options import (
    budget_options,
    complete_mean,
    making_options,
    read_columns,
    read_numbers,
    read_schema,
)

EXAMPLE = """\b
Example:
  dpcov mean measurements.csv --rho 0.5 --radius 1000
  dpcov mean measurements.csv --rho 0.5 --radius 1000 --variance 4 -o mean.json
  dpcov mean adult.csv --epsilon 1 --schema adult.toml --columns age,hours-per-week -o mean.json"""


@click.command(epilog=EXAMPLE, short_help="Release a table's mean, privately.")
@click.argument("data", type=click.Path())
@budget_options
@click.option("--radius", type=float, metavar="NUMBER", help="The mean lies within this distance of the origin, or:")
@click.option("--schema", type=click.Path(), metavar="FILE", help="Public bounds and levels: see `dpcov schema init`.")
@click.option("--origin", metavar="A,B,C", help="A public guess of the mean, one number or one for each column; 0 by default.")
@click.option("--variance", metavar="A,B,C", help="The public variance of the columns, one or all; unknown by default.")
@click.option(
    "--mechanism", metavar="NAME", default="auto", show_default=True, shell_complete=complete_mean, help="A mechanism's name."
)
@click.option("--postprocess", type=click.Choice(["project", "none"]), help="Into the public ball (the default), or not.")
@making_options
def mean(
    data: str,
    radius: float | None,
    schema: str | None,
    origin: str | None,
    variance: str | None,
    option: tuple[str, ...],
    columns: str | None,
    force: bool,
    dry_run: bool,
    quiet: bool,
    as_json: bool,
    output: str | None,
    **settings: Any,
) -> None:
    """Release the mean of the rows in DATA (.csv, .tsv or .parquet), under privacy.

    A budget (--epsilon, --epsilon with --delta, or --rho) and public knowledge (--radius or --schema) must be given: taken from
    the data they would leak. The radius may be far too large: its price is small. All is checked before anything is spent.
    """
    from dpcov.api import mean as release_mean
    from dpcov.cli.progress import progress_bar
    from dpcov.mechanisms import checked_mechanism
    from dpcov.mechanisms.option_text import read_options

    if (radius is None) == (schema is None):
        raise click.UsageError("give --radius or --schema, and not both")
    if quiet and not as_json and output is None and not dry_run:
        raise click.UsageError("give --output FILE with --quiet: the mean would be paid for and not be seen")
    inputs = (data,) if schema is None else (data, schema)
    target = None if output is None else checked_output(output, force, inputs)
    options: dict[str, Any] = read_options(option)
    if (variance is not None and "covariance" in options) or "origin" in options:
        raise click.UsageError("give variances by --variance, and the origin by --origin, once")
    if variance is not None:
        options["covariance"] = read_numbers(variance, "--variance")
    if origin is not None:
        settings["origin"] = read_numbers(origin, "--origin")
    checked_mechanism("mean", settings["mechanism"], options)
    settings |= {"radius": radius, "schema": read_schema(schema), "columns": read_columns(columns)}
    if dry_run:
        tell_dry_run("mean", data, as_json=as_json, **settings, **options)
        return
    with progress_bar(quiet or as_json) as progress:
        made = release_mean(data, progress=progress, **settings, **options)
    if target is not None:
        save(made, target, force)
    tell_made(made, output, quiet=quiet, as_json=as_json)
