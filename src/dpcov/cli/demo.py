"""``dpcov demo``: a private release of the Wine data, with the truth beside it."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

EXAMPLE = "\b\nExample:\n  dpcov demo --output wine-release.json"


@click.command(short_help="Release the Wine data privately, with the truth beside it.", epilog=EXAMPLE)
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    metavar="FILE",
    default="wine-release.json",
    show_default=True,
    help="Where to write the release; an older one of this command is overwritten.",
)
def demo(output: str) -> None:
    """Release mean and covariance of 178 wines at rho = 1, print the truth beside them, and draw both.

    The picture goes beside the release, with the ending .png.
    """
    target, picture = _checked_targets(output)
    click.echo(
        "Wine: 178 rows, each taken for a person, 6 columns with public bounds; one release of mean and covariance ...",
        err=True,
    )
    from dpcov.evaluate.demo import demo as release_wine
    from dpcov.report.demos import next_lines, write
    from dpcov.report.text import console

    found, out, file = release_wine(), console(), shlex.quote(output)
    found.release.save(target)
    found.plot(picture)
    write(out, found)
    out.print(f"Written to {file} and {shlex.quote(str(picture))}. Next:", soft_wrap=True)
    out.print("\n".join(f"  {line}" for line in next_lines(file)), soft_wrap=True)


def _checked_targets(output: str) -> tuple[Path, Path]:
    """Return where release and picture go; only the demo's own release is overwritten."""
    from dpcov.cli.files import checked_picture, checked_target
    from dpcov.errors import DpcovError, ParameterError
    from dpcov.evaluate.demo import BOUNDS
    from dpcov.release.file import load

    try:
        own = load(output).feature_names == tuple(BOUNDS)
    except DpcovError:
        own = False
    target = checked_target(output, force=own, kept="it is not the demo's", hint="choose a new name")
    if target.suffix.lower() == ".png":
        raise ParameterError(f"output must not end in .png, got {output!r}. Hint: that is the picture; name a .json file.")
    picture = target.with_suffix(".png")
    checked_picture(str(picture))
    return target, picture
