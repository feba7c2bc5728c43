"""Imports point one way, and randomness and rows are touched only where the design says.

A rule is about one file and yields what breaks it; its test tries it on all files that it concerns, and names all that do.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from dpcov.mechanisms import MECHANISMS

SPEC = find_spec("dpcov")
assert SPEC is not None
assert SPEC.origin is not None
TESTS = Path(__file__).parent
PACKAGE = Path(SPEC.origin).parent  # not imported, so that a copy with a planted bug is what is looked at

# A package or module may import those on lines above its own, and itself.
LAYERS = [
    {"_version", "errors"},
    {"linalg", "paths", "results", "strict_json"},
    {"bounds", "schema"},
    {"kernel"},
    {"sources", "spectra"},
    {"release"},
    {"mechanisms", "uses", "custody"},
    {"rehearsal", "promise"},
    {"request"},
    {"api"},
    {"dry_run", "isolation"},
    {"verify"},
    {"estimators", "evaluate"},
    {"report"},
    {"cli"},
    {"__main__"},
]
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}
LAZY = {"release": {"mechanisms", "uses", "verify"}, "results": {"report"}}
"""Upward imports inside functions: a release calls the estimate of its mechanism, its uses, and its own verification; every
result is shown by `report`, which `results` reaches for all of them."""

FORBIDDEN = {
    "mechanisms": {
        "dpcov.sources",
        "dpcov.kernel.bits",
        "dpcov.kernel.noise.discrete",
        "dpcov.kernel.noise.normal",
        "dpcov.kernel.noise.sampler",
        "dpcov.kernel.sums",
        "numpy.random",
        *("sys", "gc", "traceback"),
    },
    "release": {"dpcov.sources"},
    "linalg": {"dpcov.errors"},
}
TRUSTED = {"kernel", "sources", "schema"}
NAMES = {name for mechanisms in MECHANISMS.values() for name in mechanisms}
KINDS_OF_NOISE = {"gaussian", "laplace", "wishart", "frobenius"}
ENGLISH = {
    "auto",
    "adaptive",
    "clipped",
    "coordinatewise",
    "eigenvectors",
    "projection",
    "random",
    "rescaled",
    "screened",
    "separate",
}
"""Names that are words, too: outside of mechanisms/ they may stand in a sentence, but not be what is compared with."""

FILES = sorted(
    Path(folder) / name
    for folder, _, names in os.walk(PACKAGE, followlinks=True)  # folders of a copy are links, which rglob does not enter
    for name in names
    if name.endswith(".py")
)


def layer(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def of(*layers: str) -> list[Path]:
    return [path for path in FILES if layer(path) in layers]


def name(path: Path) -> str:
    return path.relative_to(PACKAGE if path.is_relative_to(PACKAGE) else TESTS.parent).as_posix()


def assert_none(rule: Callable[[Path], Iterable[str]], paths: Iterable[Path]) -> None:
    """Insist that nothing breaks a rule; say what does, in all files."""
    found = [f"{name(path)}: {what}" for path in paths for what in rule(path)]
    assert not found, "\n".join(found)


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


@cache
def imports(path: Path, *, top_level_only: bool = False) -> frozenset[str]:
    """Return what is imported when a module runs: not what only type checkers read."""
    run = [node for node in parsed(path).body if not is_for_types(node)]
    found: set[str] = set()
    for node in run if top_level_only else (inner for outer in run for inner in ast.walk(outer)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} imports relatively"
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {str(node.module)}
    return frozenset(found)


def inside(imported: Iterable[str]) -> set[str]:
    return {name.split(".")[1] for name in imported if name.startswith("dpcov.")} & RANK.keys()


def test_imports_point_one_way() -> None:
    def upward(path: Path) -> Iterator[str]:
        own, top = layer(path), imports(path, top_level_only=True)
        if own == "__init__":
            yield from sorted(top & {"numpy", "scipy", "rich"})
            return
        if own not in RANK:
            yield f"{own} has no place in LAYERS"
            return
        lazy = LAZY.get(own, set())
        yield from (
            f"{own} must not import {other}"
            for other in sorted(inside(imports(path)) - lazy - {own})
            if RANK[other] >= RANK[own]
        )
        yield from (f"{other} must be imported in functions only" for other in sorted(inside(top) & lazy))

    assert_none(upward, FILES)


def test_nothing_forbidden_is_imported() -> None:
    def forbidden(path: Path) -> list[str]:
        names = FORBIDDEN.get(layer(path), set())
        return [one for one in sorted(imports(path)) if any(one == f or one.startswith(f + ".") for f in names)]

    assert_none(forbidden, FILES)


def test_randomness_has_one_home() -> None:
    def randomness(path: Path) -> Iterator[str]:
        text = path.read_text(encoding="utf-8")
        yield from (word for word in ("np.random", "urandom") if word in text)
        yield from sorted({"random", "secrets", "numpy.random"} & imports(path))

    assert_none(randomness, [path for path in FILES if path.name != "bits.py"])


def test_the_kernel_is_silent() -> None:
    """No print, log, warning or clock near the data: each could tell about a row."""

    def loud(path: Path) -> Iterator[str]:
        yield from sorted({"logging", "warnings", "time", "datetime"} & imports(path))
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
                yield f"line {node.lineno}: print"

    assert_none(loud, of(*TRUSTED))


def test_files_stay_short() -> None:
    """Where one does not, two subjects may meet in it: split it there."""

    def long(path: Path) -> list[str]:
        lines = len(path.read_text(encoding="utf-8").splitlines())
        return [f"{lines} lines"] if lines > 400 else []

    assert_none(long, FILES)


@pytest.mark.parametrize("path", of("mechanisms"), ids=name)
def test_a_mechanism_reaches_into_nothing_private(path: Path) -> None:
    """A curator holds the rows in a private attribute: whoever reads one could read them, or the private number of them.

    A case for each file, since planted bugs are caught by the file that they are in.
    """
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and node.attr not in {"__name__", "__getitem__"}:
            assert isinstance(node.value, ast.Name), f"line {node.lineno}: {node.attr}"
            assert node.value.id == "self", f"line {node.lineno}: {node.value.id}.{node.attr}"
        elif isinstance(node, ast.Name):
            assert node.id not in {"getattr", "vars", "eval", "exec"}, f"line {node.lineno}: {node.id}"
        if isinstance(node, ast.Attribute):  # frames hold the local variables of the curator
            assert not re.fullmatch(r"(tb|f|gi|cr|ag)_\w+", node.attr), f"line {node.lineno}: {node.attr}"


def test_a_mechanism_inspects_nothing() -> None:
    """What reads signatures, of functions that are public, are the two files that are no mechanism."""
    paths = [path for path in of("mechanisms") if path.name not in ("base.py", "running.py")]
    assert not [name(path) for path in paths if "inspect" in imports(path)]


def strings(path: Path) -> list[tuple[int, str]]:
    """Return the texts in a module, but for those that document it."""
    tree = parsed(path)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, documented)]
    prose = {id(line.value) for body in bodies for line in body if isinstance(line, ast.Expr)}
    return [
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose
    ]


def test_no_mechanism_is_known_by_its_name() -> None:
    """What generic code must know of a mechanism is a fact in its record."""

    def named(path: Path) -> Iterator[str]:
        names = NAMES - {"auto"} - (KINDS_OF_NOISE if layer(path) == "kernel" else set())
        for line, text in strings(path):
            for one in names:
                quoted = {f"'{one}'", f"mechanism={one}", f"mechanism {one}"} | ({one} if one not in ENGLISH else set())
                if text == one or any(re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text) for word in quoted):
                    yield f"line {line}: {text}"

    assert_none(named, [path for path in FILES if layer(path) != "mechanisms"])


def test_mechanisms_are_listed_in_one_place() -> None:
    targets = tuple(f"dpcov.mechanisms.{target}." for target in ("covariance", "mean", "pca", "ridge", "coinpress"))

    def listed(path: Path) -> list[str]:
        found = [one for one in sorted(imports(path)) if one.startswith(targets) and one.rpartition(".")[2].isupper()]
        return found if len(found) > 2 else []

    assert_none(listed, [path for path in FILES if layer(path) not in ("mechanisms", "__init__")])


ABOVE = of("uses", "report", "cli")
COMMANDS = of("cli")
LONGEST_BODY = 40  # lines of a function in cli/, without signature and docstring: parse, call, report
LONGEST_COMMAND = 130  # lines of a file in cli/: half of them options


def test_uses_and_commands_know_no_mechanism() -> None:
    allowed = {"cell", "prediction", "column", "dtype", "named"}  # what is no release

    def asked(path: Path) -> Iterator[str]:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Attribute) and node.attr in ("mechanism", "options", "kind"):
                owner = node.value.id if isinstance(node.value, ast.Name) else ""
                held = isinstance(node.value, ast.Attribute | ast.Subscript)
                if isinstance(node.ctx, ast.Load) and owner not in allowed and not held:
                    yield f"line {node.lineno}: {owner}.{node.attr}"

    assert_none(asked, ABOVE)


def test_nobody_asks_what_kind_of_release_it_is() -> None:
    """What a result is decides the table in report/__init__.py, and what a release holds its estimate."""

    def compared(path: Path) -> Iterator[ast.expr]:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Match):
                yield node.subject
            elif isinstance(node, ast.Compare):
                yield from (node.left, *node.comparators)

    def asked(path: Path) -> Iterator[str]:
        for part in compared(path):
            kinds = [n for n in ast.walk(part) if isinstance(n, ast.Attribute) and n.attr in ("kind", "target", "notion")]
            owners = {n.value.id for n in kinds if isinstance(n.value, ast.Name)}
            keys = [n.slice.value for n in ast.walk(part) if isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Constant)]
            if not owners <= {"model", "dtype", "column"} or "kind" in keys:  # a model's target is a column
                yield f"line {part.lineno}"

    assert_none(asked, ABOVE)


def test_results_are_told_apart_in_one_table() -> None:
    """A module of report/ has functions of the same names as any other, and only the table says which is whose."""
    from dpcov.report import HOMES

    for module in set(HOMES.values()):
        defined = {node.name for node in parsed(PACKAGE / "report" / f"{module}.py").body if isinstance(node, ast.FunctionDef)}
        assert {"write", "columns"} <= defined, module
    tables = [p for p in ABOVE if any(text in HOMES for _, text in strings(p))]
    assert [p.name for p in tables] == ["__init__.py"]


class TestACommand:
    def test_it_computes_nothing(self) -> None:
        forbidden = ("numpy", "scipy", "pyarrow", "matplotlib", "dpcov.kernel", "dpcov.spectra", "dpcov.linalg")

        def computed(path: Path) -> Iterator[str]:
            yield from (one for one in sorted(imports(path)) if one.startswith(forbidden))
            products = [
                n for n in ast.walk(parsed(path)) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.MatMult | ast.Pow)
            ]
            yield from (f"line {n.lineno}" for n in products if not isinstance(n.left, ast.Constant))  # 10**8 is a number

        assert_none(computed, COMMANDS)

    def test_it_draws_and_lays_out_nothing(self) -> None:
        apart = {"progress.py"}  # the bar itself

        def drawn(path: Path) -> list[str]:
            return [one for one in sorted(imports(path)) if one.startswith("rich")]

        assert_none(drawn, [path for path in COMMANDS if path.name not in apart])

    def test_it_parses_calls_and_reports(self) -> None:
        def more(path: Path) -> Iterator[str]:
            lines = len(path.read_text(encoding="utf-8").splitlines())
            if path.name != "options.py" and lines > LONGEST_COMMAND:
                yield f"{lines} lines"
            for node in ast.walk(parsed(path)):
                if isinstance(node, ast.FunctionDef):
                    body = node.body[1:] if ast.get_docstring(node) else node.body
                    if body and (body[-1].end_lineno or 0) - body[0].lineno >= LONGEST_BODY:
                        yield f"{node.name} is too long"
                elif isinstance(node, ast.ClassDef) and path.name != "groups.py":
                    yield f"{node.name} is a class: a result belongs to Python"

        assert_none(more, COMMANDS)


def test_a_rendering_does_not_know_the_command_line() -> None:
    def known(path: Path) -> list[str]:
        return sorted({"click", "sys", "dpcov.cli"} & imports(path) - ({"sys"} if path.name == "text.py" else set()))

    assert_none(known, of("report"))


OPENERS = {"open", "fdopen", "mkstemp", "NamedTemporaryFile", "write_text", "write_bytes", "touch", "tofile", "savetxt"}
LIBRARIES = {"savefig", "write_table", "write_csv", "writer"}  # they write to what they are given: a buffer, here


def calls(tree: ast.AST) -> set[str]:
    functions = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return {f.attr if isinstance(f, ast.Attribute) else f.id for f in functions if isinstance(f, ast.Attribute | ast.Name)}


ISOLATED = {"isolation/walls.py": {"open"}, "isolation/child.py": {"fdopen"}, "isolation/parent.py": {"fdopen"}}


def test_files_are_written_in_one_place() -> None:
    """In `write_whole`; a command only tries whether a folder can be written to, with a file as new and as private.

    Beside it a secret file is opened, to be read or made anew. Of isolated releases pipes are opened, and the maps of users
    of a namespace.
    """
    found = {name(path): calls(parsed(path)) & OPENERS for path in FILES}
    opened = {path: openers for path, openers in found.items() if openers}
    assert opened == {"paths.py": {"mkstemp", "fdopen", "open"}, "cli/files.py": {"NamedTemporaryFile"}, **ISOLATED}


def test_libraries_write_to_memory() -> None:
    def elsewhere(path: Path) -> Iterator[str]:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.FunctionDef) and calls(node) & LIBRARIES and not calls(node) & {"BytesIO", "StringIO"}:
                yield f"{node.name} writes to something else than memory"

    assert_none(elsewhere, FILES)


def test_what_the_renovation_took_away_stays_away() -> None:
    assert not [path.name for path in PACKAGE.glob("*.py") if path.name.startswith(("release_", "estimate", "options"))]


BESIDE_SUBJECTS = {"fuzz", "audit", "engines", "experiments", "helpers", "mutation"}
"""What concerns the library as a whole, the papers' figures, and what tests share."""


def test_tests_are_filed_by_subject() -> None:
    folders = {path.parent.relative_to(TESTS).parts[0] for path in TESTS.rglob("*.py") if path.parent != TESTS}
    assert folders - BESIDE_SUBJECTS <= RANK.keys()


EVERYWHERE = [*FILES, *sorted(TESTS.rglob("*.py"))]
COMPOSED = {"Curator", "ExactSums", "Account", "RandomSampler", "Peel", "Face", "Release"}


def test_doubles_are_composed() -> None:
    """What stands in for a curator is made of other sums or another sampler: no private method is overridden."""

    def inherited(path: Path) -> Iterator[str]:
        if not re.search(rf"^ *class .*\b({'|'.join(COMPOSED)})\b", path.read_text(encoding="utf-8"), flags=re.MULTILINE):
            return  # most files, which then need not be parsed
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ClassDef):
                bases = {base.id for base in node.bases if isinstance(base, ast.Name)} & COMPOSED
                if "Curator" in bases:
                    yield f"{node.name} is a curator"
                methods = {item.name for item in node.body if isinstance(item, ast.FunctionDef)} if bases else set()
                private = sorted(one for one in methods if one.startswith("_") and not one.startswith("__"))
                if private:
                    yield f"{node.name} overrides {private}"

    assert_none(inherited, EVERYWHERE)


ENGINES = {
    "cryptography": "custody/ed25519.py",
    **dict.fromkeys(("multiprocessing", "polars", "duckdb", "distributed", "psycopg", "fsspec")),
    "dask": "sources/dask.py",
    "pandas": "sources/through_pandas.py",
    "pyspark": "sources/spark.py",
    "subprocess": "sources/pool.py",  # and isolation/parent.py: a process that is no engine
    "torch": "sources/torch.py",
}
"""The one file that imports each engine, inside its functions where it need not be installed; none where there is no need."""


def test_an_engine_is_imported_in_its_own_file_only() -> None:
    def engines(path: Path) -> Iterator[str]:
        top = {one.split(".")[0] for one in imports(path, top_level_only=True)}
        found = {one.split(".")[0] for one in imports(path)}
        yield from (
            f"{one} belongs into {ENGINES[one]}"
            for one in sorted(found & ENGINES.keys())
            if ENGINES[one] != name(path) and (one, name(path)) != ("subprocess", "isolation/parent.py")
        )
        yield from (f"{one} at the top" for one in sorted(top & ENGINES.keys() - {"subprocess"}))

    assert_none(engines, FILES)
