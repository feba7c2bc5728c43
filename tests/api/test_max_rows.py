"""More than 2³⁰ rows: a public bound on them makes the grid coarser, so that sums stay exact, and the release says so."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

import dpcov
from dpcov.errors import ParameterError, ReleaseError
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.rows.grid import DEFAULT_BITS, MOST_ROWS, bits_for, most_rows
from dpcov.release.file import parse, text_of
from dpcov.request import request
from dpcov.sources.arrow import ArrowSource
from tests.helpers.small import sealed

TIMES = 10**7
ROWS = np.random.default_rng(880).uniform(-0.55, 0.55, size=(1000, 3))
SCHEMA = dpcov.Schema({"a": dpcov.Numeric(-1, 1), "b": dpcov.Numeric(-1, 1), "c": dpcov.Numeric(-1, 1)})
TABLE = pa.table(dict(zip("abc", ROWS.T, strict=True)))


class Repeated(ArrowSource):
    """A table that holds each of its rows ten million times: 10¹⁰ rows in all."""

    @property
    def n(self) -> int:
        return super().n * TIMES

    @property
    def known_n(self) -> int | None:
        return self.n

    def total(self, statistic: Any) -> NDArray[np.int64]:
        with np.errstate(over="ignore"):  # as many additions would wrap
            return np.asarray(super().total(statistic) * np.int64(TIMES))


def released(monkeypatch: pytest.MonkeyPatch, budget: Any, **settings: Any) -> dpcov.Release:
    monkeypatch.setattr("dpcov.sources.arrow.ArrowSource", Repeated)
    given: dict[str, Any] = {"schema": SCHEMA, "max_rows": 10**10} | settings
    return dpcov.covariance(TABLE, budget, seed=881, **given)


class TestBits:
    @pytest.mark.parametrize("rows", [1, 2, 10**9, 2**30, 2**30 + 1, 2**32, 2**32 + 1, 10**10, 10**12, 2**46])
    def test_the_finest_grid_with_room_for_the_sums(self, rows: int) -> None:
        bits = bits_for(rows)
        assert rows * 4**bits <= 2**62
        assert bits == DEFAULT_BITS or rows * 4 ** (bits + 1) > 2**62
        assert rows <= most_rows(bits)

    def test_what_that_is(self) -> None:
        assert [bits_for(rows) for rows in (2**30, 2**30 + 1, 10**10, MOST_ROWS)] == [16, 15, 14, 8]
        assert most_rows(16) == 2**30


@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
@pytest.mark.parametrize("mechanism", ["gaussian", "rescaled", "standardized", "separate"])
def test_ten_billion_rows_have_the_moments_of_the_thousand_they_repeat(
    mechanism: str, neighbors: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wrapped sums would be off by the size of a row. With so many rows the noise is far below what rounding takes."""
    release = released(monkeypatch, dpcov.ZCDP(1), mechanism=mechanism, neighbors=neighbors)
    centred = mechanism in ("gaussian", "standardized")
    exact = np.cov(ROWS.T, bias=True) if centred else ROWS.T @ ROWS / len(ROWS)
    assert abs(release.n - 10**10) <= (0 if neighbors == "replace" else 100)
    assert release.encoding.bits == 14
    assert np.abs(release.covariance - exact).max() < {"rescaled": 0.02, "standardized": 0.02}.get(mechanism, 2e-4)


def test_they_come_back_from_a_file_which_cannot_claim_a_finer_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    release = released(monkeypatch, dpcov.ZCDP(1))
    assert release.mechanism == "standardized"
    back = parse(text_of(release))
    assert back.encoding.bits == 14
    assert text_of(back) == text_of(release)
    assert back.retrace().agrees
    record = json.loads(text_of(release))
    record["encoding"]["grid_bits"] = 15
    with pytest.raises(ReleaseError, match="a number of rows that is not possible"):
        parse(sealed(record))


def test_fewer_rows_than_the_bound_are_served() -> None:
    release = dpcov.covariance(ROWS, dpcov.ZCDP(1), row_norm=1, mechanism="gaussian", max_rows=2**34, seed=882)
    assert (release.n, release.encoding.bits) == (1000, 14)
    question = release.take(SecondMoment).question
    assert isinstance(question, SecondMoment)
    assert question.sensitivity_squared("replace") == 2 * 4**28


def test_a_bound_that_sums_have_room_for_changes_nothing() -> None:
    usual, bounded = (dpcov.covariance(ROWS, dpcov.ZCDP(1), row_norm=1, seed=883, max_rows=most) for most in (None, 2**30))
    assert text_of(usual) == text_of(bounded)


@pytest.mark.parametrize("known", [True, False], ids=["known", "read first"])
def test_more_rows_than_there_is_room_for_are_refused_before_anything_is_spent(
    known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not known:
        monkeypatch.setattr(Repeated, "known_n", property(lambda self: self.n if self._n is not None else None))
    with pytest.raises(ParameterError, match=r"data must have 1 to 2\*\*30 rows, got 10000000000\. Hint: max_rows=NUMBER"):
        released(monkeypatch, dpcov.ZCDP(1), max_rows=None)
    with pytest.raises(ParameterError, match=r"data must have 1 to 2\*\*32 rows, got 10000000000\. Hint: max_rows=NUMBER"):
        released(monkeypatch, dpcov.ZCDP(1), max_rows=2**32)


def test_components(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpcov.sources.arrow.ArrowSource", Repeated)
    release = dpcov.pca(TABLE, dpcov.ZCDP(1), 2, schema=SCHEMA, max_rows=10**10, seed=884)
    values = np.linalg.eigvalsh(ROWS.T @ ROWS / len(ROWS))
    scale = release.explained.sum() / values[:0:-1].sum()  # of encoded columns
    assert release.encoding.bits == 14
    assert np.abs(release.explained / scale - values[:0:-1]).max() < 0.01


@pytest.mark.parametrize("bound", [0, -1, 2**46 + 1, 1.5, "many", True])
def test_a_bound_that_is_none(bound: Any) -> None:
    with pytest.raises(ParameterError, match=r"max_rows must be a whole number from 1 to 2\*\*46, got "):
        dpcov.covariance(ROWS, dpcov.ZCDP(1), row_norm=1, max_rows=bound)


def test_local_coordinates_have_one_grid() -> None:
    with pytest.raises(ParameterError, match="max_rows must be left out for mechanism 'coinpress', got 10000000000"):
        request(
            "covariance",
            dpcov.ZCDP(1),
            mechanism="coinpress",
            bound=1.0,
            schema=None,
            max_rows=10**10,
            options={},
        )
