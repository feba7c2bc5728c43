r"""A group's moment drawn towards that of all groups together, entry by entry, by how much larger noise is than differences.

With :math:`M_g` the noisy moment of a row of group g, and P that of all groups together, let

.. math:: M_g - P \sim N(0, \tau^2_g\,h + u_g), \qquad h_{ij} = P_{ii}P_{jj} + P_{ij}^2,

:math:`u_g` the variance of the noise of the difference, and :math:`\tau^2_g = \omega^2 + 1/n_g`: rows of one population differ
by 1/n. :math:`\omega^2` is found from all groups and entries of a kind: means, squares, products. The estimate is
:math:`P + w_g(M_g - P)`, :math:`w_g = \tau^2_g h/(\tau^2_g h + u_g)`: empirical Bayes (Efron and Morris 1973). Where groups
differ by more than noise it is :math:`M_g`, where noise hides everything P.

It is post-processing, and uses noisy numbers only: docs/groups.md has what it gains.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcov.kernel.noise.laws import Spread

Floats = NDArray[np.float64]

ROUNDS = 4  # of reweighting: differences settle in two or three
LEAST = 1e-300
SPARE = 2.0  # standard errors by which groups may differ more than was seen: with few of them little is known of that
FAR = 2.5  # standard errors of noise: an entry that is farther apart differs, by no more than numbers of a row do
SURELY = 3.0  # standard errors of noise by which one group must differ to be taken for another kind than the others


@dataclass(frozen=True, eq=False)
class Noisy:
    """Noisy moments of a row by group, and what is known of their noise.

    Attributes
    ----------
    moments : array of shape (groups, d, d)
        Second moments of a row; of centred rows with the constant in front.
    noise : Spread
        Of the sum over the rows of one group, which is the same for all.
    rows : array
        The noisy number of rows of each group.
    of_rows : float
        The standard deviation of the noise of that number.
    """

    moments: Floats
    noise: Spread
    rows: Floats
    of_rows: float


@dataclass(frozen=True, eq=False)
class Drawn:
    """What one group's moment becomes.

    Attributes
    ----------
    moment : array
        The moment of a row.
    noise : Spread
        What is left of its noise, on average over entries.
    own : array
        Which part of each entry is the group's own.
    standard_error : array
        Of each entry: of noise, and of what is not known of the difference.
    """

    moment: Floats
    noise: Spread
    own: Floats
    standard_error: Floats


def drawn_together(noisy: Noisy, group: int, *, centred: bool) -> Drawn:
    """Draw the moment of one group towards that of all: means first, then what is about them."""
    d = noisy.moments.shape[1]
    n = noisy.rows[:, None, None]
    whole = (n**2 * noisy.moments).sum(axis=0) / (n**2).sum()  # the best where groups do not differ
    entries = np.full((d, d), noisy.noise.off_diagonal_variance)
    np.fill_diagonal(entries, noisy.noise.diagonal_variance)
    noise = (entries + (noisy.of_rows * whole) ** 2) / n**2  # a noisy number of rows divides all entries
    about, part, left, error = noisy.moments, np.ones((d, d)), noise[group].copy(), np.sqrt(noise[group])
    back = np.eye(d)
    if centred:
        of_means = np.maximum(whole[0, 0] * whole.diagonal()[1:], LEAST)
        means = _drawn(noisy.moments[:, 0, 1:], noise[:, 0, 1:], noisy.rows, of_means)
        slopes = means.values / whole[0, 0]
        about = np.array([_about(one, slope) for one, slope in zip(noisy.moments, slopes, strict=True)])
        back[1:, 0] = slopes[group]
        for found, known in ((part, means.part), (left, means.left), (error, means.error)):
            found[0, 1:] = found[1:, 0] = known[group]
    first = int(centred)
    about, inner = about[:, first:, first:], noise[:, first:, first:]
    centre = (n**2 * about).sum(axis=0) / (n**2).sum()
    diagonal = np.maximum(centre.diagonal(), 0.0)
    differ = np.maximum(np.outer(diagonal, diagonal) + centre**2, LEAST)  # of a product of two normal numbers
    moment, on = whole.copy(), np.eye(d - first, dtype=np.bool_)
    for kind in (on, ~on):
        if kind.any():
            found = _drawn(about[:, kind], inner[:, kind], noisy.rows, differ[kind])
            for matrix, known in ((moment, found.values), (part, found.part), (left, found.left), (error, found.error)):
                matrix[first:, first:][kind] = known[group]
    if centred:
        moment[0, 1:] = moment[1:, 0] = 0.0  # means are drawn already
    above = ~np.eye(d, dtype=np.bool_)
    off = float(left[above].mean()) if d > 1 else float(left.mean()) / 2
    spread = Spread(float(left.diagonal().mean()), off, noisy.noise.wishart)
    return Drawn(back @ moment @ back.T, spread, part, error)


def _about(moment: Floats, slopes: Floats) -> Floats:
    """Return a second moment with the constant in front about other means: slopes times the constant."""
    to = np.eye(len(moment))
    to[1:, 0] = -slopes
    return np.asarray(to @ moment @ to.T)


@dataclass(frozen=True, eq=False)
class _Entries:
    """Entries of one kind for each group: drawn, which part is a group's own, what is left of the noise, the errors."""

    values: Floats
    part: Floats
    left: Floats
    error: Floats


def _drawn(values: Floats, noise: Floats, rows: Floats, differ: Floats) -> _Entries:
    """Draw entries, in rows by group, towards their weighted average; ``differ`` is h."""
    n = rows[:, None]
    centre, between = (n**2 * values).sum(axis=0) / (n**2).sum(), 0.0
    for _ in range(ROUNDS):
        precision = 1 / (noise + (between + 1 / n) * differ)
        weight = precision / precision.sum(axis=0)
        centre = (weight * values).sum(axis=0)
        known, scale = _apart(noise + differ / n, weight), _apart(np.broadcast_to(differ, noise.shape), weight)
        between = _between((values - centre) ** 2, known, scale)
    apart = values - centre
    alone = np.array([[_surely(a**2, u, differ)] for a, u in zip(apart, noise + differ / n, strict=True)])
    own = (np.maximum(between, alone) + 1 / n) * differ
    own = np.maximum(own, np.minimum(apart**2 - FAR**2 * noise, differ))
    part = own / (own + noise)
    of_noise = (weight**2 * noise).sum(axis=0)
    left = part**2 * noise + 2 * part * (1 - part) * weight * noise + (1 - part) ** 2 * of_noise
    error = np.sqrt(part * noise + (1 - part) ** 2 / precision.sum(axis=0))
    return _Entries(centre + part * apart, part, left, error)


def _between(squares: Floats, noise: Floats, differ: Floats) -> float:
    """Return ω²: weighted least squares of squared differences, less their noise, on h; and some standard errors more."""
    omega = error = 0.0
    for _ in range(ROUNDS):
        trust = differ / np.maximum(noise + omega * differ, LEAST) ** 2
        total = max(float((trust * differ).sum()), LEAST)
        omega = max(float((trust * (squares - noise)).sum()) / total, 0.0)
        error = math.sqrt(2 * float(((trust * (noise + omega * differ)) ** 2).sum())) / total
    return omega + SPARE * error


def _surely(squares: Floats, noise: Floats, differ: Floats) -> float:
    """Return by how much one group differs from the others at least, unless its noise was far larger than it should be."""
    trust = differ / noise**2
    total = max(float((trust * differ).sum()), LEAST)
    least = float((trust * (squares - noise)).sum()) - SURELY * math.sqrt(2 * float(((trust * noise) ** 2).sum()))
    return min(max(least / total, 0.0), 1.0)  # where noise is far larger than h, no difference is as large


def _apart(variance: Floats, weight: Floats) -> Floats:
    """Return the variances of differences from a weighted average, of which each is a part: it takes variance away."""
    return np.asarray((1 - 2 * weight) * variance + (weight**2 * variance).sum(axis=0))
