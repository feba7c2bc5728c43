"""Where files are: on this machine's disks, or behind a URI that pyarrow can open; alone, in a folder, or by a pattern.

Files come in the order of their paths, always. A folder called ``key=value`` gives the files below it a column of that name.
Messages name a file by its last name and its number: folders may hold cells, and a URI a password.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path, PurePath, PurePosixPath
from typing import Any
from urllib.parse import unquote

from dpcov.errors import EngineError, ParameterError, raise_alone
from dpcov.paths import checked_path
from dpcov.sources.tables import reading

URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
PATTERN = re.compile(r"[*?[]")
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""How the writers of such folders call a missing value."""


@dataclass(frozen=True)
class Place:
    """A file.

    ``path`` is local unless there is a ``uri`` that leads to its filesystem; ``keys`` are the columns that its folders name.
    """

    path: str
    uri: str | None = None
    keys: tuple[tuple[str, str | None], ...] = ()
    number: str = ""

    @property
    def name(self) -> str:
        """How messages call it."""
        return f"{self._pure.name!r}{self.number}"

    @property
    def is_local(self) -> bool:
        """Whether it is on this machine's disks."""
        return self.uri is None

    @property
    def endings(self) -> list[str]:
        """The endings of its name, in lower case."""
        return [ending.lower() for ending in self._pure.suffixes]

    @property
    def _pure(self) -> PurePath:
        return Path(self.path) if self.uri is None else PurePosixPath(self.path)

    def stream(self) -> Any:
        """Return its bytes, to be read anywhere in it."""
        import pyarrow as pa

        if self.uri is None:
            return pa.OSFile(self.path, "rb")
        return filesystem(self.uri)[0].open_input_file(self.path)

    def size(self) -> int:
        """Return how many bytes it has."""
        if self.uri is None:
            return Path(self.path).stat().st_size
        return int(filesystem(self.uri)[0].get_file_info(self.path).size)


def is_remote(path: str) -> bool:
    """Whether it is a URI that leads away from this machine's disks."""
    return URI.match(path) is not None and not path.lower().startswith("file://")


def filesystem(uri: str) -> tuple[Any, str]:
    """Return what reads a URI, and the path in it."""
    from pyarrow import fs

    with reading("check the address, and that this machine may read it"):
        return fs.FileSystem.from_uri(uri)  # type: ignore[no-any-return]


def find(data: str | os.PathLike[str], endings: tuple[str, ...]) -> list[Place]:
    """Return the files that a path, a pattern, a folder or a URI means; of a folder, those with these endings."""
    text = os.fspath(data)
    if URI.match(text):
        if not is_remote(text):
            return find(filesystem(text)[1], endings)
        return _numbered(list(_remote(text, endings)), "a URI")
    checked = checked_path(text)
    try:
        if checked.is_file():
            return [Place(str(checked))]
        folder = checked.is_dir()
    except OSError as error:  # a name too long, a folder that may not be entered
        raise_alone(EngineError(f"data must be a file, got {str(checked)!r} ({error.strerror}). Hint: check the path."))
    if folder:
        below = [path.relative_to(checked).as_posix() for path in checked.rglob("*") if path.is_file()]
        found = [Place(str(checked / one), keys=_keys(one)) for one in below if _is_data(one, endings)]
        return _numbered(found, f"{str(checked)!r} (a directory)")
    if PATTERN.search(text):
        base, pattern = _split_pattern(PurePosixPath(checked.as_posix()))
        # What the pattern names is looked for, hidden files and markers of writers aside.
        matched = [path.relative_to(base).as_posix() for path in Path(base).glob(pattern) if path.is_file()]
        found = [Place(str(Path(base) / one), keys=_keys(one)) for one in matched if _is_plain(one)]
        return _numbered(found, f"{str(checked)!r}")
    raise EngineError(f"data must be a file, got {str(checked)!r} (no such file). Hint: check the path.")


def _remote(uri: str, endings: tuple[str, ...]) -> Iterator[Place]:
    from pyarrow import fs

    system, path = filesystem(uri)
    with reading("check the address, and that this machine may read it"):
        pattern = PATTERN.search(path) is not None
        base = _split_pattern(PurePosixPath(path))[0] if pattern else path
        kind = system.get_file_info(base).type
        if kind == fs.FileType.File:
            yield Place(path, uri)
            return
        listed = system.get_file_info(fs.FileSelector(base, recursive=True)) if kind == fs.FileType.Directory else []
        below = [str(one.path) for one in listed if one.is_file]
    for one in below:
        inside = one[len(base) :].lstrip("/")
        matches = _matches(one, path) and _is_plain(inside) if pattern else _is_data(inside, endings)
        if matches:
            yield Place(one, uri, _keys(inside))


def _matches(path: str, pattern: str) -> bool:
    """Whether a path fits a pattern, folder by folder."""
    found, wanted = PurePosixPath(path).parts, PurePosixPath(pattern).parts
    return len(found) == len(wanted) and all(map(fnmatchcase, found, wanted))


def _split_pattern(path: PurePosixPath) -> tuple[str, str]:
    """Return the folder above the first pattern, and the rest."""
    first = next(place for place, part in enumerate(path.parts) if PATTERN.search(part))
    return str(PurePosixPath(*path.parts[:first])), str(PurePosixPath(*path.parts[first:]))


def _is_plain(path: str) -> bool:
    """Whether it is no file that a writer left beside its data."""
    return not any(part.startswith((".", "_")) and "=" not in part for part in PurePosixPath(path).parts)


def _is_data(path: str, endings: tuple[str, ...]) -> bool:
    return _is_plain(path) and path.lower().endswith(endings)


def _keys(path: str) -> tuple[tuple[str, str | None], ...]:
    """Return the columns that folders name."""
    pairs = (part.partition("=") for part in PurePosixPath(path).parts[:-1] if "=" in part)
    return tuple((unquote(key), None if value == NO_VALUE else unquote(value)) for key, _, value in pairs)


def _numbered(found: list[Place], what: str) -> list[Place]:
    """Return the files in the order of their paths, or refuse to read none, or some with columns that others lack."""
    if not found:
        raise EngineError(
            f"data must be files that can be read, got {what} with none. Hint: 'data/*.parquet' names them by a pattern."
        )
    placed = sorted(found, key=lambda place: place.path)
    for place in placed:
        if [key for key, _ in place.keys] != [key for key, _ in placed[0].keys]:
            raise ParameterError(
                f"data must lie in folders of the same keys, got {place.name} in other ones than {placed[0].name}. "
                f"Hint: read the folders one by one."
            )
    if len(placed) == 1:
        return placed
    return [replace(place, number=f" (file {i} of {len(placed)})") for i, place in enumerate(placed, 1)]
