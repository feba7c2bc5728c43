"""Replays draw the same noise each time a test runs, and another in each of its replays."""

from __future__ import annotations

from itertools import count

import pytest

from dpcov.kernel.bits import SeededBits
from dpcov.verify import replay


@pytest.fixture(autouse=True)
def _seeded_replays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also faster: without a seed a choice makes all proposals that could ever be needed, so that its time tells nothing."""
    seeds = count(2601)
    monkeypatch.setattr(replay, "SystemBits", lambda: SeededBits(next(seeds)))
