"""Code that runs in place of a release, in a process that has raised its walls: what can it still do?"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from dpcov.isolation import parent

HEAD = "import sys; sys.path[:] = {paths!r}; from dpcov.isolation import child\n"
TAIL = "\nchild._answer = probe\nchild.main({parent}, {orders}, {answers})"
EMPTY = b"r"  # an order; its letter says that nothing may be written


def probed(monkeypatch: pytest.MonkeyPatch, code: str, order: bytes = EMPTY) -> Any:
    """Return what ``said()`` of the code tells, a value that JSON has, asked in an isolated process."""
    body = f"import json\n{code}\ndef probe(asked):\n    return dict(failed='probe', said=json.dumps(said()))"
    replaced(monkeypatch, body)
    answer = parent._answered(order)
    assert answer["failed"] == "probe", answer
    return json.loads(answer["said"])


def replaced(monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    """Let isolated processes run ``probe(asked)`` of the code in place of what they are asked for."""
    monkeypatch.setattr(parent, "START", HEAD + body.replace("{", "{{").replace("}", "}}") + TAIL)


def can_isolate() -> bool:
    """Whether this machine lets a process leave the network: containers often do not."""
    code = "from dpcov.isolation.walls import put_up; import os; put_up(os.getppid(), may_write=False)"
    return subprocess.run([sys.executable, "-c", code], stderr=subprocess.DEVNULL).returncode == 0


needs_walls = pytest.mark.skipif(not can_isolate(), reason="this machine isolates no process: no user or network namespaces")
