"""What would be asked, at what price and with how much noise: a release without data, and what is known from it.

The real mechanism asks a curator whose sums are 0 (`dpcov.mechanisms.rehearsing`). It equals the run up to the first branch on
an answer, and says where it need not; it never exceeds the budget.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

from dpcov.errors import printable
from dpcov.kernel.answer import Spend
from dpcov.kernel.budget import Budget
from dpcov.kernel.questions.asked import BESIDE
from dpcov.kernel.questions.calibrated import LAWS, noise_for
from dpcov.kernel.questions.choices import Bias, Quantile, Radius
from dpcov.kernel.questions.measure import Summable
from dpcov.kernel.questions.moments import MAX_ROWS
from dpcov.mechanisms import mechanism_of
from dpcov.mechanisms.rehearsing import remaining
from dpcov.release.estimate import NoisyDirections
from dpcov.release.record import Release
from dpcov.release.statement import risk
from dpcov.results import Result
from dpcov.schema import Schema

BY_COLUMN = "it depends on the columns' private units; so do later questions and their prices"
BY_ROUND = "it depends on what the rounds find, as do prices, and their number where n is not known"
BY_SPECTRUM = "how far components are off depends on the gaps of the spectrum"
DIRECTIONS = "the error of drawn directions depends on the spectrum"
NOTHING_ASKED = "too few rows for this budget: nothing would be asked of them"
NOT_TOLD = "it depends on the data, or the mechanism does not tell"


@dataclass(frozen=True)
class Shape:
    """What is public of a table: a source that cannot be read."""

    feature_names: tuple[str, ...]
    schema: Schema | None = None
    known_n: int | None = None
    rereadable: bool = True
    ordered: bool = True

    @property
    def n(self) -> int:
        """The number of rows, or many where it is unknown: what is asked then no longer depends on it."""
        return MAX_ROWS if self.known_n is None else self.known_n

    @property
    def d(self) -> int:
        """The number of features."""
        return len(self.feature_names)

    def total(self, statistic: Summable) -> NoReturn:
        """Fail: there is nothing to read."""
        raise AssertionError(f"a rehearsal must not read {statistic.name}")


@dataclass(frozen=True, eq=False)
class Rehearsal(Result):
    """What a request would ask, found without reading a row; the command ``--dry-run`` prints it.

    Attributes
    ----------
    planned : Release
        The transcript of zeros: its questions, laws and charges are those of a run; its numbers mean nothing.
    spent : tuple of Spend
        All that would be asked, in order, with the law of its noise and its price.
    n : int, optional
        The number of rows, where it is public and known before reading.
    """

    planned: Release
    spent: tuple[Spend, ...]
    n: int | None

    @property
    def target(self) -> str:
        """What would be released."""
        return self.planned.kind

    @property
    def mechanism(self) -> str:
        """What would run: of "auto" its choice."""
        return self.planned.mechanism

    @property
    def requested(self) -> str:
        """The mechanism that was asked for."""
        return self.planned.requested

    @property
    def privacy(self) -> Budget:
        """What would be promised."""
        return self.planned.privacy

    @property
    def risk(self) -> str:
        """What the release could change for one person, in one sentence."""
        laws = [law for answer in self.planned.answers for law in answer.laws]
        return risk(self.privacy, self.planned.neighbors, laws, unit=self.planned.unit)

    @property
    def d(self) -> int:
        """The number of features."""
        return self.planned.d

    @property
    def by_column(self) -> bool:
        """Whether columns are asked one by one: their private units decide all that follows."""
        return any(answer.question.by_column for answer in self.planned.answers)

    @property
    def by_round(self) -> bool:
        """Whether the noise depends on what earlier answers say: rows are clipped in public coordinates, more than once.

        Or once here and perhaps more often of other rows, where the mechanism notes what it made of their number.
        """
        local = sum(answer.question.is_local for answer in self.planned.answers)
        return local > 1 or (local == 1 and bool(self.planned.notes))

    @property
    def has_radius(self) -> bool:
        """Whether a clipping radius would be chosen privately: here just below row_norm."""
        return self.planned.find(Quantile, Radius, Bias) is not None

    @property
    def depends_on_answers(self) -> bool:
        """Whether later questions, or their prices, may be others than here, by earlier answers or an n that is not known."""
        chosen = self.target == "pca" and self.requested != self.mechanism  # by n, which may not be known
        return self.by_column or self.by_round or self.has_radius or chosen

    @cached_property
    def raw(self) -> Release:
        """The same as its error is computed from it: post-processing would only decompose zeros. By group: of one of them."""
        whole = self.planned.finished("none")
        return whole[self.planned.groups[0]] if self.planned.groups else whole

    @property
    def center(self) -> bool:
        """Whether there would be a mean, and a covariance about it."""
        return self.by_column or self.raw.center

    @cached_property
    def expected_error_times_n(self) -> float | None:
        """The expected error times n; None where it is not known beforehand."""
        if self.by_column or self.by_round or self.raw.estimate.k is not None:
            return None
        error = self.raw.estimate.expected_error
        return None if error is None else error * self.raw.n

    @property
    def expected_error(self) -> float | None:
        """The r.m.s. norm of the noise, as in `Release.expected_error`; None where n or the noise is not known beforehand."""
        known = self.expected_error_times_n
        return None if known is None or self.n is None or self.planned.groups else self.raw.estimate.expected_error

    @property
    def unknown_because(self) -> str | None:
        """Why the expected error is not known beforehand, not even up to n; None where it is."""
        if self.expected_error_times_n is not None:
            return None
        if self.by_column:
            return BY_COLUMN
        if self.by_round:
            return BY_ROUND
        if self.raw.estimate.k is not None:
            return BY_SPECTRUM
        if all(isinstance(answer.question, BESIDE) for answer in self.planned.answers):
            return NOTHING_ASKED
        return DIRECTIONS if isinstance(self.raw.estimate.noise, NoisyDirections) else NOT_TOLD

    @property
    def matrix_bytes(self) -> int:
        """What one matrix of the release takes in memory; of a mean, its numbers."""
        return 8 * self.d if self.target == "mean" else 8 * self.planned.encoding.width**2

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values, as ``--dry-run --json`` prints it."""
        known = {} if self.n is None else {"expected_error": self.expected_error}
        return {
            "kind": self.target,
            "privacy": self.privacy.to_json(),
            "risk": self.risk,
            "neighbors": self.planned.neighbors,
            "unit": self.planned.unit or None,
            "mechanism": self.mechanism,
            "requested": self.requested,
            "postprocess": self.planned.postprocess,
            "n": self.n,
            "d": self.d,
            "center": self.center,
            "feature_names": list(self.planned.feature_names),
            "asked": [{"asked": s.asked, "noise": s.noise, "budget": s.budget.to_json()} for s in self.spent],
            **known,
            "expected_error_times_n": self.expected_error_times_n,
            "unknown_because": self.unknown_because,
            "depends_on_answers": self.depends_on_answers,
            "matrix_bytes": self.matrix_bytes,
        }

    def __repr__(self) -> str:
        asked = f"{len(self.spent)} question{'s' * (len(self.spent) != 1)} for {self.privacy!r}"
        return f"<Rehearsal of a {self.target}: {printable(self.mechanism, 30)}, {asked}>"


def rehearsal_of(planned: Release, n: int | None) -> Rehearsal:
    """Return what a release of zeros tells, with what would be asked last where zeros do not lead there."""
    last, asked = mechanism_of(planned).last, planned.spent
    if last is None or planned.find(last) is not None or all(isinstance(answer.question, BESIDE) for answer in planned.answers):
        return Rehearsal(planned, asked, n)
    rest = remaining(planned.privacy, [spend.budget for spend in asked])
    added = () if rest is None else (Spend(last.name, LAWS[noise_for(rest)].law, rest),)
    return Rehearsal(planned, (*asked, *added), n)
