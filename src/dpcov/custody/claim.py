"""Which ledger keeps the budget of a file: a small file beside it says so, and releases charged elsewhere are refused.

That cannot stop who wants to spend twice. It stops who forgot the ledger, or took another one.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from dpcov.errors import EngineError, ParameterError
from dpcov.paths import checked_path, write_whole

if TYPE_CHECKING:
    from dpcov.custody.ledger import DataSet

ENDING = ".dpcov-ledger"
LARGEST = 10_000  # bytes: what claims a file is a line


def claimed_place(data: str | os.PathLike[str], ledger: str, name: str) -> Path:
    """Return the place of a file or folder, or refuse one that does not exist, or whose budget is kept elsewhere."""
    place = checked_path(data).resolve()
    if not place.exists():
        raise EngineError(f"data must be a file or folder that exists, got {str(data)!r}. Hint: check the path.")
    found = _claim_of(place)
    if found is not None and found != (ledger, name):
        raise ParameterError(
            f"data must have one ledger, got {place.name!r}, whose budget is kept in another one, or under another name. "
            f"Hint: release from that one; {_beside(place).name} names it."
        )
    return place


def claim(place: Path, ledger: str, name: str) -> None:
    """Say beside a file which ledger keeps its budget."""
    record = {"budget kept by": "dpcov ledger", "ledger": ledger, "dataset": name}
    write_whole(_beside(place), json.dumps(record) + "\n", name="data", hint="its folder must be writable, or leave data= out")


def refuse_claimed(data: object, charged: DataSet | None) -> None:
    """Refuse to release from a file whose budget is kept in a ledger, unless it is charged there."""
    path = getattr(data, "path", data)  # of a `Csv`
    if not isinstance(path, str | os.PathLike):
        return
    try:
        found = _claim_of(Path(path).resolve())
    except (OSError, ValueError):  # no path of this machine: a URI, a pattern
        return
    if found is None or (charged is not None and found == (charged.ledger.identifier, charged.name)):
        return
    if charged is None:
        raise ParameterError(
            f"ledger must be given for {Path(path).name!r}, whose budget is kept in one as {found[1]!r}, got none. "
            f"Hint: pass ledger=dpcov.Ledger(FILE).dataset({found[1]!r})."
        )
    raise ParameterError(
        f"ledger must be the one that keeps the budget of {Path(path).name!r}, as {found[1]!r}, got another or another name. "
        f"Hint: {Path(path).name}{ENDING} names it."
    )


def _beside(place: Path) -> Path:
    return place.with_name(place.name + ENDING)


def _claim_of(place: Path) -> tuple[str, str] | None:
    """Return the ledger and the data set that claim a file, or a folder that it is in."""
    for one in (place, *place.parents):
        beside = _beside(one) if one.name else None
        if beside is not None and beside.is_file():
            return _read(beside)
    return None


def _read(beside: Path) -> tuple[str, str]:
    try:
        if beside.stat().st_size > LARGEST:
            raise ValueError
        record = json.loads(beside.read_text(encoding="utf-8"))
        return str(record["ledger"]), str(record["dataset"])
    except (OSError, ValueError, KeyError, TypeError):
        raise EngineError(
            f"data must have a claim that can be read beside them, got a damaged {beside.name!r}. "
            f"Hint: `dpcov ledger init ... --data FILE` writes it."
        ) from None
