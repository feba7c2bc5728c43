"""The same rows have the same integers and the same release, wherever they are and whoever adds them up."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcov
from dpcov.kernel.budget import Budget
from dpcov.kernel.questions.asked import SUMMED
from dpcov.kernel.questions.weights import AboutWeights
from dpcov.release.file import text_of
from dpcov.sources import array, csv_file, parquet, pieces
from dpcov.sources.opening import open_source
from tests.engines.asked import questions
from tests.engines.engines import ARRAYS, ENGINES, MIXED, PAIRS, POOL, expected, opened
from tests.sources.mixed import NUMBERS, SCHEMA, arrow

any_engine = pytest.mark.parametrize("engine", ENGINES)
either = pytest.mark.parametrize("center", [False, True])


@pytest.fixture(autouse=True, scope="module")
def _end_the_pool() -> Iterator[None]:
    yield
    POOL.close()


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut a table of 240 rows into many parts."""
    monkeypatch.setattr(array, "PART_ELEMENTS", 300)
    monkeypatch.setattr(csv_file, "CSV_BLOCK", 700)
    monkeypatch.setattr(csv_file, "CSV_PIECE", 4000)
    monkeypatch.setattr(parquet, "PIECE_ROWS", 90)
    monkeypatch.setattr(pieces, "PIECE_BYTES", 6000)


@either
@pytest.mark.parametrize(("container", "engine"), PAIRS)
def test_every_question_about_a_table_has_the_same_integers(container: str, engine: str, center: bool, tmp_path: Path) -> None:
    source = opened(engine, MIXED[container](tmp_path), SCHEMA, center)
    for question, integers in expected(center):
        if not source.rereadable:
            source = opened(engine, MIXED[container](tmp_path), SCHEMA, center)
        assert source.total(question).tolist() == integers, question.name
    assert source.n == 240
    assert source.feature_names == SCHEMA.feature_names


@either
@any_engine
@pytest.mark.parametrize("container", [*ARRAYS, "folder of parquet", "csv", "folders that name grades"])
def test_every_question_about_plain_numbers_has_the_same_integers(
    container: str, engine: str, center: bool, tmp_path: Path
) -> None:
    names = None if container in ARRAYS else NUMBERS
    source = opened(engine, (ARRAYS | MIXED)[container](tmp_path), None, center, names)
    for question, integers in expected(center, None):
        assert source.total(question).tolist() == integers, question.name
    assert source.n == 240


@any_engine
@pytest.mark.parametrize("container", ["array", "npy", "sparse columns"])
def test_arrays_with_a_schema(container: str, engine: str, tmp_path: Path) -> None:
    schema = SCHEMA.select(NUMBERS)
    source = opened(engine, ARRAYS[container](tmp_path), schema, True)
    in_memory = open_source(arrow(), None, schema, True)
    for question in questions(source.d, True, schema):
        assert source.total(question).tolist() == in_memory.total(question).tolist(), question.name


def test_every_kind_of_question_is_asked_about_every_kind_of_rows() -> None:
    """Otherwise the equalities above would be about some of them."""
    asked = [q for center in (False, True) for schema in (SCHEMA, None) for q in questions(5, center, schema)]
    elsewhere = {kind for kind in SUMMED if kind.by_group or issubclass(kind, AboutWeights)}  # those: test_beside.py
    for kind in (kind for kind in SUMMED if kind not in elsewhere):
        about = {type(q.grid) for q in asked if type(q) is kind and hasattr(q, "grid")}
        assert about == set(kind.shapes), kind
        assert any(type(q) is kind for q in asked), kind


def test_the_integers_are_about_something() -> None:
    for center in (False, True):
        for schema in (SCHEMA, None):
            for question, integers in expected(center, schema):
                entries = np.ravel(integers)
                assert len(np.unique(entries)) > 1 or question.name in ("count", "trace"), question
                assert entries.any(), question


SMALL = SCHEMA.select(["height", "größe", "stadt"])
RELEASES: dict[str, tuple[str, Budget, dict[str, Any]]] = {
    "three readings, by column": ("covariance", dpcov.PureDP(1), {"schema": SMALL, "mechanism": "standardized"}),
    "add-remove": ("covariance", dpcov.ZCDP(1), {"schema": SMALL, "neighbors": "add-remove", "mechanism": "gaussian"}),
    "private clipping": ("covariance", dpcov.ZCDP(1), {"schema": SMALL, "center": False, "mechanism": "rescaled"}),
    "rounds": ("covariance", dpcov.ZCDP(1), {"schema": SMALL, "mechanism": "coinpress", "center": False}),
    "mean": ("mean", dpcov.ZCDP(1), {"schema": SMALL}),
    "components": ("pca", dpcov.PureDP(1), {"schema": SMALL, "k": 2}),
    "regression": ("ridge", dpcov.PureDP(1), {"schema": SMALL, "target": "height", "alpha": 0.1}),
}


@cache
def in_memory(release: str) -> str:
    target, budget, settings = RELEASES[release]
    return text_of(getattr(dpcov, target)(arrow(), budget, seed=7, **settings))


@pytest.mark.parametrize("container", ["csv", "folder of parquet", "folders that name towns", "polars, lazy"])
@pytest.mark.parametrize("release", RELEASES)
def test_a_seeded_release_is_the_same_byte_by_byte(
    container: str, release: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpcov.request.Pool", lambda _: ENGINES["pool"])
    target, budget, settings = RELEASES[release]
    made = getattr(dpcov, target)(MIXED[container](tmp_path), budget, seed=7, workers=2, **settings)
    assert text_of(made) == in_memory(release)


def test_workers_of_its_own(tmp_path: Path) -> None:
    """As a user calls it: processes start, and are gone when the release is made."""
    target, budget, settings = RELEASES["three readings, by column"]
    before = children()
    made = getattr(dpcov, target)(MIXED["csv"](tmp_path), budget, seed=7, workers=2, **settings)
    assert text_of(made) == in_memory("three readings, by column")
    assert children() == before


def children() -> set[str]:
    """Return the processes that this one started."""
    own = Path(f"/proc/{os.getpid()}/task")
    found: set[str] = set()
    for thread in own.iterdir():
        with suppress(FileNotFoundError):  # a thread that has ended since
            found.update((thread / "children").read_text(encoding="ascii").split())
    return found
