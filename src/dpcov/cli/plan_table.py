"""``dpcov plan table``: how large errors will be, column by column, from a schema and a number of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dpcov.cli.options import budget_options, json_option, neighbors_option, people_options, read_columns, read_schema
from dpcov.cli.telling import plot_option, print_json, tell_written

if TYPE_CHECKING:
    from dpcov.kernel.budget import Budget

EXAMPLE = """\b
Example:
  dpcov plan table --schema people.toml --n 8000 --epsilon 1
  dpcov plan table --schema people.toml --n 8000 --epsilon 1 --columns age,sex,income --plot plan.png"""


@click.command(name="table", epilog=EXAMPLE, short_help="Predict the errors of each column of a table; the default.")
@click.option(
    "--schema",
    type=click.Path(),
    metavar="FILE",
    required=True,
    help="Public bounds and levels of the columns: see `dpcov schema init`.",
)
@click.option("--n", type=int, required=True, help="Number of rows, with --unit of people; a guess where it is private.")
@budget_options
@neighbors_option
@people_options
@click.option("--columns", metavar="A,B,C", help="The columns that you need: what is gained by releasing these only.")
@click.option(
    "--spread",
    type=float,
    default=0.0625,
    show_default=True,
    help="Assumed standard deviation of a column of numbers, in widths of its bounds.",
)
@click.option("--all", "everything", is_flag=True, help="List all columns, not only the first 40.")
@plot_option("Also draw the errors against the budget")
@json_option
def plan_table(
    schema: str,
    n: int,
    budget: Budget,
    neighbors: str,
    columns: str | None,
    spread: float,
    everything: bool,
    plot: str | None,
    as_json: bool,
    **whose: Any,
) -> None:
    """Predict the errors of means, deviations and correlations of a table, in its own units, without data.

    The release is tried on rows that are made up from the schema; the standard errors that it finds there are the prediction.
    """
    from dpcov.cli.files import checked_picture
    from dpcov.evaluate.table_plan import plan_table as planned
    from dpcov.report import record, write
    from dpcov.report.text import console

    picture = checked_picture(plot, schema)
    public = read_schema(schema)
    assert public is not None
    found = planned(public, budget, n=n, columns=read_columns(columns), neighbors=neighbors, spread=spread, **whose)
    if picture is not None:
        found.plot(picture)
    if as_json:
        print_json(record(found))
        return
    write(console(), found, everything=everything)
    tell_written(picture)
