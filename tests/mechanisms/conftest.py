"""A draw that never ends fails its test."""

from __future__ import annotations

from typing import Any

import pytest

from dpcov.kernel.noise.subspace import _Column


@pytest.fixture(autouse=True)
def _endless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three batches of four have a proposal that is accepted."""
    original, failed = _Column._propose, [0]

    def propose(self: _Column, *parts: Any) -> Any:
        vectors, taken = original(self, *parts)
        failed[0] = 0 if taken.any() else failed[0] + 1
        assert failed[0] < 300, "a draw does not end"
        return vectors, taken

    monkeypatch.setattr(_Column, "_propose", propose)
