"""Who writes an entry: the user of this machine, as the system knows them, whatever the environment says."""

from __future__ import annotations

import getpass
import os
import platform

from dpcov.errors import ParameterError, shown
from dpcov.schema import is_broken

LONGEST = 2000  # characters of a name or a reason


def current_user() -> str:
    """Return who is logged in, and where."""
    return f"{_name()}@{platform.node()}"


def _name() -> str:
    if not hasattr(os, "getuid"):
        return getpass.getuser()
    import pwd  # not `getpass`, which believes $LOGNAME: whoever approves for another could say so there

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a number without a name
        return str(os.getuid())


def is_same_person(one: str, other: str) -> bool:
    """Whether two entries are by one user. Machines do not count: containers have new names each time."""
    return one.partition("@")[0] == other.partition("@")[0]


def person(who: str | None) -> str:
    """Return who is named, or the user of this machine."""
    return current_user() if who is None else checked_text("who", who, least=1)


def checked_name(name: object) -> str:
    """Return what a data set is to be called, or refuse a name that looks like another one on a screen."""
    text = checked_text("name", name, least=1)
    if not text.isprintable() or text != text.strip():
        raise ParameterError(
            f"name must be text that can be printed, without blanks at its ends, got {shown(name)}. Hint: 'adult'."
        )
    return text


def checked_text(name: str, text: object, *, least: int = 0) -> str:
    """Return a name or a reason, or refuse what no entry can hold."""
    if not isinstance(text, str) or not least <= len(text) <= LONGEST or is_broken(text) or "\0" in text:
        rule = f"text of {least} to {LONGEST} characters" if least else f"text of at most {LONGEST} characters"
        raise ParameterError(f"{name} must be {rule}, got {shown(text)}. Hint: it is kept in the ledger as it is.")
    return text
