"""A pool of processes on this machine, each with one thread of its own for products of matrices.

Processes are started anew (never forked, so locks and random states are not inherited), read parts of files themselves, and
keep their sums until all parts are done. One that dies ends the reading with an `EngineError`: its sum is lost, and a sum
without some rows must never be answered. They end with the pool, and by themselves where this process is gone.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterable, Iterator
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

from dpcov.errors import DpcovError, EngineError, ParameterError, shown
from dpcov.kernel.questions.measure import Summable
from dpcov.sources.split import Part, PartSums
from dpcov.sources.user_map import Map
from dpcov.sources.worker import raised

MOST_WORKERS = 256
AHEAD = 2  # parts for each worker that are cut before they are needed: enough that none waits
THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "ARROW_NUM_THREADS")
START = "import sys; sys.path[:] = {paths!r}; from dpcov.sources.worker import main; main()"


def checked_workers(workers: object) -> int | Map:
    """Return a number of processes or a function that lends some, or refuse what is neither."""
    if callable(workers) and not isinstance(workers, type):
        return workers
    if type(workers) is not int or not 1 <= workers <= MOST_WORKERS:
        raise ParameterError(
            f"workers must be a whole number from 1 to {MOST_WORKERS}, or a function such as pool.map, got {shown(workers)}. "
            f"Hint: the number of cores; 1 starts no process."
        )
    return workers


class Pool:
    """So many processes, started when they are first needed."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._processes: list[subprocess.Popen[bytes]] = []
        self._end = weakref.finalize(self, _kill, self._processes)

    def run(self, statistic: Summable, parts: Iterable[Part]) -> Iterator[PartSums]:
        """Yield the rows of each part when it is done, and the sums of each process at the end."""
        self._start()
        orders: SimpleQueue[Part | None] = SimpleQueue()
        results: SimpleQueue[PartSums | DpcovError] = SimpleQueue()
        question = pickle.dumps(("ask", statistic), protocol=pickle.HIGHEST_PROTOCOL)
        for process in self._processes:
            threading.Thread(target=_drive, args=(process, question, orders, results), daemon=True).start()
        waiting = 0
        try:
            for part in parts:
                orders.put(part)
                waiting += 1
                if waiting > AHEAD * self._workers:
                    yield _taken(results)
                    waiting -= 1
            for _ in self._processes:
                orders.put(None)
            for _ in range(waiting + self._workers):
                yield _taken(results)
        except BaseException:  # an interrupt, too: what is running has no reader any more
            self.close()
            for _ in range(self._workers):
                orders.put(None)  # wakes the threads that wait
            raise

    def close(self) -> None:
        """End all processes; they hold nothing that is worth waiting for."""
        _kill(self._processes)

    def _start(self) -> None:
        environment = os.environ | dict.fromkeys(THREADS, "1")
        command = [sys.executable, "-c", START.format(paths=sys.path)]
        try:
            while len(self._processes) < self._workers:
                self._processes.append(
                    subprocess.Popen(
                        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
                    )
                )
        except OSError as error:
            self.close()
            raise EngineError(
                f"workers must be processes that this machine can start, got an error ({error.strerror}). Hint: fewer workers."
            ) from None


def _drive(process: subprocess.Popen[bytes], question: bytes, orders: Any, results: Any) -> None:
    """Tell one process what to do, from a thread of this one, until there is nothing left or something fails."""
    try:
        _answer(process, question)
        while (part := orders.get()) is not None:
            results.put(PartSums(None, _answer(process, ("add", part)), part.share))
        results.put(PartSums(_answer(process, ("total", None)), 0))
    except DpcovError as error:
        results.put(error)
    except Exception:  # a pipe that broke, an answer that was cut short
        results.put(
            EngineError(
                "workers must stay alive until the rows are read, got one that ended before. "
                "Hint: where memory is short, fewer workers need less of it."
            )
        )


def _answer(process: subprocess.Popen[bytes], order: object) -> Any:
    """Send an order, and wait for its answer."""
    assert process.stdin is not None
    assert process.stdout is not None
    content = order if isinstance(order, bytes) else pickle.dumps(order, protocol=pickle.HIGHEST_PROTOCOL)
    process.stdin.write(content)
    process.stdin.flush()
    kind, answer = pickle.load(process.stdout)
    if kind:
        raise raised(kind, answer)
    return answer


def _taken(results: Any) -> PartSums:
    """Return what a process told, or raise it."""
    found = results.get()
    if isinstance(found, DpcovError):
        raise found
    assert isinstance(found, PartSums)
    return found


def _kill(processes: list[subprocess.Popen[bytes]]) -> None:
    while processes:
        process = processes.pop()
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            assert stream is not None
            with suppress(OSError):  # what was still to be written has no reader
                stream.close()
