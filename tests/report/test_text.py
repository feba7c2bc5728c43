"""How lists of features are cut: what can be seen is listed, noise is counted."""

from __future__ import annotations

import numpy as np
import pytest

from dpcov.report.text import MOST_NOISY, features_table
from dpcov.uses.description import Reading

NAMES = [f"x{j}" for j in range(50)]


def reading(*clear: int) -> Reading:
    return Reading(np.ones(50), np.full(50, 0.1), np.isin(np.arange(50), clear))


@pytest.mark.parametrize(
    ("mean", "deviation", "listed", "said"),
    [
        ([], [], NAMES[:MOST_NOISY], "... and 45 more features, none of them clear of noise"),
        ([40, 49], [49], ["x40", "x49"], "... and 48 more features, none of them clear of noise"),
        ([40, 41, 49], [49, 30], ["x30", "x40", "x49"], "... and 47 more features, 1 of them clear of noise"),
        (range(50), [48], ["x0", "x1", "x48"], "... and 47 more features, 47 of them clear of noise"),
    ],
)
def test_of_many_features_the_clear_ones_are_listed(
    mean: list[int], deviation: list[int], listed: list[str], said: str
) -> None:
    """Those with the most clear numbers, in the order of the release."""
    table = features_table(NAMES, {"mean": reading(*mean), "deviation": reading(*deviation)}, "title", 3)
    assert list(table.columns[0].cells) == listed
    assert [str(cell) for cell in table.columns[1].cells] == ["1.00" if int(name[1:]) in mean else "≈ noise" for name in listed]
    assert str(table.caption) == said


def test_all_are_listed_where_they_fit() -> None:
    for limit in (None, 50):
        table = features_table(NAMES, {"mean": reading(), "truth": np.arange(50.0)}, "title", limit)
        assert list(table.columns[0].cells) == NAMES
        assert table.caption is None
    few = features_table(NAMES, {"truth": np.arange(50.0)}, "title", 3)
    assert list(few.columns[1].cells) == ["0.000", "1.000", "2.000"]
    assert few.caption == "... and 47 more features"
