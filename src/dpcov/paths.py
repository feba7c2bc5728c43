"""Files: names checked early, contents written whole or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import BinaryIO

from dpcov.errors import EngineError, ParameterError, shown

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]

PATIENCE = 10.0  # seconds to wait for another process, which writes for less than one
MOST_BYTES = 2**24  # of a secret file
IN_MEMORY = "what was to be written is still in memory; save it elsewhere"

_asking = threading.Lock()


def checked_path(path: object) -> Path:
    """Refuse what cannot be the name of a file."""
    hint = "pass a file name such as 'release.json'"
    if not isinstance(path, str | os.PathLike):
        raise ParameterError(f"path must be text or a Path, got {shown(path)}. Hint: {hint}.")
    checked = Path(path)
    try:
        os.fsencode(checked)
        named = bool(checked.name) and "\0" not in str(checked)
    except UnicodeEncodeError:
        named = False
    if not named:
        raise ParameterError(f"path must be the name of a file, got {shown(str(checked))}. Hint: {hint}.")
    return checked


def write_whole(target: Path, content: str | bytes, *, name: str = "path", hint: str = IN_MEMORY) -> None:
    """Write to a temporary file in the same folder, then rename: never half a file.

    Others may be able to write to the folder, and plant a link where a file is to be opened. So the temporary file is a new one
    (O_EXCL), under a name that nobody can foresee, for its owner alone; and a link in place of the target is replaced, not
    followed. In the end the file has the permissions of the one that it replaces, or, where there was none, those that the
    umask leaves: what this library writes is made to be passed on.
    """
    _write(target, content, name, hint, lambda partial: partial.replace(target))


def write_new(target: Path, content: str, *, name: str, hint: str) -> bool:
    """Write a file that is not there yet, whole or not at all; whether it was new. Of two processes one makes it."""
    try:
        _write(target, content, name, hint, target.hardlink_to)  # unlike a rename it replaces nothing
    except FileExistsError:
        return False
    return True


def _write(target: Path, content: str | bytes, name: str, hint: str, put: Callable[[Path], object]) -> None:
    """Write a temporary file, and put it in its place."""
    try:
        number, temporary = tempfile.mkstemp(prefix=".dpcov-", suffix=".partial", dir=target.parent)
        partial = Path(temporary)
        try:
            with os.fdopen(number, "wb") as file:
                file.write(content.encode() if isinstance(content, str) else content)
                file.flush()
                os.fsync(file.fileno())
                if hasattr(os, "fchmod"):  # of the open file: its name may have become a link to another
                    os.fchmod(file.fileno(), _permissions(target))
            put(partial)
        finally:
            partial.unlink(missing_ok=True)
    except FileExistsError:
        raise
    except OSError as error:
        raise EngineError(
            f"{name} must be a file that can be written, got {str(target)!r} ({error.strerror}). Hint: {hint}."
        ) from None


def make_private(path: Path) -> None:
    """Make an empty file for its owner alone, where there is none; leave one that is there, whatever it is."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return


def _permissions(target: Path) -> int:
    """Return those of the file that is there, not of what a link leads to; or those of a new one."""
    try:
        found = target.lstat().st_mode
    except FileNotFoundError:
        found = 0
    if stat.S_ISREG(found):
        return found & 0o777
    with _asking:  # the umask can be read only by setting it: to the strictest, in case a file is created meanwhile
        umask = os.umask(0o077)
        os.umask(umask)
    return 0o666 & ~umask


def write_secret(target: Path, content: bytes, *, name: str) -> None:
    """Write a new file that nobody but its owner can read; a file or link that is there already is refused, not replaced."""
    try:
        number = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except FileExistsError:
        raise ParameterError(
            f"{name} must be the name of a new file, got {str(target)!r}, which exists. Hint: choose a new name."
        ) from None
    except OSError as error:
        raise EngineError(
            f"{name} must be a file that can be written, got {str(target)!r} ({error.strerror}). Hint: check the folder."
        ) from None
    try:
        with os.fdopen(number, "wb", closefd=False) as file:
            file.write(content)
        os.fsync(number)
    except OSError as error:
        target.unlink(missing_ok=True)
        raise EngineError(
            f"{name} must be a file that can be written, got {str(target)!r} ({error.strerror}). Hint: check the disk."
        ) from None
    finally:
        os.close(number)


@contextmanager
def one_at_a_time(path: Path, name: str) -> Iterator[None]:
    """Wait until no other process is here for the same file: of two that read and then write, one would undo the other."""
    with path.open("rb") as file:
        until = monotonic() + PATIENCE
        while fcntl is not None and not _locked(file):
            if monotonic() > until:
                raise EngineError(
                    f"{name} must be written by one process at a time, got another that holds {path.name!r}. Hint: try again."
                )
            sleep(0.01)
        yield


def _locked(file: BinaryIO) -> bool:
    """Whether a file could be locked; one of a file system without locks counts as such."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def first_bytes(path: Path, most: int) -> bytes:
    """Return what a file begins with, however much there is of it."""
    with path.open("rb") as file:
        return file.read(most)


def private_text(path: Path, what: str = "exact sums") -> str:
    """Return what a file holds that nobody but its owner, who is asking, can read, and that has no other name."""
    rule = f"{what} must be in a file that only you can read"
    try:  # a pipe would be waited for
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        hint = "check the path" if isinstance(error, FileNotFoundError) else "chmod 600 FILE"
        raise EngineError(f"{rule}, got {path.name!r} ({error.strerror}). Hint: {hint}.") from None
    try:
        about = os.fstat(number)
        own = not hasattr(os, "getuid") or about.st_uid == os.getuid()
        if not stat.S_ISREG(about.st_mode) or not own or about.st_mode & 0o077:
            raise EngineError(f"{rule}, got {path.name!r}, which others can. Hint: chmod 600 {path.name}.")
        if about.st_nlink > 1:  # they would stay there when this name is deleted
            raise EngineError(f"{rule}, got {path.name!r}, which has other names. Hint: keep one of them.")
        if about.st_size > MOST_BYTES:
            raise EngineError(f"{rule}, of at most 16 MB, got {path.name!r}, which is larger. Hint: bring the one cell back.")
        with os.fdopen(number, "rb", closefd=False) as file:
            return file.read(MOST_BYTES).decode("ascii", "replace")
    finally:
        os.close(number)
