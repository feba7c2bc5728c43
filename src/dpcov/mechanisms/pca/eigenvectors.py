r"""Components drawn one after the other, each orthogonal to those before, with exact samplers.

Paper    Amin, Dick, Kulesza, Muñoz Medina, Vassilvitskii (2018, 2019), the draws of Algorithm 1.
Proof    docs/mechanisms/eigenvectors.md
"""

from __future__ import annotations

from fractions import Fraction

from dpcov.kernel.answer import Answer
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.face import Face
from dpcov.kernel.questions.basis import DirectionsOf
from dpcov.kernel.questions.calibrated import noise_for
from dpcov.kernel.questions.directions import Directions
from dpcov.mechanisms.base import Mechanism
from dpcov.mechanisms.shared.components import EXPLAINED, checked_k, explain, from_drawn, prepare_draw
from dpcov.mechanisms.shared.shares import STEPS


def ask(curator: Face, budget: Budget, *, k: int) -> None:
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
    left = prepare_draw(curator, budget)
    even = Fraction(STEPS // count, STEPS)
    drawn = draw_one_by_one(curator, left.share(1 - EXPLAINED), [even] * (count - 1) + [1 - even * (count - 1)])
    explain(curator, DirectionsOf(drawn), left.share(EXPLAINED))


def draw_one_by_one(curator: Face, budget: PureDP | ZCDP, shares: list[Fraction]) -> Answer:
    """Draw one direction for each share of the budget."""
    peel = curator.peel(Directions(curator.second_moment(), len(shares)), budget, noise=noise_for(budget))
    for share in shares:
        peel.direction(share)
        peel.skip()
    return peel.close()


EIGENVECTORS_PCA = Mechanism(
    target="pca",
    name="eigenvectors",
    serves=(PureDP, ZCDP, ApproxDP),
    ask=ask,
    estimate=from_drawn,
    postprocess=("clip", "none"),
)
