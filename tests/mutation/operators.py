"""Mistakes that a machine makes in a source text: each is one small edit, with a name and a place.

Left out is what states nothing about numbers: docstrings, annotations, imports, the words of messages, ``__repr__``, and
types. An edit that leaves the same bytecode, or the one of another edit, is no mistake of its own.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from types import CodeType

COMPARISONS: dict[type[ast.cmpop], tuple[str, tuple[str, ...]]] = {
    ast.Lt: ("<", ("<=", ">=")),
    ast.LtE: ("<=", ("<", ">")),
    ast.Gt: (">", (">=", "<=")),
    ast.GtE: (">=", (">", "<")),
    ast.Eq: ("==", ("!=",)),
    ast.NotEq: ("!=", ("==",)),
    ast.Is: ("is", ("is not",)),
    ast.IsNot: ("is not", ("is",)),
    ast.In: ("in", ("not in",)),
    ast.NotIn: ("not in", ("in",)),
}
ARITHMETIC: dict[type[ast.operator], tuple[str, tuple[str, ...]]] = {
    ast.Add: ("+", ("-",)),
    ast.Sub: ("-", ("+",)),
    ast.Mult: ("*", ("/",)),
    ast.Div: ("/", ("*",)),
    ast.FloorDiv: ("//", ("/",)),
    ast.Mod: ("%", ("//",)),
    ast.Pow: ("**", ("*",)),
    ast.LShift: ("<<", (">>",)),
    ast.RShift: (">>", ("<<",)),
    ast.BitAnd: ("&", ("|",)),
    ast.BitOr: ("|", ("&",)),
    ast.BitXor: ("^", ("&",)),
}
OTHER_FUNCTION = {
    "min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "fmin": "fmax", "fmax": "fmin",
    "argmin": "argmax", "argmax": "argmin", "any": "all", "all": "any",
    "rint": "trunc", "trunc": "rint", "floor": "ceil", "ceil": "floor",
    "sqrt_up": "sqrt_down", "sqrt_down": "sqrt_up", "ROUND_CEILING": "ROUND_FLOOR", "ROUND_FLOOR": "ROUND_CEILING",
    "next_minus": "next_plus", "next_plus": "next_minus", "log1p": "expm1", "expm1": "log1p", "zeros": "ones", "ones": "zeros",
}  # fmt: skip
PASSES_ON = {"abs", "asarray", "ascontiguousarray", "copied", "copy", "list", "nextafter", "remade", "sorted", "sqrt", "tuple"}
"""Calls that leave much of what they are given: without them it is the argument itself."""

COMMUTE = {"min", "max", "minimum", "maximum", "fmin", "fmax", "multiply", "add", "gcd", "array_equal"}
"""Functions whose first two arguments may be swapped."""

NEUTRAL = {"bool": ("True", "False"), "int": ("0",), "float": ("0.0",), "Fraction": ("Fraction(0)",), "str": ("''",)}
WORDS = {"__repr__", "__str__"}


@dataclass(frozen=True)
class Mistake:
    """One edit of a file of the package, from the byte ``start`` to the byte ``end``."""

    file: str
    start: int
    end: int
    new: str
    operator: str
    first: int
    """The lines of what it changes, counted from 1, to the last one."""
    last: int
    column: int
    inside: str
    """The function or class, by its qualified name; empty in the module itself."""
    was: str
    """The lines of the edit, without the white space around them, before and after."""
    becomes: str
    scope: range
    """The lines of the function that it is in; none in a module or a class itself."""
    binds: tuple[str, ...]
    """The names that a module or a class binds with it."""
    number: int = 0
    """Among the edits of a file that read alike."""

    @property
    def name(self) -> str:
        return f"{self.file}:{self.first}:{self.column} {self.operator}"

    def applied(self, source: bytes) -> bytes:
        return source[: self.start] + self.new.encode() + source[self.end :]


def mistakes(file: str, source: bytes) -> list[Mistake]:
    """Return every mistake of a file that makes another program, in the order of their places."""
    found = {(edit.start, edit.end, edit.new): edit for edit in _Finder(file, source).found()}
    seen, kept = {fingerprint(compile(source, file, "exec"))}, []
    alike: Counter[tuple[str, str, str]] = Counter()
    for edit in sorted(found.values(), key=lambda edit: (edit.start, edit.end, edit.new)):
        try:
            made = fingerprint(compile(edit.applied(source), file, "exec"))
        except SyntaxError:  # a name that is bound twice, say
            continue
        if made not in seen:
            seen.add(made)
            like = (edit.inside, edit.was, edit.becomes)
            kept.append(replace(edit, number=alike[like]))
            alike[like] += 1
    return kept


def fingerprint(code: CodeType) -> tuple[object, ...]:
    """Return all of a compiled text that decides what it does: not its lines."""
    inner = tuple(fingerprint(one) if isinstance(one, CodeType) else (type(one).__name__, repr(one)) for one in code.co_consts)
    names = (code.co_name, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return (code.co_code, inner, names, code.co_argcount, code.co_kwonlyargcount, code.co_flags, code.co_exceptiontable)


class _Finder(ast.NodeVisitor):
    def __init__(self, file: str, source: bytes) -> None:
        self._file, self._source = file, source
        self._lines = [0]
        for line in source.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))
        self._found: list[Mistake] = []
        self._inside: list[str] = []
        self._returns: list[str] = []
        self._scopes: list[range] = []
        self._binds: tuple[str, ...] = ()

    def found(self) -> list[Mistake]:
        self.visit(ast.parse(self._source))
        return self._found

    def _at(self, line: int, column: int) -> int:
        return self._lines[line - 1] + column

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._at(node.lineno, node.col_offset), self._at(node.end_lineno, node.end_col_offset)

    def _text(self, node: ast.expr | ast.stmt) -> str:
        start, end = self._span(node)
        return self._source[start:end].decode()

    def _add(self, start: int, end: int, new: str, operator: str) -> None:
        begin = self._source.rfind(b"\n", 0, start) + 1
        stop = self._source.find(b"\n", end)
        stop = len(self._source) if stop < 0 else stop
        was = self._source[begin:stop].decode()
        becomes = (self._source[begin:start] + new.encode() + self._source[end:stop]).decode()
        first = self._source.count(b"\n", 0, start) + 1
        last = first + self._source.count(b"\n", start, end)
        column = len(self._source[begin:start].decode()) + 1
        inside = ".".join(self._inside)
        place = (self._file, start, end, new, operator, first, last, column, inside, was.strip(), becomes.strip())
        scope = self._scopes[-1] if self._scopes else range(0)
        self._found.append(Mistake(*place, scope, () if self._scopes else self._binds))

    def _swap(self, node: ast.expr | ast.stmt, new: str, operator: str) -> None:
        self._add(*self._span(node), new, operator)

    def _sign(self, left: ast.expr, right: ast.expr, old: str, new: Iterable[str]) -> None:
        """Put another operator in the place of the one between two expressions."""
        start, end = self._span(left)[1], self._span(right)[0]
        words = r"\s+".join(map(re.escape, old.split()))
        gap = re.sub(rb"#[^\n]*", lambda comment: b" " * len(comment[0]), self._source[start:end])
        place = re.search(words.encode(), gap)
        assert place is not None, (self._file, left.lineno, old)
        for other in new:
            self._add(start + place.start(), start + place.end(), other, f"{old} to {other}")

    # What has no mistakes

    def visit_Import(self, node: ast.Import) -> None: ...
    def visit_ImportFrom(self, node: ast.ImportFrom) -> None: ...
    def visit_JoinedStr(self, node: ast.JoinedStr) -> None: ...
    def visit_Assert(self, node: ast.Assert) -> None: ...  # for the type checker, and about what cannot be

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._binding([node.target])
            self.visit(node.value)

    def visit_arg(self, node: ast.arg) -> None: ...

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg != "strict":  # of zip: it says, and checks, what is so anyway
            self.visit(node.value)

    # Where it is

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        if any(isinstance(base, ast.Name) and base.id == "Protocol" for base in node.bases):
            return
        self._inside.append(node.name)
        for part in node.body:
            self.visit(part)
        self._inside.pop()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.name in WORDS:
            return
        self._inside.append(node.name)
        self._returns.append(ast.unparse(node.returns) if node.returns else "")
        self._scopes.append(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        self.visit(node.args)
        for part in node.body:
            self.visit(part)
        self._returns.pop()
        self._scopes.pop()
        self._inside.pop()

    # Statements

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self._swap(node, "pass", "statement removed")
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.visit(node.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        self._swap(node, "pass", "raise removed")

    def visit_Break(self, node: ast.Break) -> None:
        self._swap(node, "continue", "break to continue")

    def visit_Continue(self, node: ast.Continue) -> None:
        self._swap(node, "break", "continue to break")

    def visit_Delete(self, node: ast.Delete) -> None:
        self._swap(node, "pass", "statement removed")

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is None:
            return
        for value in NEUTRAL.get(self._returns[-1], ("None",)):
            self._swap(node.value, value, "return of nothing")
        self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        if not self._returns and isinstance(node.value, ast.BinOp) and isinstance(node.value.op, ast.BitOr):
            return  # a type
        if self._returns and not any(isinstance(part, ast.Name) for target in node.targets for part in _parts(target)):
            self._swap(node, "pass", "assignment removed")
        self._binding(node.targets)
        for target in node.targets:
            self.visit(target)
        self.visit(node.value)

    def _binding(self, targets: Iterable[ast.expr]) -> None:
        self._binds = tuple(part.id for target in targets for part in _parts(target) if isinstance(part, ast.Name))

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._swap(node, "pass", "assignment removed")
        old, others = ARITHMETIC.get(type(node.op), ("", ()))
        if others:
            self._sign(node.target, node.value, f"{old}=", [f"{other}=" for other in others])
        self.visit(node.value)

    def visit_If(self, node: ast.If) -> None:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return
        self._condition(node.test)
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        self._condition(node.test)
        self.generic_visit(node)

    def visit_With(self, node: ast.With) -> None:
        for item in node.items:
            if item.optional_vars is None:
                self._swap(item.context_expr, "__import__('contextlib').nullcontext()", "context removed")
        self.generic_visit(node)

    # Expressions

    def _condition(self, test: ast.expr) -> None:
        if not isinstance(test, ast.Constant):
            self._swap(test, f"not ({self._text(test)})", "condition turned")

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._condition(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self._swap(test, "True", "filter removed")
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        for left, op, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
            self._sign(left, right, *COMPARISONS[type(op)])
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant) and isinstance(node.left.value, str):
            return
        if type(node.op) in ARITHMETIC:
            self._sign(node.left, node.right, *ARITHMETIC[type(node.op)])
        if isinstance(node.op, ast.FloorDiv):
            self._swap(node, f"-(-({self._text(node.left)}) // ({self._text(node.right)}))", "// rounded up")
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        inner = node.operand
        if not isinstance(inner, ast.Constant):
            sign = {ast.Not: "not", ast.USub: "-", ast.Invert: "~"}.get(type(node.op), "+")
            self._swap(node, f"({self._text(inner)})", f"{sign} removed")
        self.visit(inner)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        old, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for place, value in enumerate(node.values):
            neutral = old == "and"
            self._swap(value, str(neutral), f"part of {old} removed")
            if place:
                self._sign(node.values[place - 1], value, old, (other,))
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            self._swap(node, str(not value), "constant")
        elif isinstance(value, int):
            self._swap(node, f"{value + 1}", "constant + 1")
            if value > 0:
                self._swap(node, f"{value - 1}", "constant - 1")
        elif isinstance(value, float):
            self._swap(node, repr(1.05 * value if value else 1.0), "constant + 5 %")
            if value:
                self._swap(node, repr(0.95 * value), "constant - 5 %")

    def visit_Slice(self, node: ast.Slice) -> None:
        for bound in (node.lower, node.upper):
            if bound is not None and not isinstance(bound, ast.Constant):
                self._swap(bound, f"({self._text(bound)}) + 1", "slice off by one")
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self._rename(node, node.attr)
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        self._rename(node, node.id)

    def _rename(self, node: ast.expr, name: str) -> None:
        if name in OTHER_FUNCTION and isinstance(node.ctx, ast.Load):  # type: ignore[attr-defined]
            end = self._span(node)[1]
            self._add(end - len(name), end, OTHER_FUNCTION[name], f"{name} to {OTHER_FUNCTION[name]}")

    def visit_Call(self, node: ast.Call) -> None:
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
        if name in ("isinstance", "cast", "TypeVar") or name.endswith("Error"):
            return
        if name == "range" and node.args:
            stop = node.args[min(1, len(node.args) - 1)]
            self._swap(stop, f"({self._text(stop)}) - 1", "range shorter")
        if name in PASSES_ON and (node.args or name == "copy"):
            first = function.value if name == "copy" and isinstance(function, ast.Attribute) and not node.args else None
            self._swap(node, f"({self._text(first or node.args[0])})", f"{name} removed")
        for one, other in zip(node.args, node.args[1:], strict=False):
            if name not in COMMUTE and not _fixed(one) and not _fixed(other) and ast.dump(one) != ast.dump(other):
                start, end = self._span(one)[0], self._span(other)[1]
                between = self._source[self._span(one)[1] : self._span(other)[0]].decode()
                self._add(start, end, f"{self._text(other)}{between}{self._text(one)}", "arguments swapped")
        self.generic_visit(node)


def _fixed(argument: ast.expr) -> bool:
    """Whether an argument keeps its place: words do, and what is unpacked."""
    words = isinstance(argument, ast.JoinedStr) or (isinstance(argument, ast.Constant) and isinstance(argument.value, str))
    return words or isinstance(argument, ast.Starred)


def _parts(target: ast.expr) -> Iterator[ast.expr]:
    """Yield what an assignment binds, one by one."""
    if isinstance(target, ast.Tuple | ast.List):
        for one in target.elts:
            yield from _parts(one)
    else:
        yield target
