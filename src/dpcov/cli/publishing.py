"""Options of how a release comes out: from a process that alone holds the rows, and at a moment that was said beforehand."""

from __future__ import annotations

import functools
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from pathlib import Path

    from dpcov.custody.publishing import Publication
    from dpcov.release.record import Release

Command = Callable[..., None]


def publishing_options(command: Command) -> Command:
    """Add --isolated, --publish-at and --publish-every; the command gets `isolated`, and a `publication` or nothing."""

    @functools.wraps(command)
    def with_publication(
        publish_at: str | None, publish_every: str | None, isolated: bool, dry_run: bool, **others: Any
    ) -> None:
        if publish_at is None and publish_every is not None:
            raise click.UsageError("--publish-every is for overruns: give --publish-at, too")
        if isolated and dry_run:
            raise click.UsageError("--dry-run opens the table in this process: leave --isolated out, or --dry-run")
        from dpcov.custody.publishing import Publication

        chosen = None if publish_at is None else Publication(publish_at, every=publish_every or "10m")
        if chosen is not None and not dry_run and not others["quiet"]:
            click.echo(f"dpcov: to be published at {chosen.told}.", err=True)
        command(publication=chosen, isolated=isolated, dry_run=dry_run, **others)

    for option in (
        click.option(
            "--publish-every", metavar="PERIOD", help="With --publish-at: after an overrun, the next chance; by default 10m."
        ),
        click.option(
            "--publish-at",
            metavar="TIME",
            help="When the output appears, 23:00 or 2030-01-31T23:00, however long the work takes; no progress is shown.",
        ),
        click.option(
            "--isolated",
            is_flag=True,
            help="Read the rows in a process without network that is killed afterwards (Linux only).",
        ),
    ):
        with_publication = option(with_publication)
    return with_publication


def made_by(function: Callable[..., Release], data: Any, isolated: bool, progress: Any, **settings: Any) -> Release:
    """Release here, or in a process of its own."""
    if not isolated:
        return function(data, progress=progress, **settings)
    from dpcov import isolated as isolate

    return isolate(function, data, **settings)


def wait_for(publication: Publication, made: Release, target: Path) -> None:
    """Wait for the moment; what was paid for is kept aside where the wait ends otherwise, by Ctrl-C, SIGTERM or a hangup."""
    endings = {signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}
    before = {number: signal.signal(number, signal.default_int_handler) for number in endings}
    try:
        publication.wait()
    except KeyboardInterrupt:
        aside = _kept_aside(made, target)
        click.echo(f"dpcov: not published; the release was paid for, and is in {aside}, which only you can read.", err=True)
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _kept_aside(made: Release, target: Path) -> Path:
    from dpcov.cli.paid import print_paid
    from dpcov.custody.publishing import put_aside
    from dpcov.errors import EngineError

    try:
        return put_aside(made, target)
    except EngineError as error:
        print_paid(made, error, "save that text")
