"""Which form of a mechanism is run: the first of those wished for that the library has.

The papers' own forms are options of mechanisms. A form that this version does not have is replaced by the next one; the results
say in their column ``form`` which one was run.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import dpcov
from experiments.frame import Options

BUDGETS = {"pure": dpcov.PureDP(1), "zcdp": dpcov.ZCDP(1), "approx": dpcov.ApproxDP(1, "1e-6")}


def first_known(target: str, notion: str, *wishes: Options) -> Options:
    """Return the first of the options, a mechanism among them, that the library takes; at the latest the last."""
    for wish in wishes[:-1]:
        if _known(target, notion, tuple(wish.items())):
            return wish
    return wishes[-1]


@cache
def _known(target: str, notion: str, options: tuple[tuple[str, Any], ...]) -> bool:
    rows = np.random.default_rng(0).standard_normal((64, 3)) / 8
    wanted = dict(options)
    bound = {"radius": 1.0} if target == "mean" else {"row_norm": 1.0}
    if wanted.get("mechanism") == "coinpress" and target == "covariance":
        bound = {}
        wanted.setdefault("upper", 2.0)
    try:
        getattr(dpcov, target)(rows, BUDGETS[notion], **bound, seed=0, **wanted)
    except dpcov.ParameterError:
        return False
    return True
