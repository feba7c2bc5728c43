"""``dpcov demo``: a private release of the Wine data, with the truth beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RHO = "0.1"
ROW_NORM = 2.5
CEILINGS = {
    # Round figures that a chemist could name without the data; columns are divided by them.
    "alcohol": 16,
    "malic_acid": 6,
    "ash": 4,
    "alcalinity_of_ash": 40,
    "magnesium": 200,
    "total_phenols": 5,
    "flavanoids": 6,
    "nonflavanoid_phenols": 1,
    "proanthocyanins": 4,
    "color_intensity": 15,
    "hue": 2,
    "od280/od315_of_diluted_wines": 5,
    "proline": 2000,
}


@click.command(epilog="\b\nExample:\n  dpcov demo --output wine-release.json")
@click.option("--output", default="wine-release.json", show_default=True, help="Where to write the release.")
def demo(output: str) -> None:
    """Release the second moment of 178 wines at rho = 0.1 and print the truth beside it."""
    click.echo("Wine: 178 rows, 13 columns, each divided by a public ceiling ...", err=True)
    import numpy as np
    from rich.console import Console
    from rich.table import Table
    from sklearn.datasets import load_wine

    from dpcov.api import covariance
    from dpcov.cli.show import spends_table
    from dpcov.privacy.budget import ZCDP

    wine = load_wine()
    rows = wine.data / np.array([CEILINGS[name] for name in wine.feature_names])
    release = covariance(rows, ZCDP(RHO), row_norm=ROW_NORM)
    release.save(output)

    truth = rows.T @ rows / len(rows)
    table = Table("column", "truth", "private", title="root mean square, in the column's unit", title_justify="left")
    for j, (name, ceiling) in enumerate(CEILINGS.items()):
        table.add_row(name, *(f"{ceiling * np.sqrt(m[j, j]):.3g}" for m in (truth, release.second_moment)))
    (top, direction), (noisy_top, noisy_direction) = (_leading(m) for m in (truth, release.second_moment))
    table.add_section()
    table.add_row("largest eigenvalue (scaled columns)", f"{top:.3g}", f"{noisy_top:.3g}")
    table.add_row("cosine between their eigenvectors", "", f"{abs(direction @ noisy_direction):.3f}")
    error = np.linalg.norm(release.second_moment - truth) / np.linalg.norm(truth)
    table.add_row("relative Frobenius error", "", f"{error:.2f}")
    expected = release.expected_error * ROW_NORM**2 / np.linalg.norm(truth)
    table.add_row("... of the noise before shrinkage, expected", "", f"{expected:.2f}")

    console = Console(highlight=False)
    console.print(table)
    console.print(spends_table(release))
    console.print(f"Privacy: {release.statement()}")
    console.print(f"Written to {output}. Next: dpcov show {output}", soft_wrap=True)


def _leading(matrix: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    import numpy as np

    values, vectors = np.linalg.eigh(matrix)
    return values[-1], vectors[:, -1]
