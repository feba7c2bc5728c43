"""Make the pages that are made of the code, so that they cannot say anything else: ``make docs``.

- docs/api.md, of the docstrings of the public names;
- docs/mechanisms/README.md, and the part "At a glance" of each mechanism's page, of the records in `dpcov.MECHANISMS`;
- the table of docs/which-mechanism.md, of the same records;
- docs/cli.md, of the help texts of the commands.

``--check`` writes nothing; it names the pages that are out of date and ends with 1 where there are some.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import dpcov
from dpcov.kernel.questions.asked import ASKED
from dpcov.mechanisms.base import Alias, Named

DOCS = Path(__file__).parent
MADE = "<!-- Made by docs/generate.py from the code: change the docstrings, then run `make docs`. -->"
BEGIN, END = "<!-- At a glance: made by docs/generate.py -->", "<!-- end of what is made -->"
BEGIN_TABLE = "<!-- The table: made by docs/generate.py -->"

MET = (
    "uses.description.Reading",
    "uses.spectrum.Spectrum",
    "uses.component_errors.ComponentErrors",
    "uses.clipped_rows.LostByClipping",
    "uses.weights.LostByWeights",
    "uses.weights.CutByRanges",
    "evaluate.comparison.Cell",
    "evaluate.plan.Prediction",
    "evaluate.plan.RowsNeeded",
    "release.estimate.ConfidenceBall",
    "release.estimate.ConfidenceEllipsoids",
    "release.mark.Mark",
    "verify.retrace.Retraced",
    "sources.sql.database.Query",
    "sources.sql.printed.PrintedSql",
    "kernel.answer.Answer",
    "kernel.answer.Spend",
    "kernel.rows.encoding.Encoding",
)
"""Classes that users meet in what public names return."""

HANDED = ("kernel.face.Face", "release.estimate.Estimate")
"""Classes that those who write mechanisms meet."""

BESIDE_QUESTIONS = (
    "kernel.questions.basis.EigenvectorsOf",
    "kernel.questions.basis.DirectionsOf",
    "kernel.questions.basis.GivenBasis",
    "kernel.questions.calibrated.noise_for",
    "kernel.questions.calibrated.calibrated",
)
"""What questions are asked with."""

WITHIN = frozenset(
    (
        *("rules", "described_by", "check_options", "refuse_unknown", "check_postprocess", "check_served", "knows_n"),
        *("amounts", "to_json", "offset", "reach", "table_columns", "widths", "noisy_entries"),
        *("attempt", "rehearse", "spend", "enter", "fail", "lines", "refuse"),
    )
)
"""Members that the rest of the package calls, and users do not."""

TARGETS = {
    "covariance": ("Covariances", "dpcov.covariance(data, budget, mechanism=NAME)", "dpcov release --mechanism NAME"),
    "mean": ("Means", "dpcov.mean(data, budget, mechanism=NAME)", "dpcov mean --mechanism NAME"),
    "pca": ("Principal components", "dpcov.pca(data, budget, k, mechanism=NAME)", "dpcov release --pca K --mechanism NAME"),
    "ridge": ("One regression", "dpcov.ridge(data, budget, target, alpha=ALPHA, mechanism=NAME)", ""),
}
CENTRING = {"no": "no", "homogeneous": "yes", "own": "its own way (`centring`)"}


# Docstrings: numpydoc, as plain data.


class Docstring:
    """The parts of a numpydoc docstring."""

    def __init__(self, text: str | None) -> None:
        text = inspect.cleandoc(text or "")
        parts = re.split(r"^(\w[\w ]*)\n-{3,}$\n?", text, flags=re.MULTILINE)
        self.head = parts[0].strip()
        self.sections = {name: body.strip("\n") for name, body in zip(parts[1::2], parts[2::2], strict=True)}

    @property
    def summary(self) -> str:
        """The first paragraph, in one line."""
        return " ".join(self.head.partition("\n\n")[0].split())

    def fields(self, section: str) -> dict[str, tuple[str, str]]:
        """Return type and meaning of each name in a section; names that share an entry stand in one key."""
        found: dict[str, tuple[str, str]] = {}
        for entry in re.split(r"\n(?=\S)", self.sections.get(section, "")):
            first, _, rest = entry.partition("\n")
            if first:
                name, _, kind = first.partition(" : ")
                found[name.strip()] = (kind.strip(), inspect.cleandoc(rest))
        return found


def prose(text: str, up: str = "") -> str:
    """Return paragraphs of a docstring as Markdown, a sentence to a line; ``up`` leads from the page to docs/."""
    paragraphs = []
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        if paragraph.startswith(("===", "::", "    ")):  # tables and drawings are for those who read the source
            continue
        if re.match(r"[A-Z]\w+ {3,}\S", paragraph):  # Paper, Proof, Units: a word, and what it says
            entries = re.split(r"\n(?=\S)", paragraph)
            paragraphs.append(
                "\n".join(linked(f"**{entry.partition(' ')[0]}.** {' '.join(entry.split()[1:])}", up) for entry in entries)
            )
        elif paragraph.lstrip().startswith(">>>"):
            paragraphs.append(f"```pycon\n{paragraph}\n```")
        elif paragraph.lstrip().startswith("- "):
            paragraphs.append(linked(re.sub(r"\n  +", " ", paragraph), up))
        else:
            line = linked(" ".join(paragraph.split()), up)
            paragraphs.append(re.sub(r"(?<=[.!?])(?<!r\.m\.s\.)(?<!et al\.) (?=[A-Z`\"*])", "\n", line))
    return "\n\n".join(paragraphs)


def cell(text: str, up: str = "") -> str:
    """Return text as it may stand in a cell of a table."""
    return linked(" ".join(text.split()), up).replace("|", "\\|")


def linked(text: str, up: str) -> str:
    """Return text with code as Markdown has it, and with links to the pages that it names."""
    if up:  # pages of mechanisms stand beside each other
        text = re.sub(r"docs/mechanisms/([\w-]+)\.md", r"[\1](\1.md)", text)
    text = re.sub(r"``(.+?)``", r"`\1`", text)
    return re.sub(r"`?docs/([\w/-]+)\.md(#[\w-]+)?`?", lambda m: f"[{title_of(m[1])}]({up}{m[1]}.md{m[2] or ''})", text)


def title_of(page: str) -> str:
    """Return what a link to a page says."""
    return page.removesuffix("/README").rpartition("/")[2].replace("-", " ")


def table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table; nothing where it would have no rows."""
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) if rows else ""


def in_code(names: str) -> str:
    """Return names, with commas between them, as code."""
    return ", ".join(f"`{name.strip()}`" for name in names.split(","))


def code(value: object) -> str:
    """Return a value as people write it."""
    return f'"{value}"' if isinstance(value, str) else repr(value)


def signature(function: Callable[..., Any], name: str) -> str:
    """Return the call of a function: names and defaults, without types."""
    parameters = [p.replace(annotation=p.empty) for p in inspect.signature(function).parameters.values() if p.name != "self"]
    return name + str(inspect.Signature(parameters)).replace("'", '"')


def found(path: str) -> Any:
    """Return what stands at a path inside the package."""
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(f"dpcov.{module}"), name)


# docs/api.md


def api() -> str:
    """Return the reference of all public names."""
    names = list(dpcov.__all__)
    errors = [name for name in names if inspect.isclass(getattr(dpcov, name)) and issubclass(getattr(dpcov, name), Exception)]
    listed = [
        [f"[`{name}`](#{'errors' if name in errors else name.strip('_').lower()})", cell(summary(name))] for name in names
    ]
    modules = [name for name in dpcov._MODULES if name not in names]
    listed += [[f"[`dpcov.{name}`](#dpcov{name})", cell(Docstring(getattr(dpcov, name).__doc__).summary)] for name in modules]
    parts = [
        "# Reference",
        MADE,
        "Every name here is imported from `dpcov`, and loaded when it is first used.\n"
        f"The modules {', '.join(f'`{name}`' for name in modules)} are such names, too: write "
        "`dpcov.metrics.frobenius(...)` or `from dpcov import metrics`.",
        table(["name", "what it is"], listed),
        *(section(name) for name in names if name not in errors),
        f"## Errors\n\n{prose(importlib.import_module('dpcov.errors').__doc__ or '')}",
        table(["error", "meaning"], [error_row(name) for name in errors]),
        "## What they return",
        "Classes that nobody needs to import: attributes and methods of the names above return them.",
        *(a_class(found(path), path.rpartition(".")[2], "###") for path in MET),
        *for_mechanisms(),
        *(a_module(name) for name in modules),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def summary(name: str) -> str:
    """Return what a public name is, in a line."""
    value = getattr(dpcov, name)
    return Docstring(value.__doc__ if callable(value) else literal_docstring(name)).summary


def literal_docstring(name: str) -> str:
    """Return the text below the assignment of a public name that is neither a function nor a class."""
    module = importlib.import_module(f"dpcov.{dpcov._HOME.get(name, '_version')}")
    body = ast.parse(inspect.getsource(module)).body
    for statement, after in pairwise(body):
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            assert isinstance(after, ast.Expr), f"{name} has no text below it"
            return str(ast.literal_eval(after.value))
    raise LookupError(name)


def section(name: str) -> str:
    """Return the section of one public name."""
    value = getattr(dpcov, name)
    if inspect.isclass(value):
        return a_class(value, name, "##")
    if callable(value):
        return "\n\n".join(filter(None, [f"## {name}", *a_function(value, name)]))
    parts = [f"## {name.strip('_')}", prose(literal_docstring(name))]
    if name == "MECHANISMS":
        links = {target: ", ".join(f"[`{one}`](mechanisms/{one}.md)" for one in known) for target, known in value.items()}
        parts.append(table(["key", "names"], [[f'`"{target}"`', names] for target, names in links.items()]))
    return "\n\n".join(parts)


def a_function(function: Callable[..., Any], name: str) -> list[str]:
    """Return signature and docstring of a function."""
    doc = Docstring(function.__doc__)
    return [f"`{signature(function, name)}`", prose(doc.head), *the_rest(doc)]


def the_rest(doc: Docstring, attributes: str = "") -> Iterator[str]:
    """Yield what follows the head of a docstring."""
    parameters = [[in_code(name), cell(kind), cell(text)] for name, (kind, text) in doc.fields("Parameters").items()]
    yield table(["parameter", "type", "meaning"], parameters)
    yield attributes
    for title in ("Returns", "Raises"):
        for name, (_, text) in doc.fields(title).items():
            yield f"**{title}** {in_code(name)}{': ' * bool(text)}{prose(text)}"
    for title in ("Privacy", "Utility", "Notes"):
        if title in doc.sections:
            yield f"**{title}.** {prose(doc.sections[title])}"
    if "Examples" in doc.sections:
        yield prose(doc.sections["Examples"])


def a_class(kind: type, name: str, heading: str) -> str:
    """Return the section of a class: what it is, what it has, what it can do."""
    doc = Docstring(kind.__doc__)
    made_by_users = "Parameters" in doc.sections
    parts = [f"{heading} {name}"]
    if made_by_users:
        parts.append(f"`{signature(kind, name)}`")
    parts += [prose(doc.head), *the_rest(doc, table(["attribute", "meaning"], attributes_of(kind)))]
    short, long = [], []
    for member, function in methods_of(kind):
        told = Docstring(function.__doc__)
        if "Parameters" in told.sections:
            long.append("\n\n".join([f"{heading}# {name}.{member}", *filter(None, a_function(function, member))]))
        else:
            short.append([f"`{signature(function, member)}`", cell(told.head)])
    return "\n\n".join(part for part in [*parts, table(["method", "meaning"], short), *long] if part)


def bases_of(kind: type) -> list[type]:
    """Return a class and those of this package that it is made of, itself first."""
    return [base for base in kind.__mro__ if base.__module__.startswith("dpcov")]


def attributes_of(kind: type) -> list[list[str]]:
    """Return name and meaning of what a class has: what its docstrings tell, and its properties."""
    rows: list[list[str]] = []
    told: set[str] = set()
    documented = [Docstring(base.__doc__) for base in bases_of(kind)]
    for doc in documented:
        for names, (_, text) in doc.fields("Attributes").items():
            each = [one.strip() for one in names.split(",")]
            if not set(each) & told:
                rows.append([in_code(names), cell(text)])
            told |= set(each)
        told |= {one.strip() for names in doc.fields("Parameters") for one in names.split(",")}
    for base in bases_of(kind):
        for member, value in vars(base).items():
            function = value.fget if isinstance(value, property) else value.func if isinstance(value, cached_property) else None
            if function is not None and not member.startswith("_") and member not in WITHIN | told:
                rows.append([f"`{member}`", cell(Docstring(function.__doc__).head)])
                told.add(member)
    if dataclasses.is_dataclass(kind):
        untold = [field.name for field in dataclasses.fields(kind) if field.name not in told and not field.name.startswith("_")]
        if untold:
            raise LookupError(f"the docstring of {kind.__name__} says nothing of {', '.join(untold)}")
    return rows


def methods_of(kind: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the public methods of a class, its own first."""
    seen: set[str] = set()
    for base in bases_of(kind):
        for member, value in vars(base).items():
            if member.startswith("_") or member in WITHIN | seen:
                continue
            if inspect.isfunction(value):
                yield member, value
            elif isinstance(value, classmethod | staticmethod):
                yield member, getattr(kind, member)
            seen.add(member)


def error_row(name: str) -> list[str]:
    """Return an error, what else it is, and what it means."""
    kind = getattr(dpcov, name)
    others = [base.__name__ for base in kind.__bases__ if base.__module__ == "builtins" and base is not Exception]
    return [f"`{name}`" + "".join(f" (a `{other}`)" for other in others), cell(Docstring(kind.__doc__).head)]


def for_mechanisms() -> Iterator[str]:
    """Yield what those need who write mechanisms: what may be asked, of whom, and what is returned."""
    yield "## Writing a mechanism"
    yield (
        "A [`Mechanism`](#mechanism) of your own asks these questions, and no others.\n"
        "[An example](../examples/own_mechanism.py) is complete; "
        "[contributing](../CONTRIBUTING.md#adding-a-mechanism) has another."
    )
    questions = [(question.__name__, question.__module__, question) for question in ASKED]
    beside = [(path.rpartition(".")[2], f"dpcov.{path.rpartition('.')[0]}", found(path)) for path in BESIDE_QUESTIONS]
    titles = ["imported from", "what it is"]
    rows = [[f"`{name}`", f"`{module}`", cell(Docstring(one.__doc__).summary)] for name, module, one in questions]
    yield table(["question", *titles], rows)
    rows = [[f"`{name}`", f"`{module}`", cell(Docstring(one.__doc__).summary)] for name, module, one in beside]
    yield table(["beside questions", *titles], rows)
    for path in HANDED:
        yield a_class(found(path), path.rpartition(".")[2], "###")


def a_module(name: str) -> str:
    """Return the section of a public module: its functions and classes, each with its call and what it does."""
    module: ModuleType = getattr(dpcov, name)
    doc = Docstring(module.__doc__)
    names = getattr(module, "__all__", None) or [one for one in vars(module) if not one.startswith("_")]
    known = {one: getattr(module, one) for one in names}
    parts: dict[str, list[list[str]]] = {module.__name__: []}
    examples: list[str] = []
    for one, value in known.items():
        if (inspect.isfunction(value) or inspect.isclass(value)) and is_of(value, module):
            told = Docstring(value.__doc__)
            within = value.__module__ if value.__module__.startswith(f"{module.__name__}.") else module.__name__
            text = told.head if within == module.__name__ else told.summary  # what follows in parts are proofs
            parts.setdefault(within, []).append([f"`{name}.{call_of(value, one)}`", cell(text)])
            examples += [prose(told.sections["Examples"])] if "Examples" in told.sections else []
    titles = ["name", "what it does"]
    shown = [f"## dpcov.{name}", prose(doc.head), table(titles, parts.pop(module.__name__)), *examples]
    for within, rows in parts.items():
        shown += [prose(inspect.cleandoc(sys.modules[within].__doc__ or "")), table(titles, rows)]
    return "\n\n".join(filter(None, shown))


def is_of(value: Any, module: ModuleType) -> bool:
    """Whether something is defined in a module, or in a part of it that has its public names."""
    return str(value.__module__).startswith(module.__name__) or value.__name__ in getattr(module, "__all__", ())


def call_of(value: Any, name: str) -> str:
    """Return how something is called; of an error, which nobody makes, its name."""
    return name if inspect.isclass(value) and issubclass(value, Exception) else signature(value, name)


# docs/mechanisms


def overview() -> str:
    """Return the page of all mechanisms."""
    parts = [
        "# Mechanisms",
        MADE,
        "`auto` picks one from public facts alone: [how](auto.md).\n"
        "Each of the others has a page with its statement, its proof, the lines of code that implement the equations, and when "
        "not to use it.\n"
        "[Centring](centring.md) and [groups](groups.md) are shared by several; so is [shrinkage](../shrinkage.md), the usual "
        "post-processing.\n"
        "All of them ask about people with several rows, and weights, in the same way: [people](people.md).\n"
        "`dpcov mechanisms` prints these lists.",
    ]
    for target, known in dpcov.MECHANISMS.items():
        title, python, shell = TARGETS[target]
        parts += [f"## {title}", f"`{python}`" + (f", from the shell `{shell}`." if shell else ".")]
        parts.append(
            table(
                ["name", "what it does", "paper"],
                [[f"[`{name}`]({name}.md)", cell(told(one).summary, "../"), cell(paper(one))] for name, one in known.items()],
            )
        )
        rows = [[f"`{name}`", *facts(one).values(), options(one)] for name, one in known.items()]
        parts.append(table(["name", *facts(next(iter(known.values()))), "options and defaults"], rows))
    parts.append(
        "**Budgets** are classes of `dpcov`; **neighbours** differ in one row that is replaced, or added or removed.\n"
        "**Post-processing** costs no privacy; the first is the usual one, and `none` is always there."
    )
    return "\n\n".join(parts) + "\n"


def glance(name: str) -> str:
    """Return the part of a mechanism's page that is made of its records, one for each target."""
    records = {target: known[name] for target, known in dpcov.MECHANISMS.items() if name in known}
    parts = [BEGIN, "## At a glance"]
    for target, one in records.items():
        title, python, shell = TARGETS[target]
        call = python.replace("NAME", f'"{name}"')
        doc = told(one)
        rows = [[fact, value] for fact, value in facts(one).items()]
        rows += [["public bound", bound(one)], *([["paper", cell(paper(one))]] if paper(one) else [])]
        if len(records) > 1:
            parts.append(f"**{title}.** {prose(doc.summary, '../')}")
        parts.append(f"`{call}`" + (f", from the shell `{shell.replace('NAME', name)}`." if shell else "."))
        parts.append(table(["fact", name], rows))
        meanings = {
            one_name.strip(): text for names, (_, text) in doc.fields("Parameters").items() for one_name in names.split(",")
        }
        listed = [
            [f"`{option}`", default(value), cell(meanings.get(option, ""), "../")] for option, value in one.options.items()
        ]
        missing = [option for option in one.options if not meanings.get(option)]
        if missing:
            raise LookupError(f"the docstring of {name!r} says nothing of {', '.join(missing)}")
        parts.append(table(["option", "default", "meaning"], listed) or "It has no options.")
        parts += [f"**{part}.** {prose(doc.sections[part], '../')}" for part in ("Privacy", "Utility") if part in doc.sections]
    return "\n\n".join([*parts, END])


def told(named: Named) -> Docstring:
    """Return what a mechanism says of itself."""
    return Docstring(named.described_by.__doc__)


def facts(named: Named) -> dict[str, str]:
    """Return what a mechanism serves, by what it is called; only covariances and components can be centred."""
    centred = {"centred": CENTRING[named.centring]} if named.target in ("covariance", "pca") else {}
    return {
        "budgets": ", ".join(f"`{notion.__name__}`" for notion in named.serves),
        "neighbours": ", ".join(named.neighbors),
        **centred,
        **({"groups": "[yes](../groups.md)"} if named.groups else {}),
        "post-processing": ", ".join(f"`{one}`" for one in dict.fromkeys([*named.postprocess, "none"])),
    }


def bound(named: Named) -> str:
    """Return the public bounds one of which a mechanism needs."""
    if named.bound == "schema":
        return "a `schema`"
    own = f"`{named.covariances[0]}`, `row_norm`" if named.bound == "covariance" else f"`{named.bound}`"
    return f"{own} or a `schema`"


def options(named: Named) -> str:
    """Return the options with their defaults."""
    shown = [name if value is inspect.Parameter.empty else f"{name}={code(value)}" for name, value in named.options.items()]
    return ", ".join(f"`{one}`" for one in shown)


def default(value: object) -> str:
    """Return the default of an option, as code."""
    return "must be given" if value is inspect.Parameter.empty else f"`{code(value)}`"


def paper(named: Named) -> str:
    """Return the paper that a mechanism's file names; an alias chooses, and has none."""
    module = inspect.getmodule(named.described_by)
    text = inspect.cleandoc(module.__doc__ or "") if module else ""
    entry = re.search(r"^Paper    (.*(?:\n {9}.*)*)", text, flags=re.MULTILINE)
    if entry:
        return " ".join(entry[1].split()).rstrip(".")
    return "" if isinstance(named, Alias) else "this library"


def decisions() -> str:
    """Return the tables of which mechanism serves what, one for each target."""
    parts = [BEGIN_TABLE]
    for target, known in dpcov.MECHANISMS.items():
        centred = ["centred"] if target in ("covariance", "pca") else []  # a mean or a regression is not
        titles = ["name", "ε", "ρ", "ε, δ", "replace", "add-remove", *centred, "needs", "what it does"]
        title, python, _ = TARGETS[target]
        parts += [f"**{title}**, `{python}`:", table(titles, [decision(*one) for one in known.items()])]
    return "\n\n".join([*parts, END])


def decision(name: str, named: Named) -> list[str]:
    """Return the line of one mechanism: what it serves, what it needs, what it does."""
    notions = [yes(notion in named.serves) for notion in (dpcov.PureDP, dpcov.ZCDP, dpcov.ApproxDP)]
    relations = [yes(relation in named.neighbors) for relation in ("replace", "add-remove")]
    centred = [yes(named.centring != "no")] if named.target in ("covariance", "pca") else []
    must = [f"`{option}`" for option, value in named.options.items() if value is inspect.Parameter.empty]
    needs = ", ".join([bound(named), *must])
    return [f"[`{name}`](mechanisms/{name}.md)", *notions, *relations, *centred, needs, cell(told(named).summary)]


def yes(served: bool) -> str:
    """Return the mark of what is served; words, as ticks are read aloud badly."""
    return "yes" if served else "–"


def with_made(page: Path, begin: str, made: str) -> str:
    """Return a page with the part that is made put in anew."""
    before, found, rest = page.read_text(encoding="utf-8").partition(begin)
    _, end, after = rest.partition(END)
    if not (found and end):
        raise LookupError(f"{page} must hold the lines {begin!r} and {END!r}, with what is made between them")
    return before + made + after


def pages() -> dict[Path, str]:
    """Return every page that is made, or made in part, with its text."""
    from dpcov.cli.reference import reference

    names = dict.fromkeys(name for known in dpcov.MECHANISMS.values() for name in known)
    folder = DOCS / "mechanisms"
    made = {DOCS / "api.md": api(), DOCS / "cli.md": reference(), folder / "README.md": overview()}
    which = DOCS / "which-mechanism.md"
    made |= {which: with_made(which, BEGIN_TABLE, decisions())}
    return made | {folder / f"{name}.md": with_made(folder / f"{name}.md", BEGIN, glance(name)) for name in names}


def main(arguments: Sequence[str]) -> int:
    """Write the pages, or with ``--check`` name those that are out of date."""
    stale = [page for page, text in pages().items() if not page.is_file() or page.read_text(encoding="utf-8") != text]
    check = "--check" in arguments
    for page in stale:
        print(f"{page.relative_to(DOCS.parent)} {'is out of date: run `make docs`' if check else 'is made anew'}")
        if not check:
            page.write_text(pages()[page], encoding="utf-8")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
