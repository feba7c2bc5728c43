"""What the estimators share: one release per fit, and nothing kept but it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator

from dpcov.errors import SpendsAgainWarning
from dpcov.estimators.inputs import (
    check_seed,
    checked_options,
    column_names,
    is_table,
    plain_rows,
    read_budget,
    refuse_merging,
    refuse_others,
    watched,
    without_objects,
)
from dpcov.kernel.budget import Exact
from dpcov.kernel.questions.moments import REPLACE
from dpcov.release.record import Release
from dpcov.schema import Schema
from dpcov.sources.on_device import is_on_device
from dpcov.sources.opening import open_rows

AGAIN = (
    "a clone of this estimator was fitted before in this process, and each fit spends its budget anew. "
    "Hint: fit once; release_.ridge(target, alpha=...) and the like try other settings for free."
)
_families: WeakKeyDictionary[PrivateEstimator, list[int]] = WeakKeyDictionary()
"""Of estimators that are clones of one another: how often they were fitted. Nothing of it depends on data."""


class PrivateEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """An estimator whose `fit` releases once, by ``_release`` with the parameters named in ``_settings``."""

    release_: Release
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]

    epsilon: Exact | None
    delta: Exact | None
    rho: Exact | None
    schema: Schema | None
    neighbors: str
    columns: Sequence[str | int] | None
    unit: str | int | None
    weighting: str | None
    most_rows: int | None
    weight: str | int | None
    max_weight: float | None
    options: Mapping[str, Any] | None
    random_state: int | None

    _release: ClassVar[Callable[..., Release]]
    _settings: ClassVar[tuple[str, ...]]
    _renamed: ClassVar[Mapping[str, str]] = {}

    def fit(self, X: Any, y: object = None, **given: object) -> Self:  # noqa: ARG002 - y is there for pipelines
        """Release once from X and keep the release, not X.

        Parameters
        ----------
        X : array-like, frame, path or anything with ``__arrow_c_stream__``
            A row per person, unless ``unit``, or the schema, says whose a row is. Values are never checked: NaN and infinity
            are data like any other, and in lists and arrays of Python objects a cell that is no number is missing.
        y : ignored
        **given
            Refused, ``sample_weight`` with a hint: weights stand in a column of X.
        """
        refuse_others(given)
        release = type(self)._release
        budget = read_budget(self.epsilon, self.delta, self.rho, type(self).__name__, self._settings[0])
        options = checked_options(self.options, release)
        check_seed(self.random_state)
        table = is_table(X)
        data = watched(X) if table else self._checked(X)
        self._warn_of_spending()
        settings = {self._renamed.get(name, name): getattr(self, name) for name in self._settings} | self._whose
        self.release_ = release(data, budget, seed=self.random_state, **settings, **options)  # first of all: it was paid for
        self._keep(self.release_)
        if table:
            self._note_columns(column_names(data))
        return self

    @property
    def _whose(self) -> dict[str, Any]:
        """What is said of rows beside their features."""
        return {name: getattr(self, name) for name in ("unit", "weighting", "most_rows", "weight", "max_weight")}

    @property
    def _has_people(self) -> bool:
        """Whether a column says whose a row is."""
        return self.unit is not None or getattr(self.schema, "unit", None) is not None

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted copy that remembers whose copy it is: searches fit one clone after another."""
        made: Self = super().__sklearn_clone__()
        _families[made] = _families.setdefault(self, [0])
        return made

    def _warn_of_spending(self) -> None:
        """Warn, before anything is spent, where a clone was fitted already; what is seeded is not private anyway."""
        family = _families.get(self)
        if family is None or self.random_state is not None:
            return
        if family[0] > 0:
            warnings.warn(AGAIN, SpendsAgainWarning, stacklevel=3)
        family[0] += 1

    def _keep(self, release: Release) -> None:
        """Compute the attributes that users look at."""
        raise NotImplementedError

    def _checked(self, X: Any) -> Any:
        """Note the number of columns and return an array; no value is looked at.

        What is no two-dimensional array is left for the release to refuse: scikit-learn would print it, or forget a mask.
        """
        if is_on_device(X):
            shape = open_rows(X).shape
            self._note_columns([None] * shape[-1] if len(shape) == 2 else [])
            return X
        if self._has_people:
            refuse_merging(X)
        array = without_objects(X)
        plain = isinstance(array, np.ndarray) and not isinstance(array, np.ma.MaskedArray) and array.ndim == 2
        if not plain and not issparse(array):  # scikit-learn's own words for sparse matrices are the clearer ones
            return array
        least = (
            1 if isinstance(self.neighbors, str) and self.neighbors == REPLACE else 0
        )  # whether a table is empty is private where n is
        return plain_rows(self, array, ensure_min_samples=least)

    def _note_columns(self, names: list[Any]) -> None:
        self.n_features_in_ = len(names)
        if all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_  # of an earlier fit

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True  # as levels of a schema, else as missing numbers
        tags.input_tags.categorical = self.schema is not None
        return tags
