"""Where a ledger may be: on a disk of this machine. Locks of network file systems do not hold, and two spends could pass."""

from __future__ import annotations

import re
from pathlib import Path

from dpcov.errors import EngineError

NETWORK = re.compile(
    r"(fuse\.)?(nfs|cifs|smb|ncpfs|9p|virtiofs|afs|ceph|gluster|lustre|gpfs|beegfs|gfs|ocfs|orangefs|pvfs|moosefs|mfs|juicefs"
    r"|vboxsf|vmhgfs|prl_fs|grpcfuse|osxfs|sshfs|s3fs|gcsfuse|davfs|rclone)"
)
"""How the names of file systems begin that several machines share, as Linux has them."""

MOUNTS = Path("/proc/self/mountinfo")


def refuse_network(path: Path) -> None:
    """Refuse a place on a network file system, where this system tells."""
    kind = "a network share" if str(path).startswith(("\\\\", "//")) else _kind(path)
    if kind is not None:
        raise EngineError(
            f"ledger must be on a disk of this machine, got {path.name!r} on {kind}, whose locks do not hold. "
            f"Hint: keep it on the machine that makes the releases, and copy `dpcov ledger export` to the share."
        )


def _kind(path: Path) -> str | None:
    """Return the name of the network file system that holds a path; None of any other, and where nobody tells."""
    try:
        lines = MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()
        place = path.resolve()
    except OSError:
        return None
    found = ("", "")
    for line in lines:
        before, _, after = line.partition(" - ")
        mounted, kind = _unescaped(before.split(" ")[4]), after.split(" ")[0]
        if place.is_relative_to(mounted) and len(mounted) >= len(found[0]):  # of two at one place the later one is seen
            found = (mounted, kind)
    return found[1] if NETWORK.match(found[1]) else None


def _unescaped(text: str) -> str:
    """Return a path as it is: blanks stand as octal numbers there."""
    return re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), text)
