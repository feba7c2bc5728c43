"""JSON read strictly: what is missing, unknown, repeated, of another type or not finite is refused."""

from __future__ import annotations

import base64
import json
import math
import re
import zlib
from collections.abc import Collection
from fractions import Fraction
from typing import Any, NoReturn, TypeVar

from dpcov.errors import ReleaseError, raise_alone, shown

T = TypeVar("T")

MANY = 10_000  # numbers are written as bytes, compressed; fewer as a list
WORD = 8  # bytes


def read_object(text: str) -> dict[str, Any]:
    """Parse one JSON object without repeated keys or NaN."""
    if not text.lstrip().startswith("{"):
        refuse("what `dpcov release` or Release.save wrote", "another file", "give the release, not the data or the schema")
    try:
        record = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant, parse_int=_integer, parse_float=_real)
    except json.JSONDecodeError as error:
        refuse("whole JSON", f"an error at line {error.lineno}; the file may be truncated")
    except RecursionError:
        refuse("a flat record", "too many nested brackets")
    if not isinstance(record, dict):
        refuse("a JSON object", f"a {type(record).__name__}")
    return record


class Fields:
    """A JSON object read field by field; what is missing, of another type, or left over is refused."""

    def __init__(self, record: dict[str, Any], name: str) -> None:
        self._left, self._name = dict(record), name

    def take(self, key: str, kind: type[T]) -> T:
        """Return the field, which must have exactly this type."""
        value = self._left.pop(key, None)
        if type(value) is not kind:  # not isinstance: JSON's true is no integer
            refuse(f"complete: {self._name}.{key} is a {kind.__name__}", type(value).__name__)
        return value

    def choice(self, key: str, choices: Collection[str]) -> str:
        """Return the field, which must be one of the choices."""
        value = self.take(key, str)
        if value not in choices:
            refuse(f"known to this version: {self._name}.{key} is one of {sorted(choices)}", shown(value))
        return value

    def end(self) -> None:
        """Refuse fields that nobody took."""
        if self._left:
            refuse(f"of this version, whose {self._name} has no other field", shown(sorted(self._left)[0]))


def each(values: list[Any], kind: type[T], name: str) -> list[T]:
    """Return a list whose members must all have exactly this type."""
    if any(type(value) is not kind for value in values):
        refuse(f"well formed: {name} holds only {kind.__name__}", "another type")
    return values


def packed(words: bytes) -> str | None:
    """Return many words of eight bytes as text, compressed; None where there are few, or they compress as noise does not."""
    size = len(words) // WORD
    made = zlib.compress(words) if size > MANY else b""
    return None if len(made) < size else base64.b64encode(made).decode("ascii")


def unpacked(text: str, size: int, otherwise: str, *, least: int = 0) -> bytes:
    """Return so many bytes and no more, which are packed in no fewer than ``least``: a small file cannot ask for much memory.

    ``otherwise`` says what a file has whose bytes are more or fewer.
    """
    unpacker = zlib.decompressobj()
    try:
        packed = base64.b64decode(text, validate=True)
        made = unpacker.decompress(packed, size + 1) if len(packed) >= least else b""
    except (ValueError, zlib.error):  # of base64: other letters, or none of ASCII
        refuse("well formed: many numbers are base64 of zlib", "other text")
    if len(made) != size or not unpacker.eof or unpacker.unused_data:
        refuse("consistent", otherwise)
    return made


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        refuse("without repeated keys", "the same key twice")
    return record


def _integer(text: str) -> int:
    return int(text) if len(text) <= 20 else refuse("made of integers of at most 20 digits", "a longer one")


def _real(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else refuse("made of finite numbers", "one that is too large")


def _no_constant(name: str) -> NoReturn:
    refuse("made of finite numbers", name)


def refuse(rule: str, found: str, hint: str = "ask for the original file") -> NoReturn:
    """Say why a release file is not accepted."""
    raise_alone(ReleaseError(f"release file must be {rule}, got {found}. Hint: {hint}."))  # of a file that may be no release


def fraction_of(text: object) -> Fraction:
    """Read a positive fraction."""
    if not isinstance(text, str) or not re.fullmatch(r"[1-9][0-9]{0,999}(/[1-9][0-9]{0,999})?", text):
        refuse("well formed: amounts are positive fractions such as '1/10'", "other text")
    return Fraction(text)
