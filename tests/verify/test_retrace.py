"""`release.retrace()`: what a mechanism made agrees, also from a file; of what was edited it names the first difference.

Reading checks answers, never mechanisms: most of what is edited here is a file that can be read, whose every answer is proved
and paid for. What is found is that the named mechanism would not have asked for it.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import dpcov
from dpcov import Release
from dpcov.errors import ReleaseError
from dpcov.kernel.answer import Answer
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP, compose
from dpcov.kernel.calibrate import exponential_rate, sparse_vector_epsilon
from dpcov.kernel.face import Face
from dpcov.kernel.noise.choice import Exponential, SparseVector
from dpcov.kernel.noise.drawn import Bingham, MatrixBingham, Uniform
from dpcov.kernel.noise.laws import DiscreteGaussian, DiscreteLaplace, NoiseLaw
from dpcov.kernel.noise.matrix import FrobeniusNoise, WishartDifference
from dpcov.kernel.questions.along import Diagonal
from dpcov.kernel.questions.basis import GivenBasis
from dpcov.kernel.questions.bins import Rank
from dpcov.kernel.questions.calibrated import KIND_OF_NOISE, calibrated
from dpcov.kernel.questions.choices import AmongRadii, Bias, Indexed, Quantile, Radius, Search
from dpcov.kernel.questions.columns import Block, block_of
from dpcov.kernel.questions.directions import Directions, directions_of
from dpcov.kernel.questions.measure import Measure, Question
from dpcov.kernel.questions.moments import MAX_ROWS, Count, SecondMoment, Sum
from dpcov.kernel.questions.norms import Norms, Trace
from dpcov.kernel.questions.overlap import Overlap
from dpcov.kernel.questions.spectral import Quotients, Spectrum, Values
from dpcov.kernel.rows.annulus import Annulus
from dpcov.kernel.rows.frames import Ball, Box, Ellipsoid, of_frame
from dpcov.kernel.rows.grid import Grid
from dpcov.mechanisms import MECHANISMS
from dpcov.mechanisms.base import Mechanism, Named
from dpcov.mechanisms.running import released
from dpcov.release.file import parse, text_of
from dpcov.sources.array import ArraySource
from dpcov.verify.retrace import Retraced, retrace
from dpcov.verify.testing import SeededBits, opened, scripted
from tests.helpers.by_hand import by_hand
from tests.helpers.quiet import skewed

ROWS = skewed(400, 4, 71) + 0.05
WIDE = skewed(600, 14, 72)
BUDGETS: dict[type[Budget], Budget] = {PureDP: PureDP(4), ZCDP: ZCDP(1), ApproxDP: ApproxDP(4, "1e-6")}
NEIGHBORS = ["replace", "add-remove"]
CHAIN: dict[str, Any] = {"approximate": True, "sweeps": 3}
OPTIONS: dict[tuple[str, str], list[dict[str, Any]]] = {
    ("covariance", "gaussian"): [{}, {"clip": "private"}, {"clip": 0.3}, {"constants": "paper"}],
    ("covariance", "wishart"): [{}, {"clip": "private"}],
    ("covariance", "laplace"): [{}, {"constants": "paper"}],
    ("covariance", "frobenius"): [{}, {"constants": "paper", "clip": 0.3}],
    ("covariance", "separate"): [{}, {"constants": "paper"}, {"clip": "private"}],
    ("covariance", "adaptive"): [{}, {"constants": "paper", "beta": 0.3}, {"constants": "program"}],
    ("covariance", "rescaled"): [{}, {"robust": True}, {"numerics": "exact"}],
    ("covariance", "eigenvectors"): [
        {},
        {"rank": 2},
        {"allocation": "uniform", "values": "spectrum"},
        {"constants": "paper", "values": "spectrum", "rank": 1},
        {"timing": "fixed"},
    ],
    ("covariance", "kapralov-talwar"): [{}, {"rank": 2}, {"constants": "paper"}],
    ("covariance", "coinpress"): [
        *({}, {"rounds": 1}, {"rounds": 3, "upper": 2.0, "lower": 0.01}),
        {"constants": "paper", "rounds": 3, "upper": 2.0, "lower": 0.01},
    ],
    ("mean", "coinpress"): [{}, {"covariance": 0.1}, {"covariance": np.diag([0.1, 0.2, 0.3, 0.4]), "rounds": 3}],
    ("mean", "clipped"): [{}, {"covariance": 0.1, "origin": [0.1, 0.0, 0.0, 0.2]}],
    ("mean", "coordinatewise"): [{}, {"constants": "paper"}],
    ("mean", "karwa-vadhan"): [{"covariance": 0.01}, {"covariance": 0.01, "constants": "paper"}],
    ("mean", "symq"): [{}, {"level": 0.1}, {"constants": "paper"}],
    ("pca", "ppca"): [{"k": 1}, {"k": 2, **CHAIN}],
    ("pca", "screened"): [{}, {"screen": False}],
    ("pca", "gaussian"): [{}, {"clip": "private"}],
    ("pca", "eigenvectors"): [{}, {"k": 3}],
    ("ridge", "output-perturbation"): [{"alpha": 0.1}],
}


def made(named: Named, budget: Budget, neighbors: str, center: bool = False, rows: Any = ROWS, **options: Any) -> Release:
    """Release from these rows, seeded; options that a target needs are filled in."""
    given: dict[str, Any] = {"mechanism": named, "seed": 73, **options}
    if named.target == "ridge":
        return dpcov.ridge(rows, budget, 0, row_norm=1.0, **given)
    if named.target == "mean":
        return dpcov.mean(rows, budget, radius=1.0, neighbors=neighbors, **given)
    if named.bound == "schema":
        given["schema"] = dpcov.Schema({f"x{j}": dpcov.Numeric(-1, 1) for j in range(rows.shape[1])})
    elif given.get("upper") is None:
        given |= {"row_norm": 1.0} | ({} if isinstance(rows, np.ndarray) else {"columns": list("abcd")})
    elif center:
        given["radius"] = 5.0
    if named.target == "pca":
        return dpcov.pca(rows, budget, given.pop("k", 2), neighbors=neighbors, center=center, **given)
    return dpcov.covariance(rows, budget, neighbors=neighbors, center=center, **given)


def runs() -> Iterator[Any]:
    """Every mechanism, with each notion, relation and centring that it serves, and the options that matter."""
    for target, known in MECHANISMS.items():
        for name, named in known.items():
            for notion in named.serves:
                for neighbors in named.neighbors:
                    ways = (True,) if named.bound == "schema" else (False, True)
                    for center in ways if named.centring != "no" else (False,):
                        for place, options in enumerate(OPTIONS.get((target, name), [{}])):
                            if name == "coinpress" and center and options.get("constants") == "paper":
                                continue  # of an unknown mean nothing is printed
                            said = f"{target} {name} {place} {notion.__name__} {neighbors}{' centred' * center}"
                            yield pytest.param(named, BUDGETS[notion], neighbors, center, options, id=said)


def assert_agrees(release: Release, folder: Path) -> None:
    assert release.retrace() == Retraced(True)
    release.save(folder / "release.json")
    back = dpcov.load(folder / "release.json")
    assert back.retrace() == Retraced(True)
    assert text_of(back) == text_of(release)


class TestAgrees:
    @pytest.mark.parametrize(("named", "budget", "neighbors", "center", "options"), list(runs()))
    def test_what_a_mechanism_made(
        self, named: Named, budget: Budget, neighbors: str, center: bool, options: dict[str, Any], tmp_path: Path
    ) -> None:
        release = made(named, budget, neighbors, center, **options)
        assert release.answers
        assert_agrees(release, tmp_path)

    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    def test_columns_that_were_screened(self, neighbors: str, tmp_path: Path) -> None:
        release = made(MECHANISMS["pca"]["screened"], PureDP(4), neighbors, rows=WIDE, k=2)
        block = release.take(Block).question
        assert isinstance(block, Block)
        assert len(block.columns) < 14
        assert_agrees(release, tmp_path)

    def test_pairs_and_proofs(self, tmp_path: Path) -> None:
        named = MECHANISMS["covariance"]["coinpress"]
        for options in ({"centring": "pairs"}, {"constants": "proved", "upper": 2.0, "lower": 0.001}):
            assert_agrees(made(named, ZCDP(1), "replace", rows=np.tile(ROWS, (10, 1)), **options), tmp_path)
        proved: dict[str, Any] = {"covariance": 0.1, "constants": "proved"}
        assert_agrees(made(MECHANISMS["mean"]["coinpress"], ZCDP(1), "replace", **proved), tmp_path)

    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    @pytest.mark.parametrize("name", ["rescaled", "adaptive", "separate", "auto", "eigenvectors"])
    def test_ends_of_the_paths(self, name: str, neighbors: str, tmp_path: Path) -> None:
        """Nothing asked, one column, radii at either end, an estimate of zero."""
        for rows in (ROWS[:1], ROWS[:, :1], np.zeros((900, 3)), np.eye(3)[[0] * 900], np.full((900, 2), 1e-300)):
            for budget in (PureDP("0.02"), ZCDP("0.5")):
                assert_agrees(made(MECHANISMS["covariance"][name], budget, neighbors, rows=rows), tmp_path)

    def test_values_asked_apart(self, tmp_path: Path) -> None:
        d, counts = 400, [0, 0, 10_000] + [0] * 496
        for constants in ("tight", "paper"):
            answers: list[Any] = [counts, -1e6, counts, np.eye(d), np.ones(d)]
            curator = scripted(answers, n=10_000, d=d, budget=ZCDP(1))
            release = released(MECHANISMS["covariance"]["adaptive"], curator, ZCDP(1), constants=constants)
            assert len(release.answers) == 5
            assert_agrees(release, tmp_path)

    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    @pytest.mark.parametrize("name", ["eigenvectors", "separate", "gaussian", "rescaled", "coinpress"])
    def test_rows_of_a_file(self, name: str, neighbors: str, tmp_path: Path) -> None:
        """Their number is known only once they are read: what float64 may lose is then that of any number."""
        np.savetxt(tmp_path / "rows.csv", ROWS, delimiter=",", header="a,b,c,d", comments="")
        release = made(MECHANISMS["covariance"][name], ZCDP(1), neighbors, rows=tmp_path / "rows.csv")
        assert_agrees(release, tmp_path)

    def test_a_question_before_the_first_reading(self, tmp_path: Path) -> None:
        """Of a file the number of rows is not known then, of an array it is: the question says which."""

        def ask(curator: Face, budget: Budget) -> None:
            curator.noisy(Spectrum(curator.second_moment(), curator.d), budget, noise="gaussian")

        np.savetxt(tmp_path / "rows.csv", ROWS, delimiter=",", header="a,b,c,d", comments="")
        for rows, most in ((ROWS, 400), (tmp_path / "rows.csv", MAX_ROWS)):
            release = made(by_hand(ask), ZCDP(1), "replace", rows=rows)
            question = release.answers[0].question
            assert isinstance(question, Spectrum)
            assert question.rows == most
            assert release.retrace() == Retraced(True)
            assert "at most" in difference(asked_otherwise(release, 0, rows=401), reads=False)

    @pytest.mark.parametrize("center", [False, True])
    def test_schemas(self, center: bool, tmp_path: Path) -> None:
        """Options that are covariances are recorded as encoded rows have them, and asked with as they were."""
        schema = dpcov.Schema({name: dpcov.Numeric(-2, 3, weight=j + 1) for j, name in enumerate("abcd")})
        table = {name: ROWS[:, j].tolist() for j, name in enumerate("abcd")}
        frame = pytest.importorskip("pandas").DataFrame(table)
        cases: list[tuple[str, dict[str, Any]]] = [("gaussian", {}), ("coinpress", {"upper": 3.0}), ("wishart", {"clip": 0.5})]
        for name, options in [*cases, ("coinpress", {})]:
            budget = PureDP(4) if name == "wishart" else ZCDP(1)
            release = dpcov.covariance(frame, budget, schema=schema, mechanism=name, center=center, seed=74, **options)
            assert_agrees(release, tmp_path)
        assert_agrees(dpcov.mean(frame, ZCDP(1), schema=schema, covariance=2.0, seed=74), tmp_path)

    def test_however_it_is_finished(self) -> None:
        release = made(MECHANISMS["covariance"]["separate"], ZCDP(1), "replace")
        assert release.finished("none").retrace().agrees

    def test_a_strangers_mechanism(self, tmp_path: Path) -> None:
        def ask(curator: Face, budget: Budget, *, part: str) -> dict[str, int]:
            first = curator.noisy(Trace(curator.grid, curator.d), budget.share(part), noise="gaussian")
            clip = 0.5 if first.values[0] > 10 else 0.25
            curator.noisy(curator.second_moment(clip), budget.share(1 - Fraction(part)), noise="gaussian")
            return {"steps": 2}

        mine = by_hand(ask, "mine")
        curator = opened(ArraySource(ROWS), Grid(1.0), ZCDP(1), bits=SeededBits(75))
        release = released(mine, curator, ZCDP(1), part="0.25")
        assert release.retrace() == retrace(release) == Retraced(True)
        release.save(tmp_path / "mine.json")
        assert dpcov.load(tmp_path / "mine.json", mechanisms=[mine]).retrace() == Retraced(True)
        unknown = dpcov.load(tmp_path / "mine.json")
        with pytest.raises(ReleaseError, match="release must come from a mechanism that is known here, got 'mine'"):
            unknown.retrace()
        other = dataclasses.replace(release, options={"part": "0.5"})
        assert other.retrace().difference.startswith("answer 1 ('trace') must have as much noise as its mechanism adds")
        assert not dataclasses.replace(release, notes={"steps": 3}).retrace().agrees


EDITED: dict[str, tuple[str, str, Budget, dict[str, Any]]] = {
    "gaussian": ("covariance", "gaussian", ZCDP(1), {}),
    "gaussian, private": ("covariance", "gaussian", ZCDP(1), {"clip": "private"}),
    "wishart": ("covariance", "wishart", PureDP(4), {"clip": "private"}),
    "laplace": ("covariance", "laplace", PureDP(4), {}),
    "frobenius": ("covariance", "frobenius", PureDP(4), {}),
    "separate": ("covariance", "separate", ZCDP(1), {}),
    "adaptive": ("covariance", "adaptive", PureDP(4), {}),
    "rescaled": ("covariance", "rescaled", ZCDP(1), {}),
    "eigenvectors": ("covariance", "eigenvectors", PureDP(4), {}),
    "eigenvectors, spectrum": ("covariance", "eigenvectors", ZCDP(1), {"values": "spectrum"}),
    "kapralov-talwar": ("covariance", "kapralov-talwar", PureDP(4), {}),
    "coinpress": ("covariance", "coinpress", ZCDP(1), {"rounds": 3}),
    "coinpress, centred": ("covariance", "coinpress", ZCDP(1), {"centring": "mean", "rounds": 2}),
    "mean, known": ("mean", "coinpress", ZCDP(1), {"covariance": np.diag([0.1, 0.2, 0.3, 0.4]), "rounds": 3}),
    "mean, unknown": ("mean", "coinpress", PureDP(4), {}),
    "mean, clipped": ("mean", "clipped", ApproxDP(4, "1e-6"), {}),
    "karwa-vadhan": ("mean", "karwa-vadhan", PureDP(4), {"covariance": 0.01}),
    "symq": ("mean", "symq", PureDP(4), {}),
    "ppca": ("pca", "ppca", ZCDP(1), {"k": 2, **CHAIN}),
    "pca, eigenvectors": ("pca", "eigenvectors", PureDP(4), {}),
    "screened": ("pca", "screened", PureDP(4), {"rows": WIDE, "k": 2}),
    "random": ("pca", "random", PureDP(4), {}),
    "mod-sulq": ("pca", "mod-sulq", ApproxDP(4, "1e-6"), {}),
    "ridge": ("ridge", "output-perturbation", ZCDP(1), {"alpha": 0.1}),
}
each_case = pytest.mark.parametrize("case", EDITED)
each_relation = pytest.mark.parametrize("neighbors", NEIGHBORS)


@cache
def release_of(case: str, neighbors: str = "replace") -> Release:
    target, name, budget, options = EDITED[case]
    named = MECHANISMS[target][name]
    if neighbors not in named.neighbors:
        pytest.skip("served under replace only")
    return made(named, budget, neighbors, **options)


def edited(release: Release, place: int, **changes: Any) -> Release:
    """Change one answer; questions that are about it are about the new one."""
    answers = list(release.answers)
    answers[place] = dataclasses.replace(answers[place], **changes)
    for later in range(place + 1, len(answers)):
        question: Any = answers[later].question
        basis: Any = getattr(question, "basis", None)
        if getattr(basis, "answer", None) is release.answers[place]:
            moved = dataclasses.replace(question, basis=dataclasses.replace(basis, answer=answers[place]))
            answers[later] = dataclasses.replace(answers[later], question=moved)
    return dataclasses.replace(release, answers=tuple(answers))


def readable(release: Release) -> Release:
    """Return what a file of it holds: nothing in it contradicts the promise."""
    back = parse(text_of(release))
    assert text_of(back) == text_of(release)
    return back


def difference(release: Release, *, reads: bool = True) -> str:
    """Return the first difference; of a file that can be read it is the same one."""
    found = release.retrace()
    assert not found.agrees
    assert found.difference
    if reads:
        assert readable(release).retrace() == found
    return found.difference


def is_called(place: int, release: Release) -> str:
    return f"answer {place + 1} ({release.answers[place].question.name!r})"


def changed_law(law: NoiseLaw, factor: Fraction) -> NoiseLaw:
    """Return a law with more noise by a factor above 1, with less below."""
    if isinstance(law, DiscreteGaussian):
        return DiscreteGaussian(tuple((name, variance * factor) for name, variance in law.variances))
    if isinstance(law, DiscreteLaplace):
        return DiscreteLaplace(law.scale * factor)
    if isinstance(law, WishartDifference | FrobeniusNoise):  # floats err by more then, and rounding costs as much more
        return dataclasses.replace(law, scale=law.scale * factor, excess=law.excess * factor)
    if isinstance(law, Exponential):
        return Exponential(law.rate / factor)
    if isinstance(law, SparseVector):
        return SparseVector(law.threshold * factor, law.query * factor)
    if isinstance(law, Bingham):
        return Bingham(tuple((name, value / factor) for name, value in law.concentrations))
    assert isinstance(law, MatrixBingham)
    return MatrixBingham(law.concentration / factor, law.sweeps)


def paid(question: Question, law: NoiseLaw, charge: Any, neighbors: str) -> NoiseLaw:
    """Return the law of the same kind for another charge."""
    if isinstance(question, Measure):
        return calibrated(question, charge, neighbors, KIND_OF_NOISE[law.law])
    if isinstance(law, Exponential):
        return Exponential(exponential_rate(charge))
    if isinstance(law, SparseVector):
        assert isinstance(question, Search)
        scale = 2 * question.step / sparse_vector_epsilon(charge)
        return SparseVector(scale, scale)
    return changed_law(law, Fraction(2))  # half of ρ or ε is paid for by half of the concentration


@each_relation
@each_case
class TestAnyAnswer:
    def test_a_deleted_one_is_missed(self, case: str, neighbors: str) -> None:
        """Where it stood there is another one now; or none."""
        release = release_of(case, neighbors)
        for place, answer in enumerate(release.answers):
            left = release.answers[:place] + release.answers[place + 1 :]
            found = difference(dataclasses.replace(release, answers=left), reads=False)
            assert any(repr(name) in found for name in (answer.question.name, answer.question.tag))
            if any(isinstance(one.question, Directions) for one in release.answers) or not left[place:]:
                assert "must be answered in the release" in found or re.match(r"answer \d+ must be to ", found)
            else:
                assert found.startswith(f"answer {place + 1} ")
        counted = any(isinstance(answer.question, Count) for answer in release.answers)
        first = release.answers[0]
        if len(release.answers) > 1 and not counted and not any(is_about(later, first) for later in release.answers):
            difference(dataclasses.replace(release, answers=release.answers[1:]))  # nothing else tells

    def test_two_that_were_swapped(self, case: str, neighbors: str) -> None:
        release = release_of(case, neighbors)
        for place in range(len(release.answers) - 1):
            answers = list(release.answers)
            answers[place : place + 2] = answers[place + 1], answers[place]
            reads = not is_about(*answers[place : place + 2])
            found = difference(dataclasses.replace(release, answers=tuple(answers)), reads=reads)
            assert found.startswith(f"answer {place + 1} ")

    def test_more_noise_than_the_mechanism_adds(self, case: str, neighbors: str) -> None:
        """It hurts nobody's privacy, and is not what its mechanism does; a millionth more is seen."""
        release = release_of(case, neighbors)
        for place, answer in enumerate(release.answers):
            for part, law in enumerate(answer.laws):
                if isinstance(law, Uniform) or law == Bingham(()):
                    continue
                for factor in (Fraction(2), 1 + Fraction(1, 10**6)):
                    laws = (*answer.laws[:part], changed_law(law, factor), *answer.laws[part + 1 :])
                    found = difference(edited(release, place, laws=laws))
                    expected = f"{is_called(place, release)} must have as much noise as its mechanism adds, got more or less"
                    assert found == expected

    def test_less_noise_is_found_as_well(self, case: str, neighbors: str) -> None:
        """Reading finds it first."""
        release = release_of(case, neighbors)
        less = [
            edited(release, place, laws=(changed_law(answer.law, Fraction(1, 2)), *answer.laws[1:]))
            for place, answer in enumerate(release.answers)
            if not isinstance(answer.law, Uniform)
        ]
        for forged in less:
            assert "must have as much noise as its mechanism adds" in difference(forged, reads=False)
            if case != "mod-sulq":  # its paper adds far more than its charge needs
                with pytest.raises(ReleaseError, match="less noise than the promise needs"):
                    parse(text_of(forged))

    def test_a_charge_that_was_moved(self, case: str, neighbors: str) -> None:
        """Half of what one answer cost, to another one; the noise of the one is then larger, so that all is paid for."""
        release = release_of(case, neighbors)
        last = len(release.answers) - 1
        for giver, taker in ((last, 0), (0, last)):
            one, other = release.answers[giver], release.answers[taker]
            if giver == taker or isinstance(one.law, Uniform):
                continue
            half = one.charges[0].share(Fraction(1, 2))
            law = paid(one.question, one.law, half, neighbors)
            laws, charges, integers = (law, *one.laws[1:]), (half, *one.charges[1:]), law.settle(one.integers).copy()
            poorer = edited(release, giver, laws=laws, charges=charges, integers=integers)
            forged = edited(poorer, taker, charges=(compose(other.charges[0], half), *other.charges[1:]))
            found = difference(forged)
            if taker < giver:
                assert found == f"{is_called(taker, release)} must cost {both(other)}, got {both(forged.answers[taker])}"
            else:
                assert found.startswith(is_called(giver, release))
                assert "noise" in found or "cost" in found

    def test_an_answer_that_nobody_asked_for(self, case: str, neighbors: str) -> None:
        release = release_of(case, neighbors)
        more = Answer(Count(), (DiscreteLaplace(Fraction(1)),), (PureDP(1),), np.array([5], dtype=np.int64))
        found = difference(dataclasses.replace(release, answers=(*release.answers, more)), reads=False)
        place = len(release.answers)
        assert found == f"answer {place + 1} ('count') must have been asked by its mechanism, got one answer too many"


def both(answer: Answer) -> str:
    return " and ".join(repr(charge) for charge in answer.charges)


def is_about(later: Answer, earlier: Answer) -> bool:
    """Whether a question is along what was found in an earlier answer, which must then stand before it."""
    return getattr(getattr(later.question, "basis", None), "answer", None) is earlier


def place_of(release: Release, *kinds: type[Question], number: int = 0) -> int:
    """Return where the answer to a question of these types stands, the first one or a later one."""
    return [place for place, answer in enumerate(release.answers) if type(answer.question) in kinds][number]


def asked_otherwise(release: Release, place: int, **changes: Any) -> Release:
    """Put other public numbers into a question."""
    question: Any = release.answers[place].question
    return edited(release, place, question=dataclasses.replace(question, **changes))


def chosen_otherwise(release: Release, place: int, by: int = 1) -> Release:
    """Shift a choice by some candidates, inside of what there is."""
    answer = release.answers[place]
    assert isinstance(answer.question, Indexed)
    index = int(answer.integers[0])
    other = index + by if index + by < answer.question.candidates else index - by
    return edited(release, place, integers=np.array([other], dtype=np.int64))


def seen_otherwise(release: Release, place: int, **changes: Callable[[Any], Any]) -> Release:
    """Change the centre, the extent or the deviations of the coordinates of an answer."""
    question: Any = release.answers[place].question
    frame = question.grid.frame
    new = {name: change(getattr(frame, name)) for name, change in changes.items()}
    return asked_otherwise(release, place, grid=of_frame(dataclasses.replace(frame, **new)))


def with_options(release: Release, **options: Any) -> Release:
    return dataclasses.replace(release, options={**release.options, **options})


def times(factor: float) -> Callable[[Any], Any]:
    return lambda value: value * factor if isinstance(value, float) else np.asarray(value * factor)


def moved(distance: float) -> Callable[[Any], Any]:
    return lambda centre: centre + distance


def must_have(place: int, release: Release, part: str) -> str:
    return f"{is_called(place, release)} must have the {part!r} with which its mechanism asks for it, got others"


@pytest.mark.parametrize("turns", [True, False])
@pytest.mark.parametrize("kind", [Values, Quotients])
def test_two_peels_at_a_time(kind: type[Values], turns: bool) -> None:
    """Each has directions of its own, also where they are drawn in turn: a verdict, where there was an IndexError."""

    def ask(curator: Face, budget: PureDP) -> dict[str, Any]:
        moment, share = curator.second_moment(), budget.share(Fraction(1, 4))
        question = Directions(moment, 2, kind(moment, 2))
        one, other = (curator.peel(question, share, share, noise="laplace") for _ in range(2))
        for peel in (one, other, one, other) if turns else (one, one, other, other):
            peel.direction(Fraction(1, 2))
            peel.value()
        drawn = [directions_of(peel.close()) for peel in (one, other)]
        return {"drawn": [float(rows[0, 0]) for rows in drawn]}

    release = released(by_hand(ask), opened(ArraySource(ROWS), Grid(1.0), PureDP(4), bits=SeededBits(3)), PureDP(4))
    assert retrace(release) == Retraced(agrees=True)
    first, second = release.answers
    assert (
        "must have as much noise"
        in retrace(edited(release, 1, laws=(changed_law(second.laws[0], Fraction(2)), second.laws[1]))).difference
    )
    assert first.integers.tolist() != second.integers.tolist()


def test_an_answer_that_there_was_room_for() -> None:
    """Of too few rows nothing is asked: all of the promise is left, and an answer for it can be read."""
    nothing = made(MECHANISMS["covariance"]["rescaled"], ZCDP("0.01"), "replace", rows=ROWS[:5])
    assert nothing.answers == ()
    curator = opened(ArraySource(ROWS[:5]), Grid(1.0), ZCDP("0.01"), bits=SeededBits(76))
    curator.noisy(curator.public.second_moment(), ZCDP("0.01"), noise="gaussian")
    found = difference(dataclasses.replace(nothing, answers=curator.answers))
    assert found == "answer 1 ('second moment') must have been asked by its mechanism, got one answer too many"


class TestWhatAnswersLeadTo:
    @pytest.mark.parametrize("case", ["gaussian, private", "wishart", "rescaled", "screened", "adaptive"])
    def test_a_radius_that_was_not_chosen(self, case: str) -> None:
        """Another choice leads to rows that are clipped elsewhere."""
        release = release_of(case)
        place = place_of(release, Quantile, Radius)
        assert difference(chosen_otherwise(release, place)) == must_have(place + 1, release, "rows")

    def test_a_threshold_that_was_not_found(self) -> None:
        release = release_of("adaptive")
        place = place_of(release, Bias)
        assert difference(chosen_otherwise(release, place, by=2)) == must_have(place + 1, release, "rows")

    def test_a_trace_that_leads_to_other_noise(self) -> None:
        """The search weighs clipping against what the trace told."""
        release = release_of("adaptive")
        place = place_of(release, Trace)
        found = difference(edited(release, place, integers=release.answers[place].integers * -50))
        assert found == must_have(place + 1, release, "noises")

    @pytest.mark.parametrize("case", ["gaussian", "gaussian, private", "wishart", "rescaled", "separate", "adaptive"])
    def test_rows_that_were_clipped_elsewhere(self, case: str) -> None:
        release = release_of(case)
        place = place_of(release, SecondMoment)
        question: Any = release.answers[place].question
        for factor in (0.5, 0.999):
            forged = asked_otherwise(release, place, grid=question.grid.clipped(factor))
            assert difference(forged) == must_have(place, release, "rows")

    @pytest.mark.parametrize(("inner", "outer"), [(0.7, 1.0), (1.0, 1.01), (1.0, 0.99), (1.01, 1.0)])
    def test_a_scale_of_other_rows(self, inner: float, outer: float) -> None:
        """Of more rows there is too little noise, which reading finds; of fewer, enough."""
        release = made(MECHANISMS["covariance"]["rescaled"], ZCDP(1), "replace", rows=ROWS / 8)
        place = place_of(release, Overlap)
        overlap: Any = release.answers[place].question
        ring = overlap.moment.grid
        moment = dataclasses.replace(
            overlap.moment, grid=Annulus(Grid(ring.inner.row_norm * inner), Grid(ring.outer.row_norm * outer))
        )
        forged = asked_otherwise(release, place, moment=moment)
        assert difference(forged, reads=inner > 1 or outer < 1) == must_have(place, release, "rows")

    def test_a_basis_that_was_not_found(self) -> None:
        """Its own numbers, or those of the answer, written out."""
        release = release_of("separate")
        place = place_of(release, Diagonal)
        for columns in (np.eye(4), release.answers[0].eigenvectors):
            forged = asked_otherwise(release, place, basis=GivenBasis(columns))
            assert difference(forged) == must_have(place, release, "basis")

    def test_weights_that_were_not_found(self) -> None:
        release = release_of("rescaled")
        place = place_of(release, Overlap)
        weights = release.answers[place].question.weights  # type: ignore[attr-defined]
        assert difference(asked_otherwise(release, place, weights=weights[::-1])) == must_have(place, release, "weights")
        other = edited(release, place - 1, integers=release.answers[place - 1].integers * 2)
        assert difference(other) in {must_have(place, release, "weights"), must_have(place, release, "basis")}

    def test_rows_outside_and_weights_of_radii(self) -> None:
        release = release_of("gaussian, private")
        chosen: Any = release.answers[0].question
        assert difference(asked_otherwise(release, 0, rows=chosen.rows + 1)) == must_have(0, release, "outside")
        assert difference(asked_otherwise(release, 0, prior=chosen.prior[::-1])) == must_have(0, release, "weights")
        finer = Norms(Grid(1.0), 4, 32, 5)
        assert difference(asked_otherwise(release, 0, norms=finer)) == must_have(0, release, "octaves")

    def test_columns_that_were_not_kept(self) -> None:
        release = release_of("screened")
        place = place_of(release, Block)
        block: Any = release.answers[place].question
        others = tuple(column + 1 for column in block.columns) if block.columns[-1] < 13 else tuple(range(len(block.columns)))
        forged = edited(release, place, question=block_of(block.moment, others))
        assert difference(forged) == must_have(place, release, "columns")

    def test_directions_that_lead_to_other_shares(self) -> None:
        """What is left for the later ones follows from what lies along the first."""
        release = release_of("eigenvectors")
        question: Any = release.answers[0].question
        integers = release.answers[0].integers.copy()
        question.told(integers)[0] = 2**40
        assert "must have as much noise as its mechanism adds" in difference(edited(release, 0, integers=integers))

    def test_directions_that_are_none(self) -> None:
        release = release_of("eigenvectors")
        integers = release.answers[0].integers.copy()
        integers[4:8] = integers[:4]
        found = difference(edited(release, 0, integers=integers), reads=False)
        assert found == "answer 1 ('directions') must have a possible answer, got an impossible one"

    def test_fewer_directions(self) -> None:
        release = release_of("eigenvectors")
        assert difference(with_options(release, rank=2)) == must_have(0, release, "count")

    @pytest.mark.parametrize("factor", [1.001, 0.5])
    def test_a_whitener_that_the_round_before_does_not_lead_to(self, factor: float) -> None:
        release = release_of("coinpress")
        for number in range(3):
            place = place_of(release, SecondMoment, number=number)
            found = difference(seen_otherwise(release, place, extent=times(factor)))
            assert found == must_have(place, release, "coordinates")
        place = place_of(release, Trace)
        assert difference(seen_otherwise(release, place, extent=times(factor))) == must_have(place, release, "coordinates")

    def test_a_round_that_leads_elsewhere(self) -> None:
        """Another answer, and the same whitener after it."""
        release = release_of("coinpress")
        first, second = (place_of(release, SecondMoment, number=number) for number in range(2))
        forged = edited(release, first, integers=release.answers[first].integers * 2)
        assert difference(forged) == must_have(second, release, "coordinates")

    @pytest.mark.parametrize("case", ["coinpress, centred", "mean, known", "mean, unknown", "karwa-vadhan"])
    def test_a_centre_that_the_round_before_does_not_lead_to(self, case: str) -> None:
        release = release_of(case)
        place = place_of(release, Sum, number=-1)
        assert difference(seen_otherwise(release, place, centre=moved(0.01))) == must_have(place, release, "coordinates")

    @pytest.mark.parametrize("case", ["coinpress", "mean, known", "mean, unknown", "mean, clipped"])
    def test_how_many_deviations_a_clip_is_said_to_be(self, case: str) -> None:
        """Confidence regions are computed from it."""
        release = release_of(case)
        place = place_of(release, Sum, SecondMoment, number=-1)
        assert difference(seen_otherwise(release, place, deviations=times(1.5))) == must_have(place, release, "coordinates")

    def test_a_radius_of_a_round(self) -> None:
        release = release_of("mean, unknown")
        place = place_of(release, Quantile)
        assert isinstance(release.answers[place].question, AmongRadii)
        assert difference(chosen_otherwise(release, place)) == must_have(place + 1, release, "coordinates")

    def test_quantiles_of_other_columns(self) -> None:
        release = release_of("symq")
        rank: Any = release.answers[1].question
        assert isinstance(rank, Rank)
        assert difference(asked_otherwise(release, 1, column=2)) == must_have(1, release, "column")
        assert difference(asked_otherwise(release, 1, rows=rank.rows + 1)) == must_have(1, release, "below")
        wider = dataclasses.replace(rank.bins, count=rank.bins.count * 2)
        assert difference(asked_otherwise(release, 1, bins=wider)) == must_have(1, release, "bins")

    def test_another_regression(self) -> None:
        release = release_of("ridge")
        assert difference(asked_otherwise(release, 0, target=1)) == must_have(0, release, "target")
        assert difference(with_options(release, target=1)) == must_have(0, release, "target")
        assert difference(with_options(release, alpha=0.2)) == must_have(0, release, "alpha")

    @pytest.mark.parametrize("case", ["coinpress", "mean, known", "mean, unknown", "gaussian, private"])
    def test_the_last_digits_of_another_machine_agree(self, case: str) -> None:
        """A thousandth of what is tolerated, either way; a thousand times as much is a difference."""
        release = release_of(case)
        place = place_of(release, Sum, SecondMoment, number=-1)
        question: Any = release.answers[place].question
        for size, agrees in ((1e-9, True), (1e-3, False)):
            if isinstance(question.grid, Grid):
                forged = asked_otherwise(release, place, grid=question.grid.clipped(1 - size))
            else:
                assert isinstance(question.grid, Ball | Box | Ellipsoid)
                forged = seen_otherwise(release, place, extent=times(1 + size))
            assert readable(forged).retrace().agrees is agrees
            law = changed_law(release.answers[place].law, 1 + Fraction(size) / 1000)
            assert edited(release, place, laws=(law,)).retrace().agrees is agrees


class TestHeader:
    OPTIONS: tuple[tuple[str, dict[str, Any], str], ...] = (
        ("gaussian", {"clip": 0.3}, "answer 1 ('second moment') must have the 'rows'"),
        ("gaussian", {"clip": "private"}, "answer 1 must be to 'radius'"),
        ("gaussian", {"constants": "paper"}, "answer 1 ('second moment') must have as much noise as"),
        ("gaussian, private", {"clip": "none"}, "answer 1 must be to 'second moment'"),
        ("gaussian, private", {"clip": 0.25}, "answer 1 must be to 'second moment'"),
        ("gaussian", {"clip": 1.5}, "the mechanism must ask what was recorded, got a refusal: clip must be"),
        ("laplace", {"constants": "paper"}, "answer 1 ('second moment') must have as much noise as"),
        ("separate", {"constants": "paper"}, "answer 1 ('second moment') must have as much noise as"),
        ("separate", {"clip": "private"}, "answer 1 must be to 'radius'"),
        ("adaptive", {"constants": "paper"}, "answer 1 ('radius') must have"),
        ("adaptive", {"beta": "small"}, "the mechanism must ask what was recorded, got a refusal: beta must be"),
        ("rescaled", {"robust": True}, "answer 1 ('radius') must have the 'outside'"),
        ("eigenvectors", {"values": "spectrum"}, "'spectrum' must be answered in the release"),
        ("eigenvectors", {"allocation": "uniform"}, "answer 1 ('directions') must have as much noise as"),
        ("kapralov-talwar", {"rank": 1}, "answer 1 ('directions') must have the 'count'"),
        ("coinpress", {"rounds": 17}, "answer 1 ('second moment') must have"),
        ("coinpress", {"centring": "pairs"}, "the mechanism must ask what was recorded, got a refusal: centring must be"),
        ("coinpress", {"upper": 2.0}, "answer 1 ('second moment') must have the 'coordinates'"),
        ("coinpress, centred", {"centring": "none"}, "answer 1 must be to 'second moment'"),
        ("mean, known", {"covariance": 0.1}, "answer 1 ('sum') must have"),
        ("mean, unknown", {"covariance": 0.1}, "answer 1 must be to 'sum'"),
        ("symq", {"level": 0.1}, "answer 1 ('quantile') must have the 'below'"),
        ("ppca", {"k": 3}, "answer 1 ('subspace') must have the 'count'"),
        ("ppca", {"sweeps": 4}, "answer 1 ('subspace') must have as much noise as"),
        ("screened", {"screen": False}, "answer 2 must be to 'block'"),
        ("gaussian", {"steps": 3}, "the mechanism must ask what was recorded, got a refusal: release must have the options"),
    )

    @pytest.mark.parametrize(("case", "options", "expected"), OPTIONS, ids=str)
    def test_options_that_it_did_not_have(self, case: str, options: dict[str, Any], expected: str) -> None:
        assert difference(with_options(release_of(case), **options)).startswith(expected)

    def test_an_option_that_is_missing(self) -> None:
        forged = dataclasses.replace(release_of("ridge"), options={"alpha": 0.1})
        assert "release must have the options of 'output-perturbation'" in difference(forged)

    @pytest.mark.parametrize(
        ("case", "name", "expected"),
        [
            ("rescaled", "gaussian", "answer 1 must be to 'second moment', as its mechanism asks for it, got one to 'radius'"),
            ("rescaled", "adaptive", "answer 1 must be to 'first radius', as its mechanism asks for it, got one to 'radius'"),
            ("rescaled", "separate", "answer 1 must be to 'second moment', as its mechanism asks for it, got one to 'radius'"),
            ("wishart", "laplace", "answer 1 must be to 'second moment', as its mechanism asks for it, got one to 'radius'"),
            ("frobenius", "laplace", "answer 1 ('second moment') must have noise of the law discrete laplace, got frobenius"),
        ],
        ids=str,
    )
    def test_another_mechanisms_name(self, case: str, name: str, expected: str) -> None:
        """With its own options as they are by default."""
        named = MECHANISMS["covariance"][name]
        forged = dataclasses.replace(release_of(case), mechanism=name, requested=name, options=dict(named.options))
        assert difference(forged) == expected

    def test_a_mechanism_that_nobody_knows(self) -> None:
        forged = dataclasses.replace(release_of("gaussian"), mechanism="mine", requested="mine")
        with pytest.raises(ReleaseError, match="release must come from a mechanism that is known here"):
            forged.retrace()

    def test_notes(self) -> None:
        for case, notes in (
            ("coinpress", {"rounds": 4}),
            ("coinpress", {"condition": 7.0}),
            ("mean, unknown", {"strength": 0.1}),
        ):
            release = release_of(case)
            forged = dataclasses.replace(release, notes={**release.notes, **notes})
            assert difference(forged) == "notes must be those that the mechanism writes, got others"
            assert (
                difference(dataclasses.replace(release, notes={}))
                == "notes must be those that the mechanism writes, got others"
            )

    def test_a_number_of_rows_that_no_answer_tells(self) -> None:
        release = release_of("gaussian", "add-remove")
        found = difference(dataclasses.replace(release, n=release.n + 1), reads=False)
        assert found == f"n must be {release.n}, as the answers tell it, got {release.n + 1}"

    def test_a_public_number_of_rows(self) -> None:
        """Where it steers nothing it is not seen; where it does, the first question that it steers."""
        plain, chosen = release_of("gaussian"), release_of("gaussian, private")
        assert dataclasses.replace(plain, n=plain.n + 1).retrace().agrees
        assert difference(dataclasses.replace(chosen, n=chosen.n - 399)).startswith("answer 1 ('radius') must have the ")
        apart = release_of("separate")
        place = place_of(apart, Diagonal)
        assert difference(dataclasses.replace(apart, n=apart.n - 1)) == must_have(place, apart, "at most")

    @pytest.mark.parametrize("case", ["gaussian", "separate", "rescaled", "coinpress"])
    def test_a_larger_promise(self, case: str) -> None:
        """It would have been spent."""
        forged = dataclasses.replace(release_of(case), privacy=ZCDP(2))
        assert re.match(r"answer 1 \(.+\) must have ", difference(forged))

    def test_another_relation(self) -> None:
        release = release_of("laplace")
        forged = dataclasses.replace(release, neighbors="add-remove")
        assert difference(forged, reads=False).startswith("answer 1 ('second moment') must have as much noise as")

    def test_another_norm(self) -> None:
        release = release_of("separate")
        forged = dataclasses.replace(release, encoding=dataclasses.replace(release.encoding, row_norm=2.0))
        assert difference(forged) == must_have(0, release, "rows")


GARBAGE: tuple[Any, ...] = (None, "x", "private", [], [1.0], [[]], -1, 0, 1, 2.5, 1e300, True)


@each_case
def test_any_options_end_in_a_verdict(case: str) -> None:
    """Of types that a file can hold: never in an error of Python's."""
    release = release_of(case)
    for name in release.options:
        for value in GARBAGE:
            found = with_options(release, **{name: value}).retrace()
            assert found.agrees == (not found.difference)


@each_case
def test_any_answers_end_in_a_verdict(case: str) -> None:
    """Integers that nobody expects, under any mechanism's own questions."""
    release = release_of(case)
    for place, answer in enumerate(release.answers):
        told = answer.integers
        for integers in (0 * told, told + 1, -told, told[:-1], 0 * told + 2**62, 0 * told - 2**62):
            found = edited(release, place, integers=integers.copy()).retrace()
            assert found.agrees == (not found.difference)


def test_a_table_of_more_rows_than_there_can_be() -> None:
    """A forged count may be any number: what follows from it is a verdict, too."""
    schema = dpcov.Schema({"a": dpcov.Numeric(-1, 1), "b": dpcov.Numeric(-1, 1)})
    rows = 0.3 + np.random.default_rng(73).normal(size=(400, 2)) * 1e-5
    release = dpcov.covariance(
        rows, PureDP(10**6), schema=schema, neighbors="add-remove", columns=[0, 1], mechanism="standardized", seed=0
    )
    count, *others = release.answers
    assert [answer.question.name for answer in others][1] == "interval"
    many = 10**17
    forged = dataclasses.replace(release, n=many, answers=(dataclasses.replace(count, integers=np.array([many])), *others))
    assert "answer" in parse(text_of(forged)).retrace().difference


@pytest.mark.parametrize("name", ["eigenvectors", "kapralov-talwar", "separate", "adaptive"])
def test_a_small_file_of_many_columns_takes_no_matrices(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """13 kB in 1500 columns, of which a mechanism is named that decomposes matrices: its first question tells that it lies."""

    def ask(curator: Face, budget: Budget) -> None:
        curator.noisy(curator.trace(), budget, noise="laplace")

    def refuse(matrix: Any, **given: Any) -> Any:  # noqa: ARG001 - the signature
        pytest.fail(f"a matrix was decomposed of {len(matrix)} columns")

    release = released(by_hand(ask), opened(ArraySource(np.zeros((3, 1500))), Grid(1.0), PureDP(1)), PureDP(1))
    named = MECHANISMS["covariance"][name]
    forged = dataclasses.replace(release, mechanism=name, requested=name, options=named.options, record=None)
    for function in ("eigh", "eigvalsh"):
        monkeypatch.setattr(np.linalg, function, refuse)
        monkeypatch.setattr(scipy.linalg, function, refuse)
    again = parse(text_of(dataclasses.replace(forged, postprocess="none")))
    assert "must" in again.retrace().difference


def test_a_budget_that_the_mechanism_would_have_refused() -> None:
    """It asks just these questions: but not before it has seen that the budget is enough for others, too."""
    mechanism, budget = MECHANISMS["mean"]["coinpress"], PureDP("1e-10")
    assert isinstance(mechanism, Mechanism)
    curator = opened(ArraySource(np.full((60, 16), 0.1)), Grid(1.0), budget, "add-remove", SeededBits(0))
    careless = dataclasses.replace(mechanism, name="careless", least=None)
    release = released(careless, curator, budget)
    forged = dataclasses.replace(release, mechanism="coinpress", requested="coinpress", record=None)
    assert "got a refusal: scale of the noise" in forged.retrace().difference
