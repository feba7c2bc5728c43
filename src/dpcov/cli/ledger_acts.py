"""What people do to a data set of a ledger beside releasing: its policy, approvals, and what went wrong."""

from __future__ import annotations

import click

from dpcov.cli.options import budget_parts, json_option, neighbors_option, read_budget

file_argument = click.argument("file", metavar="LEDGER", type=click.Path())
dataset_option = click.option("--dataset", required=True, metavar="NAME", help="What the data set is called in the ledger.")
MOST_CHARACTERS = 2000  # of a rule that is shown
why_option = click.option("--why", default="", metavar="TEXT", help="What for; it is kept in the ledger.")
policy_option = click.option(
    "--policy", "policy_file", type=click.Path(), metavar="FILE", help="What every release must keep to (TOML)."
)


@click.command(
    epilog="\b\nExample:\n  dpcov ledger policy budget.db --dataset adult\n"
    "  dpcov ledger policy budget.db --dataset adult --policy stricter.toml",
    short_help="Show or change what releases must keep to.",
)
@file_argument
@dataset_option
@policy_option
@why_option
@json_option
def policy(file: str, dataset: str, policy_file: str | None, why: str, as_json: bool) -> None:
    """Show the policy of a data set; with --policy change it, which withdraws the approvals given so far.

    A policy is a file in TOML with some of these lines: epsilon, delta and rho (the most of one release), mechanisms (a list),
    neighbors, schema (the name of a file beside it), second_person (true or false).
    """
    from dpcov import Ledger
    from dpcov.cli.telling import print_json
    from dpcov.errors import printable

    opened = Ledger(file)
    if policy_file is not None:
        opened.change_policy(dataset, policy_file, why=why)
    found = opened.status().of(dataset).policy
    if as_json:
        print_json({"file": file, "dataset": dataset, "policy": found.to_json()})
    else:
        click.echo("\n".join(printable(line, MOST_CHARACTERS) for line in found.lines()))


@click.command(
    epilog="\b\nExample:\n  dpcov ledger approve budget.db --dataset adult --rho 0.1\n"
    "  dpcov ledger approve budget.db --dataset adult --policy weaker.toml",
    short_help="Approve a release that somebody else will make.",
)
@file_argument
@dataset_option
@budget_parts
@neighbors_option
@click.option("--mechanism", default="", metavar="NAME", help="The mechanism that runs; any, where it is left out.")
@policy_option
@why_option
def approve(
    file: str,
    dataset: str,
    epsilon: str | None,
    delta: str | None,
    rho: str | None,
    neighbors: str,
    mechanism: str,
    policy_file: str | None,
    why: str,
) -> None:
    """Approve one release of a data set whose policy asks for a second person; somebody else makes it, with this budget.

    With --policy in place of a budget: approve a change of the policy. Who approves is the user of this machine.
    """
    from dpcov import Ledger

    given = any(amount is not None for amount in (epsilon, delta, rho))
    if given == (policy_file is not None):
        raise click.UsageError("give the budget of the release, such as --rho 0.1, or --policy FILE, one of the two")
    budget = read_budget(epsilon, delta, rho) if given else None
    Ledger(file).approve(dataset, budget, neighbors=neighbors, mechanism=mechanism, policy=policy_file, why=why)
    what = f"one release of {dataset!r} with this budget" if given else f"this policy of {dataset!r}"
    click.echo(f"Approved: {what}, by another user than you.")


@click.command(
    epilog='\b\nExample:\n  dpcov ledger resume budget.db --dataset adult --why "the disk was replaced"',
    short_help="Allow readings again after too many in vain.",
)
@file_argument
@dataset_option
@click.option("--why", required=True, metavar="TEXT", help="What was wrong; it is kept in the ledger.")
def resume(file: str, dataset: str, why: str) -> None:
    """Allow a data set to be read again, after a hundred readings in a row that ended before anything was drawn."""
    from dpcov import Ledger

    Ledger(file).resume(dataset, why=why)
    click.echo(f"{dataset!r} may be read again.")


@click.command(
    epilog="\b\nExample:\n  dpcov ledger record budget.db adult.json", short_help="Note a release that was paid for."
)
@file_argument
@click.argument("release", type=click.Path())
def record(file: str, release: str) -> None:
    """Note the digest of a RELEASE that was paid for, where the ledger could not be written when it was made."""
    from dpcov import Ledger, load

    Ledger(file).record(load(release))
    click.echo("Recorded: `dpcov ledger verify` knows the release now.")
