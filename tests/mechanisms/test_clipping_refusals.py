"""Clipping, the searches and `rescaled`: bad options and too small budgets are refused before a row is read or a share spent.

And what is not refused: hopeless rows, one column, one row, numbers from 1e-300 to 1e308 give finite estimates in silence.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dpcov
from dpcov.errors import BudgetError, ParameterError
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.curator import Curator
from dpcov.kernel.questions.choices import Quantile
from dpcov.kernel.rows.grid import Grid
from dpcov.mechanisms import MECHANISMS
from dpcov.mechanisms.running import released
from dpcov.sources.array import ArraySource
from dpcov.verify.testing import NoSource, SeededBits, opened
from tests.helpers.small import untouched

NEIGHBORS = ["replace", "add-remove"]
BUDGETS: list[Budget] = [ZCDP("0.5"), PureDP(1), ApproxDP(1, "1e-6")]
CLIPPING = ("gaussian", "wishart", "laplace", "frobenius", "separate", "projection")
NEW = ("separate", "adaptive", "rescaled", "projection")


def serves(name: str, budget: Budget) -> bool:
    if name in ("gaussian", "projection"):
        return not isinstance(budget, PureDP)
    return name in ("separate", "adaptive", "rescaled", "auto") or not isinstance(budget, ZCDP)


def curator(
    budget: Budget, *, n: int = 5000, d: int = 3, row_norm: float = 2.0, center: bool = False, **options: Any
) -> Curator:
    """Return a curator whose source fails the test when it is read."""
    rereadable = options.pop("rereadable", True)
    source = NoSource(n, d, rereadable=rereadable)
    return opened(source, Grid(row_norm, center=center), budget, options.pop("neighbors", "replace"), SeededBits(0))


def assert_refused(asked: Curator, name: str, budget: Budget, what: str, **options: Any) -> None:
    with pytest.raises(ParameterError) as caught:
        released(MECHANISMS["covariance"][name], asked, budget, **options)
    message = str(caught.value)
    assert re.fullmatch(rf"(?s){what}\b.* must .+, got .+\. Hint: .+\.", message), message
    assert untouched(asked)


BAD_CLIPS: list[Any] = [0, 0.0, -0.1, 2.0000001, 1e300, np.inf, np.nan, True, "Private", "", None, [1.0], 1j]
BAD: list[tuple[str, str, dict[str, Any]]] = [
    *((name, "clip", {"clip": bad}) for name in CLIPPING for bad in BAD_CLIPS),
    *(("adaptive", "beta", {"beta": bad}) for bad in (0, 1, -0.1, 1.5, np.nan, "0.05", True, None)),
    *(("rescaled", "postprocess", {"postprocess": bad}) for bad in ("clip", "project", "shrunk", "", 1)),
    *(("separate", "postprocess", {"postprocess": bad}) for bad in ("shrink", "sort", "", 1)),
    *(("adaptive", "postprocess", {"postprocess": bad}) for bad in ("shrunk", "sort", "", 1)),
    *(("projection", "postprocess", {"postprocess": bad}) for bad in ("shrink", "clip", "", 1)),
    *((name, "robust", {"robust": bad}) for name in ("rescaled", "auto") for bad in (1, 0, "yes", None)),
    *(("rescaled", "numerics", {"numerics": bad}) for bad in ("float", None, 1)),
    *((name, "constants", {"constants": bad}) for name in ("separate", "adaptive") for bad in ("loose", None, 1)),
]


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize(("name", "what", "options"), BAD, ids=str)
def test_a_bad_option_is_refused_before_reading(name: str, what: str, options: dict[str, Any], neighbors: str) -> None:
    for budget in BUDGETS:
        if serves(name, budget):
            assert_refused(curator(budget, neighbors=neighbors), name, budget, what, **options)


@pytest.mark.parametrize("clip", [1e-9, 1, 2, 2.0, np.float64(0.5)])
def test_radii_up_to_row_norm_are_taken(clip: float) -> None:
    release = dpcov.covariance(np.ones((20, 2)), ZCDP(1), row_norm=2, mechanism="gaussian", clip=clip, seed=1)
    assert release.options["clip"] == release.clip_radius == float(clip)
    assert np.isfinite(release.second_moment).all()


def test_center_has_no_rescaled_form() -> None:
    for budget in BUDGETS:
        assert_refused(curator(budget, center=True), "rescaled", budget, "center")


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize(
    ("name", "options"), [*((name, {"clip": "private"}) for name in CLIPPING), ("adaptive", {}), ("rescaled", {})], ids=str
)
def test_a_stream_has_no_private_radius(name: str, options: dict[str, Any], neighbors: str) -> None:
    """Refused before anything is read or charged, with a hint; a public radius is fine."""
    for budget in BUDGETS:
        if serves(name, budget):
            assert_refused(curator(budget, neighbors=neighbors, rereadable=False), name, budget, "data", **options)


@pytest.mark.parametrize(
    "options",
    [{"mechanism": "gaussian", "clip": "private"}, {"mechanism": "separate", "clip": "private"}, {"mechanism": "adaptive"}],
)
def test_a_refused_stream_still_has_its_rows(options: dict[str, Any]) -> None:
    """Its n is not known before a reading, and there is only one."""
    reader = pa.table({"a": np.ones(20), "b": np.ones(20)}).to_reader()
    with pytest.raises(ParameterError, match="data must be readable twice"):
        dpcov.covariance(reader, ZCDP(1), row_norm=2, **options)
    assert reader.read_all().num_rows == 20


def test_a_stream_has_a_public_radius() -> None:
    reader = pa.table({"a": np.ones(20), "b": np.ones(20)}).to_reader()
    assert dpcov.covariance(reader, ZCDP(1), row_norm=2, mechanism="gaussian", clip=1.0, seed=1).clip_radius == 1.0


TINY: list[Budget] = [ZCDP("1e-40"), PureDP("1e-20"), ApproxDP("1e-20", "1e-30")]


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("budget", TINY, ids=str)
@pytest.mark.parametrize(
    ("name", "options"),
    [
        *((name, {"clip": clip}) for name in CLIPPING for clip in ("none", "private", 1.0)),
        *((name, {"constants": "paper", "clip": "private"}) for name in ("gaussian", "laplace", "frobenius", "separate")),
        ("adaptive", {}),
        ("adaptive", {"constants": "paper"}),
        ("rescaled", {}),
        ("rescaled", {"numerics": "exact", "robust": True}),
    ],
    ids=str,
)
def test_too_small_a_budget_is_refused_before_reading(
    name: str, options: dict[str, Any], budget: Budget, neighbors: str
) -> None:
    """No noise of 64-bit integers is large enough; nothing must have been spent on a radius by then."""
    if serves(name, budget):
        asked = curator(budget, neighbors=neighbors)
        with pytest.raises(ParameterError, match=r"must .+, got .+\. Hint: "):
            released(MECHANISMS["covariance"][name], asked, budget, **options)
        assert untouched(asked)


@pytest.mark.parametrize("name", NEW)
def test_more_than_the_curator_has_is_refused(name: str) -> None:
    rows = np.full((5000, 2), 0.3)
    for budget in BUDGETS:
        if serves(name, budget):
            asked = opened(ArraySource(rows), Grid(1.0), budget.share("0.5"), "replace", SeededBits(0))
            with pytest.raises(BudgetError, match=r"budget must fit"):
                released(MECHANISMS["covariance"][name], asked, budget)


def test_a_choice_is_of_this_curators_rows_and_has_a_price() -> None:
    asked = curator(ZCDP(1))
    others = curator(ZCDP(1), row_norm=2.0000000000000004)
    with pytest.raises(ParameterError, match="one of this curator's rows"):
        asked.choose(Quantile(others.public.norms(16, 10), 5), ZCDP(1))
    with pytest.raises(ParameterError, match="PureDP or ZCDP"):
        asked.choose(Quantile(asked.public.norms(16, 10), 5), ApproxDP(1, "1e-6"))  # type: ignore[arg-type]
    assert untouched(asked)


@pytest.mark.parametrize("name", NEW)
def test_no_rows_under_replace_are_refused(name: str) -> None:
    for budget in BUDGETS:
        if serves(name, budget):
            given: list[dict[str, Any]] = [{}, {"clip": "private"}] if name in CLIPPING else [{}]
            for options in given:
                with pytest.raises(ParameterError, match="data must have 1 to"):
                    dpcov.covariance(np.zeros((0, 2)), budget, row_norm=1, mechanism=name, **options)


LONGEST = np.tile([[0.1, 0.0, -0.05]], (300, 1))
LONGEST[7] = [1e308, -1e308, 1e308]
WILD: dict[str, Any] = {
    "zeros": np.zeros((400, 3)),
    "one enormous row": LONGEST,
    "nothing finite": np.full((30, 3), np.nan),
    "infinities": np.where(np.arange(900).reshape(300, 3) % 7 == 0, -np.inf, 0.2),
    "tiny": np.full((400, 3), 1e-300) * np.arange(1, 4),
    "from tiny to huge": np.exp(np.linspace(-690, 700, 900)).reshape(300, 3),
    "denormal": np.full((400, 3), 5e-324),
    "one row": np.array([[0.6, 0.0, 0.8]]),
    "one column": np.linspace(-1, 1, 300).reshape(-1, 1),
    "one cell": np.array([[0.5]]),
    "all of norm 1": np.tile([[0.6, 0.0, 0.8]], (300, 1)),
}
OPTIONS: list[tuple[str, dict[str, Any]]] = [
    *((name, {"clip": clip}) for name in CLIPPING for clip in ("private", 1e-3)),
    *(("separate", {"clip": clip, "constants": "paper"}) for clip in ("none", "private")),
    ("separate", {}),
    ("adaptive", {}),
    ("adaptive", {"constants": "paper"}),
    ("rescaled", {}),
    ("rescaled", {"robust": True}),
    ("rescaled", {"numerics": "exact"}),
]


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize(("name", "options"), OPTIONS, ids=str)
def test_any_numbers_give_finite_estimates_in_silence(name: str, options: dict[str, Any], neighbors: str) -> None:
    """Warnings are errors here; nothing raises even where numpy's errors do; also without any rows under add-remove."""
    tables = WILD | ({"no rows": np.zeros((0, 2))} if neighbors == "add-remove" else {})
    for case, rows in tables.items():
        for budget in (ZCDP("0.5"), PureDP(1), PureDP(100)):
            if serves(name, budget):
                with np.errstate(all="raise"):
                    release = dpcov.covariance(
                        rows, budget, row_norm=1, mechanism=name, neighbors=neighbors, seed=71, **options
                    )
                    assert np.isfinite(release.second_moment).all(), case
                    assert np.linalg.eigvalsh(release.second_moment)[0] >= -1e-9, case
                    assert np.trace(release.second_moment) <= rows.shape[1] + 1e-9, case
