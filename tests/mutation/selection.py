"""Which bugs are planted: all of them, or those of files that changed on this branch.

A bug belongs to the file it is written down in, to those it is planted in and to those of the tests that catch it. What
changed is what differs, in the working tree, from where this branch left the main one. Every twentieth bug is planted where
what changed belongs to all of them: how bugs are planted, or what tests share. Without git, as in an unpacked source
distribution, nobody knows what changed: then these are all.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.mutation.mutants import MUTANTS, WRITTEN_IN

ROOT = Path(__file__).parents[2]
EVERY = 20
SHARED = ("conftest.py", "tests/mutation/", "tests/helpers/")
MAIN = ("origin/HEAD", "origin/main", "main", "origin/master", "master")


def chosen(which: str) -> tuple[list[str], str]:
    """Return the bugs to plant, and a line that says why these: ``which`` is all, changed or none."""
    names, among = list(MUTANTS), f"of {len(MUTANTS)} planted bugs"
    if which == "all":
        return names, f"all {among}"
    if which == "none":
        return [], f"none {among}"
    since = merge_base()
    if since is None:
        return names[::EVERY], f"every {EVERY}th {among}: without git nobody knows what changed (--plant all for all)"
    files = changed(since)
    sample = {*names[::EVERY]} if any(file.startswith(SHARED) for file in files) else set()
    names = [name for name in names if name in sample or concerns(name) & files]
    return names, f"{len(names)} {among}, those of files that changed since {since[:10]} (--plant all for all)"


def concerns(name: str) -> set[str]:
    """Return the files that a bug belongs to, from the root of the repository."""
    bug = MUTANTS[name]
    of_tests = {test.partition("::")[0] for test in bug.caught_by}
    return {WRITTEN_IN[name], *of_tests, *(f"src/dpcov/{edit.file}" for edit in bug.edits)}


def merge_base() -> str | None:
    """Return the commit where this branch left the main one; None where there is no telling."""
    for main in MAIN:
        if found := git("merge-base", "HEAD", main):
            return found[0]
    return None


def changed(since: str) -> set[str]:
    """Return the files that differ from a commit, new ones too."""
    return {*git("diff", "--name-only", "--no-renames", since), *git("ls-files", "--others", "--exclude-standard")}


def git(*words: str) -> list[str]:
    """Return the lines that git says; none where it fails or there is no git."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", "-c", "core.quotepath=off", *words]
    try:
        run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    except OSError:
        return []
    # A folder of a source distribution may lie in a repository of somebody else.
    return run.stdout.splitlines() if run.returncode == 0 and (ROOT / ".git").exists() else []
