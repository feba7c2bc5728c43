"""A copy of the package with a bug in it, and the tests that must catch it, run against the copy.

The copy has files of its own where the bug is, and links to the package for all else: to copy and delete hundreds of files
took longer than most tests that catch a bug.

Each run is a process of its own. Where that is safe it is forked from one that has imported the libraries (`warm`): to
import them again took longer than most tests that catch a bug. The package itself is imported in the new process.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.mutation.mutants import MUTANTS, Edit

ROOT = Path(__file__).parents[2]
OPTIONS = ["-q", "-rf", "--no-header", "--tb=no", "-x", "-p", "no:cacheprovider", "-p", "_hypothesis_pytestplugin"]
OPTIONS += ["--assert=plain"]  # that it fails is asked, not why

MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""Where copies are made: in memory where Linux offers it, as a disk takes a hundred times as long to make and delete links."""

if sys.platform == "linux":
    PROCESSES = multiprocessing.get_context("forkserver")
    PROCESSES.set_forkserver_preload(["tests.mutation.warm"])
else:
    PROCESSES = multiprocessing.get_context("spawn")


def verdict(name: str) -> str | None:
    """Run the tests that must catch a bug against a copy that has it; say which of them did not fail."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        plant(name, Path(folder))
        for test in MUTANTS[name].caught_by:
            run = against(Path(folder), test)
            if run.code != pytest.ExitCode.TESTS_FAILED or f"FAILED {test}" not in run.said:
                return f"{test} did not fail:\n{run.said[-2000:]}"
    return None


def plant(name: str, folder: Path) -> None:
    """Copy the package and put the bug in."""
    copy(folder)
    for edit in MUTANTS[name].edits:
        write(folder, edit.file, edited((folder / "dpcov" / edit.file).read_text(encoding="utf-8"), edit))


def edited(text: str, edit: Edit) -> str:
    """Put the bug where its line stands, once, as it was written down or broken into lines otherwise."""
    if text.count(edit.old) == 1:
        return text.replace(edit.old, edit.new)
    found = list(pattern(edit.old).finditer(text))
    assert len(found) == 1, f"{edit.file} holds the line of a planted bug {len(found)} times, not once: {edit.old!r}"
    return text[: found[0].start()] + edit.new.strip() + text[found[0].end() :]


def pattern(line: str) -> re.Pattern[str]:
    """Match a piece of source however a formatter breaks it: any white space, a comma or none before a bracket closes."""
    words = re.findall(r"\w+|[^\w\s]", re.sub(r",\s*(?=[)\]}])", "", line))
    parts = [r"(?<!\w)" * bool(re.match(r"\w", words[0])) + re.escape(words[0])]  # not the end of a longer name
    for before, word in pairwise(words):
        apart = r"\s+" if before[-1].isalnum() and word[0].isalnum() else r",?\s*" if word in ")]}" else r"\s*"
        parts.append(apart + re.escape(word))
    return re.compile("".join(parts))


def copy(folder: Path) -> None:
    """Put the package into a folder: one of its own, with links to what is in it."""
    _own(folder / "dpcov", ROOT / "src" / "dpcov")


def write(folder: Path, file: str, text: str) -> None:
    """Write a file of the copy; what its links lead to is left as it is."""
    path = folder / "dpcov" / file
    for parent in reversed(path.relative_to(folder).parents[:-1]):
        if (folder / parent).is_symlink():
            _own(folder / parent, (folder / parent).readlink())
    path.unlink(missing_ok=True)
    path.write_text(text, encoding="utf-8")
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*"):  # of the file that it was
        compiled.unlink()


def _own(folder: Path, source: Path) -> None:
    """Make a folder, in the place of a link to it, that holds links to what the source holds."""
    folder.unlink(missing_ok=True)
    folder.mkdir()
    for entry in source.iterdir():
        if entry.name == "__pycache__":  # Python writes into it what it compiles
            _own(folder / entry.name, entry)
        else:
            (folder / entry.name).symlink_to(entry, target_is_directory=entry.is_dir())


class Run(NamedTuple):
    """How a run of pytest ended, and what it said; it has no code where it was not pytest that ended it."""

    code: int | None
    said: str


def against(folder: Path, *tests: str, seconds: int | None = None) -> Run:
    """Run tests up to the first that fails, in a process of its own that may take so long, against the package in a folder."""
    code, said = folder / "code", folder / "said"
    code.unlink(missing_ok=True)
    process = PROCESSES.Process(target=_run, args=(folder, tests, code, said, seconds))
    process.start()
    process.join()
    words = said.read_text(encoding="utf-8", errors="replace") if said.exists() else "nothing was run"
    return Run(int(code.read_text(encoding="utf-8")) if code.exists() else None, words)


def _run(folder: Path, tests: tuple[str, ...], code: Path, said: Path, seconds: int | None) -> None:
    """Be the process: as ``python -m pytest`` is, with the folder in front."""
    if seconds is not None:
        import resource  # which there is where there are such limits

        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    with said.open("wb") as to:
        os.dup2(to.fileno(), 1)
        os.dup2(to.fileno(), 2)
    os.chdir(ROOT)
    for name in [name for name in os.environ if name.startswith("PYTEST_")]:  # options, and who the workers are
        del os.environ[name]
    os.environ |= {"PYTHONPATH": f"{folder}{os.pathsep}{ROOT}", "COVERAGE_PROCESS_START": "", "HYPOTHESIS_PROFILE": "planted"}
    os.environ |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "OPENBLAS_NUM_THREADS": "1"}  # no workers, no coverage, one thread
    sys.path[:] = [str(ROOT), str(folder), *(entry for entry in sys.path if entry not in ("", str(ROOT)))]
    if "dpcov" in sys.modules:
        raise RuntimeError("the package was imported before the copy could be")
    with tempfile.TemporaryDirectory() as temporary:  # on the disk: memory may be small
        ended = pytest.main([*OPTIONS, f"--basetemp={Path(temporary) / 'tests'}", *tests])
    sys.stdout.flush()
    where = sys.modules["dpcov"].__file__ if "dpcov" in sys.modules else None
    if where is not None and not where.startswith(str(folder)):
        raise RuntimeError(f"{where} was tested instead of the copy")
    code.write_text(str(int(ended)), encoding="utf-8")
