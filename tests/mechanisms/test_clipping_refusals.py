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
from dpcov.errors import ParameterError
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.curator import Curator
from dpcov.kernel.questions.choices import Quantile
from dpcov.kernel.rows.grid import Grid
from dpcov.mechanisms import MECHANISMS
from dpcov.mechanisms.running import released
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


def test_a_choice_is_of_this_curators_rows_and_has_a_price() -> None:
    asked = curator(ZCDP(1))
    others = curator(ZCDP(1), row_norm=2.0000000000000004)
    with pytest.raises(ParameterError, match="about this curator's rows"):
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
