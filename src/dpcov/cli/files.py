"""Files that commands write: places are checked before anything is spent, and files appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpcov.release.record import Release


def checked_target(
    output: str, *, force: bool, kept: str, inputs: tuple[str, ...] = (), hint: str = "choose a new name, or --force"
) -> Path:
    """Return a path that can be written, or refuse it: now, before anything is spent.

    ``kept`` says why an existing file stays without ``force``; a file among ``inputs`` stays in any case.
    """
    from dpcov.errors import EngineError, ParameterError
    from dpcov.paths import checked_path

    if output == "-":
        raise ParameterError("output must be the name of a file, got '-'. Hint: a release is written whole, not streamed.")
    target = checked_path(output)
    if target.exists():
        if not target.is_file():
            what = "a directory" if target.is_dir() else "a device"
            raise EngineError(f"output must be a file, got {output!r} ({what}). Hint: give the name of a file.")
        if any(os.path.exists(path) and target.samefile(path) for path in inputs):  # noqa: PTH110 - any text is a path here
            raise ParameterError(f"output must not be one of the input files, got {output!r}. Hint: choose a new name.")
        if not force:
            raise ParameterError(f"output must not exist yet, got {output!r}: {kept}. Hint: {hint}.")
    try:
        with tempfile.NamedTemporaryFile(prefix=".dpcov-", suffix=".probe", dir=target.parent):
            pass
    except OSError as error:
        raise EngineError(
            f"output must be in a folder that can be written, got {output!r} ({error.strerror}). Hint: create the folder first."
        ) from None
    return target


def input_files(data: Any, *others: str | None) -> tuple[str, ...]:
    """Return the files that a command reads: those that a folder or a pattern means, too; of a query those of its sums."""
    from dpcov.sources.files import local_files

    sums = getattr(data, "exact_sums", None)
    read = (() if sums is None else (str(sums),)) if hasattr(data, "query") else (str(data), *local_files(data))
    return (*read, *(other for other in others if other is not None))


def checked_picture(output: str | None, *inputs: str) -> Path | None:
    """Return where a picture can be written; one that is there already is drawn anew, but for a file among ``inputs``."""
    from dpcov.report.pictures import picture_format

    if output is None:
        return None
    picture_format(Path(output))
    return checked_target(output, force=True, kept="", inputs=inputs)


def differ(flag: str, path: Path | None, other: str, first: Path | None) -> None:
    """Refuse one file for two outputs."""
    from dpcov.errors import ParameterError

    if path is not None and first is not None and path.absolute() == first.absolute():
        raise ParameterError(f"{flag} must be a different file from {other}, got {str(path)!r} twice. Hint: choose a new name.")


def checked_table(output: str, endings: tuple[str, ...], example: str, *, force: bool, inputs: tuple[str, ...]) -> Path:
    """Return where a table can be written, by a name with one of these endings, or refuse it."""
    from dpcov.errors import ParameterError

    if not output.lower().endswith(endings):
        known = " or ".join(endings)
        raise ParameterError(f"output must be a name that ends in {known}, got {output!r}. Hint: {example}.")
    return checked_target(output, force=force, kept="it may be wanted", inputs=inputs)


def save_table(table: Any, place: Path | None) -> None:
    """Write a table where `checked_table` said that it can be; without a place as a CSV to stdout."""
    import click

    from dpcov.paths import write_whole
    from dpcov.report.tables import csv_text, parquet_bytes

    if place is None:
        for text in csv_text(table):
            click.echo(text, nl=False)
        return
    content = parquet_bytes(table) if place.suffix.lower() == ".parquet" else "".join(csv_text(table))
    write_whole(place, content, name="output", hint="check the folder and the disk")


def loaded(file: str, group: str | None) -> Release:
    """Read a release, or what it says of one group."""
    from dpcov.release.file import load

    release = load(file)
    return release if group is None else release[group]
