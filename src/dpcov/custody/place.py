"""Where a ledger may be: on a disk of this machine, with its folder. Elsewhere locks do not hold, and two spends could pass."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import NoReturn

from dpcov.errors import EngineError

NETWORK = re.compile(
    r"(fuse\.)?(nfs|cifs|smb|ncpfs|9p|virtiofs|afs|ceph|gluster|lustre|gpfs|beegfs|gfs|ocfs|orangefs|pvfs|moosefs|mfs|juicefs"
    r"|vboxsf|vmhgfs|prl_fs|grpcfuse|osxfs|sshfs|s3fs|gcsfuse|davfs|rclone|blobfuse|goofys|mountpoint-s3|seaweedfs|wekafs"
    r"|panfs|xtreemfs)"
)
"""How the names of file systems begin that several machines share, as Linux has them."""

MOUNTS = Path("/proc/self/mountinfo")


def refuse_place(path: Path) -> None:
    """Refuse a place where locks do not hold, as far as this system tells: a network share, or a file that is a mount itself.

    SQLite keeps its log and its locks beside the file. A file that is mounted alone, as containers do, has others there.
    """
    if str(path).startswith(("\\\\", "//")):
        _refuse_share(path, "a network share")
    mounted, kind = _mount_of(path)
    if NETWORK.match(kind):
        _refuse_share(path, kind)
    if mounted is not None and mounted.is_file():
        raise EngineError(
            f"ledger must be in a folder that is mounted as a whole, got {path.name!r}, a file that is mounted by itself: "
            f"its log stays behind. Hint: mount the folder that the ledger is in."
        )


def _refuse_share(path: Path, kind: str) -> NoReturn:
    raise EngineError(
        f"ledger must be on a disk of this machine, got {path.name!r} on {kind}, whose locks do not hold. "
        f"Hint: keep it on the machine that makes the releases, and copy `dpcov ledger export` to the share."
    )


def _mount_of(path: Path) -> tuple[Path | None, str]:
    """Return where the file system that holds a path is mounted, and of what kind it is; nothing where nobody tells."""
    try:
        lines = MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()
        place = path.resolve()
    except OSError:
        return None, ""
    found = ("", "")
    for line in lines:
        before, _, after = line.partition(" - ")
        mounted, kind = _unescaped(before.split(" ")[4]), after.split(" ")[0]
        if place.is_relative_to(mounted) and len(mounted) >= len(found[0]):  # of two at one place the later one is seen
            found = (mounted, kind)
    return Path(found[0]), found[1]


def _unescaped(text: str) -> str:
    """Return a path as it is: blanks stand as octal numbers there."""
    return re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), text)


def refuse_odd(path: Path) -> None:
    """Refuse what is no file of its own: a folder, a pipe, or one of several names, each of which would have its own log."""
    try:
        about = path.stat()
    except FileNotFoundError:
        raise EngineError(f"ledger must exist, got {str(path)!r}. Hint: `dpcov ledger init` makes one.") from None
    except OSError as error:
        raise unusable(path, str(error.strerror)) from None
    if not stat.S_ISREG(about.st_mode):
        raise EngineError(f"ledger must be a file, got {path.name!r}, which is none. Hint: `dpcov ledger init FILE` makes one.")
    if about.st_nlink > 1:
        raise EngineError(
            f"ledger must be a file with one name, got {path.name!r}, a hard link. "
            f"Hint: keep one of its names; a symbolic link may lead there."
        )
    if not os.access(path, os.R_OK | os.W_OK):  # else SQLite makes a log that belongs to whoever looked, and stays
        raise unusable(path, "no permission")


def unusable(path: Path, said: str) -> EngineError:
    """Return the error for a file that cannot be read or written, with what the system says of it."""
    return EngineError(
        f"ledger must be a file that can be read and written, got {str(path)!r} ({said}). "
        f"Hint: check the path; its folder must exist and be writable."
    )
