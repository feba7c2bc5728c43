"""A linear model as text and as JSON: what it is, and what the release knows of its errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcov.cli.estimates import is_centred, reason, roots
from dpcov.cli.text import NOISE, SILENT, finite, interval_record, percent, printable, rounded, span
from dpcov.errors import ReleaseError
from dpcov.release.record import Release
from dpcov.uses.description import RARELY
from dpcov.uses.held import holds_covariance

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from dpcov.uses.coefficient_intervals import CoefficientIntervals
    from dpcov.uses.intervals import Interval
    from dpcov.uses.ridge import RidgeModel

Floats = NDArray[np.float64]

MOST_COEFFICIENTS = 20
LEVEL = 0.95  # of what is said about a model where nobody asked
NOTHING = 0.005  # of the variance explained
DROWNED = 1e-3  # of the target's own scale: the largest effect of a model that noise has left nothing of
TOO_WIDE = 10.0  # times the largest effect: half an interval that says nothing


@dataclass(frozen=True, eq=False)
class ToldModel:
    """A model, and what can be said of it from its release alone.

    ``scales`` are what a feature's coefficient is multiplied by to compare it with the others, ``per`` says what they are;
    ``target_scale`` is that of the target.
    ``intervals`` and ``bound`` are None where the release tells none; ``silent`` then says why.
    """

    release: Release
    model: RidgeModel
    level: float
    scales: Floats
    target_scale: float
    per: str
    intervals: CoefficientIntervals | None
    bound: float | None
    silent: str

    @property
    def effects(self) -> Floats:
        """How much the prediction changes by each feature, in the target's units."""
        with np.errstate(all="ignore"):
            return np.asarray(self.model.coefficients * self.scales)

    @property
    def shown(self) -> Floats:
        """The coefficients that people read: the centres of their intervals; the model's own where intervals do not help."""
        return self.model.coefficients if self.useful is None else self.useful.estimate

    @property
    def useful(self) -> Interval | None:
        """The intervals, where one of them at least is comparable with the largest effect; None: all are too wide to help."""
        if self.intervals is None:
            return None
        found = self.intervals.coefficients
        with np.errstate(all="ignore"):
            halves = (found.upper - found.lower) / 2 * self.scales
            helps = np.any(halves <= TOO_WIDE * np.abs(self.effects).max())
        return found if helps else None

    @property
    def clear(self) -> NDArray[np.bool_] | None:
        """Which coefficients are clear of noise; None where intervals do not help.

        By three standard errors for one feature, and for many by as much as none of them exceeds by chance as rarely.
        """
        from scipy.special import ndtri

        found = self.useful
        if found is None:
            return None
        limit = float(ndtri(1 - (1 - RARELY) / 2 / len(self.effects)))
        return np.abs(found.estimate) > limit * found.standard_error

    @property
    def nothing(self) -> bool:
        """Whether nothing can be seen: next to nothing explained, and no effect that is both sizeable and clear of noise."""
        if not self.model.explained < NOTHING:  # NaN where the release does not tell
            return False
        drowned = not float(np.abs(self.effects).max()) > DROWNED * self.target_scale
        return drowned or self.clear is None or not self.clear.any()

    @property
    def readable(self) -> bool:
        """Whether there are coefficients to read: some are clear of noise, or nobody knows how large their noise is."""
        if self.intervals is None:
            return not self.nothing
        return not self.nothing and self.clear is not None and bool(self.clear.any())

    @property
    def order(self) -> NDArray[np.intp]:
        """The features, those with the largest effects first; those that are clear of noise before all others."""
        drowned = np.zeros(len(self.effects), dtype=np.bool_) if self.clear is None else ~self.clear
        return np.lexsort((-np.abs(self.effects), drowned))


def told(release: Release, model: RidgeModel, level: float) -> ToldModel:
    """Ask a release about a model."""
    intervals, bound, silent = None, None, ""
    try:
        bound = model.bound(level)
        intervals = model.interval(level, about="rows")
    except ReleaseError as error:
        silent = reason(error)
    by_name = {name: place for place, name in enumerate(release.feature_names)}
    per, scales = _scales(release)
    own = scales[[by_name[name] for name in model.feature_names]]
    return ToldModel(release, model, level, own, float(scales[by_name[model.target]]), per, intervals, bound, silent)


def _scales(release: Release) -> tuple[str, Floats]:
    """Return what makes coefficients comparable: the range of each feature, or its estimated spread."""
    if release.schema is not None:
        low, high = release.schema.bounds()
        return "over its range", high - low
    if release.estimate.coefficients is not None:
        return "per unit", np.ones(release.d)
    heading, sizes = roots(release)
    return f"per {heading}", sizes


def record(found: ToldModel) -> dict[str, Any]:
    """Return a model for machines; what is infinite or unknown is null."""
    model, intervals = found.model, found.intervals
    own = None if intervals is None else intervals.intercept
    return {
        "target": model.target,
        "features": list(model.feature_names),
        "columns": list(model.columns),
        "references": list(model.references),
        "alpha": model.alpha,
        "intercept": finite(model.intercept),
        "coefficients": finite(model.coefficients),
        "encoded_coefficients": finite(model.encoded_coefficients),
        "effects": {"per": found.per, "values": finite(found.effects)},
        "explained": finite(model.explained),
        "level": found.level,
        "bound": None if found.bound is None else finite(found.bound),
        "interval": None if intervals is None else interval_record(intervals.coefficients),
        "intercept_interval": None if own is None else interval_record(own),
        "clear_of_noise": None if found.clear is None else found.clear.tolist(),
        "nothing_seen": found.nothing,
        "no_interval": found.silent or None,
    }


def print_model(out: Console, found: ToldModel, asked: float | str | None, limit: int | None = MOST_COEFFICIENTS) -> None:
    """Print a model: what it is, the coefficients that are clear of noise (without a limit: all), and what they are worth."""
    out.print(model_line(found, asked), soft_wrap=True)
    if limit is None or found.readable:
        out.print(coefficients_table(found, limit))
    out.print("\n".join(notes(found)), soft_wrap=True)


def coefficients_table(found: ToldModel, limit: int | None = MOST_COEFFICIENTS) -> Table:
    """List coefficients, with their intervals where there are some: then, unless all are wanted, only those clear of noise."""
    from rich.table import Table
    from rich.text import Text

    model, order, interval = found.model, found.order, found.useful
    known = np.full(len(order), found.intervals is None)  # without intervals nobody can say what is noise
    clear = known if found.clear is None else found.clear & (not found.nothing)
    listed = order if limit is None else order[: min(limit, int(clear.sum()))]
    title = f"coefficients for {printable(model.target)}"
    table = Table(title=title, title_justify="left", caption=_caption(found, listed), caption_justify="left")
    table.add_column("feature", overflow="fold")
    compared = found.per != "per unit"
    for heading in ("coefficient", *[found.per] * compared):
        table.add_column(heading, justify="right")
    if interval is not None:
        table.add_column(f"{percent(found.level)} interval", justify="right")
    for j in listed:
        numbers = [coefficient(found, j), *[f"{found.shown[j] * found.scales[j]:+.3g}"] * compared]
        cells = [Text(number if clear[j] else NOISE) for number in numbers]
        if interval is not None:
            cells.append(Text(span(interval.lower[j], interval.upper[j])))
        table.add_row(printable(model.feature_names[j]), *cells, style=None if clear[j] else "dim")
    return table


def coefficient(found: ToldModel, place: int) -> str:
    """Return a coefficient with as many digits as its standard error allows."""
    if found.useful is None:
        return f"{found.shown[place]:.4g}"
    return rounded(float(found.shown[place]), float(found.useful.standard_error[place]))[0]


def _caption(found: ToldModel, listed: NDArray[np.intp]) -> str | None:
    """Say which features are not listed."""
    hidden = len(found.effects) - len(listed)
    if hidden == 0:
        return None
    drowned = 0 if found.clear is None else min(hidden, int((~found.clear).sum()))
    parts = [f"{hidden - drowned} more feature{'s' * (hidden - drowned > 1)}"] * (hidden > drowned)
    parts += [f"{drowned} that may be noise (--all lists {'them' if drowned > 1 else 'it'})"] * bool(drowned)
    return f"... and {' and '.join(parts)}"


def model_line(found: ToldModel, asked: float | str | None) -> str:
    """Say what is predicted from what."""
    model, schema = found.model, found.release.schema
    count, columns = len(model.feature_names), len(model.columns)
    features = f"{count} feature{'s' * (count > 1)}" + f" of {columns} column{'s' * (columns > 1)}" * (columns < count)
    level = schema is not None and model.target not in schema.used
    target = printable(model.target) + " (1 where it is so, else 0)" * level
    auto = ", chosen by auto" * (asked == "auto" and holds_covariance(found.release))
    named = f"Model: {target} from {features}; alpha {model.alpha:.3g}{auto}"
    intercept = f"intercept {model.intercept:.4g}" if found.release.center else "no intercept"
    if found.release.center and not found.readable:
        return f"{named}; with an intercept."  # it is as noisy as the coefficients
    if found.useful is not None and found.intervals is not None and (own := found.intervals.intercept) is not None:
        number = rounded(float(own.estimate), float(own.standard_error))[0]
        intercept = f"intercept {number} ({percent(found.level)} interval {span(float(own.lower), float(own.upper))})"
    return f"{named}; {intercept}."


def notes(found: ToldModel) -> list[str]:
    """Say what the numbers are worth, and what they are not."""
    release, model = found.release, found.model
    if found.nothing:
        return [f"Nothing can be seen: {drowned_line(found)}. --json has the coefficients all the same."]
    said = []
    if not found.readable:
        together = ": only together they tell" * (len(found.effects) > 1)
        said.append(f"No single coefficient is clear of noise, so none is listed (--all lists them){together}.")
    if holds_covariance(release) and np.isnan(model.explained):
        said.append(f"Explained: {SILENT}.")
    elif holds_covariance(release) and not _knows_target(found):
        said.append(f"Explained: not known, as noise drowns the variance of {printable(model.target)} itself.")
    elif holds_covariance(release):
        what = "variance" if is_centred(release) else "second moment"
        said.append(
            f"Explained: roughly {100 * model.explained:.0f} % of the {what}, by the release alone; `dpcov predict --score` "
            "tells on new rows."
        )
    if found.bound is not None and found.bound <= float(np.linalg.norm(model.encoded_coefficients)):
        said.append(_bound_line(found))
    said += _interval_lines(found)
    if model.references:
        said.append(f"Levels are compared with {', '.join(printable(name) for name in model.references)}.")
    if model.alpha == 0 and (found.intervals is None or not found.intervals.clear):
        said.append(
            "alpha 0: the noisy matrix is trusted as if it were exact; where it is singular, the smallest coefficients are "
            "taken. --alpha auto fits the noise."
        )
    if holds_covariance(release) and not release.center:
        lost = "knows no mean: predictions are right up to a constant" if is_centred(release) else "is not centred"
        said.append(f"No intercept: the release {lost}. --center at the release gives one.")
    return said


def drowned_line(found: ToldModel) -> str:
    """Say why nothing can be seen of a model."""
    target = printable(found.model.target)
    return f"the noise of the release is too large to tell how {target} depends on these features"


def _knows_target(found: ToldModel) -> bool:
    """Whether the variance of the target, of which a model explains a part, is clear of noise."""
    deviation = found.release.describe().deviation
    return deviation is not None and bool(deviation.clear[found.release.feature_names.index(found.model.target)])


def _interval_lines(found: ToldModel) -> list[str]:
    """Say what the intervals are around, or why there are none."""
    if found.intervals is None:
        return [f"No intervals: {found.silent}."]
    if found.useful is None or not found.readable:
        return ["Intervals: too wide to help; --json has them. Fewer --features or a larger --alpha narrow them."]
    if found.release.estimate.coefficients is not None:
        return ["Intervals: each for itself, over the noise only, for the coefficients that the exact matrix would give."]
    each = "each holds for itself" if found.intervals.clear else "wide, as the matrix does not stand clear of its noise"
    penalised = (
        "for least squares" if found.model.alpha == 0 else f"for what ridge with alpha {found.model.alpha:.3g} would give"
    )
    towards = (
        "" if found.model.alpha == 0 else " These are penalised coefficients, drawn towards 0: not those of least squares."
    )
    denoised = (
        "Coefficients are of the raw noisy matrix, as only its errors are known; `dpcov predict` uses denoised ones (--json)."
    )
    return [
        f"Intervals: {penalised} on the exact matrix, over the noise only; {each}.{towards}",
        *[denoised] * (found.model.penalised or not found.intervals.clear),
    ]


def _bound_line(found: ToldModel) -> str:
    """Say the bound of Lemma 1 (docs/ridge.md) beside the size of what it bounds."""
    size = float(np.linalg.norm(found.model.encoded_coefficients))
    assert found.bound is not None
    encoded = "encoded " * (found.release.schema is not None)
    return (
        f"Bound: with probability {percent(found.level)} over the noise, all {encoded}coefficients together, of norm "
        f"{size:.3g}, are within {found.bound:.3g} of those of the exact matrix."
    )
