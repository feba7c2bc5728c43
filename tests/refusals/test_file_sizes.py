"""A small file cannot ask for much memory or time: sizes are looked at before anything is built or computed.

A checksum is free, so every file here has one that fits. Memory is measured (tracemalloc sees what NumPy allocates). Time is
not, but for a limit on the processor's that ends what would take for ever.
"""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dpcov
from dpcov.errors import ReleaseError
from dpcov.kernel.budget import Budget, pays_for
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.questions.overlap import AnyOverlap, Overlap
from dpcov.kernel.questions.spectral import ANSWERED, AlongBasis, Diagonal, Explained
from dpcov.kernel.rows.grid import MAX_FEATURES, Grid
from dpcov.release.file import parse, text_of
from tests.fuzz.forged import watched
from tests.scripted.test_clipped_files import sealed

Record = dict[str, Any]

ROWS = np.random.default_rng(1).normal(size=(4000, 3)) * 0.3
NEVER = r"^release file must be .+, got .+\. Hint: .+\.$"
CASES: dict[str, tuple[str, Budget, dict[str, Any]]] = {
    "separate": ("covariance", dpcov.PureDP(1), {"row_norm": 1.0}),
    "adaptive": ("covariance", dpcov.ZCDP(1), {"row_norm": 1.0}),
    "rescaled": ("covariance", dpcov.PureDP(1), {"row_norm": 1.0}),
    "gaussian": ("covariance", dpcov.ZCDP(1), {"row_norm": 1.0}),
    "eigenvectors": ("covariance", dpcov.PureDP(1), {"row_norm": 1.0}),
    "random": ("pca", dpcov.PureDP(1), {"row_norm": 1.0, "k": 1}),
    "screened": ("pca", dpcov.PureDP(1), {"row_norm": 1.0, "k": 1}),
    "mod-sulq": ("pca", dpcov.ApproxDP(1, "1e-6"), {"row_norm": 1.0, "k": 1}),
    "coinpress": ("mean", dpcov.ZCDP(1), {"radius": 5.0, "covariance": 1.0, "constants": "proved", "rounds": 2}),
    "symq": ("mean", dpcov.PureDP(1), {"radius": 5.0}),
    "output-perturbation": ("ridge", dpcov.PureDP(1), {"row_norm": 1.0, "target": 0, "alpha": 0.1}),
}


def record_of(name: str) -> Record:
    kind, budget, options = CASES[name]
    release: dpcov.Release = getattr(dpcov, kind)(ROWS, budget, mechanism=name, seed=2, **options)
    found: Record = json.loads(text_of(release))
    return found


@contextmanager
def at_most(times: float, text: str) -> Iterator[None]:
    """Measure what is allocated at one time, in sizes of the file."""
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= times * len(text) + 2**20, f"{peak} bytes for a file of {len(text)}"


@pytest.mark.parametrize("d", [1500, 30_000])
@pytest.mark.parametrize("name", CASES)
def test_invented_columns(name: str, d: int) -> None:
    """54 kB of names, 6000, took 12 seconds and 1.1 GB; 290 kB, 30 000, asked for 7 GB."""
    record = record_of(name) | {"feature_names": [f"x{i}" for i in range(d)]}
    for answer in record["answers"]:
        if answer["frame"]:
            answer["frame"]["centre"] = [0.0] * d
        if answer["statistic"] == "sum":
            answer["integers"] = [0] * d
    text = sealed(record)
    with at_most(30, text), pytest.raises(ReleaseError, match=NEVER):
        parse(text)


@pytest.mark.parametrize(("center", "d"), [(False, MAX_FEATURES), (True, MAX_FEATURES - 1)])
def test_as_many_columns_as_can_be_released(center: bool, d: int) -> None:
    """A source takes MAX_FEATURES coordinates, and so does a file: one more is refused before its answers are looked at."""
    record = record_of("gaussian") | {"feature_names": [str(i) for i in range(d)]}
    record["encoding"]["center"] = center
    with pytest.raises(ReleaseError, match="got a second moment that does not fit the columns and the grid"):
        parse(sealed(record))
    record["feature_names"].append("one more")
    with pytest.raises(ReleaseError, match="got a list of columns that no release has"):
        parse(sealed(record))
    with pytest.raises(dpcov.ParameterError, match="column"):
        dpcov.covariance(np.zeros((1, d + 1)), dpcov.ZCDP(1), row_norm=1.0, center=center)


def test_many_columns_still_load() -> None:
    """Components of 4096 columns, as few numbers as they are, come back without a matrix of 4096 columns."""
    made = dpcov.pca(np.zeros((1, 4096)), dpcov.PureDP(1), 1, row_norm=1.0, mechanism="random", seed=6)
    text = text_of(made)
    with at_most(30, text):
        assert parse(text).d == 4096


def test_rounds_that_could_be_read_in_too_many_ways() -> None:
    """(R?S|R)*RS reads RS in two ways: 24 kB of them that end wrongly took 43 seconds, and each pair more doubled it."""
    made = dpcov.mean(ROWS, dpcov.ZCDP(1), radius=5.0, mechanism="coinpress", rounds=2, seed=3)
    record: Record = json.loads(text_of(made))
    for key in ("answers", "spent"):
        record[key] = record[key][:2] * 200 + record[key][:1]
    record["options"]["rounds"] = 100
    with watched(), pytest.raises(ReleaseError, match="got other questions than its mechanism asks"):
        parse(sealed(record))


def test_spends_of_too_many_digits() -> None:
    """Sums of fractions grow with every new denominator: thousands of 900 digits would be added for hours."""
    record, d = record_of("symq"), 100
    record["feature_names"] = [f"x{i}" for i in range(d)]
    answers, spent = [], []
    for place in range(2 * d):
        answer = json.loads(json.dumps(record["answers"][0]))
        answer["frame"] |= {"centre": [0.0] * d, "extent": [1.0] * d}
        answer["integers"][2] = place // 2
        answers.append(answer)
        budget = {"notion": "pure", "epsilon": f"1/{10**899 + place}"}
        spent.append({"asked": answer["statistic"], "noise": answer["noise"]["law"], "budget": budget})
    record |= {"answers": answers, "spent": spent}
    with pytest.raises(ReleaseError, match="spends in too many digits"):
        parse(sealed(record))
    charges = [dpcov.PureDP(Fraction(1, 10**899))] * (2 * d)  # but equal ones are added at once, however many there are
    assert pays_for(dpcov.PureDP(Fraction(2 * d, 10**899)), charges)
    assert not pays_for(dpcov.PureDP(Fraction(2 * d - 1, 10**899)), charges)


@pytest.mark.parametrize("bits", [2**62, 10**9, -(2**62)])
@pytest.mark.parametrize("name", CASES)
def test_units_beyond_all(name: str, bits: int) -> None:
    """2**unit_bits is a number of so many digits: of `mod-sulq` it was computed, until memory was full."""
    record = record_of(name)
    for answer in record["answers"]:
        answer["unit_bits"] = bits
    text = sealed(record)
    with watched(), at_most(30, text), pytest.raises(ReleaseError, match=NEVER):
        parse(text)


@pytest.mark.parametrize("place", [-(10**18), 2**62, -(2**63), 2**63 - 1])
@pytest.mark.parametrize("entry", [0, 1, 2])
@pytest.mark.parametrize("name", ["adaptive", "rescaled", "screened"])
def test_a_place_is_checked_before_it_is_an_exponent(name: str, entry: int, place: int) -> None:
    record = record_of(name)
    for statistic in ("radius", "threshold"):
        for answer in (answer for answer in record["answers"] if answer["statistic"] == statistic):
            edited = json.loads(json.dumps(record))
            edited["answers"][record["answers"].index(answer)]["integers"][entry] = place
            with pytest.raises(ReleaseError, match=NEVER):
                parse(sealed(edited))


@pytest.mark.parametrize("kind", ["mean", "covariance"])
def test_sizes_come_before_proofs(kind: str) -> None:
    """The rounds of a proof are followed with the answers: those must be answers."""
    own: dict[str, Any] = {"radius": 5.0, "covariance": 1.0} if kind == "mean" else {"upper": 4.0}
    made = getattr(dpcov, kind)(ROWS, dpcov.ZCDP(1), mechanism="coinpress", constants="proved", rounds=2, seed=4, **own)
    record: Record = json.loads(text_of(made))
    assert parse(sealed(record)).confidence.proved
    edits: list[dict[str, Any]] = [{"integers": []}, {"integers": [1] * 99}, {"unit_bits": 2**40}, {"unit_bits": -(2**40)}]
    for edit in edits:
        for place in range(len(record["answers"])):
            edited = json.loads(json.dumps(record))
            edited["answers"][place] |= edit
            with pytest.raises(ReleaseError, match="does not fit the columns and the grid"):
                parse(sealed(edited))


@pytest.mark.parametrize("text", ["x" * 10**6, "\n" * 10**6])
def test_messages_stay_short(text: str) -> None:
    for key in ("kind", "neighbors", "postprocess", text):
        with pytest.raises(ReleaseError) as refused:
            parse(sealed(record_of("gaussian") | {key: text}))
        assert len(str(refused.value)) < 500


class TestMeasuresWithoutABasis:
    """What a file is checked with must need the noise of what was asked."""

    @pytest.mark.parametrize("d", [1, 2, 5])
    def test_they_move_as_far(self, d: int) -> None:
        moment = SecondMoment(Grid(1.0), d)
        basis = np.linalg.qr(np.random.default_rng(5).normal(size=(d, d)))[0]
        pairs: list[tuple[Any, Any]] = [
            (AlongBasis(moment, d, Diagonal.name), Diagonal(moment, d, basis)),
            (AnyOverlap(moment), Overlap(moment, basis, np.ones(d))),
        ]
        if d > 1:
            pairs.append((AlongBasis(moment, d, Explained.name), Explained(moment, d, basis[:, : d - 1].copy())))
        for without, asked in pairs:
            assert (without.name, without.parts, without.unit_bits) == (asked.name, asked.parts, asked.unit_bits)
            for neighbors in ("replace", "add-remove"):
                assert without.sensitivity_squared(neighbors) == asked.sensitivity_squared(neighbors)
                assert without.sensitivity_l1(neighbors) == asked.sensitivity_l1(neighbors)

    def test_no_curator_answers_them(self) -> None:
        assert not {AlongBasis, AnyOverlap} & set(ANSWERED)


@pytest.mark.parametrize("n", [None, 1])
def test_a_file_cannot_lower_the_rows_that_float64_is_counted_for(n: int | None) -> None:
    """Under add-remove 2³⁰ of them count, whatever n its answers tell: 40 columns need three steps each, not two."""
    rows = np.random.default_rng(0).normal(size=(50, 40)) / 10
    release = dpcov.covariance(rows, dpcov.PureDP(1), row_norm=1, mechanism="separate", neighbors="add-remove", seed=0)
    record = json.loads(text_of(release))
    parse(sealed(record))
    (asked,) = [answer for answer in record["answers"] if answer["statistic"] == Diagonal.name]
    (paid,) = [spend for spend in record["spent"] if spend["asked"] == Diagonal.name]
    asked["noise"]["parameters"]["scale"] = str(Fraction(2**16 + 2 * 40) / Fraction(paid["budget"]["epsilon"]))
    if n is not None:
        (count,) = [answer for answer in record["answers"] if answer["statistic"] == "count"]
        count["integers"], record["n"] = [n], n
    with pytest.raises(ReleaseError, match="less noise than the promise needs"):
        parse(sealed(record))
