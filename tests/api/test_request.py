"""One order of refusals, whoever asks: the same fault has the same message everywhere, before a row is read."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pytest

import dpcov
from dpcov.errors import DpcovError, did_you_mean

HALF = dpcov.ZCDP("0.5")
SCHEMA = dpcov.Schema({"a": dpcov.Numeric(0, 1), "b": dpcov.Numeric(0, 1), "c": dpcov.Numeric(0, 1)})
TABLE = pa.table({name: np.zeros(9) for name in "abc"})


class Unread:
    """A table whose names and types can be had, and whose rows fail the test."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        reader = pa.RecordBatchReader.from_batches(TABLE.schema, self._rows())
        return reader.__arrow_c_stream__(requested_schema)

    @staticmethod
    def _rows() -> Any:
        def rows() -> NoReturn:
            raise AssertionError("the rows were read")

        yield rows()


def covariance(**said: Any) -> None:
    dpcov.covariance(Unread(), said.pop("budget", HALF), **said)


def mean(**said: Any) -> None:
    dpcov.mean(Unread(), said.pop("budget", HALF), **_radius(said))


def pca(**said: Any) -> None:
    dpcov.pca(Unread(), said.pop("budget", HALF), 1, **said)


def ridge(**said: Any) -> None:
    dpcov.ridge(Unread(), said.pop("budget", HALF), "a", alpha=1, **said)


def rehearsed(target: str, /, **own: Any) -> Callable[..., None]:
    def rehearse(**said: Any) -> None:
        given = _radius(said) if target == "mean" else said
        dpcov.rehearse(target, Unread(), given.pop("budget", HALF), **own, **given)

    return rehearse


def compared(**said: Any) -> None:
    given = {"mechanisms": said.pop("mechanism", "auto"), **said}
    dpcov.compare(Unread(), given.pop("budget", HALF), **given)


def planned(**said: Any) -> None:
    given = {name: value for name, value in said.items() if name != "row_norm"}
    size: dict[str, Any] = {} if "schema" in said else {"d": 3}
    dpcov.plan("covariance", given.pop("budget", HALF), n=9, **size, **{"mechanism": "auto", **given})


def fitted(estimator: Any, **own: Any) -> Callable[..., None]:
    def fit(**said: Any) -> None:
        given = _radius(said) if estimator is dpcov.PrivateMean else dict(said)
        given.pop("budget", None)
        known = estimator().get_params()
        options = {name: given.pop(name) for name in list(given) if name not in known and name != "seed"}
        renamed = {"random_state" if name == "seed" else name: value for name, value in given.items()}
        estimator(rho="0.5", **own, **renamed, options=options or None).fit(Unread())

    return fit


def _radius(said: dict[str, Any]) -> dict[str, Any]:
    """A mean has a radius for a row_norm."""
    return {("radius" if name == "row_norm" else name): value for name, value in said.items()}


ENTRIES: dict[str, Callable[..., None]] = {
    "covariance": covariance,
    "mean": mean,
    "pca": pca,
    "ridge": ridge,
    "rehearse covariance": rehearsed("covariance"),
    "rehearse mean": rehearsed("mean"),
    "rehearse pca": rehearsed("pca", k=1),
    "rehearse ridge": rehearsed("ridge", target="a", alpha=1),
    "compare": compared,
    "plan": planned,
    "PrivateCovariance": fitted(dpcov.PrivateCovariance),
    "PrivateMean": fitted(dpcov.PrivateMean),
    "PrivatePCA": fitted(dpcov.PrivatePCA, n_components=1),
}
BOUND: dict[str, Any] = {"row_norm": 1}
FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "budget": ({"budget": 1.0}, "budget must be a PureDP, ZCDP or ApproxDP, got 1.0"),
    "mechanism": ({"mechanism": "gausian"}, "mechanism must be one of "),
    "option": ({"rankk": 3}, "options of '"),
    "no bound": ({"row_norm": None}, "(row_norm|radius) or schema must be given, got neither"),
    "both bounds": ({"schema": SCHEMA}, "(row_norm|radius) or schema must be given, got both"),
    "bound": ({"row_norm": -1}, "(row_norm|radius) must be "),
    "schema": ({"row_norm": None, "schema": "adult.toml"}, "schema must be a Schema, got 'adult.toml'"),
    "neighbors": ({"neighbors": "swap"}, "neighbors must be "),
    "center": ({"center": "yes"}, "center must be True or False, got 'yes'"),
    "postprocess": ({"postprocess": "shrunk"}, "postprocess must be one of "),
    "seed": ({"seed": -1}, "(seed|random_state) must be "),
    "columns": ({"columns": []}, "columns must be a list of names or positions"),
}
NOT_TAKEN = {
    "budget": {"PrivateCovariance", "PrivateMean", "PrivatePCA"},  # they have numbers for it
    "option": {"ridge", "rehearse ridge", "compare"},
    "no bound": {"plan"},
    "both bounds": {"plan"},
    "bound": {"plan"},
    "schema": {"plan"},
    "neighbors": {"ridge", "rehearse ridge"},
    "center": {"mean", "ridge", "rehearse mean", "rehearse ridge", "PrivateMean"},
    "postprocess": {"pca", "ridge", "rehearse pca", "rehearse ridge", "compare", "plan", "PrivatePCA"},
    "seed": {"plan"},
    "columns": {"plan"},
}
"""What some do not have: their signature, or an option that is not known, says so."""


def refused(entry: str, **said: Any) -> str:
    with pytest.raises(DpcovError) as found:
        ENTRIES[entry](**{**BOUND, **said})
    message = str(found.value)
    assert "\n" not in message
    assert " Hint: " in message
    return message


CASES = [(entry, fault) for fault in FAULTS for entry in ENTRIES if entry not in NOT_TAKEN.get(fault, set())]


@pytest.mark.parametrize(("entry", "fault"), CASES)
def test_the_same_fault_is_refused_in_the_same_words(entry: str, fault: str) -> None:
    said, words = FAULTS[fault]
    assert re.match(words, refused(entry, **said))


ORDER = ["budget", "mechanism", "option", "neighbors", "center", "no bound", "postprocess", "seed", "columns"]


IN_ORDER = ["covariance", "mean", "pca", "rehearse covariance", "rehearse mean", "rehearse pca", "compare", "plan"]


@pytest.mark.parametrize("entry", IN_ORDER)
def test_of_several_faults_the_first_in_one_order_is_told(entry: str) -> None:
    taken = [fault for fault in ORDER if entry not in NOT_TAKEN.get(fault, set())]
    for first in range(len(taken)):
        together: dict[str, Any] = {}
        for fault in taken[first:]:
            together |= FAULTS[fault][0]
        assert refused(entry, **together) == refused(entry, **(FAULTS[taken[first]][0] | _option(taken[first:], together)))


def _option(faults: list[str], together: dict[str, Any]) -> dict[str, Any]:
    """An unknown mechanism is told before its options."""
    return {"rankk": together["rankk"]} if faults[0] == "mechanism" and "option" in faults else {}


def test_a_place_of_the_mean_is_refused_with_a_schema_before_data_are_opened() -> None:
    for entry in ("mean", "rehearse mean"):
        message = refused(entry, row_norm=None, schema=SCHEMA, origin=3.0, columns=[])
        assert message.startswith("origin must be left out with a schema, got one.")


class TestDidYouMean:
    def test_names_that_are_nearly_right(self) -> None:
        assert did_you_mean("gausian", ["laplace", "gaussian"]) == "did you mean 'gaussian'? "
        assert did_you_mean("xyz", ["laplace", "gaussian"]) == ""
        assert did_you_mean(3, ["laplace"]) == ""

    def test_mechanisms(self) -> None:
        assert "Hint: did you mean 'gaussian'? `dpcov mechanisms` lists them." in refused("covariance", mechanism="gausian")

    def test_options(self) -> None:
        assert "Hint: did you mean 'rank'? " in refused("covariance", mechanism="eigenvectors", rankk=3)

    def test_choices(self) -> None:
        assert "Hint: did you mean 'shrink'? " in refused("covariance", postprocess="shrunk")

    def test_columns_of_a_schema(self) -> None:
        schema = dpcov.Schema({"income": dpcov.Numeric(0, 1), "age": dpcov.Numeric(0, 1)})
        with pytest.raises(dpcov.SchemaError, match=r"Hint: did you mean 'income'\? Describe it there\.$"):
            schema.select(["incme"])

    def test_names_of_a_file_are_never_told(self, tmp_path: Any) -> None:
        """Without a header its first line is a person's row."""
        path = tmp_path / "rows.csv"
        path.write_text("secret1,7\n1,2\n", encoding="utf-8")
        with pytest.raises(DpcovError) as found:
            dpcov.covariance(path, HALF, row_norm=1, columns=["secret"])
        assert "secret1" not in str(found.value)


@pytest.mark.parametrize(
    ("name", "option"), [("pca", "by"), ("pca", "postprocess"), ("mean", "by"), ("mean", "center"), ("mean", "max_rows")]
)
def test_what_only_a_covariance_takes_is_not_offered_again(name: str, option: str) -> None:
    """It was asked whether one had meant what one had said."""
    bound: dict[str, Any] = {"k": 1, "row_norm": 1} if name == "pca" else {"radius": 1}
    with pytest.raises(dpcov.ParameterError, match=rf"got '{option}'\. Hint: dpcov\.covariance takes it, and its release has"):
        getattr(dpcov, name)(np.zeros((9, 3)), dpcov.ZCDP(1), **bound, **{option: None})
