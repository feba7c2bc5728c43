"""Where a ledger may be: on a disk of this machine, with its folder. Elsewhere locks do not hold, and two spends could pass."""

from __future__ import annotations

import re
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
