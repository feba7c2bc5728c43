"""Whatever stands in a release file, it is loaded or refused with a `ReleaseError`; `forged` says how files are made."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcov
from dpcov.errors import ReleaseError
from dpcov.kernel.questions.asked import BY_TAG
from dpcov.mechanisms import MECHANISMS
from dpcov.release.file import parse, text_of
from dpcov.report.releases import record
from tests.helpers import forged
from tests.helpers.small import sealed

SOME = 11  # one in so many starting files: odd, so that both relations are among them
FILES = 500
MORE = range(FILES, 20_000)

pytestmark = pytest.mark.skipif(os.name != "posix", reason="timers and limits as POSIX has them")


def test_every_mechanism_is_forged() -> None:
    asked_by_another_name = {("covariance", "projection"), *((kind, "auto") for kind in MECHANISMS)}
    known = {(kind, name) for kind, names in MECHANISMS.items() for name in names} - asked_by_another_name
    starts = [json.loads(text) for text in forged.starts(SOME)]
    assert {(tree["kind"], tree["mechanism"]["name"]) for tree in starts} == known
    assert {tree["privacy"]["notion"] for tree in starts} == {"pure", "zCDP", "approx"}
    assert {tree["neighbors"] for tree in starts} == {"replace", "add-remove"}
    assert {(tree["encoding"]["constant"], bool(tree["encoding"]["schema"])) for tree in starts} == {
        (constant, schema) for constant in (False, True) for schema in (False, True)
    }
    asked = {answer["question"]["asked"] for tree in starts for answer in tree["answers"]}
    assert asked == set(BY_TAG) - {"norms", "histograms", "weights"}  # which no mechanism asks for by themselves
    assert any(isinstance(answer["integers"], dict) for tree in starts for answer in tree["answers"])


def test_files_load_before_they_are_forged() -> None:
    """A forger who broke them all would test the first check only."""
    assert {forged.verdict(text) for text in forged.starts(SOME)} == {("loaded", "")}


def test_forged_files_are_loaded_or_refused() -> None:
    """Some of each, and nothing else happens to them, nor to what is made of those that load."""
    tally = forged.Tally().run(range(FILES), SOME)
    assert tally.undeclared == []
    assert tally.count["refused"] + tally.count["loaded"] == FILES
    assert min(tally.count["refused"], tally.count["loaded"]) > FILES / 10


@pytest.mark.audit
def test_many_more_are() -> None:
    """From all starting files."""
    assert forged.Tally().run(MORE).undeclared == []


def test_the_same_number_makes_the_same_file() -> None:
    assert forged.forged(5, SOME) == forged.forged(5, SOME)
    assert len({forged.forged(number, SOME) for number in range(50)}) > 45


class TestVerdicts:
    """The controls: a harness that saw nothing would find nothing."""

    @pytest.fixture
    def text(self) -> str:
        return forged.starts(SOME)[0]

    def test_an_error_while_parsing(self, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(forged, "parse", lambda _: [][0])
        assert forged.verdict(text)[0] == "parse: IndexError"

    def test_another_declared_error_while_parsing(self, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(_: str) -> None:
            raise dpcov.ParameterError("no error of files")

        monkeypatch.setattr(forged, "parse", refuse)
        assert forged.verdict(text)[0] == "parse: ParameterError"

    def test_a_warning(self, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(forged.USES, "mean", lambda _: warnings.warn("overflow", RuntimeWarning, stacklevel=1))
        assert forged.verdict(text)[0] == "mean: RuntimeWarning"

    def test_an_error_of_a_use(self, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(forged.USES, "pca", lambda _: np.linalg.inv(np.zeros((2, 2))))
        assert forged.verdict(text)[0] == "pca: LinAlgError"

    def test_a_declared_error_of_a_use(self, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(_: dpcov.Release) -> None:
            raise ReleaseError("no such thing in it")

        monkeypatch.setitem(forged.USES, "pca", refuse)
        assert forged.verdict(text)[0] == "loaded"
        monkeypatch.setitem(forged.USES, "statement", refuse)
        assert forged.verdict(text)[0] == "statement: ReleaseError"

    def test_an_endless_one(self, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
        def endless(_: str) -> None:
            while True:
                pass

        monkeypatch.setattr(forged, "SECONDS", 0.02)
        monkeypatch.setattr(forged, "parse", endless)
        assert forged.verdict(text)[0] == "parse: TooSlowError"


def start(mechanism: str, notion: str, answer: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a starting file that has such an answer, and its second moment."""
    for tree in map(json.loads, forged.starts(SOME)):
        answers = {found["question"]["asked"]: found for found in tree["answers"]}
        if (tree["mechanism"]["name"], tree["privacy"]["notion"]) == (mechanism, notion) and answer in answers:
            return tree, answers["second moment"]
    raise AssertionError("no such file")


def test_a_scale_of_nothing() -> None:
    """A matrix of zeros beside what clipping took from it: an interval divided by its norm."""
    tree, moment = start("rescaled", "pure", "overlap")
    moment["integers"] = [0] * len(moment["integers"])
    widths = parse(sealed(tree)).interval(about="rows").entries
    assert np.isfinite(widths.upper - widths.lower).all()


def test_rows_of_rescaled_are_not_centred() -> None:
    """Not even where nothing was asked about them: the estimate of nothing had a row and a column less than its units."""
    tree, _ = start("rescaled", "pure", "overlap")
    tree |= {"answers": [], "neighbors": "replace"}
    assert not parse(sealed(tree)).second_moment.any()
    tree["encoding"]["constant"] = True
    with pytest.raises(ReleaseError, match="center must be False for mechanism 'rescaled'"):
        _ = parse(sealed(tree)).second_moment


def test_an_error_beyond_floats_is_null() -> None:
    """As of an honest release with the largest radius and next to no budget: JSON has no infinity."""
    release = dpcov.mean(np.ones((90, 4)), dpcov.PureDP("1e-6"), radius=1e150, mechanism="clipped", seed=1)
    assert release.expected_error == np.inf
    assert json.loads(json.dumps(record(release), allow_nan=False))["expected_error"] is None
    assert forged.verdict(text_of(release)) == ("loaded", "")


@pytest.mark.parametrize("tail", ["9" * 400, "1/" + "9" * 900])
def test_a_tail_beyond_floats(tail: str) -> None:
    """It is compared with what it must be before it is compared with delta, as a float."""
    tree, moment = start("wishart", "approx", "second moment")
    moment["noise"][0]["parameters"]["tail"] = tail
    with pytest.raises(ReleaseError, match="less noise than the promise needs"):
        parse(sealed(tree))


@pytest.mark.audit
def test_a_hundred_thousand_files() -> None:
    """In a process of its own, within `forged.MEMORY`: what asks for more ends in a MemoryError, which nobody declares."""
    command = [sys.executable, "-m", "tests.helpers.forged", "--files", "100000"]
    run = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False)
    print(run.stdout)
    assert run.returncode == 0, run.stdout + run.stderr
