"""``dpcov show``: what a release file promises and holds."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

import click

from dpcov.cli.options import json_option
from dpcov.report.text import printable

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
    from dpcov.report.releases import clip_line, error_line, zero_line
    from dpcov.report.text import console, print_promise, spends_table

    out = console()
    print_promise(out, release)
    numerics = " and ".join(sorted({law.numerics for answer in release.answers for law in answer.laws}))
    if (unknown := _unknown(release)) is not None:
        out.print(spends_table(release.spent))
        out.print(unknown, soft_wrap=True)
        return
    clip = _clip_line(release)
    out.print(f"Numbers: {clip}, on a {release.encoding.bits}-bit grid; {numerics or 'no'} noise.")
    if release.clip_radius < release.row_norm:
        out.print(clip_line(release), soft_wrap=True)
    if options := _settings(release):
        out.print(f"Options: {options}.", soft_wrap=True)
    if error := error_line(release):
        out.print(error, soft_wrap=True)
    if zero := zero_line(release):
        out.print(zero)
    out.print(spends_table(release.spent))
    if release.estimate.coefficients is not None:
        from dpcov.report.models import LEVEL, print_model, told

        print_model(out, told(release, release.ridge(), LEVEL), None, limit)
    else:
        _print_estimates(out, release, limit)


def _print_estimates(out: Console, release: Release, limit: int | None) -> None:
    """Print a mean, a covariance with its spectrum, or components."""
    from dpcov.report.components import print_components
    from dpcov.report.descriptions import print_description, spectrum_line
    from dpcov.report.releases import confidence_line, spectrum_of
    from dpcov.uses.description import spectrum
    from dpcov.uses.held import holds_covariance

    if release.estimate.k is not None:
        print_components(out, release, limit)
    found, name = release.describe(), release.header()["mechanism"]["name"]
    print_description(out, release, found, f"estimate ({printable(name)}, postprocess {printable(release.postprocess)})", limit)
    if region := confidence_line(release):
        out.print(region, soft_wrap=True)
    if holds_covariance(release):
        shown = None if limit is None else MOST_EIGENVALUES
        out.print(spectrum_line(spectrum_of(release), spectrum(release, found), release.d, shown), soft_wrap=True)


def json_text(release: Release, file: str) -> str:
    """Return a release's facts and estimates for machines."""
    from dpcov.report.descriptions import spectrum_record
    from dpcov.report.releases import facts, is_centred, spectrum_of
    from dpcov.report.text import finite
    from dpcov.uses.description import spectrum
    from dpcov.uses.held import holds_covariance

    spent = [{"asked": s.asked, "noise": s.noise, "budget": s.budget.to_json()} for s in release.spent]
    if (unknown := _unknown(release)) is not None:
        header = {**release.header(), "statement": release.statement()}
        return json.dumps({"file": file, **header, "spent": spent, "estimate": None, "unknown": unknown}, allow_nan=False)
    record = {"file": file, **facts(release), "spent": spent}
    if holds_covariance(release):
        record["covariance" if is_centred(release) else "second_moment"] = finite(release.covariance)
        record["eigenvalues"] = spectrum_record(spectrum_of(release), spectrum(release, release.describe()))
    return json.dumps(record, allow_nan=False)


def _clip_line(release: Release) -> str:
    """Say where rows were clipped."""
    if release.estimate.radius is None:
        return "rows clipped in public coordinates, round by round"
    return f"rows clipped to norm {release.row_norm:g}" if release.schema is None else "values clipped to public bounds"


def _settings(release: Release) -> str:
    """Return the options of the mechanism, and what it noted, but lists."""
    header = release.header()
    named = {**header["mechanism"]["options"], **header["notes"]}
    told = {name: value for name, value in named.items() if value is not None and not isinstance(value, list)}
    return ", ".join(f"{printable(name)}={printable(str(value))}" for name, value in told.items())


def _unknown(release: Release) -> str | None:
    """Say why nothing can be estimated: the mechanism is none that is known here; None where all is well."""
    from dpcov.errors import ReleaseError
    from dpcov.report.releases import reason

    try:
        _ = release.estimate
    except ReleaseError as error:
        return f"No estimates: {reason(error)}."
    return None


def draw(release: Release, target: str, file: str) -> None:
    """Write a picture of the estimate in a file."""
    from dpcov.cli.files import checked_picture, write_picture
    from dpcov.report.component_pictures import components_picture
    from dpcov.report.pictures import picture
    from dpcov.report.releases import spectrum_of, what_correlates
    from dpcov.uses.description import spectrum

    if release.estimate.covariance is None and release.estimate.mean is not None:
        from dpcov.errors import ParameterError

        raise ParameterError("plot must be of a covariance, got a mean. Hint: a mean has no picture; leave --plot out.")
    path = checked_picture(target, (file,))
    if release.estimate.k is not None:
        write_picture(path, components_picture(release, release.pca()))
        return
    if release.estimate.coefficients is not None:
        from dpcov.report.model_pictures import model_picture
        from dpcov.report.models import LEVEL, told

        drawn = model_picture(told(release, release.ridge(), LEVEL))
        write_picture(path, drawn)
        return
    found, of = release.describe(), spectrum_of(release)
    assert found.correlation is not None
    matrices, spectra = {what_correlates(release): found.correlation}, {of: spectrum(release, found)}
    write_picture(path, picture(repr(release)[1:-1], release.feature_names, matrices, spectra, of))
