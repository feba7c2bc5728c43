"""``dpcov show``: what a release file promises and holds."""

from __future__ import annotations

import click

from dpcov.cli.options import about_option, group_option, json_option
from dpcov.cli.telling import plot_option, tell

EXAMPLE = """\b
Example:
  dpcov show wine-release.json --plot wine-release.png
  dpcov show hospital.json --group north
  dpcov show hospital.json --between north south"""


@click.command(epilog=EXAMPLE)
@click.argument("file", type=click.Path())
@click.option("--all", "everything", is_flag=True, help="List all features, not only the first 40.")
@group_option
@click.option("--between", nargs=2, metavar="LEVEL LEVEL", help="Show what the first group has more than the second.")
@plot_option("Also draw the correlations and their spectrum, or what else it holds")
@about_option
@json_option
def show(
    file: str,
    everything: bool,
    group: str | None,
    between: tuple[str, str] | None,
    plot: str | None,
    about: str,
    as_json: bool,
) -> None:
    """Print the privacy promise, what was spent and the estimates in a release FILE."""
    from dpcov.cli.files import checked_picture, loaded

    release = loaded(file, group)
    if between is not None:
        if group is not None or plot is not None:
            raise click.UsageError("give --between alone: it has two groups, and no picture")
        tell(release.between(*between, about=about), file, as_json=as_json, words={"everything": everything})
        return
    choice, picture = {"about": about}, checked_picture(plot, file)
    tell(release, file, as_json=as_json, picture=picture, choice=choice, drawn=choice, words={"everything": everything})
