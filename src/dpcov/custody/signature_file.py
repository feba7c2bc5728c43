"""The file of signatures beside a release: strict JSON, in which each signer has one entry.

It has no field for an algorithm: version 1 means Ed25519, so that nobody can ask a reader for a weaker one.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from dpcov.errors import EngineError, ReleaseError
from dpcov.paths import first_bytes, write_whole
from dpcov.schema import is_broken
from dpcov.strict_json import Fields, each, read_object, refuse

FORMAT = "dpcov signatures"
FORMAT_VERSION = 1
ENDING = ".sig"
LONGEST_NAME = 200  # characters that a signer may say of itself
LARGEST = 2**20  # bytes: thousands of signers

HINT = "ask for the signatures anew"


@dataclass(frozen=True)
class Signature:
    """One signer's entry: the public key, what the signer calls itself, and the signature, all as in the file."""

    key: str
    name: str
    signature: str


def beside(release: Path) -> Path:
    """Return where the signatures of a release are."""
    return release.with_name(release.name + ENDING)


def read(path: Path) -> list[Signature]:
    """Return the entries of a file of signatures, or refuse it; whether they are good is another question."""
    try:
        content = first_bytes(path, LARGEST + 1)
    except OSError as error:
        raise EngineError(
            f"signatures must be in a file that can be read, got {str(path)!r} ({error.strerror}). "
            f"Hint: `dpcov sign` writes it beside the release."
        ) from None
    try:
        return _entries(content)
    except ReleaseError as error:
        said = str(error).replace("release file", "signature file", 1).partition(" Hint:")[0]
        raise ReleaseError(f"{said} Hint: {HINT}.") from None


def write(path: Path, entries: list[Signature]) -> None:
    """Write entries; the file appears whole or not at all."""
    record = {"format": FORMAT, "format_version": FORMAT_VERSION, "signatures": [asdict(entry) for entry in entries]}
    write_whole(path, json.dumps(record, indent=2) + "\n", name="signatures", hint="check the folder and the disk")


def _entries(content: bytes) -> list[Signature]:
    if len(content) > LARGEST:
        refuse("of at most 1 MB", "a larger one")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        refuse("text in UTF-8", "bytes that are not")
    if not text.lstrip().startswith("{"):
        refuse("what `dpcov sign` wrote", "another file")
    fields = Fields(read_object(text), "file")
    fields.choice("format", [FORMAT])
    version = fields.take("format_version", int)
    if version != FORMAT_VERSION:
        refuse(f"of format version {FORMAT_VERSION}", f"{version}", hint="install a newer dpcov")
    entries = [_entry(record) for record in each(fields.take("signatures", list), dict, "signatures")]
    fields.end()
    if len({entry.key for entry in entries}) < len(entries):
        refuse("consistent", "two signatures by one key")
    return entries


def _entry(record: dict[str, object]) -> Signature:
    fields = Fields(record, "signature")
    entry = Signature(*(fields.take(name, str) for name in ("key", "name", "signature")))
    fields.end()
    for name, text, size in (("key", entry.key, 64), ("signature", entry.signature, 128)):
        if not re.fullmatch("[0-9a-f]*", text) or len(text) != size:
            refuse(f"well formed: a {name} has {size} hexadecimal digits", f"{len(text)} characters, or others")
    if len(entry.name) > LONGEST_NAME or is_broken(entry.name):
        refuse(f"well formed: a name has at most {LONGEST_NAME} characters", "another one")
    return entry
