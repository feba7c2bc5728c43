"""``dpcov ledger``: what each data set may lose in all, and what was spent of it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from dpcov.cli.groups import DidYouMean
from dpcov.cli.ledger_acts import approve, dataset_option, file_argument, policy, policy_option, record, resume, why_option
from dpcov.cli.options import all_option, budget_options, json_option, neighbors_option
from dpcov.cli.telling import tell

if TYPE_CHECKING:
    from dpcov.kernel.budget import Budget

EXAMPLE = """\b
Example:
  dpcov ledger init budget.db --dataset adult --rho 1 --data adult.csv
  dpcov release adult.csv --ledger budget.db --dataset adult --rho 0.1 --schema adult.toml -o adult.json
  dpcov ledger status budget.db
  dpcov ledger verify budget.db adult.json"""


@click.group(cls=DidYouMean, epilog=EXAMPLE)
def ledger() -> None:
    """Keep count of what releases of a data set cost in all: a budget that cannot be overspent."""


@ledger.command(
    epilog="\b\nExample:\n  dpcov ledger init budget.db --dataset adult --epsilon 4 --delta 1e-6 --data adult.csv",
    short_help="Set what a data set may lose in all.",
)
@file_argument
@dataset_option
@budget_options
@neighbors_option
@click.option(
    "--data",
    type=click.Path(),
    metavar="FILE",
    help="Its rows: a small file beside them then names the ledger, and releases charged elsewhere, or nowhere, are refused.",
)
@click.option(
    "--unit", metavar="COLUMN", help="It protects people: the column that says whose a row is. By default it protects rows."
)
@policy_option
@why_option
def init(file: str, dataset: str, budget: Budget, policy_file: str | None, **facts: Any) -> None:
    """Set what a data set may lose in all its releases; the file LEDGER is made where there is none.

    A total is set once and for good. It is spent in its own notion: --rho takes releases under --rho and --epsilon, --epsilon
    those under --epsilon alone, and --epsilon with --delta those under --epsilon, or else those under --rho.
    """
    from dpcov import Ledger

    opened = Ledger.create(file)
    opened.add(dataset, budget, policy=policy_file, **facts)
    tell(opened.status(), file, as_json=False)
    click.echo(f"Releases are charged to it with: --ledger {shlex.quote(file)} --dataset {shlex.quote(dataset)}")


@ledger.command(epilog="\b\nExample:\n  dpcov ledger status budget.db", short_help="Show what is left of each data set.")
@file_argument
@json_option
def status(file: str, as_json: bool) -> None:
    """Show what each data set may lose in all, what is spent, and what is left."""
    from dpcov import Ledger

    tell(Ledger(file).status(), file, as_json=as_json)


@ledger.command(
    epilog="\b\nExample:\n  dpcov ledger history budget.db --dataset adult", short_help="List who spent what, when and why."
)
@file_argument
@click.option("--dataset", metavar="NAME", help="Only of this data set.")
@all_option
@json_option
def history(file: str, dataset: str | None, everything: bool, as_json: bool) -> None:
    """List the entries: who attempted, spent and released what, when and why."""
    from dpcov import Ledger
    from dpcov.report.ledger_history import MOST_ENTRIES

    tell(Ledger(file).history(dataset, last=None if everything or as_json else MOST_ENTRIES), file, as_json=as_json)


@ledger.command(
    epilog="\b\nExample:\n  dpcov ledger verify budget.db release-1.json release-2.json",
    short_help="Check that a ledger is as it was written.",
)
@file_argument
@click.argument("releases", nargs=-1, type=click.Path())
@json_option
@click.pass_context
def verify(context: click.Context, file: str, releases: tuple[str, ...], as_json: bool) -> None:
    """Check every entry, and that no release knows of a later state of the ledger; the exit code is 3 where something is wrong.

    An edited, removed or moved entry shows in the ledger itself. That the last entries were cut off, or an old copy was put
    back, shows only in a release that was made since: give all you have.
    """
    from dpcov import Ledger, load

    found = Ledger(file).verify(*(load(release) for release in releases))
    tell(found, file, as_json=as_json)
    if not found.intact:
        context.exit(3)


@ledger.command(epilog="\b\nExample:\n  dpcov ledger export budget.db > entries.jsonl", short_help="Print all entries.")
@file_argument
def export(file: str) -> None:
    """Print every entry as a line of JSON with its hash, for an archive or another program."""
    from dpcov import Ledger

    for line in Ledger(file).export():
        click.echo(line)


for act in (policy, approve, resume, record):
    ledger.add_command(act)
