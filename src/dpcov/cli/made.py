"""How a new release leaves a command: into a file that was checked before anything was spent, and onto the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dpcov.cli.telling import print_json

if TYPE_CHECKING:
    from pathlib import Path

    from dpcov.kernel.budget import Budget
    from dpcov.release.record import Release


def checked_output(output: str, force: bool, inputs: tuple[str, ...]) -> Path:
    """Return where a release can be written, or refuse it before anything is spent."""
    from dpcov.cli.files import checked_target

    return checked_target(output, force=force, kept="an existing release was paid for", inputs=inputs)


def save(made: Release, target: Path, force: bool) -> None:
    """Write the release; what was paid for is not lost where that fails."""
    from dpcov.errors import EngineError
    from dpcov.release.file import text_of

    try:
        if target.exists() and not force:
            raise EngineError(f"output must not exist yet, got {str(target)!r}, which appeared meanwhile.")
        made.save(target)
    except (EngineError, KeyboardInterrupt) as error:
        click.echo(text_of(made), nl=False)
        reason = str(error).partition(" Hint:")[0] or "interrupted."
        raise EngineError(f"{reason} The release was made and paid for, and is on stdout. Hint: save that text.") from None


def tell_dry_run(target: str, data: str, budget: Budget, *, as_json: bool, **settings: Any) -> None:
    """Rehearse a release, for which the table is opened for its names and types only, and say what it would do."""
    from dpcov.api import rehearse
    from dpcov.report import record, write
    from dpcov.report.text import console

    found = rehearse(target, data, budget, **settings)
    if as_json:
        print_json(record(found))
    else:
        write(console(), found, data=data)


def tell_made(made: Release, output: str | None, *, quiet: bool, as_json: bool) -> None:
    """Say what was made, to people or machines."""
    from dpcov.report.releases import facts, write_made
    from dpcov.report.text import console

    if made.seeded:
        click.echo("dpcov: --seed makes the noise predictable: this release is NOT private.", err=True)
    if as_json:
        print_json({"file": output, **facts(made)})
    elif not quiet:
        write_made(console(), made, output)
