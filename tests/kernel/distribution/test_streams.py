"""Samplers draw what they drew before, from as many words in as many calls: `streams` says why, and how to record anew."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tests.kernel.distribution.streams import CASES, FILE, told

RECORDED: dict[str, dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))


def test_every_case_is_recorded() -> None:
    assert RECORDED.keys() == CASES.keys()


@pytest.mark.parametrize("name", CASES)
def test_a_draw_is_the_recorded_one(name: str) -> None:
    """Integers to the last one, floats to six digits; words, calls and the most words at once exactly."""
    found, recorded = told(name), RECORDED[name]
    np.testing.assert_allclose(found.pop("drawn"), recorded["drawn"], rtol=1e-6 * ("crc32" not in found), atol=0)
    assert found == {what: value for what, value in recorded.items() if what != "drawn"}
