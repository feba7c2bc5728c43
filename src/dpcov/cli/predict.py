"""``dpcov predict``: predictions for new rows by a model of a release. New rows are the user's own: none is protected."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

import click

from dpcov.cli.model_options import fitted, model_options
from dpcov.cli.options import json_option

if TYPE_CHECKING:
    from dpcov.release.record import Release
    from dpcov.uses.ridge import RidgeModel
    from dpcov.uses.scoring import Floats, Score

EXAMPLE = """\b
Example:
  dpcov predict adult.json new.csv --target hours-per-week > predictions.csv
  dpcov predict adult.json new.parquet --target hours-per-week --features age,sex -o predictions.csv
  dpcov predict adult.json test.csv --target hours-per-week --score"""


@click.command(epilog=EXAMPLE, short_help="Predict a column of new rows by a release, for free.")
@click.argument("file", metavar="RELEASE", type=click.Path())
@click.argument("data", metavar="NEWDATA", type=click.Path())
@model_options
@click.option("--score", is_flag=True, help="Print how good the predictions are, where NEWDATA has the target, too.")
@click.option("--force", is_flag=True, help="Overwrite an existing output.")
@click.option("--quiet", is_flag=True, help="Print no progress and no summary.")
@json_option
@click.option("-o", "--output", type=click.Path(), metavar="CSV", help="Where to write the predictions; else to stdout.")
def predict(
    file: str,
    data: str,
    target: str | None,
    alpha: float | str,
    features: str | None,
    score: bool,
    force: bool,
    quiet: bool,
    as_json: bool,
    output: str | None,
) -> None:
    """Predict --target for the rows in NEWDATA (.csv, .tsv or .parquet) by the model that `dpcov ridge` prints.

    Predictions are a CSV with one column, in the order of the rows. NEWDATA are read, and not protected: predictions and
    scores tell about them. With --score, errors are printed in place of the predictions, which still go to --output.
    """
    import pyarrow as pa

    from dpcov.cli.files import checked_table
    from dpcov.cli.progress import progress_bar
    from dpcov.release.file import load
    from dpcov.report.tables import csv_text

    if as_json and output is None and not score:
        raise click.UsageError("give --output or --score with --json: else stdout has the predictions")
    place = None if output is None else checked_table(output, (".csv",), "predictions.csv", force=force, inputs=(file, data))
    release = load(file)
    model = fitted(release, target, alpha, features)
    if not quiet:
        _warn(release, model)
    with progress_bar(quiet, chain="predicting") as progress:
        found = model.predict(data, progress=progress)
    scored = _scored(release, model, found, data) if score else None
    table = pa.table({model.target: found})
    if place is not None:
        from dpcov.paths import write_whole

        write_whole(place, "".join(csv_text(table)), name="output", hint="check the folder and the disk")
    elif not score:
        for text in csv_text(table):
            click.echo(text, nl=False)
        return
    if as_json:
        click.echo(json.dumps(_record(model, found, scored, file, data, output), allow_nan=False))
    elif not quiet or scored is not None:
        _print(model, found, scored, None if quiet else output)


def _warn(release: Release, model: RidgeModel) -> None:
    """Say so where the model is all but the mean."""
    from dpcov.report.models import LEVEL, drowned_line, told

    found = told(release, model, LEVEL)
    if found.nothing:
        click.echo(f"dpcov: nothing can be seen: {drowned_line(found)}. The predictions are all but a constant.", err=True)


def _scored(release: Release, model: RidgeModel, found: Floats, data: str) -> Score:
    from dpcov.uses.scoring import score

    return score(release, model, found, data)


def _record(model: RidgeModel, found: Floats, scored: Score | None, file: str, data: str, output: str | None) -> dict[str, Any]:
    from dpcov.report.text import finite

    facts = {"file": file, "data": data, "output": output, "target": model.target, "alpha": model.alpha, "rows": len(found)}
    if scored is None:
        return facts
    errors = {"mean_squared_error": finite(scored.error), "variance": finite(scored.variance), "r2": finite(scored.r2)}
    return {**facts, "score": {"rows": scored.rows, **errors}}


def _print(model: RidgeModel, found: Floats, scored: Score | None, output: str | None) -> None:
    """Print scores, and where the predictions are."""
    from dpcov.report.text import printable

    if scored is not None:
        left = len(found) - scored.rows
        click.echo(
            f"Score of {printable(model.target)} on {scored.rows} rows" + f", {left} without it left out" * (left > 0) + ":"
        )
        click.echo(f"  mean squared error  {scored.error:.4g}, its root {scored.error**0.5:.4g}")
        click.echo(f"  R²                  {scored.r2:.3f}" + " (0 is what the mean of these rows would have)")
        click.echo("These numbers are about the new rows, and protect none of them.")
    if output is not None:
        click.echo(f"{len(found)} predictions of {printable(model.target)} written to {shlex.quote(output)}.")
