"""One row for each mechanism: the options that matter, values that are refused, budgets that are too small, and data to try.

What every mechanism must pass runs over this table: `test_every_mechanism`, and `tests/audit/test_few_rows.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.mechanisms import MECHANISMS
from dpcov.mechanisms.base import Named

Floats = NDArray[np.float64]
Options = dict[str, Any]

BUDGETS: tuple[Budget, ...] = (PureDP(1), ZCDP("0.5"), ApproxDP(1, "1e-6"))
TINY: tuple[Budget, ...] = (
    *(PureDP("1e-30"), PureDP("1e-200"), PureDP("1e-320")),
    *(ZCDP("1e-60"), ZCDP("1e-200"), ZCDP("1e-250"), ZCDP("1e-320")),
    *(ApproxDP("1e-30", "1e-60"), ApproxDP("1e-200", "1e-60"), ApproxDP("1e-320", "1e-60")),
)
"""No noise of 64-bit integers is large enough for these."""
SMALL: tuple[Budget, ...] = (ZCDP("1e-40"), PureDP("1e-20"), ApproxDP("1e-20", "1e-30"))
"""Nor for these, where a share of the budget pays for a second moment."""

LONGEST = np.tile([[0.1, 0.0, -0.05]], (300, 1))
LONGEST[7] = [1e308, -1e308, 1e308]
SHORT_ROWS: dict[str, Floats] = {
    "zeros": np.zeros((400, 3)),
    "one enormous row": LONGEST,
    "nothing finite": np.full((30, 3), np.nan),
    "infinities": np.where(np.arange(900).reshape(300, 3) % 7 == 0, -np.inf, 0.2),
    "tiny": np.full((400, 3), 1e-300) * np.arange(1, 4),
    "from tiny to huge": np.exp(np.linspace(-690, 700, 900)).reshape(300, 3),
    "denormal": np.full((400, 3), 5e-324),
    "one row": np.array([[0.6, 0.0, 0.8]]),
    "one column": np.linspace(-1, 1, 300).reshape(-1, 1),
    "one cell": np.array([[0.5]]),
    "all of norm 1": np.tile([[0.6, 0.0, 0.8]], (300, 1)),
}
CALM = np.random.default_rng(94).normal(size=(300, 3))
LONG_ROWS: dict[str, Floats] = {
    "zeros": np.zeros((300, 3)),
    "one column": CALM[:, :1],
    "two rows": CALM[:2],
    "a constant column": CALM * [1.0, 0.0, 1.0] + [0.0, 1e3, 0.0],
    "constant rows": np.full((300, 3), 7.0),
    "equal columns": CALM[:, [0, 0, 0]],
    "missing": np.where(np.arange(900).reshape(300, 3) % 7 == 0, np.nan, CALM),
    "nothing finite": np.full((30, 3), np.nan),
    "infinities": np.where(np.arange(900).reshape(300, 3) % 7 == 0, -np.inf, CALM),
    "one enormous row": np.vstack([CALM, [[1e308, -1e308, 1e308]]]),
    "from tiny to huge": np.exp(np.linspace(-690, 700, 900)).reshape(300, 3),
    "tiny": np.full((300, 3), 1e-300) * np.arange(1, 4),
}
FOUR = np.random.default_rng((1, 5400)).normal(size=(60, 4)) / 3
FOUR_COLUMNS: dict[str, Floats] = {
    "zero": np.zeros((50, 4)),
    "one row": FOUR[:1],
    "fewer rows than components": FOUR[:2],
    "one direction": np.tile([0.5, 0.5, 0.5, 0.5], (60, 1)),
    "equal eigenvalues": np.vstack([np.eye(4)] * 10),
    "two equal and two zero": np.vstack([np.eye(4)[:2]] * 10),
    "constant columns": FOUR * [1, 0, 1, 0],
    "NaN": np.full((9, 4), np.nan),
    "infinite": np.full((9, 4), -np.inf),
    "huge": np.full((9, 4), 1e308),
    "tiny": np.full((9, 4), 5e-324),
}
THREE = np.random.default_rng(9200).normal(size=(3000, 3)) / 3
THREE_COLUMNS: dict[str, Floats] = {
    "one row": THREE[:1],
    "zeros": np.zeros((9, 3)),
    "NaN": np.full((9, 3), np.nan),
    "infinite": np.full((9, 3), -np.inf),
    "huge": np.full((9, 3), 1e308),
    "tiny": np.full((9, 3), 5e-324),
    "one direction": np.tile([0.5, 0.5, 0.5], (60, 1)),
    "a constant target": THREE * [0, 1, 1] + [0.5, 0, 0],
}


@dataclass(frozen=True)
class Case:
    """What is tried of a mechanism.

    Attributes
    ----------
    runs
        Options, and the budgets to replay them with.
    needed
        Options that it cannot do without; the others are added to them.
    bad
        Options that are refused, after the words that the message begins with.
    small
        Options to try with the budgets that are too small, and these; None where no budget is.
    branches
        Whether what it asks depends on answers, whatever the options are; with a private clipping radius it does anyway.
    rows, wild, budgets
        Tables that are no obstacle, by name; options and budgets to try them with.
    """

    runs: list[tuple[Options, list[Budget]]] = field(default_factory=list)
    needed: Options = field(default_factory=dict)
    bad: list[tuple[str, Options]] = field(default_factory=list)
    small: list[Options] = field(default_factory=lambda: [{}])
    tiny: tuple[Budget, ...] | None = TINY
    branches: bool = False
    rows: dict[str, Floats] = field(default_factory=lambda: SHORT_ROWS)
    wild: list[Options] = field(default_factory=lambda: [{}])
    budgets: tuple[Budget, ...] = (ZCDP("0.5"), PureDP(1), PureDP(100))


PURE, RHO, APPROX = PureDP(8), ZCDP(8), ApproxDP(8, "1e-6")
CHAIN: Options = {"approximate": True, "sweeps": 2}
PAPER: Options = {"constants": "paper", "clip": "private"}


def each(name: str, *values: Any, beside: Options | None = None) -> list[tuple[str, Options]]:
    """Return options that are refused: one by this name, of each value."""
    return [(name, {**(beside or {}), name: value}) for value in values]


NO_CLIPS = each("clip", 0, 0.0, -0.1, 2.0000001, 1e300, np.inf, np.nan, True, "Private", "", None, [1.0], 1j)
CLIPS: list[Options] = [{"clip": "none"}, {"clip": "private"}, {"clip": 1.0}]
CLIPPED: list[Options] = [{"clip": "private"}, {"clip": 1e-3}]
NO_BETAS = (0, 1, -0.1, 1.5, np.nan, "0.05", True, None)

INDEFINITE = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
SINGULAR = np.ones((3, 3)) + np.diag([0.0, 0.0, 1.0])
ASYMMETRIC = np.array([[2.0, 1.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]])
NO_BOUNDS: list[Any] = [
    *(0, 0.0, -1.0, np.nan, np.inf, 1e151, True, "large", 1j, {}, [1.0, 2.0], [[1.0, 0.0], [0.0, 1.0]]),
    *([1.0, 1.0, 0.0], [1.0, -1.0, 1.0], [1.0, np.nan, 1.0], ["a", "b", "c"], [[1.0], [1.0, 2.0]]),
    *(INDEFINITE, SINGULAR, ASYMMETRIC, -np.eye(3), np.zeros((3, 3)), np.full((3, 3), np.nan), np.eye(4), np.ones((3, 3, 3))),
]
NO_ORIGINS: list[Any] = [[1.0, 2.0], [1.0] * 4, np.nan, [0.0, np.inf, 0.0], "zero", None, np.eye(3)]
NO_RANKS: list[Any] = [-1, 4, 10**30, True, False, 2.5, 2.0, "2", None, math.nan, [1], Fraction(2)]
NO_ROUNDS: list[Any] = [0, -1, 101, 1.0, 2.5, np.nan, True, None, "", "3", "Auto", [2]]
NO_K = [
    ("k must be an integer from 1 to 3", {"k": bad})
    for bad in (0, -1, 4, 5, 10**30, True, False, 2.0, 1.5, "2", None, math.nan, [1], Fraction(2))
]
NO_PENALTY: list[Any] = [
    0,
    0.0,
    -1,
    -1e-300,
    math.nan,
    math.inf,
    1e301,
    10**400,
    True,
    "0.1",
    "auto",
    None,
    [0.1],
    1j,
    np.array(0.1),
]
NO_TARGETS: list[Any] = [-1, 3, 10**30, True, False, 1.0, "x1", None, np.int64(1), [0]]

MEAN_TABLES: dict[str, Any] = {
    "tiny": (*TINY, *SMALL),
    "rows": LONG_ROWS,
    "wild": [{}, {"covariance": 1.0}],
    "budgets": (ZCDP("0.5"), PureDP("0.01"), ApproxDP(5, "1e-6")),
}
NO_MEAN = [
    *each("origin", *NO_ORIGINS, {}, 1j, 1e151),
    *each("postprocess", "clip", "shrink", "", 1),
    *each("covariance", *NO_BOUNDS),
]
NO_CONSTANTS = each("constants", "loose", "program", "proved", "", None, 1)
COMPONENTS: dict[str, Any] = {"needed": {"k": 1}, "rows": FOUR_COLUMNS, "wild": [{"k": 1}, {"k": 3}], "budgets": BUDGETS}

CASES: dict[tuple[str, str], Case] = {
    ("covariance", "auto"): Case(
        branches=True,
        runs=[({}, [PURE, RHO, APPROX])],
        bad=[*each("robust", 1, 0, "yes", None)],
        tiny=(*TINY, *SMALL),
    ),
    ("covariance", "gaussian"): Case(
        runs=[({}, [RHO, APPROX]), ({"clip": "private"}, [RHO])],
        bad=[*NO_CLIPS, *each("constants", "loose", None, 1)],
        small=[*CLIPS, PAPER, {"constants": "program"}],
        tiny=(*TINY, *SMALL),
        wild=[*CLIPPED, {"constants": "program"}],
    ),
    ("covariance", "wishart"): Case(
        runs=[({}, [PURE]), ({"clip": "private"}, [PURE])],
        bad=NO_CLIPS,
        small=CLIPS,
        tiny=(*TINY, *SMALL),
        wild=CLIPPED,
    ),
    ("covariance", "frobenius"): Case(
        runs=[({}, [PURE])],
        bad=NO_CLIPS,
        small=[*CLIPS, PAPER],
        tiny=(*TINY, *SMALL),
        wild=CLIPPED,
    ),
    ("covariance", "laplace"): Case(
        runs=[({}, [PURE])],
        bad=NO_CLIPS,
        small=[*CLIPS, PAPER],
        tiny=(*TINY, *SMALL),
        wild=CLIPPED,
    ),
    ("covariance", "projection"): Case(
        runs=[({}, [RHO])],
        bad=[*NO_CLIPS, *each("postprocess", "shrink", "clip", "", 1)],
        small=CLIPS,
        tiny=(*TINY, *SMALL),
        wild=CLIPPED,
    ),
    ("covariance", "separate"): Case(
        runs=[({}, [PURE, RHO]), (PAPER, [RHO])],
        bad=[*NO_CLIPS, *each("postprocess", "shrink", "sort", "", 1), *each("constants", "loose", None, 1)],
        small=[*CLIPS, PAPER],
        tiny=(*TINY, *SMALL),
        wild=[*CLIPPED, {"clip": "none", "constants": "program"}, {**PAPER, "postprocess": "clip"}, {}],
    ),
    ("covariance", "adaptive"): Case(
        branches=True,
        runs=[({}, [PURE, RHO]), ({"constants": "paper"}, [PURE, RHO]), ({"constants": "program"}, [PURE, RHO])],
        bad=[
            *each("beta", *NO_BETAS),
            *each("beta", 0.2, 0.0500001, beside={"constants": "program"}),
            *each("postprocess", "shrunk", "sort", "", 1),
            *each("constants", "loose", None, 1),
        ],
        small=[{}, {"constants": "paper"}, {"constants": "program"}],
        tiny=(*TINY, *SMALL),
        wild=[{}, {"constants": "paper", "postprocess": "clip"}, {"constants": "program"}],
    ),
    ("covariance", "rescaled"): Case(
        branches=True,
        runs=[({}, [PURE, RHO]), ({"robust": True}, [RHO])],
        bad=[
            *each("postprocess", "clip", "project", "shrunk", "", 1),
            *each("robust", 1, 0, "yes", None),
            *each("numerics", "float", None, 1),
        ],
        small=[{}, {"numerics": "exact", "robust": True}],
        tiny=(*TINY, *SMALL),
        wild=[{}, {"robust": True}, {"numerics": "exact"}],
    ),
    ("covariance", "coinpress"): Case(
        branches=True,
        runs=[
            ({}, [RHO]),
            ({"centring": "pairs"}, [RHO]),
            ({"centring": "mean"}, [RHO]),
            ({"constants": "paper", "rounds": 3}, [RHO]),
        ],
        needed={"upper": 10.0},
        bad=[
            *each("upper", *NO_BOUNDS, "5", ["5", "6", "7"], [True] * 3, 5 * np.eye(3) + 1j),
            *each("lower", *NO_BOUNDS, beside={"upper": 1e3}),
            # K < 1: the lower bound is 1 where only the upper one is given
            *each("upper", 0.999, 1e-9, [2.0, 2.0, 0.5], np.diag([5.0, 0.9, 5.0])),
            *(("upper", {"upper": 2.0, "lower": bad}) for bad in (2.1, [1.0, 1.0, 3.0], np.eye(3) + 1.2 * np.ones((3, 3)))),
            *each("rounds", *NO_ROUNDS),
            *each("beta", 0, 1, -0.1, 1.5, np.nan, "0.1", True, None),
            *each("constants", "tight", "program", "", None, 1),
            *each("centring", "constant", "Mean", "", None, True, 0),
            *(("centring", {"centring": "mean", "constants": constants}) for constants in ("proved", "paper")),
            *each("postprocess", "shrink", "sort", "", 1),
            *each("radius", 0, 0.0, -1.0, np.nan, np.inf, 1e151, "1", True, [1.0], beside={"centring": "mean"}),
            *(("radius", {"centring": centring, "radius": 1.0}) for centring in ("none", "pairs")),
            *each("origin", *NO_ORIGINS),
            *each("origin", "1", True, 1j, ["1", "2", "3"], [True] * 3, [1j, 0, 0], [[1.0], [1.0, 2.0]]),
        ],
        small=[{}, {"rounds": 3}, {"rounds": 100}, {"centring": "mean", "radius": 1.0}, {"constants": "paper"}],
        tiny=(*TINY, *SMALL, ZCDP("1e-20")),
        rows=LONG_ROWS,
        wild=[
            {"upper": 1e4},
            *({"upper": 1e4, "rounds": rounds} for rounds in (1, 2, 10)),
            {"upper": 1e4, "center": True, "radius": 100.0},
            {"upper": 1e4, "centring": "pairs"},
            {"upper": 1e-140, "lower": 1e-144},
            {"upper": 1e140, "lower": 1e136, "center": True, "radius": 1e80},
            {"upper": 1e4, "postprocess": "clip"},
            *({"upper": 1e4, "constants": "paper", "rounds": rounds} for rounds in (1, 2, 10)),
            {"upper": 1e140, "lower": 1e136, "constants": "paper"},
        ],
        budgets=(ZCDP("0.5"), ZCDP("1e-6"), ZCDP(100)),
    ),
    ("covariance", "eigenvectors"): Case(
        runs=[({}, [PURE, RHO]), ({"values": "spectrum"}, [PURE]), ({"constants": "paper"}, [PURE, RHO])],
        bad=[
            *each("rank", *NO_RANKS),
            *each("beta", *NO_BETAS, 2, math.inf, [0.05], 1j),
            *(
                (option, {option: bad})
                for option in ("allocation", "values", "timing", "constants")
                for bad in ("", "Adaptive", "none", None, 1, True, ["basis"])
            ),
            *each("postprocess", "shrink", "project", "", 1, False),
        ],
        small=[{}, {"rank": 1}, {"values": "spectrum"}, {"constants": "paper"}],
        tiny=(*TINY, ApproxDP("1e-30", "1e-9")),
    ),
    ("covariance", "kapralov-talwar"): Case(
        runs=[({}, [PURE])],
        bad=[
            *each("rank", *NO_RANKS),
            *each("postprocess", "shrink", "project", "", 1, False),
            *each("constants", "loose"),
        ],
        small=[{}, {"rank": 1}],
        tiny=(*TINY, ApproxDP("1e-30", "1e-9")),
    ),
    ("mean", "auto"): Case(branches=True, runs=[({}, [PURE, RHO])], bad=NO_MEAN, **MEAN_TABLES),
    ("mean", "coinpress"): Case(
        branches=True,
        runs=[({}, [RHO])],
        bad=[
            *NO_MEAN,
            *each("rounds", *NO_ROUNDS),
            *each("beta", 0, 1, -0.1, np.nan, "0.1", True, None),
            *each("constants", "tight", "program", "", None),
            *each("constants", "proved", "paper"),  # of an unknown covariance nothing is proved, or printed
        ],
        small=[{}, {"covariance": 1.0}, {"covariance": 1.0, "constants": "paper"}],
        **MEAN_TABLES
        | {
            "wild": [
                *({}, {"covariance": 1.0}, {"covariance": [1e-8, 1.0, 1e8]}, {"postprocess": "none"}),
                *({"covariance": 1.0, "rounds": rounds} for rounds in (1, 2, 10)),
                *({"covariance": 1.0, "constants": "paper", "rounds": rounds} for rounds in ("auto", 10)),
            ]
        },
    ),
    ("mean", "clipped"): Case(runs=[({}, [PURE, RHO])], bad=NO_MEAN, **MEAN_TABLES),
    ("mean", "coordinatewise"): Case(
        runs=[({"covariance": 1.0}, [RHO]), ({"covariance": 1.0, "constants": "paper"}, [PURE, RHO])],
        bad=[*NO_MEAN, *NO_CONSTANTS],
        small=[{}, {"constants": "paper"}],
        **MEAN_TABLES | {"wild": [{}, {"covariance": 1.0}, {"covariance": 1.0, "constants": "paper"}]},
    ),
    ("mean", "karwa-vadhan"): Case(
        branches=True,
        runs=[({}, [PURE, RHO]), ({"constants": "paper"}, [PURE, RHO])],
        bad=[*NO_MEAN, *NO_CONSTANTS, *each("covariance", [1.0, 0.0, 1.0])],
        small=[{}, {"constants": "paper"}],
        **MEAN_TABLES | {"wild": [{}, {"covariance": 1.0}, {"constants": "paper"}]},
    ),
    ("mean", "symq"): Case(
        branches=True,
        runs=[({}, [PURE, RHO]), ({"constants": "paper"}, [PURE, RHO])],
        bad=[
            *NO_MEAN,
            *NO_CONSTANTS,
            *each("level", 0, 0.5, 0.75, -0.1, np.nan, "0.25", True, None),
            *each("level", 0.3, 0.2500001, beside={"constants": "paper"}),
        ],
        small=[{}, {"constants": "paper"}],
        # it chooses, and adds no noise
        **MEAN_TABLES | {"tiny": None, "wild": [{}, {"covariance": 1.0}, {"level": 0.49}, {"constants": "paper"}]},
    ),
    ("pca", "auto"): Case(branches=True, runs=[({"k": 1}, [PURE, RHO])], bad=NO_K, **COMPONENTS),
    ("pca", "screened"): Case(
        branches=True,
        runs=[({"k": 1}, [PURE])],
        bad=[*NO_K, *each("screen", None), *each("numerics", "floating")],
        **COMPONENTS,
    ),
    ("pca", "gaussian"): Case(runs=[({"k": 1, "clip": "private"}, [RHO])], bad=[*NO_K, *NO_CLIPS], **COMPONENTS),
    ("pca", "wishart"): Case(runs=[({"k": 1}, [PURE])], bad=[*NO_K, *NO_CLIPS], **COMPONENTS),
    ("pca", "eigenvectors"): Case(runs=[({"k": 2}, [PURE, RHO])], bad=NO_K, **COMPONENTS),
    ("pca", "ppca"): Case(
        runs=[({"k": 1}, [PURE]), ({"k": 2, **CHAIN}, [PURE])],
        bad=NO_K,
        **COMPONENTS | {"needed": {"k": 1, "approximate": True, "sweeps": 8}},
    ),
    ("pca", "mod-sulq"): Case(runs=[({"k": 1}, [APPROX])], bad=NO_K, **COMPONENTS),
    ("pca", "random"): Case(runs=[({"k": 1}, [PURE])], bad=NO_K, **COMPONENTS),
    ("ridge", "output-perturbation"): Case(
        runs=[({"target": 0, "alpha": 0.1}, [PURE, RHO])],
        needed={"target": 0, "alpha": 0.1},
        bad=[
            *(("alpha must be positive and finite, got", {"alpha": bad}) for bad in NO_PENALTY),
            *(("target must be a position from 0 to 2, got", {"target": bad}) for bad in NO_TARGETS),
        ],
        tiny=None,  # what is too small depends on n, for which rows are read: `test_output_perturbation`
        rows=THREE_COLUMNS,
        wild=[{"alpha": 1e-5}, {"alpha": 0.1}, {"alpha": 1e8}],
        budgets=BUDGETS,
    ),
}
OF_TABLES = {("covariance", "standardized")}
"""Mechanisms that want a schema: `test_standardized` tries them with tables of every kind."""


def named(key: tuple[str, str]) -> Named:
    """Return the mechanism of a row."""
    return MECHANISMS[key[0]][key[1]]


def served(key: tuple[str, str], budgets: tuple[Budget, ...]) -> Iterator[Budget]:
    """Yield the budgets that a mechanism takes."""
    for budget in budgets:
        if isinstance(budget, named(key).serves):
            yield budget
