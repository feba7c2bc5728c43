"""The demo, in a process of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

import dpcov
from tests.cli.shell import assert_refused, call, run

PNG = b"\x89PNG"


def test_demo_prints_its_table_and_writes_release_and_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = run("demo", cwd=tmp_path)
    assert shown.code == 0, shown.err
    for text in (
        "proline",
        "true mean",
        "true deviation",
        "private",
        "1-zCDP",
        "replacing any one of",
        "second moment",
        "dpcov release DATA",
    ):
        assert text in shown.out
    release = dpcov.load(tmp_path / "wine-release.json")
    assert (release.n, release.d, release.privacy, release.seeded, release.center) == (178, 6, dpcov.ZCDP(1), False, True)
    assert (tmp_path / "wine-release.png").read_bytes().startswith(PNG)
    assert {path.name for path in tmp_path.iterdir()} == {"wine-release.json", "wine-release.png"}

    monkeypatch.chdir(tmp_path)
    again = call("show", "wine-release.json")
    assert again.code == 0, again.err
    assert "1-zCDP" in again.out
    assert "discrete gaussian" in again.out
    assert again.err == ""
    assert call("demo").code == 0  # its own files it may overwrite


def test_demo_overwrites_nothing_but_its_own(tmp_path: Path) -> None:
    other = tmp_path / "thesis.json"
    other.write_text("precious", encoding="utf-8")
    assert_refused(call("demo", "--output", other), 2)
    assert other.read_text(encoding="utf-8") == "precious"
    assert_refused(call("demo", "--output", tmp_path / "wine.png"), 2)


def test_an_unwritable_place_ends_with_code_4_and_no_file(tmp_path: Path) -> None:
    assert_refused(call("demo", "--output", tmp_path / "missing" / "release.json"), 4)
    assert_refused(call("demo", "--output", tmp_path), 4)
    assert not list(tmp_path.iterdir())
