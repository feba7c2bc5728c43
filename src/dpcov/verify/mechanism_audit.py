"""Try to break a mechanism, of this library or of a stranger: exact prices, the noise itself, and a bound of ε from below.

Three kinds of evidence, over made-up neighbours that are searched for, or over chosen ones:

- *prices*: each run is recorded and replayed on the neighbour; what each answer really cost must not exceed its charge;
- *noise*: what the sampler draws must follow the recorded laws, and no noise may be used twice;
- *lower bound*: releases of the two neighbours that cost most, told apart by the likelihood ratio of their answers.

The first is exact. The others may accuse what is right with a stated probability. None of them proves a promise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpcov.errors import ParameterError, check_choice, check_real, printable, shown
from dpcov.kernel.bits import Bits, SeededBits, SystemBits
from dpcov.kernel.budget import Budget
from dpcov.kernel.questions.moments import REPLACE
from dpcov.mechanisms.base import Named
from dpcov.release.record import TARGETS
from dpcov.request import Request, is_bounded, request
from dpcov.results import Result
from dpcov.schema import Schema
from dpcov.schema.whose import ROWS_THEMSELVES, Whose
from dpcov.verify.auditing import Auditing, Report
from dpcov.verify.lower_bound import Finding
from dpcov.verify.neighbours import Kind, Numbers, Records, pair_of
from dpcov.verify.noise_check import Drawn
from dpcov.verify.people import People

MOST = 10**9
"""Of pairs, releases and draws."""


@dataclass(frozen=True)
class Worst:
    """A question, and the largest part of its charge that it cost on any pair; above 1 the promise is broken."""

    asked: str
    share: float


@dataclass(frozen=True)
class Audit(Result):
    """What was tried of a mechanism, and what was found.

    Attributes
    ----------
    target, name : str
        What the mechanism releases, and what it is called.
    violations : tuple of str
        Why the promise is refuted, in words; empty where it is not.
    pairs, refused : int
        How many neighbours were tried, and how many of them the mechanism refuses, both alike.
    prices : tuple of Worst
        Of each question its largest price on any pair, as a share of its charge.
    noise : tuple of Drawn
        The laws that were drawn from, and how far off the draws are.
    findings : tuple of Finding
        At each δ the ε that is promised, and the ε that the releases prove to be needed.
    trials : int
        How many releases of each of two neighbours the bound rests on.
    alpha : float
        The probability that a right mechanism is accused by its noise or by the bound; prices are exact.
    protected : {"row", "person"}
        In what neighbours differ: one row, or all rows of a person.
    """

    target: str
    name: str
    budget: Budget
    neighbors: str
    pairs: int
    refused: int
    prices: tuple[Worst, ...]
    noise: tuple[Drawn, ...]
    findings: tuple[Finding, ...]
    trials: int
    alpha: float
    violations: tuple[str, ...]
    seeded: bool
    protected: str = "row"

    @property
    def refuted(self) -> bool:
        """Whether the promise is broken."""
        return bool(self.violations)

    @property
    def dearest(self) -> float:
        """The largest part of its charge that any question cost."""
        return max((worst.share for worst in self.prices), default=0.0)

    @property
    def finding(self) -> Finding | None:
        """The finding that comes closest to the promise; None where nothing was released."""
        return max(self.findings, key=lambda one: one.proved / max(one.promised, 1e-300), default=None)

    def __repr__(self) -> str:
        verdict = f"REFUTED: {self.violations[0]}" if self.violations else "not refuted"
        bound = "" if self.finding is None else f", epsilon >= {self.finding.proved:.2f} of {self.finding.promised:.2f}"
        name = printable(self.name, 30)
        return f"<Audit of {name} ({self.pairs} pairs, cost/charge <= {self.dearest:.4f}{bound}): {verdict}>"


def audit_mechanism(
    mechanism: str | Named,
    budget: Budget,
    *,
    target: str = "covariance",
    options: Mapping[str, Any] | None = None,
    neighbors: str = REPLACE,
    schema: Schema | None = None,
    center: bool | None = None,
    unit: bool = False,
    most_rows: int | None = None,
    max_weight: float | None = None,
    width: int = 2,
    pairs: int | Sequence[tuple[Any, Any]] = 200,
    trials: int = 1000,
    draws: int = 100_000,
    alpha: float = 1e-6,
    seconds: float | None = None,
    seed: int | None = None,
    progress: Report | None = None,
) -> Audit:
    """Try to refute the promise of a mechanism, on made-up neighbours; nobody's data are read.

    Parameters
    ----------
    mechanism : str or Mechanism
        A name in ``dpcov.MECHANISMS[target]``, or a mechanism of your own.
    budget : PureDP, ZCDP or ApproxDP
        What is promised.
    target : {"covariance", "mean", "pca", "ridge"}
        What it releases; a mechanism of your own says so itself.
    options : mapping, optional
        Of the mechanism, such as ``{"clip": "private"}`` or ``{"k": 1}``. Rows, or the mean, are bounded by 1.
    neighbors, schema, center
        As in `covariance`. With a schema tables have its columns: bounds, levels, missing and unknown cells.
    unit : bool
        True: neighbours differ in all rows of one person, of whom there is one or there are thousands, with other weights, or
        with identifiers that are missing. A schema that names a unit says so by itself, with its weights.
    most_rows : int, optional
        With ``unit``, and ``weighting="rows"``: rows of a person with more of them count less.
    max_weight : float, optional
        Rows have weights, of which this is the most.
    width : int
        How many columns rows have, without a schema; behind them are a weight, if there is one, and an identifier.
    pairs : int or list of pairs of tables
        How many neighbours to search; or which to try: arrays, with a schema anything that ``pyarrow.table`` takes.
    trials : int
        How many releases to make from each of the two neighbours that cost most, for the lower bound. 0 makes none.
    draws : int
        How many numbers to draw of each kind of noise. 0 draws none.
    alpha : float
        How often a right mechanism may be accused by chance.
    seconds : float, optional
        A limit of time: then fewer pairs and releases may be tried.
    seed : int, optional
        Makes the audit repeatable. By default all randomness is the operating system's, as in a release.
    progress : callable, optional
        Called now and then with the fraction done.

    Returns
    -------
    Audit
        Whether the promise is refuted, why, and how much was tried.

    Notes
    -----
    What an audit that refutes nothing does not show: that the promise holds. Other tables, widths and options were not tried;
    a bound of the ε that is needed is always far below it; choices and drawn directions are compared with their laws by that
    bound alone; and time, memory and whoever can guess the random bits are not looked at.

    Examples
    --------
    >>> import dpcov
    >>> found = audit_mechanism("gaussian", dpcov.ZCDP(1), pairs=20, trials=50, draws=1000, seed=0)
    >>> found.refuted, found.pairs
    (False, 20)
    """
    named_target = target if isinstance(mechanism, str) else mechanism.target
    check_choice("target", named_target, dict.fromkeys(TARGETS), "say what it releases")
    whose = _whose(unit, most_rows, max_weight, _whole("width", width, 1), schema)
    asked = _asked(named_target, mechanism, budget, dict(options or {}), neighbors, schema, center, whose)
    kind: Kind = Numbers(width) if schema is None else Records(schema)
    said = whose.joined(schema.whose if schema is not None else ROWS_THEMSELVES).checked()
    kind, one_of = (People(kind, said), "person") if said.unit else (kind, "row")
    several = () if isinstance(pairs, int) else pairs
    chosen = [pair_of(kind.rows(one), kind.rows(other), neighbors, one_of) for one, other in several]
    count = _whole("pairs", pairs, 1) if isinstance(pairs, int) else len(chosen)
    check_real("alpha", alpha, "above 0 and at most 0.5", 1e-300, 0.5, "1e-6 is the default")
    if seconds is not None:
        check_real("seconds", seconds, "positive and finite", 1e-3, 1e9, "leave it out for no limit")
    bits: Bits = SystemBits() if seed is None else SeededBits(seed)
    _whole("trials", trials, 0), _whole("draws", draws, 0)
    running = Auditing(asked, budget, kind, bits, seconds, progress)
    running.rehearse()
    running.search(count, chosen)
    running.draw(draws, alpha / 4)
    running.look_for_reuse(alpha / 4)
    running.bound(trials, alpha / 2)
    return Audit(
        target=named_target,
        name=asked.named.name,
        budget=budget,
        neighbors=neighbors,
        pairs=running.tried,
        refused=running.refused,
        prices=tuple(Worst(name, share) for name, share in sorted(running.shares.items())),
        noise=running.drawn,
        findings=running.findings,
        trials=running.trials,
        alpha=alpha,
        violations=tuple(running.violations()),
        seeded=seed is not None,
        protected=one_of,
    )


def _whole(name: str, value: object, least: int) -> int:
    """Return a number of things, or refuse it."""
    if type(value) is not int or not least <= value <= MOST:
        raise ParameterError(
            f"{name} must be a whole number from {least} to 10**9, got {shown(value)}. Hint: leave it out for the usual one."
        )
    return value


def _asked(
    target: str,
    mechanism: str | Named,
    budget: Budget,
    options: dict[str, Any],
    neighbors: str,
    schema: Schema | None,
    center: bool | None,
    whose: Whose,
) -> Request:
    """Return the request of a release, of rows that are bounded by 1 where there is no schema."""
    from dpcov.mechanisms import checked_mechanism

    named = checked_mechanism(target, mechanism, options)
    bound = None if schema is not None or is_bounded(named, options) else 1.0
    centred = center if target == "covariance" else bool(center)
    said: dict[str, Any] = {"bound": bound, "schema": schema, "center": centred, "whose": whose}
    return request(target, budget, mechanism=named, neighbors=neighbors, options=options, **said)


def _whose(unit: object, most_rows: int | None, max_weight: float | None, width: int, schema: Schema | None) -> Whose:
    """Return the columns of made-up tables that say whose a row is, and how much it counts, beside what a schema names."""
    if not isinstance(unit, bool):
        raise ParameterError(f"unit must be True or False, got {shown(unit)}. Hint: identifiers are made up, as tables are.")
    described = ROWS_THEMSELVES if schema is None else schema.whose
    if not unit and described.unit is None:
        if most_rows is not None or max_weight is not None or described.weight is not None:
            raise ParameterError("unit must be True where rows have weights or count alike, got False. Hint: unit=True.")
        return ROWS_THEMSELVES
    weighed = max_weight is not None and described.weight is None
    names = ("person", "weight") if schema is not None else (f"x{width + weighed}", f"x{width}")
    return Whose(
        unit=names[0] if described.unit is None else None,
        weighting=None if most_rows is None else "rows",
        most_rows=most_rows,
        weight=names[1] if weighed else None,
        max_weight=max_weight,
    )
