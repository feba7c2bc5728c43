"""Searches and cross-validations fit one clone after another, and each fit spends: the second one says so before it does."""

from __future__ import annotations

import gc
import pickle
import warnings
import weakref
from typing import Any, NoReturn

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

import dpcov
from dpcov import SpendsAgainWarning
from dpcov.estimators.common import _families
from dpcov.kernel.account import Account

X = np.random.default_rng(4).uniform(-0.5, 0.5, (300, 2))
Y = X[:, 0]


def ridge(**said: Any) -> dpcov.PrivateRidge:
    return dpcov.PrivateRidge(0.1, epsilon=1, row_norm=1, target_bound=1, **said)


ALL: dict[str, Any] = {
    "PrivateRidge": ridge,
    "PrivateCovariance": lambda **said: dpcov.PrivateCovariance(epsilon=1, row_norm=1, **said),
    "PrivateMean": lambda **said: dpcov.PrivateMean(epsilon=1, radius=1, **said),
    "PrivatePCA": lambda **said: dpcov.PrivatePCA(1, epsilon=1, row_norm=1, **said),
}


def test_a_grid_search_warns() -> None:
    with pytest.warns(
        SpendsAgainWarning, match=r"each fit spends its budget anew.*release_\.ridge\(target, alpha=\.\.\.\)"
    ) as told:
        GridSearchCV(ridge(), {"alpha": [0.1, 1.0]}, cv=2).fit(X, Y)
    assert len(told) == 4  # two penalties, two folds, and the best one once more: five fits


def test_a_cross_validation_warns() -> None:
    with pytest.warns(SpendsAgainWarning) as told:
        cross_val_score(ridge(), X, Y, cv=3)
    assert len(told) == 2


@pytest.mark.parametrize("name", ALL)
def test_one_fit_of_each_is_silent(name: str) -> None:
    """So are two estimators that were made apart, and a clone that is the first to be fitted. Warnings are errors here."""
    ALL[name]().fit(X, Y)
    ALL[name]().fit(X, Y)
    clone(ALL[name]()).fit(X, Y)


@pytest.mark.parametrize("name", ALL)
def test_nothing_is_spent_where_warnings_are_errors(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first = ALL[name]()
    second = clone(first)
    first.fit(X, Y)

    def charge(*_: object) -> NoReturn:
        raise AssertionError("something was spent")

    monkeypatch.setattr(Account, "charge", charge)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(SpendsAgainWarning):
            second.fit(X, Y)


def test_what_is_seeded_spends_nothing() -> None:
    cross_val_score(ridge(random_state=1), X, Y, cv=3)


def test_the_free_way_is_silent_and_spends_once() -> None:
    model = ridge().fit(X, Y)
    found = [model.release_.ridge("x2", alpha=alpha).coefficients for alpha in (0.1, 1.0, 10.0)]
    assert len({tuple(one) for one in found}) == 3


def test_nothing_is_kept_alive_and_copies_are_as_ever() -> None:
    gc.freeze()  # what other tests left behind need not be looked at
    first = ridge()
    second = clone(first)
    assert vars(second) == vars(first)
    again = pickle.loads(pickle.dumps(second))
    assert again not in _families
    gone = weakref.ref(second)
    del second
    gc.collect()
    assert gone() is None
