"""The demonstration: a private release of public rows, with the truth beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcov.evaluate.demo import RHO
from dpcov.report.descriptions import head_line
from dpcov.report.pictures import matrices_figure
from dpcov.report.release_lines import error_line
from dpcov.report.text import NOISE, features_table, spends_table

if TYPE_CHECKING:
    from rich.console import Console

    from dpcov.evaluate.demo import Demo


def write(out: Console, found: Demo) -> None:
    """Print estimates beside the truth, what was asked, and what it is worth."""
    release, said = found.release, found.release.describe("rows")  # beside the truth of the same rows
    out.print(head_line(said), style="bold", soft_wrap=True)
    title = "mean and standard deviation, in the columns' units"
    out.print(features_table(release.feature_names, _beside(found), title, None))
    out.print(spends_table(release.spent))
    out.print(f"Privacy: {release.statement()}", soft_wrap=True)
    out.print(error_line(release), soft_wrap=True)
    out.print(
        f"±: one standard error of the noise, as the truth beside it is that of the same rows; {NOISE}: within 3 of them.",
        soft_wrap=True,
    )
    out.print("178 rows are few: means come out well, correlations roughly. The noise falls as 1/n.", soft_wrap=True)


def _beside(found: Demo) -> dict[str, Any]:
    said = found.release.describe("rows")
    return {
        "true mean": found.rows.mean(axis=0),
        "private": said.mean,
        "true deviation": found.rows.std(axis=0),
        "private ": said.deviation,  # headings must differ
    }


def next_lines(file: str) -> list[str]:
    """Return commands to go on with."""
    return [
        f"dpcov show {file}",
        f"dpcov plan covariance --n 17800 --d 6 --rho {RHO} --center",
        "dpcov schema init DATA",
        "dpcov release DATA --epsilon 1 --schema FILE -o release.json",
    ]


def figure(found: Demo) -> Any:
    """Return a figure: exact and private correlations, and their eigenvalues."""
    said, exact, private = found.release.describe("rows"), "truth (not private)", f"private, rho = {RHO}"
    matrices: dict[str, Any] = {exact: found.correlation, private: said.correlation}
    spectra: dict[str, Any] = {exact: found.eigenvalues, private: said.spectrum}
    return matrices_figure("Correlation of 178 wines", found.release.feature_names, matrices, spectra, "correlation")


def columns(found: Demo) -> dict[str, Any]:
    """Return a line for each column: the truth, and what is private of it."""
    from dpcov.report.descriptions import columns as described

    truth = {"mean_truth": found.rows.mean(axis=0), "deviation_truth": found.rows.std(axis=0)}
    return described(found.release.describe("rows")) | truth
