"""Principal components as text and as JSON, from a release alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcov.report.text import NOISE, SILENT, features_table, printable, shortened

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from dpcov.release.record import Release
    from dpcov.uses.pca import PrincipalComponents

Floats = NDArray[np.float64]

MOST_COMPONENTS = 20
MOST_LOADINGS = 4  # of a component, in its line
MOST_COLUMNS = 6  # of loadings side by side


def record(found: PrincipalComponents) -> dict[str, Any]:
    """Return components for machines."""
    return {
        "k": found.k,
        "explained": found.explained.tolist(),
        "ratio": found.ratio.tolist(),
        "cumulative": np.cumsum(found.ratio).tolist(),
        "total": found.total,
        "standing_out": found.standing_out,
        "components": found.components.tolist(),
        "offsets": found.offsets.tolist(),
        "scales": found.scales.tolist(),
    }


def worth_reading(found: PrincipalComponents) -> int:
    """Return how many of the first components stand out of the noise; all of them where nobody knows."""
    return found.k if found.standing_out is None else found.standing_out


def components_table(found: PrincipalComponents, limit: int | None = MOST_COMPONENTS) -> Table:
    """List what lies along each component, and the features that it is made of."""
    from rich.table import Table

    hidden = 0 if limit is None else max(0, found.k - limit)
    caption = f"... and {hidden} more component{'s' * (hidden > 1)}" if hidden else None
    title = f"principal components ({found.k} of {len(found.feature_names)} directions)"
    table = Table(title=title, title_justify="left", caption=caption, caption_justify="left")
    for heading in ("component", "explained", "ratio", "cumulative"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("largest loadings", overflow="fold")
    running = np.cumsum(found.ratio)
    for place in range(found.k - hidden):
        if place >= worth_reading(found):
            table.add_row(f"PC{place + 1}", NOISE, "", "", "", style="dim")
            continue
        shares = (f"{100 * part:.1f} %" for part in (found.ratio[place], running[place]))
        table.add_row(f"PC{place + 1}", f"{found.explained[place]:.3g}", *shares, _loadings_line(found, place))
    return table


def print_components(out: Console, release: Release, limit: int | None, *, loadings_too: bool = True) -> None:
    """Print the components that a release was made for, and what those that stand out are made of."""
    found = release.pca()
    out.print(components_table(found, None if limit is None else MOST_COMPONENTS))
    out.print("\n".join(notes(release, found)), soft_wrap=True)
    if loadings_too and (readable := worth_reading(found)):
        many = f" (the first {MOST_COLUMNS} components)" * (readable > MOST_COLUMNS)
        out.print(features_table(release.feature_names, loadings(found), f"loadings{many}", limit))


def _loadings_line(found: PrincipalComponents, place: int) -> str:
    """Name the features with the largest loadings on one component."""
    row = found.components[place]
    largest = np.argsort(-np.abs(row), kind="stable")[:MOST_LOADINGS]
    kept = [j for rank, j in enumerate(largest) if rank == 0 or abs(row[j]) >= 0.005]  # others would read 0.00
    return ", ".join(f"{shortened(printable(found.feature_names[j]))} {row[j]:+.2f}" for j in kept)


def loadings(found: PrincipalComponents, first: int = 0) -> dict[str, Floats]:
    """Return the loadings of a few components that are worth reading by heading, a number for each feature."""
    return {f"PC{i + 1}": found.components[i] for i in range(first, min(first + MOST_COLUMNS, worth_reading(found)))}


def all_held(release: Release) -> PrincipalComponents:
    """Return all components that a release holds."""
    from dpcov.errors import ReleaseError

    try:
        return release.pca(release.d)
    except ReleaseError:  # directions were asked for: as many as were wanted
        return release.pca()


def notes(release: Release, found: PrincipalComponents) -> list[str]:
    """Say what the numbers in the table are, and what they are not."""
    from dpcov.report.releases import is_centred

    what = "variance" if is_centred(release) else "second moment"
    unit = "in the data's units, squared" if release.schema is None else "of encoded columns, which the schema's bounds scale"
    clear = worth_reading(found)
    said = [f"Total {what}: {found.total:.3g}, {unit}; estimates, as all of this."] * (clear > 0)
    if found.standing_out is None:
        said.append(f"Which of them stand out of the noise: {SILENT}.")
    if clear < found.k:
        which = f"PC{clear + 1}" + (f" to PC{found.k}" if clear + 1 < found.k else "")
        said.append(f"Nothing stands out along {which}: what was answered cannot be told from noise.")
    if not is_centred(release):
        said.append("Rows were not centred: the first component may point at their mean. --center at the release centres them.")
    return said
