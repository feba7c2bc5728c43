"""``dpcov predict``: predictions for new rows by a model of a release. New rows are the user's own: none is protected."""

from __future__ import annotations

import math
import shlex

import click

from dpcov.cli.model_options import model_options
from dpcov.cli.options import csv_options, group_option, json_option, read_columns, read_level
from dpcov.cli.telling import print_json

EXAMPLE = """\b
Example:
  dpcov predict adult.json new.csv --target hours-per-week > predictions.csv
  dpcov predict adult.json new.parquet --target hours-per-week --features age,sex -o predictions.csv
  dpcov predict adult.json test.csv --target hours-per-week --score"""


def read_optional_level(context: click.Context, parameter: click.Parameter, text: str | None) -> float | None:
    """Turn 0.95 or 95% into a probability, where one is given."""
    return None if text is None else read_level(context, parameter, text)


@click.command(epilog=EXAMPLE, short_help="Predict a column of new rows from a release, for free.")
@click.argument("file", metavar="RELEASE", type=click.Path())
@group_option
@click.argument("data", metavar="NEWDATA", type=click.Path())
@model_options
@csv_options
@click.option("--score", is_flag=True, help="Print how good the predictions are; NEWDATA must have the target, too.")
@click.option(
    "--level",
    callback=read_optional_level,
    metavar="NUMBER",
    help="Add columns lower and upper, between which the values of new people should lie so often: 0.95 for example.",
)
@click.option("--force", is_flag=True, help="Overwrite an existing output.")
@click.option("--quiet", is_flag=True, help="Print no progress and no summary.")
@json_option
@click.option("-o", "--output", type=click.Path(), metavar="CSV", help="Where to write the predictions; else to stdout.")
def predict(
    file: str,
    group: str | None,
    data: str,
    target: str | None,
    alpha: float | str,
    features: str | None,
    score: bool,
    level: float | None,
    force: bool,
    quiet: bool,
    as_json: bool,
    output: str | None,
) -> None:
    """Predict --target for the rows in NEWDATA (.csv, .tsv or .parquet) with the model that `dpcov ridge` prints.

    Predictions are a CSV with one column, in the order of the rows; --level adds two more, within the bounds of the schema.
    NEWDATA are read, and not protected: predictions and scores tell about them. With --score, errors are printed in place of
    the predictions, which still go to --output.
    """
    from dpcov.cli.files import checked_table, loaded, save_table
    from dpcov.cli.progress import progress_bar
    from dpcov.report import record, write
    from dpcov.report.models import prediction_warnings
    from dpcov.report.tables import predictions_table
    from dpcov.report.text import console, digits, finite, printable
    from dpcov.uses.prediction import prediction_interval

    if as_json and output is None and not score:
        raise click.UsageError("give --output or --score with --json: otherwise stdout has the predictions")
    place = (
        None if output is None else checked_table(output, (".csv",), "predictions.csv", force=force, inputs=(file, str(data)))
    )
    model = loaded(file, group).ridge(target, alpha=alpha, features=read_columns(features, "--features"))
    for line in () if quiet else prediction_warnings(model.reading(), level):
        click.echo(f"dpcov: {line}", err=True)
    with progress_bar(quiet, chain="predicting") as progress:
        predictions = model.predict(data, progress=progress)
    scored = model.score(data, predictions=predictions) if score else None
    if place is not None or scored is None:
        inside = None if level is None else prediction_interval(model, predictions, level)
        save_table(predictions_table(model, predictions, inside), place)
    if as_json:
        within = finite(model.residual_deviation)
        facts = {"target": model.target, "alpha": model.alpha, "rows": len(predictions), "residual_deviation": within}
        own = {} if scored is None else {"score": record(scored)}
        print_json({"file": file, "data": str(data), "output": output, **facts, **own})
        return
    if scored is not None:
        write(console(), scored)
    if output is not None and not quiet:
        away, error = "", model.residual_deviation
        if math.isfinite(error):
            more = "; --level 0.95 adds intervals" * (level is None)
            away = f" People are about {digits(error)} away from theirs, r.m.s.{more}."
        click.echo(f"{len(predictions)} predictions of {printable(model.target)} written to {shlex.quote(output)}.{away}")
