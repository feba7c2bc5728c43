"""How a new release leaves a command: into a file that was checked before anything was spent, and onto the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dpcov.cli.paid import nothing_paid_is_lost, save
from dpcov.cli.publishing import made_by, wait_for
from dpcov.cli.telling import print_json

if TYPE_CHECKING:
    from pathlib import Path

    from dpcov.custody.publishing import Publication
    from dpcov.evaluate.table_plan import TablePlan
    from dpcov.kernel.budget import Budget
    from dpcov.rehearsal import Rehearsal
    from dpcov.release.record import Release


def checked_output(output: str | None, force: bool, inputs: tuple[str, ...], *, dry_run: bool) -> Path | None:
    """Return where a release can be written, or refuse it before anything is spent; nowhere for a dry run only."""
    from dpcov.cli.files import checked_target

    if output is None:
        if not dry_run:
            raise click.UsageError("give --output FILE: what is paid for must be kept; or --dry-run, which spends nothing")
        return None
    return checked_target(output, force=force, kept="an existing release was paid for", inputs=inputs)


def released(data: Any, quiet: bool, isolated: bool, **settings: Any) -> Release:
    """Release a covariance, or components where a ``k`` is given, with a progress bar; an isolated process shows none."""
    from dpcov.api import covariance, pca
    from dpcov.cli.progress import progress_bar
    from dpcov.mechanisms import MECHANISMS

    if "k" not in settings:
        with nothing_paid_is_lost(), progress_bar(quiet) as progress:
            return made_by(covariance, data, isolated, progress, **settings)
    named = MECHANISMS["pca"].get(settings["mechanism"])
    chain = "drawing components" if named is not None and named.draws_long else None
    with nothing_paid_is_lost(), progress_bar(quiet, chain=chain) as progress:
        return made_by(pca, data, isolated, progress, **settings)


def keep(
    made: Release,
    output: str | None,
    target: Path | None,
    publication: Publication | None,
    *,
    force: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Write what was made, at its moment where it has one, then say what it is."""
    assert output is not None  # else nothing was spent: `checked_output`
    assert target is not None
    from dpcov.custody.replaced import said_of_both

    if publication is not None:
        wait_for(publication, made, target)
    if target.exists():
        for words in said_of_both(target, made):
            click.echo(f"dpcov: {words}", err=True)
    save(made, target, force)
    tell_made(made, output, quiet=quiet, as_json=as_json)


def tell_dry_run(target: str, data: str, budget: Budget, *, as_json: bool, isolated: bool, **settings: Any) -> None:
    """Rehearse a release, for which the table is opened for its names and types only, and say what it would do."""
    from dpcov.dry_run import rehearse
    from dpcov.report import record, write
    from dpcov.report.text import console

    assert not isolated  # refused with its option
    found = rehearse(target, data, budget, **settings)
    planned = _planned(found)
    if as_json:
        print_json({**record(found), **({} if planned is None else {"plan": record(planned)})})
        return
    write(console(), found, data=str(data))
    if planned is not None:
        write(console(), planned, within=True)
    elif found.by_column:
        of = "PEOPLE" if found.planned.unit else "ROWS"
        click.echo(f"How large errors will be, column by column: `dpcov plan --schema FILE --n {of}`.")


def _planned(found: Rehearsal) -> TablePlan | None:
    """Plan a table that would be measured in private units, where the number of its rows is public and known."""
    from dpcov.evaluate.table_plan import MOST, plan_table

    if not found.by_column or found.n is None:
        return None
    planned = found.planned
    assert planned.schema is not None
    options: dict[str, Any] = dict(planned.requested_options)
    n = min(found.n, MOST)
    return plan_table(planned.schema, planned.privacy, n=n, mechanism=planned.requested, neighbors=planned.neighbors, **options)


def tell_made(made: Release, output: str, *, quiet: bool, as_json: bool) -> None:
    """Say what was made, to people or machines."""
    from dpcov.report.releases import facts, write_made
    from dpcov.report.text import console

    if made.seeded:
        click.echo("dpcov: --seed makes the noise predictable: this release is NOT private.", err=True)
    if as_json:
        print_json({"file": output, **facts(made)})
    elif not quiet:
        write_made(console(), made, output)
