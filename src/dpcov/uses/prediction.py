"""Predictions for new rows, in the user's units. New rows are the analyst's own: what is wrong with them may be said."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError, ReleaseError, SchemaError
from dpcov.kernel.rows.columns import Columns
from dpcov.schema import Categorical, Schema
from dpcov.sources.array import checked_array
from dpcov.sources.base import Source, default_block_rows
from dpcov.sources.opening import open_source, open_table
from dpcov.uses.tails import quantile

if TYPE_CHECKING:
    from dpcov.uses.intervals import Interval
    from dpcov.uses.ridge import RidgeModel

Floats = NDArray[np.float64]
Progress = Callable[[float | None], None] | None


def residual_deviation(model: RidgeModel) -> float:
    """Return how far people are from their predictions: see `RidgeModel.residual_deviation`.

    The share that is explained knows the noise in the coefficients (Stein). Never below what is known of both: a model that
    explains nearly all has a residual of which the error of the share is the larger part.
    """
    release = model.release
    spread = release.describe().deviation
    if math.isnan(model.explained) or spread is None or not release.center:
        return math.nan
    place = release.feature_names.index(model.target)
    if not spread.clear[place]:
        return math.inf
    whole = float(spread.values[place] + spread.standard_error[place])
    return whole * math.sqrt(min(max(1 - model.explained, 0.0) + model.explained_error, 1.0))


def prediction_interval(model: RidgeModel, predictions: Floats, level: float) -> Interval:
    """Return intervals around predictions, within the public bounds of the target: see `RidgeModel.predict_interval`."""
    from dpcov.uses.intervals import checked_level, interval

    often, error = checked_level(level), residual_deviation(model)
    if math.isnan(error):
        raise ReleaseError(
            "release must hold a mean and a covariance with noise of a known size for intervals of predictions, got another. "
            "Hint: a release of dpcov.covariance with center=True has them."
        )
    half = float(quantile(np.array(0.0), often)) * error
    found = interval(predictions, np.full(len(predictions), half), np.full(len(predictions), error), often)
    if model.release.schema is None:
        return found
    place = model.release.feature_names.index(model.target)
    return found.within(*(ends[place] for ends in model.release.schema.bounds()))


class Products:
    """What a source can add up, block by block, to keep the products of its rows with a few vectors instead."""

    name = "products"
    shape = (1,)

    def __init__(self, vectors: Floats, centre: Floats) -> None:
        self._vectors, self._centre = vectors, centre
        self.max_block = default_block_rows(vectors.shape[1])
        self._blocks: list[Floats] = []

    def of(self, rows: Floats, *, scratch: bool = False) -> NDArray[np.int64]:  # noqa: ARG002
        """Keep (row − centre)·vector for each of them; missing and infinite entries count as 0."""
        kept = np.where(np.isfinite(rows), rows, 0.0)
        with np.errstate(all="ignore"):
            self._blocks.append((kept - self._centre) @ self._vectors.T)
        return np.zeros(1, dtype=np.int64)

    def entries(self, total: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sum as it is: it means nothing."""
        return total

    def of_source(self, source: Source) -> Floats:
        """Read a source, and return a row of products for each of its rows."""
        source.total(self)
        return np.concatenate(self._blocks) if self._blocks else np.zeros((0, len(self._vectors)))


class CellProducts(Products):
    """The products of rows with one vector, cell by cell: numbers within ranges, missing ones at the centre of a release."""

    by_column = True

    def __init__(self, schema: Schema, weights: Floats, low: Floats, high: Floats, centre: Floats) -> None:
        super().__init__(weights[None, :], centre)
        self._columns, self._low, self._high = Columns.of(schema), low, high

    def of(self, rows: Floats, *, scratch: bool = False) -> NDArray[np.int64]:  # noqa: ARG002
        """Keep Σ weight·cell for each row; a cell that is no level adds nothing."""
        columns, weights, total = self._columns, self._vectors[0], np.zeros(len(rows))
        with np.errstate(all="ignore"):
            for place, _ in columns.numeric:
                at = columns.features[place]
                cells = np.where(np.isfinite(rows[:, place]), rows[:, place], self._centre[at])
                total += weights[at] * np.clip(cells, self._low[at], self._high[at])
            for column, (place, _) in enumerate(columns.levels):
                own = columns.own(place)
                of_level = weights[own] * self._high[own]  # encoded, a level that is there
                total += np.append(of_level, 0.0)[columns.positions(rows, column)]
        self._blocks.append(total[:, None])
        return np.zeros(1, dtype=np.int64)


class KnownLevels:
    """A table whose cells must be known levels where its column has some: an unknown one is refused, a missing one is not."""

    def __init__(self, table: Any, columns: dict[str, Categorical]) -> None:
        from dpcov.sources.many import members_of

        self._table, self._levels = table, columns
        self.parsed, self.names, self.types, self.rows = table.parsed, table.names, table.types, table.rows
        self.rereadable, self.ordered, self.decimal = table.rereadable, table.ordered, table.decimal
        self.members = members_of(table)
        self.written: frozenset[str] = getattr(table, "written", frozenset())

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[tuple[Any, float | None]]:
        """Pass batches on, each of them checked."""
        for batch, fraction in self._table.batches(columns, rows):
            for name, column in self._levels.items():
                self._check(name, batch.column(name), column)
            yield batch, fraction

    def _check(self, name: str, cells: Any, column: Categorical) -> None:
        from dpcov.sources.cells import missing, positions

        unknown = (positions(cells, column, trimmed=self.parsed, decimal=self.decimal) < 0) & ~missing(cells)
        if unknown.any():
            known = ", ".join(repr(level) for level in column.levels[:5]) + ", ..." * (len(column.levels) > 5)
            raise SchemaError(
                f"cells of column {name!r} must be among its levels, got {int(unknown.sum())} others. Hint: levels are {known}."
            )


def new_rows(data: Any, schema: Schema | None, columns: Sequence[str], center: bool, progress: Progress = None) -> Source:
    """Open new data with these columns, as the release would encode them; arrays have just these columns, in order.

    The schema is that of the model's columns alone: what is computed from cells is computed from those of the new data.
    """
    if isinstance(data, np.ndarray):
        array = checked_array(data)
        if array.shape[1] != len(columns):
            raise ParameterError(
                f"new data must have the {len(columns)} columns of the model's features, got {array.shape[1]}. "
                f"Hint: use the order of model.columns, or a frame, whose columns are found by name."
            )
        if schema is None:
            return open_source(array, progress=progress)
        return open_source(array, None, schema, center, progress)
    if schema is None:
        return open_source(data, list(columns), progress=progress)
    from dpcov.sources.arrow import ArrowSource

    levels = {name: column for name, column in schema.cells().items() if isinstance(column, Categorical)}
    return ArrowSource(KnownLevels(open_table(data), levels), None, schema, center, progress)
