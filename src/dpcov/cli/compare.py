"""``dpcov compare``: the errors of all mechanisms on public rows, to choose before anything is spent."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

import click

from dpcov.cli.options import complete_mechanism, json_option, neighbors_option, read_budgets, read_columns

if TYPE_CHECKING:
    from pathlib import Path

    from dpcov.evaluate import Cell, Comparison
    from dpcov.kernel.budget import Budget

EXAMPLE = """\b
Example:
  dpcov compare wine.csv --row-norm 1700 --epsilon 0.1,1,4 -o compare.png
  dpcov compare made-up.csv --schema people.toml --rho 0.1,1 --mechanism separate:constants=paper"""
KEPT = "it was drawn or written before"


@click.command(epilog=EXAMPLE, short_help="Measure the errors of all mechanisms on PUBLIC or made-up rows, to choose one.")
@click.argument("data", type=click.Path())
@click.option("--epsilon", metavar="A,B,C", help="Budgets of pure DP, or of approximate DP with --delta.")
@click.option("--delta", metavar="NUMBER", help="With --epsilon: approximate DP.")
@click.option("--rho", metavar="A,B,C", help="Budgets of zCDP.")
@click.option("--row-norm", type=float, metavar="NUMBER", help="A public bound on the Euclidean norm of rows, or:")
@click.option("--schema", type=click.Path(), metavar="FILE", help="Public bounds and levels: see `dpcov schema init`.")
@click.option("--center", is_flag=True, help="Compare centred covariances.")
@click.option(
    "--mechanism",
    "mechanisms",
    multiple=True,
    metavar="NAME",
    shell_complete=complete_mechanism,
    help="A mechanism, or NAME:OPTION=VALUE,...; may stand several times; all of them by default.",
)
@click.option("--columns", metavar="A,B,C", help="Use these columns only, in this order.")
@neighbors_option
@click.option("--runs", type=int, default=20, show_default=True, metavar="NUMBER", help="Releases per mechanism and budget.")
@click.option("--seed", type=int, default=0, show_default=True, metavar="NUMBER", help="Of the first run.")
@click.option("--csv", "table", type=click.Path(), metavar="FILE", help="Also write the errors as a table.")
@click.option("--force", is_flag=True, help="Overwrite existing outputs.")
@json_option
@click.option("-o", "--output", type=click.Path(), metavar="FILE", help="Draw a picture: .png, .svg or .pdf.")
def compare(
    data: str,
    epsilon: str | None,
    delta: str | None,
    rho: str | None,
    row_norm: float | None,
    schema: str | None,
    center: bool,
    mechanisms: tuple[str, ...],
    columns: str | None,
    neighbors: str,
    runs: int,
    seed: int,
    table: str | None,
    force: bool,
    as_json: bool,
    output: str | None,
) -> None:
    """Measure how far off each mechanism is on the rows in DATA (.csv, .tsv or .parquet), at each budget.

    DATA MUST BE PUBLIC OR MADE UP: what is printed are errors against the truth, which are NOT private. Use rows that look like
    the ones to be protected and are nobody's; then spend once, with `dpcov release`.
    """
    from dpcov.cli.progress import progress_bar
    from dpcov.evaluate import compare as measured
    from dpcov.schema import Schema

    if (row_norm is None) == (schema is None):
        raise click.UsageError("give --row-norm or --schema, and not both")
    budgets = read_budgets(epsilon, delta, rho)
    picture, written = _checked_outputs(output, table, force, (data,) if schema is None else (data, schema))
    names = read_columns(columns)
    bounds = None if schema is None else Schema.read(schema)
    with progress_bar(quiet=False, work="comparing") as progress:
        found = measured(
            data,
            budgets,
            mechanisms or None,
            row_norm=row_norm,
            schema=bounds,
            neighbors=neighbors,
            center=center,
            columns=names,
            runs=runs,
            seed=seed,
            progress=progress,
        )
    if picture is not None:
        found.plot(picture)
    if written is not None:
        found.to_csv(written)
    if as_json:
        click.echo(_json_text(found))
        return
    public = ["--row-norm", f"{row_norm:g}"] if schema is None else ["--schema", schema]
    flags = ["--center"] * center + (["--neighbors", neighbors] if neighbors != "replace" else [])
    _print(found, [*public, *flags, *([] if columns is None else ["--columns", columns])])
    files = [shlex.quote(file) for file in (output, table) if file is not None]
    if files:
        click.echo(f"Written to {' and '.join(files)}.")


def _checked_outputs(
    output: str | None, table: str | None, force: bool, inputs: tuple[str, ...]
) -> tuple[Path | None, Path | None]:
    """Return where picture and table go, or refuse one of them before any work."""
    from dpcov.cli.files import checked_target
    from dpcov.errors import ParameterError
    from dpcov.report.comparison_picture import picture_format

    files = [None if file is None else checked_target(file, force=force, kept=KEPT, inputs=inputs) for file in (output, table)]
    picture, written = files
    if picture is not None:
        picture_format(picture)
    if picture is not None and written is not None and picture.absolute() == written.absolute():
        raise ParameterError(f"--csv must be another file than --output, got {table!r} twice. Hint: table.csv.")
    return picture, written


def _json_text(found: Comparison) -> str:
    from dpcov.evaluate.comparison import CAUTION

    def record(cell: Cell) -> dict[str, object]:
        return {
            "mechanism": cell.mechanism,
            "budget": cell.budget.to_json(),
            "ran": cell.ran,
            "error": cell.error,
            "standard_error": cell.standard_error,
        }

    facts = {
        "caution": CAUTION,
        "target": found.target,
        "n": found.n,
        "d": found.d,
        "neighbors": found.neighbors,
        "runs": found.runs,
        "zero": found.zero,
        "cells": [record(cell) for cell in found.cells],
        "best": [record(cell) for cell in _best(found).values()],
    }
    return json.dumps(facts, allow_nan=False)


def _best(found: Comparison) -> dict[Budget, Cell]:
    """Return the best cell at each budget that some mechanism served."""
    served = {cell.budget for cell in found.cells if cell.error is not None}
    return {budget: found.best(budget) for budget in found.budgets if budget in served}


def _print(found: Comparison, settings: list[str]) -> None:
    """Print the table, which mechanism to use, and how."""
    from rich.table import Table
    from rich.text import Text

    from dpcov.evaluate.comparison import CAUTION, ZERO, budget_text
    from dpcov.report.text import console

    best = _best(found)
    table = Table()
    table.add_column("mechanism", overflow="fold")
    for budget in found.budgets:
        table.add_column(budget_text(budget).replace(" with ", "\n"), justify="right")
    for cells in found.ranked().values():
        marks = [cell == best.get(cell.budget) for cell in cells]
        shown = [
            Text(f"{cell.text} *", style="bold") if mark else Text(f"{cell.text}  ")
            for cell, mark in zip(cells, marks, strict=True)
        ]
        table.add_row(Text(_name(cells)), *shown)
    table.add_section()
    table.add_row(ZERO, *[f"{found.zero:.3g}  "] * len(found.budgets))
    out = console()
    out.print(CAUTION, style="bold", soft_wrap=True)
    facts = f"n = {found.n}, d = {found.d}, neighbours: {found.neighbors}"
    out.print(f"Frobenius error of the {found.target}, for rows of norm at most 1; {facts}.", soft_wrap=True)
    out.print(table)
    out.print(f"Mean of {found.runs} runs ± standard error. * the smallest; - does not serve the budget.", soft_wrap=True)
    out.print("Differences of less than two standard errors may be chance.", soft_wrap=True)
    for sentence in _advice(found, best, settings):
        out.print(sentence, soft_wrap=True)


def _name(cells: list[Cell]) -> str:
    """Return a mechanism's name; of auto also what it chose."""
    name, chosen = cells[0].mechanism, dict.fromkeys(cell.ran for cell in cells if cell.ran is not None)
    return f"{name} ({', '.join(chosen)})" if name.partition(":")[0] == "auto" and chosen else name


def _advice(found: Comparison, best: dict[Budget, Cell], settings: list[str]) -> list[str]:
    """Say which mechanism has the smallest error where, and how to use it."""
    from dpcov.evaluate.comparison import budget_text

    useful: dict[str, list[str]] = {}
    hopeless, last = [], None
    for budget, cell in best.items():
        if cell.clearly_below(found.zero):
            useful.setdefault(_name([cell]), []).append(budget_text(budget))
            last = cell
        else:
            hopeless.append(budget_text(budget))
    sentences = []
    if not best:
        sentences.append("None of these mechanisms serves these budgets: dpcov mechanisms lists what each serves.")
    if hopeless:
        advice = "spend more, use fewer columns or more rows"
        sentences.append(f"At {_listed(hopeless)} nothing clearly beats the zero matrix, which costs nothing: {advice}.")
    if last is not None:
        sentences.append("Smallest error: " + "; ".join(f"{name} at {_listed(where)}" for name, where in useful.items()) + ".")
        sentences.append(f"Then, on the rows to be protected:\n  {_command(last, settings)}")
    return sentences


def _listed(texts: list[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def _command(cell: Cell, settings: list[str]) -> str:
    """Return the release that this cell tried."""
    from dpcov.kernel.budget import decimal_text

    name, _, options = cell.mechanism.partition(":")
    budget = [word for amount in cell.budget.names for word in (f"--{amount}", decimal_text(getattr(cell.budget, amount)))]
    mechanism = [] if name == "auto" else ["--mechanism", name]
    chosen = [word for option in options.split(",") if option for word in ("--option", option)]
    return f"dpcov release DATA {shlex.join([*budget, *settings, *mechanism, *chosen])} -o release.json"
