"""What was paid for is not lost: it is printed where it could not be kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

import click

if TYPE_CHECKING:
    from pathlib import Path

    from dpcov.release.record import Release


@contextmanager
def nothing_paid_is_lost() -> Iterator[None]:
    """Print a release that was paid for, and that the ledger could not record."""
    from dpcov.errors import DpcovError

    try:
        yield
    except (DpcovError, KeyboardInterrupt) as error:
        if not hasattr(error, "release"):
            raise
        print_paid(error.release, error, "save that text, then `dpcov ledger record`")


def print_paid(made: Release, error: BaseException, hint: str) -> NoReturn:
    """Print a release that could not be kept otherwise, and end in an error that says so."""
    from dpcov.errors import EngineError
    from dpcov.release.file import text_of

    click.echo(text_of(made), nl=False)
    reason = str(error).partition(" Hint:")[0] or "interrupted."
    raise EngineError(f"{reason} The release was made and paid for, and is on stdout. Hint: {hint}.") from None


def save(made: Release, target: Path, force: bool) -> None:
    """Write the release; what was paid for is not lost where that fails."""
    from dpcov.errors import EngineError

    try:
        if target.exists() and not force:
            raise EngineError(f"output must not exist yet, got {str(target)!r}, which appeared meanwhile.")
        made.save(target)
    except (EngineError, KeyboardInterrupt) as error:
        print_paid(made, error, "save that text")
