"""Refusals behind other refusals, each asked for by itself: who gets past the first must not get past the second."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dpcov
from dpcov.errors import ParameterError, ReleaseError
from dpcov.kernel.bits import SeededBits
from dpcov.kernel.budget import copied
from dpcov.kernel.curator import Curator, _no_values
from dpcov.kernel.peel import _forgotten
from dpcov.kernel.questions.basis import EigenvectorsOf, read_basis
from dpcov.kernel.questions.bins import Bins
from dpcov.kernel.questions.choices import Quantile
from dpcov.kernel.questions.directions import Directions, Subspace
from dpcov.kernel.questions.filing import Reading, read_frame
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.questions.norms import Norms
from dpcov.kernel.questions.spectral import Values
from dpcov.kernel.questions.table import ColumnMoments
from dpcov.kernel.rows.encoding import Encoding
from dpcov.kernel.rows.grid import Grid
from dpcov.kernel.sums import ExactSums
from dpcov.schema import Categorical, Numeric, Schema
from dpcov.sources.array import ArraySource
from dpcov.strict_json import Fields
from dpcov.verify.testing import opened

D = 3
ENCODING = Encoding(("x0", "x1", "x2"), 1.0)
SCHEMA = Schema({"a": Numeric(0, 1), "b": Categorical(["x", "y"])})
TABLE = Encoding(SCHEMA.feature_names, 1.0, midpoints=True, constant=True, schema=SCHEMA)


def source() -> ArraySource:
    return ArraySource(np.random.default_rng(4).normal(size=(40, D)) * 0.3)


def curator() -> Curator:
    return opened(source(), Grid(1.0), dpcov.PureDP(8), bits=SeededBits(0))


class TestCurator:
    def test_a_chain_of_one_direction(self) -> None:
        made = curator()
        with pytest.raises(
            ParameterError, match=r"count must be 2 or more for a Markov chain, got 1\. Hint: peel\(\) draws one"
        ):
            made.subspace(Subspace(made.public.second_moment(), 1), dpcov.PureDP(1), sweeps=5)
        assert made.answers == ()

    @pytest.mark.parametrize("budget", [1, None, "ZCDP(1)", dpcov.PureDP], ids=repr)
    def test_what_is_no_budget(self, budget: Any) -> None:
        made = curator()
        for refused in (lambda: copied(budget), lambda: made.noisy(made.public.second_moment(), budget, noise="laplace")):
            with pytest.raises(ParameterError, match=r"budget must be a PureDP, ZCDP or ApproxDP, got .*\. Hint: "):
                refused()
        assert made.answers == ()

    @pytest.mark.parametrize("fixed", [1, None, np.True_], ids=repr)
    def test_a_draw_that_is_nearly_fixed(self, fixed: Any) -> None:
        made = curator()
        question = Directions(made.public.second_moment(), 1)
        with pytest.raises(ParameterError, match=r"fixed must be True or False, got .*\. Hint: False is faster\."):
            made.peel(question, dpcov.PureDP(1), noise="laplace", fixed=fixed)

    def test_values_that_nobody_paid_for(self) -> None:
        with pytest.raises(ParameterError, match=r"values must be paid for in advance, got no budget for them\. Hint: "):
            _no_values(0, 12345)

    def test_a_peel_whose_release_is_made(self) -> None:
        with pytest.raises(
            ParameterError, match=r"peel must still be open, got a closed one\. Hint: draw directions before the release"
        ):
            _forgotten(np.eye(2), 1.0, np.ones(2))

    def test_values_of_directions_are_not_read_from_a_sum(self) -> None:
        """They are answered one by one, along directions that are not known before."""
        with pytest.raises(NotImplementedError):
            Values(curator().public.second_moment(), 1).of_moment(np.zeros(6, dtype=np.int64))

    @pytest.mark.parametrize("first", [-1, D + 1, 1.0, True, None], ids=repr)
    def test_eigenvectors_that_there_are_not(self, first: Any) -> None:
        made = curator()
        answer = made.noisy(made.public.second_moment(), dpcov.PureDP(1), noise="laplace")
        assert EigenvectorsOf(answer, D).columns.shape == (D, D)
        with pytest.raises(ParameterError, match=r"first must be an integer from 0 to 3, got .+\. Hint: 0 takes all"):
            EigenvectorsOf(answer, first)


class TestSums:
    def test_an_encoding_of_other_columns(self) -> None:
        for names in (("x0", "x1"), ("x0", "x2", "x1"), ("x0", "x1", "x2", "x3")):
            with pytest.raises(
                ParameterError, match=r"encoding must have the columns of the source, got other columns\. Hint: "
            ):
                ExactSums(source(), Encoding(names, 1.0), "replace")
        assert ExactSums(source(), ENCODING, "replace").n == 40

    def test_a_sum_without_a_proof(self) -> None:
        """The curator refuses it first; these are sums of a question that it never saw."""

        class Own(SecondMoment):
            pass

        sums = ExactSums(source(), ENCODING, "replace")
        assert sums.read(SecondMoment(ENCODING.grid, D)).shape == (6,)
        for read in (sums.read, sums.prefetch):
            with pytest.raises(
                ParameterError, match=r"question must be a sum over rows with a proof, got something else\. Hint: "
            ):
                read(Own(ENCODING.grid, D))


class TestFiles:
    """Records that a file could hold: refused by the question, or by what it is about."""

    @pytest.mark.parametrize(
        "rows",
        [[[1.0], [0.0]], [[1.0]] * 4, [[1.0], [0.0], [0.0, 1.0]], [[1.0] * 4] * 3],
        ids=["fewer", "more", "ragged", "wide"],
    )
    def test_a_basis_of_other_coordinates(self, rows: list[list[float]]) -> None:
        assert read_basis({"columns": [[1.0], [0.0], [0.0]]}, Reading(ENCODING, ())).count == 1
        with pytest.raises(ReleaseError, match="well formed: a basis has a row for each coordinate"):
            read_basis({"columns": rows}, Reading(ENCODING, ()))

    def test_a_radius_without_weights(self) -> None:
        """Today's usual ones would else stand in for those of the file."""
        record = {"rows": {"radius": 1.0}, "per octave": 1, "octaves": 1, "outside": 2, "every": 1}
        assert Quantile.from_json(Fields({**record, "weights": [1, 2]}, "q"), Reading(ENCODING, ())).prior == (1, 2)
        with pytest.raises(
            ParameterError, match=r"weights must hold one number for each radius, got none\. Hint: the release file stores"
        ):
            Quantile.from_json(Fields({**record, "weights": []}, "q"), Reading(ENCODING, ()))

    def test_norms_of_rows_in_a_box(self) -> None:
        frames = (read_frame({"centre": [0.0] * D, "extent": [1.0] * D, "deviations": 1.0}, ENCODING),)
        record = {"rows": {"frame": 0}, "per octave": 1, "octaves": 1}
        with pytest.raises(
            ParameterError, match=r"norms must be of rows in a grid, a ball or private units, got rows of another shape\. Hint"
        ):
            Norms.from_json(Fields(record, "norms"), Reading(ENCODING, frames))

    def test_bins_of_rows_in_no_box(self) -> None:
        with pytest.raises(ParameterError, match=r"bins must divide a box, got rows of another shape\. Hint: use Box\."):
            Bins.from_json(Fields({"rows": {"radius": 1.0}, "bins": 4}, "bins"), Reading(ENCODING, ()))

    def test_a_number_of_rows_for_values_that_are_not_asked(self) -> None:
        record = {"rows": {"radius": 1.0}, "count": 1, "valued": ""}
        assert Directions.from_json(Fields({**record, "at most": 0}, "d"), Reading(ENCODING, ())).values is None
        with pytest.raises(ReleaseError, match="directions that note a number of rows without need"):
            Directions.from_json(Fields({**record, "at most": 7}, "d"), Reading(ENCODING, ()))

    @pytest.mark.parametrize("ranges", [[[0, 0, 8]], [[0, 0, 8, 1, 1]], [[]]], ids=repr)
    def test_ranges_of_other_numbers(self, ranges: list[list[int]]) -> None:
        reading = Reading(TABLE, ())
        with pytest.raises(
            ParameterError, match=r"ranges must hold column, low, high and weight, got something else\. Hint: four numbers"
        ):
            ColumnMoments.from_json(Fields({"bits": 3, "ranges": ranges}, "moments"), reading)

    @pytest.mark.parametrize(
        ("record", "said"),
        [
            ({"centre": [0.0] * 3, "extent": [1.0] * 2, "deviations": 1.0}, "well formed: an extent fits its centre"),
            ({"centre": [0.0] * 3, "extent": 1.0, "deviations": 0.0}, "well formed: an extent fits its centre"),
            ({"centre": [], "extent": 1.0, "deviations": 1.0}, "well formed: an extent fits its centre"),
            ({"centre": [0.0] * 2, "extent": [[1.0, 0.0], [0.0]], "deviations": 1.0}, "well formed: a matrix is square"),
            ({"centre": [0.0, 1e300], "extent": 1.0, "deviations": 1.0}, "well formed: coordinates are ordinary numbers"),
        ],
    )
    def test_coordinates_that_fit_nothing(self, record: dict[str, Any], said: str) -> None:
        with pytest.raises(ReleaseError, match=said):
            read_frame(record, ENCODING)

    @pytest.mark.parametrize(
        "units", [{"numeric": [[0.0, 1.0, 0.5]], "levels": []}, {"numeric": [], "levels": [[[0, 1], [0.5, 0.5]]]}]
    )
    def test_units_of_other_numbers(self, units: dict[str, Any]) -> None:
        with pytest.raises(ReleaseError, match="well formed: units are four numbers, or three lists"):
            read_frame(units, TABLE)
