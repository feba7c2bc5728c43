"""Experiments go on where they stopped, run again what changed, and do without data that cannot be had."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path

import pytest

from experiments import runner
from experiments.command import INTERRUPTED, main
from experiments.data import MissingDataError
from experiments.frame import Experiment, Lines, Options, Panel, Point
from experiments.results import SUMMARIES, Store, read_records, results_path
from experiments.runner import Settings, run_experiment

A, B = "a", "b"


class Tiny:
    """An experiment of two panels that remembers what it was asked to run."""

    def __init__(self, options: Options | None = None, absent: bool = False) -> None:
        self.ran: list[tuple[str, float | str, tuple[str, ...], int]] = []
        self.options, self.absent, self.stop_at = options or {}, absent, -1

    def __call__(self, point: Point, wanted: Lines, seed: int, _: Path | None) -> Mapping[str, float]:
        if len(self.ran) == self.stop_at:
            raise KeyboardInterrupt
        if self.absent and point.panel == "second":
            raise MissingDataError("the set is not in the folder")
        self.ran.append((point.panel, point.x, tuple(wanted), seed))
        return {line: float(point.x) * 10 + seed + len(line) for line in wanted}

    def experiment(self) -> Experiment:
        lines = {A: {"kind": "plain"}, B: self.options}
        panels = ("first", "second")

        def points(quick: bool) -> list[Point]:
            return [Point(panel, x, lines, 2 if quick else 4) for panel in panels for x in (1.0, 2.0)]

        return Experiment("dong2022", "tiny", "Tiny", tuple(Panel(name) for name in panels), points, self)


def settings(folder: Path, quick: bool = True) -> Settings:
    return Settings(quick, None, folder, 1)


def test_an_interrupted_experiment_goes_on_where_it_stopped(tmp_path: Path) -> None:
    tiny = Tiny()
    tiny.stop_at = 3
    with pytest.raises(KeyboardInterrupt):
        run_experiment(tiny.experiment(), settings(tmp_path))
    first, tiny.ran, tiny.stop_at = tiny.ran, [], -1
    run_experiment(tiny.experiment(), settings(tmp_path))
    assert len(first) == 3
    assert len(tiny.ran) == 8 - 3
    assert not {run[:2] + run[3:] for run in first} & {run[:2] + run[3:] for run in tiny.ran}


def test_what_was_cut_off_in_writing_is_run_again(tmp_path: Path) -> None:
    tiny = Tiny()
    experiment = tiny.experiment()
    run_experiment(experiment, settings(tmp_path))
    runs = settings(tmp_path).runs / "dong2022-tiny.csv"
    runs.write_text(runs.read_text(encoding="utf-8")[:-12], encoding="utf-8")
    tiny.ran = []
    run_experiment(experiment, settings(tmp_path))
    assert [run[2] for run in tiny.ran] == [(B,)]
    store = Store(settings(tmp_path).runs, experiment)
    store.load()
    assert len(store.values) == 16


def test_a_full_run_adds_to_a_quick_one(tmp_path: Path) -> None:
    tiny = Tiny()
    run_experiment(tiny.experiment(), settings(tmp_path))
    tiny.ran = []
    run_experiment(tiny.experiment(), settings(tmp_path, quick=False))
    assert {run[3] for run in tiny.ran} == {2, 3}
    assert {record.runs for record in read_records(results_path(tmp_path, tiny.experiment()))} == {4}


def test_only_lines_whose_options_changed_are_run_again(tmp_path: Path) -> None:
    run_experiment(Tiny().experiment(), settings(tmp_path))
    changed = Tiny({"constants": "paper"})
    run_experiment(changed.experiment(), settings(tmp_path))
    assert len(changed.ran) == 8
    assert {run[2] for run in changed.ran} == {(B,)}
    forms = {r.line: r.form for r in read_records(results_path(tmp_path, changed.experiment()))}
    assert forms == {A: "kind=plain", B: "constants=paper"}


def test_missing_data_is_named_once_and_the_rest_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_experiment(Tiny().experiment(), settings(tmp_path))
    without = Tiny({"other": 1}, absent=True)
    run_experiment(without.experiment(), settings(tmp_path))
    assert capsys.readouterr().err.count("the set is not in the folder; skipped") == 1
    records = read_records(results_path(tmp_path, without.experiment()))
    assert {(r.panel, r.form) for r in records if r.line == B} == {("first", "other=1"), ("second", "")}  # what it had
    assert (tmp_path / "images" / "dong2022-tiny.png").stat().st_size < 60_000


def test_results_are_tidy_and_summaries_are_right(tmp_path: Path) -> None:
    tiny = Tiny()
    run_experiment(tiny.experiment(), settings(tmp_path))
    path = results_path(tmp_path, tiny.experiment())
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["value"] for row in rows if (row["panel"], row["line"]) == ("first", A)] == ["11.5", "21.5"]
    assert {row["error"] for row in rows} == {"0.5"}
    with path.with_name("cost.csv").open(newline="", encoding="utf-8") as file:
        assert [(row["experiment"], row["size"], row["runs"]) for row in csv.DictReader(file)] == [("tiny", "quick", "16")]


def test_trimmed_means_leave_out_a_tenth_at_either_end() -> None:
    import numpy as np

    values = np.array([1e9, *range(1, 9), -1e9])
    value, error = SUMMARIES["trimmed"](values)
    assert value == 4.5
    assert 0 < error < 3
    assert SUMMARIES["median"](values)[0] == 4.5
    assert SUMMARIES["mean"](np.array([3.0])) == (3.0, 0.0)


def test_a_real_experiment_by_two_processes_and_by_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["chaudhuri2013", "theorem8", "--quick"]
    assert main([*arguments, "--jobs", "2", "--out", str(tmp_path / "two")]) == 0
    assert main([*arguments, "--jobs", "1", "--out", str(tmp_path / "one")]) == 0
    one, two = ((tmp_path / name / "chaudhuri2013" / "results" / "theorem8.csv").read_text() for name in ("one", "two"))
    assert one == two
    assert '100,"1 − φ, as printed"' in one
    main([*arguments, "--out", str(tmp_path / "one")])
    assert "nothing left to run" in capsys.readouterr().err
    main([*arguments, "--fresh", "--jobs", "1", "--out", str(tmp_path / "one")])
    assert "9 runs in" in capsys.readouterr().err


def test_the_command_says_what_there_is_and_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["list"]) == 0
    assert "dong2022 figure3" in capsys.readouterr().out
    for wrong in (["dong2022", "figure9"], ["all", "figure1"], ["all", "--data", str(tmp_path / "nowhere")]):
        with pytest.raises(SystemExit):
            main(wrong)
    assert "figure9" in capsys.readouterr().err

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("experiments.command.run_experiment", interrupted)
    assert main(["dong2022", "figure1", "--out", str(tmp_path)]) == INTERRUPTED
    assert "goes on where it stopped" in capsys.readouterr().err

    def fails(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("experiments.command.run_experiment", fails)
    assert main(["amin2018", "--out", str(tmp_path)]) == 1
    assert "failed: amin2018 figure1cd" in capsys.readouterr().err


def test_without_data_a_paper_that_needs_it_leaves_a_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "SECONDS_BETWEEN_LINES", 0.0)
    empty = tmp_path / "data"
    empty.mkdir()
    assert main(["biswas2020", "figure8", "--quick", "--jobs", "1", "--data", str(empty), "--out", str(tmp_path)]) == 0
    told = capsys.readouterr().err
    assert "exLD.out0-PCA.eval.gz" in told
    assert "skipped" in told
    assert not (tmp_path / "biswas2020").exists()
