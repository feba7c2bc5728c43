"""Imports point one way, and randomness and rows are touched only where the design says."""

from __future__ import annotations

import ast
from importlib.util import find_spec
from pathlib import Path

import pytest

SPEC = find_spec("dpcov")
assert SPEC is not None
assert SPEC.origin is not None
PACKAGE = Path(SPEC.origin).parent  # not imported, so that a copy with a planted bug is what is looked at

# A module may import those on lines above its own, and its own package.
LAYERS = [
    {"_version", "errors", "kernel", "release", "verify"},
    {"linalg", "bounds", "strict_json", "paths", "options"},
    {"kernel.budget", "kernel.bits", "kernel.calibrate", "kernel.noise", "kernel.rows.frame", "kernel.rows.centring"},
    {"spectra", "schema", "release.statement", "kernel.answer", "evaluate.metrics"},
    {"schema.file", "estimate"},
    {"estimate_framed", "frame_file"},
    {"release.uses"},
    {"kernel.blas", "kernel.rows", "kernel.questions", "release.record"},
    {"sources", "release_clipped", "confidence", "release_proved", "release_solved"},
    {"release_framed", "release_drawn"},
    {"release_check"},
    {"release.file", "uses"},
    {"kernel.account", "kernel.peel"},
    {"kernel.sums"},
    {"kernel.drawing"},
    {"kernel.curator"},
    {"mechanisms"},
    {"evaluate.plan", "verify.cost", "verify.recording", "verify.testing", "request"},
    {"verify.replay"},
    {"api", "api_ridge"},
    {"estimators", "verify.audit", "evaluate"},
    {"cli"},
    {"__main__"},
]
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}

FORBIDDEN = {
    "mechanisms": {
        "dpcov.sources",
        "dpcov.kernel.bits",
        "dpcov.kernel.noise.discrete",
        "dpcov.kernel.noise.normal",
        "numpy.random",
    },
    "release.record": {"dpcov.kernel.questions", "dpcov.sources"},
    "linalg": {"dpcov.errors"},
}
KERNEL = {"kernel", "sources"}
FILES = sorted(PACKAGE.rglob("*.py"))


def home(module: str) -> str:
    """Return the longest beginning of a module's name that has a place in LAYERS."""
    parts = module.split(".")
    names = [".".join(parts[:length]) for length in range(len(parts), 0, -1)]
    return next((name for name in names if name in RANK), module)


def layer(path: Path) -> str:
    return home(".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__"))


def imports(path: Path, *, top_level_only: bool = False) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = tree.body if top_level_only else ast.walk(tree)
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} imports relatively"
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {str(node.module)}
    return found


def inside(imported: set[str]) -> set[str]:
    return {home(name.removeprefix("dpcov.")) for name in imported if name.startswith("dpcov.")} & RANK.keys()


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path: Path) -> None:
    own = layer(path)
    if own == "__init__":
        assert imports(path, top_level_only=True) & {"numpy", "scipy", "rich"} == set()
        return
    assert own in RANK, f"{own} has no place in LAYERS"
    upward_allowed = {
        "release.record": {"release.file"},
        "release.uses": {"release.record", "confidence", "uses"},
        "schema": {"schema.file"},
    }.get(own, set())  # save, read: inside their bodies
    for other in inside(imports(path)) - upward_allowed - {own}:
        beside = RANK[other] == RANK[own] and other.split(".")[0] == own.split(".")[0]
        assert RANK[other] < RANK[own] or beside, f"{own} must not import {other}"
    if upward_allowed:
        assert not inside(imports(path, top_level_only=True)) & upward_allowed


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


@pytest.mark.parametrize("path", [p for p in FILES if p.relative_to(PACKAGE).parts[0] in KERNEL], ids=lambda path: path.name)
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
