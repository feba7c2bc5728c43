"""One browser for all tests of a process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.report.browser import HAS_BROWSER, WHY_NOT, Browser, started


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Start it when the first test asks."""
    if not HAS_BROWSER:
        pytest.skip(WHY_NOT)
    with started() as found:
        yield found
