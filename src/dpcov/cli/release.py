"""``dpcov release``: one private release of a file, written to another file."""

from __future__ import annotations

from typing import Any

import click

from dpcov.cli.files import input_files
from dpcov.cli.made import checked_output, keep, released, tell_dry_run
from dpcov.cli.options import (
    POSTPROCESS,
    budget_options,
    by_option,
    center_option,
    check_bounds,
    checked_by,
    complete_mechanism,
    csv_options,
    making_options,
    read_columns,
    read_schema,
    sql_options,
)

EXAMPLE = """\b
Example:
  dpcov release adult.csv --rho 0.1 --schema adult.toml --dry-run
  dpcov release adult.csv --rho 0.1 --schema adult.toml -o adult.json
  dpcov release points.parquet --epsilon 1 --delta 1e-6 --row-norm 2.5 -o points.json
  dpcov release adult.csv --rho 0.1 --schema adult.toml --by sex -o adult.json
  dpcov release points.parquet --pca 3 --epsilon 1 --row-norm 2.5 -o pca.json"""


@click.command(epilog=EXAMPLE, short_help="Release a table's covariance, or its principal components, privately.")
@click.argument("data", type=click.Path(), required=False)
@budget_options
@sql_options
@click.option("--row-norm", type=float, metavar="NUMBER", help="A public bound on the length (Euclidean norm) of rows; or:")
@click.option(
    "--schema", type=click.Path(), metavar="FILE", help="Public bounds and levels of the columns: see `dpcov schema init`."
)
@click.option("--pca", type=int, metavar="K", help="Spend all of the budget on K principal components.")
@center_option
@by_option
@click.option("--max-rows", type=int, metavar="NUMBER", help="A public bound on the rows, above 2**30: for a coarser grid.")
@click.option(
    "--mechanism",
    metavar="NAME",
    default="auto",
    show_default=True,
    shell_complete=complete_mechanism,
    help="Name of a mechanism.",
)
@click.option("--postprocess", type=click.Choice(POSTPROCESS), help="How to denoise; by default the mechanism's own way.")
@csv_options
@making_options
def release(
    data: Any,
    row_norm: float | None,
    schema: str | None,
    pca: int | None,
    by: str | None,
    print_sql: bool,
    columns: str | None,
    option: tuple[str, ...],
    seed: int | None,
    force: bool,
    dry_run: bool,
    quiet: bool,
    as_json: bool,
    output: str | None,
    publication: Any,
    **settings: Any,
) -> None:
    """Release the second moment, or mean and covariance, of the rows in DATA, under privacy.

    DATA is a file (.parquet, .csv, .tsv, .npy, .xlsx, .dta, .sav, .sas7bdat), a folder of them, a pattern such as
    'data/*.parquet', or a URI such as s3://bucket/people.parquet.

    Give a budget (--epsilon, --epsilon with --delta, or --rho) and public bounds (--row-norm or --schema). There is no default:
    a bound read from the data would itself leak. Everything is checked before anything is spent.

    A row is a person. Where people have several rows, --unit COLUMN, or unit = "COLUMN" in the schema, says whose a row is.

    A database that only its administrator reaches: --query and --print-sql print the statement to be run there, --query and
    --exact-sums make the release from its result, which is as secret as the rows.

    With --pca K all of the budget goes to K principal components. A covariance has components, too: `dpcov pca FILE`.
    """
    from dpcov.mechanisms import MECHANISMS
    from dpcov.mechanisms.option_text import read_options

    options = read_options(option)
    named = MECHANISMS["covariance"].get(settings["mechanism"])
    takes_bounds = named is not None and named.bound == "covariance"
    bounded = takes_bounds and "upper" in options and row_norm is None and schema is None
    if not bounded:
        check_bounds(row_norm, schema, "--row-norm", "; or, for this mechanism, --option upper=NUMBER" * takes_bounds)
    target = checked_output(output, force, input_files(data, schema), dry_run=dry_run or print_sql)
    settings |= _target_settings(
        pca, checked_by(by, pca, schema), settings["mechanism"], settings.pop("postprocess"), settings["center"], options
    )
    settings |= {"row_norm": row_norm, "schema": read_schema(schema), "columns": read_columns(columns)}
    if dry_run:
        tell_dry_run("covariance" if pca is None else "pca", data, seed=seed, as_json=as_json, **settings, **options)
        return
    made = released(data, quiet or publication is not None, seed=seed, **settings, **options)
    keep(made, output, target, publication, force=force, quiet=quiet, as_json=as_json)


def _target_settings(
    pca: int | None, by: str | None, mechanism: str, postprocess: str | None, center: bool | None, options: dict[str, Any]
) -> dict[str, Any]:
    """Return the settings that only a covariance has, or only components, and refuse what does not go with them."""
    from dpcov.mechanisms import MECHANISMS, checked_mechanism

    if pca is None:
        if mechanism in MECHANISMS["pca"] and mechanism not in MECHANISMS["covariance"]:
            raise click.UsageError(f"mechanism {mechanism!r} is for principal components: give --pca K with it")
        checked_mechanism("covariance", mechanism, options)
        return {"postprocess": postprocess, "by": by}
    if postprocess is not None:
        raise click.UsageError("--postprocess cannot be used with --pca: it finishes a covariance, and components have none")
    if "k" in options:
        raise click.UsageError("give the number of components with --pca, not with --option")
    checked_mechanism("pca", mechanism, options)
    return {"k": pca, "center": bool(center)}
