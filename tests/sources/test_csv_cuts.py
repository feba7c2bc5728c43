"""A CSV file is cut between records only, as the reader sees them; what is written oddly is not cut."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpcov.errors import EngineError
from dpcov.sources import csv_file
from dpcov.sources.csv_cuts import cuts
from dpcov.sources.csv_text import ENCODINGS, keeps_ascii
from dpcov.sources.files import open_file


def cut(text: bytes, step: int, separator: str = ",") -> list[int]:
    return list(cuts((text[start : start + step] for start in range(0, len(text), step)), separator))


GOOD = {
    b"a,b\n1,2\n3,4\n": [4, 8, 12],
    b"a,b\r\n1,2\r\n": [5, 10],
    b'a,b\n"1\n1",2\n3,"\n"\n': [4, 12, 18],
    b'a\n"x""\ny"\n2\n': [2, 10, 12],
    b'a\n""\n"""\n"""\n': [2, 5, 13],
    b"\n\na\n1\n": [4, 6],  # never before the names
    b"\r\n\na\n1\n": [5, 7],
    b"a\n1": [2],
    b"a": [],
    b'"a"\n1\n': [4, 6],
}


@pytest.mark.parametrize("text", GOOD)
def test_cuts_behind_each_record(text: bytes) -> None:
    assert cut(text, 1) == GOOD[text]
    for step in range(2, len(text) + 1):
        assert set(cut(text, step)) <= set(GOOD[text])
    assert cut(text, len(text)) == GOOD[text][-1:]


ODD = {
    b'a\n1\n5" pipe\n2\n': 4,  # a quote within a cell
    b'a\n1\n"x"y\n2\n': 4,  # behind a closed one
    b'a\n1\n "x"\n2\n': 4,  # behind a blank
    b'a\n1\n""x"\n2\n': 4,
}


@pytest.mark.parametrize("text", ODD)
@pytest.mark.parametrize("step", range(1, 14))
def test_no_cut_behind_a_quote_that_is_out_of_place(text: bytes, step: int) -> None:
    assert all(place <= ODD[text] for place in cut(text, step))


def rows(table: Any, columns: list[str]) -> list[tuple[Any, ...]] | None:
    """Return the records, or None where the reader refuses them."""
    try:
        found = [batch.to_pydict() for batch, _ in table.batches(columns, 100)]
    except EngineError:
        return None
    return [row for batch in found for row in zip(*batch.values(), strict=True)]


def test_pieces_hold_the_records_of_the_file_whatever_it_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random text of quotes, separators and line breaks: 1500 files of one or two columns."""
    random = np.random.default_rng(909)
    signs = [b'"', b",", b"\n", b"\r", b"x", b"1", b" ", b'"a\nb"', b'"",', b"\r\n", b'"c"', b"\xef\xbb\xbf"]
    weights = np.array([1, 4, 6, 0.3, 4, 4, 0.3, 2, 1, 0.5, 2, 0.5])
    cut_up, refused = 0, 0
    for number in range(1500):
        header = b"n" if number % 3 == 0 else b"n,m"
        text = header + b"\n" + b"".join(signs[i] for i in random.choice(len(signs), 25, p=weights / weights.sum()))
        if number % 2:  # records that are as long as the names say
            cells = [b'"p\nq"', b"1", b"", b'""""', b'"x,y"', b'u"v' if number % 7 == 0 else b"u"]
            width = header.count(b",") + 1
            lines = [b",".join(cells[i] for i in random.choice(6, width)) for _ in range(12)]
            lines[int(random.integers(12))] = b"\xef\xbb\xbf" + b",".join([b"1"] * width)  # a mark of a file, inside of it
            text = header + b"\n" + (b"\r\n" if number % 5 == 0 else b"\n").join(lines) + b"\n" * int(random.integers(0, 3))
        place = tmp_path / "t.csv"
        place.write_bytes((b"\xef\xbb\xbf" if number % 11 == 0 else b"") + text)
        monkeypatch.setattr(csv_file, "CSV_BLOCK", 2**22)
        try:
            table = open_file(place)
        except EngineError:  # the reader looks at the first records when it opens a file
            refused += 1
            continue
        whole = rows(table, table.names)
        monkeypatch.setattr(csv_file, "CSV_BLOCK", int(random.integers(1, 20)))
        monkeypatch.setattr(csv_file, "CSV_PIECE", int(random.integers(1, 30)))
        pieces = [pickle.loads(pickle.dumps(piece)) for piece, _ in table.pieces(table.names)]  # type: ignore[attr-defined]
        monkeypatch.setattr(csv_file, "CSV_BLOCK", 2**22)
        parts = [rows(piece, table.names) for piece in pieces]
        found = None if None in parts else [row for part in parts if part is not None for row in part]
        assert found == whole, (number, text)
        cut_up, refused = cut_up + (len(pieces) > 1), refused + (whole is None)
    assert cut_up > 600  # otherwise nothing was tried
    assert 100 < refused < 900


def test_shares_add_up_to_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_file, "CSV_BLOCK", 50)
    monkeypatch.setattr(csv_file, "CSV_PIECE", 60)
    (tmp_path / "t.csv").write_text("a,b\n" + "1,2\n" * 200, encoding="utf-8")
    shares = [share for _, share in open_file(tmp_path / "t.csv").pieces(["a"])]  # type: ignore[attr-defined]
    assert len(shares) > 5
    assert sum(shares) == pytest.approx(1)


def test_bytes_are_signs_in_the_encodings_that_are_cut() -> None:
    """In any other, a byte of a letter could look like a quote, a separator or a line break."""
    kept = [name for name in ("utf-8", "latin-1", "cp1252", "cp437", "koi8-r", "mac-roman", "iso8859-15") if keeps_ascii(name)]
    assert len(kept) == 7
    assert not any(keeps_ascii(name) for name in ("utf-16", "utf-16-le", "utf-32", "gb18030", "shift_jis", "shift_jis_2004"))
    for name in kept[1:]:
        assert name.startswith(ENCODINGS) or name == "latin-1"
        signs = b'",;|:\t \n\r'
        assert signs.decode(name) == signs.decode("ascii")
        assert not set(bytes(range(128, 256)).decode(name, "replace")) & set(signs.decode("ascii"))
