"""Originals are fetched once, checked where a checksum is known, and named where they cannot be had."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import pytest

from experiments import data
from experiments.data import MissingDataError, Original, folder_with

CONTENT = b"a\tb\r\n1\t2\r\n"


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(data, "ORIGINALS", tmp_path / "originals")
    path = tmp_path / "source.txt"
    path.write_bytes(CONTENT)
    return path


def known(monkeypatch: pytest.MonkeyPatch, name: str, original: Original) -> None:
    monkeypatch.setitem(data.KNOWN, name, original)


def test_a_file_is_fetched_once(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    md5 = hashlib.md5(CONTENT, usedforsecurity=False).hexdigest()
    known(monkeypatch, "set.txt.gz", Original(source.as_uri(), md5))
    folder = folder_with(None, "set.txt.gz")
    assert gzip.decompress((folder / "set.txt.gz").read_bytes()) == CONTENT
    source.unlink()
    assert folder_with(None, "set.txt.gz") == folder
    assert [path.name for path in folder.iterdir()] == ["set.txt.gz"]


def test_a_compressed_file_is_checked_uncompressed(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = source.with_suffix(".gz")
    packed.write_bytes(gzip.compress(CONTENT))
    md5 = hashlib.md5(CONTENT, usedforsecurity=False).hexdigest()
    known(monkeypatch, "set.bz2", Original(packed.as_uri(), md5))
    import bz2

    assert bz2.decompress((folder_with(None, "set.bz2") / "set.bz2").read_bytes()) == CONTENT


def test_airfoil_gets_commas_and_names(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known(monkeypatch, "air.csv.gz", Original(source.as_uri(), converted=data.KNOWN["airfoil_self_noise.csv.gz"].converted))
    lines = gzip.decompress((folder_with(None, "air.csv.gz") / "air.csv.gz").read_bytes()).split(b"\n")
    assert lines[0].count(b",") == 5
    assert lines[1:] == [b"a,b", b"1,2", b""]


def test_another_content_is_refused(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known(monkeypatch, "set.txt.gz", Original(source.as_uri(), "0" * 32))
    with pytest.raises(MissingDataError, match="another checksum"):
        folder_with(None, "set.txt.gz")
    assert not (data.ORIGINALS / "set.txt.gz").exists()


def test_what_cannot_be_had_is_named(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known(monkeypatch, "set.txt.gz", Original((tmp_path / "nowhere").as_uri()))
    with pytest.raises(MissingDataError, match=r"set\.txt\.gz could not be fetched"):
        folder_with(None, "set.txt.gz")
    with pytest.raises(MissingDataError, match="no public place"):
        folder_with(None, "localization_personA.csv.gz")
    with pytest.raises(MissingDataError, match=r"one\.gz, two\.gz not in"):
        folder_with(source.parent, "one.gz", "two.gz", "source.txt")
