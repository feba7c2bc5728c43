"""Disks and folders that fail: a clear error, no partial file, and what was there before stays whole."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

import dpcov
from dpcov import load
from dpcov.errors import EngineError, ParameterError

MESSAGE = r"path must be .+, got .+\. Hint: .+\."


def example(value: float = 0.5) -> dpcov.Release:
    return dpcov.covariance(np.array([[value]]), dpcov.ZCDP(1), row_norm=1, mechanism="gaussian", seed=5)


def disk_full(_: int) -> NoReturn:
    raise OSError(errno.ENOSPC, "No space left on device")


def interrupt(_: int) -> NoReturn:
    raise KeyboardInterrupt


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


class TestLoad:
    def test_a_missing_file(self, tmp_path: Path) -> None:
        with pytest.raises(EngineError, match=MESSAGE):
            dpcov.load(tmp_path / "missing.json")

    def test_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(EngineError, match=MESSAGE):
            dpcov.load(tmp_path)

    def test_a_path_through_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(EngineError, match=MESSAGE):
            dpcov.load(tmp_path / "file" / "release.json")


class TestSave:
    def test_a_missing_folder(self, tmp_path: Path) -> None:
        with pytest.raises(EngineError, match=MESSAGE):
            example().save(tmp_path / "missing" / "release.json")
        assert names(tmp_path) == []

    def test_a_file_in_place_of_the_folder(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("mine")
        with pytest.raises(EngineError, match=MESSAGE):
            example().save(tmp_path / "file" / "release.json")
        assert names(tmp_path) == ["file"]
        assert (tmp_path / "file").read_text() == "mine"

    def test_a_folder_in_place_of_the_file(self, tmp_path: Path) -> None:
        (tmp_path / "release.json").mkdir()
        with pytest.raises(EngineError, match=MESSAGE):
            example().save(tmp_path / "release.json")
        assert names(tmp_path) == ["release.json"]

    @pytest.mark.parametrize("path", ["", ".", "/", "a\0b", "\ud800", None, 3, b"release.json"])
    def test_a_path_without_a_name(self, path: Any) -> None:
        with pytest.raises(ParameterError, match=MESSAGE):
            example().save(path)
        with pytest.raises(ParameterError, match=MESSAGE):
            load(path)

    def test_a_folder_that_may_not_be_written(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        # Simulated, because a test that runs as root may write everywhere.
        def denied(*_: object, **__: object) -> NoReturn:
            raise PermissionError(errno.EACCES, "Permission denied")

        with monkeypatch.context() as patched:
            patched.setattr(tempfile, "mkstemp", denied)
            with pytest.raises(EngineError, match=MESSAGE):
                example().save(tmp_path / "release.json")
        assert names(tmp_path) == []

    @pytest.mark.parametrize(("failure", "error"), [(disk_full, EngineError), (interrupt, KeyboardInterrupt)])
    def test_a_write_that_fails_leaves_the_old_file(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        failure: Callable[[int], NoReturn],
        error: type[BaseException],
    ) -> None:
        path = tmp_path / "release.json"
        example().save(path)
        before = path.read_bytes()
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", failure)
            with pytest.raises(error):
                example(0.1).save(path)
        assert path.read_bytes() == before
        assert names(tmp_path) == ["release.json"]

    def test_the_old_file_is_whole_until_the_new_one_is(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = tmp_path / "release.json"
        example().save(path)
        before, seen = path.read_bytes(), []
        monkeypatch.setattr(os, "fsync", lambda _: seen.append(path.read_bytes()))
        example(0.1).save(path)
        assert seen == [before]
        assert path.read_bytes() != before
        assert names(tmp_path) == ["release.json"]

    def test_a_second_save_during_the_first_does_not_spoil_it(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        # As two threads would: the second save runs while the first has written and not yet renamed.
        path = tmp_path / "release.json"

        def meanwhile(_: int) -> None:
            monkeypatch.undo()
            with contextlib.suppress(EngineError):  # it may be turned away, not take the first one's file away
                example(0.1).save(path)

        monkeypatch.setattr(os, "fsync", meanwhile)
        example().save(path)
        assert dpcov.load(path).answers[0].integers.tolist() == example().answers[0].integers.tolist()
        assert names(tmp_path) == ["release.json"]
