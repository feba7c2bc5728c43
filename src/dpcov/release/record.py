"""The release: a frozen transcript of what was asked and answered, which outlives the process and needs nothing but itself.

It holds the raw noisy answers and the law of their noise. Estimates are computed from them on demand, by the mechanism that
asked, so a better post-processing can be applied to an old file.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError, ReleaseError, printable
from dpcov.kernel.answer import Answer, Spend
from dpcov.kernel.budget import Budget
from dpcov.kernel.questions.measure import Question
from dpcov.kernel.rows.encoding import Encoding
from dpcov.linalg import project_simplex
from dpcov.release.estimate import Estimate, PrivateUnits
from dpcov.release.groups import Grouped, Part
from dpcov.release.mark import Mark
from dpcov.release.statement import promise, risk, statement
from dpcov.release.uses import Uses
from dpcov.release.weighed import Weighed
from dpcov.schema import Categorical, Numeric, Schema

if TYPE_CHECKING:
    from dpcov.mechanisms.base import Mechanism

Floats = NDArray[np.float64]
Option = str | int | float | bool | None | list[Any]
Target = Literal["covariance", "mean", "pca", "ridge"]
TARGETS: tuple[str, ...] = get_args(Target)
"""What can be released."""

NARROWER = 0.999  # of the bounds: a range that is as wide is none


@dataclass(frozen=True, eq=False, kw_only=True)
class Transcript(Grouped, Weighed):
    """The answers, under a public header.

    Attributes
    ----------
    kind : str
        What was asked for: "covariance", "mean", "pca" or "ridge".
    privacy : PureDP, ZCDP or ApproxDP
        The promise, for neighbours that differ as ``neighbors`` says.
    neighbors : {"replace", "add-remove"}
        Whether neighbours differ in one row that is replaced, or in one that is added or removed.
    encoding : Encoding
        How rows became integers.
    n : int
        Number of rows, or of people: public under "replace", a noisy count (at least 1) under "add-remove".
    mechanism, options
        What ran, with every option, defaults included, in encoded units.
    requested, requested_options
        What the custodian asked for: the same, or an alias such as "auto", with its options.
    postprocess : str
        How the estimate is finished.
    notes : mapping
        Public numbers that follow from parameters and answers, such as how many rounds there were.
    part : Part, optional
        Of which release this is one group; then n and the second moment are those of the group.
    answers : tuple of Answer
        The raw noisy answers, in the order in which they were asked.
    seeded : bool
        True means that the noise can be predicted: **not private**, for tests and papers only.
    dpcov_version : str
        The version of this library that made it.
    ledger : Mark or None
        The entry of the ledger that paid for it.
    """

    kind: str
    privacy: Budget
    neighbors: str
    encoding: Encoding
    n: int
    requested: str
    requested_options: Mapping[str, Option] = field(default_factory=dict)
    mechanism: str
    options: Mapping[str, Option] = field(default_factory=dict)
    postprocess: str
    notes: Mapping[str, Option] = field(default_factory=dict)
    answers: tuple[Answer, ...]
    seeded: bool
    dpcov_version: str
    ledger: Mark | None = None
    part: Part | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name in ("requested_options", "options", "notes"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    @property
    def spent(self) -> tuple[Spend, ...]:
        """Everything that was asked of the data, and what it cost: each has ``asked``, ``noise`` and ``budget``."""
        return tuple(spend for answer in self.asked for spend in answer.spent)

    def every(self, *questions: type[Question]) -> list[Answer]:
        """Return the answers to questions of these types, in order."""
        return [answer for answer in self.answers if type(answer.question) in questions]

    def find(self, *questions: type[Question]) -> Answer | None:
        """Return the first answer to a question of these types; None where it was not asked."""
        found = self.every(*questions)
        return found[0] if found else None

    def take(self, *questions: type[Question], last: bool = False) -> Answer:
        """Return the first answer, or the last, to a question of these types, or refuse a transcript that has none."""
        found = self.every(*questions)
        if not found:
            names = " or ".join(str(getattr(question, "name", question.__name__)) for question in questions)
            raise ReleaseError(f"release must hold an answer about {names}, got none. Hint: its mechanism did not ask for it.")
        return found[-1 if last else 0]

    def note(self, name: str, least: float, most: float) -> float:
        """Return a public number that the mechanism noted, or refuse a transcript without it."""
        value = self.notes.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
            raise ReleaseError(
                f"release must note {name} between {least:g} and {most:g}, got something else. Hint: ask for the original."
            )
        return value


@dataclass(frozen=True, eq=False, kw_only=True)
class Release(Transcript, Uses):
    """What was learnt about the rows, what was promised for it, and how to use it.

    It holds the raw noisy answers under a public header. Estimates are computed from them when they are asked for, in the units
    of the data, so an old file profits from a better post-processing. Whatever is made of it costs no more privacy. It can be
    pickled and copied; a pickle holds what the file would hold.

    Attributes
    ----------
    record : Mechanism or None
        The mechanism, where it is none of this library's own.

    Examples
    --------
    >>> import numpy as np, dpcov
    >>> rows = np.eye(3).repeat(1000, axis=0)
    >>> release = dpcov.covariance(rows, dpcov.ZCDP(0.1), row_norm=1, mechanism="gaussian", seed=0)
    >>> raw = release.finished("none")  # the same answers, estimated otherwise
    >>> [spend.budget for spend in raw.spent]  # at no further cost
    [ZCDP(rho=0.1)]
    >>> release.retrace().agrees
    True
    """

    record: Mechanism | None = field(default=None, repr=False)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features: columns, and ``column=level``."""
        return self.encoding.feature_names

    @property
    def schema(self) -> Schema | None:
        """Public bounds and levels of the columns; None where rows have a public norm instead."""
        return self.encoding.schema

    @property
    def unit(self) -> str:
        """The column that says whose a row is: all rows with one value of it are protected together; empty: each row alone."""
        return "" if self.encoding.aside is None else self.encoding.aside.unit

    @property
    def row_norm(self) -> float:
        """The norm at which rows were clipped; for a mean: how far it may lie from the origin."""
        return self.encoding.row_norm

    @property
    def d(self) -> int:
        """The number of features."""
        return self.encoding.d

    @property
    def units(self) -> Floats:
        """The user's units per encoded unit, for each feature, before rows are divided by a radius."""
        return self.encoding.units

    @property
    def offsets(self) -> Floats:
        """What is encoded as 0, for each feature."""
        return self.encoding.offsets

    @cached_property
    def estimate(self) -> Estimate:
        """What the mechanism makes of the answers, in the units of encoded rows."""
        if self.groups and self.part is None:
            return self.pooled.estimate
        record = self._mechanism
        record.refuse_unknown(self.options)
        try:
            record.check_served(self.privacy, self.neighbors, self.encoding.constant, groups=bool(self.groups))
            record.check_postprocess(self.postprocess)
            with np.errstate(all="ignore"):  # extreme units and budgets overflow harmlessly inside
                found = record.estimate(self, self.postprocess, **self.options)
        except ParameterError as error:
            raise ReleaseError(f"release must have the options that its mechanism takes: {error}") from None
        self._check_sizes(found)
        return found

    def _check_sizes(self, found: Estimate) -> None:
        """Refuse an estimate of other features than the release has: a stranger may have left a constant coordinate in it."""
        d = self.d
        for name, array, shape in (("mean", found.mean, (d,)), ("covariance", found.covariance, (d, d))):
            if array is not None and array.shape != shape:
                raise ReleaseError(
                    f"estimate must have a {name} of shape {shape}, got {array.shape}. Hint: with centring='homogeneous' a "
                    f"second moment has a constant in front; dpcov.kernel.rows.centring.mean_and_covariance takes it off."
                )

    @property
    def _mechanism(self) -> Mechanism:
        from dpcov.mechanisms import mechanism_of

        return mechanism_of(self)

    @property
    def center(self) -> bool:
        """Whether the release has a mean and a covariance about it."""
        return self.estimate.mean is not None and self.estimate.covariance is not None

    @property
    def clip_radius(self) -> float:
        """Where rows were clipped, in units of row_norm's own (with a schema: of the encoded rows); at most row_norm."""
        radius = self.estimate.radius
        return self.row_norm if radius is None else radius

    @cached_property
    def second_moment(self) -> Floats:
        """Estimate of (1/n) Σ x xᵀ over the clipped rows, in the data's units."""
        if self.encoding.pairs:
            raise ReleaseError(
                "release must hold a second moment about 0, got one of differences. Hint: use release.covariance."
            )
        covariance, origin = self.covariance, self.estimate.origin
        with np.errstate(all="ignore"):
            if self.center:
                return _frozen(covariance + np.outer(self.mean, self.mean))
            if origin is None or not origin.any():  # rows that were taken to have a public mean are about that
                return covariance
            return _frozen(covariance + np.outer(self.units * origin, self.units * origin))

    @cached_property
    def mean(self) -> Floats:
        """Estimate of (1/n) Σ x over the clipped rows, in the data's units, inside the public bounds.

        Means of levels are shares: those of one column sum to at most 1.
        """
        encoded = self.estimate.mean
        if encoded is None:
            held = "coefficients" if self.estimate.coefficients is not None else "one that is not centred"
            raise ReleaseError(f"release must be centred to have a mean, got {held}. Hint: make it with center=True.")
        with np.errstate(all="ignore"):
            mean = self.offsets + self.units * encoded
        if self.postprocess != "none" and self.schema is not None:
            mean = np.clip(mean, *self.schema.bounds())
            for name, place in self.schema.places().items():
                if isinstance(self.schema.used[name], Categorical):
                    mean[place] = project_simplex(mean[place], 1.0)
        return _frozen(mean)

    @cached_property
    def covariance(self) -> Floats:
        """Estimate of the covariance (divided by n) in the data's units; for an uncentred release this is `second_moment`."""
        if self.estimate.k is not None:
            raise ReleaseError("release must hold a covariance, got components. Hint: a release of dpcov.covariance has both.")
        with np.errstate(all="ignore"):
            return _frozen(self.encoded_covariance * np.outer(self.units, self.units))

    @property
    def encoded_covariance(self) -> Floats:
        """The `covariance` of rows as the schema encodes them; without one it is the same."""
        found = self.estimate.covariance
        if found is None:
            held = "coefficients" if self.estimate.coefficients is not None else "a mean"
            held = held if self.estimate.k is None else "components"
            raise ReleaseError(
                f"release must hold a covariance, got {held}. Hint: make one with dpcov.covariance(..., center=True)."
            )
        return found

    @property
    def ranges(self) -> dict[str, tuple[float, float]]:
        """The ranges within which columns of numbers were measured, in the data's units, where a release chose them privately.

        Values outside counted as their ends, and do so in predictions. A column that is not listed was measured by its bounds.
        """
        units = self.estimate.units
        if units is None or self.schema is None:
            return {}
        low, high = (self.offsets + self.units * part for part in (units.low, units.high))
        place = dict(zip(self.feature_names, zip(low.tolist(), high.tolist(), strict=True), strict=True))
        columns = {c.features(name)[0]: c for name, c in self.schema.used.items() if isinstance(c, Numeric)}
        wide = {name: NARROWER * (column.upper - column.lower) for name, column in columns.items()}
        return {name: place[name] for name in columns if place[name][1] - place[name][0] < wide[name]}

    @property
    def observed(self) -> dict[str, float]:
        """The released share of cells that are there, for each column that is declared nullable; empty where none was asked.

        Means, deviations and correlations are of these cells. `observed_error` has the standard errors.
        """
        return {} if self.estimate.units is None else self._of_nullable(self.estimate.units, self.estimate.units.seen)

    @property
    def observed_error(self) -> dict[str, float]:
        """The standard error that noise gives to each share of `observed`; 0 where it is 1."""
        return {} if self.estimate.units is None else self._of_nullable(self.estimate.units, self.estimate.units.seen_error)

    def _of_nullable(self, units: PrivateUnits, numbers: NDArray[np.float64]) -> dict[str, float]:
        columns = {} if self.schema is None else self.schema.used
        nullable = [(number, name) for number, (name, column) in enumerate(columns.items()) if column.nullable]
        return {name: float(numbers[np.flatnonzero(units.column == number)[0]]) for number, name in nullable}

    @property
    def expected_error(self) -> float:
        """The r.m.s. Frobenius norm of the noise in the raw second moment of encoded rows (norm 1): public knowledge.

        Post-processing makes the error of `second_moment` smaller; clipping and a noisy n, mean or scale add to it. For answers
        in public coordinates: of the last one, in the units of rows (encoded, with a schema); of a mean, the r.m.s. norm.
        """
        found = self.estimate.expected_error
        if found is None:
            hint = "dpcov.bounds has error bounds for directions; there is none for quantiles and for too few rows"
            raise ReleaseError(f"release must hold noise of a known size, got none. Hint: {hint}.")
        return found

    def finished(self, postprocess: str) -> Release:
        """Return the same transcript with its estimate finished otherwise: "none" leaves it raw."""
        self._mechanism.check_postprocess(postprocess)
        if self.part is not None:
            return self.whole.finished(postprocess).about(self.part.level)
        return dataclasses.replace(self, postprocess=postprocess)

    def statement(self) -> str:
        """Say in one paragraph what this release promises."""
        promised = promise(self.privacy, [law for answer in self.asked for law in answer.laws])
        local = any(answer.question.is_local for answer in self.asked)
        own = "radius, origin" if self.kind == "mean" else "bounds of the covariance" if local else "row_norm"
        public = own if self.schema is None else "bounds, levels, weights"
        return statement(promised, self.neighbors, self.encoding, self.whole.n, self.seeded, public)

    def risk(self) -> str:
        """Say in one sentence what this release can change for one person."""
        laws = [law for answer in self.asked for law in answer.laws]
        return risk(self.privacy, self.neighbors, laws, seeded=self.seeded, unit=self.unit)

    def how(self) -> str:
        """Say by which mechanism it was made, and how its estimate was finished."""
        auto = f" (chosen by {printable(self.requested)})" if self.requested != self.mechanism else ""
        return f"{printable(self.mechanism)}{auto}, postprocess {printable(self.postprocess)}"

    def header(self) -> dict[str, Any]:
        """Return everything but the answers, as the file has it: all of it is public."""
        from dpcov.release.file import header

        return header(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the release as JSON; the file appears whole or not at all, in place of one that was there.

        A file that is replaced keeps its permissions; a link is replaced, not followed.
        """
        from dpcov.release.file import write

        write(self, path)

    def __reduce__(self) -> tuple[Callable[..., Release], tuple[Any, ...]]:
        from dpcov.release.file import parse, text_of

        if self.part is not None:
            return Release.about, (self.whole, self.part.level)
        own = () if self.record is None else (self.record,)
        return parse, (text_of(self), own)  # a pickle holds what the file would hold, and is checked like it

    def __repr__(self) -> str:
        approximate = "approximate " * any(law.numerics == "markov chain" for answer in self.answers for law in answer.laws)
        parts = [f"{approximate}{self.privacy!r}", self.neighbors, printable(self.mechanism), f"n={self.n}", f"d={self.d}"]
        return f"<Release of a {self.kind}: {', '.join(self._named(parts) + ['seeded: not private'] * self.seeded)}>"


def _frozen(estimate: Floats) -> Floats:
    estimate.flags.writeable = False
    return estimate
