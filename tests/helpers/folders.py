"""Folders with the same files for many tests: made once, and laid down for each of them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path


def made_once(write: Callable[[Path], None]) -> Callable[[Path], None]:
    """Return a function that puts into a folder what ``write`` puts there; it is called once, as tables take long to format."""

    @cache
    def contents() -> dict[str, bytes]:
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder))
            return {path.name: path.read_bytes() for path in Path(folder).iterdir()}

    def lay(folder: Path) -> None:
        for name, content in contents().items():
            (folder / name).write_bytes(content)

    return lay
