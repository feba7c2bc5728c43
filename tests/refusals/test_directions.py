"""What the mechanisms that draw directions refuse before reading, and what a file with directions must hold."""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import pickle
import re
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
from dpcov.kernel.curator import Curator
from dpcov.kernel.noise.drawn import Bingham
from dpcov.kernel.rows.grid import Grid
from dpcov.mechanisms import MECHANISMS
from dpcov.release.file import _checksum, _to_record, parse
from dpcov.verify.testing import NoSource

NEIGHBORS = ["replace", "add-remove"]
BOTH = ["eigenvectors", "kapralov-talwar"]
ROWS = np.random.default_rng(1201).uniform(-0.5, 0.5, size=(30, 3))
Record = dict[str, Any]


def ask(name: str, budget: Budget = PureDP(1), neighbors: str = "replace", **options: Any) -> Curator:  # noqa: B008
    """Run a mechanism on a source that fails the test when it is read."""
    curator = Curator(NoSource(10, 3), Grid(1.0), budget, neighbors, SeededBits(0))
    with pytest.raises(ParameterError) as caught:
        MECHANISMS["covariance"][name](curator, budget, **options)
    assert re.fullmatch(r"(?s).+ must .+, got .+\. Hint: .+\.", str(caught.value)), str(caught.value)
    assert curator.spent == ()
    assert curator._charged == []
    return curator


@pytest.mark.parametrize("neighbors", NEIGHBORS)
class TestBeforeReading:
    @pytest.mark.parametrize("name", BOTH)
    @pytest.mark.parametrize("rank", [-1, 4, 10**30, True, False, 2.5, 2.0, "2", None, math.nan, [1], Fraction(2)], ids=repr)
    def test_rank(self, name: str, neighbors: str, rank: Any) -> None:
        ask(name, neighbors=neighbors, rank=rank)

    @pytest.mark.parametrize("beta", [0, 0.0, -0.1, 1, 1.0, 2, math.nan, math.inf, True, "0.05", None, [0.05], 1j], ids=repr)
    def test_beta(self, neighbors: str, beta: Any) -> None:
        ask("eigenvectors", neighbors=neighbors, beta=beta)

    @pytest.mark.parametrize("bad", ["", "Adaptive", "none", None, 1, True, ["basis"]], ids=repr)
    @pytest.mark.parametrize("option", ["allocation", "values", "timing", "constants"])
    def test_choices(self, neighbors: str, option: str, bad: Any) -> None:
        ask("eigenvectors", neighbors=neighbors, **{option: bad})

    @pytest.mark.parametrize("bad", ["shrink", "project", "", 1, False], ids=repr)
    @pytest.mark.parametrize("name", BOTH)
    def test_postprocess(self, name: str, neighbors: str, bad: Any) -> None:
        ask(name, neighbors=neighbors, postprocess=bad)

    def test_constants_of_the_baseline(self, neighbors: str) -> None:
        ask("kapralov-talwar", neighbors=neighbors, constants="loose")

    def test_a_notion_that_is_not_served(self, neighbors: str) -> None:
        ask("kapralov-talwar", ZCDP(1), neighbors)

    @pytest.mark.parametrize(
        "budget", [PureDP("1e-30"), PureDP("1e-200"), ZCDP("1e-60"), ZCDP("1e-250"), ApproxDP("1e-30", "1e-9")], ids=repr
    )
    @pytest.mark.parametrize("options", [{}, {"rank": 1}, {"values": "spectrum"}], ids=str)
    def test_a_budget_too_small_for_the_values(self, neighbors: str, budget: Budget, options: dict[str, Any]) -> None:
        ask("eigenvectors", budget, neighbors, **options)
        if not isinstance(budget, ZCDP) and "values" not in options:
            ask("kapralov-talwar", budget, neighbors, **options)

    def test_an_option_of_the_other(self, neighbors: str) -> None:
        for name, option in (("kapralov-talwar", "beta"), ("kapralov-talwar", "values"), ("eigenvectors", "numerics")):
            with pytest.raises(ParameterError, match="options of"):
                example(name, PureDP(1), neighbors=neighbors, **{option: 1})


def example(name: str = "eigenvectors", budget: Budget = PureDP(1), **changes: Any) -> dpcov.Release:  # noqa: B008
    return dpcov.covariance(ROWS, budget, row_norm=1, mechanism=name, **({"seed": 1202} | changes))


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
            assert [answer.noise for answer in back.answers] == [answer.noise for answer in release.answers]
            for answer, expected in zip(back.answers, release.answers, strict=True):
                assert answer.integers.tobytes() == expected.integers.tobytes()
            assert back.directions.tobytes() == release.directions.tobytes()
            assert back.second_moment.tobytes() == release.second_moment.tobytes()
        assert "directions are drawn in float64" in release.statement()

    @pytest.mark.parametrize("name", BOTH)
    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    def test_one_column(self, name: str, neighbors: str) -> None:
        """No direction is drawn, and none is paid for in concentrations."""
        release = dpcov.covariance(ROWS[:, :1], PureDP(1), row_norm=1, mechanism=name, neighbors=neighbors, seed=1203)
        back = pickle.loads(pickle.dumps(release))
        assert back.directions.tolist() == [[1.0]]
        assert back.second_moment.tobytes() == release.second_moment.tobytes()


def answer_of(record: Record, statistic: str) -> Record:
    [answer] = [answer for answer in record["answers"] if answer["statistic"] == statistic]
    found: Record = answer
    return found


def concentrations(record: Record) -> dict[str, str]:
    found: dict[str, str] = answer_of(record, "directions")["noise"]["parameters"]
    return found


def values_of(record: Record) -> Record:
    [answer] = [answer for answer in record["answers"] if answer["statistic"] in ("diagonal", "spectrum", "quotients")]
    found: Record = answer
    return found


def more_concentrated(record: Record) -> None:
    concentrations(record)["1"] = str(Fraction(concentrations(record)["1"]) * Fraction(1001, 1000))


def one_more_draw(record: Record) -> None:
    concentrations(record)["9"] = "1/1000000"


def one_less_draw(record: Record) -> None:
    concentrations(record).popitem()


def a_draw_for_nothing(record: Record) -> None:
    concentrations(record)["1"] = "0"


def shorter(record: Record) -> None:
    answer_of(record, "directions")["integers"].pop()


def a_row_less(record: Record) -> None:
    del answer_of(record, "directions")["integers"][-3:]


def not_unit(record: Record) -> None:
    answer_of(record, "directions")["integers"][0] += 2**12


def zero_direction(record: Record) -> None:
    answer_of(record, "directions")["integers"][:3] = [0, 0, 0]


def huge_direction(record: Record) -> None:
    answer_of(record, "directions")["integers"][0] = 2**62


def not_orthogonal(record: Record) -> None:
    """A unit vector, twice; directions that are subtracted need not be orthogonal."""
    integers = answer_of(record, "directions")["integers"]
    integers[3:6] = integers[:3]
    if record["mechanism"] == "kapralov-talwar":
        integers[3:6] = [0, 0, 0]


def another_postprocess(record: Record) -> None:
    record["postprocess"] = "shrink"


def another_unit(record: Record) -> None:
    answer_of(record, "directions")["unit_bits"] = 17


def without_values(record: Record) -> None:
    record["answers"].remove(values_of(record))


def without_values_and_spend(record: Record) -> None:
    name = values_of(record)["statistic"]
    without_values(record)
    record["spent"] = [spend for spend in record["spent"] if spend["asked"] != name]


def without_directions(record: Record) -> None:
    record["answers"].remove(answer_of(record, "directions"))


def twice(record: Record) -> None:
    record["answers"].append(copy.deepcopy(answer_of(record, "directions")))


def a_value_more(record: Record) -> None:
    values_of(record)["integers"].append(0)


def a_value_less(record: Record) -> None:
    values_of(record)["integers"].pop()


def less_noise(record: Record) -> None:
    parameters = values_of(record)["noise"]["parameters"]
    parameters.update({key: str(Fraction(value) * Fraction(99, 100)) for key, value in parameters.items()})


def another_rank(record: Record) -> None:
    record["options"]["rank"] = 1 if record["options"]["rank"] != 1 else 2


def rank_beyond(record: Record) -> None:
    record["options"]["rank"] = 4


def rank_below(record: Record) -> None:
    record["options"]["rank"] = -1


def rank_true(record: Record) -> None:
    record["options"]["rank"] = True


def rank_half(record: Record) -> None:
    record["options"]["rank"] = 1.5


def unknown_option(record: Record) -> None:
    record["options"]["depth"] = 3


def unknown_choice(record: Record) -> None:
    record["options"]["constants"] = "loose"


def additive_name(record: Record) -> None:
    record["mechanism"] = record["requested"] = "gaussian"


def the_other_name(record: Record) -> None:
    other = "eigenvectors" if record["mechanism"] == "kapralov-talwar" else "kapralov-talwar"
    record["mechanism"] = record["requested"] = other


def directions_cost_less(record: Record) -> None:
    [spend] = [spend for spend in record["spent"] if spend["asked"] == "directions"]
    key = "rho" if "rho" in spend["budget"] else "epsilon"
    factor = Fraction(1, 100)
    spend["budget"][key] = str(Fraction(spend["budget"][key]) * factor)


def directions_cost_more(record: Record) -> None:
    [spend] = [spend for spend in record["spent"] if spend["asked"] == "directions"]
    key = "rho" if "rho" in spend["budget"] else "epsilon"
    spend["budget"][key] = str(Fraction(spend["budget"][key]) * 2)


def other_law(record: Record) -> None:
    answer_of(record, "directions")["noise"]["law"] = "discrete laplace"


def other_numerics(record: Record) -> None:
    answer_of(record, "directions")["noise"]["numerics"] = "exact"


def spend_names_another_law(record: Record) -> None:
    [spend] = [spend for spend in record["spent"] if spend["asked"] == "directions"]
    spend["noise"] = "discrete laplace"


EDITS: list[Callable[[Record], None]] = [
    more_concentrated,
    one_more_draw,
    one_less_draw,
    a_draw_for_nothing,
    shorter,
    a_row_less,
    not_unit,
    zero_direction,
    huge_direction,
    not_orthogonal,
    another_postprocess,
    another_unit,
    without_values,
    without_values_and_spend,
    without_directions,
    twice,
    a_value_more,
    a_value_less,
    less_noise,
    another_rank,
    rank_beyond,
    rank_below,
    rank_true,
    rank_half,
    unknown_option,
    unknown_choice,
    additive_name,
    the_other_name,
    directions_cost_less,
    directions_cost_more,
    other_law,
    other_numerics,
    spend_names_another_law,
]
TIGHT = ["default", "spectrum", "zcdp", "approx", "deflation"]  # the papers' constants leave room for more concentration


def sealed(record: Record) -> str:
    """Write a record with a fresh checksum, as a forger would."""
    body = {key: value for key, value in record.items() if key != "checksum"}
    return json.dumps(body | {"checksum": _checksum(body)})


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("case", TIGHT)
@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
def test_a_forged_file_is_refused(edit: Callable[[Record], None], case: str, neighbors: str) -> None:
    record = json.loads(json.dumps(_to_record(example(**EXAMPLES[case], neighbors=neighbors))))
    assert parse(sealed(record)).n == record["n"]
    edit(record)
    with pytest.raises(ReleaseError, match=r"release file must be .+, got .+\. Hint: "):
        parse(sealed(record))


class TestHints:
    @pytest.mark.parametrize("name", BOTH)
    def test_directions_have_no_expected_error(self, name: str) -> None:
        with pytest.raises(ReleaseError, match=r"must hold a noisy second moment, got none\. Hint: .*dpcov\.bounds"):
            _ = example(name).expected_error

    @pytest.mark.parametrize("mechanism", ["auto", "gaussian"])
    def test_additive_releases_have_no_directions(self, mechanism: str) -> None:
        with pytest.raises(ReleaseError, match=r"must hold directions, got none\. Hint: .+\."):
            _ = dpcov.covariance(ROWS, ZCDP(1), row_norm=1, seed=1204, mechanism=mechanism).directions

    def test_a_law_of_directions_adds_nothing(self) -> None:
        law = example().answers[0].noise
        assert not law.is_at_least(example().answers[1].noise)
        assert law.is_at_least(law)
        assert law.settle(np.arange(3)).tolist() == [0, 1, 2]
        with pytest.raises(ParameterError, match="concentrations must be positive"):
            Bingham((("1", Fraction(0)),))
        for call in (law.spread, lambda: law.draw([3], SeededBits(0))):
            with pytest.raises(NotImplementedError):
                call()
