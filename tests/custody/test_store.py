"""The ledger's file: what was written shows where it was edited, and what cannot be a ledger is refused."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import dpcov
from dpcov.custody import place
from dpcov.custody.purse import Purse
from dpcov.custody.store import APPLICATION, CONNECTED, STATEMENTS, Entry
from dpcov.errors import DpcovError

Edit = Callable[[sqlite3.Connection], object]


@pytest.fixture
def ledger(tmp_path: Path) -> dpcov.Ledger:
    """A ledger with two data sets and three spends."""
    made = dpcov.Ledger.create(tmp_path / "budget.db")
    made.add("trees", dpcov.ZCDP(1))
    made.add("birds", dpcov.PureDP(2))
    for name, budget in (("trees", dpcov.ZCDP("0.1")), ("birds", dpcov.PureDP("0.5")), ("trees", dpcov.ZCDP("0.2"))):
        made.dataset(name).attempt(budget, "replace", {}).take()
    return made


def edited(ledger: dpcov.Ledger, edit: Edit) -> dpcov.Verification:
    """Edit the file as somebody would who knows SQLite, and leaves no other trace; verify it."""
    connection = sqlite3.connect(ledger.path)
    triggers = [statement for statement in STATEMENTS if statement.startswith("CREATE TRIGGER")]
    for statement in triggers:
        connection.execute(f"DROP TRIGGER {statement.split()[2]}")
    edit(connection)
    for statement in triggers:
        connection.execute(statement)
    connection.commit()
    connection.close()
    found: dpcov.Verification = ledger.verify()
    return found


class TestTheChain:
    def test_what_nobody_touched_is_intact(self, ledger: dpcov.Ledger) -> None:
        found = ledger.verify()
        assert (found.intact, found.entries, found.faults) == (True, 9, ())

    @pytest.mark.parametrize("sequence", range(1, 10))
    def test_an_edited_entry_shows(self, ledger: dpcov.Ledger, sequence: int) -> None:
        text = 'UPDATE entries SET body = replace(body, \'"why":""\', \'"why":"x"\') WHERE sequence = ?'
        found = edited(ledger, lambda connection: connection.execute(text, (sequence,)))
        assert not found.intact
        assert f"entry {sequence} was edited" in found.faults[0]

    @pytest.mark.parametrize("sequence", range(1, 9))
    def test_a_removed_entry_shows(self, ledger: dpcov.Ledger, sequence: int) -> None:
        found = edited(ledger, lambda connection: connection.execute("DELETE FROM entries WHERE sequence = ?", (sequence,)))
        assert not found.intact
        assert any("does not follow" in fault for fault in found.faults)

    def test_swapped_entries_show(self, ledger: dpcov.Ledger) -> None:
        def swap(connection: sqlite3.Connection) -> None:
            for old, new in ((5, 99), (7, 5), (99, 7)):
                connection.execute("UPDATE entries SET sequence = ? WHERE sequence = ?", (new, old))

        assert not edited(ledger, swap).intact

    @pytest.mark.parametrize("column", ["dataset", "event", "hash"])
    def test_an_edited_column_shows(self, ledger: dpcov.Ledger, column: str) -> None:
        found = edited(
            ledger, lambda connection: connection.execute(f"UPDATE entries SET {column} = 'birds' WHERE sequence = 5")
        )
        assert not found.intact

    def test_whoever_computes_the_hashes_anew_is_found_by_the_sums(self, ledger: dpcov.Ledger) -> None:
        """Half of what was spent, with a chain that is whole: the next sum does not follow from it."""
        from dpcov.custody.store import _hash

        def forge(connection: sqlite3.Connection) -> None:
            previous = ""
            for sequence, body in connection.execute("SELECT sequence, body FROM entries ORDER BY sequence").fetchall():
                told = json.loads(body)
                if sequence == 5:
                    told["facts"]["budget"]["rho"] = told["facts"]["counted"]["rho"] = "1/20"
                body = json.dumps(told, sort_keys=True, separators=(",", ":"))
                previous = _hash(previous, body)
                connection.execute("UPDATE entries SET body = ?, hash = ? WHERE sequence = ?", (body, previous, sequence))

        found = edited(ledger, forge)
        assert "entry 5 does not add up" in found.faults

    def test_a_limit_cannot_be_raised(self, ledger: dpcov.Ledger) -> None:
        from dpcov.custody.store import _hash

        def forge(connection: sqlite3.Connection) -> None:
            previous = ""
            for sequence, body in connection.execute("SELECT sequence, body FROM entries ORDER BY sequence").fetchall():
                told = json.loads(body)
                if sequence == 9:
                    told["facts"]["after"]["limits"] = ["100"]
                body = json.dumps(told, sort_keys=True, separators=(",", ":"))
                previous = _hash(previous, body)
                connection.execute("UPDATE entries SET body = ?, hash = ? WHERE sequence = ?", (body, previous, sequence))

        assert "entry 9 changes what may be spent" in edited(ledger, forge).faults

    def test_a_spend_refuses_to_follow_an_edited_one(self, ledger: dpcov.Ledger) -> None:
        text = "UPDATE entries SET body = replace(body, '3/10', '0') WHERE sequence = 9"
        edited(ledger, lambda connection: connection.execute(text))
        with pytest.raises(dpcov.BudgetError, match="edited entry 9"):
            ledger.dataset("trees")

    @pytest.mark.parametrize("sequence", [2, 9])
    def test_nothing_is_added_after_an_edited_entry(self, ledger: dpcov.Ledger, sequence: int) -> None:
        """Neither after an edited total nor after an edited end: what follows would vouch for it."""
        edited(ledger, lambda connection: connection.execute("UPDATE entries SET body = '' WHERE sequence = ?", (sequence,)))
        with pytest.raises(dpcov.BudgetError, match=f"edited entry {sequence}"):
            ledger.add("fish", dpcov.ZCDP(1)) if sequence == 9 else ledger.dataset("trees")
        assert ledger.verify().entries == 9

    def test_with_an_edited_first_entry_it_can_be_verified_and_not_written(self, ledger: dpcov.Ledger) -> None:
        edited(ledger, lambda connection: connection.execute("UPDATE entries SET body = '' WHERE sequence = 1"))
        again = dpcov.Ledger(ledger.path)
        assert "entry 1 was edited" in again.verify().faults[0]
        with pytest.raises(dpcov.BudgetError, match="edited entry 1"):
            again.dataset("trees").attempt(dpcov.ZCDP("0.1"), "replace", {})

    def test_a_spend_of_another_data_set_is_not_taken_for_ones_own(self, ledger: dpcov.Ledger) -> None:
        """The columns by which entries are found are not in the hash: what they say must be what the entry says."""
        edited(ledger, lambda connection: connection.execute("UPDATE entries SET dataset = 'birds' WHERE sequence = 9"))
        for name in ("trees", "birds"):
            with pytest.raises(dpcov.BudgetError, match="entry 9"):
                ledger.dataset(name).attempt(dpcov.ZCDP("0.1"), "replace", {})

    @pytest.mark.parametrize(
        "changes",
        [
            ["CREATE TRIGGER lost BEFORE INSERT ON entries BEGIN SELECT RAISE(IGNORE); END"],
            ["CREATE TRIGGER sqlitelost AFTER INSERT ON entries WHEN new.event = 'spent' BEGIN SELECT 1; END"],
            ["ALTER TABLE entries ADD COLUMN more"],
            ["DROP INDEX by_dataset"],
            ["DROP TRIGGER never_edited"],
            ["ALTER TABLE entries RENAME TO kept", "CREATE VIEW entries AS SELECT * FROM kept"],
        ],
        ids=["a trigger that drops entries", "another trigger", "a column", "no index", "no trigger", "a view"],
    )
    def test_other_tables_or_triggers_show_and_nothing_is_charged(self, ledger: dpcov.Ledger, changes: list[str]) -> None:
        """With a trigger that drops what is added, releases would be handed out that no entry paid for."""
        connection = sqlite3.connect(ledger.path)
        for change in changes:
            connection.execute(change)
        connection.close()
        with pytest.raises(dpcov.BudgetError, match="tables and triggers that it was made with"):
            ledger.dataset("trees").attempt(dpcov.ZCDP("0.1"), "replace", {})
        found = ledger.verify()
        assert (found.entries, found.faults) == (9, ("its tables, indexes or triggers are not those that it was made with",))
        assert len(list(ledger.export())) == 9

    def test_what_sqlite_adds_itself_is_no_change(self, ledger: dpcov.Ledger) -> None:
        connection = sqlite3.connect(ledger.path)
        connection.execute("ANALYZE")
        connection.execute("VACUUM")
        connection.close()
        ledger.dataset("trees").attempt(dpcov.ZCDP("0.1"), "replace", {}).take()
        assert ledger.verify().intact

    @pytest.mark.parametrize(
        ("event", "facts", "fault"),
        [
            ("spent", {"attempt": 3}, "spends what was not attempted"),
            ("released", {"spent": 3, "digest": "x"}, "was not paid for"),
            ("opened", {"policy": {}, "total": {"notion": "zCDP", "rho": "5"}, "neighbors": "replace"}, "sets a total anew"),
            ("refunded", {}, "could not have been written"),
            ("created", {}, "could not have been written"),
            ("opened", {}, "could not have been written"),
        ],
    )
    def test_an_entry_that_nobody_writes_shows(
        self, ledger: dpcov.Ledger, event: str, facts: dict[str, object], fault: str
    ) -> None:
        """With a chain that is whole, as somebody adds it who calls the library's own parts."""
        with ledger.store.writing() as writing:
            spent = writing.last("trees", "spent")
            assert spent is not None
            writing.add(event, "trees", "Ada", "", {**(spent.facts if event == "spent" else {}), **facts})
        assert fault in " ".join(ledger.verify().faults)

    def test_entries_cannot_be_edited_by_accident(self, ledger: dpcov.Ledger) -> None:
        connection = sqlite3.connect(ledger.path)
        for statement in ("UPDATE entries SET body = ''", "DELETE FROM entries"):
            with pytest.raises(sqlite3.IntegrityError, match="never"):
                connection.execute(statement)
        connection.close()

    def test_an_export_can_be_checked_by_other_means(self, ledger: dpcov.Ledger) -> None:
        import hashlib

        previous = ""
        for line in ledger.export():
            told = json.loads(line)
            own = told.pop("hash")
            body = json.dumps(told, sort_keys=True, separators=(",", ":"))
            assert hashlib.sha256(f"{previous}\n{body}".encode()).hexdigest() == own
            previous = own
        assert previous == ledger.verify().head


def fill(disk: Path) -> None:
    """Leave no room on a disk."""
    filled = subprocess.run(["dd", "if=/dev/zero", f"of={disk / 'filler'}", "bs=512"], check=False, capture_output=True)
    assert b"No space left" in filled.stderr


def damaged(content: bytes, kind: int, chance: random.Random) -> bytes:
    """Return a file as a failing disk leaves it."""
    pages, bits = [content[start : start + 4096] for start in range(0, len(content), 4096)], bytearray(content)
    if kind < 2:
        pages[chance.randrange(len(pages))] = bytes(4096) if kind else chance.randbytes(4096)
        return b"".join(pages)
    if kind == 3:
        return content[: chance.randrange(len(content))]
    for _ in range(chance.choice([1, 5, 50])):
        bits[chance.randrange(len(bits))] ^= 1 << chance.randrange(8)
    return bytes(bits)


def as_nobody(path: Path) -> int:
    """Return how often a ledger, or a new one beside it, was refused in clear words; run in a process of its own."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    refused = 0
    for use in (
        lambda: dpcov.Ledger(path).status(),
        lambda: dpcov.Ledger(path).dataset("trees").attempt(dpcov.ZCDP(1), "replace", {}),
        lambda: dpcov.Ledger.create(path),
    ):
        try:
            use()
        except dpcov.EngineError as error:
            refused += "must be a file that can be read and written" in str(error)
        except BaseException:
            return 100
    return refused


class TestFiles:
    def test_a_missing_one(self, tmp_path: Path) -> None:
        with pytest.raises(dpcov.EngineError, match=r"ledger must exist.*dpcov ledger init"):
            dpcov.Ledger(tmp_path / "none.db")
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("content", [b"not a database at all, but long enough to be looked at" * 40, b"PK\x03\x04"])
    def test_another_kind_of_file(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "budget.db"
        path.write_bytes(content)
        for opened in (dpcov.Ledger, dpcov.Ledger.create):
            with pytest.raises(dpcov.EngineError, match="file that `dpcov ledger init` made"):
                opened(path)
        assert path.read_bytes() == content

    def test_another_database(self, tmp_path: Path) -> None:
        path = tmp_path / "budget.db"
        connection = sqlite3.connect(path)
        connection.execute("CREATE TABLE mine (x)")
        connection.commit()
        connection.close()
        for opened in (dpcov.Ledger, dpcov.Ledger.create):
            with pytest.raises(dpcov.EngineError, match="file that `dpcov ledger init` made"):
                opened(path)

    def test_one_of_a_later_version(self, ledger: dpcov.Ledger) -> None:
        connection = sqlite3.connect(ledger.path)
        connection.execute("PRAGMA user_version = 2")
        connection.close()
        with pytest.raises(dpcov.EngineError, match="newer dpcov"):
            dpcov.Ledger(ledger.path)

    def test_a_spend_that_a_damaged_index_has_lost_is_not_spent_again(self, ledger: dpcov.Ledger) -> None:
        """One bit of the index: looked up by it, the last spend of the trees is the one before."""
        trees, content = ledger.dataset("trees"), ledger.path.read_bytes()
        assert content.count(b"treesspent\x09") == 1
        ledger.path.write_bytes(content.replace(b"treesspent\x09", b"treesspenu\x09"))
        assert ledger.status().of("trees").left == dpcov.ZCDP("0.9")  # of which 0.2 are spent
        with pytest.raises(dpcov.BudgetError, match="an entry 9 that is not found by what it says"):
            trees.attempt(dpcov.ZCDP("0.8"), "replace", {})
        assert not ledger.verify().intact

    def test_words_that_look_like_a_spend_are_none(self, ledger: dpcov.Ledger) -> None:
        ledger.resume("trees", why='"dataset":"trees","event":"spent"')
        ledger.dataset("trees").attempt(dpcov.ZCDP("0.1"), "replace", {}).take()
        assert ledger.verify().intact

    def test_what_a_damaged_disk_makes_of_it_is_never_overspent(self, ledger: dpcov.Ledger) -> None:
        """Pages of zeros or of noise, flipped bits, a cut end: an error, a red verdict or the whole sum, and no other words."""
        content, told = ledger.path.read_bytes(), list(ledger.export())
        chance = random.Random(4)
        verdicts = set()
        for turn in range(150):
            ledger.path.write_bytes(damaged(content, turn % 4, chance))
            try:
                found = dpcov.Ledger(ledger.path).verify()
                assert not found.intact or list(ledger.export()) == told  # what was hit holds nothing
                verdicts.add("green" if found.intact else "red")
                dpcov.Ledger(ledger.path).dataset("trees").attempt(dpcov.ZCDP("0.1"), "replace", {}).take()
                assert dpcov.Ledger(ledger.path).status().of("trees").amounts == (Fraction(2, 5),)
                verdicts.add("charged")
            except DpcovError as error:
                verdicts.add(type(error).__name__)
            for file in ledger.path.parent.glob("budget.db-*"):
                file.unlink()
        assert verdicts >= {"green", "red", "charged", "EngineError", "BudgetError"}

    def test_a_copy_without_its_log_lacks_what_was_spent_since(self, ledger: dpcov.Ledger, tmp_path: Path) -> None:
        """As after a crash: the log stays until somebody opens the file."""
        reader = sqlite3.connect(ledger.path)
        reader.execute("SELECT COUNT(*) FROM entries").fetchone()
        made = dpcov.covariance(np.zeros((9, 2)), dpcov.ZCDP("0.1"), row_norm=1, ledger=ledger.dataset("trees"))
        for name, parts in (("alone", [""]), ("whole", ["", "-wal"])):
            (tmp_path / name).mkdir()
            for part in parts:
                copy = tmp_path / name / f"budget.db{part}"
                copy.write_bytes(Path(f"{ledger.path}{part}").read_bytes())
                copy.chmod(0o600)
        reader.close()
        assert "knows a later state" in dpcov.Ledger(tmp_path / "alone" / "budget.db").verify(made).faults[0]
        assert dpcov.Ledger(tmp_path / "whole" / "budget.db").verify(made).intact

    def test_a_corrupted_page(self, ledger: dpcov.Ledger) -> None:
        size = ledger.path.stat().st_size
        with ledger.path.open("r+b") as file:
            file.seek(4096)
            file.write(b"\xff" * (size - 4096))
        with pytest.raises(dpcov.EngineError, match=r"malformed.*put back a backup"):
            dpcov.Ledger(ledger.path)

    @pytest.mark.parametrize(("folder", "file"), [(0o555, 0o666), (0o777, 0o444), (0o777, 0o000), (0o666, 0o666)])
    def test_a_folder_or_file_that_may_not_be_written(self, folder: int, file: int) -> None:
        """As nobody, where the tests run as root: it is refused, and whoever looks leaves no log of their own behind."""
        with tempfile.TemporaryDirectory() as parent:
            Path(parent).chmod(0o755)
            place_ = Path(parent) / "ledgers"
            place_.mkdir()
            made = dpcov.Ledger.create(place_ / "budget.db")
            made.add("trees", dpcov.ZCDP(1))
            made.path.chmod(file)
            place_.chmod(folder)
            child = os.fork()
            if child == 0:
                os._exit(as_nobody(made.path))
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            place_.chmod(0o755)
            made.path.chmod(0o600)
            assert code == 3
            assert [path.name for path in place_.iterdir()] == ["budget.db"]
            assert (made.verify().intact, made.status().of("trees").left) == (True, dpcov.ZCDP(1))

    def test_a_read_only_file_system(self, mounted: Path) -> None:
        made = dpcov.Ledger.create(mounted / "budget.db")
        made.add("trees", dpcov.ZCDP(1))
        subprocess.run(["mount", "-o", "remount,ro", str(mounted)], check=True)
        with pytest.raises(dpcov.EngineError, match="writable"):
            dpcov.Ledger(mounted / "budget.db").dataset("trees").attempt(dpcov.ZCDP(1), "replace", {})

    def test_a_full_disk(self, mounted: Path) -> None:
        """A release that finds no room for its spend draws nothing; with room again all is as before."""
        made = dpcov.Ledger.create(mounted / "budget.db")
        made.add("trees", dpcov.ZCDP(1))
        purse = made.dataset("trees").attempt(dpcov.ZCDP("0.5"), "replace", {})
        fill(mounted)
        with pytest.raises(dpcov.EngineError, match=r"its disk.*full"):
            purse.take()
        (mounted / "filler").unlink()
        assert (made.verify().intact, made.status().of("trees").left) == (True, dpcov.ZCDP(1))
        purse.take()
        assert made.status().of("trees").left == dpcov.ZCDP("0.5")

    def test_a_disk_that_is_full_when_a_release_begins_or_ends(self, mounted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Before: nothing is read. After: the release was paid for, comes with the error, and is recorded later."""
        made = dpcov.Ledger.create(mounted / "budget.db")
        made.add("trees", dpcov.ZCDP(1))
        trees, rows = made.dataset("trees"), np.zeros((9, 2))
        fill(mounted)
        with monkeypatch.context() as unread:
            unread.setattr("dpcov.kernel.sums.ExactSums.read", lambda *_: pytest.fail("rows were read"))
            with pytest.raises(dpcov.EngineError, match="full"):
                dpcov.covariance(rows, dpcov.ZCDP("0.5"), row_norm=1, ledger=trees)
        (mounted / "filler").unlink()
        assert (made.verify().entries, made.status().of("trees").left) == (2, dpcov.ZCDP(1))

        recorded = Purse.recorded

        def full(self: Purse, release: dpcov.Release) -> dpcov.Release:
            fill(mounted)
            return recorded(self, release)

        monkeypatch.setattr(Purse, "recorded", full)
        with pytest.raises(dpcov.EngineError, match="full") as caught:
            dpcov.covariance(rows, dpcov.ZCDP("0.5"), row_norm=1, ledger=trees)
        (mounted / "filler").unlink()
        paid = caught.value.release  # type: ignore[attr-defined]
        assert "its digest was never recorded" in made.verify(paid).remarks[-1]
        made.record(paid)
        assert (made.verify(paid).intact, made.status().of("trees").left) == (True, dpcov.ZCDP("0.5"))

    def test_a_disk_that_is_full_when_a_ledger_is_made(self, mounted: Path) -> None:
        fill(mounted)
        with pytest.raises(dpcov.EngineError, match=r"full|No space"):
            dpcov.Ledger.create(mounted / "budget.db")
        (mounted / "filler").unlink()
        dpcov.Ledger.create(mounted / "budget.db").add("trees", dpcov.ZCDP(1))

    def test_a_lock_that_is_never_let_go(self, ledger: dpcov.Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("dpcov.custody.store.PATIENCE", 0.05)
        connection = sqlite3.connect(ledger.path, isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(dpcov.EngineError, match="another process holds it"):
            ledger.dataset("trees").attempt(dpcov.ZCDP("0.1"), "replace", {})
        connection.execute("ROLLBACK")
        connection.close()
        assert ledger.verify().entries == 9

    def test_a_folder_and_a_pipe(self, tmp_path: Path) -> None:
        """Neither is opened: a pipe would be waited for."""
        (tmp_path / "folder").mkdir()
        os.mkfifo(tmp_path / "pipe")
        for name in ("folder", "pipe"):
            for opened in (dpcov.Ledger, dpcov.Ledger.create):
                with pytest.raises(dpcov.EngineError, match="ledger must be a file, got"):
                    opened(tmp_path / name)

    @pytest.mark.parametrize("name", ["missing/budget.db", "n" * 300, "budget.db/inside"])
    def test_a_path_that_leads_nowhere(self, ledger: dpcov.Ledger, name: str) -> None:
        for opened in (dpcov.Ledger, dpcov.Ledger.create):
            with pytest.raises(dpcov.EngineError, match=r"ledger must .*Hint"):
                opened(ledger.path.parent / name)

    def test_a_hard_link_is_refused_and_a_symbolic_one_leads_there(self, ledger: dpcov.Ledger, tmp_path: Path) -> None:
        """SQLite keeps its log beside the name: two names would have two."""
        (tmp_path / "link.db").symlink_to(ledger.path)
        dpcov.Ledger(tmp_path / "link.db").dataset("trees").attempt(dpcov.ZCDP("0.1"), "replace", {}).take()
        assert ledger.status().of("trees").left == dpcov.ZCDP("0.6")
        (tmp_path / "hard.db").hardlink_to(ledger.path)
        for path in (ledger.path, tmp_path / "hard.db"):
            with pytest.raises(dpcov.EngineError, match="a hard link"):
                dpcov.Ledger(path)

    def test_a_file_that_is_mounted_by_itself_is_refused(self, ledger: dpcov.Ledger, tmp_path: Path) -> None:
        """As containers mount files: each place would have a log and locks of its own, and both could spend all of it."""
        other = tmp_path / "elsewhere"
        other.mkdir()
        (other / "budget.db").touch()
        mount = ["mount", "--bind", str(ledger.path), str(other / "budget.db")]
        if subprocess.run(mount, check=False, capture_output=True).returncode:
            pytest.skip("mounting needs root")
        try:
            for opened in (dpcov.Ledger, dpcov.Ledger.create):
                with pytest.raises(dpcov.EngineError, match=r"mounted by itself.*mount the folder"):
                    opened(other / "budget.db")
            assert [path.name for path in other.iterdir()] == ["budget.db"]
        finally:
            subprocess.run(["umount", str(other / "budget.db")], check=True)

    def test_a_folder_that_is_mounted_twice_is_one_place(self, ledger: dpcov.Ledger, tmp_path: Path) -> None:
        folder, other = tmp_path / "ledgers", tmp_path / "elsewhere"
        for place_ in (folder, other):
            place_.mkdir()
        ledger.path.rename(folder / "budget.db")
        if subprocess.run(["mount", "--bind", str(folder), str(other)], check=False, capture_output=True).returncode:
            pytest.skip("mounting needs root")
        try:
            one, two = dpcov.Ledger(folder / "budget.db"), dpcov.Ledger(other / "budget.db")
            with one.store.reading():  # its log is there, and is shared
                two.dataset("trees").attempt(dpcov.ZCDP("0.7"), "replace", {}).take()
            with pytest.raises(dpcov.BudgetError, match="has left"):
                one.dataset("trees").attempt(dpcov.ZCDP("0.7"), "replace", {})
        finally:
            subprocess.run(["umount", str(other)], check=True)

    def test_a_new_one_is_its_owners_alone_with_its_log(self, ledger: dpcov.Ledger) -> None:
        with ledger.store.reading():
            files = list(ledger.path.parent.iterdir())
            assert len(files) > 1
            assert {path.stat().st_mode & 0o777 for path in files} == {0o600}

    def test_signs_in_a_name_mean_nothing(self, tmp_path: Path) -> None:
        for name in ("a?mode=memory", "b#c", "d%41", "e f", "ü"):
            dpcov.Ledger.create(tmp_path / name)
        assert len(list(tmp_path.iterdir())) == 5

    def test_another_ledger_in_its_place_is_not_charged(self, ledger: dpcov.Ledger, tmp_path: Path) -> None:
        """Its marks would name the first one."""
        trees = ledger.dataset("trees")
        other = dpcov.Ledger.create(tmp_path / "other.db")
        other.add("trees", dpcov.ZCDP(1))
        other.path.replace(ledger.path)
        with pytest.raises(dpcov.BudgetError, match="another in its place"):
            trees.attempt(dpcov.ZCDP("0.1"), "replace", {})
        assert dpcov.Ledger(ledger.path).verify().entries == 2

    def test_making_one_twice_keeps_the_first(self, ledger: dpcov.Ledger) -> None:
        assert dpcov.Ledger.create(ledger.path).identifier == ledger.identifier
        assert ledger.verify().entries == 9

    def test_it_survives_without_its_log(self, ledger: dpcov.Ledger) -> None:
        """When nobody has it open, all is in the one file: it can be copied."""
        assert [path.name for path in ledger.path.parent.iterdir()] == ["budget.db"]


class TestNetworks:
    LINE = "36 35 98:0 / {place} rw,noatime shared:1 - {kind} server:/share rw\n"

    def mounts(self, tmp_path: Path, *lines: tuple[Path | str, str]) -> Path:
        file = tmp_path / "mountinfo"
        text = "".join(self.LINE.format(place=str(where).replace(" ", "\\040"), kind=kind) for where, kind in lines)
        file.write_text(text, encoding="utf-8")
        return file

    @pytest.mark.parametrize(
        "kind", ["nfs4", "cifs", "smb3", "fuse.sshfs", "9p", "ceph", "lustre", "fuse.glusterfs", "fuse.mountpoint-s3"]
    )
    def test_they_are_refused(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
        share = tmp_path / "a share"
        share.mkdir()
        monkeypatch.setattr(place, "MOUNTS", self.mounts(tmp_path, ("/", "ext4"), (share, kind)))
        with pytest.raises(dpcov.EngineError, match=f"on {kind}, whose locks do not hold"):
            dpcov.Ledger.create(share / "budget.db")
        assert list(share.iterdir()) == []
        assert dpcov.Ledger.create(tmp_path / "budget.db").status().standings == ()

    @pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "apfs", "fuseblk", "squashfs"])
    def test_disks_are_not(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
        monkeypatch.setattr(place, "MOUNTS", self.mounts(tmp_path, ("/", "nfs"), (tmp_path, kind)))
        dpcov.Ledger.create(tmp_path / "budget.db")

    def test_a_share_that_is_mounted_over_a_disk_counts(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(place, "MOUNTS", self.mounts(tmp_path, (tmp_path, "ext4"), (tmp_path, "nfs")))
        with pytest.raises(dpcov.EngineError, match="nfs"):
            dpcov.Ledger.create(tmp_path / "budget.db")

    def test_one_that_moved_to_a_share_is_refused_when_it_is_opened(
        self, ledger: dpcov.Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(place, "MOUNTS", self.mounts(tmp_path, (tmp_path, "nfs")))
        with pytest.raises(dpcov.EngineError, match="nfs"):
            dpcov.Ledger(ledger.path)

    def test_where_nobody_tells_it_is_not_refused(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(place, "MOUNTS", tmp_path / "nowhere")
        dpcov.Ledger.create(tmp_path / "budget.db")


@pytest.mark.parametrize("body", ["[]", "3", "{}", '{"facts":3}', "[" * 10**5, '{"event":"spent"}'])
def test_an_entry_without_its_fields_is_named(ledger: dpcov.Ledger, body: str) -> None:
    made = dpcov.covariance(np.zeros((9, 2)), dpcov.ZCDP("0.1"), row_norm=1, ledger=ledger.dataset("trees"))
    assert made.ledger is not None
    number = made.ledger.entry
    edited(ledger, lambda connection: connection.execute("UPDATE entries SET body = ? WHERE sequence = ?", (body, number)))
    found = ledger.verify(made)
    assert f"entry {number} cannot be read, or could not have been written" in found.faults
    assert "release 1 was paid for by an entry that cannot be read" in found.faults
    for use in (ledger.status, ledger.history, lambda: list(ledger.export())):
        with pytest.raises(dpcov.BudgetError, match=f"entry {number}"):
            use()


def test_many_processes_make_one_at_once(tmp_path: Path) -> None:
    """All get the same ledger, and none an error."""
    path = tmp_path / "budget.db"
    children = []
    for _ in range(8):
        child = os.fork()
        if child == 0:
            try:
                dpcov.Ledger.create(path)
            except BaseException:
                os._exit(1)
            os._exit(0)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 8
    assert dpcov.Ledger(path).verify().entries == 1
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


def test_a_fork_waits_until_no_connection_is_open(ledger: dpcov.Ledger) -> None:
    """SQLite in the child would believe in locks that the system gave to the parent, and commit to a log that is deleted."""
    reading, is_open = threading.Event(), threading.Event()

    def read() -> None:
        with ledger.store.reading():
            is_open.set()
            reading.set()
            time.sleep(0.3)
            is_open.clear()

    thread = threading.Thread(target=read)
    thread.start()
    reading.wait()
    child = os.fork()
    if child == 0:
        os._exit(int(is_open.is_set()))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    thread.join()
    assert CONNECTED.acquire(blocking=False)  # and is let go
    CONNECTED.release()


def test_forks_among_threads_that_charge_lose_nothing(ledger: dpcov.Ledger) -> None:
    ledger.add("fish", dpcov.ZCDP(100))

    def charge(times: int) -> None:
        for _ in range(times):
            ledger.dataset("fish").attempt(dpcov.ZCDP(1), "replace", {}).take()

    threads = [threading.Thread(target=charge, args=(10,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    children = []
    for _ in range(10):
        child = os.fork()
        if child == 0:
            try:
                charge(1)
            except BaseException:
                os._exit(1)
            os._exit(0)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 10
    for thread in threads:
        thread.join()
    assert ledger.status().of("fish").amounts == (Fraction(30),)
    assert ledger.verify().intact


def test_whoever_takes_an_export_slowly_keeps_nobody_waiting(ledger: dpcov.Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpcov.custody.store.MOST_ROWS_AT_ONCE", 4)
    lines = ledger.export()
    next(lines)
    assert [path.name for path in ledger.path.parent.iterdir()] == ["budget.db"]  # nothing is open
    ledger.resume("trees", why="meanwhile")
    assert [json.loads(line)["sequence"] for line in lines] == list(range(2, 11))


def test_a_charge_and_a_status_look_at_as_few_entries_of_many(ledger: dpcov.Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a release would take longer and longer."""
    made = Entry.__init__
    looked: list[int] = []

    def counting(self: Entry, *columns: object) -> None:
        looked.append(1)
        made(self, *columns)  # type: ignore[arg-type]

    monkeypatch.setattr(Entry, "__init__", counting)
    ledger.resume("trees", why="to begin with")
    numbers = []
    for _ in range(2):
        looked.clear()
        ledger.status()
        ledger.dataset("trees").attempt(dpcov.ZCDP("0.001"), "replace", {}).take()
        ledger.history(last=3)
        numbers.append(len(looked))
        with ledger.store.writing() as writing:
            for _ in range(300):
                writing.add("resumed", "trees", "Ada", "", {})
    assert numbers[0] == numbers[1] < 60


def test_a_commit_waits_for_the_disk(ledger: dpcov.Ledger) -> None:
    with ledger.store.writing() as writing:
        assert writing._connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
        assert writing._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_the_file_says_what_it_is(ledger: dpcov.Ledger) -> None:
    assert int.from_bytes(ledger.path.read_bytes()[68:72], "big") == APPLICATION
