"""What one release takes its budget from: handed to the curator's account, which empties it before the first draw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpcov import errors
from dpcov.custody.adding import Cost
from dpcov.errors import DpcovError
from dpcov.release.file import digest
from dpcov.release.mark import Mark
from dpcov.release.record import Release

if TYPE_CHECKING:
    from dpcov.custody.ledger import DataSet
    from dpcov.custody.store import Entry

DECLARED = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, DpcovError)}


class Unspent:
    """A purse for a rehearsal: it refuses what one would refuse, and nothing is taken from it."""

    def __init__(self, cost: Cost) -> None:
        self.most_tail = cost.most_tail

    def take(self) -> None:
        """Do nothing."""


class Purse:
    """The budget of one attempt: whole, or spent, which its ``mark`` then says."""

    def __init__(self, dataset: DataSet, attempt: Entry, facts: Mapping[str, Any], cost: Cost) -> None:
        self._dataset, self._attempt, self._facts, self._cost = dataset, attempt, facts, cost
        self.mark: Mark | None = None

    @property
    def most_tail(self) -> Fraction | None:
        """How often noise that is drawn in floats may be off, in all: as much as the ledger counts for it."""
        return self._cost.most_tail

    def take(self) -> None:
        """Spend all of it, durably, or refuse where it no longer fits."""
        entry = self._dataset.spend(self._attempt, self._facts, self._cost)
        self.mark = Mark(self._dataset.ledger.identifier, entry.sequence, entry.hash)

    def failed(self, error: BaseException) -> None:
        """Note that no release came of it: the kind of error, and none of its words."""
        kind = type(error).__name__ if type(error).__name__ in DECLARED else "another error"
        try:
            self._dataset.fail(self._attempt, kind)
        except DpcovError:
            return  # the first error is what matters, and an attempt without an end says as much

    def recorded(self, release: Release) -> Release:
        """Return the release with the mark of its entry, once its digest is in the ledger."""
        if self.mark is None:  # nothing was asked
            self.take()
        assert self.mark is not None
        marked = replace(release, ledger=self.mark)
        try:
            self._dataset.enter("released", {"spent": self.mark.entry, "digest": digest(marked)}, self._attempt.time)
        except (DpcovError, KeyboardInterrupt) as error:
            error.release = marked  # type: ignore[union-attr]  # paid for: whoever catches this can save it
            raise
        return marked
