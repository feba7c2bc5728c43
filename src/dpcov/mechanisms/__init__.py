"""One file per algorithm. A mechanism never sees data: it asks a curator and computes with the answers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from typing import Any

from dpcov.errors import ParameterError, check_choice
from dpcov.mechanisms.coinpress.covariance import coinpress
from dpcov.mechanisms.covariance.adaptive import adaptive
from dpcov.mechanisms.covariance.auto import ADDITIVE, auto
from dpcov.mechanisms.covariance.eigenvectors import eigenvectors
from dpcov.mechanisms.covariance.kapralov_talwar import kapralov_talwar
from dpcov.mechanisms.covariance.projection import projection
from dpcov.mechanisms.covariance.rescaled import rescaled
from dpcov.mechanisms.covariance.separate import separate
from dpcov.mechanisms.mean import MEANS
from dpcov.mechanisms.pca import SUBSPACES
from dpcov.mechanisms.ridge.output_perturbation import output_perturbation
from dpcov.release.record import Release

Mechanism = Callable[..., Release]

MECHANISMS: dict[str, dict[str, Mechanism]] = {
    "covariance": {
        "auto": auto,
        **ADDITIVE,
        "projection": projection,
        "separate": separate,
        "adaptive": adaptive,
        "rescaled": rescaled,
        "coinpress": coinpress,
        "eigenvectors": eigenvectors,
        "kapralov-talwar": kapralov_talwar,
    },
    "mean": MEANS,
    "pca": SUBSPACES,
    "ridge": {"output-perturbation": output_perturbation},
}


def options_of(mechanism: Mechanism) -> dict[str, Any]:
    """Return the options of a mechanism with their defaults; None: it must be given."""
    own = {"curator", "budget", "postprocess"}
    parameters = inspect.signature(mechanism).parameters.values()
    return {p.name: None if p.default is p.empty else p.default for p in parameters if p.name not in own}


def checked_mechanism(target: str, name: str, options: Collection[str]) -> Mechanism:
    """Return a mechanism, or refuse an unknown name or option."""
    check_choice("mechanism", name, MECHANISMS[target], "`dpcov mechanisms` lists them")
    known = sorted(options_of(MECHANISMS[target][name]))
    for option in sorted(set(options) - set(known)):
        hint = "auto clips by itself; wishart and gaussian take clip" if option == "clip" else "`dpcov mechanisms` lists them"
        raise ParameterError(f"options of {name!r} must be among {known}, got {option!r}. Hint: {hint}.")
    return MECHANISMS[target][name]
