"""What every mechanism must pass, over the table of `cases`: a new one is a row there.

Elsewhere, over one small release of each: what comes back from files, pickles and copies, and what hostile ones end in
(`tests/release/test_hostile.py`, `test_forged.py`); what replay finds (`tests/audit/test_few_rows.py`); what `retrace` says
(`tests/verify/test_retrace.py`).
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import dpcov
from dpcov.errors import BudgetError, DpcovError, ParameterError
from dpcov.kernel.bits import SeededBits
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP, pays_for
from dpcov.kernel.curator import Curator
from dpcov.kernel.rows.encoding import Encoding
from dpcov.mechanisms import MECHANISMS
from dpcov.mechanisms.running import released
from dpcov.release.file import parse
from dpcov.release.record import Release
from dpcov.sources.array import ArraySource
from dpcov.sources.base import Source
from dpcov.verify.testing import NoSource, opened
from tests.helpers.small import record_of, sealed, untouched
from tests.mechanisms.cases import APPROX, BUDGETS, CASES, LONG_ROWS, OF_TABLES, PURE, RHO, THREE, Floats, named, served

COLUMNS = {"covariance": 3, "mean": 3, "pca": 4, "ridge": 3}
ROW_NORM = {"covariance": 2.0, "mean": 20.0, "pca": 1.0, "ridge": 1.0}
FORMAT = r"(?s).+ must .+, got .+\. Hint: .+\."
KEYS = [pytest.param(key, id=" ".join(key)) for key in CASES]
WAYS = [pytest.param(key, relation, id=f"{' '.join(key)} {relation}") for key in CASES for relation in named(key).neighbors]

Key = tuple[str, str]


def curator(key: Key, budget: Budget, neighbors: str, options: dict[str, Any], source: Source | None = None) -> Curator:
    """Return a curator; where it is given no source, one that fails the test when it is read."""
    source = source or NoSource(5000, COLUMNS[key[0]])
    encoding = Encoding(source.feature_names, ROW_NORM[key[0]], pairs=options.get("centring") == "pairs")
    return opened(source, encoding, budget, neighbors, SeededBits(0))


def refusal(key: Key, budget: Budget, neighbors: str, options: dict[str, Any]) -> str:
    """Return why a mechanism refuses, without a row being read or anything charged."""
    asked = curator(key, budget, neighbors, options)
    with pytest.raises(ParameterError) as caught:
        released(named(key), asked, budget, **(CASES[key].needed | options))
    assert re.fullmatch(FORMAT, str(caught.value)), str(caught.value)
    assert untouched(asked), options
    return str(caught.value)


def test_every_mechanism_has_a_row() -> None:
    assert {(target, name) for target, names in MECHANISMS.items() for name in names} == CASES.keys() | OF_TABLES


@pytest.mark.parametrize(("key", "neighbors"), WAYS)
class TestBeforeReading:
    def test_bad_options(self, key: Key, neighbors: str) -> None:
        """With a message about the option, of the same form everywhere."""
        for what, options in CASES[key].bad:
            for budget in served(key, BUDGETS):
                message = refusal(key, budget, neighbors, options)
                assert re.match(rf"{what}\b", message), (options, message)

    def test_budgets_too_small_for_their_noise(self, key: Key, neighbors: str) -> None:
        """Nothing must have been spent on a radius or a count by then."""
        for options in CASES[key].small:
            for budget in served(key, CASES[key].tiny or ()):
                refusal(key, budget, neighbors, options)

    def test_notions_that_are_not_served(self, key: Key, neighbors: str) -> None:
        for budget in BUDGETS:
            if not isinstance(budget, named(key).serves):
                notions = " or ".join(notion.__name__ for notion in named(key).serves)
                message = refusal(key, budget, neighbors, {})
                assert message.startswith(f"budget of mechanism {key[1]!r} must be {notions}, got {budget!r}. Hint: ")

    def test_unknown_options(self, key: Key, neighbors: str) -> None:
        for option in ("depth", "Clip", "t"):
            message = refusal(key, next(served(key, BUDGETS)), neighbors, {option: 1})
            assert message.startswith(f"options of {key[1]!r} must be among ")

    def test_what_is_no_budget(self, key: Key, neighbors: str) -> None:
        for bad in (1, 1.0, "1", None, (1, 1e-6), object):
            with pytest.raises(ParameterError, match=r"budget must be a PureDP, ZCDP or ApproxDP, got .*\. Hint: "):
                release(key, THREE, bad, neighbors, {})


def said(key: Key, neighbors: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return what users say beside data and budget."""
    target, mechanism = key
    given: dict[str, Any] = {"mechanism": mechanism, "seed": 71, **CASES[key].needed, **options}
    if target == "mean":
        given["radius"] = 50.0
    elif mechanism != "coinpress":
        given["row_norm"] = 1.0
    if target != "ridge":
        given["neighbors"] = neighbors
    return given


def release(key: Key, rows: Floats, budget: Any, neighbors: str, options: dict[str, Any]) -> Release:
    """Make a release of an array as users do."""
    made: Release = getattr(dpcov, key[0])(rows, budget, **said(key, neighbors, options))
    return made


@pytest.mark.parametrize(("key", "neighbors"), WAYS)
def test_more_than_the_curator_has_is_refused(key: Key, neighbors: str) -> None:
    """By a rehearsal: before anything is read or charged."""
    for budget in served(key, BUDGETS):
        asked = curator(key, budget.share("0.37"), neighbors, {})  # no first questions cost just that
        with pytest.raises(BudgetError, match=r"charges must fit into the budget .* Hint: "):
            released(named(key), asked, budget, **CASES[key].needed)
        assert untouched(asked)


SMALL = (-37, -28, -19, -13, *np.arange(-10.5, -4, 0.5), -3, -2, -1)
"""Of ten, for budgets: where mechanisms begin to serve them, in small steps."""


def whole(key: Key, neighbors: str, one_in: int) -> None:
    """From budgets that are too small for everything to some that are not: never after a charge, not even for n."""
    rows = np.random.default_rng(77).uniform(-0.3, 0.3, (60, COLUMNS[key[0]]))
    for place, options in enumerate(CASES[key].small):
        for exponent in SMALL[:: 4 if place else one_in]:
            amount = float(10.0**exponent)
            for budget in served(key, (PureDP(amount), ZCDP(amount**2), ApproxDP(amount, 1e-12))):
                asked = curator(key, budget, neighbors, options, ArraySource(rows))
                try:
                    found = released(named(key), asked, budget, **(CASES[key].needed | options))
                except DpcovError:
                    assert untouched(asked), (budget, options)
                else:
                    assert finite(found), (budget, options)


@pytest.mark.parametrize(("key", "neighbors"), WAYS)
def test_a_budget_is_refused_whole_or_served_whole(key: Key, neighbors: str) -> None:
    whole(key, neighbors, one_in=2)


@pytest.mark.audit
@pytest.mark.parametrize(("key", "neighbors"), WAYS)
def test_in_smaller_steps(key: Key, neighbors: str) -> None:
    whole(key, neighbors, one_in=1)


def finite(found: Release) -> bool:
    """Whether the estimate of its kind is made of numbers."""
    if found.kind == "ridge":
        return bool(np.isfinite(found.ridge().coefficients).all())
    name = {"covariance": "covariance", "mean": "mean", "pca": "explained"}[found.kind]
    return bool(np.isfinite(getattr(found, name)).all())


@pytest.mark.parametrize(("key", "neighbors"), WAYS)
def test_a_rehearsal_asks_what_the_run_asks(key: Key, neighbors: str) -> None:
    """With the same noise at the same price, up to the first branch on an answer; and it says whether there is one."""
    rows = np.random.default_rng(5).uniform(-0.5, 0.5, (500, COLUMNS[key[0]]))
    for options in [{}, *(options for options, _ in CASES[key].runs)]:
        if options.get("centring") == "pairs" and neighbors == "add-remove":
            continue
        given = said(key, neighbors, options) | ({"radius": 5.0} if options.get("centring") == "mean" else {})
        for budget in served(key, (PURE, RHO, APPROX)):
            run, found = getattr(dpcov, key[0])(rows, budget, **given), dpcov.rehearse(key[0], rows, budget, **given)
            assert (found.mechanism, found.requested, found.target) == (run.mechanism, key[1], key[0])
            assert found.n == (run.n if neighbors == "replace" else None)
            assert found.planned.postprocess == run.postprocess
            assert pays_for(budget, [spend.budget for spend in found.spent])
            assert found.depends_on_answers == (CASES[key].branches or options.get("clip") == "private")
            assert found.spent[:1] == run.spent[:1]
            assert found.depends_on_answers or found.spent == run.spent, (budget, options)


def any_data(key: Key, neighbors: str, one_in: int) -> None:
    """Finite and possible estimates; warnings are errors here, and nothing raises even where numpy's errors do."""
    tried = 0
    case, empty = CASES[key], {"no rows": np.zeros((0, COLUMNS[key[0]]))}
    for options in case.wild:
        paired = options.get("centring") == "pairs"
        if paired and neighbors == "add-remove":
            continue
        for table, rows in (case.rows | (empty if neighbors == "add-remove" else {})).items():
            if (table == "two rows" and paired) or (np.ndim(options.get("covariance", 1.0)) and rows.shape[1] != 3):
                continue  # one pair is too few, and a covariance of three columns is of three columns
            for budget in served(key, case.budgets):
                tried += 1
                if tried % one_in:
                    continue
                with np.errstate(all="raise", under="ignore" if case.rows is LONG_ROWS else "raise"):
                    check(release(key, rows, budget, neighbors, options), rows, f"{table}, {budget!r}, {options}")


@pytest.mark.parametrize(("key", "neighbors"), WAYS)
def test_any_data_end_in_a_release(key: Key, neighbors: str) -> None:
    any_data(key, neighbors, one_in=4)


@pytest.mark.audit
@pytest.mark.parametrize(("key", "neighbors"), WAYS)
def test_all_of_them_do(key: Key, neighbors: str) -> None:
    any_data(key, neighbors, one_in=1)


def check(found: Release, rows: Floats, where: str) -> None:
    """Insist on what holds of every estimate of a kind."""
    if found.kind == "covariance":
        assert np.isfinite(found.covariance).all(), where
        bounded = found.mechanism != "coinpress"  # which takes rows of any length
        size = 1.0 if bounded else np.abs(found.covariance).max()
        assert np.linalg.eigvalsh(found.covariance)[0] >= -1e-9 * size, where
        assert not found.center or np.isfinite(found.mean).all(), where
        assert not bounded or np.trace(found.second_moment) <= rows.shape[1] + 1e-9, where
    elif found.kind == "mean":
        assert np.isfinite(found.mean).all(), where
        assert found.postprocess == "none" or np.linalg.norm(found.mean) <= 50 * (1 + 1e-9), where
    elif found.kind == "pca":
        check_components(found, where)
    else:
        assert np.isfinite(found.ridge().coefficients).all(), where
        again = parse(sealed(record_of(found)))
        assert again.ridge().coefficients.tolist() == found.ridge().coefficients.tolist(), where


def check_components(found: Release, where: str) -> None:
    """Orthonormal, with variances in order that are no more than there can be."""
    model = found.pca()
    k = len(model.components)
    assert np.abs(model.components @ model.components.T - np.eye(k)).max() < 1e-9, where
    assert np.isfinite(model.explained).all(), where
    assert np.all(np.diff(model.explained) <= 1e-12), where
    most = 4 if found.mechanism == "mod-sulq" else 1  # its eigenvalues are cut one by one, as in the paper
    assert 0 <= model.explained.sum() <= model.total + 1e-9 <= most + 2e-9, where
    assert 0 <= model.ratio.sum() <= 1 + 1e-9, where
    assert parse(sealed(record_of(found))).components.tobytes() == found.components.tobytes(), where
