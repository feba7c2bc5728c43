"""The automatic choice for components, from public facts alone: `screened`, or eigenvectors of a matrix with plain noise.

`screened` has no centred form, and reads the rows three times. Centred rows are clipped at a private radius; streams that can
be read once are not.
"""

from __future__ import annotations

import dataclasses

from dpcov.errors import ParameterError
from dpcov.kernel.budget import Budget, PureDP
from dpcov.kernel.curator import Curator
from dpcov.mechanisms.pca.noisy import gaussian, wishart
from dpcov.mechanisms.pca.screened import screened
from dpcov.mechanisms.shared.matrix_noise import best_noise
from dpcov.release.record import Release


def auto(curator: Curator, budget: Budget, *, k: int, screen: bool = True) -> Release:
    """Release k components by the mechanism that captures most variance on most data.

    Parameters
    ----------
    k : int
        How many components.
    screen : bool
        False keeps all columns: for dense ones that hold about alike, such as rotated or whitened rows.

    Privacy
    -------
    ``budget``: that of the chosen mechanism.
    """
    if curator.rereadable and not curator.grid.center:
        release = screened(curator, budget, k=k, screen=screen)
    elif not screen:
        raise ParameterError(
            "screen must be left out for centred rows and streams, got False. Hint: all columns are kept there."
        )
    else:
        noise = best_noise(curator, budget, "rounded")
        run = wishart if noise is None or isinstance(noise.budget, PureDP) else gaussian
        release = run(curator, budget, k=k, clip="private" if curator.rereadable else "none")
    return dataclasses.replace(release, requested="auto")
