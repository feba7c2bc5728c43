"""``dpcov plan pca``: the theorems' numbers, what they mean, and where they are silent."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from dpcov import bounds
from tests.cli.shell import assert_refused, call

QUESTION = ("plan", "pca", "--d", "100", "--gap", "0.1", "--epsilon", "0.1")


def answered(*words: str) -> dict[str, Any]:
    told = call(*QUESTION, *words, "--json")
    assert told.code == 0, told.err
    found: dict[str, Any] = json.loads(told.out)
    return found


def text(*words: str) -> str:
    """What people read, without the table's lines."""
    told = call(*QUESTION, *words)
    assert told.code == 0, told.err
    return " ".join("".join(" " if letter in "│├┼┤─" else letter for letter in told.out).split())


def test_the_new_user_s_question() -> None:
    """636 025.8 rows by hand: 4/(0.1·0.19·0.1)·(log 20 + 99/2·log(8/0.019))."""
    enough = 4 / (0.1 * 0.19 * 0.1) * (math.log(20) + 49.5 * math.log(8 / 0.019))
    found, told = answered(), text()
    assert found["enough"] == math.ceil(enough) == 636_026
    assert found["enough_as_printed"] == math.ceil(bounds.ppca_rows(100, 0.1, 0.1, 0.9, constants="paper"))
    assert found["enough_for_release"] == math.ceil(enough / found["direction_share"])
    assert found["needed_by_any"] is None
    assert found["needed_by_mod_sulq"] == bounds.mod_sulq_rows(100, 0.1, 1e-6, 0.9)
    for name in ("enough", "enough_for_release", "enough_as_printed", "needed_by_mod_sulq"):
        assert f"{found[name]:,}" in told
    assert "correlation 0.9 with probability 95 %" in told
    assert "Says nothing about what every epsilon-DP algorithm needs: for d = 100 it starts at correlation 0.996." in told
    assert "mod-sulq at delta = 1e-6 cannot reach" in told


def test_the_share_for_the_direction_is_what_a_release_spends_on_it() -> None:
    import numpy as np

    import dpcov

    made = dpcov.pca(np.eye(100)[:, :3], dpcov.PureDP(1), 1, row_norm=1, mechanism="ppca", seed=0)
    spent = {spend.asked: spend.budget for spend in made.spent}["directions"]
    assert isinstance(spent, dpcov.PureDP)
    assert float(spent.epsilon) == answered()["direction_share"]


def test_every_algorithm_needs_rows_where_theorem_8_speaks() -> None:
    found = answered("--correlation", "0.997")
    assert found["needed_by_any"] == math.ceil(round(bounds.least_rows(100, 0.1, 0.1, 0.997), 6)) == 10_000
    assert found["needed_by_any"] < found["enough"]
    told = text("--correlation", "0.997")
    assert "10,000 8 With fewer, no epsilon-DP algorithm at all reaches an expected correlation 0.997" in told
    assert "Says nothing" not in told


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--d", "2"], "it takes three features or more"),
        (["--gap", "0.6", "--correlation", "0.999"], "it is about gaps of at most 0.5"),
        (["--d", "9"], "for d = 9 it starts at correlation"),
    ],
)
def test_silence_has_a_reason(words: list[str], reason: str) -> None:
    assert reason in text(*words)
    assert answered(*words)["needed_by_any"] is None


def test_mod_sulq_may_be_ruled_out_nowhere() -> None:
    assert answered("--d", "2")["needed_by_mod_sulq"] is None
    assert "no number of rows is ruled out" in text("--d", "2")


def test_options_are_those_of_the_theorems() -> None:
    found = answered("--largest", "0.2", "--beta", "0.01", "--delta", "1e-9")
    assert found["enough"] == math.ceil(bounds.ppca_rows(100, 0.1, 0.1, 0.9, largest=0.2, beta=0.01))
    assert found["needed_by_mod_sulq"] == bounds.mod_sulq_rows(100, 0.1, 1e-9, 0.9)
    assert "with probability 99 %" in text("--beta", "0.01")


@pytest.mark.parametrize(
    "words",
    [
        ["--d", "1"],
        ["--d", "0"],
        ["--d", "1000000"],
        ["--d", "many"],
        ["--gap", "0"],
        ["--gap", "nan"],
        ["--gap", "0.5", "--largest", "0.4"],
        ["--largest", "2"],
        ["--epsilon", "0"],
        ["--epsilon", "much"],
        ["--epsilon", "1e-300"],
        ["--epsilon", "1e-300", "--gap", "1e-300"],
        ["--delta", "0"],
        ["--delta", "2"],
        ["--correlation", "1"],
        ["--correlation", "0"],
        ["--beta", "0"],
    ],
    ids=" ".join,
)
def test_other_numbers_are_refused(words: list[str]) -> None:
    assert_refused(call(*QUESTION, *words), 2)


@pytest.mark.parametrize("missing", ["--d", "--gap", "--epsilon"])
def test_the_question_must_be_whole(missing: str) -> None:
    place = QUESTION.index(missing)
    assert_refused(call(*QUESTION[:place], *QUESTION[place + 2 :]), 2)
