"""``dpcov interval``: how far noise may have moved what a release tells, at no further cost in privacy."""

from __future__ import annotations

import click

from dpcov.cli.options import about_option, all_option, group_option, json_option, level_option
from dpcov.cli.telling import plot_option, tell

OF = ["mean", "variances", "entries", "eigenvalues"]
EXAMPLE = """\b
Example:
  dpcov interval adult.json
  dpcov interval adult.json --of eigenvalues --level 0.99
  dpcov interval adult.json --of entries --json"""


@click.command(epilog=EXAMPLE, short_help="Print confidence intervals for the numbers in a release, for free.")
@click.argument("file", metavar="RELEASE", type=click.Path())
@group_option
@level_option
@click.option("--of", "of", type=click.Choice(OF), help="What to list; by default means, if there are any, and variances.")
@about_option
@all_option
@plot_option("Also draw them")
@json_option
def interval(
    file: str, group: str | None, level: float, of: str | None, about: str, everything: bool, plot: str | None, as_json: bool
) -> None:
    """Print means and variances, entries or eigenvalues in a RELEASE with confidence intervals.

    Nothing is spent, and no data are read: the law of the noise is public, and what the draw of rows adds is estimated from the
    release. Estimates here are raw ones, without denoising, as only their errors are known.
    """
    from dpcov.cli.files import checked_picture, loaded
    from dpcov.uses.held import check_covariance

    release = loaded(file, group)
    check_covariance(release, "intervals")
    found, choice = release.interval(level, about), {"of": of}
    picture = checked_picture(plot, file)
    tell(found, file, as_json=as_json, picture=picture, choice=choice, drawn=choice, words={"everything": everything})
