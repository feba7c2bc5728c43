"""``dpcov pca``: principal components of a release, at no further cost in privacy."""

from __future__ import annotations

import re

import click

from dpcov.cli.options import group_option, json_option
from dpcov.cli.telling import plot_option, print_json, tell_written

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
@group_option
@click.option(
    "-k",
    "--components",
    "k",
    callback=read_count,
    metavar="K",
    help="How many; or a part such as 0.9: the fewest that explain 90 % of the estimated variance. By default those that were "
    "asked for, or of a covariance those that stand out of the noise.",
)
@plot_option("Also draw what they explain, and the largest loadings")
@plot_option("Also draw simulated chains, where a Markov chain drew", name="--convergence")
@click.option("--chains", type=click.IntRange(1, 100), metavar="NUMBER", help=f"How many chains; {CHAINS} by default.")
@click.option("--all", "everything", is_flag=True, help="List all components, and the loadings of all features.")
@json_option
def pca(
    file: str,
    group: str | None,
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
    from dpcov.cli.files import checked_picture, differ, loaded
    from dpcov.cli.progress import progress_bar
    from dpcov.report import draw, record, write
    from dpcov.report.text import console
    from dpcov.uses.convergence import Chains
    from dpcov.uses.convergence import convergence as simulate

    if chains is not None and convergence is None:
        raise click.UsageError("--chains needs --convergence")
    release = loaded(file, group)
    found, simulated = release.pca(k), None
    picture, traced = checked_picture(plot, file), checked_picture(convergence, file)
    differ("--convergence", traced, "--plot", picture)
    if traced is not None:
        with progress_bar(quiet=False, work="simulating chains") as progress:
            simulated = Chains(release, simulate(release, chains=chains or CHAINS, progress=progress))
    for result, path in ((found, picture), (simulated, traced)):
        if result is not None and path is not None:
            draw(result, path)
    if as_json:
        print_json({"file": file, **record(found), **({} if simulated is None else {"convergence": record(simulated)})})
        return
    write(console(), found, asked=k, everything=everything)
    if simulated is not None:
        write(console(), simulated)
    tell_written(picture, traced)
