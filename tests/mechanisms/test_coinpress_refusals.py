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
from dpcov.errors import BudgetError, ParameterError
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.curator import Curator
from dpcov.kernel.rows.encoding import Encoding
from dpcov.kernel.rows.grid import Grid
from dpcov.mechanisms.coinpress.covariance import COINPRESS
from dpcov.mechanisms.running import released
from dpcov.sources.array import ArraySource
from dpcov.verify.testing import NoSource, SeededBits, opened
from tests.helpers.small import untouched

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


INDEFINITE = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
SINGULAR = np.ones((3, 3)) + np.diag([0.0, 0.0, 1.0])
ASYMMETRIC = np.array([[2.0, 1.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]])
NO_BOUNDS: list[Any] = [
    *(0, 0.0, -1.0, np.nan, np.inf, 1e151, True, "large", 1j, {}, [1.0, 2.0], [[1.0, 0.0], [0.0, 1.0]]),
    *([1.0, 1.0, 0.0], [1.0, -1.0, 1.0], [1.0, np.nan, 1.0], ["a", "b", "c"], [[1.0], [1.0, 2.0]]),
    *(INDEFINITE, SINGULAR, ASYMMETRIC, -np.eye(3), np.zeros((3, 3)), np.full((3, 3), np.nan), np.eye(4), np.ones((3, 3, 3))),
]
BAD: list[tuple[str, dict[str, Any]]] = [
    *(("upper", {"upper": bad}) for bad in NO_BOUNDS),
    *(("lower", {"upper": 1e3, "lower": bad}) for bad in NO_BOUNDS),
    # K < 1: the lower bound is 1 where only the upper one is given
    *(("upper", {"upper": bad}) for bad in (0.999, 1e-9, [2.0, 2.0, 0.5], np.diag([5.0, 0.9, 5.0]))),
    *(("upper", {"upper": 2.0, "lower": bad}) for bad in (2.1, [1.0, 1.0, 3.0], np.eye(3) + 1.2 * np.ones((3, 3)))),
    *(("rounds", {"rounds": bad}) for bad in (0, -1, 101, 1.0, 2.5, np.nan, True, None, "", "3", "Auto", [2])),
    *(("beta", {"beta": bad}) for bad in (0, 1, -0.1, 1.5, np.nan, "0.1", True, None)),
    *(("constants", {"constants": bad}) for bad in ("tight", "paper", "", None, 1)),
    *(("centring", {"centring": bad}) for bad in ("constant", "Mean", "", None, True, 0)),
    *(("postprocess", {"postprocess": bad}) for bad in ("shrink", "sort", "", 1)),
    *(("radius", {"centring": "mean", "radius": bad}) for bad in (0, 0.0, -1.0, np.nan, np.inf, 1e151, "1", True, [1.0])),
    *(("radius", {"centring": centring, "radius": 1.0}) for centring in ("none", "pairs")),
    *(("origin", {"origin": bad}) for bad in ([1.0, 2.0], [1.0] * 4, np.nan, [0.0, np.inf, 0.0], "zero", None, np.eye(3))),
    *(("origin", {"origin": bad}) for bad in ("1", True, 1j, ["1", "2", "3"], [True] * 3, [1j, 0, 0], [[1.0], [1.0, 2.0]])),
]


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize(("what", "options"), BAD, ids=lambda value: re.sub(r"\s+", " ", str(value))[:50])
def test_a_bad_option_is_refused_before_reading(what: str, options: dict[str, Any], neighbors: str) -> None:
    for budget in BUDGETS:
        asked = curator(budget, neighbors=neighbors, centring=options.get("centring"))
        assert_refused(asked, what, budget, **({"upper": 10.0} | options))


@pytest.mark.parametrize("bad", ["5", ["5", "6", "7"], [True] * 3, 5 * np.eye(3) + 1j], ids=str)
def test_text_and_truth_are_no_numbers(bad: Any) -> None:
    assert_refused(curator(), "upper", upper=bad)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
def test_pairs_are_of_differences(neighbors: str) -> None:
    """The encoding says of what rows are: a mechanism that was told otherwise asks nothing."""
    assert_refused(curator(neighbors=neighbors), "centring", upper=10.0, centring="pairs")
    assert_refused(curator(neighbors=neighbors, centring="pairs"), "centring", upper=10.0)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
def test_pure_dp_is_not_served(neighbors: str) -> None:
    budget = PureDP(1)
    assert_refused(curator(budget, neighbors=neighbors), "budget", budget, upper=10.0)


@pytest.mark.parametrize("n", [0, 1])
def test_two_rows_at_least(n: int) -> None:
    cases: list[dict[str, Any]] = [{}, {"centring": "mean", "radius": 1.0}, {"centring": "pairs"}]
    for options in cases:
        assert_refused(curator(n=n, centring=options.get("centring")), "data", upper=10.0, **options)
    with pytest.raises(ParameterError, match=r"data must have 2 rows \(or pairs\) or more, got 1\. Hint: one sample"):
        dpcov.covariance(np.eye(3), HALF, mechanism="coinpress", upper=10.0, centring="pairs")  # one pair


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("options", [{}, {"rounds": 3}, {"centring": "mean", "radius": 1.0}], ids=str)
def test_a_stream_is_refused_before_reading(options: dict[str, Any], neighbors: str) -> None:
    assert_refused(curator(rereadable=False, neighbors=neighbors), "data", upper=10.0, **options)
    reader = pa.table({"a": np.ones(20), "b": np.ones(20)}).to_reader()
    with pytest.raises(ParameterError, match="data must be readable twice"):
        dpcov.covariance(reader, HALF, mechanism="coinpress", upper=10.0, neighbors=neighbors, **options)
    assert reader.read_all().num_rows == 20


@pytest.mark.parametrize("budget", [ZCDP("1e-40"), ZCDP("1e-20"), ApproxDP("1e-20", "1e-30")], ids=str)
@pytest.mark.parametrize("options", [{}, {"rounds": 3}, {"rounds": 100}, {"centring": "mean", "radius": 1.0}], ids=str)
def test_too_small_a_budget_is_refused_before_reading(budget: Budget, options: dict[str, Any]) -> None:
    asked = curator(budget)
    with pytest.raises(ParameterError, match=r"must .+, got .+\. Hint: "):
        released(COINPRESS, asked, budget, upper=10.0, **options)
    assert untouched(asked)


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


def test_more_than_the_curator_has_is_refused() -> None:
    asked = opened(ArraySource(np.ones((300, 3))), Grid(2.0), ZCDP("0.1"), "replace", SeededBits(0))
    with pytest.raises(BudgetError, match="budget must fit"):
        released(COINPRESS, asked, HALF, upper=10.0)


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
        with pytest.raises(ParameterError, match="data must have an order for pairs"):
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


CALM = np.random.default_rng(94).normal(size=(300, 3))
WILD: dict[str, Any] = {
    "zeros": np.zeros((300, 3)),
    "one column": CALM[:, :1],
    "two rows": CALM[:2],
    "a constant column": CALM * [1.0, 0.0, 1.0] + [0.0, 1e3, 0.0],
    "constant rows": np.full((300, 3), 7.0),
    "equal columns": CALM[:, [0, 0, 0]],
    "missing": np.where(np.arange(900).reshape(300, 3) % 7 == 0, np.nan, CALM),
    "nothing finite": np.full((30, 3), np.nan),
    "infinities": np.where(np.arange(900).reshape(300, 3) % 7 == 0, -np.inf, CALM),
    "one enormous row": np.vstack([CALM, [[1e308, -1e308, 1e308]]]),
    "from tiny to huge": np.exp(np.linspace(-690, 700, 900)).reshape(300, 3),
    "tiny": np.full((300, 3), 1e-300) * np.arange(1, 4),
}
OPTIONS: list[dict[str, Any]] = [
    {},
    *({"rounds": rounds} for rounds in (1, 2, 10)),
    {"center": True, "radius": 100.0},
    {"centring": "pairs"},
    {"upper": 1e-140, "lower": 1e-144},
    {"upper": 1e140, "lower": 1e136, "center": True, "radius": 1e80},
    {"postprocess": "clip"},
]


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_any_numbers_give_finite_estimates_in_silence(options: dict[str, Any], neighbors: str) -> None:
    """Warnings are errors here; nothing raises even where numpy's errors do; also without any rows under add-remove."""
    if options.get("centring") == "pairs" and neighbors == "add-remove":
        return
    for case, rows in (WILD | ({"no rows": np.zeros((0, 2))} if neighbors == "add-remove" else {})).items():
        if case == "two rows" and "centring" in options:
            continue
        for budget in (HALF, ZCDP("1e-6"), ZCDP(100)):
            with np.errstate(all="raise", under="ignore"):
                given = {"upper": 1e4} | options
                release = dpcov.covariance(rows, budget, mechanism="coinpress", neighbors=neighbors, seed=71, **given)
                assert np.isfinite(release.covariance).all(), case
                if release.center:
                    assert np.isfinite(release.mean).all(), case
                size = np.abs(release.covariance).max()
                assert np.linalg.eigvalsh(release.covariance)[0] >= -1e-9 * size, case


@pytest.mark.parametrize("case", ["equal columns", "constant rows"])
def test_a_singular_covariance_does_not_end_the_rounds(case: str) -> None:
    """With much to spend the whitener grows in each round along what does not vary: it must stop, not raise after charges."""
    release = dpcov.covariance(WILD[case], ZCDP(10**6), mechanism="coinpress", upper=1e4, rounds=10, seed=71)
    assert np.isfinite(release.covariance).all()
