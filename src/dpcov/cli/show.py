"""``dpcov show``: what a release file promises and holds."""

from __future__ import annotations

import click

from dpcov.cli.options import about_option, json_option
from dpcov.cli.telling import plot_option, tell

EXAMPLE = "\b\nExample:\n  dpcov show wine-release.json --plot wine-release.png"


@click.command(epilog=EXAMPLE)
@click.argument("file", type=click.Path())
@click.option("--all", "everything", is_flag=True, help="List all features, not only the first 40.")
@plot_option("Also draw the correlations and their spectrum, or what else it holds")
@about_option
@json_option
def show(file: str, everything: bool, plot: str | None, about: str, as_json: bool) -> None:
    """Print the privacy promise, what was spent and the estimates in a release FILE."""
    from dpcov.cli.files import checked_picture
    from dpcov.release.file import load

    release = load(file)
    choice, picture = {"about": about}, checked_picture(plot, file)
    tell(release, file, as_json=as_json, picture=picture, choice=choice, drawn=choice, words={"everything": everything})
