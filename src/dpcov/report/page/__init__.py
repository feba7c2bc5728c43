"""One file that shows a release in any browser, without a network: overview, correlations, components, regressions, a plan.

A release is private, so the page may do anything with it. Numbers that do not change are computed here; regressions are solved
in the browser, by the same closed form. Names of columns and levels are anybody's: in the file they are JSON without a "<", on
the page text, and a content security policy runs nothing but the one script, whose hash it names.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
from html import escape
from importlib.resources import files
from typing import Any

from dpcov.release.groups import subject
from dpcov.release.record import Release
from dpcov.report.page.content import facts_of
from dpcov.report.page.overview import overview_of, title
from dpcov.report.pictures import budget_line

SCRIPTS = (
    "linalg.js", "noise.js", "ridge.js", "intervals.js", "read.js", "words.js", "draw.js", "means.js", "pairs.js",
    "heatmap.js", "components.js", "models.js", "explorer.js", "planner.js", "main.js",
)  # fmt: skip
"""The parts of the script, in one scope, each of which uses those before it."""


def page(release: Release) -> str:
    """Return the page of a release; of one that has groups, that of all of them together, whose n is their own."""
    about = subject(release)
    script = "'use strict';\n(() => {\n" + "\n".join(_part(name) for name in SCRIPTS) + "\n})();\n"
    style = _part("page.css")
    policy = "; ".join([
        "default-src 'none'", f"script-src {_hash(script)}", f"style-src {_hash(style)}", "img-src data:", "base-uri 'none'",
        "form-action 'none'",
    ])  # fmt: skip
    parts = {
        "POLICY": policy,
        "TITLE": escape(title(about)),
        "BUDGET": escape(budget_line(about.privacy)),
        "STYLE": style,
        "OVERVIEW": overview_of(about),
        "DATA": as_script(facts_of(about)),
        "SCRIPT": script,
    }
    first, *rest = _part("page.html").split("{{")  # what is put in is not looked at again
    return first + "".join(parts[name] + after for name, _, after in (piece.partition("}}") for piece in rest))


def write_page(release: Release, path: str | os.PathLike[str]) -> None:
    """Write the page of a release; the file appears whole or not at all, in place of one that was there."""
    from dpcov.paths import checked_path, write_whole

    target = checked_path(path)
    write_whole(target, page(release), hint="check the folder")


def as_script(facts: object) -> str:
    """Return JSON that no name can end early: a browser looks for "</script>" and "<!--" in it before it is read."""
    text = json.dumps(_known(facts), allow_nan=False, separators=(",", ":"))  # ASCII: no sign that turns the direction of text
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _known(facts: Any) -> Any:
    """Return facts in which what is not finite is None: the numbers of a file may be anything."""
    if isinstance(facts, dict):
        return {name: _known(fact) for name, fact in facts.items()}
    if isinstance(facts, list | tuple):
        return [_known(fact) for fact in facts]
    return None if isinstance(facts, float) and not math.isfinite(facts) else facts


def _part(name: str) -> str:
    return files("dpcov.report.page").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """Return the hash by which a policy names a script or style that stands in the page."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
