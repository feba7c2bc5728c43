"""``dpcov.compare``: the truth is exact, errors are those of `dpcov.covariance` with the same seeds."""

from __future__ import annotations

import csv
import dataclasses
import math
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from pyarrow import csv as pa_csv

import dpcov
from dpcov.errors import EngineError, ParameterError, SchemaError
from dpcov.evaluate import Cell, Comparison
from dpcov.kernel.budget import Budget
from dpcov.kernel.face import Face
from dpcov.kernel.questions.measure import Summable
from dpcov.kernel.questions.moments import Count, SecondMoment
from dpcov.kernel.rows.grid import Grid
from dpcov.mechanisms.covariance.gaussian import GAUSSIAN
from dpcov.report.comparisons import _apart, figure
from dpcov.report.pictures import saved
from dpcov.sources.array import ArraySource
from dpcov.sources.kept import SUMS, KeptSource
from dpcov.sources.opening import open_source

Floats = NDArray[np.float64]
PURE, RHO = dpcov.PureDP(1), dpcov.ZCDP(1)
ROUNDING = 3 * 2.0**-17  # of a product of two coordinates, each rounded by at most 2⁻¹⁷; centred ones by a little more
PNG = b"\x89PNG\r\n\x1a\n"


def rows(n: int = 400) -> Floats:
    """Correlated rows about a mean; none is longer than 3."""
    draw = np.random.default_rng(91).uniform(-1, 1, (n, 3))
    return np.asarray(draw @ np.array([[1, 0.5, 0], [0, 0.7, -0.4], [0, 0, 0.3]]) + np.array([0.3, -0.2, 0.1]))


def zero_of(data: Any, **settings: Any) -> float:
    """Return the error of the zero matrix: the norm of the truth."""
    return dpcov.compare(data, RHO, "gaussian", runs=2, **settings).zero


def by_hand(release: dpcov.Release, truth: Floats, scales: Floats) -> float:
    return float(np.linalg.norm((release.covariance - truth) / np.outer(scales, scales)))


class TestTruth:
    @pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
    @pytest.mark.parametrize("center", [False, True])
    def test_of_an_array(self, center: bool, neighbors: str) -> None:
        data = rows()
        exact = np.cov(data.T, ddof=0) if center else data.T @ data / len(data)
        zero = zero_of(data, row_norm=3, center=center, neighbors=neighbors)
        assert abs(zero - np.linalg.norm(exact) / 9) < 3 * ROUNDING

    def test_rows_are_clipped_and_gaps_are_zeros(self) -> None:
        data = np.array([[30.0, 40.0], [0.3, np.nan], [np.inf, -0.6]])
        clipped = np.array([[0.6, 0.8], [0.3, 0.0], [0.0, -0.6]])
        assert abs(zero_of(data, row_norm=1) - np.linalg.norm(clipped.T @ clipped / 3)) < 2 * ROUNDING

    @pytest.mark.parametrize("center", [False, True])
    def test_of_a_file_with_a_schema(self, center: bool, tmp_path: Path) -> None:
        draw = np.random.default_rng(92)
        age, job = draw.integers(20, 120, 300), draw.choice(["clerk", "nurse", "other"], 300)
        pa_csv.write_csv(pa.table({"job": job, "age": age}), tmp_path / "people.csv")
        schema = dpcov.Schema({"age": dpcov.Numeric(0, 100, weight=2), "job": dpcov.Categorical(["clerk", "nurse"])})
        plain = np.column_stack([np.minimum(age, 100), job == "clerk", job == "nurse"]).astype(float)
        exact = np.cov(plain.T, ddof=0) if center else plain.T @ plain / 300
        scales = schema.scales(center)
        zero = zero_of(tmp_path / "people.csv", schema=schema, center=center)
        assert abs(zero - np.linalg.norm(exact / np.outer(scales, scales))) < 3 * ROUNDING

    def test_of_some_columns(self, tmp_path: Path) -> None:
        data = rows()
        pa_csv.write_csv(pa.table({f"x{j}": data[:, j] for j in range(3)}), tmp_path / "rows.csv")
        chosen = data[:, [2, 0]]
        expected = np.linalg.norm(chosen.T @ chosen / len(data)) / 9
        for source in (data, tmp_path / "rows.csv"):
            assert abs(zero_of(source, row_norm=3, columns=["x2", "x0"]) - expected) < 2 * ROUNDING


class TestErrors:
    @pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
    @pytest.mark.parametrize("center", [False, True])
    def test_they_are_those_of_covariance(self, center: bool, neighbors: str) -> None:
        data, scales = rows(), np.full(3, 3.0)
        settings: dict[str, Any] = {"row_norm": 3, "center": center, "neighbors": neighbors}
        found = dpcov.compare(
            data, [PURE, RHO], ["auto", "separate:constants=paper", "eigenvectors"], runs=3, seed=5, **settings
        )
        truth = np.cov(data.T, ddof=0) if center else data.T @ data / len(data)
        assert (found.n, found.d, found.runs) == (400, 3, 3)
        assert [(cell.mechanism, cell.budget) for cell in found.cells] == [
            (name, budget) for name in ("auto", "separate:constants=paper", "eigenvectors") for budget in (PURE, RHO)
        ]
        for cell in found.cells:
            name, _, option = cell.mechanism.partition(":")
            options: dict[str, Any] = {"constants": "paper"} if option else {}
            releases = [
                dpcov.covariance(data, cell.budget, mechanism=name, seed=seed, **settings, **options) for seed in (5, 6, 7)
            ]
            errors = [by_hand(release, truth, scales) for release in releases]
            assert cell.ran == releases[0].mechanism
            assert cell.error == pytest.approx(np.mean(errors), abs=5 * ROUNDING)
            assert cell.standard_error == pytest.approx(np.std(errors, ddof=1) / math.sqrt(3), abs=5 * ROUNDING)

    def test_with_a_schema_they_are_in_encoded_units(self) -> None:
        schema = dpcov.Schema({"a": dpcov.Numeric(-2, 2), "b": dpcov.Numeric(0, 1000, weight=0.5)})
        data = pa.table({"a": rows()[:, 0], "b": 500 + 100 * rows()[:, 1]})
        cell = dpcov.compare(data, RHO, "gaussian", schema=schema, runs=2).best(RHO)
        plain = np.column_stack([np.asarray(data["a"]), np.asarray(data["b"])])
        settings: dict[str, Any] = {"mechanism": "gaussian", "schema": schema, "center": False}
        releases = [dpcov.covariance(data, RHO, seed=seed, **settings) for seed in (0, 1)]
        errors = [by_hand(release, plain.T @ plain / 400, schema.scales(False)) for release in releases]
        assert cell.error == pytest.approx(np.mean(errors), abs=5 * ROUNDING)

    def test_all_mechanisms_by_default_and_empty_cells_where_one_does_not_serve(self) -> None:
        budgets: list[Budget] = [PURE, RHO, dpcov.PureDP("1e-300")]
        found = dpcov.compare(rows(), budgets, row_norm=3, runs=2)
        of_arrays = [name for name, named in dpcov.MECHANISMS["covariance"].items() if named.bound != "schema"]
        assert list(dict.fromkeys(cell.mechanism for cell in found.cells)) == of_arrays
        cells = {(cell.mechanism, cell.budget): cell for cell in found.cells}
        assert cells["gaussian", PURE] == Cell("gaussian", PURE)
        assert cells["laplace", RHO] == Cell("laplace", RHO)
        assert cells["laplace", RHO].text == "-"
        assert all(cells["auto", budget].error is not None for budget in budgets[:2])
        assert all(cells[name, budgets[2]].error is None for name in of_arrays)
        with pytest.raises(ParameterError, match="budget must be one that was compared and that a mechanism takes"):
            found.best(budgets[2])
        with pytest.raises(ParameterError, match="got 7"):
            found.best(7)  # type: ignore[arg-type]

    def test_a_mechanism_that_refuses_centred_rows_has_empty_cells(self) -> None:
        found = dpcov.compare(rows(), RHO, ["rescaled", "gaussian"], row_norm=3, runs=2, center=True)
        assert [cell.error is None for cell in found.cells] == [True, False]

    def test_a_mechanism_that_refuses_only_these_rows_has_an_empty_cell(self) -> None:
        def ask(curator: Face, budget: Budget, *, clip: str | float = "none", constants: str = "tight") -> None:
            if curator.n > 2:
                raise ParameterError("budget must be larger for so many rows, got less. Hint: spend more.")
            GAUSSIAN.ask(curator, budget, clip=clip, constants=constants)

        late = dataclasses.replace(GAUSSIAN, name="late", ask=ask)
        assert dpcov.compare(rows(2), RHO, late, row_norm=3, runs=2).cells[0].error is not None
        assert dpcov.compare(rows(), RHO, late, row_norm=3, runs=2).cells == (Cell("late", RHO),)

    def test_rows_are_read_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        reads, total = [], ArraySource.total

        def counted(self: ArraySource, statistic: Any) -> Any:
            reads.append(len(self._array))
            return total(self, statistic)

        monkeypatch.setattr(ArraySource, "total", counted)
        dpcov.compare(rows(), [PURE, RHO], row_norm=3, runs=3)
        assert reads.count(400) == 1

    def test_a_stream_that_can_be_read_once_is_enough(self) -> None:
        data = rows()
        table = pa.table({f"x{j}": data[:, j] for j in range(3)})
        stream = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=70))
        once = dpcov.compare(stream, PURE, row_norm=3, runs=2)
        assert once.cells == dpcov.compare(data, PURE, row_norm=3, runs=2).cells

    def test_progress_tells_of_reading_and_then_of_runs(self) -> None:
        told: list[float | None] = []
        dpcov.compare(rows(), [PURE, RHO], ["gaussian", "wishart"], row_norm=3, runs=3, progress=told.append)
        assert told[0] is None
        fractions = [fraction for fraction in told if fraction is not None]
        assert fractions == [0, *(k / 6 for k in range(1, 7))]


def test_kept_rows_are_the_source_s() -> None:
    table = pa.table({f"x{j}": rows()[:, j] for j in range(3)})
    source, kept = open_source(table), KeptSource(open_source(table))
    assert (kept.n, kept.known_n, kept.d, kept.feature_names) == (400, 400, 3, ("x0", "x1", "x2"))
    statistics: list[Summable] = [Count(), *(SecondMoment(Grid(1 + k / 10), 3) for k in range(2 * SUMS))]
    for statistic in [*statistics, *reversed(statistics)]:
        total = kept.total(statistic)
        assert np.array_equal(total, source.total(statistic))
        total[:] = 0  # the next answer does not know of it


BAD: list[tuple[str, dict[str, Any]]] = [
    ("budgets", {"budgets": []}),
    ("budget", {"budgets": 1}),
    ("budget", {"budgets": [PURE, 1]}),
    ("budget", {"budgets": "PureDP(1)"}),
    ("mechanisms", {"mechanisms": []}),
    ("mechanisms", {"mechanisms": 3}),
    ("mechanisms", {"mechanisms": [3]}),
    ("mechanisms", {"mechanisms": ["gaussian", ("gaussian", 3)]}),
    ("mechanisms", {"mechanisms": ["gaussian", "gaussian"]}),
    ("mechanisms", {"mechanisms": ["gaussian:clip=1", ("gaussian", {"clip": 1})]}),
    ("mechanisms", {"mechanisms": [GAUSSIAN, "gaussian"]}),
    ("options of 'gaussian'", {"mechanisms": [("gaussian", {"magic": 1})]}),
    ("clip", {"mechanisms": [(GAUSSIAN, {"clip": 9})]}),
    ("mechanism", {"mechanisms": ["gaussian", "magic"]}),
    ("mechanism", {"mechanisms": ""}),
    ("options of 'gaussian'", {"mechanisms": "gaussian:magic=1"}),
    ("option", {"mechanisms": "gaussian:"}),
    ("option", {"mechanisms": "gaussian:constants"}),
    ("option", {"mechanisms": "gaussian:constants=paper,constants=paper"}),
    ("constants", {"mechanisms": ["auto", "gaussian:constants=magic"]}),
    ("clip", {"mechanisms": "separate:clip=9"}),
    ("rank", {"mechanisms": "eigenvectors:rank=4"}),
    ("runs", {"runs": 1}),
    ("runs", {"runs": 2.0}),
    ("runs", {"runs": True}),
    ("seed", {"seed": -1}),
    ("row_norm or schema", {"row_norm": None}),
    ("row_norm", {"row_norm": 0}),
    ("schema", {"row_norm": None, "schema": {"a": 1}}),
    ("neighbors", {"neighbors": "swap"}),
    ("center", {"center": 1}),
    ("columns", {"columns": ["x7"]}),
    ("data", {"data": [[1.0]]}),
]


@pytest.mark.parametrize(("name", "changes"), BAD)
def test_bad_input_is_refused_before_a_row_is_read(name: str, changes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> NoReturn:
        raise AssertionError("a row was read")

    monkeypatch.setattr(KeptSource, "__init__", fail)
    arguments = {"data": rows(), "budgets": [RHO], "row_norm": 1.0} | changes
    with pytest.raises((ParameterError, SchemaError), match=rf"^{name} must .*, got .*\. Hint: .*\.$"):
        dpcov.compare(arguments.pop("data"), arguments.pop("budgets"), **arguments)


def test_no_rows_are_refused() -> None:
    for neighbors in ("replace", "add-remove"):
        with pytest.raises(ParameterError, match="data must have 1 to"):
            dpcov.compare(np.zeros((0, 2)), RHO, row_norm=1, runs=2, neighbors=neighbors)


FOUND = Comparison(
    n=100, d=3, center=False, neighbors="replace", runs=4, zero=0.5,
    cells=(
        Cell("auto", PURE, "wishart", 0.25, 0.025), Cell("auto", RHO, "gaussian", 0.125, 0.00025),
        Cell("separate:constants=paper,clip=1", PURE, "separate", 0.75, 0.0), Cell("separate:constants=paper,clip=1", RHO),
        Cell("gaussian", PURE), Cell("gaussian", RHO, "gaussian", 0.0625, 0.0125),
    ),
)  # fmt: skip


class TestResult:
    def test_best_and_order(self) -> None:
        assert FOUND.best(PURE) == FOUND.cells[0]
        assert FOUND.best(RHO) == FOUND.cells[5]
        assert list(FOUND.ranked()) == ["gaussian", "auto", "separate:constants=paper,clip=1"]
        assert FOUND.cells[0].clearly_below(0.31)
        assert not FOUND.cells[0].clearly_below(0.29)
        assert not FOUND.cells[4].clearly_below(1)
        assert (FOUND.budgets, FOUND.target) == ((PURE, RHO), "second moment")

    def test_it_prints_as_a_table_with_a_caution(self) -> None:
        lines = str(FOUND).splitlines()
        assert lines[1].split() == ["epsilon", "1", "rho", "1"]
        assert lines[2].split() == ["gaussian", "-", "0.0625", "±20%", "*"]
        assert lines[3].split() == ["auto", "0.25", "±10%", "*", "0.125", "±0.2%"]
        assert lines[4].split() == ["separate:constants=paper,clip=1", "0.75", "±0%", "-"]
        assert lines[5].split() == ["zero", "matrix", "0.5", "0.5"]
        assert "NOT private" in lines[6]

    def test_csv(self, tmp_path: Path) -> None:
        FOUND.to_csv(tmp_path / "table.csv")
        with (tmp_path / "table.csv").open(newline="", encoding="utf-8") as file:
            table = list(csv.DictReader(file))
        assert [(line["mechanism"], line["error"]) for line in table] == [
            (cell.mechanism, "" if cell.error is None else str(cell.error)) for cell in FOUND.cells
        ]
        assert (table[0]["notion"], table[0]["epsilon"], table[0]["delta"], table[0]["rho"]) == ("pure", "1", "", "")
        assert {line["zero"] for line in table} == {"0.5"}
        with pytest.raises(EngineError, match="path must be a file that can be written"):
            FOUND.to_csv(tmp_path / "nowhere" / "table.csv")

    @pytest.mark.parametrize(("ending", "start"), [("png", PNG), ("svg", b"<?xml"), ("PDF", b"%PDF")])
    def test_pictures(self, ending: str, start: bytes, tmp_path: Path) -> None:
        FOUND.plot(tmp_path / f"compare.{ending}")
        assert (tmp_path / f"compare.{ending}").read_bytes().startswith(start)

    def test_another_ending_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(ParameterError, match=r"picture must be a name that ends in \.png"):
            FOUND.plot(tmp_path / "compare.txt")
        assert not list(tmp_path.iterdir())

    def test_pictures_of_nothing_and_of_zeros(self) -> None:
        empty = Comparison(9, 2, True, "add-remove", 2, 0.0, (Cell("gaussian", PURE), Cell("auto", PURE, "wishart", 0.0, 0.0)))
        assert saved(figure(empty), "png").startswith(PNG)

    def test_many_budgets_and_deltas(self) -> None:
        budgets = [dpcov.ApproxDP(k, delta) for delta in ("1e-6", "1e-9") for k in range(1, 11)]
        cells = tuple(Cell(f"m{k}", b, "m", 1 / float(b.epsilon) + k, 9.0) for k in range(24) for b in budgets)
        assert saved(figure(Comparison(9, 2, True, "replace", 2, 1.0, cells)), "png").startswith(PNG)

    def test_labels_are_moved_apart_in_order(self) -> None:
        moved = _apart({"a": 0.5, "b": 0.5, "c": 0.49, "top": 1.0, "next": 0.999})
        assert sorted(moved, key=moved.__getitem__)[0] == "c"
        places = np.sort(list(moved.values()))
        assert np.diff(places).min() > 0.05
        assert places[0] >= 0
        assert places[-1] <= 1


def test_the_function_stays_a_function() -> None:
    """A module of the same name would take its place once it is imported."""
    import dpcov.evaluate.comparing

    assert callable(dpcov.compare)
    assert dpcov.Comparison is dpcov.evaluate.Comparison
