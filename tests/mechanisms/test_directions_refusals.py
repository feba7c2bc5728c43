"""What the mechanisms that draw directions refuse before reading, and what a file with directions must hold."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcov
from dpcov.errors import ParameterError, ReleaseError
from dpcov.kernel.bits import SeededBits
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.noise.drawn import Bingham
from dpcov.kernel.questions.directions import Directions, directions_of
from dpcov.release.file import parse
from tests.helpers.forged import verdict
from tests.helpers.small import Record, record_of, sealed

NEIGHBORS = ["replace", "add-remove"]
BOTH = ["eigenvectors", "kapralov-talwar"]
ROWS = np.random.default_rng(1201).uniform(-0.5, 0.5, size=(30, 3))


@pytest.mark.parametrize("neighbors", NEIGHBORS)
class TestBeforeReading:
    def test_an_option_of_the_other(self, neighbors: str) -> None:
        for name, option in (("kapralov-talwar", "beta"), ("kapralov-talwar", "values"), ("eigenvectors", "numerics")):
            with pytest.raises(ParameterError, match="options of"):
                example(name, PureDP(1), neighbors=neighbors, **{option: 1})


def example(name: str = "eigenvectors", budget: Budget = PureDP(1), **changes: Any) -> dpcov.Release:  # noqa: B008
    return dpcov.covariance(ROWS, budget, row_norm=1, mechanism=name, **({"seed": 1202} | changes))


def drawn(release: dpcov.Release) -> Any:
    return directions_of(release.take(Directions))


EXAMPLES: dict[str, dict[str, Any]] = {
    "default": {},
    "spectrum": {"values": "spectrum", "allocation": "uniform"},
    "rank": {"rank": 1, "constants": "paper", "timing": "fixed", "beta": 0.25},
    "zcdp": {"budget": ZCDP(1), "rank": 2},
    "approx": {"budget": ApproxDP(1, "1e-6"), "postprocess": "none"},
    "deflation": {"name": "kapralov-talwar"},
    "deflation rank": {"name": "kapralov-talwar", "rank": 2, "constants": "paper", "postprocess": "none"},
}


class TestRoundTrip:
    @pytest.mark.parametrize("center", [False, True])
    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    @pytest.mark.parametrize("case", EXAMPLES)
    def test_file_and_pickle(self, tmp_path: Path, case: str, neighbors: str, center: bool) -> None:
        release = example(**EXAMPLES[case], neighbors=neighbors, center=center)
        release.save(tmp_path / "release.json")
        for back in (dpcov.load(tmp_path / "release.json"), pickle.loads(pickle.dumps(release))):
            for field in dataclasses.fields(dpcov.Release):
                if field.name != "answers":
                    assert getattr(back, field.name) == getattr(release, field.name)
            for answer, expected in zip(back.answers, release.answers, strict=True):
                assert (answer.question, answer.laws, answer.charges) == (expected.question, expected.laws, expected.charges)
                assert answer.integers.tobytes() == expected.integers.tobytes()
            assert drawn(back).tobytes() == drawn(release).tobytes()
            assert back.second_moment.tobytes() == release.second_moment.tobytes()
        assert "directions are drawn in float64" in release.statement()

    @pytest.mark.parametrize("name", BOTH)
    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    def test_one_column(self, name: str, neighbors: str) -> None:
        """No direction is drawn, and none is paid for in concentrations."""
        release = dpcov.covariance(ROWS[:, :1], PureDP(1), row_norm=1, mechanism=name, neighbors=neighbors, seed=1203)
        back = pickle.loads(pickle.dumps(release))
        assert drawn(back).tolist() == [[1.0]]
        assert back.second_moment.tobytes() == release.second_moment.tobytes()


def peel(record: Record) -> Record:
    """Return the answer with the directions, and the values along them where they are part of it."""
    (found,) = (answer for answer in record["answers"] if answer["question"]["asked"] == "directions")
    return found  # type: ignore[no-any-return]


def spectrum(record: Record) -> Record | None:
    """Return the eigenvalues that were asked for apart, or none."""
    return next((answer for answer in record["answers"] if answer["question"]["asked"] == "spectrum"), None)


def valued(record: Record) -> tuple[Record, Record]:
    """Return the answer that has the values, and the law of their noise."""
    apart = spectrum(record)
    return (apart, apart["noise"][0]) if apart else (peel(record), peel(record)["noise"][1])


def concentrations(record: Record) -> dict[str, str]:
    found: dict[str, str] = peel(record)["noise"][0]["parameters"]
    return found


def more_concentrated(record: Record) -> None:
    concentrations(record)["1"] = str(Fraction(concentrations(record)["1"]) * Fraction(1001, 1000))


def one_more_draw(record: Record) -> None:
    concentrations(record)["9"] = "1/1000000"


def one_less_draw(record: Record) -> None:
    concentrations(record).popitem()


def a_draw_for_nothing(record: Record) -> None:
    concentrations(record)["1"] = "0"


def draws_in_another_order(record: Record) -> None:
    noise = peel(record)["noise"][0]
    noise["parameters"] = dict(reversed(noise["parameters"].items()))


def shorter(record: Record) -> None:
    peel(record)["integers"].pop()


def a_row_less(record: Record) -> None:
    del peel(record)["integers"][:3]


def a_direction_less(record: Record) -> None:
    peel(record)["question"]["count"] -= 1


def not_unit(record: Record) -> None:
    peel(record)["integers"][0] += 2**12


def zero_direction(record: Record) -> None:
    peel(record)["integers"][:3] = [0, 0, 0]


def huge_direction(record: Record) -> None:
    peel(record)["integers"][0] = 2**62


def not_orthogonal(record: Record) -> None:
    """A unit vector, twice; directions that are subtracted need not be orthogonal."""
    integers = peel(record)["integers"]
    integers[3:6] = integers[:3]
    if peel(record)["question"]["valued"] == "subtracted":
        integers[3:6] = [0, 0, 0]


def another_way_to_ask_for_values(record: Record) -> None:
    """Values along directions that need not be orthogonal move more, each by itself: they would need more noise."""
    question = peel(record)["question"]
    question["valued"] = {"projected": "subtracted", "subtracted": "projected", "": "projected"}[question["valued"]]
    if question["valued"] == "projected":
        peel(record)["integers"][:6] = [2**18, 0, 0] * 2
    elif question["count"] == 2 and record["neighbors"] == "replace":  # in the Euclidean norm two move as far either way
        assert parse(sealed(record)).n == record["n"]
        without_noise_on_the_values(record)


def values_that_were_not_asked_for(record: Record) -> None:
    question = peel(record)["question"]
    question["valued"] = "" if question["valued"] else "projected"


def without_noise_on_the_values(record: Record) -> None:
    valued(record)[0]["noise"].pop()


def a_value_more(record: Record) -> None:
    valued(record)[0]["integers"].append(0)


def a_value_less(record: Record) -> None:
    valued(record)[0]["integers"].pop()


def less_noise(record: Record) -> None:
    parameters = valued(record)[1]["parameters"]
    parameters.update({key: str(Fraction(value) * Fraction(99, 100)) for key, value in parameters.items()})


def directions_cost_less(record: Record) -> None:
    _directions_cost(record, Fraction(1, 100))


def directions_cost_more(record: Record) -> None:
    _directions_cost(record, Fraction(2))


def _directions_cost(record: Record, factor: Fraction) -> None:
    charge = peel(record)["noise"][0]["charge"]
    key = "rho" if "rho" in charge else "epsilon"
    charge[key] = str(Fraction(charge[key]) * factor)


def fewer_rows_than_there_may_be(record: Record) -> None:
    question = (spectrum(record) or peel(record))["question"]
    question["at most"] = 1


def other_law(record: Record) -> None:
    peel(record)["noise"][0]["law"] = "discrete laplace"


def other_numerics(record: Record) -> None:
    peel(record)["noise"][0]["numerics"] = "exact"


def laws_swapped(record: Record) -> None:
    noise = peel(record)["noise"]
    noise.append(noise[0]) if len(noise) == 1 else noise.reverse()


EDITS: list[Callable[[Record], None]] = [
    more_concentrated,
    one_more_draw,
    one_less_draw,
    a_draw_for_nothing,
    draws_in_another_order,
    shorter,
    a_row_less,
    a_direction_less,
    not_unit,
    zero_direction,
    huge_direction,
    not_orthogonal,
    another_way_to_ask_for_values,
    values_that_were_not_asked_for,
    without_noise_on_the_values,
    a_value_more,
    a_value_less,
    less_noise,
    directions_cost_less,
    directions_cost_more,
    fewer_rows_than_there_may_be,
    other_law,
    other_numerics,
    laws_swapped,
]


def another_postprocess(record: Record) -> None:
    record["postprocess"] = "shrink"


def without_values(record: Record) -> None:
    """As components would be asked for: the directions alone, and no spectrum."""
    if apart := spectrum(record):
        record["answers"].remove(apart)
        return
    found = peel(record)
    count = found["question"]["count"]
    found["question"] |= {"valued": "", "at most": 0}
    found["integers"], found["noise"] = found["integers"][: 3 * count], found["noise"][:1]
    if record["mechanism"]["name"] == "kapralov-talwar":  # without values directions are orthogonal, and one less is drawn
        found["integers"][: 3 * count] = [2**18 * (i % 4 == 0) for i in range(3 * count)]
        found["noise"][0]["parameters"].popitem()


def without_directions(record: Record) -> None:
    record["answers"].remove(peel(record))


def another_rank(record: Record) -> None:
    _option(record, "rank", 1 if record["mechanism"]["options"]["rank"] != 1 else 2)


def rank_beyond(record: Record) -> None:
    _option(record, "rank", 4)


def rank_below(record: Record) -> None:
    _option(record, "rank", -1)


def rank_true(record: Record) -> None:
    _option(record, "rank", True)


def rank_half(record: Record) -> None:
    _option(record, "rank", 1.5)


def unknown_option(record: Record) -> None:
    _option(record, "depth", 3)


def unknown_choice(record: Record) -> None:
    _option(record, "constants", "loose")


def _option(record: Record, name: str, value: Any) -> None:
    record["mechanism"]["options"][name] = value


def additive_name(record: Record) -> None:
    record["mechanism"] = {"name": "gaussian", "options": {"clip": "none", "constants": "tight"}}


def the_other_name(record: Record) -> None:
    deflated = record["mechanism"]["name"] == "kapralov-talwar"
    record["mechanism"] = {"name": "eigenvectors" if deflated else "kapralov-talwar", "options": {}}


HIDDEN: list[Callable[[Record], None]] = [
    another_postprocess,
    without_values,
    without_directions,
    another_rank,
    rank_beyond,
    rank_below,
    rank_true,
    rank_half,
    unknown_option,
    unknown_choice,
    additive_name,
    the_other_name,
]
TIGHT = ["default", "spectrum", "zcdp", "approx", "deflation"]  # the papers' constants leave room for more concentration


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("case", TIGHT)
@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
def test_a_forged_file_is_refused(edit: Callable[[Record], None], case: str, neighbors: str) -> None:
    record = record_of(example(**EXAMPLES[case], neighbors=neighbors))
    assert parse(sealed(record)).n == record["n"]
    edit(record)
    with pytest.raises(ReleaseError, match=r"release file must be .+, got .+\. Hint: "):
        parse(sealed(record))


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("case", TIGHT)
@pytest.mark.parametrize("edit", HIDDEN, ids=lambda edit: edit.__name__)
def test_what_only_the_mechanism_knows_is_a_verdict(edit: Callable[[Record], None], case: str, neighbors: str) -> None:
    record = record_of(example(**EXAMPLES[case], neighbors=neighbors))
    assert parse(sealed(record)).retrace().agrees
    edit(record)
    assert verdict(sealed(record)) == ("loaded", "")
    assert edit is another_postprocess or not parse(sealed(record)).retrace().agrees


class TestHints:
    @pytest.mark.parametrize("name", BOTH)
    def test_directions_have_no_expected_error(self, name: str) -> None:
        with pytest.raises(ReleaseError, match=r"must hold noise of a known size, got none\. Hint: .*dpcov\.bounds"):
            _ = example(name).expected_error

    @pytest.mark.parametrize("mechanism", ["auto", "gaussian"])
    def test_additive_releases_have_no_directions(self, mechanism: str) -> None:
        with pytest.raises(ReleaseError, match=r"must hold an answer about directions, got none\. Hint: .+\."):
            _ = drawn(dpcov.covariance(ROWS, ZCDP(1), row_norm=1, seed=1204, mechanism=mechanism))

    def test_a_law_of_directions_adds_nothing(self) -> None:
        law, values = example().answers[0].laws
        assert not law.is_at_least(values)
        assert law.is_at_least(law)
        assert law.settle(np.arange(3)).tolist() == [0, 1, 2]
        with pytest.raises(ParameterError, match="concentrations must be positive"):
            Bingham((("1", Fraction(0)),))
        for call in (law.spread, lambda: law.draw([3], SeededBits(0))):
            with pytest.raises(NotImplementedError):
                call()
