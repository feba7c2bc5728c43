"""A CSV file that is not written as usual: with semicolons, decimal commas, or in an older encoding."""

from __future__ import annotations

import codecs
import io
import os
from dataclasses import dataclass
from typing import Any

from dpcov.errors import ParameterError, check_choice, shown

UTF_8 = "utf-8"
BYTES = 2**16  # read at a time
ENCODINGS = ("iso8859-", "cp125", "cp437", "cp850", "cp852", "mac-roman", "koi8-", "utf-16", "utf-32", "gb18030", "shift_jis")
"""How the names begin, as Python spells them, of what else may be read: none of them can fail on any bytes."""
WIDE = ("utf-16", "utf-32", "gb18030", "shift_jis")
"""Of these, the ones in which a byte of another letter may look like a line break or a separator."""


@dataclass(frozen=True)
class Csv:
    """A CSV file, and how it is written: what ``data`` can be wherever a path can.

    Parameters
    ----------
    path : str or Path
        The file; it may be compressed (.gz, .bz2, .zst).
    separator : str, optional
        One character such as ";" or "|"; by default a comma, in a .tsv file a tab.
    decimal : {".", ","}
        What stands before the decimals of a number. Thousands have no mark: a cell with one is missing.
    encoding : str
        "utf-8", "latin-1", "cp1252", "utf-16" and the like. Bytes that mean nothing in it make a cell that is no level, never
        an error.

    Examples
    --------
    >>> Csv("people.csv", separator=";", decimal=",", encoding="latin-1")
    Csv(path='people.csv', separator=';', decimal=',', encoding='latin-1')
    """

    path: str | os.PathLike[str]
    separator: str | None = None
    decimal: str = "."
    encoding: str = UTF_8

    def __post_init__(self) -> None:
        if not isinstance(self.path, str | os.PathLike) or isinstance(self.path, Csv):
            raise ParameterError(f"path must be text or a Path, got {shown(self.path)}. Hint: Csv('people.csv').")
        check_choice("decimal", self.decimal, (".", ","), "it stands before the decimals of a number")
        given = self.separator
        if given is not None and not (isinstance(given, str) and len(given) == 1 and given in ",;|:\t "):
            raise ParameterError(
                f"separator must be one of a comma, ;, |, :, a blank and a tab, got {shown(given)}. Hint: separator=';'."
            )
        if given == self.decimal or (given is None and self.decimal == "," and not str(os.fspath(self.path)).count(".tsv")):
            raise ParameterError(f"separator must differ from decimal, got {self.decimal!r} for both. Hint: separator=';'.")
        if not isinstance(self.encoding, str) or not _is_known(self.encoding):
            raise ParameterError(
                f"encoding must be that of a text file, got {shown(self.encoding)}. Hint: 'utf-8', 'latin-1' or 'cp1252'."
            )

    def __fspath__(self) -> str:
        return str(os.fspath(self.path))

    def __str__(self) -> str:
        return self.__fspath__()


def is_utf_8(encoding: str) -> bool:
    """Whether it is what Arrow reads."""
    return codecs.lookup(encoding).name == UTF_8


def keeps_ascii(encoding: str) -> bool:
    """Whether the bytes of line breaks, quotes and separators are these signs and nothing else."""
    name = codecs.lookup(encoding).name
    return name == UTF_8 or not name.startswith(WIDE)


def in_utf_8(stream: Any, encoding: str) -> io.RawIOBase:
    """Return a stream of bytes in another encoding as one in UTF-8; what means nothing is replaced, never refused."""
    return _Recoded(stream, encoding)


class _Recoded(io.RawIOBase):
    """Bytes of a file, in UTF-8."""

    def __init__(self, stream: Any, encoding: str) -> None:
        self._stream, self._decoder = stream, codecs.getincrementaldecoder(encoding)(errors="replace")
        self._rest = b""

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return at most so many bytes; none at the end."""
        while not self._rest:
            found = bytes(self._stream.read(BYTES))
            self._rest = self._decoder.decode(found, final=not found).encode("utf-8", "replace")
            if not found:
                break
        size = len(self._rest) if size < 0 else size
        given, self._rest = self._rest[:size], self._rest[size:]
        return given


def _is_known(encoding: str) -> bool:
    try:
        name = codecs.lookup(encoding).name
    except (LookupError, ValueError):
        return False
    return name == UTF_8 or name.startswith(ENCODINGS)
