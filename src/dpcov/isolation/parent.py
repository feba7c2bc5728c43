"""A release made by another process, which alone holds the rows: what comes back is checked as a stranger's file is."""

from __future__ import annotations

import inspect
import json
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from io import FileIO
from time import monotonic, sleep
from typing import IO, Any

import dpcov.errors
from dpcov.custody.ledger import DataSet
from dpcov.errors import DpcovError, EngineError, ParameterError, ReleaseError, printable, shown
from dpcov.isolation.child import MEMORY, WALLS
from dpcov.release.file import parse
from dpcov.release.record import Release
from dpcov.sources.csv_text import Csv
from dpcov.sources.places import is_remote

TARGETS = ("covariance", "mean", "pca", "ridge")
LARGEST = 2**30  # bytes of an answer: a release of 4096 columns has 70 MB
LONGEST = 2000  # characters of an error's words
START = "import sys; sys.path[:] = {paths!r}; from dpcov.isolation.child import main; main({parent}, {orders}, {answers})"
KEPT = ("PATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ")
"""What the other process gets of the environment, which others of the same user can read, and numbers of threads."""

DECLARED = {name for name, kind in vars(dpcov.errors).items() if isinstance(kind, type) and issubclass(kind, DpcovError)}


def isolated(function: Callable[..., Release], data: str | os.PathLike[str], *arguments: Any, **settings: Any) -> Release:
    """Release from a file in a process of its own, which has no network, leaves no core dump, and is killed afterwards.

    This process never holds a row: it is handed the finished release, and checks it as `load` checks a stranger's file. The
    other one is started anew, gets the path, and has no network (not even loopback), no core dump, no file that it could
    write to but the ledger, and memory that other processes of the same user cannot read. Where one of these cannot be had
    nothing is read, and nothing is spent: docs/signing-and-isolation.md says what each is worth.

    Parameters
    ----------
    function : `covariance`, `mean`, `pca` or `ridge`
        What is to be released.
    data : path or Csv
        A file or folder on this machine. Rows in this process's memory cannot be isolated from it.
    *arguments, **settings
        As ``function`` takes them. Not ``progress``, and ``workers`` must be 1; ``mechanism`` is a name. A ``ledger`` is opened
        by its path in the other process, and charged there.

    Returns
    -------
    Release
        As ``function`` returns it.

    Raises
    ------
    EngineError
        This system cannot isolate a process, or the other one ended before its answer. Without a ledger nothing is lost then:
        what was drawn is gone, and nobody saw it. With one the budget may have been spent.
    DpcovError
        Whatever ``function`` raises.

    Examples
    --------
    >>> import dpcov
    >>> release = dpcov.isolated(dpcov.covariance, "adult.csv", dpcov.ZCDP("0.1"), schema=schema)  # doctest: +SKIP
    >>> dpcov.isolated(dpcov.covariance, [[0.5, 0.5]], dpcov.ZCDP("0.1"), row_norm=1)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    dpcov.errors.ParameterError: data must be a file or folder on this machine to be isolated, got a list. Hint: ...
    """
    order = _order(function, data, arguments, settings)
    answer = _answered(order)
    failed, said = answer.get("failed"), printable(answer.get("said", ""), LONGEST)
    if failed is None:
        return _checked(answer)
    if failed == WALLS:
        raise EngineError(
            f"isolated must be on a system that can isolate a process, got {said}. "
            f"Hint: docs/signing-and-isolation.md says what is needed; a release that is not isolated needs none of it."
        )
    if failed == MEMORY:
        raise EngineError("memory must hold the matrices, and is too small. Hint: use fewer columns.")
    if failed not in DECLARED:
        raise EngineError(
            "the isolated process must end in a release, got an error that is not one of dpcov's. Nothing was published. "
            "Hint: report this line; the rest could quote data."
        )
    error: DpcovError = getattr(dpcov.errors, failed)(said)
    if "release" in answer:
        error.release = _checked(answer)  # type: ignore[attr-defined]
    raise error


def _order(function: object, data: object, arguments: tuple[Any, ...], settings: dict[str, Any]) -> bytes:
    """Return what is asked of the other process, or refuse it: its first letter says whether it may write to files."""
    import dpcov

    target = next((name for name in TARGETS if function is getattr(dpcov, name)), None)
    if target is None:
        raise ParameterError(
            f"function must be dpcov.covariance, dpcov.mean, dpcov.pca or dpcov.ridge, got {shown(function)}. "
            f"Hint: dpcov.isolated(dpcov.covariance, 'people.csv', budget, ...)."
        )
    path = data.path if isinstance(data, Csv) else data
    if not isinstance(path, str | os.PathLike) or is_remote(os.fspath(path)):
        got = "an address, which needs the network" if isinstance(path, str | os.PathLike) else f"a {type(data).__name__}"
        raise ParameterError(
            f"data must be a file or folder on this machine to be isolated, got {got}. Hint: bring the rows into a file."
        )
    try:
        given = inspect.signature(getattr(dpcov, target)).bind(data, *arguments, **settings).arguments
    except TypeError as error:  # its words are about names of arguments
        raise ParameterError(
            f"arguments must be those of dpcov.{target}, got others ({error}). Hint: help(dpcov.{target})."
        ) from None
    options = given.pop("options", {})
    named = {**given, **options}
    del named["data"]
    if named.pop("progress", None) is not None:
        raise ParameterError(
            "progress must be left out when isolated, got a function. Hint: nothing but the release comes back."
        )
    if named.get("workers", 1) != 1:
        raise ParameterError(
            f"workers must be 1 when isolated, got {shown(named['workers'])}. Hint: one process holds rows, and no other."
        )
    if not isinstance(named.get("mechanism", ""), str | None):
        raise ParameterError(
            "mechanism must be a name when isolated, got an object. Hint: it would have to cross into the process."
        )
    ledger = named.pop("ledger", None)
    if ledger is not None and not isinstance(ledger, DataSet):
        raise ParameterError(f"ledger must be a data set of one, got {shown(ledger)}. Hint: dpcov.Ledger(FILE).dataset(NAME).")
    charged = None if ledger is None else (str(ledger.ledger.path.absolute()), ledger.name, ledger.why, ledger.who)
    order = {"target": target, "data": data, "settings": named, "ledger": charged}
    try:
        return (b"r" if ledger is None else b"w") + pickle.dumps(order, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception:  # of whatever kind: a function, a lock
        raise ParameterError(
            "arguments must be plain values to be isolated, got one that cannot cross into a process. "
            "Hint: numbers, text and lists can."
        ) from None


def _answered(order: bytes) -> dict[str, str]:
    """Start the other process, hand it the order, and return its one answer; it is dead in the end, whatever happens."""
    if sys.platform != "linux":
        return {"failed": WALLS, "said": "this system is not Linux"}
    (theirs, orders), (answers, mine) = os.pipe(), os.pipe()
    text = START.format(paths=sys.path, parent=os.getpid(), orders=theirs, answers=mine)
    environment = {name: value for name, value in os.environ.items() if name in KEPT or name.endswith("_NUM_THREADS")}
    with os.fdopen(orders, "wb", buffering=0) as told, os.fdopen(answers, "rb") as heard:
        try:
            process = subprocess.Popen(
                [sys.executable, "-I", "-B", "-X", "faulthandler=0", "-c", text],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs, mine),
                env=environment,
                start_new_session=True,  # an interrupt is this process's matter
            )
        except OSError as error:
            raise EngineError(
                f"isolated must be in a process that can be started, got {error.strerror}. Hint: fewer others."
            ) from None
        finally:
            os.close(theirs)
            os.close(mine)
        try:
            answer = _exchange(order, told, heard)
            if not answer.endswith(b"}"):
                _await(process)  # how it ends by itself is worth knowing
        finally:
            _end(process)
            ended = process.wait()
    return _read(answer, ended)


def _await(process: subprocess.Popen[bytes]) -> None:
    """Give a process a second to end; it is not reaped, so that its number stays that of its group."""
    until = monotonic() + 1
    while monotonic() < until and os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        sleep(0.01)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and all that it started: it leads a group of its own."""
    with suppress(ProcessLookupError, PermissionError):  # the group is empty
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def _exchange(order: bytes, told: FileIO, heard: IO[bytes]) -> bytes:
    left = memoryview(order)
    with suppress(BrokenPipeError):  # it ended before: there is no answer then
        while left:
            left = left[told.write(left) :]
    told.close()
    return heard.read(LARGEST + 1)


def _read(text: bytes, ended: int) -> dict[str, str]:
    """Return an answer: an object of texts; say how the process ended where there is none."""
    if len(text) > LARGEST:
        raise EngineError("an isolated release must have at most 1 GiB, got more. Hint: use fewer columns.")
    try:
        answer = json.loads(text)
        sound = isinstance(answer, dict) and all(isinstance(value, str) for value in answer.values())
    except (ValueError, RecursionError):
        sound = False
    if sound and answer.keys() & {"failed", "release"}:
        return dict(answer)
    how = "before its answer" if ended >= 0 else f"by {_signal(-ended)}"
    raise EngineError(
        f"the isolated process must live until it has answered, got one that ended {how}. Nothing was published. "
        f"Hint: where memory is short, use fewer columns; a ledger may have been charged."
    )


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _checked(answer: dict[str, str]) -> Release:
    """Return the release in an answer, read as strictly as a file."""
    try:
        return parse(answer["release"])
    except (KeyError, ReleaseError):
        raise EngineError(
            "the isolated process must answer with a release, got something else. Nothing was published. "
            "Hint: report this line."
        ) from None
