"""What a ledger tells people: what is left of each data set, and what happened."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcov.custody.adding import SUMMED
from dpcov.custody.policy import Policy
from dpcov.custody.state import State
from dpcov.custody.store import Entry, Writing
from dpcov.errors import ParameterError, did_you_mean, shown
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.results import Result

if TYPE_CHECKING:
    from dpcov.custody.ledger import Ledger


@dataclass(frozen=True)
class Standing:
    """How a data set stands.

    Attributes
    ----------
    name : str
        The data set.
    total : PureDP, ZCDP or ApproxDP
        What it may lose in all, for ``neighbors``.
    adds : str
        What adds up: "epsilon", "rho" or "epsilon and delta"; empty before the first release under an (ε, δ) total.
    amounts, limits : tuple of Fraction
        The sums so far and their limits, exactly.
    tails : Fraction
        The δ of rounded noise that stands beside ε or ρ.
    releases, unfinished : int
        How many releases were paid for, and how many of them have no digest here: they crashed, or are still running.
    neighbors : {"replace", "add-remove"}
        Whom ``total`` protects.
    unit : str
        "row", or "person: " and the column that says whose a row is.
    policy : Policy
        What every release must keep to.
    """

    name: str
    total: Budget
    neighbors: str
    adds: str
    amounts: tuple[Fraction, ...]
    limits: tuple[Fraction, ...]
    tails: Fraction
    releases: int
    unfinished: int
    unit: str
    policy: Policy

    @property
    def left(self) -> Budget | None:
        """What may still be spent; None where nothing is left."""
        left = tuple(limit - amount for amount, limit in zip(self.amounts, self.limits, strict=True))
        if min(left) <= 0:
            return None
        kinds: dict[str, type[Budget]] = {"epsilon": PureDP, "rho": ZCDP, SUMMED: ApproxDP, "": ApproxDP}
        return kinds[self.adds](*left)

    @property
    def share(self) -> float:
        """The share of the total that is spent: of the amount of which most is."""
        return max(float(amount / limit) for amount, limit in zip(self.amounts, self.limits, strict=True))

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it, amounts as exact text."""
        return {
            "dataset": self.name,
            "total": self.total.to_json(),
            "neighbors": self.neighbors,
            "unit": self.unit,
            "adds": self.adds,
            "spent": [str(amount) for amount in self.amounts],
            "limits": [str(limit) for limit in self.limits],
            "tails": str(self.tails),
            "left": None if self.left is None else self.left.to_json(),
            "share": self.share,
            "releases": self.releases,
            "unfinished": self.unfinished,
            "policy": self.policy.to_json(),
        }


@dataclass(frozen=True)
class LedgerStatus(Result):
    """How the data sets of a ledger stand.

    Attributes
    ----------
    path : Path
        Its file.
    standings : tuple of Standing
        One for each data set.
    """

    path: Path
    standings: tuple[Standing, ...]

    def __repr__(self) -> str:
        return f"<LedgerStatus of {self.path.name}: {len(self.standings)} data sets>"

    def of(self, name: str) -> Standing:
        """Return how one data set stands."""
        for standing in self.standings:
            if standing.name == name:
                return standing
        hint = did_you_mean(name, [standing.name for standing in self.standings])
        raise ParameterError(f"data set must be one of the ledger's, got {shown(name)}. Hint: {hint}print the status.")


@dataclass(frozen=True)
class LedgerHistory(Result):
    """What happened, in order.

    Attributes
    ----------
    path : Path
        The file of the ledger.
    events : tuple of dict
        Each with sequence, event, dataset, time, who, user, why and facts.
    earlier : int
        How many came before these.
    """

    path: Path
    events: tuple[dict[str, Any], ...] = field(repr=False)
    earlier: int = 0


def status(ledger: Ledger) -> LedgerStatus:
    """Return how each data set stands."""
    with ledger.store.reading() as reading:
        return LedgerStatus(ledger.path, tuple(_standing(reading, name) for name in reading.datasets()))


def _standing(reading: Writing, name: str) -> Standing:
    state, counts = State.of(reading, name), reading.counts(name)
    spent, paid = state.spent, counts.get("spent", 0)
    return Standing(
        name=name,
        total=state.total,
        neighbors=state.neighbors,
        adds=spent.adds,
        amounts=spent.amounts,
        limits=spent.limits,
        tails=spent.tails,
        releases=paid,
        unfinished=paid - counts.get("released", 0),
        unit=state.unit,
        policy=state.policy,
    )


def history(ledger: Ledger, name: str | None, last: int | None) -> LedgerHistory:
    """Return the entries of one data set or of all, or the last ones."""
    if last is not None and (isinstance(last, bool) or not isinstance(last, int) or last < 1):
        raise ParameterError(f"last must be an integer of at least 1, got {shown(last)}. Hint: leave it out for all entries.")
    with ledger.store.reading() as reading:
        if name is not None:
            State.of(reading, name)
        entries, earlier = reading.latest(name, last)
    return LedgerHistory(ledger.path, tuple(_event(entry) for entry in entries), earlier)


def _event(entry: Entry) -> dict[str, Any]:
    told = entry.told
    return {key: told[key] for key in ("sequence", "event", "dataset", "time", "who", "user", "why", "facts")}
