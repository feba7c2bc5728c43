"""A linear model as text and as JSON: what it is, and what the release knows of its errors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcov.cli.estimates import is_centred, roots
from dpcov.cli.kinds import reason
from dpcov.cli.text import finite, interval_record, percent, printable, span
from dpcov.errors import ReleaseError
from dpcov.release import Release

if TYPE_CHECKING:
    from rich.table import Table

    from dpcov.uses.coefficient_intervals import CoefficientIntervals
    from dpcov.uses.intervals import Interval
    from dpcov.uses.ridge import RidgeModel

Floats = NDArray[np.float64]

MOST_COEFFICIENTS = 20
LEVEL = 0.95  # of what is said about a model where nobody asked
NOTHING = 0.005  # of the variance explained
TOO_WIDE = 10.0  # times the largest effect: half an interval that says nothing


@dataclass(frozen=True, eq=False)
class ToldModel:
    """A model, and what can be said of it from its release alone.

    ``scales`` are what a feature's coefficient is multiplied by to compare it with the others, ``per`` says what they are.
    ``intervals`` and ``bound`` are None where the release tells none; ``silent`` then says why.
    """

    release: Release
    model: RidgeModel
    level: float
    scales: Floats
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
    def order(self) -> NDArray[np.intp]:
        """The features, those with the largest effects first."""
        return np.argsort(-np.abs(self.effects), kind="stable")


def told(release: Release, model: RidgeModel, level: float) -> ToldModel:
    """Ask a release about a model."""
    intervals, bound, silent = None, None, ""
    try:
        bound = model.bound(level)
        intervals = model.interval(level)
    except ReleaseError as error:
        silent = reason(error)
    per, scales = _scales(release, model)
    return ToldModel(release, model, level, scales, per, intervals, bound, silent)


def _places(release: Release, model: RidgeModel) -> list[int]:
    by_name = {name: place for place, name in enumerate(release.feature_names)}
    return [by_name[name] for name in model.feature_names]


def _scales(release: Release, model: RidgeModel) -> tuple[str, Floats]:
    """Return what makes coefficients comparable: the range of each feature, or its estimated spread."""
    places = _places(release, model)
    if release.schema is not None:
        low, high = release.schema.bounds()
        return "over its range", (high - low)[places]
    if release.kind == "ridge":
        return "per unit", np.ones(len(places))
    heading, sizes = roots(release)
    return f"per {heading}", sizes[places]


def record(found: ToldModel) -> dict[str, Any]:
    """Return a model for machines; what is infinite or unknown is null."""
    model, intervals = found.model, found.intervals
    own = None if intervals is None else intervals.intercept
    return {
        "target": model.target,
        "features": list(model.feature_names),
        "columns": list(model.columns),
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
        "no_interval": found.silent or None,
    }


def coefficients_table(found: ToldModel, limit: int | None = MOST_COEFFICIENTS) -> Table:
    """List the largest coefficients, with their intervals where there are some."""
    from rich.table import Table

    model, order, interval = found.model, found.order, found.useful
    hidden = 0 if limit is None else max(0, len(order) - limit)
    caption = f"... and {hidden} more feature{'s' * (hidden > 1)}" if hidden else None
    title = f"coefficients for {printable(model.target)}"
    table = Table(title=title, title_justify="left", caption=caption, caption_justify="left")
    table.add_column("feature", overflow="fold")
    compared = found.per != "per unit"
    for heading in ("coefficient", *[found.per] * compared):
        table.add_column(heading, justify="right")
    if interval is not None:
        table.add_column(f"{percent(found.level)} interval", justify="right")
    for j in order[: len(order) - hidden]:
        cells = [f"{model.coefficients[j]:.4g}", *[f"{found.effects[j]:+.3g}"] * compared]
        if interval is not None:
            cells.append(span(interval.lower[j], interval.upper[j]))
        table.add_row(printable(model.feature_names[j]), *cells)
    return table


def model_line(found: ToldModel, asked: float | str | None) -> str:
    """Say what is predicted from what."""
    model, schema = found.model, found.release.schema
    count, columns = len(model.feature_names), len(model.columns)
    features = f"{count} feature{'s' * (count > 1)}" + f" of {columns} column{'s' * (columns > 1)}" * (columns < count)
    level = schema is not None and model.target not in schema.used
    target = printable(model.target) + " (1 where it is so, else 0)" * level
    auto = ", chosen by auto" * (asked == "auto" and found.release.kind == "covariance")
    intercept = f"intercept {model.intercept:.4g}" if found.release.center else "no intercept"
    if found.useful is not None and found.intervals is not None and (own := found.intervals.intercept) is not None:
        intercept += f" ({percent(found.level)} interval {span(float(own.lower), float(own.upper))})"
    return f"Model: {target} from {features}; alpha {model.alpha:.3g}{auto}; {intercept}."


def notes(found: ToldModel) -> list[str]:
    """Say what the numbers are worth, and what they are not."""
    release, model = found.release, found.model
    said = []
    if model.explained < NOTHING:
        said.append("Explained: next to nothing, as noise or the penalty drowns it.")
    elif release.kind == "covariance":
        what = "variance" if is_centred(release) else "second moment"
        said.append(
            f"Explained: roughly {100 * model.explained:.0f} % of the {what}, by the release alone; `dpcov predict --score` "
            "tells on new rows."
        )
    if found.bound is not None:
        said.append(_bound_line(found))
    said.append(_interval_line(found))
    if model.alpha == 0:
        said.append(
            "alpha 0: the noisy matrix is trusted as if it were exact; where it is singular, the smallest coefficients are "
            "taken. --alpha auto fits the noise."
        )
    if release.kind == "covariance" and not release.center:
        lost = "knows no mean: predictions are right up to a constant" if is_centred(release) else "is not centred"
        said.append(f"No intercept: the release {lost}. --center at the release gives one.")
    return said


def _interval_line(found: ToldModel) -> str:
    """Say what the intervals are around, or why there are none."""
    if found.intervals is None:
        return f"No intervals: {found.silent}."
    if found.useful is None:
        return (
            "Intervals: too wide to help, as the matrix does not stand clear of its noise; --json has them. Fewer --features "
            "or a larger --alpha narrow them."
        )
    if found.release.kind == "ridge":
        return "Intervals: each for itself, over the noise only, for the coefficients that the exact matrix would give."
    each = "each for itself" if found.intervals.clear else "wide, as it does not stand clear of its noise"
    return (
        f"Intervals: around the coefficients of the raw noisy matrix with the same alpha, {each}; over the noise only. The "
        "denoised coefficients beside them are nearer to the truth on average, and may lie outside."
    )


def _bound_line(found: ToldModel) -> str:
    """Say Lemma 1's bound beside the size of what it bounds."""
    size = float(np.linalg.norm(found.model.encoded_coefficients))
    assert found.bound is not None
    if math.isinf(found.bound):
        return "Lemma 1: no bound; without a penalty, noise may outweigh the smallest eigenvalue."
    encoded = "encoded " * (found.release.schema is not None)
    useless = "; it says little, being larger" * (found.bound > size)
    return (
        f"Lemma 1: with probability {percent(found.level)} over the noise, the {encoded}coefficients, of norm {size:.3g}, are "
        f"within {found.bound:.3g} of those of the exact matrix{useless}."
    )
