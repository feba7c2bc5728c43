"""Files: names checked early, contents written whole or not at all."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

from dpcov.errors import EngineError, ParameterError, shown

IN_MEMORY = "what was to be written is still in memory; save it elsewhere"

_serial = itertools.count()


def checked_path(path: object) -> Path:
    """Refuse what cannot be the name of a file."""
    hint = "pass a file name such as 'release.json'"
    if not isinstance(path, str | os.PathLike):
        raise ParameterError(f"path must be text or a Path, got {shown(path)}. Hint: {hint}.")
    checked = Path(path)
    try:
        os.fsencode(checked)
        named = bool(checked.name) and "\0" not in str(checked)
    except UnicodeEncodeError:
        named = False
    if not named:
        raise ParameterError(f"path must be the name of a file, got {shown(str(checked))}. Hint: {hint}.")
    return checked


def write_whole(target: Path, content: str | bytes, *, name: str = "path", hint: str = IN_MEMORY) -> None:
    """Write to a temporary file in the same folder, then rename: never half a file."""
    partial = target.parent / f".dpcov-{os.getpid()}-{next(_serial)}.partial"  # shared with no other writer
    try:
        try:
            with partial.open("wb") as file:
                file.write(content.encode() if isinstance(content, str) else content)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise EngineError(
            f"{name} must be a file that can be written, got {str(target)!r} ({error.strerror}). Hint: {hint}."
        ) from None
