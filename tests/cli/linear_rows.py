"""Made-up people whose hours are linear in their age and sex, and releases of them of every kind."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpcov
from tests.cli.known_rows import contents
from tests.cli.shell import SECRET, Result, assert_refused, call
from tests.cli.test_pca_tell import heard
from tests.helpers.folders import made_once

ROWS, NEW = 6000, 400
COLUMNS: dict[str, dpcov.Numeric | dpcov.Categorical] = {
    "age": dpcov.Numeric(20, 60),
    "sex": dpcov.Categorical(["Female", "Male"]),
    "job": dpcov.Categorical(["clerk", "nurse", "cook"]),
    "hours": dpcov.Numeric(0, 80),
}
FEATURES = ("age", "sex=Female", "sex=Male", "job=clerk", "job=nurse", "job=cook", "hours")
SLOPE, MALE, START = 0.4, 6.0, 15.0
NOT_COVARIANCES = {"mean.json": "got a mean", "pca.json": "got components", "one.json": "got one regression"}


def people(rows: int, seed: int) -> pd.DataFrame:
    """Return people of whom nobody works more than 60 hours."""
    random = np.random.default_rng(seed)
    age, male, job = random.uniform(20, 60, rows), random.random(rows) < 0.6, random.integers(0, 3, rows)
    hours = START + SLOPE * age + MALE * male + random.uniform(-8, 8, rows)
    levels = np.array(["clerk", "nurse", "cook"])
    return pd.DataFrame({"age": age, "sex": np.where(male, "Male", "Female"), "job": levels[job], "hours": hours})


@functools.cache
def made() -> dict[str, dpcov.Release]:
    """Return a release of each kind, by the names of their files."""
    frame, schema, budget = people(ROWS, seed=0), dpcov.Schema(COLUMNS), dpcov.ZCDP(2)
    numbers = frame[["age", "hours"]].assign(half=frame["age"] / 2 + frame["hours"])
    bare = numbers - numbers.mean()
    return {
        "centred.json": dpcov.covariance(frame, budget, schema=schema, center=True, mechanism="gaussian", seed=1),
        "about0.json": dpcov.covariance(frame, budget, schema=schema, center=False, mechanism="gaussian", seed=1),
        "numbers.json": dpcov.covariance(numbers, budget, row_norm=150, center=True, mechanism="gaussian", seed=1),
        "rounds.json": dpcov.covariance(bare, budget, mechanism="coinpress", upper=2000.0, lower=1.0, seed=1),
        "drawn.json": dpcov.covariance(numbers, budget, row_norm=150, mechanism="eigenvectors", seed=1),
        "single.json": dpcov.covariance(numbers[["age"]], budget, row_norm=60, mechanism="gaussian", seed=1),
        "mean.json": dpcov.mean(numbers.to_numpy(), budget, radius=150, seed=1),
        "pca.json": dpcov.pca(frame, budget, 2, schema=schema, seed=1),
        "one.json": dpcov.ridge(frame, budget, "hours", alpha=0.01, schema=schema, seed=1),
    }


@made_once
def write_releases(folder: Path) -> None:
    """Write these releases, new people, and some of the people themselves, whom nobody may open."""
    for name, release in made().items():
        release.save(folder / name)
    made()["centred.json"].save(folder / "kept.png")
    people(NEW, seed=2).to_csv(folder / "new.csv", index=False)
    people(NEW, seed=2).to_parquet(folder / "new.parquet")
    people(100, seed=0).assign(name=SECRET).to_csv(folder / "people.csv", index=False)


def assert_only_the_release_is_opened(monkeypatch: pytest.MonkeyPatch, *words: str) -> Result:
    """Run a command on a release; it opens no other file, spends nothing, and leaves all files as they are."""
    before = contents()

    def opened(*_: object, **__: object) -> None:
        raise AssertionError("data were opened")

    for door in ("opening.open_source", "opening.open_table", "files.open_file"):
        monkeypatch.setattr(f"dpcov.sources.{door}", opened)
    monkeypatch.setattr("dpcov.kernel.curator.Curator.__init__", opened)
    with heard() as names:
        told = call(*words)
    assert told.code == 0, told.err
    ours = {name for name in names if name.endswith((".json", ".csv", ".parquet")) and name in before}
    assert ours == {words[1]}
    assert {name: content for name, content in contents().items() if name in before} == before
    return told


def assert_refusal(arguments: list[str], code: int, reason: str) -> None:
    """The command is refused for this reason, in one line, and every file is as it was."""
    before = contents()
    refused = call(*arguments)
    assert_refused(refused, code)
    assert reason in refused.err
    assert contents() == before
