"""Make the figures and tables of the five papers again: `python -m experiments --help`."""

from __future__ import annotations

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # before numpy is imported: one thread in each process

from experiments.command import main  # noqa: E402

if __name__ == "__main__":
    raise SystemExit(main())
