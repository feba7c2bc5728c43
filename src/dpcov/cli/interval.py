"""``dpcov interval``: how far noise may have moved what a release tells, at no further cost in privacy."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

import click

from dpcov.cli.options import all_option, json_option, level_option

if TYPE_CHECKING:
    from dpcov.cli.interval_lists import Listed
    from dpcov.release.record import Release
    from dpcov.uses.intervals import Intervals

OF = ["mean", "variances", "entries", "eigenvalues"]
MOST = 20
EXAMPLE = """\b
Example:
  dpcov interval adult.json
  dpcov interval adult.json --of eigenvalues --level 0.99
  dpcov interval adult.json --of entries --json"""


@click.command(epilog=EXAMPLE, short_help="Print intervals for what a release tells, for free.")
@click.argument("file", metavar="RELEASE", type=click.Path())
@level_option
@click.option("--of", "of", type=click.Choice(OF), help="Of what; means, where there are some, and variances by default.")
@all_option
@click.option("--plot", metavar="PNG", type=click.Path(), help="Also draw them.")
@json_option
def interval(file: str, level: float, of: str | None, everything: bool, plot: str | None, as_json: bool) -> None:
    """Print means and variances, entries or eigenvalues in a RELEASE with the intervals that its noise allows.

    Nothing is spent, and no data are read: the law of the noise is public. Estimates here are raw ones, without denoising,
    as only their errors are known.
    """
    from dpcov.cli.estimates import check_covariance
    from dpcov.cli.files import checked_picture, write_picture
    from dpcov.cli.interval_lists import listed
    from dpcov.release.file import load

    release = load(file)
    check_covariance(release, "intervals")
    found = _intervals(release, level)
    if of == "mean" and found.mean is None:
        from dpcov.errors import ReleaseError

        raise ReleaseError("release must be centred for --of mean, got one that is not. Hint: --center at the release.")
    picture = None if plot is None else checked_picture(plot, (file,))
    lists = listed(release, found, of)
    if picture is not None:
        from dpcov.cli.interval_picture import interval_picture

        write_picture(picture, interval_picture(release, lists))
    if as_json:
        click.echo(_json_text(release, file, found, lists))
        return
    _print(release, found, lists, everything)
    if plot is not None:
        click.echo(f"Written to {shlex.quote(plot)}.")


def _intervals(release: Release, level: float) -> Intervals:
    """Return intervals, or say in the words of the command line why there are none."""
    from dpcov.cli.estimates import reason
    from dpcov.errors import ReleaseError

    try:
        return release.interval(level, about="rows")
    except ReleaseError as error:
        hint = "a --mechanism that asks for one noisy matrix, at the release; `dpcov show` tells of regions that others have"
        raise ReleaseError(f"{reason(error)}. Hint: {hint}.") from None


def _json_text(release: Release, file: str, found: Intervals, lists: list[Listed]) -> str:
    from dpcov.cli.estimates import promise
    from dpcov.cli.text import interval_record

    facts = {"file": file, **promise(release), "level": found.level, "about": found.about}
    facts |= {"feature_names": list(release.feature_names)}
    return json.dumps({**facts, **{one.key: interval_record(one.interval) for one in lists}}, allow_nan=False)


def _print(release: Release, found: Intervals, lists: list[Listed], everything: bool) -> None:
    """Print intervals for people."""
    from dpcov.cli.estimates import clip_line
    from dpcov.cli.interval_lists import interval_table
    from dpcov.cli.text import console, print_promise

    out = console()
    print_promise(out, release)
    if release.clip_radius < release.row_norm:
        out.print(clip_line(release), soft_wrap=True)
    for one in lists:
        out.print(interval_table(one, found.level, None if everything else MOST))
        if one.note:
            out.print(one.note, soft_wrap=True)
    out.print(f"About: {found.about}.", soft_wrap=True)
    rest = "Each interval holds for itself; of many, some fail. Raw estimates may be impossible, such as a variance below 0."
    out.print(rest, soft_wrap=True)
