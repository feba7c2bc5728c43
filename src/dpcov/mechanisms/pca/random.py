"""A uniform subspace: what a mechanism must beat to be of any use.

Paper    the sanity baseline of Chaudhuri, Sarwate, Sinha (2013).
Proof    docs/mechanisms/random.md
"""

from __future__ import annotations

from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.face import Face
from dpcov.kernel.questions.basis import DirectionsOf
from dpcov.kernel.questions.directions import Subspace
from dpcov.mechanisms.base import Mechanism
from dpcov.mechanisms.shared.components import EXPLAINED, checked_k, explain, from_drawn, prepare_draw


def ask(curator: Face, budget: Budget, *, k: int) -> None:
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
    left = prepare_draw(curator, budget)
    drawn = curator.subspace(Subspace(curator.second_moment(), count), left.share(EXPLAINED), sweeps=0)
    explain(curator, DirectionsOf(drawn), left.share(1 - EXPLAINED))


RANDOM = Mechanism(
    target="pca",
    name="random",
    serves=(PureDP, ZCDP, ApproxDP),
    ask=ask,
    estimate=from_drawn,
    postprocess=("clip", "none"),
)
