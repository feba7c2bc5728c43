"""The process that holds the rows: it raises its walls, reads what is asked of it, and answers once.

It answers in JSON, with a release, or with an error of this library in the library's own words. Whatever else goes wrong has
words that may quote a cell: of it only the kind is told.
"""

from __future__ import annotations

import json
import os
import pickle
from typing import Any

from dpcov.isolation.walls import NoWalls, put_up

MEMORY, BUG, WALLS = "memory", "bug", "walls"


def main(parent: int, orders: int, answers: int) -> None:  # pragma: no cover - runs in a process of its own
    """Answer one order; the numbers are those of the process that started this one, and of the two pipes."""
    os.set_inheritable(answers, False)  # no program that this one starts can answer, or keep the other waiting
    with os.fdopen(orders, "rb") as source:
        asked = source.read()
    try:
        put_up(parent, may_write=bool(asked[:1] == b"w"))
    except NoWalls as error:
        answer: dict[str, str] = {"failed": WALLS, "said": str(error)}
    else:
        answer = _answer(asked[1:])
    with os.fdopen(answers, "wb") as target:
        target.write(json.dumps(answer).encode("ascii"))


def _answer(asked: bytes) -> dict[str, str]:
    """Make the release that is asked for."""
    from dpcov.errors import DpcovError

    try:
        return {"release": _made(**pickle.loads(asked))}
    except DpcovError as error:
        answer = {"failed": type(error).__name__, "said": str(error)}
        if hasattr(error, "release"):  # paid for, and the ledger could not note it
            from dpcov.release.file import text_of

            answer["release"] = text_of(error.release)
        return answer
    except MemoryError:
        return {"failed": MEMORY}
    except BaseException:
        return {"failed": BUG}


def _made(target: str, data: Any, settings: dict[str, Any], ledger: tuple[str, str, str, str] | None) -> str:
    from dpcov import Ledger, api
    from dpcov.release.file import text_of

    if ledger is not None:
        path, name, why, who = ledger
        settings["ledger"] = Ledger(path).dataset(name, why=why, who=who)
    return text_of(getattr(api, target)(data, **settings))
