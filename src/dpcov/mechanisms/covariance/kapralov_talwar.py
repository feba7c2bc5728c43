r"""Second moment by private rank-one matrices, each subtracted before the next is drawn: the baseline KT.

Like `eigenvectors`, but what was found is subtracted rather than projected out: directions need not be orthogonal, errors of
one round stay for the next, and each value is a question of its own.

Paper    Kapralov, Talwar (SODA 2013), as the baseline of Amin et al. (2019): same sampler, budget split evenly.
Proof    docs/mechanisms/kapralov-talwar.md
Differs  exponent ε/2 (add-remove: ε) against ε/4 (``constants="paper"``).
"""

from __future__ import annotations

from fractions import Fraction

from dpcov.kernel.budget import ApproxDP, Budget, PureDP
from dpcov.kernel.face import Face
from dpcov.kernel.questions.calibrated import noise_for
from dpcov.kernel.questions.directions import Directions
from dpcov.kernel.questions.spectral import Quotients
from dpcov.mechanisms.base import Mechanism
from dpcov.mechanisms.shared.additive import wants_paper
from dpcov.mechanisms.shared.directions import checked_rank, from_directions, pure_or_zcdp, reserve_count

VALUES_SHARE = Fraction(1, 2)


def ask(curator: Face, budget: Budget, *, rank: int = 0, constants: str = "tight") -> None:
    """Release the second moment as a sum of private rank-one matrices.

    Parameters
    ----------
    rank : int
        How many rounds; 0 means as many as columns.
    constants : {"tight", "paper"}
        "paper" draws with the exponent ε/4.

    Privacy
    -------
    ``budget`` (PureDP, or ApproxDP with δ unused): half for the directions, half for their values, evenly over the rounds, and
    under add-remove one count. The directions are drawn in float64: docs/guarantee.md.
    """
    paper = wants_paper(constants)
    rounds = checked_rank(rank, curator.d)
    moment = curator.second_moment()
    values = Quotients(moment, rounds)
    whole = reserve_count(curator, pure_or_zcdp(budget))
    value_budget, direction_budget = whole.share(VALUES_SHARE), whole.share(1 - VALUES_SHARE)
    assert isinstance(direction_budget, PureDP)
    peel = curator.peel(Directions(moment, rounds, values), direction_budget, value_budget, noise=noise_for(whole))
    part = Fraction(1, rounds)
    for _ in range(rounds):
        peel.direction(part, at_most=direction_budget.epsilon * part / 4 if paper else None)
        peel.value()
    peel.close()


KAPRALOV_TALWAR = Mechanism(
    target="covariance",
    name="kapralov-talwar",
    serves=(PureDP, ApproxDP),
    ask=ask,
    estimate=from_directions,
    postprocess=("clip", "none"),
    centring="homogeneous",
)
