"""A release file comes back bit for bit, and every damaged one is refused with a reason; `test_forged` has forged ones."""

from __future__ import annotations

import copy
import dataclasses
import json
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcov
from dpcov.errors import ReleaseError
from dpcov.kernel.noise.sampler import RandomSampler
from dpcov.mechanisms.covariance.gaussian import GAUSSIAN
from dpcov.mechanisms.running import released
from dpcov.release.file import FORMAT_VERSION, parse, text_of
from dpcov.verify.testing import SeededBits, scripted
from tests.helpers.small import Record, assert_same, record_of, sealed

ROWS = np.array([[0.5, -0.25, 0.1], [0.3, 0.9, -0.7]])
Level = tuple[str | int, ...]


def example(columns: int = 2, **changes: Any) -> dpcov.Release:
    options: dict[str, Any] = {"row_norm": 1.0, "seed": 5, "mechanism": "gaussian"} | changes
    return dpcov.covariance(ROWS[:, :columns], dpcov.ZCDP(0.1), **options)


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A small file: add-remove, so that it holds two answers."""
    path = tmp_path_factory.mktemp("release") / "small.json"
    example(1, neighbors="add-remove").save(path)
    return path.read_text(encoding="utf-8")


@pytest.fixture
def record(text: str) -> Record:
    loaded: Record = json.loads(text)
    return loaded


def at(record: dict[str, Any], level: Level) -> Any:
    found: Any = record
    for step in level:
        found = found[step]
    return found


def assert_refused(text: str, reason: str = "") -> None:
    with pytest.raises(ReleaseError) as caught:
        parse(text)
    message = str(caught.value)
    assert isinstance(caught.value, ValueError)
    assert re.fullmatch(r"(?s)release file must be .+, got .+\. Hint: .+\.", message), message
    assert reason in message


class TestRoundTrip:
    @pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
    @pytest.mark.parametrize("columns", [1, 3])
    @pytest.mark.parametrize(
        "changes",
        [
            {},
            {"constants": "paper"},
            {"mechanism": "auto"},
            {"postprocess": "none", "row_norm": 0.1 + 0.2},
            {"row_norm": 1e-150},
            {"row_norm": 1e150, "seed": None},
        ],
    )
    def test_bit_for_bit(self, tmp_path: Path, neighbors: str, columns: int, changes: Record) -> None:
        release = example(columns, neighbors=neighbors, **changes)
        release.save(tmp_path / "release.json")
        back = dpcov.load(tmp_path / "release.json")
        assert_same(back, release)
        assert back.second_moment.tobytes() == release.second_moment.tobytes()
        assert back.privacy == dpcov.ZCDP(Fraction(1, 10))

    def test_names_in_any_script(self, tmp_path: Path) -> None:
        names = ("größe", "年齢 🙂", 'quote " \\ \n tab \t', "\u202e\x00", "")
        made = dpcov.covariance(np.zeros((3, 5)), dpcov.ZCDP(1), row_norm=1, seed=1)
        encoding = dataclasses.replace(made.encoding, feature_names=names)
        dataclasses.replace(made, encoding=encoding).save(tmp_path / "größe.json")
        assert dpcov.load(tmp_path / "größe.json").feature_names == names

    def test_extreme_answers(self, tmp_path: Path) -> None:
        release = example(1)
        extremes = dataclasses.replace(release.answers[0], integers=np.array([-(2**63)]))
        dataclasses.replace(release, answers=(extremes,)).save(tmp_path / "r.json")
        assert dpcov.load(tmp_path / "r.json").answers[0].integers.tolist() == [-(2**63)]

    def test_the_largest_sums_with_noise(self) -> None:
        """2³⁰ rows of norm 1 sum up to 2⁶² steps, and noise comes on top: no file of an honest release is refused for it."""
        largest = []
        for seed in range(20):
            sampler = RandomSampler(SeededBits(seed))
            curator = scripted([[[2.0**30]]], n=2**30, d=1, budget=dpcov.ZCDP("1e-10"), sampler=sampler)
            release = released(GAUSSIAN, curator, dpcov.ZCDP("1e-10"))
            largest.append(parse(text_of(release)).answers[0].integers[0] > 2**62)
        assert {*largest} == {False, True}

    def test_saving_again_gives_the_same_bytes(self, tmp_path: Path) -> None:
        example().save(tmp_path / "first.json")
        dpcov.load(tmp_path / "first.json").save(str(tmp_path / "second.json"))
        assert (tmp_path / "first.json").read_bytes() == (tmp_path / "second.json").read_bytes()

    def test_the_helpers_of_this_file_leave_a_good_file_good(self, text: str, record: Record) -> None:
        # Otherwise every refusal below could have another reason than the one it is about.
        assert parse(sealed(record)).n == parse(text).n


class TestDamage:
    def test_truncated_anywhere(self, text: str) -> None:
        whole = text.rstrip()  # losing the last newline loses nothing
        for end in range(len(whole)):
            assert_refused(whole[:end])

    def test_any_digit_changed(self, text: str) -> None:
        for position in [i for i, character in enumerate(text) if character.isdigit()]:
            for digit in "0123456789":
                if digit != text[position]:
                    assert_refused(text[:position] + digit + text[position + 1 :])

    @pytest.mark.parametrize("one_in", [5, pytest.param(1, marks=pytest.mark.audit)])
    def test_any_bit_flipped(self, text: str, tmp_path: Path, one_in: int) -> None:
        path = tmp_path / "flipped.json"
        for position in range(0, len(text.rstrip()), one_in):
            content = bytearray(text.encode())
            content[position] ^= 1 << position % 8
            path.write_bytes(content)
            with pytest.raises(ReleaseError):
                dpcov.load(path)

    @pytest.mark.parametrize(
        "other",
        ["", " ", "[]", "null", "1", '"dpcov release"', "{}", "not JSON", "[" * 10**5, '{"a":' * 10**5, "\ufeff{}"],
        ids=lambda other: other[:8],
    )
    def test_something_else(self, other: str) -> None:
        assert_refused(other)

    @pytest.mark.parametrize("content", [b"\xff\xfe{}", b"\x80", b"\x00" * 100, bytes(range(256))])
    def test_other_bytes(self, content: bytes, tmp_path: Path) -> None:
        path = tmp_path / "binary.json"
        path.write_bytes(content)
        with pytest.raises(ReleaseError, match="release file must be"):
            dpcov.load(path)

    def test_nesting_of_any_depth(self, text: str) -> None:
        # Reading and summing up nest differently: some depths are fine for one and too much for the other.
        for depth in range(10, 1200, 10):
            assert_refused(text.replace('"options": {', f'"options": {{"deep": {"[" * depth}{"]" * depth}, '))

    def test_options_are_lists_of_lists_at_most(self, record: Record) -> None:
        for options in (record["mechanism"]["options"], record["requested"]["options"], record["notes"]):
            options["deep"] = [[1, "a", None], [True, 2.5]]
            assert parse(sealed(record)).d == 1
            deeper: list[Any] = [[[[1]]], {"a": 1}, [{"a": 1}], [[{}]]]
            for options["deep"] in deeper:
                assert_refused(sealed(record), "options are numbers, text")
            options.pop("deep")

    def test_repeated_keys(self, text: str) -> None:
        for twice in ('"n": ', '"rho": ', '"law": ', '"constants": ', '"checksum": '):
            assert_refused(text.replace(twice, f"{twice}1, {twice}", 1), "twice")

    @pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
    def test_constants_that_json_does_not_have(self, text: str, constant: str) -> None:
        for key in ("n", "row_norm", "grid_bits", "constants"):
            assert_refused(re.sub(rf'"{key}": [^,}}]+', f'"{key}": {constant}', text, count=1), "finite")

    def test_a_number_beyond_float64(self, record: Record) -> None:
        record["encoding"]["row_norm"] = float("inf")  # what 1e999 is read as
        assert_refused(sealed(record).replace("Infinity", "1e999"))

    def test_an_integer_too_long_for_python(self, text: str) -> None:
        assert_refused(re.sub(r'"n": \d+', '"n": 1' + "0" * 5000, text))


def test_a_missing_checksum(record: Record) -> None:
    del record["checksum"]
    assert_refused(json.dumps(record), "checksum")


WRONG: list[tuple[Level, list[Any]]] = [
    (("format",), ["dpcov", 1]),
    (("format_version",), [0, -1, FORMAT_VERSION + 1, 10**9, 1.0, True, "1"]),
    (("dpcov_version",), [1]),
    (("kind",), ["solution", 1]),
    (("privacy",), ["1/10", [], {"notion": "zCDP", "rho": 0.1}, {"notion": "renyi", "rho": "1"}]),
    (("privacy", "rho"), ["0", "-1/10", "0.1", "1e-1", " 1", "1/0", "nan", "1/10\n", "٣", 1]),
    (("neighbors",), ["swap", 1]),
    (("seeded",), [1, 0, "true"]),
    (("n",), [True, "2", 2.0, 0, -1, [2], 10**400]),
    (("encoding", "feature_names"), ["x0", [0], [None], {"x0": 0}]),
    (("encoding", "row_norm"), [1, "1.0", True, 0.0, -1.0, [1.0]]),
    (("encoding", "grid_bits"), [16.0, "16", True, 0, 17]),
    (("encoding", "constant"), [True, 0, None]),
    (("encoding", "midpoints"), [0, None]),
    (("encoding", "pairs"), [True, 0, None]),
    (("encoding", "schema"), [None, [], {"x0": [0, 1]}]),
    (("mechanism",), [1, "gaussian", {"name": "gaussian"}, {"name": 1, "options": {}}, {"name": "gaussian", "options": []}]),
    (("requested",), [1, "gaussian", {"name": "gaussian"}, {"name": 1, "options": {}}, {"name": "gaussian", "options": []}]),
    (("mechanism", "options", "constants"), [[[[1]]], {"a": 1}]),
    (("postprocess",), [1, None]),
    (("notes",), [[], "rounds", {"rounds": {}}]),
    (("frames",), [{}, [1], [{}]]),
    (("answers",), [{}, [1]]),
    (("answers", 1, "question"), ["count", {}, {"asked": "Second moment"}, {"asked": 1}]),
    (("answers", 1, "integers"), [[1.0], [True], ["1"], [None], [[1]], [2**63], [-(2**63) - 1], [10**400], "1", {}]),
    (("answers", 1, "noise"), [{}, [], [1], "exact"]),
    (("answers", 1, "noise", 0, "law"), ["laplace", 1]),
    (("answers", 1, "noise", 0, "numerics"), ["rounded", 1]),
    (("answers", 1, "noise", 0, "charge"), ["1/10", {"notion": "pure", "epsilon": "1/100"}]),
    (("answers", 1, "noise", 0, "parameters"), [[], [["count", "1"]], {"count": 1}]),
    (("answers", 1, "noise", 0, "parameters", "count"), ["0", "-1", "1.5", "inf", 1, 1.5, "1" * 2000]),
]


@pytest.mark.parametrize(
    ("level", "value"),
    [pytest.param(level, value, id=f"{level[-1]}={value!r}"[:40]) for level, values in WRONG for value in values],
)
def test_a_wrong_value(level: Level, value: Any, record: Record) -> None:
    at(record, level[:-1])[level[-1]] = value
    assert_refused(sealed(record))


def test_a_newer_version_says_so(record: Record) -> None:
    record["format_version"] = FORMAT_VERSION + 1
    assert_refused(json.dumps(record | {"surprise": 1}), "install a newer dpcov")


@pytest.mark.parametrize("version", [0, -1, "1", 2, None])
def test_there_is_one_version(version: Any, record: Record) -> None:
    """The first that has answers with their questions; older files were never published."""
    assert record["format_version"] == FORMAT_VERSION == 1
    assert_refused(sealed(record | {"format_version": version}), "version")


def charge_more(record: Record) -> None:
    record["answers"].append(copy.deepcopy(record["answers"][1]))
    record["answers"][2]["noise"][0]["charge"]["rho"] = "1/" + "9" * 30


def charge_otherwise(record: Record) -> None:
    for answer in record["answers"]:
        answer["noise"][0]["charge"] = {"notion": "pure", "epsilon": "1/100"}


def charge_nothing(record: Record) -> None:
    for answer in record["answers"]:
        answer["noise"] = []


def promise_less(record: Record) -> None:
    record["privacy"]["rho"] = "99/1000"


def one_entry_more(record: Record) -> None:
    record["answers"][0]["integers"].append(0)


def one_entry_less(record: Record) -> None:
    record["answers"][0]["integers"].pop()


def one_column_more(record: Record) -> None:
    record["encoding"]["feature_names"].append("x1")


def no_count(record: Record) -> None:
    record["answers"].pop()


def two_second_moments(record: Record) -> None:
    # The first is of the wrong size; a check of the last alone would let an unusable release through.
    record["answers"].append(copy.deepcopy(record["answers"][0]))
    record["answers"][0]["integers"] *= 3


def count_with_two_entries(record: Record) -> None:
    record["answers"][1]["integers"] *= 2


@pytest.mark.parametrize(
    "damage",
    [
        charge_more,
        charge_otherwise,
        charge_nothing,
        promise_less,
        one_entry_more,
        one_entry_less,
        one_column_more,
        no_count,
        two_second_moments,
        count_with_two_entries,
    ],
)
def test_a_record_that_contradicts_itself(damage: Callable[[Record], None], record: Record) -> None:
    damage(record)
    assert_refused(sealed(record))


def halve_the_noise(record: Record) -> None:
    record["answers"][0]["noise"][0]["parameters"]["diagonal"] = "1000"


def repeat_a_name(record: Record) -> None:
    record["encoding"]["feature_names"] = ["x0", "x0"]


def noise_of_another(record: Record) -> None:
    record["answers"][0]["noise"] = record["answers"][1]["noise"]


@pytest.mark.parametrize("change", [halve_the_noise, repeat_a_name, noise_of_another])
def test_parts_that_do_not_agree(change: Callable[[Record], None], record: Record) -> None:
    change(record)
    assert_refused(sealed(record), "consistent")


def test_a_release_without_a_second_moment_says_so() -> None:
    with pytest.raises(ReleaseError, match="second moment"):
        _ = dataclasses.replace(example(), answers=()).second_moment


@pytest.mark.parametrize(
    "changes",
    [{"n": 2**31}, {"encoding": {"feature_names": ["x0", "\ud800"]}}, {"encoding": {"row_norm": 0.5}}],
    ids=["too many rows", "no text", "rows longer than the longest"],
)
def test_a_release_that_no_curator_made(changes: Record) -> None:
    made = record_of(example(2))
    for key, value in changes.items():
        made[key] = made[key] | value if isinstance(value, dict) else value
    assert_refused(sealed(made))


def test_n_is_the_noisy_count_and_nothing_else() -> None:
    made = record_of(example(3, neighbors="add-remove"))
    assert parse(sealed(made)).n == made["n"]
    assert_refused(sealed(made | {"n": 12345}), "noisy count")


def test_a_scale_that_grew_without_its_lattice() -> None:
    made = record_of(dpcov.covariance(ROWS, dpcov.PureDP(1), row_norm=1, seed=5, mechanism="wishart"))
    made["answers"][0]["noise"][0]["parameters"]["scale"] = str(2**55)
    assert_refused(sealed(made), "consistent")


def test_a_delta_below_the_tail_of_rounded_noise() -> None:
    made = record_of(dpcov.covariance(ROWS, dpcov.ApproxDP(1, 1e-9), row_norm=1, seed=5, mechanism="wishart"))
    made["privacy"]["delta"] = f"1/{10**60}"
    assert_refused(sealed(made), "tail")
