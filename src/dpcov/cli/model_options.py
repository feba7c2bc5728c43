"""The options by which `dpcov ridge` and `dpcov predict` name a model."""

from __future__ import annotations

import math

import click

from dpcov.cli.options import Command

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
        raise click.BadParameter(f"{text[:40]!r} is neither auto nor a number of at least 0", context, parameter)
    return alpha


def model_options(command: Command) -> Command:
    """Add --target, --alpha and --features."""
    for option in (
        click.option(
            "--features",
            metavar="A,B,C",
            help="What to predict it from; a column means its levels but the most frequent one. By default all others.",
        ),
        click.option(
            "--alpha",
            default=AUTO,
            show_default=True,
            callback=read_alpha,
            metavar="NUMBER",
            help="The penalty on squared coefficients; auto adapts it to the noise of the release.",
        ),
        click.option("--target", metavar="NAME", help="What to predict: a column, or a level such as sex=Male."),
    ):
        command = option(command)
    return command
