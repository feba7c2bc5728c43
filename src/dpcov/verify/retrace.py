"""Would its mechanism have asked this? Run `ask` over the answers of a release, and name the first thing that differs.

Reading a file checks answers, never mechanisms: each question is proved and paid for, whoever asked it. This is the other half:
the mechanism is given the recorded answers, and must ask the same questions, with the same laws, at the same prices. It is a
verdict for those who want one: nothing is read of any rows, and a file from another version may differ and be as private.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import DpcovError, ReleaseError
from dpcov.kernel.account import Account
from dpcov.kernel.answer import Answer
from dpcov.kernel.curator import Curator
from dpcov.kernel.noise.choice import Exponential, SparseVector
from dpcov.kernel.noise.drawn import MatrixBingham, Uniform
from dpcov.kernel.noise.laws import NoiseLaw
from dpcov.kernel.noise.sampler import Decomposition
from dpcov.kernel.peel import reflector_of
from dpcov.kernel.public import Public, hides_n
from dpcov.kernel.questions.choices import Choice, Search
from dpcov.kernel.questions.directions import Directions, Drawn, directions_of
from dpcov.kernel.questions.filing import Writing
from dpcov.kernel.questions.measure import Measure, Question
from dpcov.mechanisms import mechanism_of
from dpcov.mechanisms.base import Mechanism
from dpcov.mechanisms.rehearsing import rehearsed
from dpcov.mechanisms.running import run_again
from dpcov.release.record import Release

__all__ = ["Retraced", "retrace"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

COORDINATES = 1e-6
"""How far public coordinates may be off, relative to the largest of them: another machine's eigenvectors, and directions that
were rounded to 2⁻¹⁸ when they were recorded."""

MIN_LENGTH = 0.5
"""Of a unit vector after those before it are projected out: rounding takes far less."""

MOST_DRAWN = 2048
"""Columns of rows that directions were drawn from: a mechanism that draws is given a matrix, which is decomposed, and a few
directions in a small file can be said to be of any number of columns. Two seconds, and 0.1 GB."""

PARAMETERS = Fraction(1, 10**9)
"""How far the parameters of a law may be off, relatively: another machine's logarithms."""


@dataclass(frozen=True)
class Retraced:
    """Whether a release is what its mechanism makes of its answers; if not, the first difference, in words.

    Attributes
    ----------
    agrees : bool
        Whether the mechanism, given these answers, asks just these questions.
    difference : str
        What differs first, in words.
    """

    agrees: bool
    difference: str = ""


def retrace(release: Release) -> Retraced:
    """Run a release's mechanism over its recorded answers, and compare what it asks with what was recorded.

    Parameters
    ----------
    release : Release
        Made here, or read from a file.

    Raises
    ------
    ReleaseError
        The mechanism is not known here, or directions were drawn in so many columns that it would take long. A transcript that
        merely differs is a verdict.

    Examples
    --------
    >>> import dataclasses, numpy as np, dpcov
    >>> release = dpcov.covariance(np.eye(3), dpcov.ZCDP(1), row_norm=1, mechanism="gaussian", seed=0)
    >>> retrace(release).agrees
    True
    >>> retrace(dataclasses.replace(release, options={"clip": 0.5, "constants": "tight"})).difference
    "answer 1 ('second moment') must have the 'rows' with which its mechanism asks for it, got others"
    """
    mechanism = mechanism_of(release)
    for answer in release.answers:
        if isinstance(answer.question, Drawn) and answer.question.d > MOST_DRAWN:
            raise ReleaseError(
                f"release must have at most {MOST_DRAWN} columns to be retraced where directions were drawn, "
                f"got {answer.question.d}. Hint: its answers were checked when it was read."
            )
    found = _difference(release, mechanism, n_known=True)
    if found and not hides_n(release) and not _difference(release, mechanism, n_known=False):
        found = ""  # made of a file or stream, whose number of rows was not known before it was read
    return Retraced(not found, found)


def _difference(release: Release, mechanism: Mechanism, *, n_known: bool) -> str:
    """Return the first difference in words; nothing where there is none."""
    account = Account(release.privacy)
    recorded = _Recorded(release, account)
    curator = Curator(_RecordedSums(release, recorded, n_known), account, _RecordedSampler(recorded))
    refusal, again, options = "", release, dict[str, Any](release.options)
    try:
        mechanism.refuse_unknown(release.options)
        again = run_again(mechanism, curator, release.privacy, **options)
    except _DifferenceError as error:
        refusal = str(error)
    except DpcovError as error:
        refusal = _refused(error)
    made, known = account.answers, release.answers
    for place, (one, other) in enumerate(zip(made, known, strict=False)):
        if different := _of_answers(place, (one, made), (other, known)):
            return different
    if refusal:
        return refusal
    if len(made) < len(known):
        return f"{_named(len(made), known[len(made)].question)} must have been asked by its mechanism, got one answer too many"
    if again.n != release.n:
        return f"n must be {again.n}, as the answers tell it, got {release.n}"
    if not _alike(dict(again.notes), dict(release.notes)):
        return "notes must be those that the mechanism writes, got others"
    try:
        rehearsed(mechanism, curator, release.privacy, again.options)  # last: all that it takes memory for is in the file
    except DpcovError as error:
        return _refused(error)
    return ""


def _refused(error: DpcovError) -> str:
    return f"the mechanism must ask what was recorded, got a refusal: {error}"


class _DifferenceError(DpcovError):
    """The mechanism asked something else: no need to go on."""


class _Recorded:
    """The recorded answers, each handed out once: directions when they are begun, all others in their order."""

    def __init__(self, release: Release, account: Account) -> None:
        self._account, self._known = account, release.answers
        self._left = list(enumerate(release.answers))
        self.now: Answer | None = None
        """The one that was asked for last."""
        self.peeled: Answer | None = None
        """The directions that are being drawn."""

    def ask(self, question: Question) -> None:
        """Take the recorded answer to a question that was just asked, or stop where it is to another one."""
        drawn = isinstance(question, Directions)
        found = next((one for one in self._left if isinstance(one[1].question, Directions) == drawn), None)
        if found is None:
            raise _DifferenceError(
                f"{question.name!r} must be answered in the release, as its mechanism asks for it, got no answer"
            )
        self._left.remove(found)
        place, answer = found
        if different := _of_questions(place, (question, self._account.answers), (answer.question, self._known)):
            raise _DifferenceError(different)
        if not answer.question.admits(answer.integers):
            raise _DifferenceError(f"{_named(place, question)} must have a possible answer, got an impossible one")
        if drawn:
            self.peeled = answer
        else:
            self.now = answer

    def answer(self) -> Answer:
        """Return the one that was asked for last."""
        assert self.now is not None
        return self.now

    def directions(self) -> Answer:
        """Return the directions that are being drawn."""
        assert self.peeled is not None
        return self.peeled


class _RecordedSums:
    """Zeros for every question: its recorded answer is found here, as nothing else sees all questions."""

    def __init__(self, release: Release, recorded: _Recorded, n_known: bool) -> None:
        self._release, self._recorded, self._known = release, recorded, n_known

    @property
    def public(self) -> Public:
        """What was known of the rows; n under replace from the start, or from the first reading on."""
        known = self._known and not hides_n(self._release)
        return Public(self._release.encoding, self._release.neighbors, self._release.n if known else None)

    @property
    def n(self) -> int:
        """The number of rows."""
        self._known = True
        return self._release.n

    def read(self, question: Question) -> Integers:
        """Return as many zeros as the exact sum has entries."""
        self._known = True
        self._recorded.ask(question)
        return np.zeros(question.exact_size, dtype=np.int64)

    def prefetch(self, *questions: Question, derive: bool = True) -> None:  # noqa: ARG002
        """Read nothing; n is known then."""
        self._known = True

    def forget(self) -> None:
        """Do nothing: there is nothing to hide."""


class _RecordedSampler:
    """It answers what was recorded; laws are compared when the answer is made."""

    seeded = True

    def __init__(self, recorded: _Recorded) -> None:
        self._recorded = recorded

    def noisy(self, question: Measure, law: NoiseLaw, exact: Integers) -> Integers:  # noqa: ARG002
        """Return the recorded integers."""
        return self._recorded.answer().integers.copy()

    def noisy_later(self, question: Measure, law: NoiseLaw) -> Callable[[int, int], int]:  # noqa: ARG002
        """Return what answers each value as recorded."""
        answer = self._recorded.directions()
        assert isinstance(answer.question, Directions)
        told = answer.question.told(answer.integers)
        return lambda place, exact: int(told[place])  # noqa: ARG005

    def choice(self, question: Choice, law: Exponential, counts: Integers) -> int:  # noqa: ARG002
        """Return the recorded index."""
        return int(self._recorded.answer().integers[0])

    def search(self, question: Search, law: SparseVector, counts: Integers) -> int:  # noqa: ARG002
        """Return the recorded index."""
        return int(self._recorded.answer().integers[0])

    @property
    def direction(self) -> Callable[..., Floats]:
        """What draws the directions that were begun last: a curator takes it once for each peel, and peels may take turns."""
        return _RecordedDirections(self._recorded.directions()).draw

    def subspace(self, matrix: Floats, basis: Decomposition, k: int, law: MatrixBingham | Uniform) -> Floats:  # noqa: ARG002
        """Return the recorded columns."""
        return directions_of(self._recorded.answer()).T


class _RecordedDirections:
    """The recorded directions of one peel, one after the other."""

    def __init__(self, answer: Answer) -> None:
        assert isinstance(answer.question, Directions)
        self._orthogonal = answer.question.orthogonal
        self._left = iter(directions_of(answer))
        self._reflectors: list[Floats] = []

    def draw(self, matrix: Floats, concentration: float, guess: Floats, fixed: bool) -> Floats:  # noqa: ARG002
        """Return the recorded direction, in the coordinates of what is left after those before it were projected out."""
        vector = next(self._left)
        for reflector in self._reflectors:
            vector = (vector - 2 * (reflector @ vector) * reflector)[1:]
        length = float(np.linalg.norm(vector))
        if length < MIN_LENGTH:
            raise _DifferenceError("directions must be orthogonal, as its mechanism draws them, got ones that are not")
        vector = vector / length
        if self._orthogonal:
            self._reflectors.append(reflector_of(vector))
        return np.asarray(vector)


Placed = tuple[Answer, tuple[Answer, ...]]
"""An answer, among all of its transcript."""


def _of_answers(place: int, made: Placed, recorded: Placed) -> str:
    """Compare two answers: their questions, the laws of their noise, and what was paid."""
    (one, before), (other, known) = made, recorded
    if different := _of_questions(place, (one.question, before), (other.question, known)):
        return different
    named = _named(place, other.question)
    names, recorded_names = ([law.law for law in answer.laws] for answer in (one, other))
    if names != recorded_names:
        return f"{named} must have noise of the law {' and '.join(names)}, got {' and '.join(recorded_names)}"
    if not all(_same_law(a.to_json(), b.to_json()) for a, b in zip(one.laws, other.laws, strict=True)):
        return f"{named} must have as much noise as its mechanism adds, got more or less"
    if one.charges != other.charges:
        return f"{named} must cost {_priced(one)}, got {_priced(other)}"
    return ""


def _of_questions(place: int, made: tuple[Question, tuple[Answer, ...]], recorded: tuple[Question, tuple[Answer, ...]]) -> str:
    """Compare two questions by what a file stores of them, public coordinates included."""
    named = _named(place, recorded[0])
    if type(made[0]) is not type(recorded[0]):
        wanted, found = (one.tag or one.name for one in (made[0], recorded[0]))  # two kinds of radii have the same name
        return f"answer {place + 1} must be to {wanted!r}, as its mechanism asks for it, got one to {found!r}"
    try:
        one, other = _stored(*made), _stored(*recorded)
    except ReleaseError as error:
        return f"{named} must be about earlier answers of its release, got others: {error}"
    for part in sorted({*one, *other}):
        if part not in one or part not in other or not _alike(one[part], other[part]):
            return f"{named} must have the {part!r} with which its mechanism asks for it, got others"
    return ""


def _stored(question: Question, answers: tuple[Answer, ...]) -> dict[str, Any]:
    """Return what a file stores of a question, with its coordinates in place."""
    writing = Writing(answers)
    return {**question.to_json(writing), **writing.weighed(question), "coordinates": writing.frame_records()}


def _named(place: int, question: Question) -> str:
    return f"answer {place + 1} ({question.name!r})"


def _priced(answer: Answer) -> str:
    return " and ".join(repr(charge) for charge in answer.charges)


def _same_law(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Compare parameters as fractions, up to the last digits of a logarithm."""
    if list(one) != list(other):
        return False
    pairs = [(Fraction(one[name]), Fraction(other[name])) for name in one]
    return all(abs(a - b) <= PARAMETERS * max(abs(a), abs(b)) for a, b in pairs)


def _alike(one: Any, other: Any) -> bool:
    """Compare what a file stores: floats up to a tolerance, relative to the largest of their list; all else exactly."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_alike(one[name], other[name]) for name in one)
    if _is_numbers(one) and _is_numbers(other):
        a, b = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
        largest = max(float(np.abs(a).max(initial=0.0)), float(np.abs(b).max(initial=0.0)))
        return a.shape == b.shape and bool(np.abs(a - b).max(initial=0.0) <= COORDINATES * largest)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(_alike(a, b) for a, b in zip(one, other, strict=True))
    return type(one) is type(other) and bool(one == other)


def _is_numbers(value: Any) -> bool:
    """Whether a value is a float, or an array of floats as nested lists."""
    if isinstance(value, float):
        return True
    if not isinstance(value, list) or not value:
        return False
    if isinstance(value[0], list):
        return all(isinstance(row, list) and len(row) == len(value[0]) and _is_numbers(row) for row in value)
    return all(isinstance(entry, float) for entry in value)
