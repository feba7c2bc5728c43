"""Options that several commands share, and what the shell may complete."""

from __future__ import annotations

import csv
import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from dpcov.cli.publishing import publishing_options

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from dpcov.kernel.budget import Budget
    from dpcov.schema import Schema

Command = Callable[..., None]

# Repeated here because their homes import numpy, which would make --help slow; a test compares.
NEIGHBORS = ["replace", "add-remove"]
POSTPROCESS = ["shrink", "project", "clip", "none"]

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
all_option = click.option("--all", "everything", is_flag=True, help="List all entries, however many there are.")
center_option = click.option(
    "--center/--no-center", default=None, help="Release the mean and the centred covariance; the default with --schema."
)
neighbors_option = click.option(
    "--neighbors",
    type=click.Choice(NEIGHBORS),
    default=NEIGHBORS[0],
    show_default=True,
    help="What is hidden: replace, the values of one row (with --unit: of all rows of a person); add-remove, also whether "
    "it is there. With replace, n is public.",
)


group_option = click.option("--group", metavar="LEVEL", help="Of a release by group: this group, not all of them together.")
by_option = click.option("--by", metavar="COLUMN", help="A matrix for each level of this column, at the price of one.")


def checked_by(by: str | None, pca: int | None, schema: str | None) -> str | None:
    """Refuse groups of what has none: components, and rows without a schema to say what groups there are."""
    if by is not None and pca is not None:
        raise click.UsageError("--by cannot be used with --pca: release a covariance by group, and use `dpcov pca`")
    if by is not None and schema is None:
        raise click.UsageError("--by needs --schema FILE, where the levels of that column are the groups")
    return by


def budget_options(command: Command) -> Command:
    """Add --epsilon, --delta and --rho; the command gets one `budget`."""

    @functools.wraps(command)
    def with_budget(epsilon: str | None, delta: str | None, rho: str | None, **others: Any) -> None:
        command(budget=read_budget(epsilon, delta, rho), **others)

    return budget_parts(with_budget)


def budget_parts(command: Command) -> Command:
    """Add --epsilon, --delta and --rho, each on its own."""
    for option in (
        click.option("--rho", metavar="NUMBER", help="Privacy budget of zero-concentrated DP (zCDP), in place of --epsilon."),
        click.option("--delta", metavar="NUMBER", help="With --epsilon: a tiny probability, well below 1/n (approximate DP)."),
        click.option("--epsilon", metavar="NUMBER", help="Privacy budget (pure DP): less is more private, and noisier."),
    ):
        command = option(command)
    return command


def making_options(command: Command) -> Command:
    """Add what every command that makes a release has, after its own options."""
    command = publishing_options(_ledger_options(_clip_weight_option(people_options(command))))
    for option in (
        click.option("-o", "--output", type=click.Path(), metavar="FILE", help="Where to write the release (JSON)."),
        json_option,
        click.option("--quiet", is_flag=True, help="Print no progress and no summary."),
        click.option("--dry-run", is_flag=True, help="Check everything and list the questions; spend and write nothing."),
        click.option("--force", is_flag=True, help="Overwrite an existing output."),
        click.option("--seed", type=int, metavar="NUMBER", help="For tests and papers only: the release is then NOT private."),
        click.option(
            "--yes-weak",
            "allow_weak",
            is_flag=True,
            help="Go on with a budget that hides hardly anything: --epsilon above 20, --delta of 1/n or more.",
        ),
        click.option(
            "--expected-n",
            type=int,
            metavar="NUMBER",
            help="With add-remove: a public guess of the number of rows, to compare --delta with; else it may be at most 1e-6.",
        ),
        neighbors_option,
        click.option(
            "--workers",
            type=int,
            default=1,
            show_default=True,
            metavar="NUMBER",
            help="Processes that read the rows; the release is the same for any number.",
        ),
        click.option("--columns", metavar="A,B,C", help="Use these columns only, in this order."),
        click.option("--option", multiple=True, metavar="NAME=VALUE", help="An option of the mechanism; can be repeated."),
    ):
        command = option(command)
    return command


def people_options(command: Command) -> Command:
    """Add who a person is, and how much a row counts."""
    for option in (
        click.option(
            "--unit",
            metavar="COLUMN",
            help="Protect people: the column that says whose a row is. By default the schema's, else each row is a person.",
        ),
        click.option(
            "--most-rows",
            type=int,
            metavar="NUMBER",
            help="With --weighting rows: rows of a person with more of them count less. A public number.",
        ),
        click.option(
            "--weighting",
            type=click.Choice(["person", "rows"]),
            help="With --unit: whether each person counts once, the default, or each row.",
        ),
        click.option(
            "--max-weight", type=float, metavar="NUMBER", help="With --weight: a public bound; what is above counts as it."
        ),
        click.option("--weight", metavar="COLUMN", help="The column of weights, as of a survey."),
    ):
        command = option(command)
    return command


_clip_weight_option = click.option(
    "--clip-weight",
    type=click.Choice(["none", "private"]),
    help="With --weight: private finds a lower bound than --max-weight, for a part of the budget.",
)


def _ledger_options(command: Command) -> Command:
    """Add whose budget pays; `ledger` is then that data set of a ledger, or nothing."""

    @functools.wraps(command)
    def with_ledger(ledger: str | None, dataset: str | None, why: str, **others: Any) -> None:
        if (ledger is None) != (dataset is None):
            raise click.UsageError("give --ledger FILE together with --dataset NAME, as `dpcov ledger status` lists it")
        if ledger is None and why:
            raise click.UsageError("--why is for the ledger: give --ledger and --dataset, too")
        from dpcov import Ledger

        command(ledger=None if ledger is None else Ledger(ledger).dataset(str(dataset), why=why), **others)

    for option in (
        click.option("--why", default="", metavar="TEXT", help="With --ledger: what the release is for."),
        click.option("--dataset", metavar="NAME", help="With --ledger: what the data set is called there."),
        click.option("--ledger", type=click.Path(), metavar="FILE", help="Whose budget pays: see `dpcov ledger`."),
    ):
        with_ledger = option(with_ledger)
    return with_ledger


DIALECTS = ["duckdb", "postgres", "spark"]


def sql_options(command: Command) -> Command:
    """Add a query that somebody else runs; `data` is then that query, and `print_sql` whether its statement is wanted."""

    @functools.wraps(command)
    def with_query(data: Any, query: str | None, print_sql: str | None, exact_sums: str | None, **others: Any) -> None:
        if query is None and (print_sql is not None or exact_sums is not None):
            raise click.UsageError("--print-sql and --exact-sums are about a query: give --query, too")
        if (data is None) == (query is None):
            raise click.UsageError("give DATA, or --query with --print-sql or --exact-sums")
        if query is not None:
            if (print_sql is None) == (exact_sums is None):
                raise click.UsageError("with --query give --print-sql or, once its result is in a file, --exact-sums")
            from dpcov import sql_text

            data = sql_text(query, print_sql, exact_sums=exact_sums)
        from dpcov.errors import DpcovError

        try:
            command(data=data, print_sql=print_sql is not None, **others)
        except DpcovError as error:
            if not hasattr(error, "statement"):
                raise
            click.echo(error.statement)

    for option in (
        click.option("--exact-sums", type=click.Path(), metavar="FILE", help="What that statement printed: secret, read once."),
        click.option(
            "--print-sql", type=click.Choice(DIALECTS), help="Print the statement that makes the exact sums of --query."
        ),
        click.option("--query", metavar="SELECT", help="In place of DATA: rows of a database that somebody else runs."),
    ):
        with_query = option(with_query)
    return with_query


def csv_options(command: Command) -> Command:
    """Add how a CSV file is written; `data` is then that file with what was said of it."""

    @functools.wraps(command)
    def with_format(data: str | None, separator: str | None, decimal: str | None, encoding: str | None, **others: Any) -> None:
        command(data=_data(data, separator, decimal, encoding), **others)

    for option in (
        click.option("--encoding", metavar="NAME", help="Of a CSV file: utf-8 (the default), latin-1, cp1252, utf-16, ..."),
        click.option(
            "--decimal", type=click.Choice([".", ","]), help="Of a CSV file: what stands before decimals. By default a point."
        ),
        click.option("--separator", metavar="SIGN", help="Of a CSV file: , ; | : or tab. By default a comma, of .tsv a tab."),
    ):
        with_format = option(with_format)
    return with_format


def _data(data: str | None, separator: str | None, decimal: str | None, encoding: str | None) -> Any:
    if separator is None and decimal is None and encoding is None:
        return data
    if data is None:
        raise click.UsageError("--separator, --decimal and --encoding are about DATA: give that, too")
    from dpcov import Csv

    sign = {"tab": "\t", "\\t": "\t", None: None}.get(separator, separator)
    return Csv(data, separator=sign, decimal=decimal or ".", encoding="utf-8" if encoding is None else encoding)


def read_budget(epsilon: str | None, delta: str | None, rho: str | None) -> Budget:
    """Turn --epsilon, --delta and --rho into one budget; as text, so that 0.1 is exactly 1/10."""
    from dpcov import ZCDP, ApproxDP, PureDP

    if rho is not None and epsilon is None and delta is None:
        return ZCDP(rho)
    if epsilon is not None and rho is None:
        return PureDP(epsilon) if delta is None else ApproxDP(epsilon, delta)
    if rho is not None:
        raise click.UsageError("give one budget, either --rho or --epsilon, got both")
    if delta is not None:
        raise click.UsageError("give --epsilon together with --delta, got --delta alone")
    raise click.UsageError("give a privacy budget: --epsilon 1 for example, --epsilon 1 --delta 1e-6, or --rho 0.1")


def check_bounds(bound: float | None, schema: str | None, flag: str, other: str = "") -> None:
    """Refuse both kinds of public bounds, or neither."""
    if bound is not None and schema is not None:
        raise click.UsageError(f"give public bounds once, either {flag} or --schema, got both")
    if bound is None and schema is None:
        raise click.UsageError(f"give public bounds: --schema FILE, as `dpcov schema init` drafts it, or {flag} NUMBER{other}")


def read_schema(file: str | None) -> Schema | None:
    """Read a schema where there is one."""
    from dpcov import Schema

    return None if file is None else Schema.read(file)


def read_columns(text: str | None, option: str = "--columns") -> list[str] | None:
    """Split a,b,c into names; a name with a comma stands in double quotes."""
    if text is None:
        return None
    names = next(csv.reader([text], skipinitialspace=True), [])
    if not names or not all(names):
        raise click.UsageError(f"{option} needs names with commas between them, such as age,sex")
    return names


def read_budgets(epsilon: str | None, delta: str | None, rho: str | None) -> list[Budget]:
    """Turn lists such as 0.1,1,4 into budgets: those of --epsilon, each with --delta where it is given, then those of --rho."""
    from dpcov import ZCDP

    if epsilon is None and delta is not None:
        raise click.UsageError("give --epsilon together with --delta, got --delta without it")
    if epsilon is None and rho is None:
        raise click.UsageError("give privacy budgets, with commas between them: --epsilon 0.1,1,4 or --rho 0.1,1 for example")
    budgets = [read_budget(number, delta, None) for number in _numbers(epsilon)]
    return [*budgets, *(ZCDP(number) for number in _numbers(rho))]


def _numbers(text: str | None) -> list[str]:
    return [] if text is None else [number.strip() for number in text.split(",")]


def read_level(context: click.Context, parameter: click.Parameter, text: str) -> float:
    """Turn 0.95 or 95% into a probability strictly between 0 and 1."""
    number = text.strip()
    try:
        level = float(number.rstrip("% ")) / 100 if number.endswith("%") else float(number)
    except ValueError:
        level = math.nan
    if not 0 < level < 1:
        raise click.BadParameter(f"{text[:40]!r} is not a probability between 0 and 1, such as 0.95", context, parameter)
    return level


level_option = click.option(
    "--level",
    default="0.95",
    show_default=True,
    callback=read_level,
    metavar="NUMBER",
    help="Confidence level of each interval.",
)
about_option = click.option(
    "--about",
    type=click.Choice(["population", "rows"]),
    default="population",
    show_default=True,
    help="Whom errors are about: the people the rows were drawn from, or these rows alone (the privacy noise only).",
)


def read_numbers(text: str, option: str) -> float | list[float]:
    """Turn 1.5 or 1,2,3 into a number or a list of them."""
    try:
        numbers = [float(number) for number in text.split(",")]
    except ValueError:
        raise click.UsageError(f"{option} needs a number, or numbers with commas between them, such as 1.5,2") from None
    return numbers[0] if len(numbers) == 1 else numbers


def complete_mechanism(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:  # noqa: ARG001
    """Offer the names of mechanisms with what they do: for components after --pca, else for covariances."""
    return _complete("covariance" if context.params.get("pca") is None else "pca", start)


def complete_mean(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:  # noqa: ARG001
    """Offer the names of mechanisms for means with what they do."""
    return _complete("mean", start)


def _complete(target: str, start: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    from dpcov.mechanisms import MECHANISMS

    known = MECHANISMS[target]
    return [CompletionItem(name, help=named.summary) for name, named in known.items() if name.startswith(start)]
