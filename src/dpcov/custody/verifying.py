"""Whether a ledger is as it was written, and as late as the releases that were made from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcov.custody.adding import Cost, Sum, cost_of
from dpcov.custody.approving import APPROVED, fits_release
from dpcov.custody.people import is_same_person
from dpcov.custody.policy import Policy
from dpcov.custody.state import read_budget
from dpcov.custody.store import Entry, Writing
from dpcov.errors import DpcovError, EngineError, ParameterError, ReleaseError, shown
from dpcov.kernel.budget import Budget
from dpcov.release.file import digest
from dpcov.release.mark import Mark
from dpcov.release.record import Release
from dpcov.results import Result

if TYPE_CHECKING:
    from dpcov.custody.ledger import Ledger

MOST_FAULTS = 20  # that are listed: whoever edited a file broke every entry after it


@dataclass(frozen=True)
class Verification(Result):
    """What was found.

    Attributes
    ----------
    path : Path
        The file of the ledger.
    entries, releases : int
        How many entries and releases were checked.
    head : str
        The hash of the last entry: worth writing down elsewhere.
    faults : tuple of str
        What is wrong; nothing in a ledger that is as it was written.
    remarks : tuple of str
        What is worth knowing, and no fault.
    """

    path: Path
    entries: int
    releases: int
    head: str
    faults: tuple[str, ...]
    remarks: tuple[str, ...]

    def __repr__(self) -> str:
        found = "intact" if self.intact else f"{len(self.faults)} faults"
        return f"<Verification of {self.path.name}: {self.entries} entries, {self.releases} releases, {found}>"

    @property
    def intact(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults


def verify(ledger: Ledger, releases: Sequence[Release]) -> Verification:
    """Check all entries, one after the other, and hold releases against them."""
    for release in releases:
        if not isinstance(release, Release):
            raise ParameterError("releases must be Release objects, got another type. Hint: dpcov.load(path) makes one.")
    with ledger.store.reading() as reading:
        walk = _Walk({release.ledger.entry for release in releases if release.ledger is not None})
        if not reading.is_whole():
            walk.faults.append("the file is damaged: SQLite's own check fails")
        for entry in reading.entries():
            walk.see(entry)
        walk.end()
        for number, release in enumerate(releases, start=1):
            _hold_against(walk, reading, ledger, number, release)
        head = reading.head()
    return Verification(
        ledger.path,
        walk.seen,
        len(releases),
        "" if head is None else head.hash,
        tuple(walk.faults[:MOST_FAULTS]),
        tuple(walk.remarks),
    )


class _Walk:
    """Entries in order: what each adds up to is computed anew, and each must be one that this library writes."""

    def __init__(self, wanted: set[int]) -> None:
        self.faults: list[str] = []
        self.remarks: list[str] = []
        self.seen = 0
        self.digests: dict[int, str] = {}
        """Of the releases that the wanted entries paid for."""
        self._wanted = wanted
        self._previous = ""
        self._sets: dict[str, _Opened] = {}
        self._open: dict[int, str] = {}

    def see(self, entry: Entry) -> None:
        """Check one entry against all before it."""
        self.seen += 1
        if not entry.follows(self._previous):
            self._blame(entry, "was edited, or does not follow the one before it")
        self._previous = entry.hash
        try:
            told = entry.told
            columns = [told["sequence"], told["dataset"], told["event"]]
            if columns != [entry.sequence, entry.dataset, entry.event] or entry.sequence != self.seen:
                self._blame(entry, "stands in another place than where it was written")
            self._count(entry, told["facts"])
        except (ValueError, KeyError, TypeError, AttributeError, DpcovError):
            self._blame(entry, "cannot be read, or could not have been written")

    def _blame(self, entry: Entry, what: str) -> None:
        self.faults.append(f"entry {entry.sequence} {what}")

    def _count(self, entry: Entry, facts: dict[str, Any]) -> None:
        if entry.event == "created" and entry.sequence == 1:
            return
        if entry.event == "opened":
            if entry.dataset in self._sets:
                self._blame(entry, "sets a total anew")
            total = read_budget(facts["total"])
            policy = Policy(**facts["policy"])
            self._sets[entry.dataset] = _Opened(total, facts["neighbors"], facts["unit"], Sum.empty(total), policy)
            return
        found = self._sets[entry.dataset]
        if entry.event == "attempted":
            found.attempts[entry.sequence] = facts
        elif entry.event == "spent":
            self._spend(entry, facts, found)
        elif entry.event == "released":
            if self._open.pop(facts["spent"], None) != entry.dataset:
                self._blame(entry, "has the digest of a release that was not paid for, or has one already")
            if facts["spent"] in self._wanted:
                self.digests.setdefault(facts["spent"], str(facts["digest"]))
        elif entry.event == "policy":
            approval = found.approvals.get(facts["approval"])
            by_another = approval is not None and not is_same_person(approval.user, entry.user)
            if found.policy.second_person and (
                approval is None or not by_another or approval.facts.get("policy") != facts["policy"]
            ):
                self._blame(entry, "changes a policy without a second person")
            found.policy, found.approvals = Policy(**facts["policy"]), {}
        elif entry.event == APPROVED:
            found.approvals[entry.sequence] = entry
        elif entry.event == "failed":
            found.attempts.pop(facts["attempt"], None)
        elif entry.event != "resumed":
            raise ValueError(entry.event)

    def _spend(self, entry: Entry, facts: dict[str, Any], found: _Opened) -> None:
        attempt = found.attempts.pop(facts["attempt"], None)
        if attempt is None or any(facts[name] != attempt[name] for name in attempt):
            self._blame(entry, "spends what was not attempted")
        if facts["unit"] != found.unit:
            self._blame(entry, "protects somebody else than the total")
        cost = cost_of(read_budget(facts["budget"]), facts["neighbors"], found.neighbors)
        cost = Cost(cost.budget, max(cost.tail, Fraction(facts["tail"])))
        grown, told = found.spent.begun(found.total, cost.budget).plus(cost), Sum.from_json(facts["after"])
        if (grown.adds, grown.amounts, grown.tails) != (told.adds, told.amounts, told.tails) or not told.fits:
            self._blame(entry, "does not add up")
        if not all(map(_same, (*told.limits, told.most_tails), (*grown.limits, grown.most_tails))):
            self._blame(entry, "changes what may be spent")
        try:
            found.policy.refuse(cost.budget, facts["neighbors"], facts["what"])
        except DpcovError:
            self._blame(entry, "breaks the policy")
        if found.policy.second_person:
            approval = found.approvals.pop(facts["approval"], None)
            if approval is None or is_same_person(approval.user, entry.user) or not fits_release(approval.facts, facts):
                self._blame(entry, "was not approved by a second person")
        found.spent = told
        self._open[entry.sequence] = entry.dataset

    def end(self) -> None:
        """Say which releases were paid for and never recorded."""
        if self._open:
            entries = ", ".join(str(sequence) for sequence in list(self._open)[:5]) + ", ..." * (len(self._open) > 5)
            self.remarks.append(f"paid for, and no release recorded: {len(self._open)} (entry {entries}); it stays spent")


@dataclass
class _Opened:
    """A data set on the way through its entries."""

    total: Budget
    neighbors: str
    unit: str
    spent: Sum
    policy: Policy
    attempts: dict[int, dict[str, Any]] = field(default_factory=dict)
    approvals: dict[int, Entry] = field(default_factory=dict)


def _same(told: Fraction, found: Fraction) -> bool:
    """Whether a limit is what it should be: one that was converted may be rounded otherwise on another machine."""
    return abs(told - found) <= found * Fraction(1, 10**9)


def _hold_against(walk: _Walk, reading: Writing, ledger: Ledger, number: int, release: Release) -> None:
    """Find a release in the ledger: its entry as it knows it, what that paid for, and its digest."""
    mark = release.ledger
    if mark is None:
        walk.faults.append(f"release {number} was charged to no ledger")
        return
    if mark.ledger != ledger.identifier:
        walk.faults.append(f"release {number} was charged to another ledger")
        return
    entry, kept = reading.at(mark.entry), walk.digests.get(mark.entry)
    if entry is None:
        walk.faults.append(
            f"release {number} knows a later state of this ledger: entry {mark.entry} is missing here. "
            f"An old copy was put back, or the last entries were removed"
        )
    elif entry.hash != mark.head or entry.event != "spent":
        walk.faults.append(f"release {number} knows another entry {mark.entry}: this ledger was put back, and used again")
    elif not _is_paid(release, entry) or kept not in (None, digest(release)):
        walk.faults.append(f"release {number} is not the one that entry {mark.entry} paid for: it was edited")
    elif kept is None:
        walk.remarks.append(f"release {number} was paid for by entry {mark.entry}, and its digest was never recorded")


def _is_paid(release: Release, spent: Entry) -> bool:
    """Whether a release promises what was paid."""
    facts = spent.facts
    promised = (release.privacy.to_json(), release.neighbors, release.encoding.unit)
    return (facts.get("budget"), facts.get("neighbors"), facts.get("unit")) == promised


def recorded(ledger: Ledger, release: Release) -> None:
    """Note the digest of a release that was paid for, where that failed when it was made."""
    if not isinstance(release, Release):
        raise ParameterError(f"release must be a Release, got {shown(release)}. Hint: dpcov.load(path) makes one.")
    mark: Mark | None = release.ledger
    if mark is None or mark.ledger != ledger.identifier:
        raise ParameterError("release must be charged to this ledger, got another one. Hint: `dpcov show` names its ledger.")
    with ledger.store.writing() as writing:
        entry = writing.at(mark.entry)
        if entry is None or entry.hash != mark.head or entry.event != "spent":
            raise EngineError(
                f"ledger must have the release's entry {mark.entry}, and has not. Hint: `dpcov ledger verify LEDGER RELEASE`."
            )
        if not _is_paid(release, entry):
            raise ReleaseError(
                f"release must be the one that entry {mark.entry} paid for, got another promise. Hint: its file was edited."
            )
        for found in writing.after(entry.dataset, "released", entry.sequence):
            if found.facts["spent"] == entry.sequence:
                raise ParameterError(
                    f"release must not be recorded yet, got one recorded by entry {found.sequence}. Hint: all is well."
                )
        told = entry.told
        facts = {"spent": entry.sequence, "digest": digest(release)}
        writing.add("released", entry.dataset, told["who"], told["why"], facts, entry.time)
