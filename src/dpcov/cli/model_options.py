"""The options by which `dpcov ridge` and `dpcov predict` name a model, and how it is fitted."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import click

from dpcov.cli.options import Command

if TYPE_CHECKING:
    from dpcov.release.record import Release
    from dpcov.uses.ridge import RidgeModel

AUTO = "auto"


def read_alpha(context: click.Context, parameter: click.Parameter, text: str) -> float | str:
    """Turn 0.01 into a number, and leave auto."""
    if text.strip().lower() == AUTO:
        return AUTO
    try:
        alpha = float(text)
    except ValueError:
        alpha = math.nan
    if not 0 <= alpha < math.inf:
        raise click.BadParameter(f"{text[:40]!r} is neither auto nor a number that is 0 or more", context, parameter)
    return alpha


def model_options(command: Command) -> Command:
    """Add --target, --alpha and --features."""
    for option in (
        click.option(
            "--features",
            metavar="A,B,C",
            help="What it is predicted from; a column stands for all its levels. By default all other columns.",
        ),
        click.option(
            "--alpha",
            default=AUTO,
            show_default=True,
            callback=read_alpha,
            metavar="NUMBER",
            help="The penalty on squared coefficients; auto takes it from the release's own noise.",
        ),
        click.option("--target", metavar="NAME", help="What is predicted: a column, or a level such as sex=Male."),
    ):
        command = option(command)
    return command


def fitted(release: Release, target: str | None, alpha: float | str, features: str | None) -> RidgeModel:
    """Return the model that was asked for, or refuse in the words of the command line."""
    from dpcov.cli.options import read_columns
    from dpcov.errors import ParameterError, ReleaseError
    from dpcov.report.releases import reason
    from dpcov.uses.held import holds_covariance, what_it_holds

    single = release.estimate.coefficients is not None
    if not holds_covariance(release) and not single:
        held = what_it_holds(release)
        raise ReleaseError(f"release must hold a covariance for a regression, got {held}. Hint: `dpcov release` makes one.")
    if target is None and not single:
        raise click.UsageError(f"give --target NAME, such as --target {release.feature_names[0]!r}")
    if release.d < 2:
        raise ReleaseError("release must have two columns or more for a regression, got 1. Hint: release more of them.")
    chosen = read_columns(features, "--features")
    try:
        return release.ridge(target, alpha=alpha, features=chosen)
    except ReleaseError as error:
        hint = "leave --target, --alpha and --features out; a release of a covariance has all models"
        raise ReleaseError(f"{reason(error)}. Hint: {hint if single else 'see `dpcov show`'}.") from None
    except ParameterError as error:
        message = str(error)
        for name in ("target", "features", "alpha"):
            message = f"--{message}" if message.startswith(f"{name} must") else message
        raise ParameterError(message) from None
