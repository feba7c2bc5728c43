"""``dpcov show``: what a release file promises and holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.table import Table

    from dpcov.release import Release


@click.command(epilog="\b\nExample:\n  dpcov show wine-release.json")
@click.argument("file", type=click.Path())
def show(file: str) -> None:
    """Print the promise, the spends and the estimate in a release FILE."""
    from dpcov.release_file import load

    print_release(load(file))


def print_release(release: Release) -> None:
    """Print a release for people."""
    from rich.console import Console

    console = Console(highlight=False, markup=False)  # a column may be called [red]
    console.print(repr(release), style="bold")
    console.print(f"Privacy: {release.statement()}")
    numerics = " and ".join(sorted({answer.noise.numerics for answer in release.answers}))
    console.print(f"Numbers: rows clipped to norm {release.row_norm:g} on a {release.grid_bits}-bit grid; {numerics} noise.")
    console.print(f"Expected error: {release.expected_error * release.row_norm**2:.3g} (r.m.s. Frobenius, raw).")
    console.print(spends_table(release))
    console.print(moments_table(release))


def spends_table(release: Release) -> Table:
    """List every question that was asked of the data."""
    from rich.table import Table

    table = Table("asked", "noise", "cost", title=f"spent: {len(release.spent)} question(s)", title_justify="left")
    for spend in release.spent:
        table.add_row(spend.asked, spend.noise, repr(spend.budget))
    return table


def moments_table(release: Release) -> Table:
    """List the root mean square of each column and the leading eigenvalues of the estimate."""
    import numpy as np
    from rich.table import Table
    from rich.text import Text

    eigenvalues = np.linalg.eigvalsh(release.second_moment)[::-1]
    eigenvalues[np.abs(eigenvalues) < 1e-12 * np.abs(eigenvalues).max()] = 0.0  # rounding of the decomposition
    title = f"estimate ({release.mechanism}, postprocess {release.postprocess})"
    table = Table("column", "root mean square", "eigenvalue", title=title, title_justify="left")
    squares = np.maximum(np.diag(release.second_moment), 0.0)
    for name, square, eigenvalue in zip(release.feature_names, squares, eigenvalues, strict=True):
        table.add_row(Text(name), f"{np.sqrt(square):.4g}", f"{eigenvalue:.4g}")
    return table
