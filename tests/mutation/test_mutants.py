"""Every planted bug is caught, by the tests named beside it.

A copy of the package is edited, the named tests run against the copy in a process of their own, and each name must end
in a failed test: an error while collecting, or a test that passes, is not a catch.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.mutation import selection
from tests.mutation.form import Edit, Mutant, mutant
from tests.mutation.mutants import MUTANTS, WRITTEN_IN, modules, together
from tests.mutation.planting import ROOT, against, copy, edited, plant, verdict, write


@pytest.mark.parametrize("name", MUTANTS)
def test_planted_bug_is_caught(name: str) -> None:
    problem = verdict(name)
    assert problem is None, problem


def test_every_planted_bug_can_be_planted() -> None:
    """All of them, whichever are run: each line is there, once, and each test is."""
    cannot = [f"{name}: {why}" for name, bug in MUTANTS.items() for why in missing(bug)]
    assert not cannot, "\n".join(cannot)


def missing(bug: Mutant) -> Iterator[str]:
    """Yield what there is not: a line to edit, or a test to catch it."""
    for edit in bug.edits:
        text = source(edit.file)
        try:
            if edited(text, edit) == text:
                yield f"{edit.file} is left as it was by {edit.old!r}"
        except AssertionError as error:
            yield str(error)
    for test in bug.caught_by:
        file, *names = test.partition("[")[0].split("::")
        if tuple(names) not in defined(file):
            yield f"there is no {test}"


def test_what_cannot_be_planted_is_named() -> None:
    """The control, for each of the three."""
    sound, text = MUTANTS["scale halved"], source("kernel/calibrate.py")
    assert [*missing(sound)] == []
    gone, twice, same = mutant(("kernel/calibrate.py", "no such line", "x"), by=SOUND), "import", text.splitlines()[0]
    assert "0 times, not once: 'no such line'" in next(missing(gone))
    assert "times, not once: 'import'" in next(missing(mutant(("kernel/calibrate.py", twice, "x"), by=SOUND)))
    assert "is left as it was" in next(missing(mutant(("kernel/calibrate.py", same, same), by=SOUND)))
    for test in ("tests/kernel/laws/test_grid.py::test_of_nothing", "tests/test_nowhere.py::test_of_nothing"):
        assert [*missing(Mutant(sound.edits, (test,)))] == [f"there is no {test}"]


@cache
def source(file: str) -> str:
    """Return the text of a file of the package; none where there is no such file."""
    path = ROOT / "src" / "dpcov" / file
    return path.read_text(encoding="utf-8") if path.exists() else ""


@cache
def defined(file: str) -> set[tuple[str, ...]]:
    """Return the names of the tests of a file, in their classes; none where there is no such file."""
    found: set[tuple[str, ...]] = set()
    for node in ast.parse((ROOT / file).read_text(encoding="utf-8") if (ROOT / file).exists() else "").body:
        found.add((name := getattr(node, "name", ""),))
        found |= {(name, getattr(inner, "name", "")) for inner in (node.body if isinstance(node, ast.ClassDef) else ())}
    return found


class TestTogether:
    def test_every_file_is_found(self) -> None:
        assert {"tests.kernel.planted", "tests.kernel.laws.planted_rows", "tests.uses.planted"} <= {*modules()}

    def test_two_bugs_of_one_name_are_refused(self) -> None:
        one, other = mutant(("f.py", "a", "b"), by="t"), mutant(("g.py", "a", "b"), by="t")
        assert together([("a", {"one": one}), ("b", {"other": other})]) == {"one": one, "other": other}
        with pytest.raises(AssertionError, match=r"bugs of b have names that are taken: \['one'\]"):
            together([("a", {"one": one}), ("b", {"one": other})])


class TestEdits:
    """A bug stays planted when a formatter breaks its line otherwise."""

    def test_white_space_and_commas_of_formatters(self) -> None:
        text = "def f(a):\n    return g(\n        a + 1,\n        b,\n    )\n"
        assert edited(text, Edit("f.py", "return g(a + 1, b)", "return g(a, b)")) == "def f(a):\n    return g(a, b)\n"
        assert edited("x = g(a, b)\n", Edit("f.py", "g(\n    a,\n    b,\n)", "a")) == "x = a\n"
        assert edited("    if  a is not b :\n", Edit("f.py", "if a is not b:", "if True:")) == "    if True:\n"

    @pytest.mark.parametrize("old", ["a + b", "isnot", "a", "s  not b"])
    def test_a_line_that_is_not_there_once_is_no_place(self, old: str) -> None:
        with pytest.raises(AssertionError, match="not once"):
            edited("a is not b\na - b\n", Edit("f.py", old, "c"))


class TestSelection:
    def test_by_where_it_is_written_what_is_edited_and_what_catches_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        mutant = Mutant((Edit("a/b.py", "x", "y"),), ("tests/c.py::Test::test_d[e]", "tests/f.py::test_g"))
        monkeypatch.setitem(MUTANTS, "a bug", mutant)
        monkeypatch.setitem(WRITTEN_IN, "a bug", "tests/planted.py")
        assert selection.concerns("a bug") == {"src/dpcov/a/b.py", "tests/c.py", "tests/f.py", "tests/planted.py"}

    def test_each_bug_is_written_down_in_a_file_that_is_there(self) -> None:
        assert WRITTEN_IN.keys() == MUTANTS.keys()
        assert all((selection.ROOT / file).is_file() for file in set(WRITTEN_IN.values()))

    def test_changed_files_only(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(selection, "merge_base", lambda: "0" * 40)
        monkeypatch.setattr(selection, "changed", lambda _: {"src/dpcov/kernel/calibrate.py", "README.md"})
        names, why = selection.chosen("changed")
        assert "scale halved" in names
        assert {edit.file for name in names for edit in MUTANTS[name].edits} >= {"kernel/calibrate.py"}
        assert all("src/dpcov/kernel/calibrate.py" in selection.concerns(name) for name in names)
        assert why.startswith(f"{len(names)} of {len(MUTANTS)} planted bugs")

    @pytest.mark.parametrize("file", ["tests/mutation/planting.py", "conftest.py", "tests/helpers/small.py"])
    def test_a_sample_where_what_all_share_changed(self, file: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(selection, "merge_base", lambda: "0" * 40)
        monkeypatch.setattr(selection, "changed", lambda _: {file, "docs/conftest.py"})
        assert selection.chosen("changed")[0] == list(MUTANTS)[:: selection.EVERY]
        monkeypatch.setattr(selection, "changed", lambda _: {"docs/conftest.py"})
        assert selection.chosen("changed")[0] == []

    def test_a_sample_where_nobody_knows_what_changed(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setattr(selection, "ROOT", tmp_path)
        names, why = selection.chosen("changed")
        assert names == list(MUTANTS)[:: selection.EVERY]
        assert "without git" in why

    def test_all_and_none(self) -> None:
        assert selection.chosen("all")[0] == list(MUTANTS)
        assert selection.chosen("none")[0] == []

    def test_a_branch_is_compared_with_where_it_left(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """Changes that are committed, that are not, and new files; not what the main branch did since."""

        def git(*words: str) -> None:
            name = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
            subprocess.run(["git", *name, *words], cwd=tmp_path, check=True, capture_output=True)

        def write(*names: str) -> None:
            for name in names:
                (tmp_path / name).write_text(str(len(list(tmp_path.iterdir()))), encoding="utf-8")

        git("init", "--initial-branch", "main")
        write("one", "two", "three")
        git("add", ".")
        git("commit", "--message", "first")
        git("checkout", "-b", "branch")
        write("one")
        git("commit", "--all", "--message", "second")
        git("checkout", "main")
        write("three")
        git("commit", "--all", "--message", "third")
        git("checkout", "branch")
        write("two", "new")
        monkeypatch.setattr(selection, "ROOT", tmp_path)
        since = selection.merge_base()
        assert since is not None
        assert selection.changed(since) == {"one", "two", "new"}


SOUND = "tests/kernel/laws/test_grid.py::test_shrink_zeroes_a_row_that_still_breaks_the_bound"


def test_the_copy_is_what_runs(tmp_path: Path) -> None:
    """The control: without it a harness that tested the original would call every bug uncaught, or none."""
    copy(tmp_path)
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    code = "import dpcov; print(dpcov.__file__)"
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.startswith(str(tmp_path))
    assert against(tmp_path, SOUND).code == pytest.ExitCode.OK


def test_a_bug_is_in_the_copy_alone(tmp_path: Path) -> None:
    """Copies link to the package: what is written goes to none of its files, and all other files are the same ones."""
    plant("charge before the read", tmp_path)
    (edit,) = MUTANTS["charge before the read"].edits
    for path in (ROOT / "src" / "dpcov").rglob("*.py"):
        file = path.relative_to(ROOT / "src" / "dpcov").as_posix()
        theirs = (tmp_path / "dpcov" / file).read_text(encoding="utf-8")
        assert theirs == (edited(source(file), edit) if file == edit.file else source(file)), file
    write(tmp_path, edit.file, "a second time")  # a second edit of the same file
    assert (tmp_path / "dpcov" / edit.file).read_text(encoding="utf-8") == "a second time"
    assert source.__wrapped__(edit.file) == source(edit.file)


def test_a_copy_that_cannot_be_imported_is_no_catch(tmp_path: Path) -> None:
    copy(tmp_path)
    write(tmp_path, "__init__.py", "raise RuntimeError('planted')")
    run = against(tmp_path, SOUND)
    assert run.code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
    assert f"FAILED {SOUND}" not in run.said


def test_the_original_is_no_copy(tmp_path: Path) -> None:
    """A folder without the package: the installed one would be imported, and its run has no verdict."""
    run = against(tmp_path, SOUND)
    assert run.code is None
    assert "was tested instead of the copy" in run.said
