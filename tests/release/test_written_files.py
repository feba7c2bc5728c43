"""Files are written into folders that others may write to: no link is followed, and nobody sees what is not theirs."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from dpcov.paths import write_whole

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links and permissions as POSIX has them")


def permissions(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.fixture
def umask() -> Any:
    """Set the umask, and put it back."""
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


class TestLinks:
    def test_a_link_under_a_guessed_name_leads_nowhere(self, tmp_path: Path) -> None:
        """Names made of the process and a counter were guessed, a file of the owner's was overwritten, and the link kept."""
        mine = tmp_path / "mine"
        mine.write_text("precious")
        shared = tmp_path / "shared"
        shared.mkdir()
        for serial in range(300):
            (shared / f".dpcov-{os.getpid()}-{serial}.partial").symlink_to(mine)
        write_whole(shared / "release.json", "content")
        assert mine.read_text() == "precious"
        assert not (shared / "release.json").is_symlink()
        assert (shared / "release.json").read_text() == "content"

    def test_a_link_in_place_of_the_target_is_replaced(self, tmp_path: Path) -> None:
        mine, target = tmp_path / "mine", tmp_path / "release.json"
        mine.write_text("precious")
        target.symlink_to(mine)
        write_whole(target, "content")
        assert mine.read_text() == "precious"
        assert not target.is_symlink()
        assert target.read_text() == "content"

    def test_files_are_new_private_and_never_twice_of_one_name(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        opened: list[tuple[str, int, int]] = []
        plain = os.open

        def watched(path: Any, flags: int, mode: int = 0o777, **rest: Any) -> int:
            if os.fspath(path).startswith(str(tmp_path)):
                opened.append((os.fspath(path), flags, mode))
            return plain(path, flags, mode, **rest)

        monkeypatch.setattr(os, "open", watched)
        for _ in range(20):
            write_whole(tmp_path / "release.json", "content")
        assert len({path for path, *_ in opened}) == 20
        for path, flags, mode in opened:
            assert Path(path).parent == tmp_path
            assert str(os.getpid()) not in Path(path).name.split("-")
            assert flags & os.O_CREAT
            assert flags & os.O_EXCL
            assert flags & os.O_NOFOLLOW
            assert mode == 0o600
        assert [entry.name for entry in tmp_path.iterdir()] == ["release.json"]

    def test_a_command_is_not_stopped_by_a_planted_probe(self, tmp_path: Path) -> None:
        from dpcov.cli.files import checked_target

        (tmp_path / f".dpcov-{os.getpid()}.probe").symlink_to(tmp_path / "nowhere")
        assert checked_target(str(tmp_path / "out.json"), force=False, kept="") == tmp_path / "out.json"
        assert [entry.name for entry in tmp_path.iterdir()] == [f".dpcov-{os.getpid()}.probe"]


class TestPermissions:
    @pytest.mark.parametrize(("mask", "left"), [(0o022, 0o644), (0o002, 0o664), (0o077, 0o600), (0o027, 0o640)])
    def test_a_new_file_has_what_the_umask_leaves(self, umask: Any, tmp_path: Path, mask: int, left: int) -> None:
        umask(mask)
        write_whole(tmp_path / "release.json", "content")
        assert permissions(tmp_path / "release.json") == left
        assert umask(mask) == mask  # as it was

    @pytest.mark.parametrize("kept", [0o600, 0o640, 0o644, 0o666, 0o400])
    def test_a_file_that_is_replaced_keeps_its_own(self, umask: Any, tmp_path: Path, kept: int) -> None:
        umask(0o022)
        target = tmp_path / "release.json"
        target.write_text("before")
        target.chmod(kept)
        write_whole(target, "content")
        assert permissions(target) == kept
        assert target.read_text() == "content"

    def test_a_link_lends_no_permissions(self, umask: Any, tmp_path: Path) -> None:
        umask(0o077)
        wide, target = tmp_path / "wide", tmp_path / "release.json"
        wide.write_text("")
        wide.chmod(0o666)
        target.symlink_to(wide)
        write_whole(target, "content")
        assert permissions(target) == 0o600

    def test_nobody_else_reads_half_a_file(self, umask: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        umask(0o000)
        seen: list[int] = []
        monkeypatch.setattr(os, "fsync", lambda number: seen.append(stat.S_IMODE(os.fstat(number).st_mode)))
        write_whole(tmp_path / "release.json", "content")
        assert seen == [0o600]
