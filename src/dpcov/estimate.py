r"""From the noisy answers of a release to the estimate of its second moment: nothing here touches data or costs privacy.

Estimates are of the encoded rows in units of the radius at which they were clipped, so their trace is at most 1.

- *additive* mechanisms: the noisy matrix, post-processed;
- *directions*: Σ valueᵢ·uᵢuᵢᵀ;
- *separate*: the eigenvectors of a noisy matrix, with values that were asked apart;
- *rescaled*: the denoised matrix, stretched by what clipping took from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ReleaseError
from dpcov.kernel.answer import Answer
from dpcov.kernel.noise.laws import NoiseLaw, Spread
from dpcov.kernel.rows.centring import SCALE_SQUARED, with_public_corner
from dpcov.linalg import assembled, from_spectrum, monotone, project_simplex, unpack
from dpcov.spectra import POSTPROCESS, cautious_spectrum

Floats = NDArray[np.float64]

VALUES = ("diagonal", "spectrum", "quotients")
"""The answers that can stand beside directions."""

SINGLE_REACH = 4.0
"""One column needs no scale: rows are clipped at so many times the radius that was chosen."""

UNLUCKY = 0.5  # of the rows that should be outside: a smaller trace says that they are not

APART = ("diagonal in a basis", "spectrum")
"""The answers that can stand beside the noisy matrix of `separate`."""

_DENOISED: WeakKeyDictionary[Answer, dict[tuple[int, int, int], tuple[Floats, Floats]]] = WeakKeyDictionary()
"""What `denoised` returned: a mechanism asks for it, then the estimate and the intervals; kept as long as the answer is."""


class Released(Protocol):
    """What of a release an estimate is made of."""

    @property
    def answers(self) -> tuple[Answer, ...]: ...  # noqa: D102
    @property
    def mechanism(self) -> str: ...  # noqa: D102
    @property
    def postprocess(self) -> str: ...  # noqa: D102
    @property
    def n(self) -> int: ...  # noqa: D102
    @property
    def d(self) -> int: ...  # noqa: D102
    @property
    def center(self) -> bool: ...  # noqa: D102
    @property
    def row_norm(self) -> float: ...  # noqa: D102
    @property
    def clip_radius(self) -> float: ...  # noqa: D102
    @property
    def options(self) -> Mapping[str, str | int | float | bool]: ...  # noqa: D102
    @property
    def directions(self) -> Floats: ...  # noqa: D102
    def answer(self, statistic: str) -> Answer | None: ...  # noqa: D102


def encoded(release: Released) -> Floats:
    """Return the estimate of the second moment of the encoded rows; centred rows keep their constant coordinate."""
    with np.errstate(all="ignore"):  # extreme units and budgets overflow harmlessly inside
        if release.answer("directions") is not None:
            noisy, noise = assembled(release.directions, _values(release)) / release.n, Spread(0.0, 0.0)
        else:
            moment = release.answer("second moment")
            width = release.d + release.center
            if release.mechanism == "rescaled":
                return _rescaled(release, moment)
            if moment is None:
                raise ReleaseError("release must hold a noisy second moment, got none. Hint: it was made by hand.")
            apart = next((answer for answer in release.answers if answer.statistic in APART), None)
            if apart is not None:
                return _separate(release, moment, apart)
            noisy, noise = noisy_moment(moment, width, release.n)
        if release.center:
            noisy = with_public_corner(noisy)
        return POSTPROCESS[release.postprocess](noisy, 1.0, noise)


def noisy_moment(moment: Answer, width: int, n: int) -> tuple[Floats, Spread]:
    """Return the raw noisy second moment, and the spread of its noise."""
    return unpack(moment.values, width) / n, moment.noise.spread().scaled(2.0**-moment.unit_bits / n)


def denoised(moment: Answer, width: int, n: int, chosen: Answer) -> tuple[Floats, Floats]:
    """Return the denoised eigenvalues, ascending, and the eigenvectors of a noisy second moment of rows clipped as chosen.

    Each of the rows outside the radius adds 1 to the trace. Where the noisy trace is not even half of their number, the choice
    was unlucky: the radius is far too large and the matrix holds noise only.
    """
    outside = int(chosen.integers[2])
    kept = _DENOISED.setdefault(moment, {})
    if (width, n, outside) not in kept:
        kept[width, n, outside] = _denoised(moment, width, n, outside)
    return kept[width, n, outside]


def _denoised(moment: Answer, width: int, n: int, outside: int) -> tuple[Floats, Floats]:
    rows = outside / (SINGLE_REACH**2 if width == 1 else 1.0)
    if float(moment.values[:width].sum()) < UNLUCKY * rows:
        nothing, none = np.zeros(width), np.zeros((width, 0))
        nothing.flags.writeable = none.flags.writeable = False
        return nothing, none
    noisy, noise = noisy_moment(moment, width, n)
    eigenvalues, vectors = np.linalg.eigh(noisy)
    eigenvalues = cautious_spectrum(eigenvalues, noise, 1.0)
    eigenvalues.flags.writeable = vectors.flags.writeable = False
    return eigenvalues, vectors


def eigenbasis(moment: Answer, width: int) -> Floats:
    """Return the eigenvectors of a noisy second moment as columns, the largest eigenvalue first."""
    return np.ascontiguousarray(np.linalg.eigh(unpack(moment.values, width))[1][:, ::-1])


def block_vectors(block: Answer, d: int) -> Floats:
    """Return the eigenvectors of a noisy block in rows, the largest eigenvalue first; 0 in the columns that it is not about."""
    rows = np.zeros((len(block.columns), d))
    rows[:, list(block.columns)] = eigenbasis(block, len(block.columns)).T
    return rows


def _values(release: Released) -> Floats:
    answer = next(answer for answer in release.answers if answer.statistic in VALUES)
    values = answer.values
    if answer.statistic == "spectrum":
        values = monotone(values, increasing=False)[: len(release.directions)]
    # A negative value of `kapralov-talwar` corrects what was subtracted before: only the whole is clipped.
    return values if release.postprocess == "none" or answer.statistic == "quotients" else np.clip(values, 0.0, release.n)


def _separate(release: Released, moment: Answer, apart: Answer) -> Floats:
    """Put the values that were asked apart on the eigenvectors of the noisy matrix, in the order in which they were asked."""
    values = apart.values / release.n
    if release.postprocess == "clip":
        values = np.clip(values, 0.0, 1.0)
    elif release.postprocess == "project":
        values = project_simplex(values, 1.0)
    return assembled(eigenbasis(moment, release.d + release.center).T, values)


def _rescaled(release: Released, moment: Answer | None) -> Floats:
    """Multiply the matrix of clipped rows, denoised unless it is wanted raw, by the scale that clipping took from it."""
    if moment is None:  # too few rows for the budget: nothing was asked
        return np.zeros((release.d, release.d))
    chosen = release.answer("radius")
    assert chosen is not None
    eigenvalues, vectors = denoised(moment, release.d, release.n, chosen)
    scale = clipping_scale(release, moment)
    if release.postprocess == "none":
        return noisy_moment(moment, release.d, release.n)[0] * scale
    return from_spectrum(eigenvalues * scale, vectors) if eigenvalues[-1] > 0 else np.zeros((release.d, release.d))


def clipping_scale(release: Released, moment: Answer) -> float:
    """Return by how much the estimate stretches the matrix of clipped rows: that of `rescaled`; 1 for all others."""
    chosen = release.answer("radius")
    if release.mechanism != "rescaled" or chosen is None:
        return 1.0
    return scale_given_back(release, denoised(moment, release.d, release.n, chosen)[0])


def scale_given_back(release: Released, eigenvalues: Floats) -> float:
    """Return by how much what clipping took stretches a denoised matrix with these eigenvalues; 1 where it was not asked."""
    overlap = release.answer("overlap")
    if overlap is None or eigenvalues[-1] <= 0:
        return 1.0
    inner, outer = overlap.radii
    reach = (outer / inner) ** 2
    lost = min(max(float(overlap.values[0]) * reach / release.n, 0.0), reach - 1)
    scale = 1 + lost * float(eigenvalues[-1]) / float(eigenvalues @ eigenvalues)  # least squares
    possible = (release.row_norm / release.clip_radius) ** 2  # no row is longer than row_norm
    return min(scale, possible / float(eigenvalues.sum()))


def moment_error(release: Released) -> float:
    """Return the r.m.s. Frobenius norm of the noise in the raw second moment of encoded rows."""
    answer = release.answer("second moment")
    if answer is None:
        hint = "error bounds for directions are in dpcov.bounds; with too few rows nothing is asked"
        raise ReleaseError(f"release must hold a noisy second moment, got none. Hint: {hint}.")
    error = raw_error(answer.noise, answer.unit_bits, release.d + release.center, release.center) / release.n
    return error * (release.clip_radius / release.row_norm) ** 2


def raw_error(noise: NoiseLaw, unit_bits: int, width: int, center: bool) -> float:
    """Return the r.m.s. Frobenius norm of the noise in n times the second moment of encoded rows.

    ``width`` counts the coordinates; of centred rows the constant one is left out and the rest scaled back to norm 1.
    """
    scale = 2.0**-unit_bits / (SCALE_SQUARED if center else 1.0)
    return noise.spread().scaled(scale).rms(width - center)
