r"""Ridge regression from a release: any target, any features, any penalty, each a solve of a small system.

In encoded coordinates, with C the released covariance (of an uncentred release: second moment), the coefficients are

.. math:: w = (C_{xx} + α)^{-1} C_{xy}, \qquad b = m_y - w·m_x

the minimum of (1/n)·Σ(y − b − w·x)² + α‖w‖² for rows that have this covariance. A column's own units come back by the scales of
the schema. docs/ridge.md derives ``alpha="auto"``.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError, ReleaseError, check_real, printable, shown
from dpcov.release.estimate import Coefficients
from dpcov.release.record import Release
from dpcov.results import Drawable
from dpcov.uses.fits import Fitted, fitted, least_squares_fit, penalised_fit, wins
from dpcov.uses.held import check_covariance, tells_noise
from dpcov.uses.regression import regression
from dpcov.uses.selection import column_of_feature, feature_places, reference_places, target_and_reference, target_place
from dpcov.uses.solving import LARGEST_ALPHA

if TYPE_CHECKING:
    from dpcov.schema import Schema
    from dpcov.uses.coefficient_intervals import CoefficientIntervals
    from dpcov.uses.intervals import Interval
    from dpcov.uses.model_reading import ModelReading
    from dpcov.uses.prediction import Products
    from dpcov.uses.scoring import Score
    from dpcov.uses.summary import Summary

Floats = NDArray[np.float64]

AUTO = "auto"


@dataclass(frozen=True, eq=False, repr=False)
class RidgeModel(Drawable):
    """A linear model: prediction = intercept + coefficients · features, all in the user's units.

    Attributes
    ----------
    target : str
        What is predicted.
    feature_names : tuple of str
        What it is predicted from.
    coefficients : array
        One for each feature, in units of the target for each unit of the feature; a level counts 0 or 1.
    intercept : float
        0 where the release is not centred; NaN where it is one of differences, which know no mean.
    alpha : float
        The penalty, on squared encoded coefficients; 0: least squares.
    encoded_coefficients : array
        The same coefficients in encoded coordinates; without a schema no others. A penalty is on those of all levels.
    columns : tuple of str
        The columns that new data must have, in this order where they are an array.
    references : tuple of str
        The levels that others of their columns are compared with: they have no coefficient, and count in the intercept.
    release : Release
        What it was made of.
    """

    target: str
    feature_names: tuple[str, ...]
    coefficients: Floats
    intercept: float
    alpha: float
    encoded_coefficients: Floats
    columns: tuple[str, ...]
    references: tuple[str, ...]
    release: Release = field(repr=False)
    _place: int = field(repr=False)
    _fitted: Fitted = field(repr=False)

    @property
    def dates(self) -> str | None:
        """Whether the target is a date, "date" or "datetime": predictions are then days since 1970-01-01."""
        return None if self.release.schema is None else self.release.schema.dates()[self._place]

    @property
    def penalised(self) -> bool:
        """Whether the coefficients are drawn towards 0: then they are for predictions, not for reading one by one."""
        return self.alpha > 0

    @cached_property
    def explained(self) -> float:
        """About which share of the target's variance the model explains, by the release alone.

        NaN for a release that does not tell: one of coefficients, or whose mechanism does not say how large its noise is.
        """
        from dpcov.uses.penalty import explained_by_least_squares, explained_share

        fitted = self._fitted
        if fitted.system is None or not tells_noise(self.release):
            return math.nan
        if fitted.least is not None:
            return explained_by_least_squares(fitted.least)
        return explained_share(fitted.system, self.alpha, fitted.along)

    @cached_property
    def explained_error(self) -> float:
        """The standard error of `explained`, of noise and of the draw of rows; NaN where that is."""
        from dpcov.uses.penalty import explained_error

        if math.isnan(self.explained):
            return math.nan
        fitted = self._fitted
        assert fitted.system is not None
        return explained_error(fitted.system, fitted.least, fitted.along, self.explained)

    @cached_property
    def residual_deviation(self) -> float:
        """How far people are from their predictions, r.m.s., in the target's units: docs/ridge.md.

        From the target's deviation and the share that the model explains, each one standard error to the careful side. Infinite
        where noise drowns the target's own deviation, NaN where the release does not tell.
        """
        from dpcov.uses.prediction import residual_deviation

        return residual_deviation(self)

    def predict_interval(
        self, data: Any, level: float = 0.95, *, progress: Callable[[float | None], None] | None = None
    ) -> Interval:
        """Return predictions for new rows with intervals that should hold the true values of people like those of the release.

        They end at the public bounds of the target, where a schema has them. Where noise drowns the target's own deviation,
        `residual_deviation` is infinite, and they hold all that is possible.

        Parameters
        ----------
        data
            As in `predict`.
        level : float
            How often an interval holds the value of a new person. Residuals are taken to be normal, with the deviation
            `residual_deviation`: noise in the coefficients is part of it.
        """
        from dpcov.uses.prediction import prediction_interval

        return prediction_interval(self, self.predict(data, progress=progress), level)

    def predict(self, data: Any, *, progress: Callable[[float | None], None] | None = None) -> Floats:
        """Return a prediction for each row of new data, which costs nothing: the data are yours, and are only read.

        Parameters
        ----------
        data : array, frame, path or anything with ``__arrow_c_stream__``
            With the columns of the model, in the user's units; others are not read. An array has just these, in their order.
            Values outside a schema's bounds, or outside the ranges within which a release measured its columns, count as their
            ends, missing ones as the release counted them; a cell that is no level of its column is refused.
        """
        from dpcov.uses.prediction import new_rows

        release = self.release
        if math.isnan(self.intercept):
            raise ReleaseError(
                "release must hold a mean for predictions, got one of differences. Hint: make it with center=True."
            )
        about = release.encoding.midpoints
        source = new_rows(data, self._schema(), self.columns, about, progress)
        if source.schema is None:
            offsets, scales, order = np.zeros(len(self.coefficients)), np.ones(len(self.coefficients)), list(self.feature_names)
        else:
            offsets, scales, order = source.schema.offsets(about), source.schema.scales(about), list(source.feature_names)
        fitted = self._fitted  # a cell that is no level is none of them, not the reference
        by_name = dict(zip((release.feature_names[j] for j in fitted.places), fitted.coefficients, strict=True))
        weights = np.array([by_name.get(name, 0.0) for name in order])  # of a column's levels only some may be features
        with np.errstate(all="ignore"):
            products = self._products(source.schema, weights * scales, order, scales).of_source(source)[:, 0]
            return np.asarray(products + float(weights @ offsets) + fitted.intercept)

    def _schema(self) -> Schema | None:
        """Return the description of the model's own columns: of those it was fitted to, and of references."""
        release, schema = self.release, self.release.schema
        if schema is None:
            return None
        column = dict(zip(release.feature_names, column_of_feature(schema, release.feature_names), strict=True))
        fitted = [release.feature_names[j] for j in self._fitted.places]
        return schema.select(schema.entries(column[name] for name in (*fitted, *self.references)))

    def _products(self, schema: Schema | None, weights: Floats, order: list[str], scales: Floats) -> Products:
        """Return what adds up the products of rows with these weights; as a release measured its columns, where it tells."""
        from dpcov.uses.prediction import CellProducts, Products

        units = self.release.estimate.units
        if units is None or schema is None:
            return Products(weights[None, :], np.zeros(len(order)))
        place = {name: i for i, name in enumerate(self.release.feature_names)}
        chosen = [place[name] for name in order]
        other = self.release.units[chosen] / scales  # of fewer columns each has a larger weight
        return CellProducts(schema, weights, *(part[chosen] * other for part in (units.low, units.high, units.centre)))

    def score(self, data: Any, *, predictions: Floats | None = None) -> Score:
        """Return how good the predictions are on rows that have the target, too: the rows are yours, and are only read.

        Parameters
        ----------
        data : frame, path or anything with ``__arrow_c_stream__`` that can be read twice
            With the columns of the model and that of the target; rows without the latter are left out.
        predictions : array, optional
            What `predict` returned for these data, where it is there already: they are then read for the target only.
        """
        from dpcov.uses.scoring import score

        return score(self.release, self.target, self.predict(data) if predictions is None else predictions, data)

    def reading(self, level: float = 0.95, about: str = "population") -> ModelReading:
        """Return what can be said of the model from its release alone: effects, intervals, and which are clear of noise.

        Intervals are about least squares on the population, or about the same penalty on the exact matrix of the rows: see
        `interval`. Of coefficients that were released themselves there are only the latter.
        """
        from dpcov.uses.model_reading import read_model

        return read_model(self.release, self, level, about)

    def __repr__(self) -> str:
        count = len(self.feature_names)
        features = f"{count} feature{'s' * (count > 1)}"
        return f"<RidgeModel of {printable(self.target)} from {features}, alpha={self.alpha:.3g}>"

    def bound(self, level: float = 0.95) -> float:
        """Return how far, in Euclidean norm, the encoded coefficients can be from those of the exact matrix: Lemma 1.

        It holds with probability ``level`` over the noise; infinite where the noise says nothing.
        """
        from dpcov.uses.lemma import coefficient_bound, released_bound

        held = self.release.estimate.coefficients
        if held is not None:
            return released_bound(held.answer, level)
        fitted = self._fitted
        assert fitted.system is not None  # a model that was not released itself was solved
        within = coefficient_bound(fitted.system, self.alpha, fitted.along, level)
        return within * fitted.stretch(self.release)

    def interval(self, level: float = 0.95, about: str = "population") -> CoefficientIntervals:
        """Return intervals for coefficients and intercept, in the user's units, around those of the raw noisy matrix.

        Parameters
        ----------
        level : float
            How often each of them holds.
        about : {"population", "rows"}
            "population": about the coefficients of least squares on the people that the rows were drawn from, whatever the
            penalty, for residuals whose variance does not depend on the features. Where the model is not `penalised` its
            coefficients are their centres. "rows": about those that the same penalty gives on the exact matrix, over the noise.
        """
        from dpcov.uses.coefficient_intervals import coefficient_intervals
        from dpcov.uses.sampling import about_population

        fitted, population = self._fitted, about_population(about)
        places, references = fitted.places, fitted.references
        if population and self.release.estimate.units is None:  # without a penalty all levels of a column are one too many
            places, references = tuple(j for j in places if j not in references), ()
        return coefficient_intervals(self.release, self._place, places, self.alpha, level, about, references)

    def summary(self, level: float = 0.95) -> Summary:
        """Return each coefficient with its standard error, t, p and interval, about the population: least squares.

        See `interval`: noise and the draw of rows are both in them. Of a `penalised` model these are not its coefficients.
        """
        from dpcov.uses.summary import model_summary

        return model_summary(self, level)


def ridge(
    release: Release,
    target: object,
    *,
    alpha: float | str = AUTO,
    features: Sequence[str | int] | None = None,
    reference: Mapping[str, object] | str | None = None,
) -> RidgeModel:
    """Fit a ridge regression to a release: see `Release.ridge`."""
    if release.estimate.coefficients is not None:
        if reference is not None:
            raise ParameterError(f"reference must be None for a released model, got {shown(reference)}. Hint: leave it out.")
        return _asked_model(release, release.estimate.coefficients, target, alpha, features)
    check_covariance(release, "a regression")
    if target is None:
        hint = f"name a feature to predict, such as {release.feature_names[0]!r}"
        raise ParameterError(f"target must be given, got None. Hint: {hint}.")
    automatic = isinstance(alpha, str) and alpha == AUTO
    given = 0.0 if automatic else _checked_alpha(alpha)
    place, reference = target_and_reference(release, target, reference)
    places = feature_places(release.feature_names, release.schema, features, place)
    references = reference_places(release, places, features, reference)
    system = regression(release, place, places)
    penalised = penalised_fit(release, system, alpha if automatic else given)
    least = least_squares_fit(release, system, places, references) if automatic or given == 0 else None
    if least is not None and automatic and isinstance(reference, str):
        least = None  # all levels: only a penalty tells them apart
    if least is not None and (not automatic or wins(least, penalised)):
        return _model(release, place, 0.0, least, references)
    return _model(release, place, penalised.alpha, penalised, references)


def _model(release: Release, place: int, alpha: float, fitted: Fitted, references: tuple[int, ...] = ()) -> RidgeModel:
    """Return the model that people read: levels as differences from their references."""
    fitted = dataclasses.replace(fitted, references=tuple(r for r in references if r in fitted.places))
    reported = [j for j in fitted.places if j not in references]
    units, coefficients, intercept = release.units, fitted.coefficients.copy(), fitted.intercept
    columns = column_of_feature(release.schema, release.feature_names)
    with np.errstate(all="ignore"):
        own = {columns[r]: float(fitted.coefficients[fitted.places.index(r)]) for r in fitted.references}
        coefficients = coefficients - np.array([own.get(columns[j], 0.0) for j in fitted.places])
        intercept = intercept + sum(own.values())
        coefficients = coefficients[[fitted.places.index(j) for j in reported]]
        encoded = coefficients * (units[reported] / units[place]) if fitted.references else fitted.encoded.copy()
    used = tuple(dict.fromkeys(columns[j] for j in (*fitted.places, *references)))
    if release.schema is not None:
        used = tuple(release.schema.table_columns(used))
    names = release.feature_names
    for array in (coefficients, encoded, fitted.coefficients, fitted.encoded):
        array.flags.writeable = False
    return RidgeModel(
        names[place],
        tuple(names[j] for j in reported),
        coefficients,
        intercept,
        alpha,
        encoded,
        used,
        tuple(names[r] for r in references),
        release,
        place,
        fitted,
    )


def _asked_model(release: Release, held: Coefficients, target: object, alpha: object, features: object) -> RidgeModel:
    """Return the one model that a release of coefficients holds, or refuse another."""
    own, penalty = held.target, held.alpha
    others = tuple(j for j in range(release.d) if j != own)
    names = release.feature_names
    wanted = own if target is None else target_place(names, release.schema, target)
    chosen = others if features is None else feature_places(names, release.schema, features, wanted)
    other_penalty = not (isinstance(alpha, str) and alpha == AUTO) and _checked_alpha(alpha) != penalty
    if wanted != own or sorted(chosen) != list(others) or other_penalty:
        raise ReleaseError(
            f"release must hold the model you ask for, got only that of {names[own]!r} from all others with "
            f"alpha={penalty!r}. Hint: a release of dpcov.covariance has all models."
        )
    return _model(release, own, penalty, fitted(release, own, others, held.answer.values.copy(), penalty))


def _checked_alpha(alpha: object) -> float:
    if isinstance(alpha, str):
        raise ParameterError(f"alpha must be a number or 'auto', got {shown(alpha)}. Hint: 'auto' adapts it to the noise.")
    return check_real("alpha", alpha, "0 or more, and finite", 0.0, LARGEST_ALPHA, "'auto' adapts it to the noise")
