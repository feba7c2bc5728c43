"""Whether a file is one that some mechanism could have got from a curator: answers are checked, never mechanisms.

Each question must fit the encoding, each answer its question, each law must have as much noise as its charge buys, and the
charges and the tails of rounded noise must stay within the promise. Sizes come first, so that a small file cannot ask for much
time or memory. That the named mechanism asked these questions is not shown, nor that nobody edited the file: `Release.retrace`
gives a verdict on the first, only a signature could on the second.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from dpcov.errors import ParameterError, ReleaseError
from dpcov.kernel.account import numbers_of, unwritten
from dpcov.kernel.answer import Answer, n_of
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP, pays_for
from dpcov.kernel.calibrate import SPAN, exponential_rate, sparse_vector_epsilon
from dpcov.kernel.noise.choice import Exponential, SparseVector
from dpcov.kernel.noise.drawn import Bingham, MatrixBingham, Uniform
from dpcov.kernel.noise.laws import NoiseLaw
from dpcov.kernel.public import Public, hides_n
from dpcov.kernel.questions.calibrated import KIND_OF_NOISE, check_tail, is_enough
from dpcov.kernel.questions.choices import Choice, Search
from dpcov.kernel.questions.directions import Directions, Subspace
from dpcov.kernel.questions.measure import Measure, Question
from dpcov.kernel.questions.moments import REPLACE
from dpcov.kernel.questions.weights import weighed_by
from dpcov.kernel.rows.aside import ROOM_BITS, Aside
from dpcov.kernel.rows.encoding import Encoding
from dpcov.kernel.rows.grid import MAX_FEATURES
from dpcov.release.record import Transcript
from dpcov.schema import is_broken
from dpcov.strict_json import refuse


def check_header(transcript: Transcript) -> None:
    """Refuse sizes, names and an encoding that no release has."""
    encoding = transcript.encoding
    if not 1 <= encoding.d <= MAX_FEATURES - encoding.midpoints or encoding.width > MAX_FEATURES:
        refuse("consistent", "a number of columns that is not possible")
    if len(set(encoding.feature_names)) < encoding.d or any(is_broken(name) for name in encoding.feature_names):
        refuse("consistent", "a column name that occurs twice or is not valid text")
    if encoding.schema is not None and (encoding.row_norm != 1.0 or encoding.feature_names != encoding.schema.feature_names):
        refuse("consistent", "columns that differ from those of its schema")
    if encoding.groups is not None and any(is_broken(name) for name in (encoding.groups.by, *encoding.groups.levels)):
        refuse("consistent", "a group whose name is not valid text")
    if encoding.groups is not None and encoding.pairs:
        refuse("consistent", "pairs of rows in groups")
    if encoding.pairs and (encoding.constant or transcript.neighbors != REPLACE):
        refuse("consistent", "pairs of rows under add-remove, or with a constant")
    _ = encoding.grid  # refuses a norm or bits that no grid has
    if encoding.aside is not None:
        _check_unit(encoding, encoding.aside)
    if transcript.ledger is not None and transcript.seeded:
        refuse("consistent", "a seeded release that was charged to a ledger")
    if not 1 <= transcript.n < 2**63 or (not hides_n(transcript) and transcript.n > encoding.most_rows):
        refuse("consistent", "a number of rows that is not possible")


def _check_unit(encoding: Encoding, aside: Aside) -> None:
    """Refuse people whose column is a feature, who are in pairs, or for whose sums there is no room."""
    features = encoding.feature_names if encoding.schema is None else encoding.schema.used
    if encoding.pairs or any(name in features or is_broken(name) for name in aside.names):
        refuse("consistent", "a column that says whose a row is, or how much it counts, and cannot")
    if aside.share_bits + encoding.most_rows.bit_length() - 1 > ROOM_BITS:
        refuse("consistent", "a number of people whose counts have no room")


def check_answers(transcript: Transcript) -> None:
    """Refuse answers that no curator can have given for this promise."""
    known = None if hides_n(transcript) else transcript.n
    chosen, last = weighed_by(transcript.encoding.aside, transcript.answers)
    asides = (transcript.encoding.aside, chosen)  # before that answer and it, and after it
    before, after = (Public(replace(transcript.encoding, aside=one), transcript.neighbors, known) for one in asides)
    for place, answer in enumerate(transcript.answers):
        public = before if last is None or place <= last else after
        if chosen is not None and chosen.searched and answer.question.aside != public.encoding.aside:
            refuse("consistent", f"an answer to {answer.question.name!r} with another weight than that which was chosen")
        if answer.question.aside is not None and not answer.question.serves_people:
            refuse("consistent", f"an answer to {answer.question.name!r}, which is not proved for people with several rows")
        if not answer.question.fits(public):
            refuse("consistent", f"an answer to {answer.question.name!r} about rows that it does not describe")
        if not answer.question.admits(answer.integers):
            refuse("consistent", f"an impossible answer to the question {answer.question.name!r}")
    _check_charges(transcript)
    for answer in transcript.answers:
        _check_noise(answer, transcript.neighbors)
    if isinstance(transcript.privacy, ApproxDP):
        check_tail([law for answer in transcript.answers for law in answer.laws], transcript.privacy)
    if hides_n(transcript) and transcript.n != n_of(transcript.answers):
        refuse("consistent", "a number of rows other than the noisy count")


def check_made(transcript: Transcript) -> None:
    """Refuse what was answered here, too, where a file of it would be refused: a mechanism of others may have tampered."""
    try:
        check_answers(transcript)
    except (ParameterError, ReleaseError) as error:
        raise ReleaseError(
            f"a mechanism must leave questions, laws and charges as they were answered, got a release that cannot be saved: "
            f"{error}"
        ) from None


def _check_charges(transcript: Transcript) -> None:
    """Refuse charges that exceed the promise, or whose exact sum would take for ever."""
    charges = [charge for answer in transcript.answers for charge in answer.charges]
    numbers = numbers_of((law for answer in transcript.answers for law in answer.laws), charges)
    if why := unwritten(numbers, sum(isinstance(charge, ApproxDP) for charge in charges)):
        refuse("consistent", why)
    if charges and not pays_for(transcript.privacy, charges):
        refuse("consistent", "charges that exceed the promise")


def _check_noise(answer: Answer, neighbors: str) -> None:
    """Refuse less noise than the charges buy, or a law that does not answer such a question."""
    question = answer.question
    if isinstance(question, Directions) and question.values is not None:
        _check_law(question, answer.laws[0], answer.charges[0], neighbors)
        _check_law(question.values, answer.laws[1], answer.charges[1], neighbors)
        question.values.check_noise(answer.laws[1])
        return
    _check_law(question, answer.laws[0], answer.charges[0], neighbors)
    if isinstance(question, Measure) and not np.array_equal(answer.law.settle(answer.integers), answer.integers):
        refuse("consistent", "integers that its noise cannot give")


def _check_law(question: Question, law: NoiseLaw, charge: Budget, neighbors: str) -> None:
    if isinstance(question, Measure):
        if law.law not in KIND_OF_NOISE:
            refuse("consistent", f"a {question.name} with noise of the wrong kind")
        enough = is_enough(law, question, charge, neighbors)
    elif not isinstance(charge, PureDP | ZCDP):
        refuse("consistent", f"a {question.name} that was not paid for")
    elif isinstance(question, Choice) and isinstance(law, Exponential):
        enough = law.rate <= exponential_rate(charge) / question.moved
    elif isinstance(question, Search) and isinstance(law, SparseVector):
        enough = min(law.threshold, law.query) >= 2 * question.step / sparse_vector_epsilon(charge)
    elif isinstance(question, Directions) and isinstance(law, Bingham):
        if [name for name, _ in law.concentrations] != [str(i + 1) for i in range(question.drawn)]:
            refuse("consistent", "directions that were not paid for")
        enough = _is_affordable([concentration for _, concentration in law.concentrations], charge, neighbors)
    elif isinstance(question, Subspace) and isinstance(law, Uniform):
        enough = True
    elif isinstance(question, Subspace) and isinstance(law, MatrixBingham) and question.count > 1:
        enough = _is_affordable([law.concentration], charge, neighbors)
    else:
        refuse("consistent", f"a {question.name} with noise of the wrong kind")
    if not enough:
        refuse("consistent", "less noise than the promise needs")


def _is_affordable(concentrations: list[Fraction], charge: PureDP | ZCDP, neighbors: str) -> bool:
    """Whether draws with these concentrations cost no more: exponents add up, or their squares do."""
    exponents = [SPAN[neighbors] * concentration for concentration in concentrations]
    if isinstance(charge, PureDP):
        return sum(exponents) <= charge.epsilon
    return sum(exponent**2 for exponent in exponents) <= 8 * charge.rho
