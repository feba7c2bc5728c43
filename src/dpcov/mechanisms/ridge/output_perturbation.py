r"""One ridge regression with noise on its coefficients: a baseline, for a single target, features and penalty.

Paper    Chaudhuri, Monteleoni, Sarwate (JMLR 2011), Algorithm 1; a baseline in Amin et al. (NeurIPS 2019), Appendix C.
Proof    docs/mechanisms/output-perturbation.md
Differs  squared loss, whose gradient their bound does not cover; a smaller sensitivity; discrete Laplace noise on each
         coefficient under pure DP, where the paper's has density ∝ exp(−ε‖·‖/Δ); Gaussian noise under the other notions.
"""

from __future__ import annotations

from dpcov.errors import ParameterError, ReleaseError, check_real, shown
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.face import Face
from dpcov.kernel.questions.calibrated import is_analytic, noise_for
from dpcov.kernel.questions.moments import REPLACE, SecondMoment
from dpcov.kernel.questions.solution import Solution, unit_alpha
from dpcov.kernel.rows.encoding import Encoding
from dpcov.mechanisms.base import Mechanism
from dpcov.release.estimate import Coefficients, Estimate
from dpcov.release.record import Option, Transcript

LARGEST = 1e300  # of alpha; what counts is alpha/row_norm²


def ask(curator: Face, budget: Budget, *, target: int, alpha: float) -> None:
    """Release the coefficients of one ridge regression.

    Parameters
    ----------
    target : int
        The position of the column that is predicted, from all the others.
    alpha : float
        The penalty: (1/n)·Σ(y − w·x)² + alpha·‖w‖² is least, in the units of the rows (with a schema: encoded).

    Privacy
    -------
    ``budget`` (any notion), under replace: one vector of coefficients.

    Utility
    -------
    Noise of Euclidean norm about √(2)·(d−1)·Δ/ε, or √((d−1)/(2ρ))·Δ, Δ = √(1 + 1/(4a(1+a)))/(n·a), a = alpha/row_norm².
    """
    place, penalty = _checked(curator.encoding, target, alpha)
    if not curator.knows_n:
        curator.prefetch(curator.second_moment())
    asked = _regression(curator.encoding, curator.n, place, penalty)
    served = budget
    if isinstance(budget, ApproxDP) and not is_analytic(asked, budget, curator.neighbors):
        served = budget.to_zcdp()
    curator.noisy(asked, served, noise=noise_for(served))


def estimate(
    transcript: Transcript,
    postprocess: str,  # noqa: ARG001 - coefficients are released as they were answered
    *,
    target: Option,
    alpha: Option,
) -> Estimate:
    """Return the coefficients, as they were answered, of the regression that the options name."""
    encoding = transcript.encoding
    place, penalty = _checked(encoding, target, alpha)
    answer = transcript.take(Solution)
    if encoding.constant or answer.question != _regression(encoding, transcript.n, place, penalty):
        raise ReleaseError(
            "release must hold the coefficients of its own target and alpha, got other ones. Hint: another version?"
        )
    return Estimate(coefficients=Coefficients(answer, place, penalty), radius=encoding.row_norm)


def _checked(encoding: Encoding, target: object, alpha: object) -> tuple[int, float]:
    """Return the target's position and the penalty, or refuse them."""
    d = encoding.d
    if encoding.partial:
        raise ParameterError(
            "weights and weighting='rows' must be left out of a regression by itself, got one of them. "
            "Hint: dpcov.covariance takes them, and release.ridge(target) costs nothing more."
        )
    if d < 2:
        raise ParameterError(f"data must have at least two columns, a target and a feature, got {d}. Hint: add a column.")
    if type(target) is not int or not 0 <= target < d:
        raise ParameterError(f"target must be a position from 0 to {d - 1}, got {shown(target)}. Hint: count from 0.")
    hint = "give a number; 'auto' needs a covariance"
    return target, check_real("alpha", alpha, "positive and finite", 1 / LARGEST, LARGEST, hint)


def _regression(encoding: Encoding, n: int, target: int, alpha: float) -> Solution:
    """Return the question: what `ask` asks, and what `estimate` expects to have been asked."""
    moment = SecondMoment(encoding.grid, encoding.width, aside=encoding.aside)
    return Solution(moment, n, target, unit_alpha(alpha, encoding.row_norm), aside=encoding.aside)


OUTPUT_PERTURBATION = Mechanism(
    target="ridge",
    name="output-perturbation",
    serves=(PureDP, ZCDP, ApproxDP),
    ask=ask,
    estimate=estimate,
    neighbors=(REPLACE,),
)
