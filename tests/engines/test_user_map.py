"""Functions that work as the built-in ``map`` sum the parts: the same releases, each part once, else one clear error."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcov
from dpcov.errors import EngineError, ParameterError
from dpcov.kernel.questions.moments import Count
from dpcov.release.file import text_of
from dpcov.sources import array
from dpcov.sources.user_map import PartTask, UserMap
from tests.engines.engines import MIXED
from tests.engines.test_every_engine import RELEASES, in_memory
from tests.engines.test_pool import Odd
from tests.test_docs import ROOT, blocks

ROWS = np.random.default_rng(5).normal(size=(400, 3))


def release(workers: Any, **more: Any) -> dpcov.Release:
    return dpcov.covariance(ROWS, dpcov.ZCDP(1), row_norm=1, seed=7, workers=workers, **more)


@pytest.mark.parametrize("made", RELEASES)
def test_a_seeded_release_is_the_same_byte_by_byte(made: str, tmp_path: Path) -> None:
    target, budget, settings = RELEASES[made]
    with ThreadPoolExecutor(2) as pool:
        found = getattr(dpcov, target)(MIXED["folder of parquet"](tmp_path), budget, seed=7, workers=pool.map, **settings)
    assert text_of(found) == in_memory(made)


def test_processes_of_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a user calls it, and in any order."""
    monkeypatch.setattr(array, "PART_ELEMENTS", 300)
    with get_context("spawn").Pool(1) as pool:
        assert text_of(release(pool.imap_unordered)) == text_of(release(1))


@pytest.mark.parametrize(
    "function",
    [
        lambda task, parts: map(task, parts),
        lambda task, parts: [task(part) for part in reversed(list(parts))],
        lambda task, parts: (pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(task))(part))) for part in parts),
    ],
    ids=["lazily", "backwards", "pickled"],
)
def test_any_map_will_do(function: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array, "PART_ELEMENTS", 300)
    parts: list[int] = []

    def counted(numbered: Iterable[Any]) -> Iterator[Any]:
        for part in numbered:
            parts.append(part[0])
            yield part

    def counting(task: Any, numbered: Iterable[Any]) -> Any:
        return function(task, counted(numbered))

    assert text_of(release(counting)) == text_of(release(1))
    assert max(parts) == 3


def test_counts_of_another_part_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two parts would share out as if they had each other's rows."""
    monkeypatch.setattr(array, "PART_ELEMENTS", 300)
    np.save(tmp_path / "rows.npy", np.column_stack([ROWS, np.arange(400) % 9]))

    def swapped(task: Any, parts: Iterable[Any]) -> list[Any]:
        found = [task(part) for part in parts]
        numbers = [result.number for result in found]
        return [result._replace(number=number) for result, number in zip(found, numbers[::-1], strict=True)]

    with pytest.raises(EngineError, match="workers must return the sums of each part once"):
        dpcov.covariance(tmp_path / "rows.npy", dpcov.ZCDP(1), row_norm=1, unit=3, workers=swapped)
    made = dpcov.covariance(
        tmp_path / "rows.npy", dpcov.ZCDP(1), row_norm=1, unit=3, workers=lambda task, parts: map(task, parts)
    )
    assert made.n == 9


def twice(task: Any, parts: Iterable[Any]) -> Iterator[Any]:
    found = [task(part) for part in parts]
    return iter([*found, found[0]])


def without_one(task: Any, parts: Iterable[Any]) -> Iterator[Any]:
    return iter([task(part) for part in parts][1:])


def another(task: Any, parts: Iterable[Any]) -> Iterator[Any]:
    return iter([task(part)._replace(number=99) for part in parts])


def dying(task: Any, parts: Iterable[Any]) -> Iterator[Any]:
    yield from [task(part) for part in parts][:1]
    raise RuntimeError("SECRET 424242")


def silent(task: Any, parts: Iterable[Any]) -> list[Any]:  # noqa: ARG001
    return []


def garbled(task: Any, parts: Iterable[Any]) -> Iterator[Any]:
    return (task(part)[:1] for part in parts)


def instead(**other: Any) -> Any:
    """Make a map whose third part comes back with something else."""

    def replaced(task: Any, parts: Iterable[Any]) -> Iterator[Any]:
        for result in map(task, parts):
            yield result._replace(sums=result.sums._replace(**other)) if result.number == 2 else result

    return replaced


def no_sums(task: Any, parts: Iterable[Any]) -> Iterator[Any]:
    return (task(part)._replace(sums=None) for part in parts)


OTHERWISE: dict[str, dict[str, Any]] = {
    "one number": {"integers": np.int64(3)},
    "one entry": {"integers": np.array([3])},
    "floats": {"integers": np.full(6, 0.5)},
    "small": {"integers": np.ones(6, dtype=np.int32)},
    "a list": {"integers": [1] * 6},
    "no integers": {"integers": None},
    "fewer rows than none": {"rows": -1},
    "rows in words": {"rows": "SECRET"},
    "a share in words": {"share": "SECRET"},
}


def nothing(task: Any, parts: Iterable[Any]) -> None:
    """Run each, and forget what it returned."""
    for part in parts:
        task(part)


WRONG = [twice, without_one, another, dying, silent, garbled, nothing, no_sums]


@pytest.mark.parametrize(
    "function",
    [*WRONG, *(instead(**other) for other in OTHERWISE.values())],
    ids=[*(function.__name__ for function in WRONG), *OTHERWISE],
)
def test_each_part_counts_once_or_nothing_is_answered(function: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array, "PART_ELEMENTS", 300)
    monkeypatch.setattr("dpcov.kernel.account.Account.charge", lambda *_: pytest.fail("a budget was charged"))
    with pytest.raises(EngineError, match=r"^workers must return the sums of each part once, got an error or other") as raised:
        release(function)
    assert "SECRET" not in str(raised.value)
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None


@pytest.mark.parametrize(
    ("what", "words"),
    [("raise", "data must be readable to the end by each worker, got an error"), ("refuse", "data must be whole, got 'a.csv'")],
    ids=["raise", "refuse"],
)
def test_a_part_that_cannot_be_read_is_told_in_our_words(what: str, words: str) -> None:
    with pytest.raises(EngineError, match=words) as raised:
        list(UserMap(map).run(Count(), [Odd(""), Odd(what)]))
    assert "SECRET" not in str(raised.value)


def test_a_file_that_cannot_be_cut_is_told_as_it_is() -> None:
    def parts() -> Iterator[Any]:
        yield Odd("")
        raise EngineError("data must be whole, got 'b.csv'. Hint: copy it.")

    with pytest.raises(EngineError, match=r"b\.csv"):
        list(UserMap(lambda task, numbered: list(map(task, numbered))).run(Count(), parts()))


def test_workers_of_another_version_are_refused() -> None:
    task = replace(PartTask(Count()), version="0.0.1")
    kind, words = task((0, Odd(""))).error or ("", "")
    assert kind == "EngineError"
    assert words.startswith("workers must have dpcov 0.0.1, as the process that asks, got ")


def test_the_rows_of_all_parts_are_counted() -> None:
    found = list(UserMap(map).run(Count(), [Odd(""), Odd("")]))
    assert [sums.rows for sums in found] == [1, 1]


@pytest.mark.parametrize("workers", [map, dict, Odd], ids=str)
def test_a_class_is_no_map(workers: Any) -> None:
    """The built-in map is one, and would sum here, where no workers are: what is wanted is a function of a pool."""
    with pytest.raises(ParameterError, match=r"^workers must be a whole number from 1 to 256, or a function such as pool\.map"):
        release(workers)


def test_pairs_are_refused() -> None:
    asked: dict[str, Any] = {"mechanism": "coinpress", "centring": "pairs", "upper": 4}
    with pytest.raises(ParameterError, match="workers must be 1 for pairs of rows"):
        dpcov.covariance(ROWS, dpcov.ZCDP(1), workers=twice, **asked)


def test_the_example_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Ray example, with a pool of threads in the place of Ray's."""
    [code] = blocks(ROOT / "docs" / "engines.md", "python ray")
    monkeypatch.chdir(tmp_path)
    with ThreadPoolExecutor(2) as pool:
        replaced: Callable[..., Any] = pool.map
        exec(code.replace("from ray.util.multiprocessing import Pool", "").replace("Pool()", "pool"), {"pool": Here(replaced)})


class Here:
    """What the example uses of Ray's pool."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.imap_unordered = function
