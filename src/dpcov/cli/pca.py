"""``dpcov pca``: principal components of a release, at no further cost in privacy."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING, Any

import click

from dpcov.cli.options import json_option

if TYPE_CHECKING:
    from pathlib import Path

    from dpcov.release.record import Release
    from dpcov.report.component_pictures import Floats
    from dpcov.uses.pca import PrincipalComponents

CHAINS = 5  # the paper's
EXAMPLE = """\b
Example:
  dpcov pca release.json
  dpcov pca release.json -k 0.9 --plot pca.png
  dpcov pca pca.json --convergence chains.png"""


def read_count(context: click.Context, parameter: click.Parameter, text: str | None) -> int | float | None:
    """Turn 3 into a number of components, and 0.9 into the part of the variance that they are to explain."""
    if text is None:
        return None
    if re.fullmatch(r"[0-9]{1,9}", text) and int(text) >= 1:
        return int(text)
    if re.fullmatch(r"0?\.[0-9]+", text) and 0 < float(text) < 1:
        return float(text)
    rule = "neither a number of components, such as 3, nor a part of the variance, such as 0.9"
    raise click.BadParameter(f"{text[:40]!r} is {rule}", context, parameter)


@click.command(epilog=EXAMPLE, short_help="Print and draw the principal components of a release, for free.")
@click.argument("file", metavar="RELEASE", type=click.Path())
@click.option(
    "-k",
    "--components",
    "k",
    callback=read_count,
    metavar="K",
    help="How many; or, as 0.9, as few as explain 90 % of the estimated variance. By default those that were asked for, and of "
    "a covariance those that stand out of the noise.",
)
@click.option("--plot", metavar="PNG", type=click.Path(), help="Also draw what they explain, and the largest loadings.")
@click.option("--convergence", metavar="PNG", type=click.Path(), help="Also draw simulated chains, where a Markov chain drew.")
@click.option("--chains", type=click.IntRange(1, 100), metavar="NUMBER", help=f"How many of them; {CHAINS} by default.")
@click.option("--all", "everything", is_flag=True, help="List all components, and the loadings of all features.")
@json_option
def pca(
    file: str,
    k: int | float | None,
    plot: str | None,
    convergence: str | None,
    chains: int | None,
    everything: bool,
    as_json: bool,
) -> None:
    """Print the principal components in a RELEASE: of `dpcov release --pca`, or of any covariance.

    Nothing is spent, and no data are read. --convergence runs Markov chains like the one that drew the components, for the
    spectrum that the release tells; with many sweeps a chain takes a minute.
    """
    from dpcov.release.file import load

    if chains is not None and convergence is None:
        raise click.UsageError("give --chains with --convergence")
    release = load(file)
    found = _chosen(release, k)
    picture, traced = _checked_pictures(plot, convergence, file)
    traces = None if traced is None else _simulated(release, chains or CHAINS)  # refuses before anything is written
    for path, drawn in _drawings(release, found, picture, traced, traces):
        from dpcov.cli.files import write_picture

        write_picture(path, drawn)
    if as_json:
        click.echo(_json_text(release, found, file, traces))
        return
    _print(release, found, k, everything, traces)
    written = [shlex.quote(name) for name in (plot, convergence) if name is not None]
    if written:
        click.echo(f"Written to {' and '.join(written)}.")


def _chosen(release: Release, k: int | float | None) -> PrincipalComponents:
    from dpcov.errors import ParameterError, ReleaseError
    from dpcov.uses.held import what_it_holds

    if release.estimate.covariance is None and release.estimate.k is None:
        hint = "dpcov release, with or without --pca"
        raise ReleaseError(f"release must hold a covariance or components, got {what_it_holds(release)}. Hint: {hint}.")
    if isinstance(k, int) and k > release.d:
        raise ParameterError(f"-k must be at most {release.d}, the number of features, got {k}. Hint: -k 0.9 chooses a number.")
    return release.pca(k)


def _checked_pictures(plot: str | None, convergence: str | None, file: str) -> tuple[Path | None, Path | None]:
    """Return where pictures go, or refuse one of them before any work."""
    from dpcov.cli.files import checked_picture
    from dpcov.errors import ParameterError

    first, second = (None if name is None else checked_picture(name, (file,)) for name in (plot, convergence))
    if first is not None and second is not None and first.absolute() == second.absolute():
        raise ParameterError(f"--convergence must be another file than --plot, got {plot!r} twice. Hint: chains.png.")
    return first, second


def _simulated(release: Release, chains: int) -> Floats:
    """Return F_k(T), a row for each chain; the release says how long they are."""
    from dpcov.cli.progress import progress_bar
    from dpcov.errors import ReleaseError
    from dpcov.uses.convergence import convergence, is_chain

    if not is_chain(release):
        raise ReleaseError(
            "release must be drawn by a Markov chain for --convergence, got another. Hint: all others need no convergence."
        )
    with progress_bar(quiet=False, work="simulating chains") as progress:
        return convergence(release, chains=chains, progress=progress)


def _drawings(
    release: Release, found: PrincipalComponents, picture: Path | None, traced: Path | None, traces: Floats | None
) -> list[tuple[Path, bytes]]:
    """Return the pictures that were asked for, with their places."""
    from dpcov.report.component_pictures import components_picture, convergence_picture

    drawings = [] if picture is None else [(picture, components_picture(release, found))]
    if traced is not None and traces is not None:
        drawings.append((traced, convergence_picture(release, traces)))
    return drawings


def _json_text(release: Release, found: PrincipalComponents, file: str, traces: Floats | None) -> str:
    from dpcov.report.components import record
    from dpcov.report.releases import promise

    facts: dict[str, Any] = {
        "file": file,
        **promise(release),
        "feature_names": list(found.feature_names),
        **record(found),
    }
    if traces is not None:
        facts["convergence"] = {"chains": len(traces), "sweeps": traces.shape[1], "last": traces[:, -1].tolist()}
    return json.dumps(facts, allow_nan=False)


def _print(
    release: Release, found: PrincipalComponents, k: int | float | None, everything: bool, traces: Floats | None
) -> None:
    """Print components for people."""
    from dpcov.report.components import MOST_COLUMNS, MOST_COMPONENTS, components_table, loadings, notes, worth_reading
    from dpcov.report.text import console, features_table, print_promise

    out = console()
    print_promise(out, release)
    out.print(components_table(found, None if everything else MOST_COMPONENTS))
    said = notes(release, found)
    if isinstance(k, float) and found.total > 0 and found.ratio.sum() < k - 1e-9:
        said.append(f"All {found.k} components that the release holds explain less than {100 * k:g} % together.")
    if traces is not None:
        said.append(_chains_line(release, traces))
    out.print("\n".join(said), soft_wrap=True)
    for first in range(0, worth_reading(found), MOST_COLUMNS) if everything else ():
        out.print(features_table(found.feature_names, loadings(found, first), "loadings", None))


def _chains_line(release: Release, traces: Floats) -> str:
    k, last, length = release.estimate.k, traces[:, -1], traces.shape[1]
    return (
        f"Chains: F_{k} of {len(last)} simulated chains after {length} sweeps is {last.min():.2g} to {last.max():.2g}; "
        f"independent draws would have about {length**-0.5:.2g}. It should fall to 0: that is evidence, and no proof."
    )
