"""What every process of a mutant is forked from: the libraries that tests import, and nothing of this project.

Only libraries that start no threads: a thread does not survive a fork, and a lock that it held would stay taken. OpenBLAS
starts them unless told otherwise, and cores are shared with the other tests.
"""

from __future__ import annotations

import gc
import importlib
import os

LIBRARIES = (
    "pytest",
    "_hypothesis_pytestplugin",
    "hypothesis.extra.numpy",
    "hypothesis.strategies",
    "numpy.testing",
    "scipy.integrate",
    "scipy.linalg",
    "scipy.optimize",
    "scipy.stats",
    "sklearn.base",
    "sklearn.pipeline",
    "mpmath",
    "threadpoolctl",
    "click",
    "rich.console",
    "rich.table",
)

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
for library in LIBRARIES:
    importlib.import_module(library)
gc.freeze()  # a collection in a child would touch, and so copy, every page of them
