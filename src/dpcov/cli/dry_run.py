"""``dpcov release --dry-run`` and ``dpcov mean --dry-run``: everything but reading, spending and writing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from dpcov.kernel.budget import Budget
    from dpcov.rehearsal import Rehearsal
    from dpcov.release.record import Option

GIGABYTE = 10**9


def dry_run(data: str, *, budget: Budget, options: Mapping[str, Option], as_json: bool, **settings: Any) -> None:
    """Say what a release would do; with ``k`` it is one of so many components."""
    _tell("pca" if "k" in settings else "covariance", data, budget, as_json, **settings, **options)


def dry_run_mean(data: str, *, budget: Budget, options: Mapping[str, Any], as_json: bool, **settings: Any) -> None:
    """Say what a mean would cost."""
    _tell("mean", data, budget, as_json, **settings, **options)


def _tell(target: str, data: str, budget: Budget, as_json: bool, **arguments: Any) -> None:
    """Open the table for its names and types, rehearse without data, and tell what was found."""
    from dpcov.api import rehearse

    found = rehearse(target, data, budget, **arguments)
    if as_json:
        click.echo(json.dumps({"dry_run": True, **found.to_dict()}, allow_nan=False))
    else:
        _print(data, found)


def _components_line(found: Rehearsal) -> str:
    """Say what a rehearsal cannot know of components."""
    prices = "Later questions and prices may depend on the number of rows and on earlier answers. " * found.depends_on_answers
    return f"{prices}How good components are depends on the gaps of the spectrum: see dpcov plan pca."


def _print(data: str, found: Rehearsal) -> None:
    from dpcov.cli.estimates import error_line
    from dpcov.cli.text import console, printable, spends_table

    out, planned = console(), found.planned
    out.print("Dry run: only names and types were read; nothing is spent, nothing is written.")
    rows = "n is not known before reading" if planned.neighbors == "replace" else "n is private"
    pairs = " pairs" if planned.encoding.pairs else ""
    rows = rows if found.n is None else f"n = {found.n}{pairs}"
    out.print(f"Table: {printable(data)}, {found.d} feature(s), {rows}.", soft_wrap=True)
    out.print(f"Mechanism: {planned.how()}; neighbours: {planned.neighbors}.")
    out.print(spends_table(found.spent, title="would be asked"))
    if found.by_column or found.by_round:
        out.print(f"Expected error: {found.unknown_because}.")
    elif error := error_line(found.raw, known_n=found.n is not None):
        out.print(error, soft_wrap=True)
    if found.target == "pca":
        out.print(_components_line(found), soft_wrap=True)
    if found.target == "covariance" and found.has_radius and not found.by_column:
        out.print("How the budget is split depends on the number of rows and on the radius; here a radius just below row_norm.")
    if found.matrix_bytes > GIGABYTE:
        size = found.matrix_bytes / GIGABYTE
        out.print(f"Memory: each matrix of the release takes {size:.1f} GB, and several are needed at once.")
