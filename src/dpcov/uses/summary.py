"""A table in the shape that statisticians know: estimate, standard error, t, p and interval, a line for each number.

All of it is about the population: noise and the draw of rows are both in the standard errors, and in p, whose law has the tails
of both. t is the estimate over its standard error; p is how often a number that is 0 in the population would be as far from 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import printable
from dpcov.release.record import Release
from dpcov.results import Result
from dpcov.schema.dates import ORIGIN
from dpcov.uses.intervals import Interval
from dpcov.uses.sampling import POPULATION

if TYPE_CHECKING:
    from dpcov.uses.ridge import RidgeModel

Floats = NDArray[np.float64]

INTERCEPT = "intercept"
LEVELS = (0.5, 0.8, 0.95, 0.99, 0.999, 0.9999, 0.999999)  # at which tails are looked at for p
DRAWN = "Over the noise and the draw of rows."
ASSUMED = f"{DRAWN} Residuals are taken to have the same variance whatever the features."
LIKE_DRAWN = f"{DRAWN} Residuals are taken to be like those of rows that are drawn from the release."
FISHER = f"{DRAWN} Columns are taken to be normal (Fisher's z)."


@dataclass(frozen=True, eq=False, repr=False)
class Summary(Result):
    """Numbers with what is known of their errors, one line each.

    Attributes
    ----------
    title : str
        What the numbers are.
    names : tuple of str
        What each belongs to.
    estimate, standard_error, t, p, lower, upper : array
        One for each name. Infinite, or NaN for t and p, where the noise says nothing.
    level : float
        How often each interval holds.
    notes : tuple of str
        What is assumed.
    """

    title: str
    names: tuple[str, ...]
    estimate: Floats
    standard_error: Floats
    t: Floats
    p: Floats
    lower: Floats
    upper: Floats
    level: float
    notes: tuple[str, ...]

    def __post_init__(self) -> None:
        for array in (self.estimate, self.standard_error, self.t, self.p, self.lower, self.upper):
            array.flags.writeable = False

    def to_dict(self) -> dict[str, Any]:
        """Return the same as plain lists, by column; what is infinite or not known is None."""
        parts = ("estimate", "standard_error", "t", "p", "lower", "upper")
        columns = {part: [value if math.isfinite(value) else None for value in getattr(self, part).tolist()] for part in parts}
        return {"title": self.title, "names": list(self.names), **columns, "level": self.level, "notes": list(self.notes)}

    def __repr__(self) -> str:
        return f"<Summary of {len(self.names)} numbers: {printable(self.title)}>"

    def __str__(self) -> str:
        """Return a table as text, with what is assumed below."""
        ends = f"{100 * self.level:g} % interval"
        lines = [["", "estimate", "std. error", "t", "p", ends]]
        for i, name in enumerate(self.names):
            t, p = float(self.t[i]), float(self.p[i])
            lines.append(
                [
                    printable(name),
                    f"{self.estimate[i]:.5g}",
                    f"{self.standard_error[i]:.2g}",
                    "?" if math.isnan(t) else f"{t:.2f}",
                    "?" if math.isnan(p) else "< 0.001" if p < 0.001 else f"{p:.3f}",
                    f"{self.lower[i]:.4g} to {self.upper[i]:.4g}",
                ]
            )
        widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
        text = []
        for line in lines:
            numbers = (cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))
            text.append("  ".join([line[0].ljust(widths[0]), *numbers]).rstrip())
        return "\n".join([printable(self.title), *text, *self.notes])


def summarised(
    title: str, names: tuple[str, ...], at: Callable[[float], Interval], level: float, notes: tuple[str, ...]
) -> Summary:
    """Return the table of intervals, which ``at`` finds for any level; p has the tails of these."""
    found = at(level)
    estimate, error, lower, upper = (
        np.array(part, dtype=np.float64) for part in (found.estimate, found.standard_error, found.lower, found.upper)
    )
    with np.errstate(all="ignore"):
        t = np.where(np.isfinite(error) & (error > 0), estimate / error, np.nan)
    return Summary(title, names, estimate, error, t, p_values(estimate, at, np.isfinite(t)), lower, upper, level, notes)


def p_values(estimate: Floats, at: Callable[[float], Interval], known: NDArray[np.bool_]) -> Floats:
    """Return one less the level of the interval that just reaches 0.

    Halves of intervals of a few levels are compared with what a normal law has there, and joined by lines.
    """
    from scipy.special import erfc, ndtri

    scores = np.concatenate([[0.0], -ndtri((1 - np.array(LEVELS)) / 2)])
    halves = [np.zeros(len(estimate))]
    for level in LEVELS:
        one = at(level)
        with np.errstate(all="ignore"):
            halves.append(np.where(estimate > 0, estimate - one.lower, one.upper - estimate))
    found = np.full(len(estimate), np.nan)
    for j in np.flatnonzero(known):
        reach = np.array([half[j] for half in halves])
        if np.isfinite(reach).all() and (np.diff(reach) > 0).all():
            beyond = max(abs(float(estimate[j])) - reach[-1], 0.0) / (reach[-1] - reach[-2]) * (scores[-1] - scores[-2])
            found[j] = erfc((float(np.interp(abs(float(estimate[j])), reach, scores)) + beyond) / math.sqrt(2))
    return found


def model_summary(model: RidgeModel, level: float) -> Summary:
    """Return the table of a regression: see `RidgeModel.summary`."""

    def at(often: float) -> Interval:
        found = model.interval(often, about=POPULATION)
        parts, own = found.coefficients, found.intercept
        if own is None:
            return parts
        return Interval(
            np.append(own.estimate, parts.estimate),
            np.append(own.lower, parts.lower),
            np.append(own.upper, parts.upper),
            np.append(own.standard_error, parts.standard_error),
            often,
        )

    names = (INTERCEPT, *model.feature_names) if len(at(level).estimate) > len(model.feature_names) else model.feature_names
    units = model.release.estimate.units
    notes = [ASSUMED if units is None or (units.seen < 1).any() else LIKE_DRAWN]
    if model.references:
        notes.append(f"Levels are compared with {', '.join(printable(name) for name in model.references)}.")
    if model.penalised:
        notes.append("Least squares: the model itself is penalised, and its coefficients are drawn towards 0.")
    return summarised(f"{model.target}, by least squares", names, at, level, tuple(notes))


def release_summary(release: Release, level: float) -> tuple[Summary | None, Summary | None]:
    """Return the tables of means, and of correlations between features of different columns: see `Release.summary`."""
    from dpcov.uses.selection import column_of_feature

    release.interval(level)  # refuse what has no intervals, and levels that are none
    names, columns = release.feature_names, column_of_feature(release.schema, release.feature_names)
    pairs = [(i, j) for i in range(len(names)) for j in range(i + 1, len(names)) if columns[i] != columns[j]]
    rows, others = (np.array([pair[side] for pair in pairs], dtype=np.intp) for side in (0, 1))

    def correlations(often: float) -> Interval:
        return _of(release.interval(often).correlations, (rows, others))

    def means(often: float) -> Interval:
        found = release.interval(often).unbounded_mean  # p is about how far noise and the draw of rows reach
        assert found is not None
        return _of(found, slice(None))

    dated = [] if release.schema is None else [name for name, kind in zip(names, release.schema.dates(), strict=True) if kind]
    said = (DRAWN, *[f"In days since {ORIGIN}: {', '.join(map(printable, dated))}."] * bool(dated))
    of_means = summarised("Means", names, means, level, said) if release.encoding.constant else None
    possible = release.interval(level).mean
    if of_means is not None and possible is not None:
        of_means = replace(of_means, lower=possible.lower.copy(), upper=possible.upper.copy())
    labels = tuple(f"{names[i]}, {names[j]}" for i, j in pairs)
    of_pairs = summarised("Correlations", labels, correlations, level, (FISHER,)) if pairs else None
    return of_means, of_pairs


def _of(found: Interval, places: Any) -> Interval:
    estimate, lower, upper, error = (
        np.array(part[places]) for part in (found.estimate, found.lower, found.upper, found.standard_error)
    )
    return Interval(estimate, lower, upper, error, found.level)
