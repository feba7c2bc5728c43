"""Synthetic rows by AIM (McKenna, Mullins, Sheldon, Miklau 2022), as the package ``dpmm`` has it; run by benchmarks/aim.py.

It runs in an environment of its own, which need not have dpcov: ``pip install dpmm==0.1.9`` with Python 3.10 or 3.11.

python benchmarks/aim_rows.py CODES.npz OUT.npz '{"rho": 0.1, "seed": 0, "model_size": 1, "rounds": null}'
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from typing import Any

import numpy as np


def main(source: str, target: str, settings: dict[str, Any]) -> None:
    """Fit AIM to a table of codes and write as many synthetic rows; ``rho`` replaces (1, 1e-9)-DP where it is given."""
    warnings.filterwarnings("ignore")
    import pandas as pd
    from dpmm.models.aim import AIM  # type: ignore[import-not-found,unused-ignore]

    held = np.load(source)
    names, sizes = [str(name) for name in held["names"]], [int(size) for size in held["sizes"]]
    rows = pd.DataFrame(held["codes"], columns=names)
    np.random.seed(settings["seed"])  # noqa: NPY002 - the package draws from it, too
    model = AIM(
        epsilon=1.0,
        delta=1e-9,
        prng=np.random.RandomState(settings["seed"]),
        max_model_size=settings["model_size"],
        rounds=settings["rounds"],
        domain=dict(zip(names, sizes, strict=True)),
        n_jobs=1,
    )
    if settings["rho"] is not None:
        model.rho = settings["rho"]
    start = time.perf_counter()
    model.fit(rows)
    synthetic = model.generate(len(rows))[names].to_numpy()
    pairs = len({tuple(one) for one in model.cliques if len(one) == 2})
    np.savez(
        target, codes=synthetic, seconds=time.perf_counter() - start, rho=model.rho, marginals=len(model.cliques), pairs=pairs
    )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))
