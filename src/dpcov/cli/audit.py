"""``dpcov audit``: try to refute the promise of a mechanism, on made-up neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dpcov.cli.options import budget_options, json_option, neighbors_option, read_schema
from dpcov.cli.telling import print_json

if TYPE_CHECKING:
    from dpcov.kernel.budget import Budget

# Repeated here because its home imports numpy, which would make --help slow; a test compares.
TARGETS = ["covariance", "mean", "pca", "ridge"]

EXAMPLE = """\b
Example:
  dpcov audit eigenvectors --rho 0.5
  dpcov audit screened --target pca --option k=1 --epsilon 1 --neighbors add-remove
  dpcov audit rescaled --rho 0.5 --unit --max-weight 1
  dpcov audit --from examples/own_mechanism.py:COLUMNS_ONLY --epsilon 1 --seconds 20"""


@click.command(epilog=EXAMPLE, short_help="Try to refute the promise of a mechanism, on made-up neighbours.")
@click.argument("mechanism", required=False)
@click.option(
    "--target", type=click.Choice(TARGETS), default=TARGETS[0], show_default=True, help="What the mechanism releases."
)
@click.option("--from", "source", metavar="FILE.py:NAME", help="In place of MECHANISM: your own. The file is run as it is.")
@budget_options
@neighbors_option
@click.option("--option", multiple=True, metavar="NAME=VALUE", help="An option of the mechanism; can be repeated.")
@click.option("--schema", type=click.Path(), metavar="FILE", help="Make tables with its columns; by default rows of norm 1.")
@click.option("--center/--no-center", default=None, help="Audit centred releases; the default with --schema.")
@click.option("--unit", is_flag=True, help="Neighbours differ in all rows of one person; so too where the schema names a unit.")
@click.option("--most-rows", type=int, metavar="NUMBER", help="With --unit: rows count alike, but those of who has more.")
@click.option("--max-weight", type=float, metavar="NUMBER", help="With --unit: rows have weights, of which this is the most.")
@click.option("--width", type=int, default=2, show_default=True, metavar="NUMBER", help="Columns of rows without a schema.")
@click.option("--pairs", type=int, default=200, show_default=True, metavar="NUMBER", help="Neighbours to search and price.")
@click.option("--first", type=click.Path(), metavar="FILE", help="In place of a search: a table (.csv, .parquet or .npy).")
@click.option("--second", type=click.Path(), metavar="FILE", help="Its neighbour: they differ in one row, or person.")
@click.option(
    "--trials", type=int, default=1000, show_default=True, metavar="NUMBER", help="Releases of each of the dearest neighbours."
)
@click.option(
    "--draws", type=int, default=100_000, show_default=True, metavar="NUMBER", help="Numbers drawn of each kind of noise."
)
@click.option(
    "--alpha", type=float, default=1e-6, show_default=True, metavar="NUMBER", help="How often chance may accuse what is right."
)
@click.option("--seconds", type=float, metavar="NUMBER", help="Stop after about this long, with what was tried by then.")
@click.option("--seed", type=int, metavar="NUMBER", help="Repeat an audit; by default the system's random bits are used.")
@json_option
@click.pass_context
def audit(
    context: click.Context,
    /,
    mechanism: str | None,
    target: str,
    source: str | None,
    budget: Budget,
    option: tuple[str, ...],
    schema: str | None,
    first: str | None,
    second: str | None,
    as_json: bool,
    **settings: Any,
) -> None:
    """Try to refute the privacy promise of a MECHANISM: three kinds of evidence, over made-up tables; nobody's data are read.

    Prices: runs are replayed on neighbours that are searched for, and what each answer really cost must not exceed its charge.
    Noise: draws must follow their laws. Lower bound: many releases of two neighbours must not be told apart too well.

    The exit code is 3 where the promise is refuted. That it is not refuted is no proof.
    """
    from dpcov.cli.progress import progress_bar
    from dpcov.mechanisms.option_text import read_options
    from dpcov.report import record, write
    from dpcov.report.text import console
    from dpcov.verify.audit import audit_mechanism
    from dpcov.verify.from_files import own_mechanism, read_table

    if (mechanism is None) == (source is None):
        raise click.UsageError("give a MECHANISM by its name, or your own with --from FILE.py:NAME")
    if (first is None) != (second is None):
        raise click.UsageError("give two tables, --first and --second, or none")
    settings |= {"target": target, "options": read_options(option), "schema": read_schema(schema)}
    if first is not None and second is not None:
        tables = [read_table(file, of_array=schema is None) for file in (first, second)]
        beside = settings["unit"] + (settings["max_weight"] is not None)  # an identifier, and a weight before it
        settings |= {"pairs": [tuple(tables)]} | ({"width": tables[0].shape[1] - beside} if schema is None else {})
    named = own_mechanism(source) if source is not None else str(mechanism)
    with progress_bar(quiet=False, work="auditing") as progress:
        found = audit_mechanism(named, budget, progress=progress, **settings)
    if as_json:
        print_json(record(found))
    else:
        write(console(), found)
    if found.refuted:
        context.exit(3)
