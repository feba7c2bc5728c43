"""What runs in a process of a pool: it is told a question and parts, and adds their sums up.

It ends when its input ends, so none is left when the process that started it is gone, however that went. How errors of workers
become words is here for all engines.
"""

from __future__ import annotations

import io
import os
import pickle
import signal
import sys
from collections.abc import Callable
from typing import Any, BinaryIO, TypeVar

import dpcov.errors
from dpcov._version import __version__
from dpcov.errors import DpcovError, EngineError

BROKEN = "data must be readable to the end by each worker, got an error in one of them. Hint: try workers=1."

Made = TypeVar("Made")
Failure = tuple[str, str]
"""The kind and the words of an error, which are this library's."""


def serve(orders: BinaryIO, answers: BinaryIO) -> None:
    """Answer until the orders end.

    ``("ask", statistic)`` begins a sum, ``("add", part)`` is answered with the number of its rows, ``("total", None)`` with
    the sum over the parts of this worker, or None where it had none. An error is answered with its kind and its words.
    """
    from dpcov.kernel.sums import check_exact_blas

    statistic: Any = None
    total: Any = None

    def follow(order: str, content: Any) -> Any:
        nonlocal statistic, total
        check_exact_blas()
        if order == "ask":
            statistic, total = content, None
            return None
        if order == "total":
            return total
        found = content.sums(statistic)
        total = found.integers if total is None else total + found.integers
        return found.rows

    while True:
        try:
            order, content = pickle.load(orders)
        except EOFError:
            return
        reply, failure = in_words(lambda: follow(order, content))  # noqa: B023 - called at once
        pickle.dump(("", reply) if failure is None else failure, answers, protocol=pickle.HIGHEST_PROTOCOL)
        answers.flush()


def in_words(work: Callable[[], Made], broken: str = BROKEN) -> tuple[Made | None, Failure | None]:
    """Return what a worker makes, or its error in words; never raise, since others log what is raised, cells and all."""
    try:
        return work(), None
    except DpcovError as error:
        return None, (type(error).__name__, str(error))
    except Exception:  # its words may quote a cell
        return None, (EngineError.__name__, broken)


def check_version(version: str) -> None:
    """Refuse to work for a process that has another version of this library."""
    if version != __version__:
        raise EngineError(
            f"workers must have dpcov {version}, as the process that asks, got {__version__}. "
            f"Hint: install the same version everywhere."
        )


def raised(kind: str, words: str) -> DpcovError:
    """Return an error that a worker told."""
    error: DpcovError = getattr(dpcov.errors, kind)(words)
    return error


def main() -> None:  # pragma: no cover - runs in a process of its own
    """Serve on the standard streams, which nobody else then writes to; an interrupt is the other process's matter."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.dup(1)
    os.dup2(2, 1)
    with io.BufferedWriter(io.FileIO(answers, "w")) as written:
        serve(sys.stdin.buffer, written)
