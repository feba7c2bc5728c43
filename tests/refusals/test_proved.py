"""What is called proved is refused where nothing is; with a schema, bounds are in its units and rows are where it says."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpcov
from dpcov.bounds import round_beta, sampling_gap
from dpcov.errors import ParameterError
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.curator import Curator
from dpcov.kernel.rows.grid import Grid
from dpcov.mechanisms import MECHANISMS
from dpcov.release.file import parse, text_of
from dpcov.schema import Categorical, Numeric, Schema
from dpcov.sources.array import ArraySource
from dpcov.verify.testing import NoSource, SeededBits

NEIGHBORS = ["replace", "add-remove"]
BUDGETS: list[Budget] = [ZCDP("0.5"), PureDP(1), ApproxDP(1, "1e-6")]
KNOWN: dict[str, dict[str, Any]] = {"mean": {"covariance": 2.0}, "covariance": {"upper": 10.0}}

SCHEMA = Schema({"a": Numeric(0, 10), "b": Numeric(-200, 0), "c": Categorical(["x", "y"])})
FULL = np.diag([4.0, 900.0, 0.25, 0.25]) + 0.01
TABLE = pd.DataFrame({"a": [1.0] * 50, "b": [-1.0] * 50, "c": ["x", "y"] * 25})


def curator(budget: Budget, neighbors: str, n: int = 5000) -> Curator:
    """Return a curator whose source fails the test when it is read."""
    return Curator(NoSource(n, 3), Grid(20.0), budget, neighbors, SeededBits(0))


@pytest.mark.parametrize("kind", KNOWN)
@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("budget", BUDGETS, ids=lambda budget: budget.notion)
@pytest.mark.parametrize("rounds", [1, 3, "auto"])
def test_only_a_public_n_and_gaussian_noise(kind: str, neighbors: str, budget: Budget, rounds: Any) -> None:
    """Where it is proved a row is read; where it is not, none is, and nothing is charged."""
    asked, run = curator(budget, neighbors), MECHANISMS[kind]["coinpress"]
    if neighbors == "replace" and not isinstance(budget, PureDP):
        with pytest.raises(AssertionError, match="read"):
            run(asked, budget, constants="proved", rounds=rounds, **KNOWN[kind])
        return
    pure = kind == "covariance" and isinstance(budget, PureDP)  # served by no constants
    what = "budget of mechanism 'coinpress' must be ZCDP" if pure else "constants must be 'practical' under add-remove"
    with pytest.raises(ParameterError, match=rf"^{what}.+, got .+\. Hint: .+\.$"):
        run(asked, budget, constants="proved", rounds=rounds, **KNOWN[kind])
    assert asked._charged == []


@pytest.mark.parametrize(("d", "beta"), [(1, 0.1), (3, 0.1), (3, 1e-9), (20, 0.5)])
def test_a_covariance_needs_rows(d: int, beta: float) -> None:
    """As many as `sampling_gap` allows, below which a second moment bounds nothing; a mean needs only two."""
    part = round_beta(beta, 1, 1, 3)
    least = math.floor((math.sqrt(d) + math.sqrt(2 * math.log(2 / part))) ** 2) + 1
    assert sampling_gap(least, d, part) < 1 <= sampling_gap(least - 1, d, part)
    settings: dict[str, Any] = {"mechanism": "coinpress", "constants": "proved", "beta": beta, "rounds": 1, "seed": 1}
    rows = np.random.default_rng(96).normal(size=(least, d))
    assert dpcov.covariance(rows, BUDGETS[0], upper=10.0, **settings).confidence.proved
    with pytest.raises(ParameterError, match=r"^data must have more rows for proved constants, got too few\. Hint: "):
        dpcov.covariance(rows[1:], BUDGETS[0], upper=10.0, **settings)
    with pytest.raises(ParameterError, match=r"^data must have more rows for proved constants"):  # a pair is one row
        dpcov.covariance(rows, BUDGETS[0], upper=10.0, centring="pairs", **settings)
    assert dpcov.mean(rows[:2], BUDGETS[0], radius=10.0, covariance=1.0, **settings).confidence.proved


@pytest.mark.parametrize("rounds", [2, 3, 10])
@pytest.mark.parametrize("d", [1, 3])
def test_several_rounds_are_proved_or_refused(d: int, rounds: int) -> None:
    """Rounds before the last may fail less often, and need more rows: no number of them ends a release that was paid for."""
    for n in range(2, 120, 3):
        rows = np.random.default_rng(97).normal(size=(n, d))
        asked = Curator(ArraySource(rows), Grid(1.0), BUDGETS[0], "replace", SeededBits(1))
        try:
            made = MECHANISMS["covariance"]["coinpress"](asked, BUDGETS[0], upper=10.0, constants="proved", rounds=rounds)
        except ParameterError:
            assert asked._charged == []
            assert n < 100
        else:
            assert parse(text_of(made)).confidence.proved


@pytest.mark.parametrize("kind", KNOWN)
def test_nothing_is_proved_of_rows_that_are_cut_at_the_bounds_of_a_schema(kind: str) -> None:
    release: Any = dpcov.mean if kind == "mean" else dpcov.covariance
    known = KNOWN["mean"] if kind == "mean" else {"upper": 4 * FULL, "lower": FULL}
    settings = {"mechanism": "coinpress", "schema": SCHEMA, "constants": "proved"}
    with pytest.raises(ParameterError, match=r"^constants must be 'practical' .+ with a schema, got 'proved'\. Hint: "):
        release(TABLE, BUDGETS[0], **settings, **known)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
def test_nothing_is_proved_of_a_mean_and_a_covariance_together(neighbors: str) -> None:
    asked = curator(BUDGETS[0], neighbors)
    with pytest.raises(ParameterError, match=r"^centring must be 'none' or 'pairs' for proved constants, got 'mean'"):
        MECHANISMS["covariance"]["coinpress"](asked, BUDGETS[0], upper=10.0, centring="mean", constants="proved")
    assert asked._charged == []


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("name", ["upper", "lower"])
@pytest.mark.parametrize("bad", [[1.0, 2.0, 3.0], -1.0, "1", True, 1j, np.eye(3), -FULL], ids=str)
def test_bounds_in_the_units_of_a_schema(bad: Any, name: str, center: bool) -> None:
    settings: dict[str, Any] = {"mechanism": "coinpress", "schema": SCHEMA, "center": center, "upper": 4 * FULL}
    with pytest.raises(ParameterError, match=rf"^{name} must be a positive number, 4 of them, or a positive definite 4 by 4"):
        dpcov.covariance(TABLE, BUDGETS[0], **(settings | {name: bad}))
    assert dpcov.covariance(TABLE, BUDGETS[0], lower=FULL / 10, seed=1, **settings).d == 4


@pytest.mark.parametrize(
    "given", [{"radius": 1.0, "center": True}, {"origin": 1.0}, {"origin": [0.0] * 4, "center": True}], ids=str
)
def test_a_schema_says_where_rows_are(given: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=r"^(radius|origin) must be left out with a schema, got one\. Hint: "):
        dpcov.covariance(TABLE, BUDGETS[0], mechanism="coinpress", schema=SCHEMA, **given)
