"""What PrivateCovariance refuses, before anything is read and without quoting the data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from dpcov import Numeric, ParameterError, PrivateCovariance, Schema
from tests.helpers.untouchable import Untouchable

SECRET = 424242.5  # stands for the data: no message may show it
SCHEMA = Schema({"age": Numeric(0, 100)})


def fit(X: Any, **changes: Any) -> PrivateCovariance:
    return PrivateCovariance(**({"rho": 1, "row_norm": 3, "random_state": 7} | changes)).fit(X)


REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("budget", {"rho": None}),
    ("budget", {"epsilon": 1}),
    ("budget", {"rho": 1, "delta": 1e-6}),
    ("budget", {"rho": None, "delta": 1e-6}),
    ("budget", {"epsilon": 1, "delta": 1e-6}),
    ("epsilon", {"rho": None, "epsilon": -1}),
    ("delta", {"rho": None, "epsilon": 1, "delta": 2}),
    ("rho", {"rho": "much"}),
    ("row_norm or schema", {"schema": SCHEMA}),
    ("row_norm or schema", {"row_norm": None}),
    ("row_norm", {"row_norm": -1}),
    ("schema", {"row_norm": None, "schema": {"age": (0, 100)}}),
    ("mechanism", {"mechanism": "magic"}),
    ("neighbors", {"neighbors": "swap"}),
    ("center", {"center": 1}),
    ("options", {"options": {"rank": 1}}),
    ("options", {"options": {"seed": 1}}),
    ("options", {"options": {1: 1}}),
    ("options", {"options": ["rank"]}),
    *(
        ("random_state", {"random_state": bad})
        for bad in (-1, 1.5, True, "0", np.random.RandomState(0), np.random.default_rng(0))
    ),
]


@pytest.mark.parametrize(("name", "changes"), REFUSED)
def test_bad_parameters_are_refused_before_anything_is_read(name: str, changes: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=rf"^{name}.* must be .+, got .+\. Hint: .+"):
        fit(Untouchable(), **changes)


BAD_DATA = {
    "one dimension": np.full(3, SECRET),
    "three dimensions": np.full((2, 2, 2), SECRET),
    "list": [SECRET, SECRET],
    "ragged list": [[SECRET, 1.0], [SECRET]],
    "text": np.array([[str(SECRET)]]),
    "masked": np.ma.masked_array(np.full((2, 2), SECRET), mask=np.eye(2, dtype=bool)),
    "dictionary": {"a": [SECRET]},
    "complex": np.full((2, 2), SECRET + 1j),
    "sparse": csr_array(np.full((2, 2), SECRET)),
    "objects in a frame": pd.DataFrame({"a": pd.Series([SECRET, None], dtype=object)}),
}


@pytest.mark.parametrize("data", BAD_DATA.values(), ids=BAD_DATA)
def test_bad_data_are_refused_without_quoting_them(data: Any) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        fit(data)
    assert "424242" not in str(caught.value)
