r"""Whether a Markov chain of subspaces has run long enough: the statistic of the paper of `ppca`, for chains that know no row.

.. math:: F_k(T) = \frac{1}{\sqrt k} \Big\| \frac1T \sum_{t \le T} V_t \Big\|_F

The law that a chain tends to has mean 0, so F_k falls to 0. The chain behind a release shows more than its last state, and is
kept nowhere: not even in the limit would its F_k be covered by the promise. But from a uniform start the law of F_k depends on
the rows only through the eigenvalues of their second moment. So chains are run here for those that the release tells:
what lies along its components, and the rest spread evenly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError, ReleaseError, shown
from dpcov.kernel.bits import SeededBits
from dpcov.kernel.noise.drawn import MOST_SWEEPS, MatrixBingham
from dpcov.kernel.noise.subspace import sweeps as states
from dpcov.kernel.questions.along import Explained
from dpcov.kernel.questions.directions import Subspace
from dpcov.release.record import Release
from dpcov.results import Drawable

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Chains(Drawable):
    """What `convergence` returned for a release, to be shown and drawn: a row of ``traces`` for each chain."""

    release: Release
    traces: Floats

    def __repr__(self) -> str:
        return f"<Chains: {len(self.traces)} of {self.traces.shape[1]} sweeps>"


def is_chain(release: Release) -> bool:
    """Whether the components of a release were drawn by a Markov chain."""
    drawn = release.find(Subspace)
    return drawn is not None and isinstance(drawn.law, MatrixBingham)


def convergence(
    release: Release,
    *,
    chains: int = 5,
    sweeps: int | None = None,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> Floats:
    """Return how far chains like the one behind a release of `ppca` still remember their start: 0 is forgotten.

    A row for each of several chains holds F_k(1), ..., F_k(sweeps) of docs/mechanisms/ppca.md. No data are read, and nothing is
    spent.

    Parameters
    ----------
    release : Release
        Components that were drawn by a Markov chain.
    chains : int
        How many chains, each from a start of its own.
    sweeps : int, optional
        How long they are; as long as that of the release by default.
    seed : int
        Chains can be repeated: they have nothing to hide.
    progress : callable, optional
        Called now and then with the part that is done.
    """
    drawn, told = release.find(Subspace), release.find(Explained)
    if drawn is None or told is None or not isinstance(drawn.law, MatrixBingham) or not isinstance(drawn.question, Subspace):
        raise ReleaseError(
            "release must be drawn by a Markov chain, got one that was not. Hint: only the mechanism ppca needs to converge."
        )
    d, k, values = drawn.question.d, drawn.question.count, np.clip(told.values, 0.0, release.n)
    if len(values) != k + 1:
        raise ReleaseError(
            f"release must hold the variance along its {k} components, got something else. Hint: ask for the original."
        )
    length = drawn.law.sweeps if sweeps is None else sweeps
    for name, value in (("chains", chains), ("sweeps", length)):
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_SWEEPS:
            raise ParameterError(f"{name} must be an integer from 1 to 10**7, got {shown(value)}. Hint: leave it out.")
    spectrum = np.sort(np.append(values[:-1], np.full(d - k, values[-1] / (d - k))))[::-1]
    return traces(spectrum, k, float(drawn.law.concentration), length, [seed + i for i in range(chains)], progress)


def traces(
    spectrum: Floats,
    k: int,
    concentration: float,
    sweeps: int,
    seeds: Sequence[int],
    progress: Callable[[float], None] | None = None,
) -> Floats:
    """Return F_k after each sweep, a row for each seed, for known eigenvalues, descending."""
    found = np.zeros((len(seeds), sweeps))
    for row, seed in enumerate(seeds):
        total = np.zeros((len(spectrum), k))
        for t, state in enumerate(islice(states(spectrum, k, concentration, SeededBits(seed)), 1, sweeps + 1)):
            total += state
            found[row, t] = np.linalg.norm(total) / (t + 1) / math.sqrt(k)
            if progress is not None and t % 128 == 0:
                progress((row + t / sweeps) / len(seeds))
    return found
