r"""The rounds of `coinpress` for covariances as the paper and its authors' program have them: ``constants="paper"``.

Every round clips at the same γ, whatever is known of the rows by then, and widens the noisy second moment Z of whitened rows by
the same η. What sampling and noise really hide is more: nothing is proved of these constants, which are smaller on purpose.

==========  ==========================================================================
code        mathematics
==========  ==========================================================================
``clip``    :math:`\gamma = \sqrt{d + 2\sqrt{d \log 10} + 2 \log 10}`
``hidden``  :math:`\eta = \tfrac12 (2\sqrt{d/n} + d/n)`
``turned``  :math:`W \leftarrow (Z_+ + \eta)^{-1/2} W`
==========  ==========================================================================
"""

from __future__ import annotations

import math

import numpy as np

from dpcov.bounds import gaussian_norm
from dpcov.errors import ParameterError
from dpcov.kernel.budget import ZCDP
from dpcov.kernel.face import Face
from dpcov.kernel.questions.calibrated import GAUSSIAN
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.rows.frames import Ellipsoid
from dpcov.mechanisms.coinpress.bounds import Bounds
from dpcov.mechanisms.coinpress.mean_rounds import PAPER_LAST, PAPER_ROUNDS, shares_of
from dpcov.mechanisms.shared.additive import AdditivePlan, papers_triangle
from dpcov.mechanisms.shared.means import Floats, as_tuple

BETA = 0.1  # of γ


def ask_as_printed(curator: Face, budget: ZCDP, bounds: Bounds, origin: Floats, rounds: int | None) -> int:
    """Ask for a second moment in each round, with independent noise on the whole triangle; return how many rounds there are."""
    n, d = curator.n, curator.d
    clip, hidden = gaussian_norm(d, BETA), (2 * math.sqrt(d / n) + d / n) / 2
    whitener, shares = bounds.whitener, shares_of(rounds or PAPER_ROUNDS, PAPER_LAST)
    for number, share in enumerate(shares, start=1):
        frame = _frame(origin, whitener, clip, bounds)
        noisy = _second_moment(curator, budget.share(share), frame)
        if number == len(shares):
            break
        values, vectors = np.linalg.eigh(noisy / n * frame.deviations**2)
        turned = (vectors / np.sqrt(np.maximum(values, 0.0) + hidden)) @ vectors.T @ (frame.whitener * frame.deviations)
        whitener = bounds.within(turned)  # of rows far smaller than the bounds: no noisy answer may end a release
    return len(shares)


def _second_moment(curator: Face, budget: ZCDP, frame: Ellipsoid) -> Floats:
    at_least = papers_triangle(curator, AdditivePlan(GAUSSIAN, budget, None))
    return curator.noisy(SecondMoment(frame, curator.d), budget, noise=GAUSSIAN, at_least=at_least).matrix


def _frame(origin: Floats, whitener: Floats, clip: float, bounds: Bounds) -> Ellipsoid:
    """Return the ellipsoid of rows within ``clip`` of the origin, in whitened units; the bounds' own always serve."""
    try:
        return Ellipsoid(as_tuple(origin), whitener / clip, clip)
    except ParameterError:
        return Ellipsoid(as_tuple(origin), bounds.whitener / clip, clip)
