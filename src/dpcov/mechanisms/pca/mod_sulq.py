r"""Eigenvectors of a noisy second moment, with the noise of the paper: independent Gaussians on the triangle.

Paper    Chaudhuri, Sarwate, Sinha (2013), Algorithm 1 with β of equation (5).
Proof    docs/mechanisms/mod-sulq.md
Differs  discrete noise on integers, never less than an analytic calibration asks for; also for add-remove neighbours.

=========  ===================================================================================================
code       mathematics
=========  ===================================================================================================
``beta``   :math:`n\beta = \frac{d+1}{\varepsilon}\sqrt{2\log\frac{d^2+d}{2\sqrt{2\pi}\,\delta}} + 1/\sqrt\varepsilon`
=========  ===================================================================================================
"""

from __future__ import annotations

import math
from fractions import Fraction

from dpcov.bounds import mod_sulq_beta
from dpcov.errors import ParameterError
from dpcov.kernel.budget import ApproxDP
from dpcov.kernel.face import Face
from dpcov.kernel.questions.calibrated import GAUSSIAN as NOISE
from dpcov.mechanisms.base import Mechanism
from dpcov.mechanisms.shared.additive import ask_additive
from dpcov.mechanisms.shared.components import checked_k, from_noisy_matrix

TINY = Fraction(1, 10**300)  # a delta that floats cannot hold


def ask(curator: Face, budget: ApproxDP, *, k: int) -> None:
    """Release the first k eigenvectors of a second moment with the paper's Gaussian noise.

    Parameters
    ----------
    k : int
        How many components.

    Privacy
    -------
    ``budget`` (ApproxDP): one second moment, and under add-remove one count.

    Utility
    -------
    Theorem 15 of the paper bounds it from above: `dpcov.bounds`.
    """
    checked_k(k, curator.d)
    deviation = mod_sulq_beta(1, curator.d, float(budget.epsilon), float(budget.delta)) if budget.delta >= TINY else math.inf
    if not math.isfinite(deviation):
        raise ParameterError(f"budget must be larger, got {budget!r}, too little for the noise. Hint: spend more.")
    variance = Fraction(deviation) ** 2
    ask_additive(curator, NOISE, budget, at_least=lambda _: variance)


MOD_SULQ = Mechanism(
    target="pca",
    name="mod-sulq",
    serves=(ApproxDP,),
    ask=ask,
    estimate=from_noisy_matrix,
    postprocess=("clip", "none"),
)
