"""Where the papers' data sets come from: a folder of copies, or the public originals, fetched once.

A file that is not in the folder of ``--data`` is an error that names it; without ``--data`` files are fetched into
``experiments/originals``. Where a checksum is known, another content is refused.
"""

from __future__ import annotations

import gzip
import hashlib
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
MNIST = "https://ossci-datasets.s3.amazonaws.com/mnist"
POPRES = "https://raw.githubusercontent.com/NovembreLab/Novembre_etal_2008_misc/master/files"
ORIGINALS = Path(__file__).parent / "originals"
SECONDS = 120


class MissingDataError(FileNotFoundError):
    """A data set is neither in the folder nor to be had from its public place."""


class Original(NamedTuple):
    """Where a file is to be had, what is done to it, and the md5 of its uncompressed content where that is known."""

    url: str
    md5: str = ""
    converted: Callable[[bytes], bytes] = gzip.compress


def _commas(content: bytes) -> bytes:
    """Turn the tabs of airfoil into commas, below a line of names."""
    head = b"frequency,angle,chord,velocity,thickness,pressure\n"
    return gzip.compress(head + content.replace(b"\r\n", b"\n").replace(b"\t", b","))


KNOWN = {
    "airfoil_self_noise.csv.gz": Original(f"{UCI}/00291/airfoil_self_noise.dat", converted=_commas),
    "adult.data.gz": Original(f"{UCI}/adult/adult.data", "5d7c39d7b8804f071cdd1f2a7c460872"),
    "adult.test.gz": Original(f"{UCI}/adult/adult.test", "35238206dfdf7f1fe215bbb874adecdc"),
    "kddcup.data_10_percent.gz": Original("http://kdd.ics.uci.edu/databases/kddcup99/kddcup.data_10_percent.gz"),
    "ticdata2000.txt.gz": Original(f"{UCI}/tic-mld/ticdata2000.txt"),
    "ticeval2000.txt.gz": Original(f"{UCI}/tic-mld/ticeval2000.txt"),
    "train-images-idx3-ubyte.gz": Original(f"{MNIST}/train-images-idx3-ubyte.gz", "6bbc9ace898e44ae57da46a324031adb"),
    "train-labels-idx1-ubyte.gz": Original(f"{MNIST}/train-labels-idx1-ubyte.gz"),
    **{
        f"{name}.gz": Original(f"{POPRES}/{name}")
        for name in (
            "POPRES_08_24_01.EuroThinFinal.LD_0.8.exLD.out0-PCA.eigs",
            "POPRES_08_24_01.EuroThinFinal.LD_0.8.exLD.out0-PCA.eval",
            "POPRESID_Color.txt",
        )
    },
    "coinpress_colors.txt.gz": Original("https://raw.githubusercontent.com/twistedcubic/coin-press/master/data/colors.txt"),
    "census-income.data.bz2": Original(f"{UCI}/census-income-mld/census-income.data.gz", "887f4dc410a99bc332bddbb0a4195b88"),
}
"""Other files are read from a folder only."""


def folder_with(folder: Path | None, *names: str) -> Path:
    """Return a folder that holds these files: the given one, or the one of fetched originals."""
    if folder is not None:
        absent = [name for name in names if not (folder / name).exists()]
        if absent:
            raise MissingDataError(f"{', '.join(absent)} not in {folder}")
        return folder
    for name in names:
        if not (ORIGINALS / name).exists():
            _fetch(name, ORIGINALS)
    return ORIGINALS


def _fetch(name: str, into: Path) -> None:
    if name not in KNOWN:
        raise MissingDataError(f"{name} has no public place that is known here (--data DIR names a folder with it)")
    original = KNOWN[name]
    try:
        with urllib.request.urlopen(original.url, timeout=SECONDS) as answer:
            content: bytes = answer.read()
    except OSError as reason:
        raise MissingDataError(f"{name} could not be fetched from {original.url} ({reason})") from None
    plain = gzip.decompress(content) if original.url.endswith(".gz") else content
    if original.md5 and hashlib.md5(plain, usedforsecurity=False).hexdigest() != original.md5:
        raise MissingDataError(f"{name} from {original.url} has another checksum than the file the paper used")
    into.mkdir(exist_ok=True)
    part = into / f"{name}.part"  # an interrupted write leaves no file of the right name
    part.write_bytes(_stored(name, plain, original))
    part.rename(into / name)


def _stored(name: str, plain: bytes, original: Original) -> bytes:
    if name.endswith(".bz2"):
        import bz2

        return bz2.compress(plain)
    return original.converted(plain)
