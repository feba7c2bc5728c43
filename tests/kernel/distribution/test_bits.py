"""Random words: fresh in every process and thread from the system, repeatable from a seed."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import dpcov
from dpcov.errors import ParameterError
from dpcov.kernel.bits import Bits, SeededBits, SystemBits
from tests.helpers.stats import SIZE, chi_square

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork()")


def words_after_fork(bits: Bits, count: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return what the parent and a real forked child draw from the same object."""
    bits.words(1)  # a hidden buffer would be full now
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 warns when other threads exist; this child only writes to a pipe and leaves.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            os.write(writer, bits.words(count).tobytes())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        theirs = np.frombuffer(pipe.read(), dtype=np.uint64)
    os.waitpid(child, 0)
    return bits.words(count), theirs


@needs_fork
def test_a_forked_child_draws_other_system_words() -> None:
    """Falsely fails once in 2⁵⁰ runs; catches any buffer that fork() would copy."""
    ours, theirs = words_after_fork(SystemBits(), 100)
    assert len(ours) == len(theirs) == 100
    assert not set(ours.tolist()) & set(theirs.tolist())


@needs_fork
def test_the_fork_test_sees_copied_state() -> None:
    """Negative control: a generator with state repeats itself in the child."""
    ours, theirs = words_after_fork(SeededBits(11), 100)
    assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("bits", [SystemBits(), SeededBits(12)], ids=["system", "seeded"])
def test_threads_never_share_a_word(bits: Bits) -> None:
    """A repeat among 2¹⁵ words has probability below 2⁻³⁵; catches a race on a shared buffer."""
    with ThreadPoolExecutor(8) as pool:
        parts = list(pool.map(bits.words, [128] * 256))
    assert len(np.unique(np.concatenate(parts))) == 128 * 256


def test_system_words_have_fair_bits() -> None:
    """Exact binomial test of each of the 64 bits, size 1e-6 for all together.

    With 2¹⁹ words a bit that is 1 with probability 0.51 or 0.49 is caught with probability above 1 − 1e-6: this
    is checked below.
    """
    n = 2**19
    words = SystemBits().words(n)
    ones = [int(np.count_nonzero(words & np.uint64(1 << bit))) for bit in range(64)]
    assert min(stats.binomtest(count, n).pvalue for count in ones) > SIZE / 64
    edge = stats.binom.isf(SIZE / 128, n, 0.5)
    assert stats.binom.cdf(edge, n, 0.51) < SIZE


def test_system_words_have_uniform_bytes() -> None:
    """Chi-square of the 256 values of a byte at each of its 8 places, size 1e-6 together; catches a stuck byte."""
    octets = SystemBits().words(2**16).view(np.uint8).reshape(-1, 8)
    uniform = np.full(256, 1 / 256)
    assert min(chi_square(np.bincount(place, minlength=256), uniform) for place in octets.T) > SIZE / 8


def test_system_words_are_the_operating_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them: words that are expanded from a few would look as random, and could be predicted from those."""
    known = bytes(range(256)) * 2
    asked: list[int] = []

    def urandom(count: int) -> bytes:
        asked.append(count)
        return known[:count]

    monkeypatch.setattr("dpcov.kernel.bits.os.urandom", urandom)
    assert SystemBits().words(64).tobytes() == known
    assert SystemBits().words(1).tobytes() == known[:8]
    assert asked == [512, 8]


def test_only_seeded_words_say_so() -> None:
    assert SeededBits(1).seeded
    assert not SystemBits().seeded


@pytest.mark.parametrize("bits", [SystemBits(), SeededBits(13)], ids=["system", "seeded"])
@pytest.mark.parametrize("count", [0, 1, 1000])
def test_words_have_the_asked_number_and_type(bits: Bits, count: int) -> None:
    words = bits.words(count)
    assert words.shape == (count,)
    assert words.dtype == np.uint64


def test_a_seed_repeats_its_stream_however_it_is_cut() -> None:
    whole = SeededBits(2024).words(100)
    source = SeededBits(np.int64(2024))  # type: ignore[arg-type]
    assert np.array_equal(np.concatenate([source.words(k) for k in (1, 0, 9, 90)]), whole)
    assert not np.array_equal(SeededBits(2025).words(100), whole)


def test_the_stream_of_a_seed_never_changes() -> None:
    """Published results name a seed; another generator would break them in silence."""
    assert SeededBits(0).words(2).tolist() == [11749869230777074271, 4976686463289251617]


@pytest.mark.parametrize("seed", [-1, 1.0, "1", None, True, np.True_, 2.5, [1], np.float64(3)])
def test_bad_seeds_are_refused(seed: object) -> None:
    with pytest.raises(ParameterError, match=r"^seed must be a nonnegative integer, got .*\. Hint: .*\.$"):
        SeededBits(seed)  # type: ignore[arg-type]


def drawn_noise(_: int = 0) -> bytes:
    """Release the same rows, and return the noisy integers: with equal noise they would be equal."""
    release = dpcov.covariance(np.zeros((50, 4)), dpcov.ZCDP(1), row_norm=1, mechanism="gaussian")
    return release.answers[0].integers.tobytes()


@needs_fork
def test_forked_processes_release_with_other_noise() -> None:
    """The whole way, not the words alone: a buffer behind them would be copied as well. Equal by chance: below 2⁻⁵⁰."""
    drawn_noise()
    seen = []
    for _ in range(4):
        reader, writer = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            try:
                os.write(writer, drawn_noise())
            finally:
                os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            seen.append(pipe.read())
        os.waitpid(child, 0)
    seen.append(drawn_noise())
    assert {len(one) for one in seen} == {80}
    assert len(set(seen)) == 5


def test_threads_release_at_once_with_other_noise() -> None:
    """Equal by chance: below 2⁻⁵⁰."""
    with ThreadPoolExecutor(8) as pool:
        seen = list(pool.map(drawn_noise, range(48)))
    assert len(set(seen)) == 48


IN_AN_INTERPRETER = """
import os, warnings
warnings.simplefilter("ignore")  # NumPy says of itself that it was not made for this
try:
    from dpcov.kernel.bits import SystemBits
    told = SystemBits().words(100).tobytes()
except ImportError:
    told = b"refused"
os.write(WRITER, told)
"""
INTERPRETERS = """
import os, sys
try:
    import _interpreters as made
except ImportError:
    import _xxsubinterpreters as made
sys.path.insert(0, {path!r})
from dpcov.kernel.bits import SystemBits
seen = [SystemBits().words(100).tobytes()]
for _ in range(2):
    reader, writer = os.pipe()
    one = made.create()
    made.run_string(one, f"import sys; sys.path[:] = {{sys.path!r}}\\nWRITER = {{writer}}\\n" + {code!r})
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        seen.append(pipe.read())
print([len(one) for one in seen], len(set(seen)))
os._exit(0)  # NumPy may fail when such interpreters end
"""


def test_subinterpreters_draw_other_words_or_none() -> None:
    """Each has its own copy of this module, and the words are the system's; where NumPy refuses to be imported, so does it."""
    code = INTERPRETERS.format(path=str(Path(dpcov.__file__).parents[1]), code=IN_AN_INTERPRETER)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stdout.strip() in ("[800, 800, 800] 3", "[800, 7, 7] 2"), run.stdout + run.stderr
