"""``dpcov mean``: the private mean of a file's rows."""

from __future__ import annotations

from typing import Any

import click

from dpcov.cli.files import input_files
from dpcov.cli.made import checked_output, keep, tell_dry_run
from dpcov.cli.options import (
    budget_options,
    check_bounds,
    complete_mean,
    csv_options,
    making_options,
    read_columns,
    read_numbers,
    read_schema,
)
from dpcov.cli.paid import nothing_paid_is_lost
from dpcov.cli.publishing import made_by

EXAMPLE = """\b
Example:
  dpcov mean measurements.csv --rho 0.5 --radius 1000 --dry-run
  dpcov mean measurements.csv --rho 0.5 --radius 1000 --variance 4 -o mean.json
  dpcov mean adult.csv --epsilon 1 --schema adult.toml --columns age,hours-per-week -o mean.json"""


@click.command(epilog=EXAMPLE, short_help="Release a table's mean, privately.")
@click.argument("data", type=click.Path())
@budget_options
@click.option("--radius", type=float, metavar="NUMBER", help="A public bound on how far the mean lies from the origin; or:")
@click.option(
    "--schema", type=click.Path(), metavar="FILE", help="Public bounds and levels of the columns: see `dpcov schema init`."
)
@click.option("--origin", metavar="A,B,C", help="A public guess of the mean: one number, or one for each column. By default 0.")
@click.option(
    "--variance", metavar="A,B,C", help="The public variance of the columns: one number, or one for each. By default unknown."
)
@click.option(
    "--mechanism", metavar="NAME", default="auto", show_default=True, shell_complete=complete_mean, help="Name of a mechanism."
)
@click.option(
    "--postprocess", type=click.Choice(["project", "none"]), help="project (the default) moves the mean into the public ball."
)
@csv_options
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
    publication: Any,
    **settings: Any,
) -> None:
    """Release the mean of the rows in DATA, under privacy.

    DATA is a file (.parquet, .csv, .tsv, .npy, .xlsx, .dta, .sav, .sas7bdat), a folder of them, a pattern such as
    'data/*.parquet', or a URI such as s3://bucket/people.parquet.

    Give a budget (--epsilon, --epsilon with --delta, or --rho) and public bounds (--radius or --schema). There is no default: a
    bound read from the data would itself leak. The radius may be far too large: that costs little. Everything is checked
    before anything is spent.
    """
    from dpcov.api import mean as release_mean
    from dpcov.cli.progress import progress_bar
    from dpcov.mechanisms import checked_mechanism
    from dpcov.mechanisms.option_text import read_options

    check_bounds(radius, schema, "--radius")
    target = checked_output(output, force, input_files(data, schema), dry_run=dry_run)
    options: dict[str, Any] = read_options(option)
    if (variance is not None and "covariance" in options) or "origin" in options:
        raise click.UsageError("give variances with --variance and the origin with --origin, not with --option")
    if variance is not None:
        options["covariance"] = read_numbers(variance, "--variance")
    if origin is not None:
        settings["origin"] = read_numbers(origin, "--origin")
    checked_mechanism("mean", settings["mechanism"], options)
    settings |= {"radius": radius, "schema": read_schema(schema), "columns": read_columns(columns)}
    if dry_run:
        tell_dry_run("mean", data, as_json=as_json, **settings, **options)
        return
    with nothing_paid_is_lost(), progress_bar(quiet or as_json or publication is not None) as progress:
        made = made_by(release_mean, data, progress=progress, **settings, **options)
    keep(made, output, target, publication, force=force, quiet=quiet, as_json=as_json)
