"""What an audit takes from files: a mechanism of somebody's own, and small tables of made-up rows."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np

from dpcov.errors import EngineError, ParameterError, shown
from dpcov.mechanisms.base import Alias, Mechanism, Named


def own_mechanism(place: str) -> Named:
    """Run a Python file, and return the mechanism of a name in it."""
    file, _, name = place.rpartition(":")
    spec = importlib.util.spec_from_file_location("audited", file) if file.endswith(".py") and Path(file).is_file() else None
    if spec is None or spec.loader is None:
        raise ParameterError(f"--from must be FILE.py:NAME of a file that is there, got {shown(place)}. Hint: own.py:MINE.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = getattr(module, name, None)
    if not isinstance(found, Mechanism | Alias):
        known = [name for name, value in vars(module).items() if isinstance(value, Mechanism | Alias)]
        hint = f"the file has {', '.join(known)}" if known else "the file has none; examples/own_mechanism.py shows one"
        raise ParameterError(f"--from must name a Mechanism, got {shown(name)}. Hint: {hint}.")
    return found


def read_table(file: str, *, of_array: bool) -> Any:
    """Read a small table of made-up rows: as an array, or with a schema as a table."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    try:
        if file.endswith(".npy"):
            return np.load(file, allow_pickle=False)
        table = parquet.read_table(file) if file.endswith(".parquet") else csv.read_csv(file)
        return np.column_stack([column.to_numpy() for column in table.columns]) if of_array else table
    except (OSError, ValueError, pa.ArrowException):
        raise EngineError(
            f"{file} must be a table of numbers (.csv, .parquet or .npy), and could not be read. Hint: is the name right?"
        ) from None
