"""A release file comes back bit for bit, and every damaged one is refused with a reason."""

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
from dpcov.release.file import FORMAT_VERSION, _checksum, _to_record, parse

ROWS = np.array([[0.5, -0.25, 0.1], [0.3, 0.9, -0.7]])
Level = tuple[str | int, ...]


def example(columns: int = 2, **changes: Any) -> dpcov.Release:
    options: dict[str, Any] = {"row_norm": 1.0, "seed": 5, "mechanism": "gaussian"} | changes
    return dpcov.covariance(ROWS[:, :columns], dpcov.ZCDP(0.1), **options)


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A small file: add-remove, so that it holds two answers and two spends."""
    path = tmp_path_factory.mktemp("release") / "small.json"
    example(1, neighbors="add-remove").save(path)
    return path.read_text(encoding="utf-8")


@pytest.fixture
def record(text: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def sealed(record: dict[str, Any]) -> str:
    """Write a record with a fresh checksum, as a forger or a newer version would."""
    body = {key: value for key, value in record.items() if key != "checksum"}
    return json.dumps(body | {"checksum": _checksum(body)})


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
    def test_bit_for_bit(self, tmp_path: Path, neighbors: str, columns: int, changes: dict[str, Any]) -> None:
        release = example(columns, neighbors=neighbors, **changes)
        release.save(tmp_path / "release.json")
        back = dpcov.load(tmp_path / "release.json")
        for field in dataclasses.fields(dpcov.Release):
            if field.name != "answers":
                assert getattr(back, field.name) == getattr(release, field.name)
        for answer, expected in zip(back.answers, release.answers, strict=True):
            assert (answer.statistic, answer.unit_bits) == (expected.statistic, expected.unit_bits)
            assert answer.noise == expected.noise
            assert answer.integers.dtype == expected.integers.dtype
            assert answer.integers.tobytes() == expected.integers.tobytes()
        assert back.second_moment.tobytes() == release.second_moment.tobytes()
        assert back.privacy == dpcov.ZCDP(Fraction(1, 10))

    def test_names_in_any_script(self, tmp_path: Path) -> None:
        names = ("größe", "年齢 🙂", 'quote " \\ \n tab \t', "\u202e\x00", "")
        answers = dpcov.covariance(np.zeros((3, 5)), dpcov.ZCDP(1), row_norm=1, seed=1)
        dataclasses.replace(answers, feature_names=names).save(tmp_path / "größe.json")
        assert dpcov.load(tmp_path / "größe.json").feature_names == names

    def test_extreme_answers(self, tmp_path: Path) -> None:
        release = example(1)
        extremes = dataclasses.replace(release.answers[0], integers=np.array([-(2**63)]))
        dataclasses.replace(release, answers=(extremes,)).save(tmp_path / "r.json")
        assert dpcov.load(tmp_path / "r.json").answers[0].integers.tolist() == [-(2**63)]

    def test_saving_again_gives_the_same_bytes(self, tmp_path: Path) -> None:
        example().save(tmp_path / "first.json")
        dpcov.load(tmp_path / "first.json").save(str(tmp_path / "second.json"))
        assert (tmp_path / "first.json").read_bytes() == (tmp_path / "second.json").read_bytes()

    def test_the_helpers_of_this_file_leave_a_good_file_good(self, text: str, record: dict[str, Any]) -> None:
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

    def test_any_bit_flipped(self, text: str, tmp_path: Path) -> None:
        path = tmp_path / "flipped.json"
        for position in range(len(text.rstrip())):
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

    def test_repeated_keys(self, text: str) -> None:
        for twice in ('"n": ', '"rho": ', '"law": ', '"constants": ', '"checksum": '):
            assert_refused(text.replace(twice, f"{twice}1, {twice}", 1), "twice")

    @pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
    def test_constants_that_json_does_not_have(self, text: str, constant: str) -> None:
        for key in ("n", "row_norm", "unit_bits", "constants"):
            assert_refused(re.sub(rf'"{key}": [^,}}]+', f'"{key}": {constant}', text, count=1), "finite")

    def test_a_number_beyond_float64(self, record: dict[str, Any]) -> None:
        record["encoding"]["row_norm"] = float("inf")  # what 1e999 is read as
        assert_refused(sealed(record).replace("Infinity", "1e999"))

    def test_an_integer_too_long_for_python(self, text: str) -> None:
        assert_refused(re.sub(r'"n": \d+', '"n": 1' + "0" * 5000, text))


LEVELS: list[Level] = [
    (),
    ("privacy",),
    ("encoding",),
    ("spent", 0),
    ("spent", 1, "budget"),
    ("answers", 0),
    ("answers", 1, "noise"),
    ("answers", 1, "noise", "parameters"),
]


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: ".".join(map(str, level)) or "top")
class TestKeys:
    def test_an_unknown_key(self, level: Level, record: dict[str, Any]) -> None:
        at(record, level)["surprise"] = "1"
        assert_refused(sealed(record))

    def test_each_missing_key(self, level: Level, record: dict[str, Any]) -> None:
        for key in set(at(record, level)) - {"checksum"}:
            damaged = copy.deepcopy(record)
            del at(damaged, level)[key]
            assert_refused(sealed(damaged))

    def test_each_key_with_a_value_of_another_type(self, level: Level, record: dict[str, Any]) -> None:
        others: list[Any] = [None, [], {}]
        for key, value in at(record, level).items():
            for other in others:
                if type(value) is not type(other):
                    damaged = copy.deepcopy(record)
                    at(damaged, level)[key] = other
                    assert_refused(sealed(damaged) if key != "checksum" else json.dumps(damaged))


def test_a_missing_checksum(record: dict[str, Any]) -> None:
    del record["checksum"]
    assert_refused(json.dumps(record), "checksum")


WRONG: list[tuple[Level, list[Any]]] = [
    (("format",), ["dpcov", 1]),
    (("format_version",), [0, -1, FORMAT_VERSION + 1, 10**9, 1.0, True, "1"]),
    (("dpcov_version",), [1]),
    (("kind",), ["mean", 1]),
    (("privacy",), ["1/10", [], {"notion": "zCDP", "rho": 0.1}, {"notion": "renyi", "rho": "1"}]),
    (("privacy", "rho"), ["0", "-1/10", "0.1", "1e-1", " 1", "1/0", "nan", "1/10\n", "٣", 1]),
    (("neighbors",), ["swap", 1]),
    (("seeded",), [1, 0, "true"]),
    (("n",), [True, "2", 2.0, 0, -1, [2], 10**400]),
    (("feature_names",), ["x0", [0], [None], {"x0": 0}]),
    (("encoding", "row_norm"), [1, "1.0", True, 0.0, -1.0, [1.0]]),
    (("encoding", "grid_bits"), [16.0, "16", True]),
    (("mechanism",), [1]),
    (("requested",), [1]),
    (("options",), [[], "constants"]),
    (("options", "constants"), [None, [1], {"a": 1}]),
    (("postprocess",), ["shrunk", 1]),
    (("spent",), [{}, [1], ["count"]]),
    (("spent", 0, "budget"), ["1/10", {"notion": "pure", "epsilon": "1/100"}]),
    (("answers",), [{}, [1]]),
    (("answers", 1, "statistic"), ["Second moment", 1]),
    (("answers", 1, "unit_bits"), [32.0, "32", True, 10**30, -(10**30)]),
    (("answers", 1, "integers"), [[1.0], [True], ["1"], [None], [[1]], [2**63], [-(2**63) - 1], [10**400], "1", {}]),
    (("answers", 1, "noise", "law"), ["laplace", 1]),
    (("answers", 1, "noise", "numerics"), ["rounded", 1]),
    (("answers", 1, "noise", "parameters"), [[], [["diagonal", "1"]], {"diagonal": 1, "off-diagonal": "1"}]),
    (("answers", 1, "noise", "parameters", "diagonal"), ["0", "-1", "1.5", "inf", 1, 1.5, "1" * 2000]),
]


@pytest.mark.parametrize(
    ("level", "value"),
    [pytest.param(level, value, id=f"{level[-1]}={value!r}"[:40]) for level, values in WRONG for value in values],
)
def test_a_wrong_value(level: Level, value: Any, record: dict[str, Any]) -> None:
    at(record, level[:-1])[level[-1]] = value
    assert_refused(sealed(record))


def test_a_newer_version_says_so(record: dict[str, Any]) -> None:
    record["format_version"] = FORMAT_VERSION + 1
    assert_refused(json.dumps(record | {"surprise": 1}), "install a newer dpcov")


def spend_more(record: dict[str, Any]) -> None:
    record["spent"].append({"asked": "x", "noise": "y", "budget": {"notion": "zCDP", "rho": "1/" + "9" * 30}})


def spend_otherwise(record: dict[str, Any]) -> None:
    for spend in record["spent"]:
        spend["budget"] = {"notion": "pure", "epsilon": "1/100"}


def spend_nothing(record: dict[str, Any]) -> None:
    record["spent"] = []


def promise_less(record: dict[str, Any]) -> None:
    record["privacy"]["rho"] = "99/1000"


def one_entry_more(record: dict[str, Any]) -> None:
    record["answers"][1]["integers"].append(0)


def one_entry_less(record: dict[str, Any]) -> None:
    record["answers"][1]["integers"].pop()


def one_column_more(record: dict[str, Any]) -> None:
    record["feature_names"].append("x1")


def no_second_moment(record: dict[str, Any]) -> None:
    record["answers"].pop()


def two_second_moments(record: dict[str, Any]) -> None:
    # The first is of the wrong size; a check of the last alone would let an unusable release through.
    record["answers"].append(copy.deepcopy(record["answers"][1]))
    record["answers"][1]["integers"] *= 3


def count_with_two_entries(record: dict[str, Any]) -> None:
    record["answers"][0]["integers"] *= 2


@pytest.mark.parametrize(
    "damage",
    [
        spend_more,
        spend_otherwise,
        spend_nothing,
        promise_less,
        one_entry_more,
        one_entry_less,
        one_column_more,
        no_second_moment,
        two_second_moments,
        count_with_two_entries,
    ],
)
def test_a_record_that_contradicts_itself(damage: Callable[[dict[str, Any]], None], record: dict[str, Any]) -> None:
    damage(record)
    assert_refused(sealed(record))


def halve_the_noise(record: dict[str, Any]) -> None:
    record["answers"][0]["noise"]["parameters"]["diagonal"] = "1000"


def repeat_a_name(record: dict[str, Any]) -> None:
    record["feature_names"] = ["x0", "x0"]


def another_noise(record: dict[str, Any]) -> None:
    record["spent"][0]["noise"] = "continuous gaussian"


@pytest.mark.parametrize("change", [halve_the_noise, repeat_a_name, another_noise])
def test_parts_that_do_not_agree(change: Callable[[dict[str, Any]], None], record: dict[str, Any]) -> None:
    change(record)
    assert_refused(sealed(record), "consistent")


def test_a_release_without_a_second_moment_says_so() -> None:
    with pytest.raises(ReleaseError, match="second moment"):
        _ = dataclasses.replace(example(), answers=()).second_moment


@pytest.mark.parametrize(
    "changes",
    [
        {"requested": "banana"},
        {"options": {"constants": "banana"}},
        {"options": {"foo": 1}},
        {"n": 2**31},
        {"feature_names": ["x0", "\ud800"]},
    ],
    ids=["requested", "constants", "unknown option", "too many rows", "no text"],
)
def test_a_release_that_no_curator_made(changes: dict[str, Any]) -> None:
    made = json.loads(json.dumps(_to_record(example(2))))
    assert_refused(sealed(made | changes))


def test_n_is_the_noisy_count_and_nothing_else() -> None:
    made = _to_record(example(3, neighbors="add-remove"))
    assert parse(sealed(made)).n == made["n"]
    assert_refused(sealed(made | {"n": 12345}), "noisy count")


def test_a_scale_that_grew_without_its_lattice() -> None:
    made = _to_record(dpcov.covariance(ROWS, dpcov.PureDP(1), row_norm=1, seed=5, mechanism="wishart"))
    made["answers"][0]["noise"]["parameters"]["scale"] = str(2**55)
    assert_refused(sealed(made), "consistent")


def test_a_delta_below_the_tail_of_rounded_noise() -> None:
    made = _to_record(dpcov.covariance(ROWS, dpcov.ApproxDP(1, 1e-9), row_norm=1, seed=5, mechanism="wishart"))
    made["privacy"]["delta"] = f"1/{10**60}"
    assert_refused(sealed(made), "tail")
