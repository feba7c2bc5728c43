"""The ledger's file: entries that are only ever added, each with the hash of the one before, in one SQLite table.

A write is one transaction that holds the file's lock from before its first look to after its last, so what it saw is still true
when it commits. WAL with synchronous=FULL: what was committed survives a crash of the process, and of the machine.

The hash of an entry covers its text and the hash before it. So an entry that was edited, removed or moved shows; that the last
ones were cut off, or an old copy was put back, shows in a release that knows a later one (`dpcov.custody.verifying`). Each
entry holds random digits: without the ledger, its hash in a release confirms no guess at who released what, and why.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from urllib.parse import quote

from dpcov.custody.people import current_user
from dpcov.custody.place import refuse_odd, refuse_place, unusable
from dpcov.errors import BudgetError, EngineError, printable
from dpcov.kernel.bits import SystemBits
from dpcov.paths import make_private

APPLICATION = 0x64706376  # "dpcv": so that no other database is taken for a ledger
VERSION = 1
PATIENCE = 60.0  # seconds to wait for the lock: a spend holds it for milliseconds
MOST_ROWS_AT_ONCE = 1000

CONNECTED = threading.RLock()
"""Held while this process has a connection, and while it forks.

A child would inherit a lock on the file that SQLite believes it has, and the system gave to its parent: what it then commits
goes into a log that others delete.
"""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=CONNECTED.acquire, after_in_parent=CONNECTED.release, after_in_child=CONNECTED.release)

BROKEN = (sqlite3.Error, UnicodeDecodeError)  # the latter where SQLite quotes a damaged name
FIELDS = {"sequence", "event", "dataset", "time", "who", "user", "why", "facts", "salt"}  # of an entry
COLUMNS = "sequence, dataset, event, body, hash"

TABLES = """
CREATE TABLE entries (
  sequence INTEGER PRIMARY KEY, dataset TEXT NOT NULL, event TEXT NOT NULL, body TEXT NOT NULL, hash TEXT NOT NULL);
CREATE INDEX by_dataset ON entries (dataset, event, sequence);
CREATE INDEX by_opening ON entries (sequence) WHERE event = 'opened';
CREATE TRIGGER never_edited BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'entries are never edited'); END;
CREATE TRIGGER never_removed BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'entries are never removed'); END;
"""
STATEMENTS = TABLES.strip().removesuffix(";").split(";\n")


@dataclass(frozen=True)
class Entry:
    """One thing that happened: what, to which data set, who did it and why, and the facts of it."""

    sequence: int
    dataset: str
    event: str
    body: str
    hash: str

    @property
    def told(self) -> dict[str, Any]:
        """All that the entry says."""
        try:
            told = json.loads(self.body)
        except (ValueError, TypeError, RecursionError):
            told = None
        if not isinstance(told, dict) or not told.keys() >= FIELDS or not isinstance(told["facts"], dict):
            raise BudgetError(
                f"ledger must be as it was written, got an entry {self.sequence} that cannot be read. "
                f"Hint: `dpcov ledger verify`."
            )
        return told

    @property
    def time(self) -> str:
        """When it happened, by the clock of whoever wrote it."""
        return str(self.told["time"])

    @property
    def user(self) -> str:
        """Which user of which machine wrote it."""
        return str(self.told["user"])

    @property
    def facts(self) -> dict[str, Any]:
        """What is particular to its event."""
        return dict(self.told["facts"])

    @property
    def is_in_place(self) -> bool:
        """Whether the entry is found as what it says that it is."""
        told = self.told
        return [told.get(name) for name in ("sequence", "dataset", "event")] == [self.sequence, self.dataset, self.event]

    def follows(self, previous: str) -> bool:
        """Whether this entry, as it stands here, was written after the one with this hash."""
        return self.hash == _hash(previous, self.body)


class Writing:
    """The ledger while its lock is held, or while one state of it is read."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def last(self, dataset: str, event: str) -> Entry | None:
        """Return the last entry of an event about a data set, or refuse one that was edited."""
        text = f"SELECT {COLUMNS} FROM entries WHERE dataset = ? AND event = ? ORDER BY sequence DESC LIMIT 1"
        found = self._connection.execute(text, (dataset, event)).fetchone()
        return None if found is None else self._whole(Entry(*found))

    def refuse_hidden(self, dataset: str, event: str, after: int) -> None:
        """Refuse a file in which an entry of an event comes after the last one that is found: a damaged index may lose one.

        It reads what entries say, and no index: those between the last such entry and the end, which are few.
        """
        text = (
            "SELECT sequence FROM entries NOT INDEXED WHERE sequence > ? AND instr(body, ?) AND instr(body, ?) "
            "ORDER BY sequence DESC LIMIT 1"
        )
        said = [f'"{name}":{json.dumps(value)}' for name, value in (("dataset", dataset), ("event", event))]
        found = self._connection.execute(text, (after, *said)).fetchone()
        if found is not None:
            raise BudgetError(
                f"ledger must be as it was written, got an entry {found[0]} that is not found by what it says. "
                f"Hint: `dpcov ledger verify`."
            )

    def _whole(self, entry: Entry) -> Entry:
        """Return an entry that is as it was written after the one before it: nobody spends after an edit."""
        before = self.at(entry.sequence - 1)
        if not entry.follows("" if before is None else before.hash) or not entry.is_in_place:
            raise BudgetError(
                f"ledger must be as it was written, got an edited entry {entry.sequence}. Hint: `dpcov ledger verify`."
            )
        return entry

    def count(self, dataset: str, event: str, after: int) -> int:
        """Return how many entries of an event there are after one."""
        text = "SELECT COUNT(*) FROM entries WHERE dataset = ? AND event = ? AND sequence > ?"
        return int(self._connection.execute(text, (dataset, event, after)).fetchone()[0])

    def counts(self, dataset: str) -> dict[str, int]:
        """Return how many entries of each event a data set has; of a million it takes a tenth of a second."""
        text = "SELECT event, COUNT(*) FROM entries WHERE dataset = ? GROUP BY event"
        return {str(event): int(number) for event, number in self._connection.execute(text, (dataset,))}

    def after(self, dataset: str, event: str, sequence: int) -> Iterator[Entry]:
        """Yield the entries of an event about a data set that come after one, in order."""
        text = f"SELECT {COLUMNS} FROM entries WHERE dataset = ? AND event = ? AND sequence > ? ORDER BY sequence"
        yield from (Entry(*row) for row in self._connection.execute(text, (dataset, event, sequence)))

    def at(self, sequence: int) -> Entry | None:
        """Return the entry of this number."""
        found = self._connection.execute(f"SELECT {COLUMNS} FROM entries WHERE sequence = ?", (sequence,)).fetchone()
        return None if found is None else Entry(*found)

    def entries(self) -> Iterator[Entry]:
        """Yield all entries in order."""
        rows = self._connection.execute(f"SELECT {COLUMNS} FROM entries ORDER BY sequence")
        while some := rows.fetchmany(MOST_ROWS_AT_ONCE):
            yield from (Entry(*row) for row in some)

    def some_after(self, sequence: int) -> list[Entry]:
        """Return the next entries after one, in order, and not all at once."""
        text = f"SELECT {COLUMNS} FROM entries WHERE sequence > ? ORDER BY sequence LIMIT ?"
        return [Entry(*row) for row in self._connection.execute(text, (sequence, MOST_ROWS_AT_ONCE))]

    def latest(self, dataset: str | None, most: int | None) -> tuple[list[Entry], int]:
        """Return the latest entries, of all data sets or of one, in order; and how many there are before them."""
        about, values = ("", ()) if dataset is None else ("WHERE dataset = ?", (dataset,))
        number = int(self._connection.execute(f"SELECT COUNT(*) FROM entries {about}", values).fetchone()[0])
        text = f"SELECT {COLUMNS} FROM entries {about} ORDER BY sequence DESC LIMIT ?"
        found = [Entry(*row) for row in self._connection.execute(text, (*values, -1 if most is None else most))]
        return found[::-1], number - len(found)

    def datasets(self) -> list[str]:
        """Return the names of the data sets, in the order in which they came."""
        rows = self._connection.execute("SELECT dataset FROM entries WHERE event = 'opened' ORDER BY sequence")
        return [row[0] for row in rows]

    def head(self) -> Entry | None:
        """Return the last entry of all."""
        found = self._connection.execute(f"SELECT {COLUMNS} FROM entries ORDER BY sequence DESC LIMIT 1").fetchone()
        return None if found is None else Entry(*found)

    def add(self, event: str, dataset: str, who: str, why: str, facts: Mapping[str, Any], time: str | None = None) -> Entry:
        """Add an entry after the last one.

        The entries of one release have one ``time``, that of the first: how long a draw took is nobody's business.
        """
        before = None if (head := self.head()) is None else self._whole(head)
        sequence, previous = (1, "") if before is None else (before.sequence + 1, before.hash)
        told = {
            "sequence": sequence,
            "event": event,
            "dataset": dataset,
            "time": time or datetime.now(UTC).isoformat(timespec="seconds"),  # as the clock says: the order is in the numbers
            "who": who,
            "user": current_user(),
            "why": why,
            "facts": dict(facts),
            "salt": random_digits(),
        }
        body = json.dumps(told, sort_keys=True, separators=(",", ":"), allow_nan=False)
        entry = Entry(sequence, dataset, event, body, _hash(previous, body))
        values = (entry.sequence, entry.dataset, entry.event, entry.body, entry.hash)
        self._connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?)", values)
        return entry

    def has_its_tables(self) -> bool:
        """Whether table, indexes and triggers are those that `Store.create` made: another trigger could drop what is added."""
        found = self._connection.execute("SELECT sql FROM sqlite_master WHERE substr(name, 1, 7) <> 'sqlite_'")
        return {row[0] for row in found} == set(STATEMENTS)

    def is_whole(self) -> bool:
        """Whether SQLite finds its own pages and indexes in order."""
        return [row[0] for row in self._connection.execute("PRAGMA integrity_check(1)")] == ["ok"]


class Store:
    """One file of entries. No connection is kept, and a fork waits until none is open: it has nothing to share."""

    def __init__(self, path: Path) -> None:
        self.path, self.identifier = path, ""

    def create(self, who: str) -> None:
        """Make the file, for its owner alone, with its first entry; leave one that is there already."""
        refuse_place(self.path)
        _words(self.path, make_private, self.path)
        refuse_odd(self.path)
        with self._connected() as connection:
            with self._transaction(connection, "IMMEDIATE"):
                if connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION:
                    return
                if connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]:
                    raise _no_ledger(self.path)
                for statement in STATEMENTS:
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {VERSION}")
                Writing(connection).add("created", "", who, "", {"ledger": random_digits()})
            self._log_ahead(connection)

    def _log_ahead(self, connection: sqlite3.Connection) -> None:
        """Switch on write-ahead logging; of processes that do so at once SQLite refuses all but one, without a wait."""
        until = monotonic() + PATIENCE
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
            except BROKEN as error:
                if "locked" not in str(error) or monotonic() > until:
                    raise _in_words(self.path, error) from None
                sleep(0.01)
            else:
                return

    @contextmanager
    def writing(self) -> Iterator[Writing]:
        """Hold the lock; what is added in the meantime is committed at the end, or not at all."""
        with self._opened() as connection, self._transaction(connection, "IMMEDIATE"):
            writing = Writing(connection)
            if not writing.has_its_tables():
                raise BudgetError(
                    "ledger must have the tables and triggers that it was made with, got others. Hint: `dpcov ledger verify`."
                )
            yield self._same(writing, first_is_whole=True)

    @contextmanager
    def reading(self) -> Iterator[Writing]:
        """Look at one state of the file, whatever others write."""
        with self._opened() as connection, self._transaction(connection, "DEFERRED"):
            yield self._same(Writing(connection), first_is_whole=False)

    def _same(self, found: Writing, *, first_is_whole: bool) -> Writing:
        """Return what was opened where it is the ledger that was opened before, not another in its place.

        With an edited first entry it can be looked at, which says what is wrong, and no longer be written.
        """
        first = found.at(1)
        if first is None or not first.follows(""):
            if first_is_whole:
                raise BudgetError("ledger must be as it was written, got an edited entry 1. Hint: `dpcov ledger verify`.")
            return found
        identifier = str(first.facts["ledger"])
        if self.identifier not in ("", identifier):
            raise BudgetError(
                f"ledger must be the one that was opened, got another in its place: {self.path.name!r}. Hint: open it again."
            )
        self.identifier = identifier
        return found

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        refuse_odd(self.path)
        refuse_place(self.path)
        with self._connected() as connection:
            found = _words(self.path, connection.execute, "PRAGMA application_id").fetchone()[0]
            version = _words(self.path, connection.execute, "PRAGMA user_version").fetchone()[0]
            if found != APPLICATION:
                raise _no_ledger(self.path)
            if version > VERSION:
                raise EngineError(f"ledger must be of version {VERSION}, got {version}. Hint: install a newer dpcov.")
            yield connection

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        place = f"file:{quote(str(self.path.absolute()))}?mode=rw"
        with CONNECTED:
            connection = _words(self.path, sqlite3.connect, place, uri=True, isolation_level=None, timeout=PATIENCE)
            with closing(connection):
                for setting in ("synchronous = FULL", "fullfsync = ON", "checkpoint_fullfsync = ON"):  # the latter for macOS
                    _words(self.path, connection.execute, f"PRAGMA {setting}")
                yield connection

    @contextmanager
    def _transaction(self, connection: sqlite3.Connection, kind: str) -> Iterator[None]:
        try:
            connection.execute(f"BEGIN {kind}")
            try:
                yield
            except BaseException:
                connection.rollback()
                raise
            connection.execute("COMMIT")
        except BROKEN as error:
            if connection.in_transaction:
                connection.rollback()
            raise _in_words(self.path, error) from None


def random_digits() -> str:
    """Return 32 random hexadecimal digits."""
    return SystemBits().words(2).tobytes().hex()


def _hash(previous: str, body: str) -> str:
    return hashlib.sha256(f"{previous}\n{body}".encode()).hexdigest()


def _words(path: Path, call: Any, *arguments: Any, **named: Any) -> Any:
    try:
        return call(*arguments, **named)
    except BROKEN as error:
        raise _in_words(path, error) from None
    except OSError as error:
        raise unusable(path, str(error.strerror)) from None


def _no_ledger(path: Path) -> EngineError:
    return EngineError(
        f"ledger must be a file that `dpcov ledger init` made, got another: {path.name!r}. Hint: check the path."
    )


def _in_words(path: Path, error: Exception) -> EngineError:
    """Return an error of the database as one of ours: it holds nothing of any data set."""
    said = "malformed text" if isinstance(error, UnicodeDecodeError) else printable(str(error), 200)
    if "not a database" in said:
        return _no_ledger(path)
    hints = {
        "locked": "another process holds it; try again",
        "is full": "make room on its disk, which is full",
        "readonly": "the file and its folder must be writable",
        "unable to open": "the file and its folder must exist and be writable",
        "malformed": "put back a backup, then `dpcov ledger verify` it with the releases made since",
        "disk I/O": "check its disk: it is full, or failing",
    }
    hint = next((hint for word, hint in hints.items() if word in said), "`dpcov ledger verify` says whether it is whole")
    return EngineError(f"ledger must be a file that can be read and written, got {path.name!r} ({said}). Hint: {hint}.")
