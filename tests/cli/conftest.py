"""A folder to work in."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.known_rows import write_table
from tests.cli.linear_rows import write_releases


@pytest.fixture
def known_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder with a table whose components are known."""
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path)


@pytest.fixture
def releases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder with releases of every kind, and with new people."""
    monkeypatch.chdir(tmp_path)
    write_releases(tmp_path)
