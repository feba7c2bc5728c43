"""Parts summed by workers of the user's: by a function that works as the built-in ``map`` does.

That is what pools of other libraries have in common: `concurrent.futures`, `multiprocessing`, Ray. A task travels with each
part and its number; what comes back is the number, with sums or the words of an error. A pool may run a part again where a
worker died, and may give results in any order, but each part counts once: a number that comes twice, or not at all, ends the
reading.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dpcov._version import __version__
from dpcov.errors import DpcovError, EngineError
from dpcov.kernel.questions.measure import Summable
from dpcov.kernel.sums import check_exact_blas
from dpcov.sources.split import Part, PartSums, Tallies
from dpcov.sources.worker import Failure, check_version, in_words, raised

Map = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]


class Result(NamedTuple):
    """What comes back for a part: its sums, or the kind and the words of an error, which are this library's."""

    number: int
    sums: PartSums | None
    error: Failure | None = None


@dataclass(frozen=True)
class PartTask:
    """What a worker is to do with a part; it can be pickled."""

    statistic: Any
    version: str = __version__

    def __call__(self, numbered: tuple[int, Part]) -> Result:
        """Sum a part; never raise."""
        number, part = numbered
        return Result(number, *in_words(lambda: self._sums(part)))

    def _sums(self, part: Part) -> PartSums:
        check_version(self.version)
        check_exact_blas()
        return part.sums(self.statistic)


class UserMap:
    """The engine of workers that somebody else started, and will end."""

    def __init__(self, function: Map) -> None:
        self._map = function

    def run(self, statistic: Summable, parts: Iterable[Part]) -> Iterator[PartSums]:
        """Yield the sums of all parts, each once."""
        missing: set[int] = set()
        numbered = _numbered(parts, missing)
        shape: tuple[int, ...] | None = None
        failed = False
        try:
            for result in self._map(PartTask(statistic), numbered):
                number, sums, error = result
                if error is not None:
                    raise raised(*error)
                missing.remove(number)
                shape = _shape_of(sums, shape, number)
                yield sums
        except DpcovError:
            raise
        except Exception:  # a worker that died, an answer that is none; its words may quote a cell
            failed = True  # raised outside, where nothing refers to it
        if failed or missing or next(numbered, None) is not None:
            raise EngineError(
                "workers must return the sums of each part once, got an error or other results. "
                "Hint: its own log says more; a function such as pool.map is wanted."
            )

    def close(self) -> None:
        """Do nothing: the workers are the user's."""


def _numbered(parts: Iterable[Part], missing: set[int]) -> Iterator[tuple[int, Part]]:
    for number, part in enumerate(parts):
        missing.add(number)
        yield number, part


def _shape_of(sums: PartSums, others: tuple[int, ...] | None, number: int) -> tuple[int, ...]:
    """Return the shape of a part's sums, which must be that of the others': one number would be added to each of theirs."""
    if type(sums) is PartSums and type(sums.integers) is Tallies and list(sums.integers.of_parts) == [number]:
        return ()
    if type(sums) is not PartSums or type(sums.integers) is not np.ndarray or sums.integers.dtype != np.int64:
        raise TypeError("sums must be integers")
    counted = type(sums.rows) is int and sums.rows >= 0 and isinstance(sums.share, int | float | None)
    if not counted or others not in (None, sums.integers.shape):
        raise TypeError("sums must be of rows, and of one question")
    return sums.integers.shape
