"""What an audit of a mechanism tried and found, and what it does not show."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rich.table import Table

from dpcov.report.text import budget_words, counted, printable

if TYPE_CHECKING:
    from rich.console import Console

    from dpcov.verify.mechanism_audit import Audit

NOT_SHOWN = (
    "What this does not show: that the promise holds. Other tables, widths and options were not tried; a bound from below is "
    "always far from the ε that is needed; choices and drawn directions are held against their laws by that bound alone; "
    "time, memory and the quality of the random bits are not looked at. The proofs are in docs/mechanisms/."
)


def write(out: Console, found: Audit) -> None:
    """Print the verdict, then the evidence."""
    name = f"{printable(found.name, 40)} ({found.target}, {found.neighbors})"
    promise = f"{name}: {budget_words(found.budget)}"
    if found.refuted:
        out.print(f"{promise}: REFUTED", style="bold red", soft_wrap=True)
        for violation in found.violations:
            out.print(f"- {printable(violation, 300)}", style="red", soft_wrap=True)
    else:
        out.print(f"{promise}: not refuted", style="green", soft_wrap=True)
    refused = f"; {found.refused} of them it refuses, both alike" * (found.refused > 0)
    differ = ", who differ in all rows of one person" * (found.protected == "person")
    out.print(f"Prices: exact, on {counted(found.pairs, 'pair')} of neighbours{differ}{refused}.", soft_wrap=True)
    table = Table(box=None, pad_edge=False)
    table.add_column("question")
    table.add_column("largest cost / charge", justify="right")
    for worst in found.prices:
        table.add_row(printable(worst.asked), f"{worst.share:.6f}")
    out.print(table)
    for drawn in found.noise:
        off = f"{drawn.distance:.4f} from their law; {drawn.allowed:.4f} allowed"
        out.print(f"Noise: {drawn.numbers} numbers of {drawn.law} are {off}.", soft_wrap=True)
    best = found.finding
    if best is None:
        out.print("Lower bound: none, as too few releases were made.", soft_wrap=True)
    else:
        at = f" at δ = {best.delta:g}" if best.delta else ""
        out.print(
            f"Lower bound: {found.trials} releases of each of two neighbours need ε ≥ {best.proved:.3f}{at}; "
            f"promised is {best.promised:.3f}.",
            soft_wrap=True,
        )
    out.print(
        f"Noise and bound accuse what is right with probability {found.alpha:g} at most; prices never do.", soft_wrap=True
    )
    if found.seeded:
        out.print("The random bits were those of a seed, not the operating system's.", soft_wrap=True)
    if not found.refuted:
        out.print(NOT_SHOWN, style="dim", soft_wrap=True)


def record(found: Audit) -> dict[str, Any]:
    """Return it for machines."""
    return {
        "target": found.target,
        "mechanism": found.name,
        "promise": budget_words(found.budget),
        "neighbors": found.neighbors,
        "protected": found.protected,
        "refuted": found.refuted,
        "violations": list(found.violations),
        "pairs": found.pairs,
        "refused": found.refused,
        "prices": [{"asked": worst.asked, "share": worst.share} for worst in found.prices],
        "noise": [
            {"law": one.law, "numbers": one.numbers, "distance": one.distance, "allowed": one.allowed} for one in found.noise
        ],
        "bounds": [
            {"delta": one.delta, "proved": one.proved, "promised": one.promised if math.isfinite(one.promised) else None}
            for one in found.findings
        ],
        "trials": found.trials,
        "alpha": found.alpha,
        "seeded": found.seeded,
    }


def columns(found: Audit) -> dict[str, Any]:
    """Return a line for each question."""
    return {"question": [worst.asked for worst in found.prices], "cost / charge": [worst.share for worst in found.prices]}
