"""Mistakes that a machine makes in the kernel, one after the other, each against the tests that run its line.

    python -m tests.mutation.machine --record [--sample N] [--only TEXT] [--results FILE]

Libraries, package and tests are imported once; each mistake is made in a process forked from there (`patching`), which ends
at the first test that fails. A mistake that leaves no trace after the import, such as one in a decorator, is planted in a
copy instead (`planting`). Tests that look at few lines, and take little time, are run first, and those that caught other
mistakes in the same function before them.

A mistake that no test catches must be among `EXPLAINED`, with a reason; else this ends with 1.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.mutation.mutants import MUTANTS
from tests.mutation.operators import Mistake, mistakes
from tests.mutation.patching import CannotPatchError, Loaded
from tests.mutation.planting import MEMORY, against, copy, write
from tests.mutation.recording import ROOT, SECONDS, Record

SOURCE = ROOT / "src" / "dpcov"
TESTS = [
    f"tests/{folder}"
    for folder in ("kernel", "audit", "mechanisms", "release", "sources", "schema", "verify", "custody", "api")
]
"""Those that look at what the kernel does. Others use it, and take longer."""

OPTIONS = ["-q", "--no-header", "--tb=line", "-s", "-p", "no:cacheprovider", "-p", "_hypothesis_pytestplugin", "--assert=plain"]

MOST_SECONDS = 10.0
"""Of tests for one mistake, as long as they took when they were recorded."""

WAIT = 300
"""Seconds after which a process is given up that waits for something."""

CANNOT_PATCH = 3
ENDED: dict[int, str] = {signal.SIGPROF: "took too long", signal.SIGKILL: "stood still"}
EXPLAINED = Path(__file__).with_name("explained.toml")


@cache
def source(file: str) -> bytes:
    return (SOURCE / file).read_bytes()


def every_mistake(only: str = "") -> list[Mistake]:
    """Return the mistakes whose name, file:line:column operator, begins so."""
    files = sorted(path.relative_to(SOURCE).as_posix() for path in (SOURCE / "kernel").rglob("*.py"))
    wanted = [file for file in files if file.startswith(only) or only.startswith(file)]
    return [edit for file in wanted for edit in mistakes(file, source(file)) if edit.name.startswith(only)]


def in_order(among: Sequence[Mistake], seed: int) -> list[Mistake]:
    """Return them in an order by chance in which each beginning has of each file in proportion.

    Chance is a hash of what the mistake reads like: so a change of the source leaves most of a sample as it was.
    """

    def chance(edit: Mistake) -> float:
        return int.from_bytes(hashlib.sha256(repr((seed, key(edit))).encode()).digest()[:8], "big") / 2**64

    by_file: dict[str, list[Mistake]] = defaultdict(list)
    for edit in sorted(among, key=chance):
        by_file[edit.file].append(edit)
    placed = [((rank + chance(edit)) / len(edits), edit) for edits in by_file.values() for rank, edit in enumerate(edits)]
    return [edit for _, edit in sorted(placed, key=lambda one: one[0])]


def of(test: str) -> str:
    """Return the name of a test without that of its case."""
    return test.partition("[")[0]


@cache
def text_of(file: str) -> str:
    return (ROOT / file).read_text(encoding="utf-8")


def dotted(file: str) -> str:
    """Return the name under which a file of the package is imported."""
    return "dpcov." + file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def words(text: str) -> str:
    """Return a text as it is known by, however it is broken into lines."""
    return " ".join(text.split())


READS = ("file", "was", "becomes")
"""What a mistake is known by among the explained ones."""


def known_by(edit: Mistake) -> tuple[str, str, str]:
    return edit.file, words(edit.was), words(edit.becomes)


@cache
def explained() -> dict[tuple[str, ...], str]:
    """Return why no test need catch a mistake, for each that is explained."""
    found: dict[tuple[str, ...], str] = {}
    for group in tomllib.loads(EXPLAINED.read_text(encoding="utf-8"))["because"]:
        for was, becomes in group["mistakes"]:
            found[group["file"], words(was), words(becomes)] = group["reason"]
    return found


class Choice:
    """Which tests a mistake needs, in which order."""

    def __init__(self, record: Record, names: Iterable[str]) -> None:
        self._record, self._names = record, {*names}
        self._caught: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self._planted = {(edit.file, test) for bug in MUTANTS.values() for edit in bug.edits for test in bug.caught_by}

    def tests(self, edit: Mistake) -> list[str]:
        """Return the tests that run what it changes, those first that are likely to catch it soon."""
        found = self._of_lines(edit.file, range(edit.first, edit.last + 1)) or self._of_lines(edit.file, edit.scope)
        found = found or self._of_names(edit)
        alike: Counter[str] = Counter()
        efforts = []
        for effort, test in sorted((self._effort(edit, test), test) for test in found):
            efforts.append((effort * (1 + alike[of(test)]), test))  # not all cases of one test before the first of others
            alike[of(test)] += 1
        return [test for _, test in sorted(efforts)]

    def _effort(self, edit: Mistake, test: str) -> float:
        """Return the seconds that a test takes, as lines that it runs, by how many reasons there are to run it."""
        reasons = 1.0 + 40 * self._caught[edit.file, edit.inside][test]
        if (edit.file, test) in self._planted or (edit.file, of(test)) in self._planted:
            reasons += 20  # a test that catches a planted bug of this file
        text = text_of(test.partition("::")[0])
        name = edit.inside.rpartition(".")[2].strip("_") or "".join(edit.binds)
        reasons += 10 * (dotted(edit.file) in text) + 5 * (name != "init" and name in text)
        return (self._record.seconds[test] + 0.003) * self._record.breadth[test] / reasons

    def within(self, tests: list[str], most: float) -> list[str]:
        """Return the first of them, as many as fit into so many seconds; one at least."""
        spent, chosen = 0.0, tests[:1]
        for before, test in pairwise(tests):
            spent += self._record.seconds[before]
            if spent + self._record.seconds[test] <= most:
                chosen.append(test)
        return chosen

    def seconds(self, test: str) -> float:
        return self._record.seconds[test]

    def note(self, edit: Mistake, test: str) -> None:
        self._caught[edit.file, edit.inside][test] += 1

    def _of_lines(self, file: str, lines: Iterable[int]) -> set[str]:
        by_line = self._record.tests(SOURCE / file)
        return set().union(*(by_line.get(line, ()) for line in lines)) & self._names

    def _of_names(self, edit: Mistake) -> set[str]:
        """Return the tests that mention what is bound there, or run what does: it ran while the module was imported."""
        files = {test.partition("::")[0] for test in self._names} if edit.binds else set()
        found: set[str] = set()
        for name in edit.binds:
            mention = {file for file in files if name in text_of(file)}
            found |= {test for test in self._names if test.partition("::")[0] in mention} & self._record.seconds.keys()
            for path in SOURCE.rglob("*.py"):
                file = path.relative_to(SOURCE).as_posix()
                if name.encode() in source(file):
                    lines = [at for at, line in enumerate(source(file).decode().splitlines(), 1) if name in line]
                    found |= self._of_lines(file, lines)
        return found


class Machine:
    """A plugin of pytest: in the place of running the tests it makes mistakes, and runs those that a mistake needs."""

    def __init__(self, edits: Sequence[Mistake], record: Record, most: float, jobs: int, results: Path) -> None:
        self._edits, self._record, self._most, self._jobs, self._results = edits, record, most, jobs, results
        self._why = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._why = report.longreprtext.strip().rpartition("\n")[2][:200]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._items = {item.nodeid: item for item in session.items}
        self._choice = Choice(self._record, self._items)
        _ = self._record.breadth
        self._loaded = Loaded()
        gc.collect()
        gc.freeze()
        workers = []
        for number in range(self._jobs):
            if not (pid := os.fork()):
                try:
                    self._work(session, self._edits[number :: self._jobs])
                finally:
                    os._exit(0)
            workers.append(pid)
        for pid in workers:
            os.waitpid(pid, 0)
        self._control(session)
        return True

    def _control(self, session: pytest.Session) -> None:
        """Run whatever caught a mistake without one: a test that fails all the same has caught nothing."""
        asked = {key(edit) for edit in self._edits}
        caught = [row for row in rows(self._results) if row["by"] and row_key(row) in asked]
        left, failing = sorted({row["by"] for row in caught} & self._items.keys()), set()
        while left and (failed := self._forked(session, None, left)[0]):
            failing.add(failed)
            left = left[left.index(failed) + 1 :] if failed in left else []
        with self._results.open("a", encoding="utf-8") as out:
            for row in caught:
                if row["by"] in failing:
                    out.write(json.dumps(row | {"by": "", "ran": 0, "how": f"{row['by']} fails without it"}) + "\n")

    def _work(self, session: pytest.Session, edits: Sequence[Mistake]) -> None:
        for edit in edits:
            with self._results.open("a", encoding="utf-8") as out:
                out.write(json.dumps(self._judged(session, edit)) + "\n")

    def _judged(self, session: pytest.Session, edit: Mistake) -> dict[str, Any]:
        """Return what came of a mistake: caught by which test and how, or what ran without finding it."""
        every = self._choice.tests(edit)
        chosen = self._choice.within(every, self._most)
        file, was, becomes = known_by(edit)
        result: dict[str, Any] = {"name": edit.name, "file": file, "operator": edit.operator, "inside": edit.inside}
        result |= {"was": was, "becomes": becomes, "number": edit.number, "ran": len(chosen), "of": len(every)}
        by, how, spent = self._forked(session, edit, chosen) if chosen else ("", "", 0.0)
        if chosen and (how == "cannot patch" or not (by or edit.scope)):  # tests may hold what a module made of it before
            by, how = self._planted(edit, chosen)
        if by:
            self._choice.note(edit, by)
        return result | {"by": by, "how": how, "seconds": round(spent, 3)}

    def _forked(self, session: pytest.Session, edit: Mistake | None, chosen: list[str]) -> tuple[str, str, float]:
        """Make the mistake in a forked process; return the test that caught it, how, and the processor's seconds."""
        read, to = os.pipe()
        with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
            if not (pid := os.fork()):
                code = 1
                try:
                    os.close(read)
                    code = self._run(session, edit, chosen, to, Path(folder))
                finally:
                    os._exit(code)
            os.close(to)
            said = b""
            while select.select([read], [], [], WAIT)[0]:
                if not (more := os.read(read, 65536)):
                    break
                said += more
            else:
                os.kill(pid, signal.SIGKILL)
            os.close(read)
            _, status, usage = os.wait4(pid, 0)
        lines = said.decode(errors="replace").splitlines() or [""]
        spent = usage.ru_utime + usage.ru_stime
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) == CANNOT_PATCH:
            return "", "cannot patch", spent
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            how = ENDED.get(number, f"signal {number}")
            return lines[-1], how, spent
        if lines[-1] == "none failed":
            return "", "", spent
        if lines[-1].startswith("because "):
            return lines[-2], lines[-1].removeprefix("because "), spent
        return lines[-1] or "import", "ended", spent

    def _run(self, session: pytest.Session, edit: Mistake | None, chosen: list[str], to: int, folder: Path) -> int:
        """Be that process: say each test before it is run, and at last what came of them."""
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        os.environ["PYTEST_DEBUG_TEMPROOT"] = tempfile.tempdir = str(folder)
        signal.setitimer(signal.ITIMER_PROF, 5)
        try:
            if edit is not None:
                text, path = source(edit.file), str(SOURCE / edit.file)
                self._loaded.patch(dotted(edit.file), compile(text, path, "exec"), compile(edit.applied(text), path, "exec"))
        except CannotPatchError:
            return CANNOT_PATCH
        except Exception as error:
            os.write(to, f"import\nbecause {type(error).__name__}".encode())
            return 0
        for test, after in pairwise([*(self._items[test] for test in chosen), None]):
            assert test is not None
            os.write(to, f"{test.nodeid}\n".encode())
            signal.setitimer(signal.ITIMER_PROF, 2 + 10 * self._choice.seconds(test.nodeid))  # then it is ended, by SIGPROF
            test.config.hook.pytest_runtest_protocol(item=test, nextitem=after)
            if session.testsfailed and "FailedHealthCheck" in self._why:  # the machine is busy
                session.testsfailed = 0
            if session.testsfailed:
                os.write(to, f"because {words(self._why)}".encode())
                return 0
        os.write(to, b"none failed")
        return 0

    def _planted(self, edit: Mistake, chosen: list[str]) -> tuple[str, str]:
        """Make the mistake in a copy of the package."""
        with tempfile.TemporaryDirectory(dir=MEMORY) as name:
            folder = Path(name)
            copy(folder)
            write(folder, edit.file, edit.applied(source(edit.file)).decode())
            run = against(folder, *chosen, seconds=60 + round(10 * sum(map(self._choice.seconds, chosen))))
        if run.code not in (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED, None):  # None: it was ended
            return "", "planted"
        failed = [line.split()[1] for line in run.said.splitlines() if line.startswith(("FAILED ", "ERROR "))]
        return failed[0] if failed else "import", "planted"


def rows(results: Path) -> list[dict[str, Any]]:
    """Return the last verdict on each mistake."""
    lines = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
    return list({row_key(row): row for row in map(json.loads, lines)}.values())


def row_key(row: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in ("file", "inside", "was", "becomes", "number"))


def key(edit: Mistake) -> tuple[str, ...]:
    return edit.file, edit.inside, words(edit.was), words(edit.becomes), str(edit.number)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation.machine", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sample", type=int, metavar="N", help="so many mistakes, of each file in proportion; default: all")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--only", default="", metavar="TEXT", help="mistakes whose name, file:line:column operator, begins so")
    parser.add_argument("--tests", nargs="+", default=TESTS, metavar="PATH", help="which tests may catch them")
    parser.add_argument("--most", type=float, default=MOST_SECONDS, metavar="SECONDS", help="of tests for one mistake")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--record", action="store_true", help="run the tests first, and note which lines they run")
    parser.add_argument("--results", type=Path, metavar="FILE", help="to go on from: what was caught is not made again")
    asked = parser.parse_args()
    if asked.record:
        noted = ["--cov", "--cov-context=test", "--cov-report=", "-p", "tests.mutation.recording"]
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-n", str(asked.jobs), *noted, *asked.tests], check=True, cwd=ROOT
        )
    if not SECONDS.exists():
        parser.error("it must be known which tests run a line, got no record. Hint: --record makes one.")
    edits = in_order(every_mistake(asked.only), asked.seed)[: asked.sample]
    with tempfile.TemporaryDirectory() as folder:
        results = asked.results or Path(folder) / "results"
        run(edits, asked.tests, asked.most, asked.jobs, results)
        wanted = {key(edit) for edit in edits}
        return report([row for row in rows(results) if row_key(row) in wanted], len(edits))


def run(edits: Sequence[Mistake], tests: Sequence[str], most: float, jobs: int, results: Path) -> None:
    done = {row_key(row) for row in rows(results) if row["by"] or row["ran"] == row["of"]}
    left = [edit for edit in edits if key(edit) not in done]
    os.environ |= {"HYPOTHESIS_PROFILE": "planted", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "OPENBLAS_NUM_THREADS": "1"}
    os.chdir(ROOT)
    pytest.main([*OPTIONS, *tests], plugins=[Machine(left, Record(), most, jobs, results)])


def report(found: list[dict[str, Any]], wanted: int) -> int:
    caught = [row for row in found if row["by"]]
    for title in ("operator", "file"):
        every, of = Counter(row[title] for row in found), Counter(row[title] for row in caught)
        print(f"\n{title}: caught of made")
        for name, count in sorted(every.items(), key=lambda item: (-item[1], item[0])):
            print(f"{of[name]:6} {count:6}  {name}")
    print(f"\n{len(caught)} of {len(found)} caught, {len(caught) / max(1, len(found)):.2%}; {wanted - len(found)} not made")
    left = [row for row in found if not row["by"]]
    for row in left:
        reason = explained().get(tuple(row[name] for name in READS), "NOT EXPLAINED")
        print(f"{row['name']} ({row['ran']} of {row['of']} tests)\n  - {row['was']}\n  + {row['becomes']}\n  {reason}")
    unexplained = [row for row in left if tuple(row[name] for name in READS) not in explained()]
    print(f"{len(left) - len(unexplained)} explained, {len(unexplained)} not")
    return int(bool(unexplained) or len(found) < wanted)


if __name__ == "__main__":
    sys.exit(main())
