"""``dpcov correlation``: which columns of a release go together, at no further cost in privacy."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

import click

from dpcov.cli.options import json_option

if TYPE_CHECKING:
    from rich.table import Table

    from dpcov.release.record import Release
    from dpcov.uses.description import Description

EXAMPLE = """\b
Example:
  dpcov correlation adult.json
  dpcov correlation adult.json --top 50 --plot correlation.png"""


@click.command(epilog=EXAMPLE, short_help="Print and draw the correlations of a release, for free.")
@click.argument("file", metavar="RELEASE", type=click.Path())
@click.option("--top", type=click.IntRange(1), default=20, show_default=True, metavar="NUMBER", help="How many pairs to list.")
@click.option("--plot", metavar="PNG", type=click.Path(), help="Also draw the matrix.")
@json_option
def correlation(file: str, top: int, plot: str | None, as_json: bool) -> None:
    """Print the correlations in a RELEASE that are clear of noise, between features of different columns, by strength.

    Nothing is spent, and no data are read. Of a release without --center they are cosines about 0.
    """
    from dpcov.cli.files import checked_picture, write_picture
    from dpcov.release.file import load
    from dpcov.report.releases import check_covariance

    release = load(file)
    check_covariance(release, "correlations")
    picture = None if plot is None else checked_picture(plot, (file,))
    found = release.describe()
    if picture is not None:
        from dpcov.report.correlation_picture import correlation_picture

        write_picture(picture, correlation_picture(release, found))
    if as_json:
        click.echo(_json_text(release, file, found, top))
        return
    _print(release, found, top)
    if plot is not None:
        click.echo(f"Written to {shlex.quote(plot)}.")


def _json_text(release: Release, file: str, found: Description, top: int) -> str:
    from dpcov.report.releases import is_centred, promise
    from dpcov.report.text import finite

    assert found.correlation is not None
    matrix, errors = found.correlation.values, found.correlation.standard_error
    facts = {
        "file": file,
        **promise(release),
        "of": "correlation" if is_centred(release) else "cosine",
        "feature_names": list(release.feature_names),
        "correlation": matrix.tolist(),
        "standard_error": finite(errors),
        "clear_of_noise": found.correlation.clear.tolist(),
        "pairs": len(found.pairs(clear=False)),
        "largest": [
            {
                "features": [release.feature_names[place] for place in pair],
                "correlation": float(matrix[pair]),
                "standard_error": finite(errors[pair]),
            }
            for pair in found.pairs()[:top]
        ],
    }
    return json.dumps(facts, allow_nan=False)


def _print(release: Release, found: Description, top: int) -> None:
    """Print pairs for people."""
    from dpcov.report.descriptions import cell_lines, head_line
    from dpcov.report.releases import is_centred
    from dpcov.report.text import MORE, SILENT, console, print_promise

    centred, clear = is_centred(release), found.pairs()
    what = "correlation" if centred else "cosine"
    out = console()
    print_promise(out, release)
    out.print(head_line(found, centred=centred), style="bold", soft_wrap=True)
    said = []
    if clear:
        out.print(_table(found, clear, top, what))
        said.append("±: the standard error that the noise gives. Pairs within 3 of them are not listed: they may be noise.")
    elif found.correlation is not None and not found.correlation.known:
        said.append(f"No {what} is listed: {SILENT}.")
    elif found.pairs(clear=False):
        said.append(f"No {what} is clear of noise, so none is listed. {MORE}")
    else:
        said.append("There are no two columns.")
    said += cell_lines(release, found)
    if not centred:
        said.append("Rows were not centred: these are cosines about 0. --center at the release gives correlations.")
    out.print("\n".join(said), soft_wrap=True)


def _table(found: Description, pairs: list[tuple[int, int]], top: int, what: str) -> Table:
    from rich.table import Table

    from dpcov.report.text import printable, reading_cells

    assert found.correlation is not None
    hidden = max(0, len(pairs) - top)
    caption = f"... and {hidden} more pair{'s' * (hidden > 1)} clear of noise" if hidden else None
    title = f"{what}s between columns that are clear of noise"
    table = Table(title=title, title_justify="left", caption=caption, caption_justify="left")
    for _ in range(2):
        table.add_column("feature", overflow="fold")
    for heading in (what, "±"):
        table.add_column(heading, justify="right", no_wrap=True)
    for pair in pairs[:top]:
        names = (printable(found.feature_names[place]) for place in pair)
        table.add_row(*names, *reading_cells(found.correlation, pair))
    return table
