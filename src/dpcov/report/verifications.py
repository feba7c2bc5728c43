"""Whether a ledger is as it was written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcov.report.text import counted, printable

if TYPE_CHECKING:
    from rich.console import Console

    from dpcov.custody.verifying import Verification


def write(out: Console, found: Verification) -> None:
    """Print what was checked, and every fault."""
    held = f", and {counted(found.releases, 'release')} held against them" * (found.releases > 0)
    entries = f"{found.entries} entries"
    if found.intact:
        out.print(f"{printable(found.path.name)}: intact. {entries} checked{held}.", style="green", soft_wrap=True)
    else:
        out.print(f"{printable(found.path.name)}: NOT INTACT. {entries} checked{held}:", style="bold red", soft_wrap=True)
    for fault in found.faults:
        out.print(f"- {printable(fault, 400)}", style="red", soft_wrap=True)
    for remark in found.remarks:
        out.print(f"- {printable(remark, 400)}", soft_wrap=True)
    out.print(f"Head: {found.head}", soft_wrap=True)
    if found.intact and not found.releases:
        out.print("Whether its last entries are still there only a release can tell: name those that you have.", soft_wrap=True)


def record(found: Verification) -> dict[str, Any]:
    """Return it for machines."""
    return {
        "intact": found.intact,
        "entries": found.entries,
        "releases": found.releases,
        "head": found.head,
        "faults": list(found.faults),
        "remarks": list(found.remarks),
    }


def columns(found: Verification) -> dict[str, Any]:
    """Return the verdict and a line for each finding."""
    kinds = ["verdict", *["fault"] * len(found.faults), *["remark"] * len(found.remarks)]
    return {"kind": kinds, "finding": ["intact" if found.intact else "not intact", *found.faults, *found.remarks]}
