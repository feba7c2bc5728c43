"""A uniform subspace: what a mechanism must beat to be of any use."""

from __future__ import annotations

from dpcov.kernel.budget import Budget
from dpcov.kernel.curator import Curator
from dpcov.mechanisms.shared.components import EXPLAINED, checked_k, prepared, release_drawn
from dpcov.release.record import Release


def random(curator: Curator, budget: Budget, *, k: int) -> Release:
    """Release k components that have nothing to do with the rows, and how much lies along them.

    Parameters
    ----------
    k : int
        How many components.

    Privacy
    -------
    ``budget`` (PureDP, ApproxDP with δ unused, or ZCDP): the variance along the components and beside them, and under
    add-remove one count. The components themselves say nothing; a small share is set aside for them all the same.
    """
    count = checked_k(k, curator.d)
    left = prepared(curator, "random", budget, count)
    drawn = curator.subspace(count, left.share(EXPLAINED), sweeps=0)
    return release_drawn(curator, "random", drawn, left.share(1 - EXPLAINED), count, sweeps=0)
