r"""A subspace drawn with density ∝ exp(c·tr VᵀSV): the exponential mechanism for the variance that it captures.

One row moves tr VᵀSV by at most 1, whatever k is; so c = ε/2 (add-remove: ε). The draw is by a Markov chain, which has this law
in the limit only: **for k > 1 a release has no ε**, and says so. For k = 1 there is an exact sampler, and it is used.

Paper    Chaudhuri, Sarwate, Sinha (2013), Algorithm 2.
Proof    docs/mechanisms/ppca.md
Differs  columns are redrawn exactly, where Hoff's sampler (2009) redraws their entries one by one; a fortieth of the budget
         tells how much lies along the components; also for add-remove neighbours and zCDP.
"""

from __future__ import annotations

from fractions import Fraction

from dpcov.errors import ParameterError, shown
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.face import Face
from dpcov.kernel.noise.drawn import MOST_SWEEPS
from dpcov.kernel.questions.basis import DirectionsOf
from dpcov.kernel.questions.directions import Subspace
from dpcov.mechanisms.base import Mechanism
from dpcov.mechanisms.pca.eigenvectors import draw_one_by_one
from dpcov.mechanisms.shared.components import EXPLAINED, checked_k, explain, from_drawn, prepare_draw

SWEEPS = 20_000  # the paper's


def ask(curator: Face, budget: Budget, *, k: int, sweeps: int = SWEEPS, approximate: bool = False) -> None:
    """Release k components by the exponential mechanism; approximate for k > 1, where a Markov chain draws them.

    Parameters
    ----------
    k : int
        How many components.
    sweeps : int
        How often the chain redraws every component before it stops.
    approximate : bool
        True accepts that the promise holds in the limit of many sweeps only; needed for k > 1.

    Privacy
    -------
    k = 1: ``budget``. k > 1: ``budget`` **at stationarity only**; no finite chain is proved to have any ε.

    Utility
    -------
    Theorem 7 of the paper, for k = 1: `dpcov.bounds`.
    """
    count = checked_k(k, curator.d)
    if not isinstance(approximate, bool):
        raise ParameterError(f"approximate must be True or False, got {shown(approximate)}. Hint: True for k > 1.")
    if isinstance(sweeps, bool) or not isinstance(sweeps, int) or not 1 <= sweeps <= MOST_SWEEPS:
        raise ParameterError(f"sweeps must be an integer from 1 to 10**7, got {shown(sweeps)}. Hint: 20000 is the paper's.")
    if count > 1 and not approximate:
        raise ParameterError(
            f"approximate must be True for mechanism 'ppca' with k > 1, got False. Hint: its promise holds in the limit of a "
            f"Markov chain only; mechanism='auto' has a proof for k = {count}."
        )
    left = prepare_draw(curator, budget)
    for_directions = left.share(1 - EXPLAINED)
    if count == 1:
        drawn = draw_one_by_one(curator, for_directions, [Fraction(1)])
    else:
        drawn = curator.subspace(Subspace(curator.second_moment(), count), for_directions, sweeps=sweeps)
    explain(curator, DirectionsOf(drawn), left.share(EXPLAINED))


PPCA = Mechanism(
    target="pca",
    name="ppca",
    serves=(PureDP, ZCDP, ApproxDP),
    ask=ask,
    estimate=from_drawn,
    postprocess=("clip", "none"),
    draws_long=True,
)
