"""Which cells hold nothing: the same for cells one by one and for cells that are looked up in a dictionary."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dpcov.sources.cells import missing

TEXT: list[Any] = ["x", None, "", "  ", "\t", "x", "0"]
NUMBERS: list[Any] = [1.0, None, math.nan, math.inf, 0.0, 1.0, -1.0]


@pytest.mark.parametrize(("cells", "empty"), [(TEXT, [0, 1, 1, 1, 1, 0, 0]), (NUMBERS, [0, 1, 1, 0, 0, 0, 0])])
@pytest.mark.parametrize("form", ["plain", "encoded", "null entries", "unused entries"])
def test_missing(cells: list[Any], empty: list[int], form: str) -> None:
    array = pa.array(cells)
    if form == "encoded":  # nulls are indices that are null
        array = array.dictionary_encode()
        assert array.indices.null_count == 1
    elif form == "null entries":  # nulls are entries of the dictionary
        array = pa.DictionaryArray.from_arrays(pa.array(range(len(cells)), pa.int32()), array)
        assert array.indices.null_count == 0
    elif form == "unused entries":
        array = pa.DictionaryArray.from_arrays(
            pa.array([place + 1 for place in range(len(cells))], pa.int8()), pa.array([None, *cells], array.type)
        )
    np.testing.assert_array_equal(missing(array), np.array(empty, dtype=np.bool_), strict=True)
