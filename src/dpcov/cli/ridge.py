"""``dpcov ridge``: a linear model of a release, at no further cost in privacy."""

from __future__ import annotations

import click

from dpcov.cli.model_options import model_options
from dpcov.cli.options import about_option, all_option, group_option, json_option, level_option, read_columns
from dpcov.cli.telling import plot_option, tell

EXAMPLE = """\b
Example:
  dpcov ridge adult.json --target hours-per-week
  dpcov ridge adult.json --target hours-per-week --features age,sex --alpha 0.01
  dpcov ridge adult.json --target 'income=>50K' --plot model.png"""


@click.command(epilog=EXAMPLE, short_help="Fit a ridge regression to a release, for free.")
@click.argument("file", metavar="RELEASE", type=click.Path())
@group_option
@model_options
@level_option
@about_option
@all_option
@plot_option("Also draw the largest coefficients")
@json_option
def ridge(
    file: str,
    group: str | None,
    target: str | None,
    alpha: float | str,
    features: str | None,
    level: float,
    about: str,
    everything: bool,
    plot: str | None,
    as_json: bool,
) -> None:
    """Print a linear model that predicts one column of a RELEASE from the others.

    Nothing is spent, and no data are read: any target, features and penalty, any number of times. Coefficients are in the
    units of the columns; `dpcov predict` applies them to new rows.
    """
    from dpcov.cli.files import checked_picture, loaded

    release, picture = loaded(file, group), checked_picture(plot, file)
    found = release.ridge(target, alpha=alpha, features=read_columns(features, "--features")).reading(level, about)
    tell(found, file, as_json=as_json, picture=picture, words={"asked": alpha, "everything": everything})
