"""``dpcov demo``: a private release of the Wine data, with the truth beside it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dpcov.release.record import Release

EXAMPLE = "\b\nExample:\n  dpcov demo --output wine-release.json"
RHO = "1"
BOUNDS = {
    # Six of the thirteen columns: 178 rows carry no more. Round figures that a chemist could name without the data.
    "alcohol": (10, 16),
    "flavanoids": (0, 6),
    "color_intensity": (0, 15),
    "hue": (0, 2),
    "od280/od315_of_diluted_wines": (1, 5),
    "proline": (200, 2000),
}


@click.command(short_help="Release the Wine data privately, with the truth beside it.", epilog=EXAMPLE)
@click.option("--output", type=click.Path(), default="wine-release.json", show_default=True, help="Where to write the release.")
def demo(output: str) -> None:
    """Release mean and covariance of 178 wines at rho = 1, print the truth beside them, and draw both.

    The picture goes beside the release, with the ending .png.
    """
    target, picture = _checked_targets(output)
    click.echo("Wine: 178 rows, 6 columns with public bounds; one release of mean and covariance ...", err=True)
    from sklearn.datasets import load_wine

    from dpcov.api import covariance
    from dpcov.cli.files import write_picture
    from dpcov.kernel.budget import ZCDP
    from dpcov.schema import Numeric, Schema

    wine = load_wine()
    rows = wine.data[:, [wine.feature_names.index(name) for name in BOUNDS]]
    schema = Schema({name: Numeric(lower, upper) for name, (lower, upper) in BOUNDS.items()})
    release = covariance(rows, ZCDP(RHO), schema=schema, center=True)
    release.save(target)
    write_picture(picture, _drawn(rows, release))
    _print(rows, release, output, str(picture))


def _checked_targets(output: str) -> tuple[Path, Path]:
    """Return where release and picture go; only the demo's own release is overwritten."""
    from dpcov.cli.files import checked_picture, checked_target
    from dpcov.errors import DpcovError, ParameterError
    from dpcov.release.file import load

    try:
        own = load(output).feature_names == tuple(BOUNDS)
    except DpcovError:
        own = False
    target = checked_target(output, force=own, kept="it is not the demo's", hint="choose a new name")
    if target.suffix.lower() == ".png":
        raise ParameterError(f"output must not end in .png, got {output!r}. Hint: that is the picture; name a .json file.")
    return target, checked_picture(str(target.with_suffix(".png")))


def _drawn(rows: NDArray[np.float64], release: Release) -> bytes:
    import numpy as np

    from dpcov.report.pictures import picture
    from dpcov.uses.description import spectrum

    found, exact, private = release.describe(), "truth (not private)", f"private, rho = {RHO}"
    truth = np.asarray(np.corrcoef(rows.T))
    assert found.correlation is not None
    matrices: dict[str, Any] = {exact: truth, private: found.correlation}
    spectra: dict[str, Any] = {exact: np.linalg.eigvalsh(truth)[::-1], private: spectrum(release, found)}
    return picture("Correlation of 178 wines", release.feature_names, matrices, spectra, "correlation")


def _print(rows: NDArray[np.float64], release: Release, output: str, picture: str) -> None:
    from dpcov.report.descriptions import head_line
    from dpcov.report.releases import error_line
    from dpcov.report.text import NOISE, console, features_table, spends_table

    found = release.describe()
    assert found.mean is not None
    assert found.deviation is not None
    columns = {
        "mean, truth": rows.mean(axis=0),
        "private": found.mean,
        "deviation, truth": rows.std(axis=0),
        "private ": found.deviation,  # headings must differ
    }
    out = console()
    out.print(head_line(found, centred=True), style="bold")
    out.print(features_table(release.feature_names, columns, "mean and standard deviation, in the columns' units", None))
    out.print(spends_table(release.spent))
    out.print(f"Privacy: {release.statement()}", soft_wrap=True)
    out.print(error_line(release), soft_wrap=True)
    out.print(f"±: the standard error that the noise gives; {NOISE}: within 3 of them, so it cannot be told from noise.")
    out.print("178 rows are few: means come out well, correlations roughly. The noise falls as 1/n.")
    file = shlex.quote(output)
    out.print(f"Written to {file} and {shlex.quote(picture)}. Next:", soft_wrap=True)
    out.print(f"  dpcov show {file}\n  dpcov plan covariance --n 17800 --d 6 --rho {RHO} --center", soft_wrap=True)
    out.print("  dpcov schema init DATA\n  dpcov release DATA --epsilon 1 --schema FILE -o release.json", soft_wrap=True)
