"""``dpcov sample``: made-up rows with the moments of a release, at no further cost in privacy."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from dpcov.release.record import Release

MOST = 10**8
ENDINGS = (".csv", ".parquet")
EXAMPLE = """\b
Example:
  dpcov sample adult.json > synthetic.csv
  dpcov sample adult.json -n 50000 --seed 7 -o synthetic.parquet"""


@click.command(epilog=EXAMPLE, short_help="Make up rows with the moments of a release, for free.")
@click.argument("file", metavar="RELEASE", type=click.Path())
@click.option("-n", "--rows", type=click.IntRange(1, MOST), default=1000, show_default=True, metavar="NUMBER", help="How many.")
@click.option("--seed", type=click.IntRange(0), metavar="NUMBER", help="Makes the same rows again; no matter of privacy here.")
@click.option("--force", is_flag=True, help="Overwrite an existing output.")
@click.option("--quiet", is_flag=True, help="Print no note.")
@click.option("-o", "--output", type=click.Path(), metavar="FILE", help="A .csv or .parquet file; else a CSV on stdout.")
def sample(file: str, rows: int, seed: int | None, force: bool, quiet: bool, output: str | None) -> None:
    """Make up rows that have about the means and covariances in a RELEASE, within its bounds and levels.

    Nothing is spent, and no data are read: no row is a person's, and nothing but first and second moments is kept.
    """
    from dpcov.cli.files import checked_table
    from dpcov.release.file import load
    from dpcov.report.tables import csv_text, parquet_bytes, table_of

    place = None if output is None else checked_table(output, ENDINGS, "synthetic.csv", force=force, inputs=(file,))
    release = load(file)
    _check(release)
    made = table_of(release, release.sample(rows, seed=seed))
    note = "synthetic rows, made from the release alone: they have about its means and covariances, and nothing else"
    if not quiet:
        click.echo(f"dpcov: {note}. {_told(release)}", err=True)
    if place is None or output is None:
        for text in csv_text(made):
            click.echo(text, nl=False)
        return
    from dpcov.paths import write_whole

    content = "".join(csv_text(made)) if output.lower().endswith(".csv") else parquet_bytes(made)
    write_whole(place, content, name="output", hint="check the folder and the disk")
    if not quiet:
        click.echo(f"{rows} synthetic row{'s' * (rows > 1)} written to {shlex.quote(output)}.")


def _told(release: Release) -> str:
    """Say how much of what the rows show is noise."""
    from dpcov.report.descriptions import head_line
    from dpcov.report.releases import is_centred

    said = head_line(release.describe(), centred=is_centred(release))
    return f"{said} What is not clear of noise in the release is noise in these rows, too."


def _check(release: Release) -> None:
    """Refuse a release that cannot be imitated."""
    from dpcov.errors import ReleaseError
    from dpcov.report.releases import check_covariance

    check_covariance(release, "synthetic rows")
    if release.schema is not None and not release.center:
        raise ReleaseError("release must be centred for synthetic rows, got one that is not. Hint: --center at the release.")
