"""coinpress for covariances: what is no public bound, no radius, no number of rounds is refused before a row is read.

And what is not refused: one column, columns that do not vary, missing and enormous entries give finite estimates in silence.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dpcov
from dpcov.errors import ParameterError
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget
from dpcov.kernel.curator import Curator
from dpcov.kernel.rows.encoding import Encoding
from dpcov.kernel.rows.grid import Grid
from dpcov.mechanisms.coinpress.covariance import COINPRESS
from dpcov.mechanisms.running import released
from dpcov.sources.array import ArraySource
from dpcov.verify.testing import NoSource, SeededBits, opened
from tests.helpers.small import untouched
from tests.mechanisms.cases import LONG_ROWS

NEIGHBORS = ["replace", "add-remove"]
BUDGETS: list[Budget] = [ZCDP("0.5"), ApproxDP(1, "1e-6")]
HALF = BUDGETS[0]
MESSAGE = r"(?s)%s\b.* must .+, got .+\. Hint: .+\."


def curator(budget: Budget = HALF, *, n: int = 5000, d: int = 3, row_norm: float = 2.0, **options: Any) -> Curator:
    """Return a curator whose source fails the test when it is read."""
    source = NoSource(n, d, rereadable=options.pop("rereadable", True))
    encoding = Encoding(source.feature_names, row_norm, pairs=options.pop("centring", "none") == "pairs")
    return opened(source, encoding, budget, options.pop("neighbors", "replace"), SeededBits(0))


def assert_refused(asked: Curator, what: str, budget: Budget = HALF, **options: Any) -> None:
    with pytest.raises(ParameterError) as caught:
        released(COINPRESS, asked, budget, **options)
    assert re.fullmatch(MESSAGE % what, str(caught.value)), str(caught.value)
    assert untouched(asked)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
def test_pairs_are_of_differences(neighbors: str) -> None:
    """The encoding says of what rows are: a mechanism that was told otherwise asks nothing."""
    assert_refused(curator(neighbors=neighbors), "centring", upper=10.0, centring="pairs")
    assert_refused(curator(neighbors=neighbors, centring="pairs"), "centring", upper=10.0)


@pytest.mark.parametrize("n", [0, 1])
def test_two_rows_at_least(n: int) -> None:
    cases: list[dict[str, Any]] = [{}, {"centring": "mean", "radius": 1.0}, {"centring": "pairs"}]
    for options in cases:
        assert_refused(curator(n=n, centring=options.get("centring")), "data", upper=10.0, **options)
    with pytest.raises(ParameterError, match=r"data must have at least 2 rows \(or pairs\), got 1\. Hint: one row"):
        dpcov.covariance(np.eye(3), HALF, mechanism="coinpress", upper=10.0, centring="pairs")  # one pair


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("options", [{}, {"rounds": 3}, {"centring": "mean", "radius": 1.0}], ids=str)
def test_a_stream_is_refused_before_reading(options: dict[str, Any], neighbors: str) -> None:
    assert_refused(curator(rereadable=False, neighbors=neighbors), "data", upper=10.0, **options)
    reader = pa.table({"a": np.ones(20), "b": np.ones(20)}).to_reader()
    with pytest.raises(ParameterError, match="data must be readable twice"):
        dpcov.covariance(reader, HALF, mechanism="coinpress", upper=10.0, neighbors=neighbors, **options)
    assert reader.read_all().num_rows == 20


@pytest.mark.parametrize("budget", [ZCDP("1e-28"), ZCDP("1e-20"), ZCDP("1e-14")], ids=str)
@pytest.mark.parametrize("options", [{}, {"rounds": 3}, {"centring": "mean", "radius": 1.0}], ids=str)
def test_nor_is_a_count_spent_on_it(budget: Budget, options: dict[str, Any]) -> None:
    """Either all is answered, or nothing is charged."""
    rows = np.ones((300, 3))
    asked = opened(ArraySource(rows), Grid(2.0), budget, "add-remove", SeededBits(0))
    try:
        released(COINPRESS, asked, budget, upper=10.0, **options)
    except ParameterError:
        assert untouched(asked)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("rounds", [60, 100])
def test_many_rounds_of_little_are_planned_or_refused(rounds: int, neighbors: str) -> None:
    for exponent in (-12, -8, -6, -4, -2):
        budget = ZCDP(f"1e{exponent}")
        asked = opened(ArraySource(np.ones((300, 3))), Grid(2.0), budget, neighbors, SeededBits(0))
        try:
            assert np.isfinite(released(COINPRESS, asked, budget, upper=10.0, rounds=rounds).covariance).all()
        except ParameterError:
            assert untouched(asked)


class TestInterface:
    def refuse(self, match: str, **options: Any) -> None:
        with pytest.raises(ParameterError, match=match):
            dpcov.covariance(np.ones((30, 3)), HALF, mechanism="coinpress", **options)

    def test_bounds_are_required(self) -> None:
        self.refuse("must be given, got neither")
        self.refuse("must be given, got neither", lower=1.0)

    def test_radius_is_required_for_centred_rows(self) -> None:
        self.refuse("radius must be given for centred rows", upper=10.0, center=True)

    def test_however_it_is_said(self) -> None:
        """Not 1, which is what the grid without a row_norm happens to have."""
        self.refuse("radius must be given for centred rows", upper=10.0, centring="mean")

    def test_one_way_to_centre(self) -> None:
        for centring in ("none", "pairs", "median"):
            self.refuse("centring must be 'mean'", upper=10.0, radius=1.0, center=True, centring=centring)
        self.refuse("center must be True or False", upper=10.0, center="yes")

    def test_pairs_need_an_order_and_a_public_n(self) -> None:
        self.refuse("neighbors must be 'replace' for pairs", upper=10.0, centring="pairs", neighbors="add-remove")
        reader = pa.table({"a": np.ones(20)}).to_reader()
        with pytest.raises(ParameterError, match="data must have rows in a fixed order for pairs"):
            dpcov.covariance(reader, HALF, mechanism="coinpress", upper=10.0, centring="pairs")

    def test_unknown_options(self) -> None:
        for name in ("clip", "k", "t", "Upper", "steps"):
            self.refuse("options of 'coinpress' must be among", upper=10.0, **{name: 1})

    @pytest.mark.parametrize("n", [0, 1])
    @pytest.mark.parametrize("centring", ["none", "pairs"])
    def test_files_of_no_rows(self, n: int, centring: str, tmp_path: Path) -> None:
        """Their n is known only after a reading."""
        path = tmp_path / "rows.csv"
        path.write_text("a,b\n" + "1,2\n" * n, encoding="utf-8")
        with pytest.raises(ParameterError, match="data must have"):
            dpcov.covariance(path, HALF, mechanism="coinpress", upper=10.0, centring=centring)


@pytest.mark.parametrize("case", ["equal columns", "constant rows"])
def test_a_singular_covariance_does_not_end_the_rounds(case: str) -> None:
    """With much to spend the whitener grows in each round along what does not vary: it must stop, not raise after charges."""
    release = dpcov.covariance(LONG_ROWS[case], ZCDP(10**6), mechanism="coinpress", upper=1e4, rounds=10, seed=71)
    assert np.isfinite(release.covariance).all()
