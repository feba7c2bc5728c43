r"""Second moment of rows clipped where noise and clipping balance; with the better of two noises for what was found.

A private radius r̃ holds nearly all rows. A private trace says how much the noise of `separate` would matter. Then the radii
r̃, r̃/2, … are searched for the first where clipping would cost more than noise, and the better of `gaussian` (`wishart` under
pure DP) and `separate` is run on the rows clipped just above it.

Paper    Dong, Liang, Yi (NeurIPS 2022), Algorithm 2, AdaptiveCov; PrivRadius of Dong and Yi (2021).
Proof    docs/mechanisms/adaptive.md
Differs  all queries of a search move the same way between neighbours, so they need half of the paper's noise; noise is judged
         by its r.m.s. and not by tail bounds; more of the budget is left for the last step (``constants="paper"``: as printed;
         "program": as in the authors' program, which made their figures).

==============  ============================================================================
code            mathematics
==============  ============================================================================
``radius``      :math:`\tilde r`, the clipping radius of the first search
``trace``       :math:`\widehat{tr}`, a private upper bound of Σ‖x‖², in units of r̃²
``noises``      :math:`\widehat{Noise}(\tau)` for τ = r̃, r̃/2, …, in units of r̃²
``threshold``   :math:`\tilde\tau`, the radius before clipping costs more than noise
==============  ============================================================================
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from dpcov.errors import ParameterError, check_real
from dpcov.kernel.answer import Answer
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.calibrate import sparse_vector_epsilon
from dpcov.kernel.face import Face
from dpcov.kernel.public import Facts
from dpcov.kernel.questions.along import Diagonal
from dpcov.kernel.questions.calibrated import noise_for
from dpcov.kernel.questions.choices import BIAS_BITS, Bias, Radius
from dpcov.kernel.questions.spectral import Spectrum
from dpcov.kernel.rows.grid import SMALLEST_ROW_NORM
from dpcov.mechanisms.base import Least, Mechanism
from dpcov.mechanisms.covariance import gaussian, separate
from dpcov.mechanisms.covariance.adaptive_noise import Noises, noises_of
from dpcov.mechanisms.covariance.separate import ask_separate, least_separate, matrix_noise
from dpcov.mechanisms.shared.additive import (
    WITH_PROGRAM,
    ask_moment,
    least_additive,
    papers_triangle,
    plan_additive,
    wants_paper,
)
from dpcov.mechanisms.shared.clipping import check_rereadable, chosen_radius
from dpcov.mechanisms.shared.moment import from_noisy_moment
from dpcov.mechanisms.shared.shares import by_way_of_rho
from dpcov.release.estimate import Estimate
from dpcov.release.record import Option, Transcript

SHARES = {
    "paper": (Fraction(1, 8), Fraction(1, 8), Fraction(1, 4)),
    "program": (Fraction(0), Fraction(1, 8), Fraction(1, 8)),
    "tight": (Fraction(1, 20), Fraction(1, 20), Fraction(3, 20)),
}
"""Of the budget, for the radius, the trace and the search."""

BETA, PROGRAM_BETA = 0.05, 0.1
NOISE_BETA = {"paper": 0.5, "program": 0.75, "tight": 0.5}
"""Of beta, for the bounds of the two noises."""


def ask(curator: Face, budget: Budget, *, beta: float = BETA, constants: str = "tight") -> None:
    """Release the second moment of rows clipped where noise and clipping balance.

    Parameters
    ----------
    beta : float
        With this probability a bound that steers the searches fails; it concerns utility only. "program" has 0.1.
    constants : {"tight", "paper", "program"}
        "paper" is the printed algorithm, with its split, searches and noise. "program" is what its authors ran: no search for
        a radius, which row_norm must be near to, ¾ of the budget for the matrix, and `separate` six times as readily.

    Privacy
    -------
    ``budget`` (ZCDP, PureDP, or ApproxDP by way of ρ): two searches among radii, a trace, and what `gaussian`, `wishart`
    or `separate` asks.

    Utility
    -------
    Theorem 3 (`dpcov.bounds.adaptive_clipping_error`) is about "paper" under zCDP and replace. Else the noise of `separate` is
    judged more kindly ("program") or by its r.m.s. ("tight"; "paper" under pure DP), for which no bound is proved.
    """
    paper = wants_paper(constants, WITH_PROGRAM)
    beta = _checked_beta(beta, constants)
    check_rereadable(curator)
    whole = by_way_of_rho(budget)
    spare = _spare_rows(whole, beta, constants)
    searched = _is_searched(curator, spare, curator.most_rows if curator.hides_n else curator.n, constants)
    last = _last(whole, searched, constants)
    shares = SHARES[constants]
    for_trace, for_search = whole.share(shares[1]), whole.share(shares[2])
    noise = matrix_noise(curator, last, paper)[0]
    asked = plan_additive(noise, last, curator.second_moment(), curator.neighbors)
    norms = curator.norms(1, _octaves(curator))
    curator.prefetch(norms)

    radius, first = 1.0, 0
    if searched:
        search = Radius(norms, spare)
        found = curator.first_above(search, whole.share(shares[0]), query_noise=2 if paper else 1)
        radius, first = chosen_radius(found), search.place(int(found.integers[0]))
    answer = curator.noisy(curator.trace(radius), for_trace, noise=noise_for(whole))
    trace = _upper_bound(answer, for_trace, beta / 8)
    if not curator.hides_n:
        trace = min(trace, float(curator.n))
    noises = noises_of(curator, last, beta * NOISE_BETA[constants], constants)
    balance = Bias(norms, first, _in_steps(noises, trace, norms.last - first + 1))
    found = curator.first_above(balance, for_search, query_noise=2 if paper else 1)
    threshold = chosen_radius(found)
    tau = threshold / radius
    if constants == "program" and int(found.integers[0]) > 0:
        tau /= 2  # the radius at which the search stopped
    if noises.separate(trace, tau) >= noises.additive(tau):
        ask_moment(curator, asked, threshold, papers_triangle(curator, asked) if paper else None)
    else:
        ask_separate(curator, last, threshold, paper)


def least(public: Facts, budget: Budget, *, beta: float, constants: str) -> Iterator[Least]:
    """Yield both of what may be asked last, whichever the searches lead to."""
    paper, whole = wants_paper(constants, WITH_PROGRAM), by_way_of_rho(budget)
    spare = _spare_rows(whole, _checked_beta(beta, constants), constants)
    last = _last(whole, _is_searched(public, spare, public.most_rows, constants), constants)
    asked = plan_additive(matrix_noise(public, last, paper)[0], last, public.second_moment(), public.neighbors)
    yield from least_additive(public, asked, papers_triangle(public, asked) if paper else None)
    yield from least_separate(public, last, paper)


def estimate(transcript: Transcript, postprocess: str, **_options: Option) -> Estimate:
    """Estimate as the mechanism does whose questions were asked last."""
    run = separate.estimate if _is_separate(transcript) else from_noisy_moment
    return run(transcript, postprocess)


def usual_finish(transcript: Transcript) -> str:
    """Return how that mechanism finishes its estimates."""
    return separate.usual_finish(transcript) if _is_separate(transcript) else gaussian.usual_finish(transcript)


def _is_separate(transcript: Transcript) -> bool:
    return transcript.find(Diagonal, Spectrum) is not None


def _checked_beta(beta: object, constants: str) -> float:
    """Return the probability that a bound fails with: the program's own, where it is its form that is wanted."""
    given = check_real("beta", beta, "between 1e-300 and 1, the latter excluded", 1e-300, 1 - 2.0**-53, "0.05 is the default")
    if constants != "program":
        return given
    if given not in (BETA, PROGRAM_BETA):
        raise ParameterError(f"beta must be {PROGRAM_BETA} for the program's constants, got {given}. Hint: leave it out.")
    return PROGRAM_BETA


def _last(whole: PureDP | ZCDP, searched: bool, constants: str) -> PureDP | ZCDP:
    """Return what is left for the last step."""
    shares = SHARES[constants]
    return whole.share(1 - sum(shares if searched else shares[1:]))


def _is_searched(public: Facts, spare: int, n: int, constants: str) -> bool:
    """Whether a radius is searched for: with fewer rows than that can spare, the smallest radius would do."""
    if constants == "tight":
        return public.hides_n or spare < n / 2
    return constants == "paper"


def _octaves(curator: Face) -> int:
    """Return how many times the radius may be halved: the paper's 2dn, but no further than rows have squares."""
    representable = math.floor(math.log2(curator.grid.row_norm) - math.log2(SMALLEST_ROW_NORM))
    rows = curator.most_rows if curator.hides_n else curator.n
    return max(1, min(2 * curator.d * rows, representable))


def _spare_rows(whole: PureDP | ZCDP, beta: float, constants: str) -> int:
    """Return how many rows outside still count as none: the search then stops at twice the largest norm or before.

    At such a radius no row is outside, so the search goes on only where the difference of two Laplace numbers of scale 2/ε is
    below −spare: with probability at most an eighth of beta, p, for (4/ε)·log(1/p). The paper has (6/ε)·log(2/p).
    """
    share, log = SHARES[constants][0], -math.log(beta / 8)
    if share == 0:
        return 0
    epsilon = sparse_vector_epsilon(whole.share(share))
    return math.ceil((6 * (log + math.log(2)) if constants == "paper" else 4 * log) / float(epsilon))


def _upper_bound(trace: Answer, budget: Budget, beta: float) -> float:
    """Return the noisy trace and what its noise falls below with probability beta, at least 0."""
    if isinstance(budget, PureDP):
        slack = -math.log(2 * beta) / float(budget.epsilon)
    else:
        slack = trace.deviation * math.sqrt(-2 * math.log(beta))
    return max(float(trace.values[0]) + slack, 0.0)


def _in_steps(noises: Noises, trace: float, count: int) -> tuple[int, ...]:
    """Return the smaller noise at r̃, r̃/2, … in steps of the search."""
    radii = np.exp2(-np.arange(count, dtype=np.float64))
    smaller = [min(noises.additive(tau), noises.separate(trace, tau)) for tau in radii]
    return tuple(min(math.ceil(value * 2**BIAS_BITS), 2**60) for value in smaller)


ADAPTIVE = Mechanism(
    target="covariance",
    name="adaptive",
    serves=(PureDP, ZCDP, ApproxDP),
    ask=ask,
    estimate=estimate,
    postprocess=("shrink", "project", "clip", "none"),
    finish=usual_finish,
    centring="homogeneous",
    least=least,
)
