"""Mechanisms for principal components: k orthonormal directions, and how much lies along them."""

from __future__ import annotations

from collections.abc import Callable

from dpcov.mechanisms.pca.auto import auto
from dpcov.mechanisms.pca.eigenvectors import eigenvectors
from dpcov.mechanisms.pca.mod_sulq import mod_sulq
from dpcov.mechanisms.pca.noisy import gaussian, wishart
from dpcov.mechanisms.pca.ppca import ppca
from dpcov.mechanisms.pca.random import random
from dpcov.mechanisms.pca.screened import screened
from dpcov.release.record import Release

SUBSPACES: dict[str, Callable[..., Release]] = {
    "auto": auto,
    "screened": screened,
    "gaussian": gaussian,
    "wishart": wishart,
    "eigenvectors": eigenvectors,
    "ppca": ppca,
    "mod-sulq": mod_sulq,
    "random": random,
}
