"""Means: bad radii, origins, covariances and options are refused before a row is read or a share spent; wild rows are not."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dpcov
from dpcov.errors import ParameterError
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.curator import Curator
from dpcov.kernel.rows.grid import Grid
from dpcov.mechanisms import MECHANISMS
from dpcov.mechanisms.running import released
from dpcov.schema import Numeric, Schema
from dpcov.sources.array import ArraySource
from dpcov.verify.testing import NoSource, SeededBits, opened
from tests.helpers.small import untouched

MEANS = MECHANISMS["mean"]
NEIGHBORS = ["replace", "add-remove"]
BUDGETS: list[Budget] = [ZCDP("0.5"), PureDP(1), ApproxDP(1, "1e-6")]
HALF = BUDGETS[0]
MESSAGE = r"(?s)%s\b.* must .+, got .+\. Hint: .+\."


def curator(budget: Budget = HALF, *, n: int = 5000, d: int = 3, **options: Any) -> Curator:
    """Return a curator whose source fails the test when it is read."""
    source = NoSource(n, d, rereadable=options.pop("rereadable", True))
    return opened(source, Grid(20.0), budget, options.pop("neighbors", "replace"), SeededBits(0))


def assert_refused(asked: Curator, name: str, budget: Budget, what: str, **options: Any) -> None:
    with pytest.raises(ParameterError) as caught:
        released(MEANS[name], asked, budget, **options)
    assert re.fullmatch(MESSAGE % what, str(caught.value)), str(caught.value)
    assert untouched(asked)


@pytest.mark.parametrize("name", ["coinpress", "karwa-vadhan", "symq", "auto"])
@pytest.mark.parametrize("n", [0, 1])
def test_two_rows_at_least(name: str, n: int) -> None:
    for budget in BUDGETS:
        assert_refused(curator(budget, n=n), name, budget, "data")


@pytest.mark.parametrize("neighbors", NEIGHBORS)
def test_too_many_bins(neighbors: str) -> None:
    """Bins of a thousand-millionth of the radius: more than memory should hold."""
    assert_refused(curator(neighbors=neighbors), "karwa-vadhan", HALF, "bins", covariance=1e-18)


class TestInterface:
    def refuse(self, match: str, **options: Any) -> None:
        with pytest.raises(ParameterError, match=match):
            dpcov.mean(np.ones((30, 3)), options.pop("budget", HALF), **options)

    @pytest.mark.parametrize("radius", [0, 0.0, -1.0, np.nan, np.inf, True, "1", [1.0], 1e151])
    def test_radius(self, radius: Any) -> None:
        for name in MEANS:
            self.refuse("radius must be", radius=radius, mechanism=name)

    def test_radius_or_schema(self) -> None:
        schema = Schema({"x0": Numeric(0, 1), "x1": Numeric(0, 1), "x2": Numeric(0, 1)})
        self.refuse("radius or schema must be given, got neither")
        self.refuse("radius or schema must be given, got both", radius=1.0, schema=schema)
        self.refuse("schema must be a Schema", schema={"x0": [0, 1]})
        for origin in (1.0, [0.0, 0.0, 1.0], None, "zero"):
            self.refuse("origin must be left out with a schema", schema=schema, origin=origin)
        self.refuse("covariance must be given with a schema", schema=schema, mechanism="karwa-vadhan")

    def test_names_budgets_and_options(self) -> None:
        self.refuse("mechanism must be one of", radius=1.0, mechanism="gaussian")
        self.refuse("budget must be", radius=1.0, budget=1.0)
        self.refuse("neighbors must be", radius=1.0, neighbors="swap")
        self.refuse("must be among", radius=1.0, steps=3)
        self.refuse("must be among", radius=1.0, mechanism="clipped", rounds=3)
        self.refuse("must be among", radius=1.0, upper=3)

    @pytest.mark.parametrize("origin", ["1", True, ["1", "2", "3"]], ids=str)
    def test_text_and_truth_are_no_origin(self, origin: Any) -> None:
        self.refuse("origin must be", radius=1.0, origin=origin)

    @pytest.mark.parametrize("n", [0, 1])
    def test_files_of_no_rows(self, n: int, tmp_path: Path) -> None:
        """Their n is known only after a reading."""
        path = tmp_path / "rows.csv"
        path.write_text("a,b\n" + "1,2\n" * n, encoding="utf-8")
        for name in ("auto", "karwa-vadhan", "symq"):
            with pytest.raises(ParameterError, match="data must have"):
                dpcov.mean(path, HALF, radius=1.0, mechanism=name)


class TestStreams:
    CASES: tuple[tuple[str, dict[str, Any]], ...] = (
        ("coinpress", {}),
        ("coinpress", {"covariance": 1.0, "rounds": 3}),
        ("coinpress", {"covariance": 1.0}),
        ("karwa-vadhan", {}),
    )

    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    @pytest.mark.parametrize(("name", "options"), CASES, ids=str)
    def test_several_rounds_are_refused_before_reading(self, name: str, options: dict[str, Any], neighbors: str) -> None:
        for budget in BUDGETS:
            assert_refused(curator(budget, rereadable=False, neighbors=neighbors), name, budget, "data", **options)
        reader = pa.table({"a": np.ones(200), "b": np.ones(200)}).to_reader()
        with pytest.raises(ParameterError, match="data must be readable twice"):
            dpcov.mean(reader, HALF, radius=1e6, mechanism=name, neighbors=neighbors, **options)
        assert reader.read_all().num_rows == 200

    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    @pytest.mark.parametrize("name", ["auto", "clipped", "coordinatewise", "symq"])
    def test_one_reading_is_enough(self, name: str, neighbors: str) -> None:
        reader = pa.table({"a": np.ones(200), "b": np.ones(200)}).to_reader()
        release = dpcov.mean(reader, ZCDP(100), radius=4.0, mechanism=name, neighbors=neighbors, seed=1)
        assert np.allclose(release.mean, 1.0, rtol=0, atol=0.2)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *((name, {}) for name in MEANS),
        ("coinpress", {"covariance": 1.0}),
    ],
    ids=str,
)
def test_nothing_is_charged_on_an_error(name: str, options: dict[str, Any]) -> None:
    """Over all sizes of a budget, under add-remove: either all is answered, or nothing is spent, not even on n."""
    rows = np.ones((300, 3))
    for exponent in range(-40, 0, 3):
        for budget in (ZCDP(f"1e{exponent}"), PureDP(f"1e{exponent}")):
            asked = opened(ArraySource(rows), Grid(20.0), budget, "add-remove", SeededBits(0))
            try:
                assert np.isfinite(released(MEANS[name], asked, budget, **options).mean).all()
            except ParameterError:
                assert untouched(asked)
