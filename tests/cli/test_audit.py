"""``dpcov audit``: what it prints, its exit codes, a mechanism in a file, and chosen tables."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dpcov.cli.audit import TARGETS as COMMAND_TARGETS
from dpcov.release.record import TARGETS
from tests.cli.shell import SCHEMA, Result, assert_refused, call

ROOT = Path(__file__).parents[2]
QUICK = ("--pairs", "20", "--trials", "20", "--draws", "500", "--seed", "1")

BROKEN = """
import dpcov
from dpcov.mechanisms import MECHANISMS
GAUSSIAN = MECHANISMS["covariance"]["gaussian"]

def ask(curator, budget):
    curator.noisy(curator.second_moment(), budget, noise="gaussian")
    remembered, = curator._pass_on.__closure__
    return {"rows": int(remembered.cell_contents["noisy"].__self__._sums.read(curator.second_moment())[0])}

def estimate(transcript, postprocess):
    raise dpcov.ReleaseError("no estimate")

MINE = dpcov.Mechanism(target="covariance", name="mine", serves=(dpcov.ZCDP,), ask=ask, estimate=estimate)
"""


def refused(result: Result, code: int, said: str) -> None:
    """In one line, which says why."""
    assert_refused(result, code)
    assert said in result.err


def test_a_mechanism_of_the_library() -> None:
    told = call("audit", "gaussian", "--rho", "0.5", *QUICK)
    assert told.code == 0, told.err
    for part in (
        "gaussian (covariance, replace): rho = 0.5: not refuted",
        "on 20 pairs",
        "second moment",
        "Lower bound: 20 releases",
    ):
        assert part in told.out
    assert "What this does not show: that the promise holds." in told.out


def test_as_json() -> None:
    told = call("audit", "ppca", "--target", "pca", "--option", "k=1", "--epsilon", "1", "--json", *QUICK)
    found = json.loads(told.out)
    assert found["refuted"] is False
    assert {price["asked"] for price in found["prices"]} == {"directions", "explained"}
    assert found["bounds"][0]["promised"] == 1
    assert (found["pairs"], found["trials"], found["seeded"]) == (20, 20, True)


def test_a_mechanism_in_a_file() -> None:
    told = call("audit", "--from", f"{ROOT / 'examples' / 'own_mechanism.py'}:COLUMNS_ONLY", "--epsilon", "1", *QUICK)
    assert told.code == 0, told.err
    assert "columns-only (covariance, replace): epsilon = 1: not refuted" in told.out


def test_a_broken_mechanism_in_a_file_ends_with_3(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(BROKEN, encoding="utf-8")
    told = call("audit", "--from", f"{tmp_path / 'broken.py'}:MINE", "--rho", "1", *QUICK)
    assert told.code == 3
    assert "mine (covariance, replace): rho = 1: REFUTED" in told.out
    assert "- the same answers must make the same file, got another one" in told.out
    assert "What this does not show" not in told.out


def test_chosen_tables(tmp_path: Path) -> None:
    one, other = tmp_path / "one.npy", tmp_path / "other.npy"
    np.save(one, np.eye(3))
    np.save(other, np.eye(3)[[0, 1, 1]])
    told = call("audit", "gaussian", "--rho", "0.5", "--first", one, "--second", other, *QUICK)
    assert told.code == 0, told.err
    assert "on 1 pair of neighbours" in told.out
    assert "1.000000" in told.out
    refused(call("audit", "gaussian", "--rho", "0.5", "--first", one, "--second", one), 2, "differ in one row")
    (tmp_path / "people.toml").write_text(SCHEMA, encoding="utf-8")
    for name, age in (("a.csv", 30), ("b.csv", 90)):
        (tmp_path / name).write_text(f"age,job\n20,clerk\n{age},nurse\n", encoding="utf-8")
    tables = ("--first", tmp_path / "a.csv", "--second", tmp_path / "b.csv")
    told = call("audit", "gaussian", "--rho", "0.5", "--schema", tmp_path / "people.toml", *tables, *QUICK)
    assert told.code == 0, told.err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((), 2, "give a MECHANISM by its name, or your own with --from"),
        (("gaussian", "--from", "x.py:MINE"), 2, "give a MECHANISM by its name, or your own with --from"),
        (("gauss",), 2, "mechanism must be one of"),
        (("--from", "nowhere.py:MINE"), 2, "--from must be FILE.py:NAME of a file that is there"),
        (("gaussian", "--first", "a.csv"), 2, "give two tables"),
        (("gaussian", "--first", "a.csv", "--second", "b.csv"), 4, "a.csv must be a table of numbers"),
        (("gaussian", "--option", "clip=9"), 2, "clip must be"),
        (("gaussian", "--pairs", "0"), 2, "--pairs must be a whole number from 1"),
    ],
)
def test_what_is_refused(arguments: tuple[str, ...], code: int, said: str) -> None:
    refused(call("audit", *arguments, "--rho", "1"), code, said)


def test_a_file_without_such_a_mechanism(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(BROKEN, encoding="utf-8")
    refused(call("audit", "--from", f"{tmp_path / 'own.py'}:OURS", "--rho", "1"), 2, "the file has GAUSSIAN, MINE")


def test_targets_are_those_of_the_library() -> None:
    assert tuple(COMMAND_TARGETS) == tuple(TARGETS)
