"""Coverage-guided fuzzing of what reads a stranger's text, by atheris (libFuzzer): inputs that reach something new are kept.

    python -m tests.fuzz.guided all --inputs 1000000
    python -m tests.fuzz.guided schema --inputs 100000 --seed 2 --corpus kept/
    python -m tests.fuzz.guided release --only finding.txt

Nothing stops at a finding: each is counted once by its error and its place, with the first input that shows it. The targets are
in `targets`: a finding is any error that is not declared, any warning, a message that is endless or quotes a cell, and whatever
takes too long or too much memory (`tests.helpers.forged` says how much that is).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

ROOT = Path(__file__).parents[2]
LONGEST = 2**13  # bytes of an input
SHOWN = 2000  # bytes of a finding's input
SHARES = {"release": Fraction(2, 10), "schema": Fraction(3, 10), "codebook": Fraction(5, 10)}
"""Of the inputs of all targets that are measured in millions; a table is a file, and takes longer."""


@dataclass
class Findings:
    """What became of the inputs of one run."""

    read: Callable[[bytes], str]
    inputs: int = 0
    count: Counter[str] = field(default_factory=Counter)
    undeclared: dict[str, bytes] = field(default_factory=dict)

    def one(self, data: bytes) -> None:
        """Read an input, and note what happens."""
        from tests.helpers.forged import TooSlowError, watched

        self.inputs += 1
        try:
            with watched():
                kind = self.read(data)
        except (Exception, TooSlowError) as error:
            kind = "undeclared"
            self.undeclared.setdefault(where(error), data)
        self.count[kind] += 1


def where(error: BaseException) -> str:
    """Return what went wrong, and in which lines: findings that agree in it are one."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "tests/fuzz/" not in frame.filename][-3:]
    lines = " < ".join(f"{frame.filename.rpartition('dpcov/')[2]}:{frame.lineno}" for frame in reversed(frames))
    notes = " ".join(getattr(error, "__notes__", ()))
    return f"{type(error).__name__}: {str(error)[:80]!r} {notes} ({lines})"


def within(name: str, inputs: int, seed: int, folder: Path) -> None:
    """Fuzz in this process, which ends with it; libFuzzer writes what it reached to the standard error."""
    import atheris

    with atheris.instrument_imports(include=["dpcov"]):
        from dpcov import mechanisms  # noqa: F401  # all of them, and all they import
        from tests.fuzz.targets import TARGETS

    target = TARGETS[name]
    seeds = folder / "seeds"
    seeds.mkdir()
    (folder / "corpus").mkdir(exist_ok=True)
    for number, text in enumerate(target.seeds()):
        (seeds / f"{number}").write_bytes(text)
        target.read(text)  # what is imported late, and what is made once
    findings = Findings(target.read)

    def one(data: bytes) -> None:
        findings.one(data)
        if findings.inputs == inputs:
            told = {"count": findings.count, "undeclared": {key: list(text) for key, text in findings.undeclared.items()}}
            (folder / "told.json").write_text(json.dumps(told), encoding="utf-8")
            os._exit(0)  # libFuzzer's own end waits for threads of Arrow that wait for Python

    def edit(data: bytes, most: int, number: int) -> bytes:
        made = target.edit(data, random.Random(number), lambda text: bytes(atheris.Mutate(text, most)))
        return made if len(made) <= most else data

    if sys.platform == "linux":  # addresses, of which threads and libraries hold more than memory
        from tests.helpers.forged import MEMORY

        held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (held + MEMORY, resource.RLIM_INFINITY))
    options = [f"-runs={inputs}", f"-seed={seed}", f"-max_len={LONGEST}", "-mutate_depth=2", "-rss_limit_mb=0", "-timeout=600"]
    atheris.Setup([sys.argv[0], *options, str(folder / "corpus"), str(seeds)], one, custom_mutator=edit)
    atheris.Fuzz()


@dataclass(frozen=True)
class Told:
    """What a run found."""

    target: str
    inputs: int
    accepted: int
    undeclared: dict[str, bytes]
    edges: int
    kept: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"{self.target}: {self.inputs} inputs in {self.seconds:.0f} s of processor time, {self.accepted} accepted; "
            f"{self.edges} edges reached, {self.kept} inputs kept; undeclared errors: {len(self.undeclared)}"
        )


def fuzz(name: str, inputs: int, seed: int = 1, corpus: Path | None = None) -> Told:
    """Fuzz in another process, which libFuzzer ends; ``corpus`` keeps the inputs that reached something new."""
    with tempfile.TemporaryDirectory() as held:
        folder = Path(held)
        if corpus is not None:
            corpus.mkdir(parents=True, exist_ok=True)
            (folder / "corpus").symlink_to(corpus.resolve())
        command = [sys.executable, "-m", "tests.fuzz.guided", name, "--inputs", str(inputs), "--seed", str(seed)]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run = subprocess.run([*command, "--within", held], cwd=ROOT, capture_output=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        said = run.stderr.decode("utf-8", "replace")
        told = folder / "told.json"
        if run.returncode or not told.exists():
            raise AssertionError(f"fuzzing ended with {run.returncode} before its end:\n{said[-4000:]}")
        record = json.loads(told.read_text(encoding="utf-8"))
        undeclared = {key: bytes(text) for key, text in record["undeclared"].items()}
        edges, kept = re.findall(r"cov: (\d+) ft: \d+ corp: (\d+)", said)[-1]
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        accepted = record["count"].get("accepted", 0)
        return Told(name, inputs, accepted, undeclared, int(edges), int(kept), seconds)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", choices=["all", "release", "schema", "codebook", "table"])
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--corpus", type=Path, help="a folder that keeps the inputs that reached something new")
    parser.add_argument("--only", type=Path, help="read one input, and say what went wrong in full")
    parser.add_argument("--within", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.only is not None:
        from tests.fuzz.targets import TARGETS

        print(TARGETS[asked.target].read(asked.only.read_bytes()))
        return 0
    if asked.within is not None:
        within(asked.target, asked.inputs, asked.seed, asked.within)
        return 1  # the last input ends the process
    shares = SHARES if asked.target == "all" else {asked.target: Fraction(1)}
    found = 0
    for name, share in shares.items():
        told = fuzz(name, int(asked.inputs * share), asked.seed, asked.corpus and asked.corpus / name)
        print(told, *(f"  {key}\n    {text[:SHOWN]!r}" for key, text in told.undeclared.items()), sep="\n", flush=True)
        found += len(told.undeclared)
    return found > 0


if __name__ == "__main__":
    raise SystemExit(main())
