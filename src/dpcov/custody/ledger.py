"""The ledger: what each data set may lose in all, and what was spent of it.

A release passes four stations, each an entry: *attempted*, before the first row is read, where it costs nothing; *spent*, after
the first complete reading and before the first draw, of its whole budget; *released*, with the release's digest, before anybody
is handed it; or *failed*. What was spent stays spent, whether or not a release came of it: whoever crashed may have looked.
"""

from __future__ import annotations

import getpass
import os
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from dpcov.custody.adding import Cost, Sum, cost_of
from dpcov.custody.purse import Purse, Unspent
from dpcov.custody.store import Entry, Store, Writing
from dpcov.errors import BudgetError, ParameterError, did_you_mean, shown
from dpcov.kernel.budget import NOTIONS, Budget, copied, decimal_text
from dpcov.kernel.questions.moments import REPLACE, check_neighbors
from dpcov.paths import checked_path
from dpcov.release.record import Release

MOST_ATTEMPTS = 100
"""Readings of a data set that may end before anything is drawn, one after the other: more are no accident."""

ROW = "row"
LONGEST = 2000  # characters of a name or a reason


@dataclass(frozen=True)
class DataSet:
    """A data set of a ledger, for someone who releases from it: what ``ledger=`` takes.

    Attributes
    ----------
    ledger : Ledger
        Whose budget it is.
    name : str
        What the data set is called there.
    why, who : str
        What an entry says of the release's purpose and of the person, by default the user of this machine.
    """

    ledger: Ledger
    name: str
    why: str
    who: str

    def attempt(self, budget: Budget, neighbors: str, what: Mapping[str, Any]) -> Purse:
        """Note that a release begins; refuse one for which there is no room. Nothing is spent."""
        budget = copied(budget)
        facts = {"budget": budget.to_json(), "neighbors": neighbors, "unit": ROW, "what": dict(what)}
        with self.ledger.store.writing() as writing:
            state = State.of(writing, self.name)
            cost, _ = state.with_release(budget, neighbors)
            state.refuse_too_many_attempts(writing)
            entry = writing.add("attempted", self.name, self.who, self.why, facts)
        return Purse(self, entry, facts, cost)

    def rehearse(self, budget: Budget, neighbors: str) -> Unspent:
        """Return what a rehearsal takes its budget from; refuse one for which there is no room."""
        with self.ledger.store.reading() as reading:
            return Unspent(State.of(reading, self.name).with_release(copied(budget), neighbors)[0])

    def spend(self, attempt: Entry, facts: Mapping[str, Any], cost: Cost) -> Entry:
        """Take the whole budget of an attempt, durably; refuse it where others were faster."""
        with self.ledger.store.writing() as writing:
            after = State.of(writing, self.name).with_cost(cost)
            told = {
                **facts,
                "attempt": attempt.sequence,
                "counted": cost.budget.to_json(),
                "tail": str(cost.tail),
                "after": after.to_json(),
            }
            return writing.add("spent", self.name, self.who, self.why, told, attempt.time)

    def note(self, event: str, facts: Mapping[str, Any], time: str | None = None) -> Entry:
        """Add what became of an attempt."""
        with self.ledger.store.writing() as writing:
            return writing.add(event, self.name, self.who, self.why, facts, time)


class Ledger:
    """A file of budgets: what each data set may lose in all, and every release that was charged to it.

    Parameters
    ----------
    path : path
        Of a ledger that exists: `Ledger.create` makes one.

    Examples
    --------
    >>> import tempfile, pathlib, numpy as np, dpcov
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = dpcov.Ledger.create(pathlib.Path(folder.name) / "budget.db")
    >>> ledger.add("trees", dpcov.ZCDP(1))
    >>> trees = ledger.dataset("trees", why="how thick they grow")
    >>> release = dpcov.covariance(np.zeros((100, 2)), dpcov.ZCDP(0.4), row_norm=1, ledger=trees)
    >>> ledger.status().of("trees").left
    ZCDP(rho=0.6)
    >>> ledger.verify(release).intact
    True
    >>> folder.cleanup()
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.store = Store(checked_path(path))
        with self.store.reading() as reading:
            self.identifier = _identifier(reading)

    @classmethod
    def create(cls, path: str | os.PathLike[str]) -> Self:
        """Make a ledger, or open the one that is there."""
        Store(checked_path(path)).create(current_user())
        return cls(path)

    @property
    def path(self) -> Path:
        """Its file."""
        return self.store.path

    def __repr__(self) -> str:
        return f"<Ledger {self.path.name}>"

    def add(
        self,
        name: str,
        total: Budget,
        *,
        neighbors: str = REPLACE,
        data: str | os.PathLike[str] | None = None,
        why: str = "",
        who: str | None = None,
    ) -> None:
        """Set what a data set may lose in all. It cannot be changed later.

        Parameters
        ----------
        name : str
            What the data set is called here.
        total : PureDP, ZCDP or ApproxDP
            All that its releases may add up to: docs/ledger.md says how they do in each notion.
        neighbors : {"replace", "add-remove"}
            Whom it protects. Releases under "add-remove" count double under "replace"; the converse is refused.
        data : path, optional
            The file or folder that holds the rows. A small file beside it then says which ledger keeps its budget, and releases
            of it that are charged elsewhere, or nowhere, are refused.
        why, who : str
            For the record; ``who`` is by default the user of this machine.
        """
        from dpcov.custody.claim import claim, claimed_place

        _checked_text("name", name, least=1)
        check_neighbors(neighbors)
        person, reason = _person(who), _checked_text("why", why)
        place = None if data is None else claimed_place(data, self.identifier, name)
        with self.store.writing() as writing:
            if writing.last(name, "opened") is not None:
                raise ParameterError(
                    f"name must be new, got {shown(name)}, whose total is set for good. Hint: `dpcov ledger status` lists them."
                )
            facts = {"total": copied(total).to_json(), "neighbors": neighbors, "unit": ROW, "data": str(place or "")}
            writing.add("opened", name, person, reason, facts)
        if place is not None:
            claim(place, self.identifier, name)

    def dataset(self, name: str, *, why: str = "", who: str | None = None) -> DataSet:
        """Return a data set of this ledger, to be charged: ``dpcov.covariance(..., ledger=ledger.dataset("adult"))``."""
        with self.store.reading() as reading:
            State.of(reading, name)
        return DataSet(self, name, _checked_text("why", why), _person(who))

    def resume(self, name: str, *, why: str, who: str | None = None) -> None:
        """Allow further attempts where too many in a row have ended before anything was drawn."""
        dataset = self.dataset(name, why=_checked_text("why", why, least=1), who=who)
        dataset.note("resumed", {})

    def record(self, release: Release) -> None:
        """Note the digest of a release that was paid for here, where that failed when it was made."""
        from dpcov.custody.verifying import recorded

        recorded(self, release)

    def status(self) -> Any:
        """Return what each data set may lose, has lost, and has left."""
        from dpcov.custody.telling import status

        return status(self)

    def history(self, name: str | None = None) -> Any:
        """Return every entry, of one data set or of all."""
        from dpcov.custody.telling import history

        return history(self, name)

    def verify(self, *releases: Release) -> Any:
        """Check the chain, the sums and the file itself, and that no release knows of a later state of this ledger."""
        from dpcov.custody.verifying import verify

        return verify(self, releases)

    def export(self) -> Iterator[str]:
        """Yield every entry as a line of JSON, with its hash: for an archive, or to be checked by other means."""
        import json

        with self.store.reading() as reading:
            for entry in reading.entries():
                yield json.dumps({**entry.told, "hash": entry.hash}, sort_keys=True)


@dataclass(frozen=True)
class State:
    """What a data set may lose, and what it has lost."""

    name: str
    total: Budget
    neighbors: str
    spent: Sum
    last: int

    @classmethod
    def of(cls, reading: Writing, name: object) -> State:
        """Return the state of a data set, or refuse a name that is none."""
        opened = reading.last(name, "opened") if isinstance(name, str) else None
        if opened is None or not isinstance(name, str):
            raise ParameterError(
                f"data set must be one of the ledger's, got {shown(name)}. "
                f"Hint: {did_you_mean(name, reading.datasets())}`dpcov ledger status` lists them."
            )
        total = read_budget(opened.facts["total"])
        last = reading.last(name, "spent")
        if last is not None and not last.follows(_before(reading, last)):
            raise BudgetError(
                f"ledger must be as it was written, got an edited entry {last.sequence}. Hint: `dpcov ledger verify`."
            )
        spent = Sum.empty(total) if last is None else Sum.from_json(last.facts["after"])
        return cls(name, total, opened.facts["neighbors"], spent, 0 if last is None else last.sequence)

    def with_release(self, budget: Budget, neighbors: str) -> tuple[Cost, Sum]:
        """Return what a release counts, and the sum with it; refuse it where there is no room."""
        cost = cost_of(budget, neighbors, self.neighbors)
        return cost, self.with_cost(cost)

    def with_cost(self, cost: Cost) -> Sum:
        """Return the sum with one more release, or refuse it where there is no room."""
        grown = self.spent.begun(self.total, cost.budget).plus(cost)
        if not grown.fits:
            raise BudgetError(
                f"budget must fit into what {shown(self.name)} has left, {left_text(self.spent)}, got {cost.budget!r}. "
                f"Hint: ask for less; what was spent cannot be had again."
            )
        return grown

    def refuse_too_many_attempts(self, writing: Writing) -> None:
        """Refuse a data set that was read too often in vain."""
        resumed = writing.last(self.name, "resumed")
        since = max(self.last, 0 if resumed is None else resumed.sequence)
        if writing.count(self.name, "attempted", since) >= MOST_ATTEMPTS:
            raise BudgetError(
                f"a data set must not be read in vain more than {MOST_ATTEMPTS} times in a row, got {shown(self.name)}. "
                f"Hint: find out why, then `dpcov ledger resume`."
            )


def left_text(spent: Sum) -> str:
    """Return what is left, as people write it."""
    names = spent.adds.split(" and ") if spent.adds else ["epsilon", "delta"]
    return ", ".join(f"{name} = {decimal_text(left)}" for name, left in zip(names, spent.left, strict=True))


def read_budget(record: Mapping[str, str]) -> Budget:
    """Return a budget from its exact text."""
    kind = NOTIONS[record["notion"]]
    return kind(*(record[name] for name in kind.names))


def current_user() -> str:
    """Return who is logged in, and where."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # a number without a name
        user = str(os.getuid()) if hasattr(os, "getuid") else "unknown"
    return f"{user}@{platform.node()}"


def _person(who: str | None) -> str:
    return current_user() if who is None else _checked_text("who", who, least=1)


def _checked_text(name: str, text: object, *, least: int = 0) -> str:
    from dpcov.schema import is_broken

    if not isinstance(text, str) or not least <= len(text) <= LONGEST or is_broken(text) or "\0" in text:
        rule = f"text of {least} to {LONGEST} characters" if least else f"text of at most {LONGEST} characters"
        raise ParameterError(f"{name} must be {rule}, got {shown(text)}. Hint: it is kept in the ledger as it is.")
    return text


def _identifier(reading: Writing) -> str:
    first = reading.at(1)
    if first is None or not first.follows(""):
        raise BudgetError("ledger must be as it was written, got another first entry. Hint: `dpcov ledger verify`.")
    return str(first.facts["ledger"])


def _before(reading: Writing, entry: Entry) -> str:
    before = reading.at(entry.sequence - 1)
    return "" if before is None else before.hash
