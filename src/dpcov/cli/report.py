"""``dpcov report``: one HTML file that shows a release in any browser, at no further cost in privacy."""

from __future__ import annotations

import shlex

import click

from dpcov.cli.options import group_option

ENDINGS = (".html", ".htm")
EXAMPLE = """\b
Example:
  dpcov report adult.json -o adult.html"""


@click.command(epilog=EXAMPLE, short_help="Write a page that shows a release in any browser, for free.")
@click.argument("file", metavar="RELEASE", type=click.Path())
@click.option("-o", "--output", required=True, type=click.Path(), metavar="FILE", help="Where the page goes: an .html file.")
@click.option("--force", is_flag=True, help="Overwrite an existing output.")
@group_option
def report(file: str, output: str, force: bool, group: str | None) -> None:
    """Write one file that shows a RELEASE: overview, means, correlations, components, any regression, a plan of the next.

    It opens from disk in any browser, needs no network, and sends nothing. Nothing is spent, and no data are read.
    """
    from dpcov.cli.files import checked_table, loaded

    place = checked_table(output, ENDINGS, "page.html", force=force, inputs=(file,))
    loaded(file, group).report(place)
    click.echo(f"Written to {shlex.quote(output)}: open it in a browser.")
