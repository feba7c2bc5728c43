"""Documents cannot lie: their Python runs, their quoted lines exist, their links lead somewhere."""

from __future__ import annotations

import contextlib
import dataclasses
import doctest
import importlib
import inspect
import io
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import matplotlib
import numpy as np
import pytest

import dpcov
from dpcov.cli import cli
from dpcov.kernel.questions.asked import ASKED

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
names = [str(page.relative_to(ROOT)) for page in PAGES]


def all_blocks(page: Path) -> list[tuple[str, str]]:
    return re.findall(r"^```([\w ]*)\n(.*?)^```$", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def blocks(page: Path, language: str) -> list[str]:
    return [text for found, text in all_blocks(page) if found == language]


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for block in blocks(page, "python"):
        with contextlib.redirect_stdout(io.StringIO()):
            exec(block, {})


def test_the_readme_shows_what_its_code_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    readme = ROOT / "README.md"
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(blocks(readme, "python")[0], {})
    assert blocks(readme, "") == [printed.getvalue()]
    assert printed.getvalue().count("\n") == 2


def test_the_readme_is_short_and_every_block_of_it_is_run() -> None:
    """By the tests above and below: a block of another kind would be run by none of them."""
    readme = ROOT / "README.md"
    assert len(readme.read_text(encoding="utf-8").splitlines()) <= 70
    assert [kind for kind, _ in all_blocks(readme)] == ["sh install", "python", "", "sh"]


INSTALL = """
pip() {{  # needs a network: the checks of what it is given, and links in place of copies
  test "$*" = "install ." && test -f pyproject.toml && python - <<'END'
import pathlib, sysconfig
pathlib.Path(sysconfig.get_paths()["purelib"], "installed.pth").write_text("{paths}", encoding="utf-8")
END
}}
python3() {{ command python3 "$@" --without-pip; }}  # which would be installed, in two seconds, for nothing
dpcov() {{ python -m dpcov "$@"; }}
{block}
test "$(command -v python)" = "$PWD/dpcov-env/bin/python"
"""


def test_the_readmes_install_block_runs(tmp_path: Path) -> None:
    """In a folder that looks like a checkout, and without a network: the shell's syntax, the environment, the demo."""
    (block,) = blocks(ROOT / "README.md", "sh install")
    (tmp_path / "pyproject.toml").symlink_to(ROOT / "pyproject.toml")
    paths = "\\n".join(str(path) for path in (Path(dpcov.__file__).parents[1], Path(np.__file__).parents[1]))
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    environment |= {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "PYTHONWARNINGS": "error"}
    environment |= {"MPLCONFIGDIR": matplotlib.get_cachedir()}
    script = INSTALL.format(block=block, paths=paths)
    run = subprocess.run(["sh", "-e", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert "178" in run.stdout


def test_the_readmes_shell_block_runs_as_it_stands(tmp_path: Path) -> None:
    """As a newcomer pastes it: an empty folder, a shell that stops at the first error, `dpcov` on the path, no warning."""
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    environment |= {"PYTHONWARNINGS": "error", "MPLCONFIGDIR": matplotlib.get_cachedir()}
    (block,) = blocks(ROOT / "README.md", "sh")
    run = subprocess.run(["sh", "-e", "-c", block], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert "clear of noise" in run.stdout
    assert {"people.csv", "people.toml", "people.json", "people.png"} <= {path.name for path in tmp_path.iterdir()}
    assert not dpcov.load(tmp_path / "people.json").seeded


@pytest.mark.parametrize("use", re.findall(r"`(dpcov [^`…]*)`", (ROOT / "README.md").read_text(encoding="utf-8")))
def test_the_readmes_commands_exist(use: str) -> None:
    """Each in the tables and the text, as far as it is spelt out: its name, and every option that it is given."""
    name, *rest = use.split()[1:] or ["--help"]
    if name.startswith("--"):
        assert name == "--help"
        return
    command = cli.commands[name]
    if isinstance(command, click.Group) and rest:
        command = command.commands[rest.pop(0)]
    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in rest if word.startswith("-")} <= known


def test_the_module_is_the_command() -> None:
    run = subprocess.run([sys.executable, "-m", "dpcov", "--version"], capture_output=True, text=True, check=True)
    assert run.stdout == f"dpcov, version {dpcov.__version__}\n"


PROOFS = [page for page in sorted(ROOT.glob("docs/mechanisms/*.md")) if page.name != "README.md"]


@pytest.mark.parametrize("page", PROOFS, ids=lambda page: page.stem)
def test_quoted_lines_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    quotes = re.findall(r"^\|.*\| `(src/[^`]*)` \| `([^`]*)` \|$", text, flags=re.MULTILINE)
    assert len(quotes) >= 4
    assert len(quotes) == text.count("| `src/")  # a row that is written otherwise would not be looked at
    for file, line in quotes:
        assert line in (ROOT / file).read_text(encoding="utf-8"), f"{file} no longer holds {line!r}"


def test_the_example_of_a_mechanism_works(tmp_path: Path) -> None:
    (code,) = blocks(ROOT / "CONTRIBUTING.md", "python")
    names: dict[str, Any] = {}
    exec(code, names)
    mine = names["TWO_ANSWERS"]
    release = dpcov.covariance(np.eye(3).repeat(5000, axis=0), dpcov.PureDP(1), row_norm=1, mechanism=mine, seed=0)
    release.save(tmp_path / "release.json")
    again = dpcov.load(tmp_path / "release.json", mechanisms=[mine])
    assert again.retrace().agrees
    assert np.abs(again.covariance - np.eye(3) / 3).max() < 0.05


TRACER = """
import os, sys
import dpcov
names, (*before, call) = {}, sys.argv[1].strip().splitlines()
root = os.path.dirname(dpcov.__file__) + os.sep
dpcov.covariance  # imports most modules: what only an import enters is no step of the call
exec("\\n".join(before), names)
entered = []

def enter(frame, event, _):
    file, name = frame.f_code.co_filename, frame.f_code.co_name
    if event == "call" and file.startswith(root) and name != "<module>":
        entered.append(file.removeprefix(root).replace(os.sep, "/"))

sys.setprofile(enter)
exec(call, names)
sys.setprofile(None)
print("\\n".join(dict.fromkeys(entered)))
"""


def test_the_path_of_one_call_is_the_true_one() -> None:
    """Every file that the section names is entered, in this order of first entry; it may leave files out."""
    page = (ROOT / "docs" / "how-it-works.md").read_text(encoding="utf-8")
    section = page.partition("\n## The path of one call\n")[2].partition("\n## ")[0]
    named = list(dict.fromkeys(re.findall(r"`([\w/]+\.py)`", section)))
    assert len(named) >= 20
    code = section.partition("```python\n")[2].partition("```")[0]
    assert "dpcov.covariance(rows, dpcov.ZCDP(0.1), row_norm=1)" in code
    seeded = code.replace("row_norm=1)", "row_norm=1, seed=0)")  # what is asked last depends on a noisy answer
    run = subprocess.run([sys.executable, "-c", TRACER, seeded], capture_output=True, text=True, check=True)
    entered = run.stdout.split()
    assert not [file for file in named if file not in entered]
    assert named == [file for file in entered if file in named]


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "SECURITY.md", "docs/guarantee.md", "docs/how-it-works.md"])
def test_what_must_be_trusted_is_the_same_everywhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    line = next(line for line in text.splitlines() if "`kernel/`, `sources/` and `schema/`" in line)
    near = text[text.index(line) :][: len(line) + 500]
    for file in ("linalg.py", "strict_json.py", "request.py", "mechanisms/running.py"):
        assert f"`{file}`" in near


def test_every_part_of_the_package_is_in_the_table() -> None:
    page = (ROOT / "docs" / "how-it-works.md").read_text(encoding="utf-8")
    table = page.partition("\n| folder of `src/dpcov` |")[2].partition("\n\n")[0]
    parts = [path.name + "/" * path.is_dir() for path in (ROOT / "src" / "dpcov").iterdir() if not path.name.startswith("_")]
    assert not [part for part in parts if part != "py.typed" and f"`{part}`" not in table]


def test_every_mechanism_has_its_page_and_its_line_in_the_list() -> None:
    assert "(docs/mechanisms/README.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
    listed = (ROOT / "docs" / "mechanisms" / "README.md").read_text(encoding="utf-8")
    for target, mechanisms in dpcov.MECHANISMS.items():
        for name, mechanism in mechanisms.items():
            page = (ROOT / "docs" / "mechanisms" / f"{name}.md").read_text(encoding="utf-8")
            assert f"dpcov.{target}(" in page.partition("<!-- end of what is made -->")[0]
            for option in mechanism.options:
                assert f"| `{option}` |" in page
            assert listed.count(f"| [`{name}`]({name}.md) |") == sum(name in known for known in dpcov.MECHANISMS.values())


def test_pages_that_are_made_are_what_the_code_says() -> None:
    generate = runpy.run_path(str(ROOT / "docs" / "generate.py"))
    made = generate["pages"]()
    assert len(made) > 3
    stale = [page.name for page, text in made.items() if not page.is_file() or page.read_text(encoding="utf-8") != text]
    assert not stale, "run `make docs`"


def test_every_page_is_in_the_index() -> None:
    """In docs/README.md, or in the list of mechanisms that it links to."""
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    assert "(mechanisms/README.md)" in index
    pages = {str(page.relative_to(ROOT / "docs")) for page in ROOT.glob("docs/**/*.md")} - {"README.md"}
    listed = set(re.findall(r"\]\(([^)#]+)\)", index))
    assert {page for page in pages if not page.startswith("mechanisms/")} <= listed
    mechanisms = (ROOT / "docs" / "mechanisms" / "README.md").read_text(encoding="utf-8")
    assert {page.name for page in PROOFS} <= set(re.findall(r"\]\(([^)#]+)\)", mechanisms))


def test_every_command_is_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for command in cli.commands:
        assert f"dpcov {command}" in readme


def entries(page: Path) -> set[str]:
    """Return the names that the page's headings and the first cells of its tables are about."""
    text = page.read_text(encoding="utf-8")
    headings = " ".join(re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)).replace("`", "")
    cells = " ".join(re.findall(r"^\| ([^|]*) \|", text, flags=re.MULTILINE))
    return set(headings.split()) | set(re.findall(r"`(?:\w+\.)?(\w+)[^`]*`", cells))


API = ROOT / "docs" / "api.md"


def test_every_public_name_is_in_the_reference() -> None:
    assert set(dpcov.__all__) <= entries(API)
    for module in ("testing", "replay", "audit", "plan", "metrics"):
        assert f"dpcov.{module}" in API.read_text(encoding="utf-8")


def returned(name: str) -> Iterator[str]:
    """Yield the names in the annotations of what a public name, or a member of it, returns."""
    value = getattr(dpcov, name)
    members = [value, *(vars(value).values() if inspect.isclass(value) else ())]
    for member in members:
        function = getattr(member, "fget", None) or getattr(member, "func", None) or getattr(member, "__func__", None) or member
        if inspect.isfunction(function) and not function.__name__.startswith("_"):
            yield from re.findall(r"\b[A-Z]\w+", str(function.__annotations__.get("return", "")))


INSIDE = {"NoiseLevel", "Decomposed", "Iterator", "NDArray", "Floats", "Any", "Self", "None", "Rule", "Callable", "Option"}
INSIDE |= {"Path", "Purse", "Unspent", "Entry", "Whose"}
"""What is passed on within the package, or is not of it."""


def test_what_public_names_return_is_in_the_reference() -> None:
    headings = set(re.findall(r"^#+ (\w+)$", API.read_text(encoding="utf-8"), flags=re.MULTILINE)) | {"Budget", "Spread"}
    for name in dpcov.__all__:
        unknown = set(returned(name)) - headings - INSIDE
        assert not unknown, f"{name} returns {unknown}: add it to MET in docs/generate.py"


def test_questions_are_imported_as_the_reference_says() -> None:
    text = API.read_text(encoding="utf-8")
    found: dict[str, object] = {}
    for row in re.findall(r"^\| (`.*`) \| `(dpcov\.kernel\.questions\.\w+)` \|", text, flags=re.MULTILINE):
        module = importlib.import_module(row[1])
        found |= {name: getattr(module, name) for name in re.findall(r"`(\w+)`", row[0])}
    assert set(ASKED) <= set(found.values())


def test_modules_are_reached_as_the_reference_says() -> None:
    """`import dpcov.testing` is not promised: they are attributes, which live elsewhere."""
    for module, home in (
        ("testing", "verify"),
        ("replay", "verify"),
        ("audit", "verify"),
        ("metrics", "evaluate"),
    ):
        assert f"`{module}`" in API.read_text(encoding="utf-8").partition("\n## ")[0]
        assert getattr(dpcov, module) is importlib.import_module(f"dpcov.{home}.{module}")
    hints = [
        text for path in (ROOT / "src").rglob("*.py") for text in re.findall(r"Hint: [^\n]*", path.read_text(encoding="utf-8"))
    ]
    assert not [hint for hint in hints if re.search(r"dpcov\.(replay|audit|testing|metrics)(?!\.\w)", hint)]


def test_every_attribute_of_a_release_is_in_the_reference() -> None:
    fields = {field.name for field in dataclasses.fields(dpcov.Release)}
    members = {name for name in dir(dpcov.Release) if not name.startswith("_")}
    found = set(re.findall(r"`(\w+)", API.read_text(encoding="utf-8").partition("\n## Release\n")[2].partition("\n## ")[0]))
    assert fields | members <= found


@pytest.mark.parametrize(
    ("function", "heading"),
    [
        (dpcov.covariance, "covariance"),
        (dpcov.mean, "mean"),
        (dpcov.pca, "pca"),
        (dpcov.ridge, "ridge"),
        (dpcov.convergence, "convergence"),
        (dpcov.compare, "compare"),
        (dpcov.PrivateCovariance, "PrivateCovariance"),
        (dpcov.PrivateMean, "PrivateMean"),
        (dpcov.PrivatePCA, "PrivatePCA"),
        (dpcov.PrivateRidge, "PrivateRidge"),
    ],
)
def test_the_reference_has_the_signature(function: Callable[..., object], heading: str) -> None:
    """Names, order and defaults."""
    section = API.read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2]
    shown = " ".join(section.partition("`")[2].partition("`")[0].split())
    parameters = [p.replace(annotation=p.empty) for p in inspect.signature(function).parameters.values() if p.name != "self"]
    signature = inspect.Signature(parameters)
    assert shown == heading + str(signature).replace("'", '"')


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_links_lead_to_a_heading(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#]*)#([^)]+)\)", page.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert anchor in anchors(page.parent / target if target else page), f"{target}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_files_that_are_named_exist(page: Path) -> None:
    """In the repository, or in the package; ``<name>`` stands for any."""
    for file in re.findall(r"`([\w./-]+/[\w-]+\.(?:py|md|toml))`", page.read_text(encoding="utf-8")):
        assert any((folder / file).exists() for folder in (ROOT, ROOT / "src" / "dpcov")), file


def with_examples() -> list[str]:
    """Return the modules that have examples in docstrings."""
    files = [path for path in (ROOT / "src").rglob("*.py") if ">>> " in path.read_text(encoding="utf-8")]
    names = [".".join(path.relative_to(ROOT / "src").with_suffix("").parts) for path in sorted(files)]
    return [name.removesuffix(".__init__") for name in names]


def test_there_are_examples() -> None:
    assert {"dpcov", "dpcov.api", "dpcov.schema", "dpcov.release.record"} <= set(with_examples())
    assert len(with_examples()) >= 15


@pytest.mark.parametrize("module", with_examples())
def test_docstring_examples(module: str) -> None:
    results = doctest.testmod(importlib.import_module(module), extraglobs={"np": np})
    assert results.attempted > 0
    assert results.failed == 0
