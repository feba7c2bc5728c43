"""A folder to work in."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.known_rows import write_table


@pytest.fixture
def known_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder with a table whose components are known."""
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path)
