"""``dpcov show``: what a release file promises and holds."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

import click

from dpcov.cli.options import json_option

if TYPE_CHECKING:
    from rich.console import Console

    from dpcov.release.record import Release

MOST_FEATURES = 40
MOST_EIGENVALUES = 10


@click.command(epilog="\b\nExample:\n  dpcov show wine-release.json --plot wine-release.png")
@click.argument("file", type=click.Path())
@click.option("--all", "everything", is_flag=True, help=f"List all features, not only the first {MOST_FEATURES}.")
@click.option(
    "--plot", metavar="PNG", type=click.Path(), help="Also draw the correlation and its spectrum, or what else it holds."
)
@json_option
def show(file: str, everything: bool, plot: str | None, as_json: bool) -> None:
    """Print the promise, the spends and the estimates in a release FILE."""
    from dpcov.release.file import load

    release = load(file)
    if plot is not None:
        draw(release, plot, file)
    if as_json:
        click.echo(json_text(release, file))
    else:
        print_release(release, limit=None if everything else MOST_FEATURES)
        if plot is not None:
            click.echo(f"Written to {shlex.quote(plot)}.")


def print_release(release: Release, limit: int | None) -> None:
    """Print a release for people."""
    from dpcov.cli.estimates import clip_line, error_line, zero_line
    from dpcov.cli.text import console, print_promise, spends_table

    out = console()
    print_promise(out, release)
    numerics = " and ".join(sorted({answer.noise.numerics for answer in release.answers}))
    clip = _clip_line(release)
    out.print(f"Numbers: {clip}, on a {release.grid_bits}-bit grid; {numerics or 'no'} noise.")
    if release.clip_radius < release.row_norm:
        out.print(clip_line(release), soft_wrap=True)
    if release.options:
        out.print("Options: " + ", ".join(f"{name}={value}" for name, value in release.options.items()) + ".", soft_wrap=True)
    if error := error_line(release):
        out.print(error, soft_wrap=True)
    if zero := zero_line(release):
        out.print(zero)
    out.print(spends_table(release))
    if release.kind == "ridge":
        from dpcov.cli.models import LEVEL, print_model, told

        print_model(out, told(release, release.ridge(), LEVEL), None, limit)
    else:
        _print_estimates(out, release, limit)


def _print_estimates(out: Console, release: Release, limit: int | None) -> None:
    """Print a mean, a covariance with its spectrum, or components."""
    from dpcov.cli.components import print_components
    from dpcov.cli.estimates import confidence_line, spectrum_of
    from dpcov.cli.readings import print_description, spectrum_line
    from dpcov.uses.description import spectrum

    if release.kind == "pca":
        print_components(out, release, limit)
    found = release.describe()
    print_description(out, release, found, f"estimate ({release.mechanism}, postprocess {release.postprocess})", limit)
    if region := confidence_line(release):
        out.print(region, soft_wrap=True)
    if release.kind == "covariance":
        shown = None if limit is None else MOST_EIGENVALUES
        out.print(spectrum_line(spectrum_of(release), spectrum(release, found), release.d, shown), soft_wrap=True)


def json_text(release: Release, file: str) -> str:
    """Return a release's facts and estimates for machines."""
    from dpcov.cli.estimates import facts, is_centred, spectrum_of
    from dpcov.cli.readings import spectrum_record
    from dpcov.uses.description import spectrum

    record = {
        "file": file,
        **facts(release),
        "spent": [{"asked": s.asked, "noise": s.noise, "budget": s.budget.to_json()} for s in release.spent],
    }
    if release.kind == "covariance":
        record["covariance" if is_centred(release) else "second_moment"] = release.covariance.tolist()
        record["eigenvalues"] = spectrum_record(spectrum_of(release), spectrum(release, release.describe()))
    return json.dumps(record, allow_nan=False)


def _clip_line(release: Release) -> str:
    """Say where rows were clipped."""
    from dpcov.estimate_framed import is_framed

    if is_framed(release):
        return "rows clipped in public coordinates, round by round"
    return f"rows clipped to norm {release.row_norm:g}" if release.schema is None else "values clipped to public bounds"


def draw(release: Release, target: str, file: str) -> None:
    """Write a picture of the estimate in a file."""
    from dpcov.cli.component_pictures import components_picture
    from dpcov.cli.estimates import spectrum_of, what_correlates
    from dpcov.cli.files import checked_picture, write_picture
    from dpcov.cli.pictures import picture
    from dpcov.uses.description import spectrum

    if release.kind == "mean":
        from dpcov.errors import ParameterError

        raise ParameterError("plot must be of a covariance, got a mean. Hint: a mean has no picture; leave --plot out.")
    path = checked_picture(target, (file,))
    if release.kind == "pca":
        write_picture(path, components_picture(release, release.pca()))
        return
    if release.kind == "ridge":
        from dpcov.cli.model_pictures import model_picture
        from dpcov.cli.models import LEVEL, told

        drawn = model_picture(told(release, release.ridge(), LEVEL))
        write_picture(path, drawn)
        return
    found, of = release.describe(), spectrum_of(release)
    assert found.correlation is not None
    matrices, spectra = {what_correlates(release): found.correlation}, {of: spectrum(release, found)}
    write_picture(path, picture(repr(release)[1:-1], release.feature_names, matrices, spectra, of))
