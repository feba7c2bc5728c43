"""The guard of `conftest` sees what a test leaves behind: release files of a test run were once committed."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import ROOT, files

pytest_plugins = ["pytester"]


def test_new_files_are_seen_and_caches_are_not(tmp_path: Path) -> None:
    (tmp_path / "kept.py").write_text("", encoding="utf-8")
    before = files(tmp_path)
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "kept.pyc").write_text("", encoding="utf-8")
    assert files(tmp_path) == before == {"kept.py"}
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "one.json").write_text("{}", encoding="utf-8")
    assert files(tmp_path) - before == {str(Path("folder/one.json"))}


def test_a_test_that_writes_into_the_repository_fails(pytester: pytest.Pytester) -> None:
    inner = pytester.mkdir("tests")
    pytester.makeconftest((ROOT / "conftest.py").read_text(encoding="utf-8"))
    (inner / "test_one.py").write_text("def test_it():\n    open('one.json', 'w').close()\n", encoding="utf-8")
    run = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    run.assert_outcomes(passed=1, errors=1)
    run.stdout.fnmatch_lines(["*a test left these behind*one.json*"])
