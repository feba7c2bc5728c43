"""What the mechanisms for components share: the number k, what lies along components, and estimates of either kind.

Components are drawn, or found in an answer, and a last share of the budget tells how much lies along them and beside them; or
they are eigenvectors of a noisy second moment, which says as much by itself.
"""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError, ReleaseError, shown
from dpcov.kernel.answer import Answer
from dpcov.kernel.budget import ZCDP, Budget, PureDP
from dpcov.kernel.face import Face
from dpcov.kernel.questions.along import Explained
from dpcov.kernel.questions.basis import Basis, DirectionsOf, GivenBasis
from dpcov.kernel.questions.calibrated import noise_for
from dpcov.kernel.questions.directions import Directions, Subspace
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.rows.grid import Grid
from dpcov.linalg import monotone, project_simplex
from dpcov.mechanisms.base import RAW
from dpcov.mechanisms.shared.directions import pure_or_zcdp, reserve_count
from dpcov.mechanisms.shared.moment import from_noisy_moment
from dpcov.release.estimate import Along, Components, Estimate
from dpcov.release.record import Option, Transcript

Floats = NDArray[np.float64]

EXPLAINED = Fraction(1, 40)
"""The share of the budget that tells how much lies along the components, and how much does not."""


def checked_k(k: object, d: int) -> int:
    """Return the number of components, or refuse it."""
    if d < 2:
        raise ParameterError(
            f"data must have at least two columns for components, got n_features = {d}. Hint: one column has no directions."
        )
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k < d:
        raise ParameterError(
            f"k must be an integer from 1 to {d - 1}, got {shown(k)}. Hint: ask for fewer components than columns."
        )
    return int(k)


def prepare_draw(curator: Face, budget: Budget) -> PureDP | ZCDP:
    """Read the second moment, pay for n where it is private, and return what is left."""
    return reserve_count(curator, pure_or_zcdp(budget))


def along_axes(moment: SecondMoment, k: int) -> Explained:
    """Return the question along the first k axes: its noise is that along any k components, which are not yet known."""
    return Explained.of(moment, GivenBasis(np.eye(moment.d, k)))


def explain(curator: Face, components: Basis, budget: PureDP | ZCDP, radius: float = 1.0) -> None:
    """Ask how much of rows, clipped at a part of row_norm, lies along orthonormal components, and how much does not."""
    curator.noisy(Explained.of(curator.second_moment(radius), components), budget, noise=noise_for(budget))


def from_drawn(transcript: Transcript, postprocess: str, *, k: Option, **_options: Option) -> Estimate:
    """Return components that were drawn, and what lies along them.

    Directions that were drawn one after the other are in their own order, which is better known than the variances: these are
    made to descend. A subspace that was drawn at once has no order but theirs.
    """
    count = checked_k(k, transcript.encoding.d)
    asked, basis, radius = take_explained(transcript, count)
    drawn = transcript.take(Directions, Subspace)
    if not isinstance(basis, DirectionsOf) or basis.answer is not drawn:
        refuse_components("which are those that were drawn")
    told = asked.values / transcript.n
    along, rows = told[:-1], basis.columns.T
    if isinstance(drawn.question, Subspace):
        order = np.argsort(-along, kind="stable")
        along, rows = along[order], rows[order]
    elif postprocess != RAW:
        along = monotone(along, increasing=False)
    return Estimate(
        k=count,
        components=with_variances(rows, np.append(along, told[-1]), radius, postprocess),
        radius=radius,
        seen=Along(
            law=asked.law,
            deviation=asked.deviation / transcript.n,
            basis=basis.columns,
            values=told[:-1],
            # no errors beside the diagonal: the basis is what was asked along, and nothing else is in the numbers
        ),
    )


def take_explained(transcript: Transcript, k: int) -> tuple[Answer, Basis, float]:
    """Return what was asked along k components, the components, and where rows were clipped for it; or refuse another."""
    asked = transcript.take(Explained)
    assert isinstance(asked.question, Explained)
    basis, grid = asked.question.basis, asked.question.grid
    if transcript.encoding.constant or not isinstance(grid, Grid) or basis.count != k:
        refuse_components(f"which are {k}, of rows clipped at a radius and without a constant")
    return asked, basis, grid.row_norm


def refuse_components(rule: str) -> NoReturn:
    """Refuse a transcript whose answers are about other components."""
    raise ReleaseError(
        f"release must hold the variance along its components, {rule}, got something else. Hint: another version?"
    )


def with_variances(rows: Floats, told: Floats, radius: float, postprocess: str) -> Components:
    """Return components with what lies along each, and in all.

    ``told`` is what lies along them and, last, beside them, as parts of the squared radius. No row has more than that in all:
    the nearest such numbers are taken, unless they are wanted raw.
    """
    values = (told if postprocess == RAW else project_simplex(told, 1.0)) * radius * radius
    return Components(rows, values[:-1], float(values.sum()))


def from_noisy_matrix(transcript: Transcript, postprocess: str, *, k: Option, **_options: Option) -> Estimate:
    """Return the estimate of a noisy second moment, of which k eigenvectors are wanted."""
    count = checked_k(k, transcript.encoding.d)
    return dataclasses.replace(from_noisy_moment(transcript, postprocess), k=count)
