"""A stranger's mechanism is one record: it works wherever the library's own do. And one of the library's own is one file more.

The record is that of ``examples/own_mechanism.py``, the file that of ``CONTRIBUTING.md``.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

import dpcov
from dpcov.errors import ParameterError, ReleaseError
from dpcov.evaluate.comparing import Compared
from dpcov.kernel.budget import Budget
from dpcov.kernel.face import Face
from dpcov.kernel.questions.calibrated import noise_for
from dpcov.kernel.questions.columns import Squares
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.rows.centring import mean_and_covariance
from dpcov.kernel.rows.encoding import Encoding
from dpcov.kernel.rows.grid import Grid
from dpcov.mechanisms import ALL
from dpcov.mechanisms.base import Described, Mechanism
from dpcov.mechanisms.running import released
from dpcov.release.estimate import Estimate
from dpcov.release.record import Transcript
from dpcov.report import record, write
from dpcov.report.components import components_table, figure, notes
from dpcov.report.releases import write_made
from dpcov.report.text import console
from dpcov.request import checked_request
from dpcov.sources.array import ArraySource
from dpcov.uses.spectrum import spectrum
from dpcov.verify.audit import audit_covariance
from dpcov.verify.replay import replay
from dpcov.verify.testing import NoSource, opened, scripted
from examples.own_mechanism import COLUMNS_ONLY

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "own_mechanism.py"
PURE, RHO = dpcov.PureDP(1), dpcov.ZCDP(1)
BUDGETS: tuple[Budget, ...] = (PURE, RHO)
DEVIATIONS = np.array([0.4, 0.3, 0.2, 0.1])
ROWS: NDArray[np.float64] = np.random.default_rng(701).uniform(-1, 1, (2000, 4)) * DEVIATIONS


def made(budget: Budget = PURE, **options: Any) -> dpcov.Release:
    return dpcov.covariance(ROWS, budget, row_norm=1, mechanism=COLUMNS_ONLY, seed=702, **options)


def ask_matrix(curator: Face, budget: Budget) -> None:
    """Release the second moment, and nothing else."""
    curator.noisy(curator.second_moment(), budget, noise=noise_for(budget))


def raw_matrix(transcript: Transcript, postprocess: str) -> Estimate:  # noqa: ARG001
    return Estimate(covariance=transcript.take(SecondMoment).matrix / transcript.n, radius=transcript.encoding.row_norm)


MATRIX = Mechanism(
    target="covariance",
    name="matrix",
    serves=(dpcov.PureDP, dpcov.ZCDP),
    neighbors=("replace",),
    ask=ask_matrix,
    estimate=raw_matrix,
)


def lifted_matrix(transcript: Transcript, postprocess: str) -> Estimate:  # noqa: ARG001
    mean, covariance = mean_and_covariance(transcript.take(SecondMoment).matrix / transcript.n)
    return Estimate(mean=mean, covariance=covariance, radius=transcript.encoding.row_norm)


CENTRED = dataclasses.replace(MATRIX, name="centred", estimate=lifted_matrix, centring="homogeneous")


def python(*arguments: str, cwd: Path, path: Path | None = None) -> str:
    """Run Python in a process of its own, with the package of a folder where one is named; a warning is an error."""
    places = [] if path is None else [str(path)]
    places += [place for place in (os.environ.get("PYTHONPATH"), str(ROOT)) if place]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places), "PYTHONIOENCODING": "utf-8", "COLUMNS": "200"}
    done = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_example_runs_and_is_short(tmp_path: Path) -> None:
    assert python(str(EXAMPLE), cwd=tmp_path).startswith("columns-only, postprocess clip [0.2")
    assert not list(tmp_path.iterdir())
    assert len(EXAMPLE.read_text(encoding="utf-8").splitlines()) <= 60


class TestEstimates:
    @pytest.mark.parametrize("budget", BUDGETS, ids=repr)
    def test_the_answer_is_what_was_asked(self, budget: Budget) -> None:
        curator = scripted([[8.0, -2.0, 1.0]], n=10, d=3, budget=budget, row_norm=5.0)
        release = released(COLUMNS_ONLY, curator, budget, floor=0.2)
        assert [(spend.asked, spend.budget) for spend in release.spent] == [("squares", budget)]
        assert release.covariance == pytest.approx(np.diag([0.8, 0.2, 0.2]) * 25)
        assert release.finished("none").covariance == pytest.approx(np.diag([0.8, -0.2, 0.1]) * 25)
        assert (release.mechanism, release.requested, release.postprocess) == ("columns-only", "columns-only", "clip")
        assert dict(release.options) == {"floor": 0.2}
        assert dict(made().options) == {"floor": 0.0}  # the default is written down, too

    def test_it_is_near_the_truth(self) -> None:
        """Laplace noise of scale 2 on each sum of 2000 squares: 0.02 is 20 scales, which happens once in 10⁸."""
        assert np.abs(made().covariance.diagonal() - (ROWS**2).mean(axis=0)).max() < 0.02

    def test_uses(self) -> None:
        release = made()
        assert release.second_moment.tolist() == release.covariance.tolist()
        assert np.abs(release.pca(2).components).tolist() == np.eye(4)[:2].tolist()
        assert release.ridge("x0").coefficients.tolist() == [0, 0, 0]
        found, people = release.describe("rows"), release.describe()
        assert found.deviation is not None
        assert people.deviation is not None
        assert (people.deviation.standard_error[:3] > found.deviation.standard_error[:3]).all()  # the draw of rows, too
        assert found.deviation.values == pytest.approx(np.sqrt(release.covariance.diagonal()))
        assert found.deviation.clear.tolist() == [True, True, True, False]
        assert found.deviation.standard_error == pytest.approx(np.sqrt(2) * 1e-3 / (2 * found.deviation.values), rel=0.1)
        assert release.expected_error == pytest.approx(np.sqrt(8) * 1e-3, rel=1e-3)
        assert release.pca().standing_out == release.pca().k == 3
        assert release.correlation().tolist() == np.eye(4).tolist()
        assert np.asarray(release.sample(5, seed=0)).shape == (5, 4)
        assert "1-DP" in release.statement()

    def test_what_it_does_not_tell_is_refused_with_a_hint(self) -> None:
        release = made()
        for use in (release.interval, lambda: release.confidence, lambda: release.mean):
            with pytest.raises(ReleaseError, match=r"^release must .*, got .*\. Hint: .*\.$"):
                use()

    def test_an_estimator_takes_it(self) -> None:
        from sklearn.base import clone

        estimator = clone(dpcov.PrivateCovariance(epsilon=1, row_norm=1, mechanism=COLUMNS_ONLY, random_state=702))
        assert estimator.mechanism is COLUMNS_ONLY
        assert estimator.fit(ROWS).covariance_.tolist() == made().covariance.tolist()


class TestSilent:
    """A mechanism that does not tell how large its noise is: what needs that says so, and nothing is taken to be 0."""

    @pytest.fixture(params=[False, True], ids=["uncentred", "centred"])
    def release(self, request: pytest.FixtureRequest) -> dpcov.Release:
        center: bool = request.param
        mechanism = CENTRED if center else MATRIX
        return dpcov.covariance(ROWS + 0.05, dpcov.PureDP(50), row_norm=1, mechanism=mechanism, center=center, seed=1)

    def test_a_penalty_must_be_given(self, release: dpcov.Release) -> None:
        for target in ("x0", "x1"):
            with pytest.raises(ReleaseError, match=r"how large its noise is for alpha='auto', got .*\. Hint: .*alpha="):
                release.ridge(target)
        with pytest.raises(ReleaseError, match="alpha='auto'"):
            release.ridge("x0", features=["x1"])
        given = release.ridge("x0", alpha=0.01)
        covariance = release.covariance
        wanted = np.linalg.solve(covariance[1:, 1:] + 0.01 * np.eye(3), covariance[1:, 0])
        assert given.coefficients == pytest.approx(wanted)
        assert np.isnan(given.explained)

    def test_so_must_a_number_of_components(self, release: dpcov.Release) -> None:
        with pytest.raises(
            ReleaseError, match=r"how large its noise is for counting the components that stand out .*\. Hint: give k\."
        ):
            release.pca()
        found = release.pca(2)
        assert found.k == 2
        assert found.standing_out is None
        assert release.pca(0.9).k >= 1

    def test_standard_errors_are_not_known(self, release: dpcov.Release) -> None:
        found = release.describe()
        for reading in (found.deviation, found.correlation):
            assert reading is not None
            assert not reading.known
            errors = reading.standard_error
            assert np.isnan(errors if errors.ndim == 1 else errors[~np.eye(4, dtype=bool)]).all()
        assert np.isnan(spectrum(release, found).edge)

    def test_the_command_line_says_so(self, release: dpcov.Release, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        write(console(), release, everything=True)
        write_made(console(), release, "own.json")
        write(console(), release.ridge("x0", alpha=0.01).reading(), asked=0.01)
        release.plot(tmp_path / "r.png")
        said = " ".join(capsys.readouterr().out.split())
        assert ("Means, Deviations, Correlations: " if release.center else "Root mean squares, Cosines: ") in said
        assert said.count("the size of the noise is not known") == 4
        assert "Expected error: not known" in said
        assert "More rows" not in said
        assert "≈ noise" not in said
        assert "nan" not in said.lower()
        json.loads(json.dumps(record(release), allow_nan=False))

    def test_components_are_listed_all_the_same(self, capsys: pytest.CaptureFixture[str]) -> None:
        release = dpcov.covariance(ROWS, dpcov.PureDP(50), row_norm=1, mechanism=MATRIX, seed=1)
        found = release.pca(2)
        console().print(components_table(found))
        assert "≈ noise" not in capsys.readouterr().out
        assert any("is not known" in line for line in notes(found))
        assert not any("Nothing stands out" in line for line in notes(found))
        assert figure(found)
        assert record(found)["standing_out"] is None


BAD: list[tuple[str, dict[str, Any]]] = [
    ("floor must be between 0 and 1, got 'x'", {"floor": "x"}),
    ("floor must be between 0 and 1, got 2", {"floor": 2}),
    ("options of 'columns-only' must be among ['floor'], got 'ceiling'", {"ceiling": 1}),
    ("postprocess must be one of 'clip', 'none', got 'shrink'", {"postprocess": "shrink"}),
    ("neighbors must be 'replace' for mechanism 'columns-only', got 'add-remove'", {"neighbors": "add-remove"}),
    ("center must be False for mechanism 'columns-only', got True", {"center": True}),
    ("budget of mechanism 'columns-only' must be PureDP or ZCDP, got", {"budget": dpcov.ApproxDP(1, "1e-6")}),
    ("name of a mechanism must be new, got 'gaussian'", {"mechanism": dataclasses.replace(COLUMNS_ONLY, name="gaussian")}),
    ("mechanism must be for a covariance, got one for a pca", {"mechanism": dataclasses.replace(COLUMNS_ONLY, target="pca")}),
]


class TestRefusals:
    @pytest.mark.parametrize(("reason", "changes"), BAD, ids=[reason for reason, _ in BAD])
    def test_before_anything_is_read(self, reason: str, changes: dict[str, Any]) -> None:
        def batches() -> Any:
            raise AssertionError("a row was read")
            yield

        stream = pa.RecordBatchReader.from_batches(pa.schema([("x0", pa.float64())]), batches())
        settings: dict[str, Any] = {"budget": PURE, "row_norm": 1, "mechanism": COLUMNS_ONLY} | changes
        with pytest.raises(ParameterError) as refused:
            dpcov.covariance(stream, **settings)
        assert str(refused.value).startswith(reason)
        assert "Hint: " in str(refused.value)

    def test_by_the_runner_as_well(self) -> None:
        for options in ({"floor": "x"}, {"ceiling": 1}):
            with pytest.raises(ParameterError, match="must be"):
                released(COLUMNS_ONLY, opened(NoSource(10, 3), Grid(1.0), PURE), PURE, **options)

    def test_the_name_of_a_built_in_everywhere(self, tmp_path: Path) -> None:
        thief = dataclasses.replace(COLUMNS_ONLY, name="gaussian")
        made().save(tmp_path / "r.json")
        for use in (
            lambda: dpcov.load(tmp_path / "r.json", mechanisms=[thief]),
            lambda: dpcov.compare(ROWS, PURE, [thief], row_norm=1),
            lambda: released(thief, opened(ArraySource(ROWS), Grid(1.0), PURE), PURE),
        ):
            with pytest.raises(ParameterError, match="name of a mechanism must be new"):
                use()


def ask_bounded(curator: Face, budget: Budget, *, cap: Any = None, floor: Any = None, home: Any = 0.0) -> None:  # noqa: ARG001
    """Release the second moment, and nothing else."""
    ask_matrix(curator, budget)


def ignore_bounds(transcript: Transcript, postprocess: str, **_options: Any) -> Estimate:
    return raw_matrix(transcript, postprocess)


class TestUnits:
    """Generic code knows what options mean by the facts of the record, whatever they are called."""

    BOUNDED = dataclasses.replace(
        MATRIX, ask=ask_bounded, estimate=ignore_bounds, bound="covariance", covariances=("cap", "floor"), places=("home",)
    )
    SCHEMA = dpcov.Schema({"a": dpcov.Numeric(0, 10), "b": dpcov.Numeric(0, 20)})

    def test_a_bound_of_the_covariance_stands_for_a_norm(self) -> None:
        release = dpcov.covariance(ROWS, RHO, mechanism=self.BOUNDED, cap=4.0, seed=1)
        assert release.row_norm == 1
        with pytest.raises(ParameterError, match="row_norm or schema must be given"):
            dpcov.covariance(ROWS, RHO, mechanism=self.BOUNDED)

    def test_covariances_are_encoded_as_rows_are(self) -> None:
        table, bounded = pa.table({"a": [1.0, 2.0], "b": [3.0, 4.0]}), self.BOUNDED
        release = dpcov.covariance(table, RHO, mechanism=bounded, schema=self.SCHEMA, cap=[400.0, 800.0], seed=1)
        scales = self.SCHEMA.scales(False)
        assert release.options["cap"] == [[400 / scales[0] ** 2, 0], [0, 800 / scales[1] ** 2]]
        assert release.options["floor"] == [[1 / scales[0] ** 2, 0], [0, 1 / scales[1] ** 2]]
        release = dpcov.covariance(table, RHO, mechanism=bounded, schema=self.SCHEMA, seed=1)
        assert release.options == {"cap": None, "floor": None, "home": 0.0}

    def test_places_are_left_out_with_a_schema(self) -> None:
        table = pa.table({"a": [1.0, 2.0], "b": [3.0, 4.0]})
        with pytest.raises(ParameterError, match="home must be left out with a schema"):
            dpcov.covariance(table, RHO, mechanism=self.BOUNDED, schema=self.SCHEMA, home=1.0)


class TestFiles:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        made(floor=0.01).save(tmp_path / "r.json")
        return tmp_path / "r.json"

    def test_a_file_comes_back(self, path: Path) -> None:
        release, again = made(floor=0.01), dpcov.load(path, mechanisms=[COLUMNS_ONLY])
        assert again.covariance.tobytes() == release.covariance.tobytes()
        assert again.record is COLUMNS_ONLY
        again.save(path.with_name("again.json"))
        assert path.with_name("again.json").read_bytes() == path.read_bytes()

    def test_without_the_record_all_but_estimates_is_there(self, path: Path) -> None:
        again = dpcov.load(path)
        assert again.statement() == made(floor=0.01).statement()
        assert again.spent == made(floor=0.01).spent
        assert again.take(Squares).integers.tolist() == made(floor=0.01).take(Squares).integers.tolist()
        assert "columns-only" in repr(again)
        for use in (lambda: again.covariance, lambda: again.pca(1), again.describe, again.interval, again.retrace):
            with pytest.raises(ReleaseError, match=r"got 'columns-only'\. Hint: dpcov\.load\(path, mechanisms=\[\.\.\.\]\)"):
                use()

    def test_a_record_of_another_target_or_name_is_not_it(self, path: Path) -> None:
        for other in (dataclasses.replace(COLUMNS_ONLY, target="pca"), dataclasses.replace(COLUMNS_ONLY, name="columns")):
            with pytest.raises(ReleaseError, match="come from a mechanism that is known here"):
                _ = dpcov.load(path, mechanisms=[other]).covariance

    @pytest.mark.parametrize(
        "options", [{"floor": "x"}, {"floor": None}, {"floor": [0.1]}, {"floor": 2}, {"ceiling": 1}], ids=str
    )
    def test_options_of_a_file_are_checked_again(self, options: dict[str, Any], path: Path) -> None:
        """The answers are as private as before, so the file is read; what it says of the mechanism is not believed."""
        dataclasses.replace(made(), options=options).save(path)
        again = dpcov.load(path, mechanisms=[COLUMNS_ONLY])
        assert again.spent == made().spent
        with pytest.raises(ReleaseError, match="release must have "):
            _ = again.covariance
        assert not again.retrace().agrees

    def test_other_answers_end_in_a_refusal(self, path: Path) -> None:
        release = dpcov.covariance(ROWS, PURE, row_norm=1, mechanism=MATRIX, seed=0)
        dataclasses.replace(release, mechanism="columns-only", postprocess="clip", options={"floor": 0.0}).save(path)
        with pytest.raises(ReleaseError, match="release must hold an answer about squares, got none"):
            _ = dpcov.load(path, mechanisms=[COLUMNS_ONLY]).covariance

    def test_retrace_agrees_and_sees_another_budget(self, path: Path) -> None:
        again = dpcov.load(path, mechanisms=[COLUMNS_ONLY])
        assert again.retrace().agrees
        assert made().retrace().agrees
        verdict = dataclasses.replace(again, privacy=dpcov.PureDP(2)).retrace()
        assert not verdict.agrees
        assert "answer 1 ('squares')" in verdict.difference


class TestProcesses:
    def test_a_release_is_pickled_with_a_reference_to_its_record(self) -> None:
        release = made(floor=0.01)
        _ = release.covariance
        for again in (pickle.loads(pickle.dumps(release)), copy.copy(release), copy.deepcopy(release)):
            assert again.record is COLUMNS_ONLY
            assert again.covariance.tobytes() == release.covariance.tobytes()

    def test_another_process_reads_the_pickle(self, tmp_path: Path) -> None:
        (tmp_path / "r.pickle").write_bytes(pickle.dumps(made(floor=0.01)))
        script = "import pathlib, pickle; print(pickle.loads(pathlib.Path('r.pickle').read_bytes()).covariance.tolist())"
        assert json.loads(python("-c", script, cwd=tmp_path)) == made(floor=0.01).covariance.tolist()

    @pytest.mark.parametrize("record", [*ALL, COLUMNS_ONLY], ids=lambda record: f"{record.target}-{record.name}")
    def test_records_are_pickled_by_reference(self, record: Described) -> None:
        assert record.options is not None  # kept by then, in a form that cannot be pickled
        for again in (pickle.loads(pickle.dumps(record)), copy.copy(record), copy.deepcopy(record)):
            assert again is record

    def test_a_record_that_no_module_holds_is_pickled_as_it_is(self) -> None:
        record = dataclasses.replace(COLUMNS_ONLY, name="columns")
        again = pickle.loads(pickle.dumps(record))
        assert (again.name, again.ask, again.options) == ("columns", COLUMNS_ONLY.ask, COLUMNS_ONLY.options)


class TestTools:
    def test_compare(self) -> None:
        budgets: list[Budget] = [PURE, RHO, dpcov.ApproxDP(1, "1e-6")]
        found = dpcov.compare(ROWS, budgets, [COLUMNS_ONLY, "frobenius"], row_norm=1, runs=3, seed=5)
        cells = {(cell.mechanism, cell.budget): cell for cell in found.cells}
        truth = ROWS.T @ ROWS / len(ROWS)
        for budget in BUDGETS:
            cell = cells["columns-only", budget]
            runs = [dpcov.covariance(ROWS, budget, row_norm=1, mechanism=COLUMNS_ONLY, seed=seed) for seed in (5, 6, 7)]
            assert cell.error == pytest.approx(np.mean([np.linalg.norm(run.covariance - truth) for run in runs]), abs=1e-4)
            assert cell.ran == "columns-only"
        assert cells["columns-only", budgets[2]].error is None

    def test_compare_with_options(self) -> None:
        entries: list[Compared] = [COLUMNS_ONLY, (COLUMNS_ONLY, {"floor": 0.5}), ("gaussian", {"clip": 0.5})]
        found = dpcov.compare(ROWS, RHO, entries, row_norm=1, runs=2)
        assert [cell.mechanism for cell in found.cells] == ["columns-only", "columns-only:floor=0.5", "gaussian:clip=0.5"]
        usual, floored, _ = (cell.error for cell in found.cells)
        assert usual is not None
        assert floored is not None
        assert floored > 5 * usual
        assert dpcov.compare(ROWS, RHO, (COLUMNS_ONLY, {"floor": 0.5}), row_norm=1, runs=2).cells == found.cells[1:2]

    def test_compare_tells_a_wrong_option_from_what_is_not_served(self) -> None:
        """Whatever the words of the refusal are."""

        def ask(curator: Face, budget: Budget, *, home: Any = None) -> None:
            if home == "wrong":
                raise ParameterError("no such home")
            if float(budget.amounts()[0]) < 0.01:
                raise ParameterError("home is too far for so little")
            ask_matrix(curator, budget)

        mechanism = dataclasses.replace(MATRIX, ask=ask, estimate=ignore_bounds)
        budgets: list[Budget] = [PURE, dpcov.PureDP("0.001"), dpcov.ApproxDP(1, "1e-6")]
        found = dpcov.compare(ROWS, budgets, (mechanism, {"home": "here"}), row_norm=1, runs=2)
        assert [cell.error is None for cell in found.cells] == [False, True, True]
        with pytest.raises(ParameterError, match="no such home"):
            dpcov.compare(ROWS, budgets, (mechanism, {"home": "wrong"}), row_norm=1, runs=2)

    @pytest.mark.parametrize("budget", BUDGETS, ids=repr)
    def test_replay_prices_it_exactly(self, budget: Budget) -> None:
        """Two rows of norm 1 along different columns move the squares as far as anything can."""
        first = np.vstack([np.eye(4)[:1], ROWS])
        second = np.vstack([np.eye(4)[1:2], ROWS])
        steps = replay(COLUMNS_ONLY, ArraySource(first), ArraySource(second), grid=Grid(1.0), budget=budget)
        assert [(step.asked, step.charged) for step in steps] == [("squares", budget)]
        assert steps[0].cost <= steps[0].allowed
        assert float(steps[0].cost) == pytest.approx(float(steps[0].allowed), rel=1e-3)

    def test_replay_opens_arrays(self) -> None:
        first, second = ROWS[:5], np.vstack([np.eye(4)[1:2], ROWS[1:5]])
        opened_first, opened_second = ArraySource(first), ArraySource(second)
        steps = replay(COLUMNS_ONLY, first, second, grid=Grid(1.0), budget=PURE)
        assert steps == replay(COLUMNS_ONLY, opened_first, opened_second, grid=Grid(1.0), budget=PURE)
        schema = dpcov.Schema({name: dpcov.Numeric(-1, 1) for name in "abcd"})
        encoding = Encoding(tuple("abcd"), 1.0, schema=schema)
        assert replay(MATRIX, first, second, grid=encoding, budget=PURE)[0].cost <= 1

    def test_an_audit_that_proves_nothing_proves_0(self) -> None:
        """Few trials, and equal data: the bound at the ends of the intervals would be negative."""
        rows = np.eye(2)
        findings = audit_covariance(rows, rows, PURE, mechanism=MATRIX, trials=40, deltas=(1e-5, 0.1), seed=0)
        assert [finding.proved for finding in findings] == [0, 0]

    def test_an_estimate_of_another_size_is_refused(self) -> None:
        """The constant coordinate of centred rows was left in it."""
        careless = dataclasses.replace(CENTRED, estimate=raw_matrix)
        release = dpcov.covariance(ROWS, PURE, row_norm=1, mechanism=careless, center=True, seed=1)
        for use in (lambda: release.covariance, release.describe, lambda: release.pca(1)):
            with pytest.raises(
                ReleaseError, match=r"^estimate must have a covariance of shape \(4, 4\), got \(5, 5\)\. Hint: "
            ):
                use()
        assert release.spent

    def test_audit(self) -> None:
        """It accuses a private mechanism at one δ with probability at most 1e-6; at ε = 4 it must prove something.

        It tells releases apart by their second moments, so it needs a mechanism that asks for one.
        """
        first, second = np.eye(2)[:1].repeat(3, axis=0), np.vstack([np.eye(2)[:1].repeat(2, axis=0), np.eye(2)[1:]])
        findings = audit_covariance(first, second, dpcov.PureDP(4), mechanism=MATRIX, trials=600, deltas=(1e-5,), seed=0)
        assert [finding.violated for finding in findings] == [False]
        assert 0.5 < findings[0].proved <= findings[0].promised == 4

    def test_a_rehearsal_asks_what_a_run_asks(self) -> None:
        asked = checked_request(COLUMNS_ONLY, 1.0, None, "replace", False, {"floor": 0.01})
        assert asked.rehearse(NoSource(2000, 4), PURE).spent == made(floor=0.01).spent
        with pytest.raises(ParameterError, match="floor must be"):
            dataclasses.replace(asked, options={"floor": "x"}).rehearse(NoSource(2000, 4), PURE)

    def test_a_rehearsal_counts_what_may_be_asked_last(self) -> None:
        """It is a fact of the record, as zeros may not lead there; nothing is counted that the budget does not hold."""

        def ask(curator: Face, budget: Budget, *, whole: bool) -> None:
            noisy = curator.noisy(curator.second_moment(), budget if whole else budget.share("3/4"), noise=noise_for(budget))
            if noisy.matrix.any() and not whole:
                curator.noisy(Squares(curator.second_moment()), budget.share("1/4"), noise=noise_for(budget))

        mechanism = dataclasses.replace(MATRIX, ask=ask, estimate=ignore_bounds, last=Squares)
        for whole, names in ((False, ["second moment", "squares"]), (True, ["second moment"])):
            asked = checked_request(mechanism, 1.0, None, "replace", False, {"whole": whole})
            planned = asked.rehearse(NoSource(2000, 4), RHO)
            run = dpcov.covariance(ROWS, RHO, row_norm=1, mechanism=mechanism, whole=whole, seed=1)
            assert [spend.asked for spend in planned.spent] == names
            assert planned.spent == run.spent


PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
RECIPE = PAGE[PAGE.index("## Adding a mechanism") : PAGE.index("## A mechanism outside this repository")]

MAKE = """
import numpy as np, dpcov
rows = np.random.default_rng(703).uniform(-0.5, 0.5, (3000, 3)) * [1, 0.5, 0.2]
release = dpcov.covariance(rows, dpcov.ZCDP(1), row_norm=1, mechanism="two-answers", seed=704)
release.save("two.json")
print([dpcov.__file__, release.mechanism, release.covariance.tolist()])
"""
READ = """
import dpcov
release = dpcov.load("two.json")
print([dpcov.__file__, release.mechanism, release.covariance.tolist()])
assert release.record is None and release.retrace().agrees
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a copy of the package, to which the mechanism of the page was added."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "src" / "dpcov", folder / "dpcov")
    (code,) = re.findall(r"^```python\n(.*?)^```$", RECIPE, flags=re.DOTALL | re.MULTILINE)
    (step,) = re.findall(r"^3\. \*\*Name\.\*\* .*$", RECIPE, flags=re.MULTILINE)
    registry, line, name, listed = re.findall(r"`([^`]+)`", step)
    module = line.split()[1]
    (folder / f"{module.replace('.', '/')}.py").write_text(code, encoding="utf-8")
    assert (registry, listed) == ("src/dpcov/mechanisms/__init__.py", "ALL")
    path = folder / "dpcov" / "mechanisms" / "__init__.py"
    text = path.read_text(encoding="utf-8")
    text = text.replace("from dpcov.release.record import", f"{line}\nfrom dpcov.release.record import", 1)
    text = text.replace("ALL: tuple[Named, ...] = (\n", f"ALL: tuple[Named, ...] = (\n    {name},\n", 1)
    path.write_text(text, encoding="utf-8")
    return folder


class TestContributing:
    """A mechanism of the library's own is one file, one import and one name: `CONTRIBUTING.md`, followed literally."""

    def test_nothing_else_is_touched(self, folder: Path) -> None:
        old, new = (
            {str(path.relative_to(package)): path.read_bytes() for path in package.rglob("*.py")}
            for package in (ROOT / "src" / "dpcov", folder / "dpcov")
        )
        changed = {name for name in new if old.get(name) != new[name]}
        assert changed == {"mechanisms/covariance/two_answers.py", "mechanisms/__init__.py"}
        assert set(old) <= set(new)
        lines = [set(text["mechanisms/__init__.py"].splitlines()) for text in (old, new)]
        assert len(lines[1] - lines[0]) == 2
        assert not lines[0] - lines[1]

    def test_it_is_listed_run_saved_and_loaded(self, folder: Path, tmp_path: Path) -> None:
        listed = python("-m", "dpcov", "mechanisms", cwd=tmp_path, path=folder)
        assert "two-answers" in listed
        facts = json.loads(python("-m", "dpcov", "mechanisms", "--json", cwd=tmp_path, path=folder))
        assert facts["covariance"]["two-answers"]["notions"] == ["pure", "zCDP"]
        file, mechanism, covariance = _read(python("-c", MAKE, cwd=tmp_path, path=folder))
        assert Path(file).is_relative_to(folder)
        assert mechanism == "two-answers"
        truth = np.diag(np.square([1, 0.5, 0.2]) / 12)
        assert np.abs(np.array(covariance) - truth).max() < 0.02  # 14 deviations or more of the rows, 40 of the noise
        assert _read(python("-c", READ, cwd=tmp_path, path=folder)) == [file, mechanism, covariance]

    def test_commands_know_it(self, folder: Path, tmp_path: Path) -> None:
        np.savetxt(tmp_path / "rows.csv", ROWS, delimiter=",", header="a,b,c,d", comments="")
        words = ["-m", "dpcov", "release", "rows.csv", "--rho", "1", "--row-norm", "1", "--mechanism", "two-answers"]
        words += ["--columns", "a,b,c,d"]
        assert "two-answers" in python(*words, "--dry-run", cwd=tmp_path, path=folder)
        python(*words, "-o", "r.json", cwd=tmp_path, path=folder)
        shown = python("-m", "dpcov", "show", "r.json", cwd=tmp_path, path=folder)
        assert "replace, two-answers, n = 2000, d = 4" in shown
        assert "Root mean squares: 4 of 4 clear of noise." in shown
        assert "Eigenvalues (second moment): 0.05" in shown
        compared = ["compare", "rows.csv", "--rho", "1", "--row-norm", "1", "--mechanism", "two-answers", "--runs", "2"]
        assert "two-answers" in python("-m", "dpcov", *compared, cwd=tmp_path, path=folder)

    def test_the_library_itself_does_not_know_it(self) -> None:
        with pytest.raises(ParameterError, match="mechanism must be one of"):
            dpcov.covariance(ROWS, RHO, row_norm=1, mechanism="two-answers")


def _read(printed: str) -> list[Any]:
    """Return the list that a script printed."""
    return list(json.loads(printed.replace("'", '"')))
