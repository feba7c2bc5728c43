r"""Components drawn one after the other, each orthogonal to those before, with exact samplers.

Proof    docs/mechanisms/eigenvectors.md
"""

from __future__ import annotations

from fractions import Fraction

from dpcov.kernel.answer import Answer
from dpcov.kernel.budget import ZCDP, Budget, PureDP
from dpcov.kernel.curator import Curator
from dpcov.kernel.questions.calibrated import noise_for
from dpcov.kernel.questions.spectral import Values
from dpcov.mechanisms.shared.components import EXPLAINED, checked_k, prepared, release_drawn
from dpcov.mechanisms.shared.shares import STEPS
from dpcov.release.record import Release


def eigenvectors(curator: Curator, budget: Budget, *, k: int) -> Release:
    """Release k components, drawn one by one.

    Parameters
    ----------
    k : int
        How many components.

    Privacy
    -------
    ``budget`` (PureDP, ApproxDP with δ unused, or ZCDP): k directions, the variance along them and beside them, and under
    add-remove one count. Directions are drawn in float64: docs/guarantee.md.
    """
    count = checked_k(k, curator.d)
    left = prepared(curator, "eigenvectors", budget, count)
    even = Fraction(STEPS // count, STEPS)
    drawn = one_by_one(curator, left.share(1 - EXPLAINED), [even] * (count - 1) + [1 - even * (count - 1)])
    return release_drawn(curator, "eigenvectors", drawn, left.share(EXPLAINED), count)


def one_by_one(curator: Curator, budget: PureDP | ZCDP, shares: list[Fraction]) -> Answer:
    """Draw one direction for each share of the budget."""
    peel = curator.peel(Values(curator.second_moment(), len(shares)), None, budget, noise=noise_for(budget))
    for share in shares:
        peel.direction(share)
        peel.skip()
    return peel.close()
