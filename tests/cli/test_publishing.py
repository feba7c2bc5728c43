"""``--isolated``, ``--publish-at`` and ``--publish-every`` of ``dpcov release`` and ``dpcov mean``."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import dpcov
from dpcov.isolation import parent
from tests.cli.shell import PROGRAM, assert_refused, call, write_people
from tests.isolation.probe import needs_walls

RELEASE = ["release", "people.csv", "--rho", "1", "--schema", "people.toml", "-o", "out.json"]
MEAN = ["mean", "people.csv", "--rho", "1", "--schema", "people.toml", "--columns", "age", "-o", "out.json"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_people(tmp_path)
    return tmp_path


def soon(seconds: float = 2) -> str:
    return (datetime.now().astimezone() + timedelta(seconds=seconds)).isoformat()


@needs_walls
class TestIsolated:
    @pytest.mark.parametrize("command", [RELEASE, MEAN, [*RELEASE, "--pca", "1"], [*RELEASE, "--separator", ","]])
    def test_the_release_is_written(self, command: list[str]) -> None:
        found = call(*command, "--isolated", "--json")
        assert (found.code, found.err) == (0, "")
        assert json.loads(found.out)["file"] == "out.json"
        assert not dpcov.load("out.json").seeded

    def test_a_ledger_pays(self) -> None:
        assert call("ledger", "init", "budget.db", "--dataset", "people", "--rho", "1.5", "--data", "people.csv").code == 0
        charged = ["--isolated", "--ledger", "budget.db", "--dataset", "people"]
        assert call(*RELEASE, *charged, "--why", "the report").code == 0
        assert call("ledger", "verify", "budget.db", "out.json").code == 0
        assert_refused(call(*RELEASE, *charged, "--force"), 3)
        assert_refused(call(*RELEASE, "--isolated", "--force"), 2)

    def test_a_release_that_the_ledger_could_not_note_is_printed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        made = dpcov.covariance("people.csv", dpcov.ZCDP(1), schema=dpcov.Schema.read("people.toml"))
        from dpcov.release.file import text_of

        answer = {"failed": "EngineError", "said": "ledger must be writable. Hint: none.", "release": text_of(made)}
        monkeypatch.setattr(parent, "_answered", lambda _: answer)
        found = call(*RELEASE, "--isolated")
        assert found.code == 4
        assert found.out == text_of(made)
        assert "paid for, and is on stdout" in found.err

    @pytest.mark.parametrize(
        ("arguments", "code"),
        [
            ([*RELEASE, "--dry-run"], 2),
            ([*RELEASE, "--workers", "2"], 2),
            ([*RELEASE[:2], "--rho", "1", "-o", "out.json"], 2),
            (["release", "nowhere.csv", *RELEASE[2:]], 4),
            (["release", "s3://bucket/people.csv", *RELEASE[2:]], 2),
            (["release", *RELEASE[2:], "--query", "SELECT 1", "--print-sql", "duckdb"], 2),
            ([*RELEASE, "--rho", "0"], 2),
            ([*RELEASE, "--columns", "height"], 2),
            ([*MEAN, "--mechanism", "gaussian"], 2),
            ([*MEAN, "--option", "rounds=0"], 2),
        ],
    )
    def test_what_is_wrong_is_said_in_one_line(self, arguments: list[str], code: int) -> None:
        assert_refused(call(*arguments, "--isolated"), code)
        assert not Path("out.json").exists()


def test_a_machine_that_isolates_nothing_releases_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        parent, "_answered", lambda _: {"failed": "walls", "said": "no network namespace: Operation not permitted"}
    )
    found = call(*RELEASE, "--isolated")
    assert_refused(found, 4)
    assert "no network namespace: Operation not permitted" in found.err
    assert not Path("out.json").exists()


class TestPublishAt:
    @pytest.mark.parametrize("command", [RELEASE, MEAN])
    def test_the_file_and_the_words_come_at_the_moment(self, command: list[str]) -> None:
        moment = soon()
        found = call(*command, "--publish-at", moment)
        assert time.time() >= datetime.fromisoformat(moment).timestamp()
        assert found.code == 0
        assert found.err.startswith("dpcov: to be published at ")
        assert Path("out.json").stat().st_mtime >= datetime.fromisoformat(moment).timestamp() - 0.05

    def test_quiet_is_quiet(self) -> None:
        found = call(*MEAN, "--publish-at", soon(1.5), "--quiet")
        assert (found.code, found.out, found.err) == (0, "", "")

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    def test_what_is_paid_for_is_kept_where_the_wait_ends_otherwise(self, number: int) -> None:
        with subprocess.Popen([*PROGRAM, *MEAN, "--publish-at", soon(3600)], stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            assert process.stderr.readline().startswith("dpcov: to be published at ")
            while not waits(process.pid):
                assert process.poll() is None
                time.sleep(0.05)
            process.send_signal(number)
            assert process.wait(60) == 130
            assert "not published; the release was paid for, and is in out.json.unpublished" in process.stderr.read()
        assert not Path("out.json").exists()
        assert dpcov.load("out.json.unpublished").n == 2000

    def test_it_is_printed_where_it_cannot_be_kept(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The name with the ending is too long for a file, say."""

        def interrupted(_: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(dpcov.Publication, "wait", interrupted)
        long = "o" * 250
        found = call(*MEAN[:-1], long, "--publish-at", soon(3600), "--quiet")
        assert (found.code, "was made and paid for, and is on stdout" in found.err) == (4, True)
        Path("saved.json").write_text(found.out, encoding="utf-8")
        assert dpcov.load("saved.json").n == 2000

    @pytest.mark.parametrize(
        "arguments",
        [
            ["--publish-at", "yesterday"],
            ["--publish-at", ""],
            ["--publish-at", "25:00"],
            ["--publish-at", "2020-01-01T00:00"],
            ["--publish-at", "2300-01-01T00:00"],
            ["--publish-at", "23:00", "--publish-every", "0s"],
            ["--publish-at", "23:00", "--publish-every", "soon"],
            ["--publish-every", "10m"],
            ["--publish-at", "23:00", "--publish-every", "-5m"],
        ],
    )
    def test_a_time_that_is_none_is_refused_before_anything_is_read(self, arguments: list[str]) -> None:
        Path("people.csv").unlink()
        found: Any = call(*RELEASE, *arguments)
        assert_refused(found, 2)
        assert "publish" in found.err

    def test_a_dry_run_does_not_wait(self) -> None:
        assert call(*RELEASE, "--publish-at", soon(3600), "--dry-run").code == 0


def waits(number: int) -> bool:
    """Whether a process has told the system that it takes SIGTERM itself: it does so when its wait begins."""
    status = Path(f"/proc/{number}/status").read_text(encoding="utf-8")
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(caught.split()[1], 16) >> (signal.SIGTERM - 1) & 1)
