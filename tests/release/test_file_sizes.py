"""A small file cannot ask for much memory or time: sizes are looked at before anything is built or computed.

A checksum is free, so every file here has one that fits. Memory is measured (tracemalloc sees what NumPy allocates). Time is
not, but for a limit on the processor's that ends what would take for ever.
"""

from __future__ import annotations

import base64
import copy
import json
import pickle
import tracemalloc
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dpcov
from dpcov.errors import ReleaseError
from dpcov.kernel.account import MOST_ANALYTIC
from dpcov.kernel.budget import Budget, pays_for
from dpcov.kernel.rows.grid import MAX_FEATURES
from dpcov.mechanisms.covariance.gaussian import GAUSSIAN
from dpcov.mechanisms.running import released
from dpcov.release.file import parse, text_of
from dpcov.release.integers import integers_record, read_integers
from dpcov.strict_json import MANY, Fields
from dpcov.verify.testing import scripted
from tests.helpers.forged import verdict, watched
from tests.helpers.small import Record, sealed

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


def asked(answer: Record) -> str:
    return str(answer["question"]["asked"])


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
    record = record_of(name)
    record["encoding"]["feature_names"] = [f"x{i}" for i in range(d)]
    for frame in record["frames"]:
        frame["centre"] = [0.0] * d
    for answer in record["answers"]:
        if asked(answer) in ("sum", "squares", "spectrum"):
            answer["integers"] = [0] * d
    text = sealed(record)
    with at_most(30, text):
        if name in ("coinpress", "screened"):  # sums that were invented with the columns, and blocks of a few of them, may load
            with suppress(ReleaseError):
                assert parse(text).d == d
        else:
            with pytest.raises(ReleaseError, match=NEVER):
                parse(text)


FEW_NUMBERS: dict[str, tuple[str, Budget, dict[str, Any]]] = {
    "clipped": ("mean", dpcov.ZCDP(1), {"radius": 5.0, "covariance": 1.0}),
    "coordinatewise": ("mean", dpcov.ZCDP(1), {"radius": 5.0, "covariance": 1.0}),
    "coinpress": ("mean", dpcov.ZCDP(1), {"radius": 5.0, "covariance": 1.0}),
    "coinpress, proved": ("mean", dpcov.ZCDP(1), {"radius": 5.0, "covariance": 1.0, "constants": "proved"}),
    "coinpress, unknown": ("mean", dpcov.ZCDP(1), {"radius": 5.0}),
    "random": ("pca", dpcov.PureDP(1), {"row_norm": 1.0, "k": 1}),
    "eigenvectors": ("pca", dpcov.PureDP(1), {"row_norm": 1.0, "k": 1}),
    "ppca": ("pca", dpcov.ZCDP(1), {"row_norm": 1.0, "k": 1}),
    "eigenvectors, rank 1": ("covariance", dpcov.PureDP(1), {"row_norm": 1.0, "rank": 1}),
    "output-perturbation": ("ridge", dpcov.PureDP(1), {"row_norm": 1.0, "target": 0, "alpha": 0.1}),
}
"""Releases with as many numbers as columns, or a few times that."""


@pytest.mark.parametrize("name", FEW_NUMBERS)
def test_uses_of_invented_columns(name: str) -> None:
    """A file of 150 kB, and each of its uses, in a second and little memory: a matrix of so many columns would fill 0.8 GB."""
    kind, budget, options = FEW_NUMBERS[name]
    mechanism, d = name.partition(",")[0], 10_000
    made = getattr(dpcov, kind)(ROWS[:, :2], budget, mechanism=mechanism, seed=2, **options)
    record: Record = json.loads(text_of(made))
    record["encoding"]["feature_names"] = [f"x{i}" for i in range(d)]
    for frame in record["frames"]:
        frame["centre"] = [0.0] * d
        if isinstance(frame["extent"], list):
            frame["extent"] = [1.0] * d
    for answer in record["answers"]:
        if asked(answer) in ("sum", "solution"):
            answer["integers"] = [0] * (d - (asked(answer) == "solution"))
        elif asked(answer) in ("directions", "subspace"):
            answer["integers"] = [2**18, *[0] * (d - 1), *answer["integers"][2:]]
        for noise in answer["noise"]:
            if noise["law"] in ("discrete gaussian", "discrete laplace"):
                noise["parameters"] = dict.fromkeys(noise["parameters"], str(2**50))
    text = sealed(record)
    with at_most(200, text):
        assert verdict(text) == ("loaded", "")


@pytest.mark.parametrize(("center", "d"), [(False, MAX_FEATURES), (True, MAX_FEATURES - 1)])
def test_as_many_columns_as_can_be_released(center: bool, d: int) -> None:
    """A source takes MAX_FEATURES coordinates, and so does a file: one more is refused before its answers are looked at."""
    record = record_of("gaussian")
    record["encoding"] |= {"feature_names": [str(i) for i in range(d)], "constant": center, "midpoints": center}
    with pytest.raises(ReleaseError, match="got an answer of the wrong size for its question"):
        parse(sealed(record))
    record["encoding"]["feature_names"].append("one more")
    with pytest.raises(ReleaseError, match="got a number of columns that is not possible"):
        parse(sealed(record))
    with pytest.raises(dpcov.ParameterError, match="column"):
        dpcov.covariance(np.zeros((1, d + 1)), dpcov.ZCDP(1), row_norm=1.0, center=center)


def test_many_columns_still_load() -> None:
    """Components of 4096 columns, as few numbers as they are, come back without a matrix of 4096 columns."""
    made = dpcov.pca(np.zeros((1, 4096)), dpcov.PureDP(1), 1, row_norm=1.0, mechanism="random", seed=6)
    text = text_of(made)
    with at_most(30, text):
        assert parse(text).d == 4096


def test_many_rounds_are_read_in_time() -> None:
    """Answers are checked one by one: no pattern of theirs could be read in many ways. Nor is any of their uses slow."""
    made = dpcov.mean(ROWS, dpcov.ZCDP(1), radius=5.0, mechanism="coinpress", rounds=2, seed=3)
    record: Record = json.loads(text_of(made))
    record["answers"] = record["answers"][:2] * 200 + record["answers"]
    record["mechanism"]["options"]["rounds"] = 100
    with watched(), pytest.raises(ReleaseError, match="got charges that exceed the promise"):
        parse(sealed(record))
    record["privacy"]["rho"] = "1000"
    with watched():
        assert len(parse(sealed(record)).answers) > 400
    assert verdict(sealed(record)) == ("loaded", "")


def test_charges_of_too_many_digits() -> None:
    """Sums of fractions grow with every new denominator: thousands of 900 digits would be added for hours."""
    record, count = record_of("symq"), 200
    record["answers"] = [json.loads(json.dumps(record["answers"][0])) for _ in range(count)]
    for place, answer in enumerate(record["answers"]):
        answer["noise"][0]["charge"]["epsilon"] = f"1/{10**899 + place}"
    with pytest.raises(ReleaseError, match="numbers in too many digits"):
        parse(sealed(record))
    charges = [dpcov.PureDP(Fraction(1, 10**899))] * count  # but equal ones are added at once, however many there are
    assert pays_for(dpcov.PureDP(Fraction(count, 10**899)), charges)
    assert not pays_for(dpcov.PureDP(Fraction(count - 1, 10**899)), charges)


def test_scales_of_too_many_digits() -> None:
    record, count = record_of("symq"), 200
    record["answers"] = [json.loads(json.dumps(record["answers"][0])) for _ in range(count)]
    for place, answer in enumerate(record["answers"]):
        answer["noise"][0]["parameters"]["rate"] = f"1/{10**899 + place}"
    with watched(), pytest.raises(ReleaseError, match="numbers in too many digits"):
        parse(sealed(record))


@pytest.mark.parametrize("bits", [2**62, 10**9, -(2**62)])
@pytest.mark.parametrize("name", CASES)
def test_units_beyond_all(name: str, bits: int) -> None:
    """2**bits is a number of so many digits: it is computed, until memory is full, by whoever does not look first."""
    record = record_of(name)
    record["encoding"]["grid_bits"] = bits
    text = sealed(record)
    with watched(), at_most(30, text), pytest.raises(ReleaseError, match=NEVER):
        parse(text)


@pytest.mark.parametrize("place", [-(10**18), 2**62, -(2**63), 2**63 - 1])
@pytest.mark.parametrize("name", ["adaptive", "rescaled", "screened"])
def test_a_place_is_checked_before_it_is_an_exponent(name: str, place: int) -> None:
    record = record_of(name)
    radii = [
        place for place, answer in enumerate(record["answers"]) if asked(answer) in ("radius", "first radius", "threshold")
    ]
    assert radii
    for found in radii:
        edited = json.loads(json.dumps(record))
        edited["answers"][found]["integers"] = [place]
        with pytest.raises(ReleaseError, match=NEVER):
            parse(sealed(edited))


@pytest.mark.parametrize("number", [-(10**18), 0, 2**62, 2**63 - 1])
@pytest.mark.parametrize(
    "key", ["per octave", "octaves", "every", "bins", "count", "at most", "first", "column", "target", "n"]
)
def test_numbers_of_questions_are_checked_before_they_are_sizes(key: str, number: int) -> None:
    """As the lengths of arrays, exponents or positions: where they stand, they are refused, or they cost nothing."""
    found = 0
    for name in CASES:
        record = record_of(name)
        for answer in record["answers"]:
            for holder in (answer["question"], answer["question"].get("basis", {})):
                if key in holder:
                    before, holder[key] = holder[key], number
                    text = sealed(record)
                    with watched(), at_most(30, text):
                        try:
                            parse(text)
                        except ReleaseError:
                            found += 1
                    holder[key] = before
    assert found or (key, number) in {("at most", 2**62), ("at most", 2**63 - 1), ("first", 0), ("column", 0), ("target", 0)}


@pytest.mark.parametrize("kind", ["mean", "covariance"])
def test_sizes_come_before_proofs(kind: str) -> None:
    """The rounds of a proof are followed with the answers: those must be answers."""
    own: dict[str, Any] = {"radius": 5.0, "covariance": 1.0} if kind == "mean" else {"upper": 4.0}
    made = getattr(dpcov, kind)(ROWS, dpcov.ZCDP(1), mechanism="coinpress", constants="proved", rounds=2, seed=4, **own)
    record: Record = json.loads(text_of(made))
    assert parse(sealed(record)).confidence.proved
    for integers in ([], [1] * 99):
        for place in range(len(record["answers"])):
            edited = json.loads(json.dumps(record))
            edited["answers"][place]["integers"] = integers
            with pytest.raises(ReleaseError, match="an answer of the wrong size for its question"):
                parse(sealed(edited))


@pytest.mark.parametrize("text", ["x" * 10**6, "\n" * 10**6])
def test_messages_stay_short(text: str) -> None:
    for key in ("kind", "neighbors", text):
        with pytest.raises(ReleaseError) as refused:
            parse(sealed(record_of("gaussian") | {key: text}))
        assert len(str(refused.value)) < 500
    for changes in ({"postprocess": text}, {"mechanism": {"name": text, "options": {}}}):
        back = parse(sealed(record_of("gaussian") | changes))  # whatever they are called, there are answers
        with pytest.raises(ReleaseError) as refused:
            _ = back.estimate
        assert len(str(refused.value)) < 500
    record = record_of("gaussian")
    record["mechanism"]["options"] |= {"constants": text, text: 1}
    with pytest.raises(ReleaseError) as refused:
        _ = parse(sealed(record)).estimate
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize("n", [None, 1])
def test_a_file_cannot_lower_the_rows_that_float64_is_counted_for(n: int | None) -> None:
    """Under add-remove 2³⁰ of them count, whatever n its answers tell: 40 columns need three steps each, not two."""
    rows = np.random.default_rng(0).normal(size=(50, 40)) / 10
    release = dpcov.covariance(rows, dpcov.PureDP(1), row_norm=1, mechanism="separate", neighbors="add-remove", seed=0)
    record = json.loads(text_of(release))
    parse(sealed(record))
    (diagonal,) = [answer for answer in record["answers"] if asked(answer) == "diagonal in a basis"]
    (noise,) = diagonal["noise"]
    noise["parameters"]["scale"] = str(Fraction(2**16 + 2 * 40) / Fraction(noise["charge"]["epsilon"]))
    if n is not None:
        (count,) = [answer for answer in record["answers"] if asked(answer) == "count"]
        count["integers"], record["n"] = [n], n
    with pytest.raises(ReleaseError, match="less noise than the promise needs"):
        parse(sealed(record))
    assert diagonal["question"]["at most"] == 2**30
    for fewer in (2**30 - 1, 50, 1):
        diagonal["question"]["at most"] = fewer
        with pytest.raises(ReleaseError, match="'diagonal in a basis' about rows that it does not describe"):
            parse(sealed(record))


class TestManyIntegers:
    """More than ten thousand stand in a file as their bytes, place by place: 150 columns have 11 325."""

    D, SIZE = 150, 150 * 151 // 2

    @staticmethod
    @cache
    def made() -> dpcov.Release:
        rows = np.random.default_rng(7).normal(size=(30, TestManyIntegers.D)) / 20
        return dpcov.covariance(rows, dpcov.ZCDP(1), row_norm=1.0, mechanism="gaussian", seed=8)

    def record(self) -> Record:
        found: Record = json.loads(text_of(self.made()))
        return found

    def integers(self) -> Record:
        (answer,) = self.record()["answers"]
        found: Record = answer["integers"]
        return found

    def upper(self) -> bytes:
        return base64.b64decode(self.integers()["upper"], validate=True)

    def edited(self, **changes: Any) -> str:
        record = self.record()
        for name, change in changes.items():
            text = base64.b64encode(change).decode("ascii") if isinstance(change, bytes) else change
            record["answers"][0]["integers"][name] = text
        return sealed(record)

    def test_they_come_back(self, tmp_path: Path) -> None:
        release = self.made()
        release.save(tmp_path / "release.json")
        assert len(release.answers[0].integers) == self.SIZE > MANY
        assert as_read_by_others(self.integers(), self.SIZE) == release.answers[0].integers.tolist()
        loaded = dpcov.load(tmp_path / "release.json")
        for back in (loaded, pickle.loads(pickle.dumps(release)), copy.copy(release), copy.deepcopy(release)):
            assert text_of(back) == text_of(release)
            assert back.answers[0].integers.dtype == np.int64
            assert back.answers[0].integers.tobytes() == release.answers[0].integers.tobytes()
            assert back.covariance.tobytes() == release.covariance.tobytes()

    def test_a_list_is_as_good(self) -> None:
        """As any other language may write it; what was loaded is saved as it would have been."""
        record = self.record()
        record["answers"][0]["integers"] = self.made().answers[0].integers.tolist()
        assert text_of(parse(sealed(record))) == text_of(self.made())
        for level in (0, 1, 9):
            packed = zlib.compress(zlib.decompress(self.upper()), level)
            assert text_of(parse(self.edited(upper=packed))) == text_of(self.made())

    def test_ten_thousand_are_a_list(self) -> None:
        few = dpcov.covariance(np.zeros((3, 140)), dpcov.ZCDP(1), row_norm=1.0, mechanism="gaussian", seed=8)
        (answer,) = json.loads(text_of(few))["answers"]
        assert len(answer["integers"]) == 140 * 141 // 2 <= MANY
        assert isinstance(answer["integers"], list)

    @pytest.mark.parametrize("name", ["lowest", "upper"])
    def test_damaged_text(self, name: str) -> None:
        """Refused, unless it is text of other bytes; and then the integers are others, or nothing has changed."""
        text = self.integers()[name]
        for place in (*range(10), *range(10, len(text) - 16, 9973), *range(len(text) - 16, len(text))):
            for other in {"/", "=", " ", "\n", "é", "\x00", ""} - {text[place]}:
                with suppress(ReleaseError):
                    back = parse(self.edited(**{name: text[:place] + other + text[place + 1 :]}))
                    assert other == "/"
                    assert name == "lowest" or place >= len(text) - 8
                    assert len(back.answers[0].integers) == self.SIZE

    @pytest.mark.parametrize("change", [-1, 1, -3, 3, -MANY, MANY])
    @pytest.mark.parametrize("name", ["lowest", "upper"])
    def test_too_short_or_too_long(self, name: str, change: int) -> None:
        size = self.SIZE + change
        words = np.random.default_rng(9).integers(256, size=size * (self.integers()["width"] - 1), dtype=np.uint8)
        content = words[:size].tobytes() if name == "lowest" else zlib.compress(words.tobytes())
        with pytest.raises(ReleaseError, match="an answer of the wrong size for its question"):
            parse(self.edited(**{name: content}))

    @pytest.mark.parametrize(
        "changes",
        [
            {"width": 0},
            {"width": -1},
            {"width": 9},
            {"shift": -1},
            {"shift": 64},
            {"shift": 33, "width": 4},
            {"width": True},
            {"shift": 1.0},
            {"width": "4"},
            {"lowest": None},
            {"upper": []},
            {"more": 1},
        ],
        ids=str,
    )
    def test_other_fields(self, changes: Record) -> None:
        with pytest.raises(ReleaseError, match=NEVER):
            parse(self.edited(**changes))

    @pytest.mark.parametrize("name", ["shift", "width", "lowest", "upper"])
    def test_a_field_less(self, name: str) -> None:
        record = self.record()
        del record["answers"][0]["integers"][name]
        with pytest.raises(ReleaseError, match=f"integers.{name} is"):
            parse(sealed(record))

    def test_the_largest_integers_and_the_smallest(self) -> None:
        """Whatever 64 bits hold comes back, and what needs more is refused: nothing wraps."""
        ends = np.array([-(2**63), 2**63 - 1, 0, -1, 1, 2**62, -(2**62)], dtype=np.int64)
        many = np.resize(ends, self.SIZE)
        for shift in (0, 1, 7, 8, 38, 62):
            for narrower in (0, 8, 9, 40):
                integers = many >> shift >> narrower << shift
                assert text_and_back(integers).tolist() == integers.tolist()
        for few in ([0], [-1], [1], [127], [128], [-128], [-129], [-(2**63)], [-129, 1], [128, -1], [-(2**62), 3]):
            integers = np.resize(np.array(few, dtype=np.int64), self.SIZE)
            assert text_and_back(integers).tolist() == integers.tolist()

    @pytest.mark.parametrize("cut", [1, 4, 1000])
    def test_cut_off(self, cut: int) -> None:
        with pytest.raises(ReleaseError, match=NEVER):
            parse(self.edited(upper=self.upper()[:-cut]))
        with pytest.raises(ReleaseError, match=NEVER):
            parse(self.edited(upper=self.upper()[cut:]))

    @pytest.mark.parametrize("more", [b"\x00", b"more", zlib.compress(b"more")])
    def test_something_after_the_end(self, more: bytes) -> None:
        with pytest.raises(ReleaseError, match=NEVER):
            parse(self.edited(upper=self.upper() + more))

    @pytest.mark.parametrize("other", ["", "=", "AAAA", "not base64!", "A" * 10**5, "x" * (10**5 + 1)], ids=lambda o: o[:12])
    @pytest.mark.parametrize("name", ["lowest", "upper"])
    def test_other_text(self, name: str, other: str) -> None:
        with pytest.raises(ReleaseError, match=NEVER):
            parse(self.edited(**{name: other}))

    @pytest.mark.parametrize("gigabytes", [1, 4])
    def test_a_bomb_of_zeros(self, gigabytes: int) -> None:
        """A few megabytes that would unpack to gigabytes: refused at once, in little memory."""
        bomb = zeros(gigabytes * 2**10)
        for size in (self.D, MAX_FEATURES):
            record = self.record()
            record["encoding"]["feature_names"] = [str(i) for i in range(size)]
            record["answers"][0]["integers"]["upper"] = base64.b64encode(bomb).decode("ascii")
            text = sealed(record)
            with (
                watched(),
                at_most(12, text),
                pytest.raises(ReleaseError, match="an answer of the wrong size for its question"),
            ):
                parse(text)

    def test_a_bomb_as_long_as_the_answer(self) -> None:
        """Eight bytes to one are the most, since the lowest of each are not compressed."""
        text = self.edited(width=8, shift=0, upper=zeros(2**10))
        with watched(), at_most(12, text), pytest.raises(ReleaseError, match=NEVER):
            parse(text)

    def test_zeros(self) -> None:
        """Which noise never is: they take a byte each."""
        curator = scripted([np.zeros((self.D, self.D))], n=10, d=self.D, budget=dpcov.ZCDP(1))
        release = released(GAUSSIAN, curator, dpcov.ZCDP(1))
        (answer,) = json.loads(text_of(release))["answers"]
        assert (answer["integers"]["shift"], answer["integers"]["width"]) == (0, 1)
        assert text_of(parse(text_of(release))) == text_of(release)


def as_read_by_others(record: Record, size: int) -> list[int]:
    """Read integers as docs/how-it-works.md says, without this library and NumPy."""
    lowest, upper = base64.b64decode(record["lowest"]), zlib.decompress(base64.b64decode(record["upper"]))
    places = [lowest, *(upper[start : start + size] for start in range(0, len(upper), size))]
    words = zip(*places, strict=True)
    return [int.from_bytes(bytes(word), "little", signed=True) << record["shift"] for word in words]


def text_and_back(integers: NDArray[np.int64]) -> NDArray[np.int64]:
    record = integers_record(integers)
    assert isinstance(record, dict)
    assert as_read_by_others(record, len(integers)) == integers.tolist()
    return read_integers(Fields({"integers": record}, "answer"), record, len(integers))


def zeros(megabytes: int) -> bytes:
    """Return so many zeros as zlib packs them, a thousand to one."""
    pack = zlib.compressobj(9, zlib.DEFLATED, -15)
    megabyte = pack.compress(bytes(2**20)) + pack.flush(zlib.Z_FULL_FLUSH)
    sums = (megabytes * 2**20 % 65521) << 16 | 1  # Adler's, of zeros
    return b"\x78\xda" + megabyte * megabytes + pack.flush() + sums.to_bytes(4, "big")


def test_the_bomb_is_one() -> None:
    assert zlib.decompress(zeros(3)) == bytes(3 * 2**20)
    assert len(zeros(1024)) < 2 * 2**20


def test_a_basis_of_too_many_columns() -> None:
    """Whether columns are orthonormal is a matrix of as many rows: 45 kB of zeros would ask for 72 MB, 4.5 MB for 1 TB."""
    record = record_of("separate")
    (diagonal,) = [answer for answer in record["answers"] if asked(answer) == "diagonal in a basis"]
    diagonal["question"]["basis"] = {"columns": [[0.0] * 3000] * 3}
    text = sealed(record)
    with at_most(30, text), pytest.raises(ReleaseError, match=NEVER):
        parse(text)


@pytest.mark.parametrize("alike", [False, True])
def test_too_many_charges(alike: bool) -> None:
    """Each new price in (ε, δ), or question, is calibrated by a search of its own: thousands of them would take minutes."""
    record = record_of("mod-sulq")
    (answer,) = record["answers"]
    record["answers"] = [json.loads(json.dumps(answer)) for _ in range(MOST_ANALYTIC + 1)]
    for place, one in enumerate(record["answers"]):
        one["noise"][0]["charge"]["epsilon"] = f"1/{10**6 + place * (not alike)}"
    with pytest.raises(ReleaseError, match=r"too many charges in \(epsilon, delta\)"):
        parse(sealed(record))
