"""``dpcov ridge``: a linear model of a release, at no further cost in privacy."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

import click

from dpcov.cli.model_options import fitted, model_options
from dpcov.cli.options import all_option, json_option, level_option

if TYPE_CHECKING:
    from dpcov.report.models import ToldModel

EXAMPLE = """\b
Example:
  dpcov ridge adult.json --target hours-per-week
  dpcov ridge adult.json --target hours-per-week --features age,sex --alpha 0.01
  dpcov ridge adult.json --target 'income=>50K' --plot model.png"""


@click.command(epilog=EXAMPLE, short_help="Fit a ridge regression to a release, for free.")
@click.argument("file", metavar="RELEASE", type=click.Path())
@model_options
@level_option
@all_option
@click.option("--plot", metavar="PNG", type=click.Path(), help="Also draw the largest coefficients.")
@json_option
def ridge(
    file: str,
    target: str | None,
    alpha: float | str,
    features: str | None,
    level: float,
    everything: bool,
    plot: str | None,
    as_json: bool,
) -> None:
    """Print a linear model: what a column of a RELEASE is predicted by, from its others.

    Nothing is spent, and no data are read: any target, features and penalty, any number of times. Coefficients are in the
    units of the columns; `dpcov predict` applies them to new rows.
    """
    from dpcov.cli.files import checked_picture, write_picture
    from dpcov.release.file import load
    from dpcov.report.models import told

    release = load(file)
    picture = None if plot is None else checked_picture(plot, (file,))
    found = told(release, fitted(release, target, alpha, features), level)
    if picture is not None:
        from dpcov.report.model_pictures import model_picture

        write_picture(picture, model_picture(found))
    if as_json:
        click.echo(_json_text(found, file))
        return
    _print(found, alpha, everything)
    if plot is not None:
        click.echo(f"Written to {shlex.quote(plot)}.")


def _json_text(found: ToldModel, file: str) -> str:
    from dpcov.report.models import record
    from dpcov.report.releases import promise

    return json.dumps({"file": file, **promise(found.release), **record(found)}, allow_nan=False)


def _print(found: ToldModel, alpha: float | str, everything: bool) -> None:
    """Print a model for people."""
    from dpcov.report.models import MOST_COEFFICIENTS, print_model
    from dpcov.report.text import console, print_promise

    out = console()
    print_promise(out, found.release)
    print_model(out, found, alpha, None if everything else MOST_COEFFICIENTS)
