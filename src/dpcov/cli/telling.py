"""How a command ends: pictures where they are wanted, then a result as text or as JSON."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from dpcov.cli.options import Command

if TYPE_CHECKING:
    from pathlib import Path

NONE: Mapping[str, Any] = {}


def plot_option(help_text: str, name: str = "--plot") -> Callable[[Command], Command]:
    """Return an option for a picture."""
    return click.option(name, metavar="FILE", type=click.Path(), help=f"{help_text} (.png, .svg or .pdf).")


def tell(
    result: object,
    file: str,
    *,
    as_json: bool,
    picture: Path | None = None,
    choice: Mapping[str, Any] = NONE,
    drawn: Mapping[str, Any] = NONE,
    words: Mapping[str, Any] = NONE,
) -> None:
    """Draw a result, and print it: ``choice`` says of what in both forms, ``drawn`` in the picture, ``words`` in the text."""
    from dpcov.report import draw, record, write
    from dpcov.report.text import console

    if picture is not None:
        draw(result, picture, **drawn)
    if as_json:
        print_json({"file": file, **record(result, **choice)})
        return
    write(console(), result, **choice, **words)
    tell_written(picture)


def tell_written(*pictures: Path | None) -> None:
    """Say which pictures there are now."""
    written = [shlex.quote(str(picture)) for picture in pictures if picture is not None]
    if written:
        click.echo(f"Written to {' and '.join(written)}.")


def print_json(facts: Mapping[str, Any]) -> None:
    """Print one JSON object."""
    click.echo(json.dumps(facts, allow_nan=False))
