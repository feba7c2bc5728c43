"""Mechanisms for principal components: k orthonormal directions, and how much lies along them."""

from __future__ import annotations

from collections.abc import Callable

from dpcov.mechanisms.subspaces.auto import auto
from dpcov.mechanisms.subspaces.eigenvectors import eigenvectors
from dpcov.mechanisms.subspaces.mod_sulq import mod_sulq
from dpcov.mechanisms.subspaces.noisy import gaussian, wishart
from dpcov.mechanisms.subspaces.ppca import ppca
from dpcov.mechanisms.subspaces.random import random
from dpcov.mechanisms.subspaces.screened import screened
from dpcov.release import Release

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
