"""What a process of Linux can be kept from: the network, core dumps, files, and the eyes of others of its own user.

This module imports nothing of the library and no numpy: a user namespace can only be entered before a second thread runs.
"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import signal
import sys
import tempfile
from pathlib import Path

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000  # of sched.h
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS = 1, 4, 38  # of sys/prctl.h
NETWORK = Path("/proc/self/ns/net")


class NoWalls(Exception):  # noqa: N818 - it is no error of this library's: whoever catches it says what to do
    """One of the walls cannot be raised here; the words say which, and why."""


def put_up(parent: int, *, may_write: bool) -> None:
    """Raise all walls, or raise `NoWalls`: never fewer.

    Parameters
    ----------
    parent : int
        The process that started this one, with whose end this one ends.
    may_write : bool
        Whether this process may write to files: to a ledger. Else it can make empty ones at most.
    """
    if sys.platform != "linux":
        raise NoWalls("this system is not Linux")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _leave_the_network()
    _control("no new privileges", PR_SET_NO_NEW_PRIVS, 1)
    _control("the end with its parent", PR_SET_PDEATHSIG, signal.SIGKILL)  # after the namespace, which may undo it
    if os.getppid() != parent:  # it ended before
        os.kill(os.getpid(), signal.SIGKILL)
    if not may_write:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # an error, then, in place of a death
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    tempfile.tempdir = os.devnull  # nothing is made there
    _control("memory that others cannot read", PR_SET_DUMPABLE, 0)


def _leave_the_network() -> None:
    """Enter a network namespace of its own, whose loopback is down, too; the user stays who it is."""
    user, group, before = os.getuid(), os.getgid(), NETWORK.readlink()
    if _libc().unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0:
        raise NoWalls(f"no network namespace: {_why()}")
    try:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            number = os.open(f"/proc/self/{name}", os.O_WRONLY)
            os.write(number, text.encode())
            os.close(number)
    except OSError as error:
        raise NoWalls(f"no user namespace: {error.strerror}") from None
    if NETWORK.readlink() == before:
        raise NoWalls("no network namespace: the old one stayed")


def _control(what: str, option: int, value: int) -> None:
    if _libc().prctl(option, value, 0, 0, 0) != 0:
        raise NoWalls(f"no {what}: {_why()}")


def _why() -> str:
    """Say why a call of the system failed; what it says where namespaces are switched off would be of full disks."""
    number = ctypes.get_errno()
    return "switched off on this machine" if number in (errno.ENOSPC, errno.EUSERS) else os.strerror(number)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
