"""A rehearsal: what a release would ask, at what price and with how much noise, before anything is read or spent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcov.report.release_lines import error_line
from dpcov.report.text import by, counted, printable, spends_table
from dpcov.uses.held import holds_covariance

if TYPE_CHECKING:
    from rich.console import Console

    from dpcov.rehearsal import Rehearsal

GIGABYTE = 10**9
MOST_NAMES = 6  # features that are named


def write(out: Console, found: Rehearsal, data: str | None = None) -> None:
    """Print what would be asked, and what is known of the error."""
    planned = found.planned
    out.print("Dry run: only names and types were read; nothing is spent, nothing is written.")
    rows = "n is not known before reading" if planned.neighbors == "replace" else "n is private"
    rows = "how much all count together is private" if planned.encoding.partial else rows
    rows = rows if found.n is None else f"n = {found.n}{' pairs' * planned.encoding.pairs}{' people' * bool(planned.unit)}"
    name = "" if data is None else f"{printable(data)}, "
    out.print(f"Table: {name}{counted(found.d, 'feature')} ({_names(found)}), {rows}.", soft_wrap=True)
    if planned.schema is None:
        out.print("No schema: every column is read as numbers, and a cell that is none counts as missing.", soft_wrap=True)
    out.print(f"Mechanism: {planned.how()}; neighbours: {planned.neighbors}.")
    out.print(found.risk, soft_wrap=True)
    out.print(spends_table(found.spent, title="would be asked"))
    for line in _lines(found):
        out.print(line, soft_wrap=True)


def _names(found: Rehearsal) -> str:
    """Return the first features: a column that was not meant is seen before it is paid for."""
    names = found.planned.feature_names
    return ", ".join(printable(name) for name in names[:MOST_NAMES]) + ", ..." * (len(names) > MOST_NAMES)


def _lines(found: Rehearsal) -> list[str]:
    """Say how large the error will be, or why nobody knows, and what else may differ."""
    said = []
    if found.by_column or found.by_round:
        said.append(f"Expected error: {found.unknown_because}.")
    elif error := error_line(found.raw, known_n=found.expected_error is not None):
        said.append(error)
    if found.planned.groups:
        said.append(
            f"That is the error of each of {len(found.planned.groups)} groups, n its own number of rows, which is private."
        )
    if not found.by_column and found.raw.estimate.k is not None:
        prices = "Later questions and prices may depend on the number of rows and on earlier answers. "
        plan = by("dpcov plan pca", "dpcov.plan_pca")
        rest = f"How good components are depends on the gaps of the spectrum: see {plan}."
        said.append(prices * found.depends_on_answers + rest)
    if found.has_radius and not found.by_column and holds_covariance(found.raw):
        said.append(
            "How the budget is split depends on the number of rows and on the radius; here a radius just below row_norm."
        )
    if found.matrix_bytes > GIGABYTE:
        size = found.matrix_bytes / GIGABYTE
        said.append(f"Memory: each matrix of the release takes {size:.1f} GB, and several are needed at once.")
    return said


def record(found: Rehearsal) -> dict[str, Any]:
    """Return a rehearsal for machines."""
    return {"dry_run": True, **found.to_dict()}


def columns(found: Rehearsal) -> dict[str, Any]:
    """Return a line for each question."""
    cells: dict[str, Any] = {name: [getattr(spend, name) for spend in found.spent] for name in ("asked", "noise")}
    return cells | {"cost": [repr(spend.budget) for spend in found.spent]}
