"""``dpcov correlation``: which columns of a release go together, at no further cost in privacy."""

from __future__ import annotations

import click

from dpcov.cli.options import about_option, group_option, json_option
from dpcov.cli.telling import plot_option, tell

EXAMPLE = """\b
Example:
  dpcov correlation adult.json
  dpcov correlation adult.json --top 50 --plot correlation.png"""


@click.command(epilog=EXAMPLE, short_help="Print and draw the correlations of a release, for free.")
@click.argument("file", metavar="RELEASE", type=click.Path())
@group_option
@click.option("--top", type=click.IntRange(1), default=20, show_default=True, metavar="NUMBER", help="How many pairs to list.")
@plot_option("Also draw the matrix")
@about_option
@json_option
def correlation(file: str, group: str | None, top: int, plot: str | None, about: str, as_json: bool) -> None:
    """Print the correlations in a RELEASE that are clear of noise, between features of different columns.

    The strongest are first, by what a correlation has at least: its size less two standard errors.

    Nothing is spent, and no data are read. Of a release without --center they are cosines about 0.
    """
    from dpcov.cli.files import checked_picture, loaded
    from dpcov.uses.held import check_covariance

    release = loaded(file, group)
    check_covariance(release, "correlations")
    found = release.describe(about).correlation
    tell(found, file, as_json=as_json, picture=checked_picture(plot, file), choice={"top": top})
