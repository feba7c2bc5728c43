"""Imports point one way, and randomness and rows are touched only where the design says."""

from __future__ import annotations

import ast
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from dpcov.mechanisms import MECHANISMS

SPEC = find_spec("dpcov")
assert SPEC is not None
assert SPEC.origin is not None
PACKAGE = Path(SPEC.origin).parent  # not imported, so that a copy with a planted bug is what is looked at

# A package or module may import those on lines above its own, and itself.
LAYERS = [
    {"_version", "errors"},
    {"linalg", "paths", "results", "strict_json"},
    {"bounds", "schema"},
    {"kernel"},
    {"sources", "spectra"},
    {"release"},
    {"mechanisms", "uses"},
    {"rehearsal"},
    {"request"},
    {"api"},
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

FILES = sorted(PACKAGE.rglob("*.py"))


def layer(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def imports(path: Path, *, top_level_only: bool = False) -> set[str]:
    """Return what is imported when a module runs: not what only type checkers read."""
    tree = parsed(path)
    tree.body = [node for node in tree.body if not is_for_types(node)]
    found: set[str] = set()
    for node in tree.body if top_level_only else ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} imports relatively"
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {str(node.module)}
    return found


def inside(imported: set[str]) -> set[str]:
    return {name.split(".")[1] for name in imported if name.startswith("dpcov.")} & RANK.keys()


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path: Path) -> None:
    own = layer(path)
    if own == "__init__":
        assert imports(path, top_level_only=True) & {"numpy", "scipy", "rich"} == set()
        return
    assert own in RANK, f"{own} has no place in LAYERS"
    upward = LAZY.get(own, set())
    for other in inside(imports(path)) - upward - {own}:
        assert RANK[other] < RANK[own], f"{own} must not import {other}"
    assert not inside(imports(path, top_level_only=True)) & upward


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nothing_forbidden_is_imported(path: Path) -> None:
    forbidden = FORBIDDEN.get(layer(path), set())
    hits = {name for name in imports(path) if any(name == f or name.startswith(f + ".") for f in forbidden)}
    assert not hits


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_randomness_has_one_home(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if path.name != "bits.py":
        assert "np.random" not in text
        assert "urandom" not in text
        assert not {"random", "secrets", "numpy.random"} & imports(path)


@pytest.mark.parametrize("path", [p for p in FILES if layer(p) in TRUSTED], ids=lambda path: path.name)
def test_the_kernel_is_silent(path: Path) -> None:
    """No print, log, warning or clock near the data: each could tell about a row."""
    assert not {"logging", "warnings", "time", "datetime"} & imports(path)
    calls = {
        n.func.id
        for n in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
    }
    assert "print" not in calls


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_files_stay_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400, "two subjects may meet in it: split it there"


@pytest.mark.parametrize(
    "path", [p for p in FILES if layer(p) == "mechanisms"], ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_a_mechanism_reaches_into_nothing_private(path: Path) -> None:
    """A curator holds the rows in a private attribute: whoever reads one could read them, or the private number of them."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and node.attr not in {"__name__", "__getitem__"}:
            assert isinstance(node.value, ast.Name), f"line {node.lineno}: {node.attr}"
            assert node.value.id == "self", f"line {node.lineno}: {node.value.id}.{node.attr}"
        elif isinstance(node, ast.Name):
            assert node.id not in {"getattr", "vars", "eval", "exec"}, f"line {node.lineno}: {node.id}"
        if isinstance(node, ast.Attribute):  # frames hold the local variables of the curator
            assert not re.fullmatch(r"(tb|f|gi|cr|ag)_\w+", node.attr), f"line {node.lineno}: {node.attr}"


@pytest.mark.parametrize(
    "path",
    [p for p in FILES if layer(p) == "mechanisms" and p.name not in ("base.py", "running.py")],
    ids=lambda path: str(path.relative_to(PACKAGE)),
)
def test_a_mechanism_inspects_nothing(path: Path) -> None:
    """What reads signatures, of functions that are public, are the two files that are no mechanism."""
    assert "inspect" not in imports(path)


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


@pytest.mark.parametrize(
    "path", [p for p in FILES if layer(p) != "mechanisms"], ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_no_mechanism_is_known_by_its_name(path: Path) -> None:
    """What generic code must know of a mechanism is a fact in its record."""
    apart = {"auto"} | (KINDS_OF_NOISE if layer(path) == "kernel" else set())
    for line, text in strings(path):
        assert text not in NAMES - apart, f"line {line}: {text}"
        for name in NAMES - apart:
            quoted = {f"'{name}'", f"mechanism={name}", f"mechanism {name}"} | ({name} if name not in ENGLISH else set())
            assert not any(re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text) for word in quoted), f"line {line}: {text}"


@pytest.mark.parametrize(
    "path", [p for p in FILES if layer(p) not in ("mechanisms", "__init__")], ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_mechanisms_are_listed_in_one_place(path: Path) -> None:
    targets = tuple(f"dpcov.mechanisms.{target}." for target in ("covariance", "mean", "pca", "ridge", "coinpress"))
    modules = {name for name in imports(path) if name.startswith(targets) and name.rpartition(".")[2].isupper()}
    assert len(modules) <= 2


@pytest.mark.parametrize(
    "path", [p for p in FILES if layer(p) in ("uses", "report", "cli")], ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_uses_and_commands_know_no_mechanism(path: Path) -> None:
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Attribute) and node.attr in ("mechanism", "options", "kind") and isinstance(node.ctx, ast.Load):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            allowed = {"cell", "prediction", "column", "dtype", "named"}  # what is no release
            assert owner in allowed or isinstance(node.value, ast.Attribute | ast.Subscript), f"line {node.lineno}"


ABOVE = [p for p in FILES if layer(p) in ("uses", "report", "cli")]
COMMANDS = [p for p in FILES if layer(p) == "cli"]
LONGEST_BODY = 40  # lines of a function in cli/, without signature and docstring: parse, call, report
LONGEST_COMMAND = 130  # lines of a file in cli/: half of them options


@pytest.mark.parametrize("path", ABOVE, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nobody_asks_what_kind_of_release_it_is(path: Path) -> None:
    """What a result is decides the table in report/__init__.py, and what a release holds its estimate."""
    compared = [
        part
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Compare | ast.Match)
        for part in ([node.subject] if isinstance(node, ast.Match) else [node.left, *node.comparators])
    ]
    for part in compared:
        kinds = [n for n in ast.walk(part) if isinstance(n, ast.Attribute) and n.attr in ("kind", "target", "notion")]
        owners = {n.value.id for n in kinds if isinstance(n.value, ast.Name)}
        assert owners <= {"model", "dtype", "column"}, f"line {part.lineno}"  # a model's target is a column
        keys = [n.slice.value for n in ast.walk(part) if isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Constant)]
        assert "kind" not in keys, f"line {part.lineno}"


def test_results_are_told_apart_in_one_table() -> None:
    """A module of report/ has functions of the same names as any other, and only the table says which is whose."""
    from dpcov.report import HOMES

    for module in set(HOMES.values()):
        defined = {node.name for node in parsed(PACKAGE / "report" / f"{module}.py").body if isinstance(node, ast.FunctionDef)}
        assert {"write", "columns"} <= defined, module
    tables = [p for p in ABOVE if any(text in HOMES for _, text in strings(p))]
    assert [p.name for p in tables] == ["__init__.py"]


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: path.name)
class TestACommand:
    def test_it_computes_nothing(self, path: Path) -> None:
        forbidden = ("numpy", "scipy", "pyarrow", "matplotlib", "dpcov.kernel", "dpcov.spectra", "dpcov.linalg")
        assert not [name for name in imports(path) if name.startswith(forbidden)]
        products = [n for n in ast.walk(parsed(path)) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.MatMult | ast.Pow)]
        assert not [n.lineno for n in products if not isinstance(n.left, ast.Constant)]  # 10**8 is a number

    def test_it_draws_and_lays_out_nothing(self, path: Path) -> None:
        apart = {"progress.py"}  # the bar itself
        assert path.name in apart or not [name for name in imports(path) if name.startswith("rich")]

    def test_it_parses_calls_and_reports(self, path: Path) -> None:
        assert path.name == "options.py" or len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST_COMMAND
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.FunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                assert not body or (body[-1].end_lineno or 0) - body[0].lineno < LONGEST_BODY, node.name
            assert not isinstance(node, ast.ClassDef) or path.name == "words.py", "a result belongs to Python"


@pytest.mark.parametrize("path", [p for p in FILES if layer(p) == "report"], ids=lambda path: path.name)
def test_a_rendering_does_not_know_the_command_line(path: Path) -> None:
    assert not {"click", "sys", "dpcov.cli"} & {name for name in imports(path) if path.name != "text.py" or name != "sys"}


def test_what_the_renovation_took_away_stays_away() -> None:
    assert not [path.name for path in PACKAGE.glob("*.py") if path.name.startswith(("release_", "estimate", "options"))]


TESTS = Path(__file__).parent
BESIDE_SUBJECTS = {"audit", "helpers", "mutation"}
"""What concerns the library as a whole, and what tests share."""


def test_tests_are_filed_by_subject() -> None:
    folders = {path.parent.relative_to(TESTS).parts[0] for path in TESTS.rglob("*.py") if path.parent != TESTS}
    assert folders - BESIDE_SUBJECTS <= RANK.keys()


EVERYWHERE = [*FILES, *sorted(TESTS.rglob("*.py"))]
COMPOSED = {"Curator", "ExactSums", "Account", "RandomSampler", "Peel", "Face", "Release"}


@pytest.mark.parametrize("path", EVERYWHERE, ids=str)
def test_doubles_are_composed(path: Path) -> None:
    """What stands in for a curator is made of other sums or another sampler: no private method is overridden."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.ClassDef):
            bases = {base.id for base in node.bases if isinstance(base, ast.Name)} & COMPOSED
            assert "Curator" not in bases, f"{node.name} is a curator"
            methods = {item.name for item in node.body if isinstance(item, ast.FunctionDef)} if bases else set()
            private = {name for name in methods if name.startswith("_") and not name.startswith("__")}
            assert not private, f"{node.name} overrides {private}"
