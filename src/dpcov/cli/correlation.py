"""``dpcov correlation``: which columns of a release go together, at no further cost in privacy."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

import click

from dpcov.cli.options import json_option

if TYPE_CHECKING:
    from rich.table import Table

    from dpcov.cli.pairs import Pair
    from dpcov.release import Release

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
    """Print the largest correlations in a RELEASE, between features of different columns.

    Nothing is spent, and no data are read. Of a release without --center they are cosines about 0.
    """
    from dpcov.cli.files import checked_picture, write_picture
    from dpcov.cli.kinds import check_covariance
    from dpcov.cli.pairs import largest_pairs
    from dpcov.release_file import load

    release = load(file)
    check_covariance(release, "correlations")
    picture = None if plot is None else checked_picture(plot, (file,))
    matrix = release.correlation()
    pairs, count = largest_pairs(release, matrix, top)
    if picture is not None:
        from dpcov.cli.correlation_picture import correlation_picture

        write_picture(picture, correlation_picture(release, matrix))
    if as_json:
        click.echo(_json_text(release, file, matrix, pairs))
        return
    _print(release, pairs, count)
    if plot is not None:
        click.echo(f"Written to {shlex.quote(plot)}.")


def _json_text(release: Release, file: str, matrix: Any, pairs: list[Pair]) -> str:
    from dpcov.cli.estimates import is_centred, promise
    from dpcov.cli.text import finite

    facts = {
        "file": file,
        **promise(release),
        "of": "correlation" if is_centred(release) else "cosine",
        "feature_names": list(release.feature_names),
        "correlation": matrix.tolist(),
        "largest": [
            {"features": [pair.first, pair.second], "correlation": pair.value, "standard_error": finite(pair.noise)}
            for pair in pairs
        ],
    }
    return json.dumps(facts, allow_nan=False)


def _print(release: Release, pairs: list[Pair], count: int) -> None:
    """Print pairs for people."""
    from dpcov.cli.estimates import is_centred
    from dpcov.cli.text import console, print_promise

    out = console()
    print_promise(out, release)
    told = any(pair.noise == pair.noise for pair in pairs)  # NaN where the release does not tell
    out.print(_table(pairs, count, "correlation" if is_centred(release) else "cosine", noise=told))
    if not pairs:
        out.print("There are no two columns, or nothing was found of them.")
    said = []
    if told:
        said.append(
            "Noise: the standard error of the raw covariance, scaled alike. A correlation below three times as much cannot be "
            "told from noise; denoising may have made it smaller."
        )
    if not is_centred(release):
        said.append("Rows were not centred: these are cosines about 0. --center at the release gives correlations.")
    if said:
        out.print("\n".join(said), soft_wrap=True)


def _table(pairs: list[Pair], count: int, what: str, *, noise: bool) -> Table:
    from rich.table import Table

    from dpcov.cli.text import printable

    hidden = count - len(pairs)
    caption = f"... and {hidden} more pair{'s' * (hidden > 1)}" if hidden else None
    table = Table(title=f"largest {what}s between columns", title_justify="left", caption=caption, caption_justify="left")
    table.add_column("feature", overflow="fold")
    table.add_column("feature", overflow="fold")
    for heading in (what, *["noise"] * noise):
        table.add_column(heading, justify="right", no_wrap=True)
    for pair in pairs:
        size = [f"{pair.noise:.2f}" if pair.noise == pair.noise else "?"] * noise
        table.add_row(printable(pair.first), printable(pair.second), f"{pair.value:+z.2f}", *size)
    return table
