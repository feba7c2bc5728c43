"""What holds for all tests: none may leave a file in the repository."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CACHES = {".git", ".venv", ".hypothesis", ".pytest_cache", ".mypy_cache", ".ruff_cache", "__pycache__", "results"}


def files(root: Path) -> set[str]:
    """Return every file below a folder, caches left out."""
    found = set()
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in CACHES]
        found |= {str((Path(folder) / name).relative_to(root)) for name in names if name != ".coverage"}
    return found


@pytest.fixture(scope="session", autouse=True)
def _the_repository_is_left_as_it_was() -> Iterator[None]:
    before = files(ROOT)
    yield
    left = sorted(files(ROOT) - before)
    assert not left, f"a test left these behind; tests write into tmp_path: {left}"
