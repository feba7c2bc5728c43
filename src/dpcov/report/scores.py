"""How good predictions are, on rows that have the target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcov.report.text import finite, printable

if TYPE_CHECKING:
    from rich.console import Console

    from dpcov.uses.scoring import Score


def write(out: Console, found: Score) -> None:
    """Print a score, and whom it is about."""
    left = f", {found.left_out} without it left out" * (found.left_out > 0)
    out.print(f"Score of {printable(found.target)} on {found.rows} rows{left}:", soft_wrap=True)
    out.print(f"  mean squared error  {found.error:.4g}, its root {found.error**0.5:.4g}")
    out.print(f"  R²                  {found.r2:.3f} (0 is what the mean of these rows would have)")
    out.print("These numbers are about the new rows, and protect none of them.")


def record(found: Score) -> dict[str, Any]:
    """Return a score for machines."""
    errors = {"mean_squared_error": finite(found.error), "variance": finite(found.variance), "r2": finite(found.r2)}
    return {"rows": found.rows, **errors}


def columns(found: Score) -> dict[str, Any]:
    """Return one line."""
    return {name: [cell] for name, cell in {"target": found.target, **record(found)}.items()}
