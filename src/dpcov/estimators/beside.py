"""Columns of X that are no features: whose a row is, and how much it counts. They keep their own types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError, shown
from dpcov.estimators.inputs import column_names, is_table
from dpcov.schema.whose import Checked
from dpcov.sources.array import place_beside
from dpcov.sources.opening import is_elsewhere
from dpcov.sources.tables import reading

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Apart:
    """X, taken apart.

    ``features`` are its other columns, of which ``places`` are the positions in X; ``columns`` is a table of those beside.
    """

    features: Any
    columns: Any
    places: list[int]
    width: int

    def with_target(self, joined: Floats) -> Any:
        """Return a table of features with their target, as they are to be released, and the columns beside them."""
        import pyarrow as pa

        names = [f"x{place}" for place in [*self.places, self.width]]
        if hasattr(self.columns, "assign"):
            return self.columns.assign(**dict(zip(names, joined.T, strict=True)))
        table = self.columns
        for name, column in zip(names, joined.T, strict=True):
            table = table.append_column(name, pa.array(np.ascontiguousarray(column)))
        return table


def apart(X: Any, whose: Checked) -> Apart:
    """Take X apart; no value is looked at."""
    import pyarrow as pa

    beside = list(whose.names)
    if isinstance(X, np.ndarray):
        names = [f"x{j}" for j in range(X.shape[1])]
        at = {name: place_beside(said, name, names, X.dtype) for said, name in _said(whose)}
        places = [j for j, name in enumerate(names) if name not in at]
        return Apart(X[:, places], pa.table({name: X[:, j] for name, j in at.items()}), places, len(names))
    if not is_table(X) or is_elsewhere(X) or not (hasattr(X, "iloc") or hasattr(X, "__arrow_c_stream__")):
        raise ParameterError(
            f"X must be a frame or an array that has unit and weight as columns, got {type(X).__name__}. Hint: use a frame."
        )
    names = column_names(X)
    for said, name in _said(whose):
        if names.count(name) != 1:
            raise ParameterError(f"{said} must be a column of X, got {shown(name)}. Hint: upper and lower case matter.")
    places = [j for j, name in enumerate(names) if name not in beside]
    if hasattr(X, "iloc"):
        return Apart(X.iloc[:, places], X[beside], places, len(names))
    with reading():
        table = pa.table(X)
        return Apart(table.select(places), table.select(beside), places, len(names))


def features_of(X: Any, known: Sequence[Any], beside: Sequence[str]) -> Any:
    """Return the features of a frame that is to be predicted, with the columns beside them or without."""
    names = column_names(X)
    places = [j for j, name in enumerate(names) if name not in beside]
    if [names[j] for j in places] != [name for name in known if name not in beside]:
        raise ParameterError(
            "X must have the columns of fit, in their order, got others. Hint: unit and weight may be left out."
        )
    if hasattr(X, "iloc"):
        return X.iloc[:, places]
    import pyarrow as pa

    with reading():
        return pa.table(X).select(places)


def _said(whose: Checked) -> list[tuple[str, str]]:
    return [(said, name) for said, name in (("unit", whose.unit), ("weight", whose.weight)) if name]
