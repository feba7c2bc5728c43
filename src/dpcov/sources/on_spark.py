"""Parquet files that executors of Spark are to read themselves: what a user says. Nothing here needs pyspark."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from dpcov.errors import ParameterError


@dataclass(frozen=True, eq=False)
class OnSpark:
    """Parquet files, and the session of Spark whose executors read them: no row passes through Spark.

    The release is the same as that of the files, and of a frame of them. A frame of Spark needs no such record: it is summed
    as it is, with all that its query does, but Spark turns its columns into rows first, which takes longer than the sums.

    Parameters
    ----------
    spark : SparkSession
        Classic, or of Spark Connect. Its executors need this version of dpcov, and pyarrow.
    path : str or path
        A Parquet file, a folder, a pattern, or a URI that pyarrow opens. It must lead to the same files here, where their
        names and types are read, and on each executor: a shared folder, or an address such as "s3://bucket/people/".
    """

    spark: Any = field(repr=False)
    path: str | os.PathLike[str] = field(repr=False)  # the names of its folders may be cells

    def __post_init__(self) -> None:
        if not any(kind.__name__ == "SparkSession" for kind in type(self.spark).__mro__):
            raise ParameterError(
                f"spark must be a session of Spark, got {type(self.spark).__name__}. Hint: SparkSession.builder.getOrCreate()."
            )
        if not isinstance(self.path, str | os.PathLike):
            raise ParameterError(
                f"path must lead to Parquet files, got {type(self.path).__name__}. Hint: pass a frame itself as data."
            )
