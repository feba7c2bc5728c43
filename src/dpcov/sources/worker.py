"""What runs in a process of a pool: it is told a question and parts, and adds their sums up.

It ends when its input ends, so none is left when the process that started it is gone, however that went.
"""

from __future__ import annotations

import io
import os
import pickle
import signal
import sys
from typing import Any, BinaryIO

import dpcov.errors
from dpcov.errors import DpcovError

BROKEN = "data must be readable to the end by each worker, got an error in one of them. Hint: try workers=1."


def serve(orders: BinaryIO, answers: BinaryIO) -> None:
    """Answer until the orders end.

    ``("ask", statistic)`` begins a sum, ``("add", part)`` is answered with the number of its rows, ``("total", None)`` with
    the sum over the parts of this worker, or None where it had none. An error is answered with its kind and its words.
    """
    from dpcov.kernel.sums import check_exact_blas

    statistic: Any = None
    total: Any = None
    while True:
        try:
            order, content = pickle.load(orders)
        except EOFError:
            return
        try:
            check_exact_blas()
            reply: object = None
            if order == "ask":
                statistic, total = content, None
            elif order == "add":
                found = content.sums(statistic)
                total = found.integers if total is None else total + found.integers
                reply = found.rows
            else:
                reply = total
            answer = ("", reply)
        except DpcovError as error:
            answer = (type(error).__name__, str(error))
        except Exception:  # its words may quote a cell
            answer = ("EngineError", BROKEN)
        pickle.dump(answer, answers, protocol=pickle.HIGHEST_PROTOCOL)
        answers.flush()


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
