"""The automatic choice for components, from public facts alone: `screened`, or eigenvectors of a matrix with plain noise.

`screened` has no centred form, and reads the rows three times. Centred rows are clipped at a private radius; streams that can
be read once are not.
"""

from __future__ import annotations

from dpcov.errors import ParameterError
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.public import Facts
from dpcov.mechanisms.base import Alias, Resolved
from dpcov.mechanisms.pca.gaussian import GAUSSIAN_PCA
from dpcov.mechanisms.pca.screened import SCREENED
from dpcov.mechanisms.pca.wishart import WISHART_PCA
from dpcov.mechanisms.shared.matrix_noise import best_noise


def resolve(public: Facts, budget: Budget, postprocess: str | None, *, k: int, screen: bool = True) -> Resolved:
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
    if public.rereadable and not public.grid.center:
        return SCREENED, postprocess, {"k": k, "screen": screen}
    if not screen:
        raise ParameterError(
            "screen must be left out for centred rows and for streams, got False. Hint: they keep all columns anyway."
        )
    noise = best_noise(public, budget, "rounded")
    chosen = WISHART_PCA if noise is None or isinstance(noise.budget, PureDP) else GAUSSIAN_PCA
    return chosen, postprocess, {"k": k, "clip": "private" if public.rereadable else "none"}


AUTO_PCA = Alias(
    target="pca",
    name="auto",
    serves=(PureDP, ZCDP, ApproxDP),
    resolve=resolve,
    centring="homogeneous",
)
