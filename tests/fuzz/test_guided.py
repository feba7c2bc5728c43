"""What reads a stranger's text returns or refuses, whatever stands there; `targets` says what is tried, `guided` how."""

from __future__ import annotations

import importlib.util
import os
import random
from pathlib import Path
from typing import Any

import pytest

import dpcov
from dpcov.errors import EngineError, ParameterError, SchemaError
from dpcov.schema import codebook
from dpcov.schema import file as schema_file
from dpcov.sources import csv_file
from tests.fuzz import guided, targets
from tests.fuzz.targets import TARGETS

FEW, A_MILLION, TABLES = 400, 10**6, 20_000

pytestmark = pytest.mark.skipif(os.name != "posix", reason="timers as POSIX has them")
needs_atheris = pytest.mark.skipif(
    importlib.util.find_spec("atheris") is None,
    reason="atheris, which guides by coverage, is not installed (pip install atheris)",
)


def edited(name: str, number: int) -> bytes:
    """Return an input that some edits make of a seed."""
    target, draw = TARGETS[name], random.Random(f"{name} {number}")
    made = draw.choice(target.seeds())
    for _ in range(draw.choice((1, 1, 2, 3))):
        made = target.edit(made, draw, lambda text: text[: draw.randrange(len(text) + 1)])
    return made


@pytest.mark.parametrize("name", TARGETS)
def test_seeds_are_accepted(name: str) -> None:
    """But for the tables that are not: editors who broke them all would test the first check only."""
    found = [TARGETS[name].read(text) for text in TARGETS[name].seeds()]
    assert found.count(targets.ACCEPTED) > len(found) / 2


@pytest.mark.parametrize("name", TARGETS)
def test_edited_inputs_are_accepted_or_refused(name: str) -> None:
    """Some of each; without a guide, so that this is tried where atheris is not installed."""
    findings = guided.Findings(TARGETS[name].read)
    for number in range(FEW):
        findings.one(edited(name, number))
    assert findings.undeclared == {}
    assert min(findings.count[targets.ACCEPTED], findings.count[targets.REFUSED]) > FEW / 50
    assert findings.count.total() == FEW


@needs_atheris
def test_a_guide_reaches_more(tmp_path: Path) -> None:
    """With few inputs: it runs, keeps what reaches something new, and counts every input."""
    told = guided.fuzz("codebook", 500, corpus=tmp_path / "kept")
    assert (told.inputs, told.undeclared) == (500, {})
    assert 0 < told.accepted < 500
    assert told.edges > 100
    assert len(list((tmp_path / "kept").iterdir())) > len(targets.CODEBOOKS)


@needs_atheris
@pytest.mark.audit
@pytest.mark.parametrize(
    ("name", "inputs"), [*((name, int(A_MILLION * share)) for name, share in guided.SHARES.items()), ("table", TABLES)]
)
def test_a_million_inputs(name: str, inputs: int) -> None:
    """On the loader and the schema parsers; and tables in a CSV file, each of which is written, read and released."""
    told = guided.fuzz(name, inputs)
    print(told)
    assert told.undeclared == {}


def test_shares_are_all_of_them() -> None:
    assert sum(guided.SHARES.values()) == 1
    assert {*guided.SHARES, "table"} == set(TARGETS)


class TestFindings:
    """The controls: a harness that saw nothing would find nothing."""

    @staticmethod
    def found(name: str, data: bytes) -> str:
        findings = guided.Findings(TARGETS[name].read)
        findings.one(data)
        return next(iter(findings.undeclared), "")

    def test_an_undeclared_error(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("tomllib.loads", lambda _: [][0])
        assert self.found("schema", b"").startswith("IndexError")
        monkeypatch.setattr(codebook, "parse", lambda _: [][0])
        assert self.found("codebook", b"").startswith("IndexError")
        monkeypatch.setattr(targets, "parse_release", lambda _: [][0])
        assert self.found("release", b"").startswith("IndexError")

    @pytest.mark.parametrize("message", ["schema must be\nplain, got two lines. Hint: none.", "wrong", "x" * 30_000])
    def test_a_message_that_no_screen_should_show(self, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(_: str) -> Any:
            raise SchemaError(message)

        monkeypatch.setattr(schema_file, "parse", refuse)
        assert self.found("schema", b"").startswith("AssertionError")

    @pytest.mark.parametrize("kind", [ParameterError, EngineError])
    def test_a_cell_in_a_message(self, kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*_: object, **__: object) -> Any:
            raise kind(f"data must be whole, got {targets.CELL}. Hint: none.")

        monkeypatch.setattr(dpcov, "covariance", refuse)
        assert "quotes a cell" in self.found("table", targets.TABLES[0])

    def test_records_that_a_piece_loses(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(targets, "one_in", lambda *_: True)
        whole = b"\x00a\n" + b"12\n" * 90
        assert self.found("table", whole) == ""
        monkeypatch.setattr(csv_file, "cuts", lambda *_: iter([100, 200]))
        assert "pieces with other records" in self.found("table", whole)
