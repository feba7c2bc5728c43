"""``dpcov release``: one private release of a file, written to another file."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

import click

from dpcov.cli.options import (
    POSTPROCESS,
    budget_options,
    center_option,
    complete_mechanism,
    json_option,
    neighbors_option,
    read_columns,
)

if TYPE_CHECKING:
    from pathlib import Path

    from dpcov.release.record import Release
    from dpcov.schema import Schema

MOST_FEATURES = 20
EXAMPLE = """\b
Example:
  dpcov release adult.csv --rho 0.1 --schema adult.toml --dry-run
  dpcov release adult.csv --rho 0.1 --schema adult.toml -o adult.json
  dpcov release points.parquet --epsilon 1 --delta 1e-6 --row-norm 2.5 -o points.json
  dpcov release points.parquet --pca 3 --epsilon 1 --row-norm 2.5 -o pca.json"""


@click.command(epilog=EXAMPLE, short_help="Release a table's covariance, or its principal components, privately.")
@click.argument("data", type=click.Path())
@budget_options
@click.option("--row-norm", type=float, metavar="NUMBER", help="A public bound on the Euclidean norm of rows, or:")
@click.option("--schema", type=click.Path(), metavar="FILE", help="Public bounds and levels: see `dpcov schema init`.")
@click.option("--pca", type=int, metavar="K", help="Spend all of the budget on K principal components.")
@center_option
@click.option("--mechanism", default="auto", show_default=True, shell_complete=complete_mechanism, help="A mechanism's name.")
@click.option("--postprocess", type=click.Choice(POSTPROCESS), help="How noise is removed; the mechanism's own by default.")
@click.option("--option", multiple=True, metavar="NAME=VALUE", help="An option of the mechanism; may stand several times.")
@click.option("--columns", metavar="A,B,C", help="Use these columns only, in this order.")
@neighbors_option
@click.option("--seed", type=int, metavar="NUMBER", help="For tests and papers only: the release is then NOT private.")
@click.option("--force", is_flag=True, help="Overwrite an existing output.")
@click.option("--dry-run", is_flag=True, help="Check everything and predict the error; spend and write nothing.")
@click.option("--quiet", is_flag=True, help="Print no progress and no summary.")
@json_option
@click.option("-o", "--output", type=click.Path(), metavar="FILE", help="Where to write the release (JSON).")
def release(
    data: str,
    row_norm: float | None,
    schema: str | None,
    pca: int | None,
    columns: str | None,
    option: tuple[str, ...],
    seed: int | None,
    force: bool,
    dry_run: bool,
    quiet: bool,
    as_json: bool,
    output: str | None,
    **settings: Any,
) -> None:
    """Release the second moment, or mean and covariance, of the rows in DATA (.csv, .tsv or .parquet), under privacy.

    A budget (--epsilon, --epsilon with --delta, or --rho) and public knowledge (--row-norm or --schema) must be given: taken
    from the data they would leak. Everything is checked before anything is spent.

    With --pca K all of the budget goes to K principal components. A covariance has components, too: `dpcov pca FILE`.
    """
    from dpcov.mechanisms import MECHANISMS
    from dpcov.mechanisms.option_text import read_options

    options = read_options(option)
    named = MECHANISMS["covariance"].get(settings["mechanism"])
    takes_bounds = named is not None and named.bound == "covariance"
    bounded = takes_bounds and "upper" in options and row_norm is None and schema is None
    if (row_norm is None) == (schema is None) and not bounded:
        other = "; or, for this mechanism, --option upper=NUMBER" * takes_bounds
        raise click.UsageError(f"give --row-norm or --schema, and not both{other}")
    if output is None and not dry_run:
        raise click.UsageError("give --output FILE, or --dry-run")
    inputs = (data,) if schema is None else (data, schema)
    target = None if output is None else checked_output(output, force, inputs)
    settings |= _target_settings(pca, settings["mechanism"], settings.pop("postprocess"), settings["center"], options)
    settings |= {"row_norm": row_norm, "schema": read_schema(schema), "columns": read_columns(columns)}
    if dry_run:
        from dpcov.cli.dry_run import dry_run as rehearsed

        rehearsed(data, options=options, seed=seed, as_json=as_json, **settings)
        return
    assert target is not None
    made = _made(data, quiet, seed=seed, **settings, **options)
    save(made, target, force)
    tell(made, output, quiet=quiet, as_json=as_json)


def _target_settings(
    pca: int | None, mechanism: str, postprocess: str | None, center: bool | None, options: dict[str, Any]
) -> dict[str, Any]:
    """Return the settings that only a covariance has, or only components, and refuse what does not go with them."""
    from dpcov.mechanisms import MECHANISMS, checked_mechanism

    if pca is None:
        if mechanism in MECHANISMS["pca"] and mechanism not in MECHANISMS["covariance"]:
            raise click.UsageError(f"mechanism {mechanism!r} is for principal components: give --pca K with it")
        checked_mechanism("covariance", mechanism, options)
        return {"postprocess": postprocess}
    if postprocess is not None:
        raise click.UsageError("--postprocess does not go with --pca: it finishes a covariance, and components have none")
    if "k" in options:
        raise click.UsageError("give the number of components by --pca, once")
    checked_mechanism("pca", mechanism, options)
    return {"k": pca, "center": bool(center)}


def tell(made: Release, output: str | None, *, quiet: bool, as_json: bool) -> None:
    """Say what was made, to people or machines."""
    if made.seeded:
        click.echo("dpcov: --seed makes the noise predictable: this release is NOT private.", err=True)
    if as_json:
        from dpcov.report.releases import facts

        click.echo(json.dumps({"file": output, **facts(made)}, allow_nan=False))
    elif not quiet:
        print_summary(made, output)


def read_schema(schema: str | None) -> Schema | None:
    """Read a schema where there is one."""
    from dpcov.schema import Schema

    return None if schema is None else Schema.read(schema)


def checked_output(output: str, force: bool, inputs: tuple[str, ...]) -> Path:
    """Return where a release can be written, or refuse it before anything is spent."""
    from dpcov.cli.files import checked_target

    return checked_target(output, force=force, kept="an existing release was paid for", inputs=inputs)


def _made(data: str, quiet: bool, **settings: Any) -> Release:
    from dpcov.api import covariance, pca
    from dpcov.cli.progress import progress_bar
    from dpcov.mechanisms import MECHANISMS

    if "k" not in settings:
        with progress_bar(quiet) as progress:
            return covariance(data, progress=progress, **settings)
    named = MECHANISMS["pca"].get(settings["mechanism"])
    chain = "drawing components" if named is not None and named.draws_long else None
    with progress_bar(quiet, chain=chain) as progress:
        return pca(data, progress=progress, **settings)


def save(made: Release, target: Path, force: bool) -> None:
    """Write the release; what was paid for is not lost where that fails."""
    from dpcov.errors import EngineError
    from dpcov.release.file import text_of

    try:
        if target.exists() and not force:
            raise EngineError(f"output must not exist yet, got {str(target)!r}, which appeared meanwhile.")
        made.save(target)
    except (EngineError, KeyboardInterrupt) as error:
        click.echo(text_of(made), nl=False)
        reason = str(error).partition(" Hint:")[0] or "interrupted."
        raise EngineError(f"{reason} The release was made and paid for, and is on stdout. Hint: keep it.") from None


def print_summary(made: Release, output: str | None) -> None:
    """Print what was promised, what came out, and what to do next."""
    from dpcov.report.components import print_components
    from dpcov.report.descriptions import print_description
    from dpcov.report.releases import clip_line, error_line, zero_line
    from dpcov.report.text import MORE, console

    out = console()
    out.print(f"Privacy: {made.statement()}", soft_wrap=True)
    out.print(f"Mechanism: {made.how()}.")
    if made.clip_radius < made.row_norm:
        out.print(clip_line(made), soft_wrap=True)
    if error := error_line(made):
        out.print(error, soft_wrap=True)
    if zero := zero_line(made):
        out.print(zero)
    if made.estimate.k is not None:
        print_components(out, made, MOST_FEATURES, loadings_too=False)
    print_description(out, made, made.describe(), "private estimates", MOST_FEATURES)
    if hopeless(made):
        out.print(MORE, soft_wrap=True)
    if output is None:
        out.print("Not saved: --output FILE keeps what was paid for.")
        return
    file = shlex.quote(output)
    out.print("\n  ".join([f"Written to {file}. Next:", *_next(made, file)]), soft_wrap=True)


def hopeless(made: Release) -> bool:
    """Whether no deviation and no correlation is clear of noise, as far as its size is known."""
    found = made.describe()
    if found.deviation is None or not found.deviation.known:
        return False
    return not found.deviation.clear[~found.is_level].any() and not found.pairs()


def _next(made: Release, file: str) -> list[str]:
    """Return commands that a new release is for."""
    from dpcov.uses.convergence import is_chain

    if made.estimate.k is not None:
        chain = [f"dpcov pca {file} --convergence chains.png"] * is_chain(made)
        return [f"dpcov pca {file} --plot picture.png", *chain]
    if made.estimate.covariance is None:
        return [f"dpcov show {file}"]
    model = [f"dpcov ridge {file} --target {shlex.quote(made.feature_names[0])}"] * (made.d > 1)
    return [f"dpcov show {file}", f"dpcov show {file} --plot picture.png", f"dpcov pca {file}", *model]
