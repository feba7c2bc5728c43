"""``dpcov sample``: made-up rows with the moments of a release, at no further cost in privacy."""

from __future__ import annotations

import shlex

import click

from dpcov.cli.options import group_option

MOST = 10**8
ENDINGS = (".csv", ".parquet")
EXAMPLE = """\b
Example:
  dpcov sample adult.json > synthetic.csv
  dpcov sample adult.json -n 50000 --seed 7 -o synthetic.parquet"""


@click.command(epilog=EXAMPLE, short_help="Make up rows with the moments of a release, for free.")
@click.argument("file", metavar="RELEASE", type=click.Path())
@group_option
@click.option(
    "-n",
    "--rows",
    type=click.IntRange(1, MOST),
    default=1000,
    show_default=True,
    metavar="NUMBER",
    help="How many rows to make.",
)
@click.option(
    "--seed", type=click.IntRange(0), metavar="NUMBER", help="Makes the same rows again; privacy does not depend on it."
)
@click.option("--force", is_flag=True, help="Overwrite an existing output.")
@click.option("--quiet", is_flag=True, help="Print no note on stderr.")
@click.option("-o", "--output", type=click.Path(), metavar="FILE", help="A .csv or .parquet file; else a CSV on stdout.")
def sample(file: str, group: str | None, rows: int, seed: int | None, force: bool, quiet: bool, output: str | None) -> None:
    """Make up rows that have about the means and covariances in a RELEASE, within its bounds and levels.

    Nothing is spent, and no data are read: no row is a person's, and only means and covariances are like those of the data.
    """
    from dpcov.cli.files import checked_table, loaded, save_table
    from dpcov.report.descriptions import head_line
    from dpcov.report.tables import table_of
    from dpcov.uses.held import check_covariance

    place = None if output is None else checked_table(output, ENDINGS, "synthetic.csv", force=force, inputs=(file,))
    release = loaded(file, group)
    check_covariance(release, "synthetic rows")
    made = table_of(release, release.sample(rows, seed=seed))
    if not quiet:
        note = "synthetic rows, made from the release alone: they have about its means and covariances, and nothing else"
        noise = "What is not clear of noise in the release is noise in these rows, too."
        click.echo(f"dpcov: {note}. {head_line(release.describe())} {noise}", err=True)
    save_table(made, place)
    if output is not None and not quiet:
        click.echo(f"{rows} synthetic row{'s' * (rows > 1)} written to {shlex.quote(output)}.")
