"""Which ledger keeps the budget of a file: a small file beside it says so, and releases charged elsewhere are refused.

That cannot stop who wants to spend twice. It stops who forgot the ledger, or took another one.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from dpcov.errors import EngineError, ParameterError, raise_alone, shown
from dpcov.paths import checked_path, write_new

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
    """Say beside a file which ledger keeps its budget; of two that say so at once one is refused."""
    record = {"budget kept by": "dpcov ledger", "ledger": ledger, "dataset": name}
    hint = "its folder must be writable, or leave data= out"
    if not write_new(_beside(place), json.dumps(record) + "\n", name="data", hint=hint):
        claimed_place(place, ledger, name)


def refuse_claimed(data: object, charged: DataSet | None) -> None:
    """Refuse to release from a file whose budget is kept in a ledger, unless it is charged there."""
    from dpcov.sources.on_device import OnDevice

    path = data.data if isinstance(data, OnDevice) else getattr(data, "path", data)  # of a `Csv`, or an `OnSpark`
    if not isinstance(path, str | os.PathLike):
        return
    from dpcov.sources.files import local_files

    for place in (path, *local_files(path)):  # a folder or a pattern may hold a file that has a claim of its own
        try:
            found = _claim_of(Path(place).resolve())
        except (OSError, ValueError):  # no path of this machine: a URI
            continue
        if found is not None and (charged is None or found != (charged.ledger.identifier, charged.name)):
            _refuse(Path(place).name, found[1], charged)


def _refuse(file: str, name: str, charged: DataSet | None) -> NoReturn:
    if charged is None:
        raise ParameterError(
            f"ledger must be given for {file!r}, whose budget is kept in one as {shown(name)}, got none. "
            f"Hint: pass ledger=dpcov.Ledger(FILE).dataset({shown(name)})."
        )
    raise ParameterError(
        f"ledger must be the one that keeps the budget of {file!r}, as {shown(name)}, got another or another name. "
        f"Hint: {file}{ENDING} names it."
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
        raise_alone(
            EngineError(
                f"data must have a claim that can be read beside them, got a damaged {beside.name!r}. "
                f"Hint: put it back from a backup; only where no ledger keeps this budget, delete it."
            )
        )
