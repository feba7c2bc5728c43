"""Run the blocks of a page in their order, and write what they print into the blocks below them.

python docs/run_page.py docs/hospital.md            writes the page anew
python docs/run_page.py docs/hospital.md --check    says whether it is what its code prints

A block that is marked ``sh run`` or ``python run`` runs in a folder that looks like a checkout; a block marked ``text`` right
below it is what it printed. Shell blocks run first; Python blocks share their names, as in a notebook, and find their files.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```(sh run|python run)\n(.*?)^```\n(?:```text\n(?:.*?)^```\n)?", flags=re.DOTALL | re.MULTILINE)
BETWEEN = "--- the next block ---"


def refreshed(text: str, folder: Path) -> str:
    """Return a page with what its blocks print now; they run in the folder, and leave their files there."""
    (folder / "examples").symlink_to(ROOT / "examples")
    blocks = [found.groups() for found in BLOCK.finditer(text)]
    shell = [_output(["sh", "-e", "-c", block], folder) for kind, block in blocks if kind == "sh run"]
    code = f"\nprint({BETWEEN!r})\n".join(block for kind, block in blocks if kind == "python run")
    python = _output([sys.executable, "-c", code], folder).split(f"{BETWEEN}\n")
    said = {"sh run": iter(shell), "python run": iter(python)}

    def with_output(found: re.Match[str]) -> str:
        kind, block = found.groups()
        printed = "".join(f"{line.rstrip()}\n" for line in next(said[kind]).splitlines())
        return f"```{kind}\n{block}```\n" + (f"```text\n{printed}```\n" if printed else "")

    return BLOCK.sub(with_output, text)


def _output(words: Sequence[str], folder: Path) -> str:
    """Run a program as a newcomer does, with this environment's `dpcov` on the path; a warning of Python's is an error."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "PYTHONWARNINGS": "error", "PYTHONPATH": str(folder), "COLUMNS": "100"}
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{words[-1]}\n{done.stderr}")
    return done.stdout


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, run the page, write or compare it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=Path)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where the page is not what its code prints")
    given = parser.parse_args(arguments)
    before = given.page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        after = refreshed(before, Path(folder))
    if given.check and after != before:
        parser.exit(1, f"{given.page} is not what its code prints: run `python docs/run_page.py {given.page}`\n")
    if not given.check:
        given.page.write_text(after, encoding="utf-8")


if __name__ == "__main__":
    main()
