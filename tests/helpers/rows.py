"""Rows that try to break things: every float64, with the dangerous ones drawn often."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SPECIAL = (np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -2e-310, -0.0, 0.0, 1.0, -1.0, 0.5**0.5, 1e-300)

values = st.one_of(st.floats(), st.sampled_from(SPECIAL), st.floats(-2, 2))


def tables(d: int, least: int = 0, most: int = 6) -> st.SearchStrategy[Floats]:
    """Tables with ``d`` columns and ``least`` to ``most`` rows."""
    return arrays(np.float64, st.tuples(st.integers(least, most), st.just(d)), elements=values)


def fuzz(seed: int, n: int, d: int) -> Floats:
    """Half the rows of ordinary size, half with a magnitude of its own per entry, specials strewn in."""
    generator = np.random.default_rng(seed)
    rows = generator.standard_normal((n, d))
    with np.errstate(all="ignore"):
        rows[::2] *= 10.0 ** generator.uniform(-320, 308, (len(rows[::2]), d))
    strewn = generator.random((n, d)) < 0.05
    rows[strewn] = generator.choice(SPECIAL, strewn.sum())
    return rows


def squared_norms(z: Floats) -> list[int]:
    """Squared norms of integer rows, in Python's integers."""
    return [sum(int(entry) ** 2 for entry in row) for row in z.tolist()]
