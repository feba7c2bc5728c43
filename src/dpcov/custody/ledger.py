"""The ledger: what each data set may lose in all, and what was spent of it.

A release passes four stations, each an entry: *attempted*, before the first row is read, where it costs nothing; *spent*, after
the first complete reading and before the first draw, of its whole budget; *released*, with the release's digest, before anybody
is handed it; or *failed*. What was spent stays spent, whether or not a release came of it: whoever crashed may have looked.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from dpcov.custody.adding import Cost, cost_of
from dpcov.custody.approving import APPROVED, approval_of_policy, of_release
from dpcov.custody.claim import claim, claimed_place
from dpcov.custody.people import checked_text, current_user, person
from dpcov.custody.policy import Policy, checked_policy
from dpcov.custody.purse import Purse, Unspent
from dpcov.custody.state import State
from dpcov.custody.store import Entry, Store
from dpcov.errors import ParameterError, shown
from dpcov.kernel.budget import Budget, copied
from dpcov.kernel.questions.moments import REPLACE, check_neighbors
from dpcov.kernel.rows.aside import ROW, person_by
from dpcov.paths import checked_path
from dpcov.release.record import Release

if TYPE_CHECKING:
    from dpcov.custody.telling import LedgerHistory, LedgerStatus
    from dpcov.custody.verifying import Verification


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

    def attempt(self, budget: Budget, neighbors: str, what: Mapping[str, Any], unit: str = ROW) -> Purse:
        """Note that a release begins; refuse one for which there is no room, or that may not be. Nothing is spent."""
        budget = copied(budget)
        facts = {"budget": budget.to_json(), "neighbors": neighbors, "unit": unit, "what": dict(what)}
        with self.ledger.store.writing() as writing:
            state = State.of(writing, self.name)
            state.refuse_unit(unit)
            cost, _ = state.with_release(budget, neighbors, what)
            state.approval(writing, facts)
            state.refuse_too_many_attempts(writing)
            entry = writing.add("attempted", self.name, self.who, self.why, facts)
        return Purse(self, entry, facts, cost)

    def rehearse(self, budget: Budget, neighbors: str, what: Mapping[str, Any], unit: str = ROW) -> Unspent:
        """Return what a rehearsal takes its budget from; refuse one for which there is no room, or that breaks the policy.

        It needs no approval: whoever asks for one has seen what it is for.
        """
        with self.ledger.store.reading() as reading:
            state = State.of(reading, self.name)
            state.refuse_unit(unit)
            return Unspent(state.with_release(copied(budget), neighbors, what)[0])

    def spend(self, attempt: Entry, facts: Mapping[str, Any], cost: Cost) -> Entry:
        """Take the whole budget of an attempt, durably; refuse it where others were faster."""
        with self.ledger.store.writing() as writing:
            state = State.of(writing, self.name)
            state.refuse_by_policy(cost, facts["neighbors"], facts["what"])  # it may have been changed meanwhile
            told = {
                **facts,
                "attempt": attempt.sequence,
                "approval": state.approval(writing, facts),
                "counted": cost.budget.to_json(),
                "tail": str(cost.tail),
                "after": state.with_cost(cost).to_json(),
            }
            return writing.add("spent", self.name, self.who, self.why, told, attempt.time)

    def enter(self, event: str, facts: Mapping[str, Any], time: str | None = None) -> Entry:
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
        with self.store.reading():
            pass  # what is no ledger is refused

    @classmethod
    def create(cls, path: str | os.PathLike[str]) -> Self:
        """Make a ledger, which only its owner can read and write, or open the one that is there."""
        Store(checked_path(path)).create(current_user())
        return cls(path)

    @property
    def identifier(self) -> str:
        """Which ledger it is: 32 random hexadecimal digits, which no other file has."""
        return self.store.identifier

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
        unit: str | None = None,
        data: str | os.PathLike[str] | None = None,
        policy: Policy | str | os.PathLike[str] | None = None,
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
        unit : str, optional
            The column that says whose a row is, for releases that protect people with all their rows. By default it protects
            single rows. The two are never added up: a release with another unit is refused.
        data : path, optional
            The file or folder that holds the rows. A small file beside it then says which ledger keeps its budget, and releases
            of it that are charged elsewhere, or nowhere, are refused.
        policy : Policy or path, optional
            What every release must keep to.
        why, who : str
            For the record; ``who`` is by default the user of this machine.
        """
        checked_text("name", name, least=1)
        check_neighbors(neighbors)
        whom = ROW if unit is None else person_by(checked_text("unit", unit, least=1))
        by, reason, rules = person(who), checked_text("why", why), checked_policy(policy)
        place = None if data is None else claimed_place(data, self.identifier, name)
        with self.store.writing() as writing:
            if writing.last(name, "opened") is not None:
                raise ParameterError(
                    f"name must be new, got {shown(name)}, whose total is set for good. Hint: `dpcov ledger status` lists them."
                )
            facts = {"total": copied(total).to_json(), "neighbors": neighbors, "unit": whom, "data": str(place or "")}
            facts |= {"policy": {} if rules is None else rules.to_json()}
            writing.add("opened", name, by, reason, facts)
            if place is not None:  # before the commit: where a crash parts the two, adding can be tried again
                claim(place, self.identifier, name)

    def change_policy(
        self, name: str, policy: Policy | str | os.PathLike[str], *, why: str = "", who: str | None = None
    ) -> None:
        """Set what every further release of a data set must keep to; approvals that were given before are withdrawn.

        Where the policy so far asks for a second person, somebody else must have approved this one (`approve`).
        """
        rules, by, reason = checked_policy(policy), person(who), checked_text("why", why)
        told = {} if rules is None else rules.to_json()
        with self.store.writing() as writing:
            state = State.of(writing, name)
            facts = {"policy": told, "approval": 0}
            if state.policy.second_person:
                facts["approval"] = approval_of_policy(writing, name, state.since, current_user(), told).sequence
            writing.add("policy", name, by, reason, facts)

    def approve(
        self,
        name: str,
        budget: Budget | None = None,
        *,
        neighbors: str = REPLACE,
        mechanism: str = "",
        policy: Policy | str | os.PathLike[str] | None = None,
        why: str = "",
    ) -> None:
        """Approve one release that somebody else will make, or with ``policy`` a change of the policy.

        Parameters
        ----------
        name : str
            The data set.
        budget : PureDP, ZCDP or ApproxDP
            That of the release, exactly.
        neighbors : {"replace", "add-remove"}
            The relation of the release.
        mechanism : str, optional
            The mechanism that runs, where not any may: not "auto", but what it stands for.
        policy : Policy or path, optional
            In place of a budget: the new policy.
        why : str
            For the record.
        """
        if (budget is None) == (policy is None):
            raise ParameterError("budget or policy must be given, one of them. Hint: approve('adult', dpcov.ZCDP(0.1)).")
        check_neighbors(neighbors)
        reason, rules = checked_text("why", why), checked_policy(policy)
        with self.store.writing() as writing:
            state = State.of(writing, name)
            if not state.policy.second_person:
                raise ParameterError(
                    f"data set must have a policy that asks for a second person, got {shown(name)}, which has none. "
                    f"Hint: nothing need be approved."
                )
            if rules is not None:
                facts: dict[str, Any] = {"policy": rules.to_json()}
            else:
                assert budget is not None
                asked = copied(budget)
                state.with_cost(cost_of(asked, neighbors, state.neighbors))
                facts = of_release(asked, neighbors, checked_text("mechanism", mechanism))
            writing.add(APPROVED, name, current_user(), reason, facts)

    def dataset(self, name: str, *, why: str = "", who: str | None = None) -> DataSet:
        """Return a data set of this ledger, to be charged: ``dpcov.covariance(..., ledger=ledger.dataset("adult"))``."""
        with self.store.reading() as reading:
            State.of(reading, name)
        return DataSet(self, name, checked_text("why", why), person(who))

    def resume(self, name: str, *, why: str, who: str | None = None) -> None:
        """Allow further attempts where too many in a row have ended before anything was drawn."""
        dataset = self.dataset(name, why=checked_text("why", why, least=1), who=who)
        dataset.enter("resumed", {})

    def record(self, release: Release) -> None:
        """Note the digest of a release that was paid for here, where that failed when it was made."""
        from dpcov.custody.verifying import recorded

        recorded(self, release)

    def status(self) -> LedgerStatus:
        """Return what each data set may lose, has lost, and has left."""
        from dpcov.custody.telling import status

        return status(self)

    def history(self, name: str | None = None, *, last: int | None = None) -> LedgerHistory:
        """Return what happened, to one data set or to all: every entry, or the ``last`` ones."""
        from dpcov.custody.telling import history

        return history(self, name, last)

    def verify(self, *releases: Release) -> Verification:
        """Check the chain, the sums and the file itself, and that no release knows of a later state of this ledger."""
        from dpcov.custody.verifying import verify

        return verify(self, releases)

    def export(self) -> Iterator[str]:
        """Yield every entry as a line of JSON, with its hash: for an archive, or to be checked by other means."""
        with self.store.reading() as reading:
            for entry in reading.entries():
                yield json.dumps({**entry.told, "hash": entry.hash}, sort_keys=True)
